"""Which queue is served next, and which job of it."""
