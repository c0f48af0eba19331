"""How decisions are carried out on an API server, and what became of each."""
