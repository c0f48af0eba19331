"""Whose turn it is, what each turn decides, and when a plan is complete."""
