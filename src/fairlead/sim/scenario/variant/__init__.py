"""What becomes of a scenario under one rule set: objects, cluster and work."""
