"""Which nodes a pod fits on, and which of them it gets; pure, and the same for all rule sets."""
