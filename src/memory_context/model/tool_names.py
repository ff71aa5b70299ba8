"""The names of the tools that a model calls."""

RETRIEVE = "retrieve_memory"
SEARCH = "search_memory"
STORE = "store_memory"
SAVE = "save_memory"
GET = "get_memory"
CLEAR = "clear_memory"
LIST = "list_categories"
READING_TOOLS = frozenset({RETRIEVE, SEARCH, GET, LIST})
MEMORY_TOOLS = READING_TOOLS | {STORE, SAVE, CLEAR}
