"""What stands in the way of scheduling a cluster, each with its cure. It changes nothing."""
