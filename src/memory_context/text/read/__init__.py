"""A part of a text: lines, matches, values of a path, rows, page by page."""
