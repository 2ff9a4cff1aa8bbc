"""Training: the loop, updates, objective, schedules, early stopping, recovery and events."""
