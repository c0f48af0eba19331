"""`fairlead run --policy elastic-quota` on a real control plane."""
