"""One plan: every pending workload is attempted in order of priority and age."""
