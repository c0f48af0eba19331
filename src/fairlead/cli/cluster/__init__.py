"""Commands about the objects of a cluster."""
