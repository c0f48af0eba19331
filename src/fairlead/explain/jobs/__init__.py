"""What every rule set shows of one job: its decision, its claims, nodes, turns before it."""
