"""Draw memories and reports for people: `safe_terminal_output` for a terminal or a pipe, the other modules as HTML.

Stored text is only shown: it can control neither a terminal nor a page. Only `safe_terminal_output` needs the extra
``cli``.
"""
