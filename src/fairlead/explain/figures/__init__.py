"""Static figures of simulations and of past usage."""
