"""Data and measurements of the tasks beside translation."""
