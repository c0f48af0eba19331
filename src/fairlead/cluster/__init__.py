"""Where decisions are carried out: live clusters, watched and acted upon."""
