"""Work that real clusters once did, read from their logs and fitted to the queues of a scenario."""
