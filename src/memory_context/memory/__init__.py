"""The synchronous API for applications, for one user at a time: every public verb but those of a host.

- `manager`: store, retrieve, search, forget (`MemoryManager`), with `summary_of_a_memory`, `descriptions_by_a_summarizer`,
  `filters_from_keywords` and `urls_for_other_processes` beside it.
- `scoped_memory`: notes in tiers (`ScopedMemory`), with `open_tiers`.
- `chat_history`: the turns of chats (`ConversationMemory`).
- `assembler`: what an agent starts with (`ContextAssembler`): `assembly_within_budget` chooses,
  `package_text_and_what_was_used` writes the text, `allocation_advice` learns from it, and
  `user_layer_of_new_conversations` uses it.
- `gc_by_retention_rules`, `consolidation`, `copy_export_import` with `export_file_format`: expiry, merging, moving.
- `redacted_records`: removing secrets from records; `sql_over_memories`: queries over the rows of several memories.
- `doctor_checks_and_advice`, `usage_gauges`: the health of an installation, and how much it stores.
"""
