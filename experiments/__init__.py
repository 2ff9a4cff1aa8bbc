"""Training runs and measurements behind the figures that lessons quote; not part of the package."""
