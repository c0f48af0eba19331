"""From objects, complete or one at a time, to one cluster state that is kept in line with them."""
