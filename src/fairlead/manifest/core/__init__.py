"""Kubernetes' own objects, and what the readers of all families share."""
