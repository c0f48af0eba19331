"""Which jobs give way: attempts, candidates, the search, and placing all of them again."""
