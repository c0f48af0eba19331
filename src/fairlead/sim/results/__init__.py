"""Results of simulations on disk: what stands in each file, how it gets there, and back."""
