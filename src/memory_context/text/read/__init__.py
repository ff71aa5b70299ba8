"""Read a part of a text page by page: lines, matches, values of a JSONPath, rows."""
