"""The numbers of all queues, and what changes between two inputs."""
