"""What each shortcut of the rule sets is worth: the same work with and without it."""
