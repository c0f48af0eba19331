"""Past usage for a plan, from a usage store or Prometheus."""
