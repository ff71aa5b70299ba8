"""How many tokens a text has: counted, or estimated where the ranks cannot be had."""
