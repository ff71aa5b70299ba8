"""The names of the tools that a model calls, and how much a page of the one that reads has."""

RETRIEVE = "retrieve_memory"
SEARCH = "search_memory"
STORE = "store_memory"
SAVE = "save_memory"
GET = "get_memory"
CLEAR = "clear_memory"
LIST = "list_categories"
# A text of 9,000 tokens is read in three calls; with pages of 500, each call paid for all pages before it.
PAGE_TOKENS = 4000
READING_TOOLS = frozenset({RETRIEVE, SEARCH, GET, LIST})
MEMORY_TOOLS = READING_TOOLS | {STORE, SAVE, CLEAR}
