"""Attention maps and figures: explanations, heat maps, charts, lesson pages."""
