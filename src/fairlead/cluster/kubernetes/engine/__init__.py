"""The thread that owns the state: takes facts in, plans, and gives out acts."""
