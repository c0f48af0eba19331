"""Who got what, who waited, who was evicted, and whether it was fair: told while it happens."""
