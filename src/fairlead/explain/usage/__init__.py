"""Past usage: who used how much, and what it does to fair shares."""
