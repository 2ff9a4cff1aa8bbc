"""What both HTTP servers share: request guard, strict bodies, error body, listening, lifecycle."""
