"""Which admitted workloads give way to a preemptor."""
