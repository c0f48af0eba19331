"""What there is on an API server, followed live."""
