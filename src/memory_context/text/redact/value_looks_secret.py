"""Decide whether a value after a name such as ``password`` looks like a secret, by its form alone."""

from __future__ import annotations

import regex

# A placeholder: a value in brackets, a variable (%VAR%, $VAR), formats (%s, %s:%s, %(name)s), or only stars and dots; or a
# value that begins like a template or HTML, or has a variable in it.
_PLACEHOLDER = regex.compile(
    r"(?i)[$%#@]?(?:\{.*\}|<.*>|\[.*\][+*]?|\(.*\))|%\w+%|%[a-z]\w?(?:[:/@.,-]%[a-z]\w?)*|%\(\w+\)[a-z]|\$+\w+(?:::\w+)*-?|[*•.x_#?-]+"
    r"|(?:\{\{|\[\[|<<|<%|[$%#@]\{|\$\(|</?(?:[abip]|br|code|div|em|h[1-6]|li|span|strong)/?>).*"
    r"|.*(?:\$\{[a-z_][\w.]*(?:[:?+-][^}]*)?\}|\$\([\w/.-]+\)|\{\{[\w.]+.*\}\}).*"
)
# An ellipsis, a URL, an ARN of AWS, "your-…", the beginning of JSON, or a word that only examples have.
_EXAMPLE = regex.compile(
    r"(?i).*(?:\.\.\.|…).*|[a-z][a-z0-9+.-]*://.*|arn:.*|(?:your|my|the)[_-].*|[\[{]{1,8}\\*[\"'].*"
    r"|.*(?:example|placeholder|change[_-]?(?:me|it)|dummy|redacted).*"
)
_TAG_OR_ANCHOR = regex.compile(r"[!&*]'?\w+")  # of YAML; a lifetime of Rust
_OPENED = regex.compile(r"[$%]?[{<\[(].*|.*(?:\{\{|[$#]\{|\$\(|<%).*")
_SIGN = regex.compile(r"[^\p{L}\p{M}\p{N}_./:-]")
# An absolute path, also of Windows, or a path that begins with "~", "." or "..".
_PATH = regex.compile(r"(?:[~.]{1,2}[\w-]*/|/[\w.@+~-]*/|[A-Za-z]:[/\\])[\w.@+~,:*?%{}$()/\\-]*")
RELATIVE_PATH = regex.compile(r"[\w.@+-]*(?:[/\\]+[\w.@+-]+)+[/\\]*")
# Names with dots or arrows between them: settings.password, user->name, Kind::Name.
_EXPRESSION = regex.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*[!?]?)+")
_WORDS = r"[A-Za-z_.\[\]]+"
_CALLER = r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[\w$]+)*!?"
# A call, an index or a type, closed or not; alternatives (a|b, a&&b); a name and an operator; a short hexadecimal number.
_CODE = regex.compile(
    rf"{_CALLER}(?:(?:\(.*\)|\[.*\]|<.*>|\{{.*\}})(?:[.?\[(:)\]}}>|&].*)?|[(<\[{{](?:.*[(\[{{])?)"
    rf"|{_WORDS}(?:\|.*|(?:&{{1,2}}{_WORDS})+)|[A-Za-z_$][\w$.]*(?:&&|\?\?|\?\.|=>|[!=]=).*|0x[0-9A-Fa-f]{{1,4}}"
)
_OPENED_CALL = regex.compile(rf"{_CALLER}[(<\[{{].*")
_NAME_PART = r"(?:[A-Z]?[a-z]+|[A-Z]+)?[0-9]{0,4}"
# Words with few digits, joined by signs, or in CamelCase (NoSuchUser, lastEventId), or in CAPITALS_WITH_UNDERSCORES.
_NAME = regex.compile(
    rf"{_NAME_PART}(?:[-_./:@]+{_NAME_PART})+"
    r"|(?:[A-Z][a-z](?=[A-Z]))?(?:[A-Z]?[a-z]{2,})+(?:[A-Z][a-z]\Z|[0-9]{0,4}(?:[A-Z][a-z]{2,})*)|[A-Z]+(?:_[A-Z0-9]+)*"
)
# A run of letters and digits: longer than the last part of a UUID, or shorter with digits and letters of both cases.
_RUN = regex.compile(
    "[A-Za-z0-9]{13,}|(?=[A-Za-z]*[0-9])(?=[A-Z0-9]*[a-z])(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{8,}"
)
_HASH = regex.compile("[0-9a-f]{32,}")
_CHUNK = regex.compile("[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# The average length of a chunk is 2 in what a machine made, and 3.5 in names such as getUtf8StringFromBase64Value.
_LONGEST_CHUNK = 3.25
_SHORTEST_PASSWORD = 5
_SHORTEST_KEY = 8
_SHORTEST_KEY_OF_LETTERS = 20


def is_made_up(value: str) -> bool:
    """Return whether a person may have chosen this as a password: it has at least two of letters, digits and signs."""
    if len(value) < _SHORTEST_PASSWORD or value.isalpha():
        return False
    has_letters = any(map(str.isalpha, value))
    has_digits = any(map(str.isdigit, value))
    has_signs = _SIGN.search(value) is not None
    sorts = has_letters + has_digits + has_signs
    return sorts > 1 and not _PATH.fullmatch(value)


def is_random(value: str) -> bool:
    """Return whether a machine may have made this: it has letters and digits, but not as in names, paths and versions."""
    if len(value) < _SHORTEST_KEY or not value.isascii():
        return False
    if value.isalpha():
        if len(value) < _SHORTEST_KEY_OF_LETTERS or value.islower():
            return False
    elif not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    return _NAME.fullmatch(value) is None


def is_surely_random(value: str) -> bool:
    """Return whether a machine must have made this: letters and digits alternate more often than in names."""
    if not is_random(value):
        return False
    for run in _RUN.findall(value):
        alternates = len(run) <= _LONGEST_CHUNK * len(_CHUNK.findall(run))
        if alternates or _HASH.fullmatch(run):
            return True
    return False


def is_placeholder(value: str) -> bool:
    """Return whether this is a placeholder, a variable or a template."""
    return _PLACEHOLDER.fullmatch(value) is not None


def is_no_secret(value: str, *, is_cut: bool) -> bool:
    """Return whether the form shows that this is not a secret; if *value* is cut off, a bracket in it may be open."""
    if is_cut and _OPENED.fullmatch(value):
        return True
    return is_placeholder(value) or _EXAMPLE.fullmatch(value) is not None


def is_code(value: str, *, is_cut: bool) -> bool:
    """Return whether this unquoted value is an expression or type of a programming language, or a tag of YAML."""
    forms = [_EXPRESSION, _CODE, _TAG_OR_ANCHOR]
    if is_cut:
        forms.append(_OPENED_CALL)
    return any(form.fullmatch(value) for form in forms)
