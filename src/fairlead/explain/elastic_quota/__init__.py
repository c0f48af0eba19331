"""What is particular to the ElasticQuota rules."""
