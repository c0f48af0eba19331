"""Which of several replicas may act on a cluster, decided by a Lease on its API server."""
