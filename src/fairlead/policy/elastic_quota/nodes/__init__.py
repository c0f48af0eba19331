"""Which pods run on which node, and which nodes can take one more."""
