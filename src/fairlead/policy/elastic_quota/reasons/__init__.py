"""Why a workload starts, waits or is evicted, with the numbers that were compared."""
