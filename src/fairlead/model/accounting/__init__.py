"""The sums and lists that a cluster state keeps per queue, node and workload, with undo."""
