"""Find values in a text by a JSONPath (RFC 9535), within a time limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import regex
from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError, JSONPathNode, JSONPathQuery, Parser
from jsonpath_rfc9535.filter_expressions import Expression, FilterQuery
from jsonpath_rfc9535.function_extensions import Match
from jsonpath_rfc9535.tokens import TokenStream

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import InvalidSelectionError, NothingMatchedError
from memory_context.runtime.regexes import compiled
from memory_context.text.json_documents import documents, is_json_lines, to_json
from memory_context.text.python_literals import is_list, only_objects_in
from memory_context.text.read.abridged_values import gist
from memory_context.text.read.pages_of_json import FoundValues
from memory_context.text.read.read_time_limit import TimeLimit, too_slow

LONGEST_PATH_SHOWN = 80


def found_values(text: str, path: str) -> FoundValues:
    """Return the values that `path` finds in `text`: JSON, JSON lines, objects in sequence, a repr, or an MCP result.

    The root of JSON lines is the list of their records. A path that finds nothing there is tried on the values inside an
    MCP result, then on each record.

    Raises:
        InvalidSelectionError: `path` is not a JSONPath, or the text holds no values.
        NothingMatchedError: The path finds nothing; the message names the keys that exist.
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
            f"path={_path_in_message(path)} cannot be followed in this text: {reason}"
        ) from error
    raise NothingMatchedError(message)


def _records(text: str, root: Any) -> Sequence[Any]:  # noqa: ANN401 - whatever JSON holds
    """Return the records of JSON lines, or objects in sequence; empty if the text is a single JSON value."""
    if is_list(root) and (is_json_lines(text) or only_objects_in(text)):
        return root
    return ()


def _path_in_message(path: str) -> str:
    return to_json(path[:LONGEST_PATH_SHOWN])


def _nothing_found(
    environment: _TimedEnvironment,
    query: JSONPathQuery,
    path: str,
    root: Any,  # noqa: ANN401 - whatever JSON holds
) -> str:
    """Return the message that nothing was found, which says how far the path leads and what is there."""
    message = prompts.NO_VALUE.format(path=_path_in_message(path))
    for count in range(len(query.segments) - 1, -1, -1):
        shorter = JSONPathQuery(env=environment, segments=query.segments[:count])
        node = next(iter(environment.found(shorter, root)), None)
        if node:
            # The parentheses are for a gist among other values; here it is part of a sentence.
            there = gist(node.value).removeprefix("(").removesuffix(")")
            reached = prompts.LEADS_TO.format(node=node.path()[:200], gist=there)
            return f"{message} {reached}"
    return message


# The library has no time limit. It makes a node for each value that a query visits, so the nodes check the time.


class _TimedNode(JSONPathNode):
    """A node that checks the time limit for each of its children."""

    __slots__ = ("time_limit",)
    time_limit: TimeLimit

    def new_child(self, value: object, key: int | str, parent: JSONPathNode | None) -> _TimedNode:
        """Return the node of a child, with the same time limit."""
        child = _TimedNode(
            value=value, location=(*self.location, key), parent=parent, root=self.root
        )
        child.time_limit = self.time_limit
        self.time_limit.remaining()
        return child


class _TimedQuery(JSONPathQuery):
    """A query inside a filter; the library's own would begin at a node without a time limit."""

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

    Patterns are those of RFC 9485; whatever else `regex` accepts, such as ``(?i)``, works too.
    """

    def __init__(self, environment: _TimedEnvironment, method: str) -> None:
        self._environment = environment
        self._method = method

    def __call__(self, string: object, pattern: object) -> bool:
        """Return whether `pattern` matches; false if either is not a string, or the pattern is invalid."""
        if not (isinstance(string, str) and isinstance(pattern, str)):
            return False
        seconds = self._environment.time_limit.remaining()
        try:
            wanted = compiled(_ATOM.sub(_dot, pattern))
            match = getattr(wanted, self._method)(string, timeout=seconds, concurrent=True)
        except (TimeoutError, MemoryError) as error:
            raise too_slow() from error
        # By RFC 9535, sections 2.4.6 and 2.4.7, an invalid pattern is not an error: it matches nothing.
        except (regex.error, RecursionError, ValueError):
            return False
        return match is not None


# An escaped character, a class in brackets, or a dot that is neither escaped nor in a class.
_ATOM = regex.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\.")


def _dot(match: regex.Match[str]) -> str:
    """Return the class that a dot means, any character but line breaks (RFC 9485, section 5.3); other atoms unchanged."""
    if match.group() == ".":
        return r"[^\n\r]"
    return match.group()


class _TimedEnvironment(JSONPathEnvironment):
    """JSONPath with a time limit, also for the patterns in filters."""

    parser_class = _TimedParser

    def __init__(self) -> None:
        self.time_limit = TimeLimit()
        super().__init__()
        # `match` is anchored at both ends and `search` at none: RFC 9535, sections 2.4.6 and 2.4.7.
        self.function_extensions["match"] = _TimedPattern(self, "fullmatch")
        self.function_extensions["search"] = _TimedPattern(self, "search")

    def query(self, path: str) -> JSONPathQuery:
        """Return the compiled query of `path`.

        Raises:
            InvalidSelectionError: `path` is not a JSONPath.
        """
        try:
            return self.compile(path)
        except (JSONPathError, RecursionError, ValueError) as error:
            raise InvalidSelectionError(
                f"path={_path_in_message(path)} is not a JSONPath: {error}; paths begin with $: "
                "$.items[0].name, $['a-b'] or $.items[?search(@.name, 'ann')]"
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
