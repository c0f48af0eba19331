"""Usage as text: JSON lines of our own, and the output of sacct."""
