"""Tests against a real Kubernetes control plane; conftest.py starts it and marks them all."""
