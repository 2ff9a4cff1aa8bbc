"""Routes of the studio by view; each module adds its routes to the app."""
