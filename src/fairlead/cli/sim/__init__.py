"""Commands that run simulations and show their results."""
