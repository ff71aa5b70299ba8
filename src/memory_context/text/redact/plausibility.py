"""What stands where a password or a key could: whether it looks as if somebody had made it up."""

from __future__ import annotations

import regex

_STANDS_FOR = regex.compile(
    r"(?i)[$%#@]?(?:\{.*\}|<.*>|\[.*\][+*]?|\(.*\))|%\w+%|%[a-z]\w?|%\(\w+\)[a-z]|\$\w+|[*•.x_#?-]+"
    r"|(?:\{\{|\[\[|<<|<%|[$%#@]\{|\$\(|</?(?:[abip]|br|code|div|em|h[1-6]|li|span|strong)/?>).*"
    r"|.*(?:\$\{[a-z_][\w.]*(?:[:?+-][^}]*)?\}|\$\([\w/.-]+\)|\{\{[\w.]+.*\}\}).*"
)
_EXAMPLE = regex.compile(
    r"(?i).*(?:\.\.\.|…).*|[a-z][a-z0-9+.-]*://.*|arn:.*|(?:your|my|the)[_-].*|[\[{]{1,8}\\*[\"'].*"  # JSON
    r"|.*(?:example|placeholder|change[_-]?(?:me|it)|dummy|redacted).*"
)
_TAG_OR_ANCHOR = regex.compile(r"[!&*]'?\w+")  # of YAML; a lifetime of Rust
_OPENED = regex.compile(r"[$%]?[{<\[(].*|.*(?:\{\{|[$#]\{|\$\(|<%).*")
_SIGN = regex.compile(r"[^\p{L}\p{M}\p{N}_./:-]")
_PATH = regex.compile(r"(?:[~.]{1,2}[\w-]*/|/[\w.@+~-]*/|[A-Za-z]:[/\\])[\w.@+~,:*?%{}$()/\\-]*")
RELATIVE_PATH = regex.compile(r"[\w.@+-]*(?:[/\\]+[\w.@+-]+)+[/\\]*")
_EXPRESSION = regex.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*[!?]?)+")
_WORDS = r"[A-Za-z_.\[\]]+"
_CALLER = r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[\w$]+)*!?"
_CODE = regex.compile(  # a call, an index, a type; alternatives; an operator
    rf"{_CALLER}(?:(?:\(.*\)|\[.*\]|<.*>|\{{.*\}})(?:[.?\[(:)\]}}>|&].*)?|[(<\[{{](?:.*[(\[{{])?)"
    rf"|{_WORDS}(?:\|.*|(?:&{{1,2}}{_WORDS})+)|[A-Za-z_$][\w$.]*(?:&&|\?\?|\?\.|=>|[!=]=).*"
)
_CALLED = regex.compile(rf"{_CALLER}[(<\[{{].*")
_PART = r"(?:[A-Z]?[a-z]+|[A-Z]+)?[0-9]{0,4}"
_LIKE_A_NAME = regex.compile(
    rf"{_PART}(?:[-_./:@]+{_PART})+|(?:[A-Z]?[a-z]{{2,}})+[0-9]{{0,4}}(?:[A-Z][a-z]{{2,}})*|[A-Z]+(?:_[A-Z0-9]+)*"
)
_LEAST_PASSWORD, _LEAST_KEY, _LETTERS_ALONE = 5, 8, 20


def is_made_up(value: str) -> bool:
    """Whether a person may have chosen this as a password: letters with digits or signs, or digits with signs."""
    if len(value) < _LEAST_PASSWORD or value.isalpha():
        return False
    kinds = (any(map(str.isalpha, value)), any(map(str.isdigit, value)), bool(_SIGN.search(value)))
    return sum(kinds) > 1 and not _PATH.fullmatch(value)


def is_random(value: str) -> bool:
    """Whether a machine may have made this: letters and digits, and not as they stand in names, paths and versions."""
    if len(value) < _LEAST_KEY or not value.isascii():
        return False
    if not any(map(str.isdigit, value)):
        return (
            len(value) >= _LETTERS_ALONE
            and value.isalpha()
            and not value.islower()
            and not _is_name(value)
        )
    return any(map(str.isalpha, value)) and not _is_name(value)


def _is_name(value: str) -> bool:
    return _LIKE_A_NAME.fullmatch(value) is not None


def stands_for_another(value: str) -> bool:
    """Whether this is a place to fill in, a variable or a template."""
    return _STANDS_FOR.fullmatch(value) is not None


def is_no_secret(value: str, *, is_cut: bool) -> bool:
    """Whether this says by its form that it is none; `is_cut`: it ends at a blank, so a bracket may not be closed."""
    return stands_for_another(value) or bool(
        _EXAMPLE.fullmatch(value) or (is_cut and _OPENED.fullmatch(value))
    )


def is_code(value: str, *, is_cut: bool) -> bool:
    """Whether this, without quotes, is an expression or a type of a programming language, or YAML's."""
    cut = _CALLED.fullmatch(value) if is_cut else None
    return any(
        (_EXPRESSION.fullmatch(value), _CODE.fullmatch(value), _TAG_OR_ANCHOR.fullmatch(value), cut)
    )
