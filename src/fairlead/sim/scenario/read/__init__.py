"""From a scenario file to a scenario, or to everything that is wrong with it."""
