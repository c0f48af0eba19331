"""Puts Kueue's objects together: cohorts, queues and workloads of a cluster state."""
