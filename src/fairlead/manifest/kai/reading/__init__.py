"""Reads KAI's objects: one manifest to one typed object."""
