"""A live Kubernetes cluster."""
