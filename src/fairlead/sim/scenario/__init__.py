"""One file that says what to simulate: cluster, queues, rules, work; read, checked, made to run."""
