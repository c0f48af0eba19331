"""ElasticQuota's objects: read one by one, then put together."""
