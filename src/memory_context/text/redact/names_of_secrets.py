"""The names that secrets have before an assigned value or above a column, as regular expressions in any case."""

from __future__ import annotations

# Assigned together: `PASSWORD = "…"` would be redacted itself, wherever this file is read.
PASSWORD, SECRET = (
    "pass(?:word|wort|wd|phrase|code)",
    "secret(?:[ ._-]?(?:access[ _-]?)?key(?:_base)?)?",
)
# Not the name of a secret that AWS keeps: arn:aws:secretsmanager:eu-west-1:111122223333:secret:prod/db-AbC123.
NAMED_SECRET = f"(?<!:secretsmanager:[a-z0-9-]{{0,30}}:[0-9]{{0,12}}:){SECRET}"
PASSWORD_ELSEWHERE = ("kennwort", "contrase.a", "mot de passe", "senha")
# Hints are searched for in ASCII, so these are searched for in the text itself.
_NOT_IN_ASCII = ("密码", "密碼", "пароль", "Пароль", "パスワード", "비밀번호")
PASSWORD_NOT_IN_ASCII = "|".join(_NOT_IN_ASCII)
# The words before "token" in tokens that are not secret: positions in a list, locks of WebDAV, public keys.
_CURSORS = (
    "page|next|continuation|continue|cursor|sync|resume|pagination|skip|delta|starting|scroll|idempotency"
    "|public[_-]?key|(?<!un)lock|(?-i:[Cc]lient(?=T))"
)
_OF_TOKENIZERS = "start|end|[beps]os|pad|unk|sep|cls|mask|stop"
TOKEN = f"token(?<!(?:{_CURSORS}|{_OF_TOKENIZERS})[ _-]?token)"
SORTS_OF_KEY = "using|api|access|private|account|auth|encryption|signing|master"


def names_password(text: str) -> bool:
    """Return whether a text holds one of the names of a password that are not ASCII; faster than a pattern of them."""
    return not text.isascii() and any(name in text for name in _NOT_IN_ASCII)
