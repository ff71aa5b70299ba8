"""Decide whether a value beside a name such as ``password`` looks as if somebody had made it up."""

from __future__ import annotations

import regex

# A place to fill in: all of it in brackets, a variable (%VAR%, $VAR), a format (%s, %(name)s), or stars and dots alone;
# or it begins like a template or like HTML; or it has a variable inside.
_PLACEHOLDER = regex.compile(
    r"(?i)[$%#@]?(?:\{.*\}|<.*>|\[.*\][+*]?|\(.*\))|%\w+%|%[a-z]\w?|%\(\w+\)[a-z]|\$+\w+(?:::\w+)*-?|[*•.x_#?-]+"
    r"|(?:\{\{|\[\[|<<|<%|[$%#@]\{|\$\(|</?(?:[abip]|br|code|div|em|h[1-6]|li|span|strong)/?>).*"
    r"|.*(?:\$\{[a-z_][\w.]*(?:[:?+-][^}]*)?\}|\$\([\w/.-]+\)|\{\{[\w.]+.*\}\}).*"
)
# An ellipsis, a URL, a name of AWS, "your-…", the beginning of JSON, or a word that only examples have.
_EXAMPLE = regex.compile(
    r"(?i).*(?:\.\.\.|…).*|[a-z][a-z0-9+.-]*://.*|arn:.*|(?:your|my|the)[_-].*|[\[{]{1,8}\\*[\"'].*"
    r"|.*(?:example|placeholder|change[_-]?(?:me|it)|dummy|redacted).*"
)
_TAG_OR_ANCHOR = regex.compile(r"[!&*]'?\w+")  # of YAML; a lifetime of Rust
_OPENED = regex.compile(r"[$%]?[{<\[(].*|.*(?:\{\{|[$#]\{|\$\(|<%).*")
_SIGN = regex.compile(r"[^\p{L}\p{M}\p{N}_./:-]")
# An absolute path, of Windows too, or one that begins with "~", "." or "..".
_PATH = regex.compile(r"(?:[~.]{1,2}[\w-]*/|/[\w.@+~-]*/|[A-Za-z]:[/\\])[\w.@+~,:*?%{}$()/\\-]*")
RELATIVE_PATH = regex.compile(r"[\w.@+-]*(?:[/\\]+[\w.@+-]+)+[/\\]*")
# Names with dots or arrows between them: settings.password, user->name, Kind::Name.
_EXPRESSION = regex.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*[!?]?)+")
_WORDS = r"[A-Za-z_.\[\]]+"
_CALLER = r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[\w$]+)*!?"
# A call, an index or a type, closed or not; alternatives (a|b, a&&b); a name and an operator.
_CODE = regex.compile(
    rf"{_CALLER}(?:(?:\(.*\)|\[.*\]|<.*>|\{{.*\}})(?:[.?\[(:)\]}}>|&].*)?|[(<\[{{](?:.*[(\[{{])?)"
    rf"|{_WORDS}(?:\|.*|(?:&{{1,2}}{_WORDS})+)|[A-Za-z_$][\w$.]*(?:&&|\?\?|\?\.|=>|[!=]=).*"
)
_OPENED_CALL = regex.compile(rf"{_CALLER}[(<\[{{].*")
_NAME_PART = r"(?:[A-Z]?[a-z]+|[A-Z]+)?[0-9]{0,4}"
# Words with few digits, joined by signs, or in CamelCase, or in CAPITALS_WITH_UNDERSCORES.
_NAME = regex.compile(
    rf"{_NAME_PART}(?:[-_./:@]+{_NAME_PART})+"
    r"|(?:[A-Z]?[a-z]{2,})+[0-9]{0,4}(?:[A-Z][a-z]{2,})*|[A-Z]+(?:_[A-Z0-9]+)*"
)
# Letters and digits without a sign between: more than in the last part of a UUID, or fewer in which all sorts are mixed.
_RUN = regex.compile(
    "[A-Za-z0-9]{13,}|(?=[A-Za-z]*[0-9])(?=[A-Z0-9]*[a-z])(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{8,}"
)
_HASH = regex.compile("[0-9a-f]{32,}")
_CHUNK = regex.compile("[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# On average: 2 in what a machine made, 3.5 in names such as getUtf8StringFromBase64Value.
_LONGEST_CHUNK = 3.25
_SHORTEST_PASSWORD = 5
_SHORTEST_KEY = 8
_SHORTEST_KEY_OF_LETTERS = 20


def is_made_up(value: str) -> bool:
    """Return whether a person may have chosen this password: two of letters, digits and signs are in it."""
    if len(value) < _SHORTEST_PASSWORD or value.isalpha():
        return False
    has_letters = any(map(str.isalpha, value))
    has_digits = any(map(str.isdigit, value))
    has_signs = _SIGN.search(value) is not None
    return has_letters + has_digits + has_signs > 1 and not _PATH.fullmatch(value)


def is_random(value: str) -> bool:
    """Return whether a machine may have made this: letters and digits, not as in names, paths and versions."""
    if len(value) < _SHORTEST_KEY or not value.isascii():
        return False
    if value.isalpha():
        if len(value) < _SHORTEST_KEY_OF_LETTERS or value.islower():
            return False
    elif not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return False
    return _NAME.fullmatch(value) is None


def is_surely_random(value: str) -> bool:
    """Return whether no person wrote this: somewhere letters and digits change more often than in names."""
    return is_random(value) and any(
        len(run) <= _LONGEST_CHUNK * len(_CHUNK.findall(run)) or _HASH.fullmatch(run)
        for run in _RUN.findall(value)
    )


def is_placeholder(value: str) -> bool:
    """Return whether this is a place to fill in, a variable or a template."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_no_secret(value: str, *, is_cut: bool) -> bool:
    """Return whether the form says that this is no secret; where *is_cut*, a bracket in it need not be closed."""
    if is_cut and _OPENED.fullmatch(value):
        return True
    return is_placeholder(value) or _EXAMPLE.fullmatch(value) is not None


def is_code(value: str, *, is_cut: bool) -> bool:
    """Return whether this, without quotes, is an expression or a type of a programming language, or YAML's."""
    forms = [_EXPRESSION, _CODE, _TAG_OR_ANCHOR]
    if is_cut:
        forms.append(_OPENED_CALL)
    return any(form.fullmatch(value) for form in forms)
