"""What a JSONPath (RFC 9535) finds in the values of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import regex
from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError, JSONPathNode, JSONPathQuery, Parser
from jsonpath_rfc9535.filter_expressions import Expression, FilterQuery
from jsonpath_rfc9535.function_extensions import Match
from jsonpath_rfc9535.tokens import TokenStream

from memory_context import wording_for_models as prompts
from memory_context.exceptions import (
    InvalidSelectionError,
    NothingMatchedError,
    SelectionTimeoutError,
)
from memory_context.runtime.regexes import compiled
from memory_context.text.json_documents import documents, is_json_lines, to_json
from memory_context.text.python_literals import is_list, is_object
from memory_context.text.read.abridged_values import LIMITS, abridged, gist
from memory_context.text.read.pattern_time_limit import TimeLimit, too_slow

LONGEST_PATH_TOLD = 80
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class FoundValues:
    """Values to page through, or the parts of one that is too large for a page; written as JSON.

    Attributes:
        values: The values, elements or members; a text for its characters.
        single: Whether this is the one value that the path can find, and no list of values.
        unit: What the parts of one value are called; nothing for values.
        keys: The names of members.
    """

    values: Sequence[Any]
    single: bool = False
    unit: str = ""
    keys: Sequence[str] = ()

    @property
    def total(self) -> int:
        """Return how many values or parts there are."""
        return len(self.values)

    def part(self, start: int, end: int) -> str:
        """Say which of the values or parts they are."""
        template = prompts.PART_VALUE if self.unit else prompts.PART_MATCHES
        return template.format(unit=self.unit, first=start + 1, last=end, total=self.total)

    def render(self, start: int, end: int) -> str:
        """Write valid JSON: a list, an object or a text with these parts."""
        return self._written(start, self.values[start:end])

    def shorter_and_shorter(self, index: int) -> Iterator[str]:
        """Yield the value with long texts, lists and objects in it cut, at last that there is no room; valid JSON, too."""
        if isinstance(self.values, str):
            return
        value = self.values[index]
        for limit in LIMITS:
            yield self._written(index, [abridged(value, limit, DEEPEST)])
        yield self._written(index, [gist(value)])
        yield self._written(index, [prompts.NO_ROOM])

    def _written(self, start: int, values: Sequence[Any]) -> str:
        if self.single and values:
            return to_json(values[0])
        if self.keys:
            return to_json(dict(zip(self.keys[start : start + len(values)], values, strict=True)))
        return to_json(values)


def parts_of(found: FoundValues) -> FoundValues | None:
    """Return the parts of the only value that was found; None where there are several, or where it has none."""
    if found.total != 1 or not found.values[0]:
        return None
    value = found.values[0]
    if is_object(value):
        return FoundValues(list(value.values()), unit="members", keys=list(value))
    if is_list(value):
        return FoundValues(value, unit="elements")
    return FoundValues(value, unit="characters") if isinstance(value, str) else None


def found_values(text: str, path: str) -> FoundValues:
    """Return what `path` finds in the JSON, JSON lines or repr of `text`, else in the JSON inside an MCP result.

    The root of JSON lines is the list of their records; a path that finds nothing there is tried on each record.

    Raises:
        InvalidSelectionError: Not a JSONPath, or the text holds no values.
        NothingMatchedError: It finds nothing; names the keys that are there.
        SelectionTimeoutError: It took too long.
    """
    environment = _TimedEnvironment()
    query = environment.query(path)
    roots = documents(text)
    if not roots:
        raise InvalidSelectionError(
            "path= needs JSON, JSON lines or a Python repr, which this text is not"
        )
    environment.time_limit = TimeLimit()
    try:
        for candidates in (roots[:1], roots[1:], _records(text, roots[0])):
            values = [node.value for root in candidates for node in environment.found(query, root)]
            if values:
                return FoundValues(values, single=query.singular_query() and len(values) == 1)
        message = _nothing_found(environment, query, path, roots[-1])
    except (JSONPathError, RecursionError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        raise InvalidSelectionError(
            f"path={_told(path)} cannot be followed in this text: {reason}"
        ) from error
    raise NothingMatchedError(message)


def _records(text: str, root: Any) -> Sequence[Any]:  # noqa: ANN401 - whatever JSON holds
    """Return the records, if `root` is their list and not the value of the text."""
    return root if is_list(root) and is_json_lines(text) else ()


def _told(path: str) -> str:
    return to_json(path[:LONGEST_PATH_TOLD])


def _nothing_found(
    environment: _TimedEnvironment,
    query: JSONPathQuery,
    path: str,
    root: Any,  # noqa: ANN401 - whatever JSON holds
) -> str:
    """Say that nothing was found, how far the path leads, and what is there."""
    message = prompts.NO_VALUE.format(path=_told(path))
    for count in range(len(query.segments) - 1, -1, -1):
        shorter = JSONPathQuery(env=environment, segments=query.segments[:count])
        node = next(iter(environment.found(shorter, root)), None)
        if node:
            # In brackets it would stand among other values.
            there = gist(node.value).removeprefix("(").removesuffix(")")
            reached = prompts.LEADS_TO.format(node=node.path()[:200], gist=there)
            return f"{message} {reached}"
    return message


# The library has no limit of time. A node is made for each value that a query visits, so the nodes look at the clock.


class _TimedNode(JSONPathNode):
    """A node that looks at the clock when it is asked for its children."""

    __slots__ = ("time_limit",)
    time_limit: TimeLimit

    def new_child(self, value: object, key: int | str, parent: JSONPathNode | None) -> _TimedNode:
        child = _TimedNode(
            value=value, location=(*self.location, key), parent=parent, root=self.root
        )
        child.time_limit = self.time_limit
        self.time_limit.remaining()
        return child


class _TimedQuery(JSONPathQuery):
    """A query inside a filter; the library would begin it at a node of its own."""

    __slots__ = ()
    env: _TimedEnvironment

    def finditer(self, value: Any) -> Iterable[JSONPathNode]:  # noqa: ANN401 - whatever JSON holds
        return self.env.found(self, value)


class _TimedParser(Parser):
    """Parses filters into timed queries."""

    def parse_root_query(self, stream: TokenStream) -> Expression:
        return _timed(super().parse_root_query(stream))

    def parse_relative_query(self, stream: TokenStream) -> Expression:
        return _timed(super().parse_relative_query(stream))


def _timed(expression: Expression) -> Expression:
    if isinstance(expression, FilterQuery):
        query = expression.query
        expression.query = _TimedQuery(env=query.env, segments=query.segments)
    return expression


class _TimedPattern(Match):
    """The functions `match` and `search` of RFC 9535, within the time limit.

    Patterns are those of RFC 9485; what `regex` takes beyond it, as ``(?i)``, is understood too.
    """

    def __init__(self, environment: _TimedEnvironment, method: str) -> None:
        self._environment = environment
        self._method = method

    def __call__(self, string: object, pattern: object) -> bool:
        """Return whether `pattern` matches; not if one of both is not a string, or the pattern is invalid."""
        if not isinstance(string, str) or not isinstance(pattern, str):
            return False
        try:
            wanted = compiled(_ATOM.sub(_dot, pattern))
            seconds = self._environment.time_limit.remaining()
            match = getattr(wanted, self._method)(string, timeout=seconds, concurrent=True)
        except SelectionTimeoutError:
            raise
        except (TimeoutError, MemoryError) as error:
            raise too_slow() from error
        # RFC 9535, sections 2.4.6 and 2.4.7: an invalid pattern is not an error, it matches
        # nothing.
        except (regex.error, RecursionError, ValueError):
            return False
        return match is not None


# An escaped character, a class in brackets, or a dot that is neither escaped nor in a class.
_ATOM = regex.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\.")


def _dot(match: regex.Match[str]) -> str:
    """Return what a dot stands for, anything but a line break (RFC 9485, section 5.3); others as they are."""
    return r"[^\n\r]" if match.group() == "." else match.group()


class _TimedEnvironment(JSONPathEnvironment):
    """JSONPath with a limit of time, also for the patterns in filters."""

    parser_class = _TimedParser

    def __init__(self) -> None:
        self.time_limit = TimeLimit()
        super().__init__()
        # `match` is anchored at both ends and `search` at none: RFC 9535, sections 2.4.6 and 2.4.7.
        self.function_extensions["match"] = _TimedPattern(self, "fullmatch")
        self.function_extensions["search"] = _TimedPattern(self, "search")

    def query(self, path: str) -> JSONPathQuery:
        """Return the query that `path` means."""
        try:
            return self.compile(path)
        except (JSONPathError, RecursionError, ValueError) as error:
            raise InvalidSelectionError(
                f"path={_told(path)} is not a JSONPath: {error}; one begins with $, as $.items[0].name or $['a-b']"
            ) from error

    def found(self, query: JSONPathQuery, root: Any) -> Iterable[JSONPathNode]:  # noqa: ANN401 - whatever JSON holds
        """Return the nodes that `query` finds in `root`."""
        node = _TimedNode(value=root, location=(), parent=None, root=root)
        node.time_limit = self.time_limit
        self.time_limit.remaining()
        nodes: Iterable[JSONPathNode] = [node]
        for segment in query.segments:
            nodes = segment.resolve(nodes)
        return nodes
