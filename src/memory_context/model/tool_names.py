"""The names of this library's tools and of common tools that read files, and the size of a page."""

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
READING_TOOLS = frozenset({RETRIEVE, SEARCH, QUERY, ASK, GET, LIST})
MEMORY_TOOLS = READING_TOOLS | {STORE, SAVE, DELETE, CLEAR}
# Tools that read files, in coding agents, in deepagents, and in MCP's file servers.
FILE_READERS = frozenset(
    {
        "Glob",
        "Grep",
        "Read",
        "cat",
        "directory_tree",
        "get_file_contents",
        "glob",
        "grep",
        "list_directory",
        "ls",
        "open_file",
        "read_file",
        "read_multiple_files",
        "read_text_file",
        "search_files",
        "view",
        "view_file",
    }
)
