"""Past use for whoever plans, wherever it comes from."""
