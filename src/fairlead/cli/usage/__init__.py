"""The commands of ``fairlead usage``."""
