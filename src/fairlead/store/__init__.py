"""Where past use is kept and read: our own file, other people's databases, and texts."""
