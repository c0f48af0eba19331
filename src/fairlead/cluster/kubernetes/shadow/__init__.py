"""What Fairlead would do on a cluster that another scheduler runs, and where that one differs."""
