"""What is kept of a state from plan to plan. Speed only: no decision depends on it."""
