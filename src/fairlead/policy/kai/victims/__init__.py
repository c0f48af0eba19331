"""Who gives way to a job: candidates, the search, and placing all of them again."""
