"""Follows small clusters plan by plan, to see whether their preemptions ever end."""
