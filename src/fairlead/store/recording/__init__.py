"""Writes down what a running scheduler sees."""
