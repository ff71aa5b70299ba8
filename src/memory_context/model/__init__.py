"""Frozen records and pure functions of them: items, references, scopes, tiers, categories. `item` is the first to read."""
