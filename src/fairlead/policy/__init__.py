"""The three rule sets. Each, made once from its settings, answers for a state; all are pure."""
