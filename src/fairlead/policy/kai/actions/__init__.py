"""The cycle and its actions: allocate, consolidation, reclaim, preempt, stale gang eviction."""
