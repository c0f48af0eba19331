"""Answers for people: who gets what, and why."""
