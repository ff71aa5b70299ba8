"""References as arguments of tools: which may be passed on, and what stands in their place."""
