"""HTTP routes of the studio, a module per view of its page; each adds its routes to the app."""
