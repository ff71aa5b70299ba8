"""Frozen records and pure functions on them: items, references, scopes, tiers, categories. Read `item` first.

Two things are not pure: the source of generated keys, and the registry of functions that draw records in a notebook.
"""
