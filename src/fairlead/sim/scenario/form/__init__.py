"""What a scenario file may say: every field, its type and its meaning."""
