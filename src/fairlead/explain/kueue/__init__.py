"""What is particular to the Kueue rules."""
