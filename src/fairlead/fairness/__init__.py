"""Pure arithmetic of fairness: dividing by weight, quota trees, dominant shares, decay."""
