"""Which flavors a pending workload takes, and what it needs to be admitted."""
