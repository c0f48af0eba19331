"""Fixtures of the tests of the client."""

from tests.cluster.kubernetes.client.certificates import certificates

__all__ = ["certificates"]
