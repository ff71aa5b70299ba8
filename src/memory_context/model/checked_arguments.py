"""Check the arguments of public methods by their names: a name means the same thing everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from os import PathLike
from types import NoneType
from typing import Any, Final, SupportsFloat, TypeAlias

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.checked_numbers import is_from, is_share, is_whole, shown
from memory_context.model.item import Deletion, MemoryItem
from memory_context.model.origin import ORIGINS
from memory_context.model.quota import Quota
from memory_context.model.scope import Scope
from memory_context.model.selection import Selection

Check: TypeAlias = tuple[Callable[[Any], bool], str]


def _of_type(wanted: str, *kinds: type, but: tuple[type, ...] = ()) -> Check:
    """Return the check for a value of one of *kinds* that is of none of the types *but*."""
    return lambda value: isinstance(value, kinds) and not isinstance(value, but), wanted


def _listed(wanted: str) -> Check:
    """Return the check for an iterable of values, other than a text or bytes, which yield letters or numbers."""
    return _of_type(wanted, Iterable, but=(str, *_BYTES))


def _has(attribute: str) -> Callable[[Any], bool]:
    """Return the check for an object with an *attribute*; a class is refused, because its methods need an instance."""
    return lambda value: hasattr(value, attribute) and not isinstance(value, type)


def _or_none(is_right: Callable[[Any], bool], wanted: str) -> Check:
    """Return the check for None, or a value that passes *is_right*."""
    return lambda value: value is None or is_right(value), wanted


def _is_timeout(value: object) -> bool:
    """Return whether a value is a number of seconds above 0 that a `timedelta` can hold."""
    return isinstance(value, int | float) and 0 < value < timedelta.max.total_seconds()


def _is_moment(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _is_end(value: Any) -> bool:  # noqa: ANN401 - whatever a caller gives
    match value:
        case (MemoryItem(), moment):
            return _is_moment(moment)
        case _:
            return False


_BYTES: Final = (bytes, bytearray, memoryview)
_FLAG = _of_type("True or False", bool)
# Also 0, 1 and numpy's, which are equal to them.
_ANY_FLAG = ((True, False).__contains__, "True or False")
_TEXT_OR_NONE = _of_type("a text", str, NoneType)
_THRESHOLDS = _of_type("a mapping from names to numbers of tokens", Mapping)
_TOKENS = _or_none(is_whole, "a whole number of tokens, or None")
# A text is one name; bytes would be an iterable of numbers.
_NAMES = _of_type("a text, or a list of texts", Iterable, NoneType, but=_BYTES)
_TOOLS = _of_type("a list of names of tools", Collection, but=(str,))
_PATH = _of_type("a path", str, PathLike)
_FUNCTION_OR_NONE = _or_none(callable, "a function, or None")
_NOT_NEGATIVE = partial(is_from, least=0)
_SHARE = (is_share, "a number from 0 to 1")
_TEXTS = (
    "key", "query", "sql", "text", "name", "type", "code", "lesson", "role", "task", "reason", "order_by",
    "agent_instance_id",
)  # fmt: skip
_CHECKS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(_TEXTS, _of_type("a text", str)),
    # The text of whatever else is given is an id.
    **dict.fromkeys(
        ("run_id", "session_id", "plan_id", "task_id", "project_id"),
        _of_type("a text, a UUID or an int", object, but=(list, tuple, set, Mapping, *_BYTES)),
    ),
    "scope": _of_type("a Scope", Scope),
    "item": _of_type("a MemoryItem", MemoryItem),
    "record": _of_type("a MemoryItem or a Deletion", MemoryItem, Deletion),
    "records": _listed("a list of records"),
    "items": _listed("a list of MemoryItems"),
    "replaces": _of_type("a MemoryItem, or None", MemoryItem, NoneType),
    "ends": _listed("a list of pairs of a MemoryItem and a datetime"),
    "end": (_is_end, "a pair of a MemoryItem and a datetime with a time zone"),
    "keys": _listed("a list of keys"),
    "mode": (
        ("keyword", "semantic", "hybrid").__contains__,
        "one of keyword, semantic, hybrid and, in a MemoryManager, substring",
    ),
    "origin": (ORIGINS.__contains__, f"one of {', '.join(ORIGINS)}"),
    "source": _TEXT_OR_NONE,
    "description": _TEXT_OR_NONE,
    "category": _TEXT_OR_NONE,
    "types": _NAMES,
    "tier": _NAMES,
    "tags": _NAMES,
    "tool": _of_type("the name of a tool in tools= and secrets_for=", str),
    "tools": _TOOLS,
    "secrets_for": _TOOLS,
    "filters": _of_type(
        "a dict of columns and conditions, such as {'category': 'x'}", Mapping, NoneType
    ),
    "tier_ids": _of_type("a dict of tiers and ids, such as {'session': 'x'}", Mapping, NoneType),
    "seen": _or_none(_is_moment, "a datetime with a time zone"),
    "selection": _of_type("a Selection, such as Selection(lines='1-9')", Selection),
    "allocation": _of_type(
        "a dict of tiers and parts, such as {'task': 40, 'project': 60}", Mapping
    ),
    "patterns": _of_type("a mapping of names to patterns", Mapping, NoneType),
    "directories": _of_type("a mapping from tools to directories", Mapping),
    "source_thresholds": _THRESHOLDS,
    "tool_thresholds": _THRESHOLDS,
    "redact": _of_type("a list of callables from text to text", Collection, but=(str,)),
    "policies": _of_type('a list of policies, such as [TierPolicy("team")]', Iterable, but=(str,)),
    "data": _of_type("a dict that JSON can express", Mapping),
    "directory": _PATH,
    "app_cache_dir": _PATH,
    "path": _PATH,
    "folder": _PATH,
    "file_mode": (is_whole, "a mode of files, such as 0o600"),
    "directory_mode": (is_whole, "a mode of folders, such as 0o700"),
    "progress": _FUNCTION_OR_NONE,
    "on_hit": _FUNCTION_OR_NONE,
    "check": _FUNCTION_OR_NONE,
    "confirm": _FUNCTION_OR_NONE,
    "validate": _FUNCTION_OR_NONE,
    "ask": (callable, "a function of a system message and a question that returns the answer"),
    "clock": (callable, "a function that returns the time"),
    "key_source": _or_none(
        _has("randrange"), "a source of random numbers, such as random.Random(1)"
    ),
    "without": _listed("a list of kinds, such as ['jwt']"),
    "merger": _or_none(
        # A class may have a method that needs no instance.
        lambda value: hasattr(value, "merge"),
        "an object with a method merge(notes, max_tokens)",
    ),
    "rules": _listed('a list of rules, such as [RetentionRule.parse("note=30d")]'),
    "rule": (_has("expiry"), 'a rule, such as RetentionRule.parse("note=30d")'),
    "turns": _listed("a list of turns, such as [ChatTurn('human', 'Hello')]"),
    "turn": (_has("text"), "a turn, such as ChatTurn('human', 'Hello')"),
    "context": (_has("shown_messages"), "a MemoryContext"),
    "store": (_has("list_all"), "a store, such as SQLAlchemyStore(URL)"),
    "function": (callable, "a function from a text to a line"),
    "service": (_has("view"), "an AgentMemoryService"),
    "package": (_has("used"), "a ContextPackage"),
    "limits": (_has("characters"), "SummaryLimits(…)"),
    "room": _or_none(_has("max_chars"), "a Room(max_chars=…, max_items=…), or None"),
    "verbs": _of_type("a mapping from verbs to memories", Mapping, NoneType),
    "ttl": _of_type("a dict, such as {'default_ttl': 60}", Mapping, NoneType),
    "index": _of_type("a dict, such as {'dims': 384, 'embed': embedder}", Mapping, NoneType),
    "codec": _or_none(_has("seal"), "a codec, such as Compressed()"),
    "redactor": _or_none(_has("cleared"), "a redactor, such as Redactor()"),
    "quota": _of_type("a Quota(max_items=…, max_bytes=…)", Quota, NoneType),
    "calls_kept": _of_type("a timedelta, or None to keep none", timedelta, NoneType),
    "password_variable": _of_type("the name of an environment variable", str),
    "auto_include": _FLAG,
    "dry_run": _ANY_FLAG,
    "ends_task": _FLAG,
    "soft": _ANY_FLAG,
    "recall": _FLAG,
    "notes": _FLAG,
    "idle_timeout": _or_none(
        _is_timeout, "a number of seconds above 0 and below 2.7 million years, or None"
    ),
    "importance": _SHARE,
    "evict": _SHARE,
    "max_tokens": _TOKENS,
    "page_tokens": _TOKENS,
    "offset": (_NOT_NEGATIVE, "a whole number, 0 or more"),
    "limit": _or_none(_NOT_NEGATIVE, "a whole number, 0 or more, or None for all"),
}


def check_arguments(**given: object) -> None:
    """Check arguments, given by their names.

    Raises:
        InvalidArgumentError: One has the wrong type, or is a number out of range. The message quotes numbers
            only, and what should be one of a few words, since a text may be a user's.
    """
    for name, value in given.items():
        is_right, wanted = _CHECKS[name]
        if not is_right(value):
            is_shown = (
                name in ("mode", "origin") or value is None or isinstance(value, SupportsFloat)
            )
            given_one = shown(value) if is_shown else type(value).__name__
            raise InvalidArgumentError(f"{name} must be {wanted}, not {given_one}")
