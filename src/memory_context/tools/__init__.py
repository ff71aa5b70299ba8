"""The tools that a model calls, independent of the host: schemas of arguments, and answers within a token budget.

- `tool_calls_and_answers`: a tool (`Verb`), its answer and its errors.
- `arguments_as_models_write_them`: the forms in which models write arguments.
- `retrieve_search_store`, `note_tools`, `file_tools`, `query_memory`, `ask_memory`: the tools.
- `tools_of_an_agent`: which of them an agent gets.
"""
