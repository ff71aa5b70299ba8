"""The names of the tools that a model calls."""

RETRIEVE, SEARCH, STORE = "retrieve_memory", "search_memory", "store_memory"
SAVE, GET, CLEAR, LIST = "save_memory", "get_memory", "clear_memory", "list_categories"
READING_TOOLS = frozenset({RETRIEVE, SEARCH, GET, LIST})
MEMORY_TOOLS = READING_TOOLS | {STORE, SAVE, CLEAR}
