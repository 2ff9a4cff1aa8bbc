"""Text on its way to ids, and back."""
