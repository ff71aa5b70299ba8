"""The synchronous API for applications, for one user at a time: every public verb but those of a host.

- `manager`: store, retrieve, search, forget (`MemoryManager`), with `descriptions`, `summaries`,
  `search_filters` and `reopening` beside it.
- `scoped_memory`: notes in tiers (`ScopedMemory`), with `open_tiers`.
- `chat_history`: the turns of chats (`ConversationMemory`).
- `assembler`: what an agent starts with (`ContextAssembler`): `chosen_within_budget` chooses,
  `assembled_package` writes the text, `allocation_advice` learns from it; `user_layer` uses it.
- `retention_rules`, `consolidation`, `transfer` with `export_file_format`: expiry, merging, moving.
- `redaction`: removing secrets from records; `sql_over_memories`: queries over the rows of several memories.
- `doctor_checks`, `metrics`: the health of an installation, and how much it stores.
"""
