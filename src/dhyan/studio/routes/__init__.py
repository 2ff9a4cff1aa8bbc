"""What the page asks, one module for each kind of question; each adds its routes to the app."""
