"""Functions of a text, without I/O: describe, excerpt, read, index, count, redact.

State have only the describers that a user has registered, and the token counter; a table of tokens that is not at hand
is downloaded (`tokens.ranks`).
"""
