"""What users see on the API server of decisions: Events, pod conditions, and status of quotas."""
