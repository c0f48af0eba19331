"""Commands that run beside, or on, a live cluster."""
