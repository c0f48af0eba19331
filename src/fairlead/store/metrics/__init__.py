"""What is told to Prometheus: the peers' names, from a state and its past use."""
