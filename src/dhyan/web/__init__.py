"""Shared parts of both HTTP servers: request guard, body formats, errors, listening, lifecycle."""
