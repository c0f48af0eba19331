"""What each namespace is guaranteed, may use and uses, and which pods its quota admits."""
