"""What is particular to the KAI rules."""
