"""Rules of capacity scheduling: a min and a max per namespace, borrowing in between."""
