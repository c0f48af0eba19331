"""Pages in one file each: what they look like, what they do, and how they are put together."""
