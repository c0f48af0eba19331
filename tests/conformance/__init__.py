"""Compares Fairlead with recorded answers and published numbers, as tests and as a tool."""
