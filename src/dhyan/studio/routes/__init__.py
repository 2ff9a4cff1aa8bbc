"""Routes of the studio, one module for each view; each adds its routes to the app."""
