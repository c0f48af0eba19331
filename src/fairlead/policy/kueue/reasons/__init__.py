"""Why workloads are admitted, give way, or wait."""
