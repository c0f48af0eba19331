"""Owners: objects of which controllers make pods, such as a Job, and the pods they would make."""
