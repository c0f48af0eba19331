"""Rules of KAI-Scheduler: hierarchical fair share with guarantees, weights and priorities."""
