"""Functions on text, without I/O: describe, excerpt, read, query, index, count tokens, redact.

The only state is in the describers that a user has registered and in the token counter. The one exception to "no I/O":
a token table that is not on this machine is downloaded (`tokens.rank_file_download`).
"""
