"""Bounds that prove that an attempt is in vain. Speed only: no decision depends on them."""
