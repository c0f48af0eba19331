"""Fairlead beside kube-scheduler, each alone on a fresh control plane of Kubernetes."""
