"""Puts KAI's objects together: queues, jobs and nodes of a cluster state."""
