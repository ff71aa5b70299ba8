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
PASSWORD_NOT_IN_ASCII = "密码|密碼|[Пп]ароль|パスワード|비밀번호"  # noqa: S105 - a name
# The words before "token" in tokens that are not secret: positions in a list, locks of WebDAV, public keys.
_CURSORS = (
    "page|next|continuation|continue|cursor|sync|resume|pagination|skip|delta|starting|scroll|idempotency"
    "|public[_-]?key|(?<!un)lock|(?-i:[Cc]lient(?=T))"
)
_OF_TOKENIZERS = "start|end|[beps]os|pad|unk|sep|cls|mask|stop"
TOKEN = f"token(?<!(?:{_CURSORS}|{_OF_TOKENIZERS})[ _-]?token)"
SORTS_OF_KEY = "using|api|access|private|account|auth|encryption|signing|master"
