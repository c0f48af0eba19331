"""Facts: quantities, axes, the queue tree, workloads, nodes, the cluster state, the plan.

Everything here knows nothing of clocks, files or networks. Amounts are whole base units on
fixed axes, so arithmetic is exact; "no limit" is ``None``, never an absent key.
"""
