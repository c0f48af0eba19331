"""What each queue is entitled to and may hold."""
