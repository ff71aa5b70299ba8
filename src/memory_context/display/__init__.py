"""For people: `terminal` has texts, tables and facts for a terminal or a pipe, every other module what a page shows.

Stored text is data: it is shown, and steers neither a terminal nor a page. Only `terminal` needs the extra ``cli``.
"""
