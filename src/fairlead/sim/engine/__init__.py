"""The simulated cluster: a virtual clock, the jobs that are alive, and what happens to them."""
