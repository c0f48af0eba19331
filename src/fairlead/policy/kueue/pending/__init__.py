"""Which workloads wait, in which order, and which may not even queue up."""
