"""The client of a Kubernetes API server: how to reach it, as which user, and what it answers."""
