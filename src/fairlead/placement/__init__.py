"""Which node a pod may run on, and which of them it gets; the same for all rule sets, and pure."""
