"""Which PodGroups KAI's pod grouper makes for pods that owners have."""
