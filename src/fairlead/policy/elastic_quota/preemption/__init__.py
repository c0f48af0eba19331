"""Which running pods give way so that a pending pod or gang finds room."""
