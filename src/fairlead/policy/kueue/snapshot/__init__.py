"""What each ClusterQueue and cohort has, uses, borrows and lends."""
