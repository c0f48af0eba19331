"""From owners, such as Jobs, to the Workloads that Kueue would make of them."""
