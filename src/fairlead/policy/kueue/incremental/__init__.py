"""What is kept from plan to plan, so that a plan costs what changed."""
