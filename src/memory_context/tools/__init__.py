"""What a model calls, whichever host brings the call: schemas, and answers within a budget.

- `verbs`: what a tool is (`Verb`), its answer and its errors.
- `lenient_arguments`: arguments as models write them.
- `retrieve_search_store`, `note_tools`, `file_tools`, `query_memory`, `ask_memory`: the tools. Which of them an agent
  gets is said in `query_memory`.
"""
