"""Scenarios under the rules of KAI: its Queues, its settings, and the files of its simulator."""
