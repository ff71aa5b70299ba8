"""Draw memories and reports for people: `terminal` for a terminal or a pipe, every other module as HTML.

Stored text is only shown: it can control neither a terminal nor a page. Only `terminal` needs the extra ``cli``.
"""
