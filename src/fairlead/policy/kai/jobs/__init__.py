"""One job: its gang, what makes it like others, and starting it."""
