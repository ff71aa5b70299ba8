"""What a JSONPath (RFC 9535) finds in the values of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import regex
from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError, JSONPathNode, JSONPathQuery, Parser
from jsonpath_rfc9535.filter_expressions import Expression, FilterQuery
from jsonpath_rfc9535.function_extensions import ExpressionType, FilterFunction
from jsonpath_rfc9535.tokens import TokenStream

from memory_context.exceptions import (
    InvalidSelectionError,
    NothingMatchedError,
    SelectionTimeoutError,
)
from memory_context.model.selection import Cost, Deadline, listed, quoted, too_slow
from memory_context.runtime import prompts
from memory_context.runtime.regexes import compiled
from memory_context.text.read.json_values import documents, is_json_lines, to_json

SHORTEST_TEXT = 8
ROOTS_TOLD = 2
DEEPEST = 6
LIMITS = (1000, 300, 100, 30, 10, 3)
_UNITS: Final = ((str, "characters"), (list, "elements"), (dict, "members"))
_DOT = regex.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\.")


@dataclass(frozen=True, slots=True)
class FoundValues:
    """A listing of values, rendered as one JSON array; a path that can find one only gives the value itself."""

    values: list[Any]
    single: bool

    @property
    def total(self) -> int:
        """How many values were found."""
        return len(self.values)

    def size(self, index: int) -> int:
        """At least one; no value is written down only to know its size."""
        return _least_size(self.values[index])

    def part(self, start: int, end: int) -> str:
        """Which of the values they are."""
        return prompts.PART_MATCHES.format(first=start + 1, last=end, total=self.total)

    def render(self, start: int, end: int) -> str:
        """Valid JSON."""
        return to_json(self.values[0] if self.single and end > start else self.values[start:end])

    def shortened(self, index: int, budget: int, cost: Cost) -> str:
        """The value with long texts, lists and objects in it cut; valid JSON, too."""
        shorter = _shorter(self.values[index])
        texts = (to_json(value if self.single else [value]) for value in shorter)
        return next((text for text in texts if cost(text) <= budget), "")


@dataclass(frozen=True, slots=True)
class ValueParts:
    """A listing of the parts of one value that is too large for a page: elements, members, or pieces of a text."""

    value: Any
    unit: str
    keys: list[str]

    @property
    def total(self) -> int:
        """How many elements, members or characters it has."""
        return len(self.value)

    def size(self, index: int) -> int:
        """At least that many characters."""
        return 1 if isinstance(self.value, str) else _least_size(self._items(index, index + 1)[0])

    def part(self, start: int, end: int) -> str:
        """Which of them they are."""
        return prompts.PART_VALUE.format(
            unit=self.unit, first=start + 1, last=end, total=self.total
        )

    def render(self, start: int, end: int) -> str:
        """Valid JSON: a list, an object or a text with these parts."""
        return to_json(self._joined(start, self._items(start, end)))

    def shortened(self, index: int, budget: int, cost: Cost) -> str:
        """The part, cut; valid JSON, too."""
        if isinstance(self.value, str):
            return ""
        values = _shorter(self._items(index, index + 1)[0])
        texts = (to_json(self._joined(index, [value])) for value in values)
        short = next((text for text in texts if cost(text) <= budget), "")
        nameless = to_json(
            {
                abridged(key, SHORTEST_TEXT, 1): prompts.NO_ROOM
                for key in self.keys[index : index + 1]
            }
        )
        return short or (nameless if self.keys and cost(nameless) <= budget else "")

    def _items(self, start: int, end: int) -> Any:  # noqa: ANN401 - whatever JSON holds
        if self.unit == "members":
            return [self.value[key] for key in self.keys[start:end]]
        return self.value[start:end]

    def _joined(self, start: int, items: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if self.unit == "members":
            return dict(zip(self.keys[start : start + len(items)], items, strict=True))
        return items


def parts_of(found: FoundValues) -> ValueParts | None:
    """The parts of the only value that was found; None where there are several, or where it has none."""
    value: object = found.values[0] if found.total == 1 else None
    unit = next((unit for kind, unit in _UNITS if isinstance(value, kind)), None)
    if not value or unit is None:
        return None
    return ValueParts(
        value, unit, list(cast("Mapping[str, Any]", value)) if unit == "members" else []
    )


def found_values(text: str, path: str) -> FoundValues:
    """What `path` finds in the JSON, JSON lines or repr of `text`, else in the JSON inside an MCP result.

    The root of JSON lines is the list of their records; a path that finds nothing there is tried on each record.

    Raises:
        InvalidSelectionError: No JSONPath, or no such text.
        NothingMatchedError: It finds nothing; names the keys that are there.
        SelectionTimeoutError: It took too long.
    """
    query = _Environment(Deadline()).query(path)
    roots = documents(text)
    environment = _Environment(Deadline())
    if not roots:
        message = "path= needs JSON, JSON lines or a Python repr, which this text is not"
        raise InvalidSelectionError(message)
    try:
        for candidates in (roots[:1], roots[1:], _records(text, roots[0])):
            values = [node.value for root in candidates for node in environment.found(query, root)]
            if values:
                return FoundValues(values, single=query.singular_query() and len(values) == 1)
        nothing = _nothing(environment, query, path, roots)
    except (JSONPathError, RecursionError, MemoryError) as error:
        message = f"path={quoted(path[:80])} cannot be followed in this text: {str(error) or type(error).__name__}"
        raise InvalidSelectionError(message) from error
    raise NothingMatchedError(nothing)


def _records(text: str, root: Any) -> Iterator[Any]:  # noqa: ANN401 - whatever JSON holds
    """The records, if `root` is their list and not the value of the text."""
    if isinstance(root, list) and is_json_lines(text):
        yield from cast("Sequence[Any]", root)


def _shorter(value: Any) -> Iterator[Any]:  # noqa: ANN401 - whatever JSON holds
    """`value` with less and less in it, at last only that there is no room for it."""
    yield from (abridged(value, limit, DEEPEST) for limit in LIMITS)
    yield _gist(value)
    yield prompts.NO_ROOM


def abridged(value: Any, limit: int, depth: int) -> Any:  # noqa: ANN401 - whatever JSON holds
    """`value` with texts of `limit` characters, lists and objects of `limit` // 3 parts, `depth` levels, at most."""
    parts = max(1, limit // 3)
    match value:
        case str() if len(value) > max(limit, SHORTEST_TEXT):
            return value[:limit] + prompts.GAP_IN_LINE.format(count=len(value) - limit).rstrip()
        case list() | dict() if value and not depth:
            return _gist(cast("Any", value))
        case list():
            items = cast("Sequence[Any]", value)
            kept = [abridged(item, limit, depth - 1) for item in items[:parts]]
            return (
                kept
                if len(items) <= parts
                else [*kept, prompts.MORE_PARTS.format(count=len(items) - parts)]
            )
        case dict():
            members = list(cast("Mapping[str, Any]", value).items())
            short = {
                abridged(key, 60, 1): abridged(item, limit, depth - 1)
                for key, item in members[:parts]
            }
            more = (
                {}
                if len(members) <= parts
                else {"…": prompts.MORE_PARTS.format(count=len(members) - parts)}
            )
            return short | more
        case _:
            return value


def _gist(value: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """What `value` is, in a few words."""
    match value:
        case str():
            return prompts.A_TEXT.format(count=len(value))
        case list():
            items = cast("Sequence[Any]", value)
            first = next(
                (cast("Mapping[str, Any]", item) for item in items if isinstance(item, dict)), None
            )
            keys = prompts.WITH_KEYS.format(keys=listed(first)) if first else ""
            return prompts.A_LIST.format(count=len(items), keys=keys)
        case dict():
            return prompts.AN_OBJECT.format(keys=listed(cast("Mapping[str, Any]", value)))
        case _:
            return str(value)[:100]


def _least_size(value: Any) -> int:  # noqa: ANN401 - whatever JSON holds
    """A number of characters that the JSON of `value` has at least."""
    match value:
        case str():
            return len(value) + 2
        case list():
            return max(2, 3 * len(cast("Sequence[Any]", value)))
        case dict():
            return max(2, 6 * len(cast("Mapping[str, Any]", value)))
        case _:
            return 1


def _nothing(environment: _Environment, query: JSONPathQuery, path: str, roots: list[Any]) -> str:
    """That nothing was found, how far the path leads, and what is there; the innermost text first."""
    told = list[str]()
    for count in range(len(query.segments) - 1, -1, -1):
        shorter = JSONPathQuery(env=environment, segments=query.segments[:count])
        nodes = (
            next(iter(environment.found(shorter, root)), None)
            for root in reversed(roots[-ROOTS_TOLD:])
        )
        told = [
            prompts.LEADS_TO.format(node=node.path()[:200], gist=_gist(node.value))
            for node in nodes
            if node
        ]
        if told:
            break
    return " ".join((prompts.NO_VALUE.format(path=quoted(path[:80])), *told))


class _Node(JSONPathNode):
    """A node that looks at the clock when it is asked for its children."""

    __slots__ = ("deadline",)
    deadline: Deadline

    def new_child(self, value: object, key: int | str, parent: JSONPathNode | None) -> _Node:
        child = _Node(value=value, location=(*self.location, key), parent=parent, root=self.root)
        child.deadline = self.deadline
        self.deadline.left()
        return child


class _Query(JSONPathQuery):
    """A query inside a filter, on the clock."""

    __slots__ = ()
    env: _Environment

    def finditer(self, value: Any) -> Iterable[JSONPathNode]:  # noqa: ANN401 - whatever JSON holds
        return self.env.found(self, value)


class _Parser(Parser):
    """Makes filters whose queries are on the clock."""

    def parse_root_query(self, stream: TokenStream) -> Expression:
        return _on_the_clock(super().parse_root_query(stream))

    def parse_relative_query(self, stream: TokenStream) -> Expression:
        return _on_the_clock(super().parse_relative_query(stream))


def _on_the_clock(expression: Expression) -> Expression:
    if isinstance(expression, FilterQuery):
        expression.query = _Query(env=expression.query.env, segments=expression.query.segments)
    return expression


class _Pattern(FilterFunction):
    """The functions `match` and `search` of RFC 9535, on the clock.

    Patterns are those of RFC 9485; what `regex` takes beyond it, as ``(?i)``, is understood too.
    """

    def __init__(self, deadline: Deadline, method: str) -> None:
        self._deadline = deadline
        self._method = method

    @property
    def arg_types(self) -> list[ExpressionType]:
        """Two values."""
        return [ExpressionType.VALUE, ExpressionType.VALUE]

    @property
    def return_type(self) -> ExpressionType:
        """Yes or no."""
        return ExpressionType.LOGICAL

    def __call__(self, text: object, pattern: object) -> bool:
        """Whether `pattern` matches; not if one of both is no text, or the pattern is none."""
        if not isinstance(text, str) or not isinstance(pattern, str):
            return False
        try:
            wanted = compiled(_DOT.sub(_dot, pattern))
            match = getattr(wanted, self._method)(
                text, timeout=self._deadline.left(), concurrent=True
            )
        except SelectionTimeoutError:
            raise
        except (TimeoutError, MemoryError) as error:
            raise too_slow() from error
        except (regex.error, RecursionError, ValueError):
            return False
        return match is not None


def _dot(match: regex.Match[str]) -> str:
    """A dot stands for anything but a line break (RFC 9485, section 5.3)."""
    return r"[^\n\r]" if match.group() == "." else match.group()


class _Environment(JSONPathEnvironment):
    """JSONPath with a deadline, also for the patterns in filters."""

    parser_class = _Parser

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        super().__init__()
        self.function_extensions["match"] = _Pattern(deadline, "fullmatch")
        self.function_extensions["search"] = _Pattern(deadline, "search")

    def query(self, path: str) -> JSONPathQuery:
        """The query that `path` means."""
        try:
            return self.compile(path)
        except (JSONPathError, RecursionError, ValueError) as error:
            message = f"path={quoted(path[:80])} is no JSONPath: {error}; one begins with $, as $.items[0].name"
            raise InvalidSelectionError(message) from error

    def found(self, query: JSONPathQuery, root: Any) -> Iterable[JSONPathNode]:  # noqa: ANN401 - whatever JSON holds
        """The nodes that `query` finds in `root`."""
        node = _Node(value=root, location=(), parent=None, root=root)
        node.deadline = self.deadline
        self.deadline.left()
        nodes: Iterable[JSONPathNode] = [node]
        for segment in query.segments:
            nodes = segment.resolve(nodes)
        return nodes
