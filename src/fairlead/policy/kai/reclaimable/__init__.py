"""Whether one queue may take from others."""
