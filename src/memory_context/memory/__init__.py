"""What an application calls, synchronous and for one user: every public verb but those of a host.

- `manager`: store, retrieve, search, forget (`MemoryManager`), with `descriptions`, `summaries`,
  `filters_from_keywords` and `reopening` beside it.
- `scoped_memory`: notes in tiers (`ScopedMemory`), with `tier_notes`.
- `chat_history`: the turns of chats (`ConversationMemory`).
- `assembler`: what an agent starts with (`ContextAssembler`): `chosen_within_budget` chooses,
  `assembled_package` writes the text, `allocation_advice` learns from it; `user_layer` uses it.
- `gc_by_retention_rules`, `consolidation`, `transfer` with `export_file_format`: expiry, merging, moving.
- `redaction`: secrets in what is stored; `sql_over_memories`: queries over the rows of several.
- `doctor_checks`, `metrics`: what is well, and how much there is.
"""
