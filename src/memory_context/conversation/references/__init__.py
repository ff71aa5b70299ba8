"""References as arguments of tools: which of them may be passed on, and what replaces them."""
