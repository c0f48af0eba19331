"""How watches, the engine and acts run together, from the first list to an orderly end."""
