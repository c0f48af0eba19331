"""How amounts, names, measures and reasons are written for people."""
