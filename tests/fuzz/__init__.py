"""Fuzzers of our own: what stands at each door of Fairlead must end in an answer or a finding."""
