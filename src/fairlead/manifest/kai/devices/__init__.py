"""Which pods share which GPUs of a node."""
