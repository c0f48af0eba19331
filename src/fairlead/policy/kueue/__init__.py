"""Rules of Kueue: cohorts that borrow and lend, and share by dominant resource."""
