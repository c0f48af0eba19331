"""Records of use as text: our own forms, and what Slurm prints."""
