"""Scenarios under the rules of Kueue: its objects, its settings, and nodes that it does not see."""
