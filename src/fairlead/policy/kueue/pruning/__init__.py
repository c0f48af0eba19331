"""Bounds that prove that a search for victims is in vain."""
