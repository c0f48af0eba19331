"""What a page about simulations shows, as plain data of bounded size."""
