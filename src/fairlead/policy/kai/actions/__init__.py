"""The cycle and its actions."""
