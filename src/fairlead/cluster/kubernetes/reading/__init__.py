"""All objects of a cluster, read once: what commands that change nothing need."""
