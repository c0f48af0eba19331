"""Scenarios under the rules of ElasticQuota: its quotas and its settings."""
