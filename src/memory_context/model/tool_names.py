"""The names of this library's tools, and the size of a page."""

RETRIEVE = "retrieve_memory"
SEARCH = "search_memory"
STORE = "store_memory"
QUERY = "query_memory"
ASK = "ask_memory"
SAVE = "save_memory"
GET = "get_memory"
DELETE = "delete_memory"
CLEAR = "clear_memory"
LIST = "list_categories"
# A text of 9,000 tokens is read in three calls; with pages of 500, each call paid for all pages before it.
PAGE_TOKENS = 4000
# Their answers come in pages.
PAGED_TOOLS = frozenset({RETRIEVE, QUERY})
READING_TOOLS = frozenset({RETRIEVE, SEARCH, QUERY, ASK, GET, LIST})
MEMORY_TOOLS = READING_TOOLS | {STORE, SAVE, DELETE, CLEAR}
