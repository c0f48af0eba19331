"""The files of KAI's own simulator: read unchanged, run here, answered with its table."""
