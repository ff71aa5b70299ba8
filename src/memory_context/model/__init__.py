"""Frozen records and pure functions of them: items, references, scopes, tiers, categories. `item` is the first to read.

Two things are not pure: the source of generated keys, and the registry of what draws records in a notebook.
"""
