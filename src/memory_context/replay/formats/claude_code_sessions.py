"""The lines in which Claude Code keeps a session, below ``~/.claude/projects``: one event each, most of them messages.

What was seen in such files: ``type`` is ``user`` or ``assistant`` for messages, which stand under ``message`` in
Anthropic's form; a response of the model is spread over lines with the same ``message.id``; the lines of a sub-agent have
``isSidechain``, and an ``agentId``; after a compaction a user's message with ``isCompactSummary`` begins anew. The system
prompt and the tools are not in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.formats.content_parts import Json, parts_of

# The first of them stands in every line of a message, the others in lines that may come before.
_MARKS = ("sessionId", "leafUuid", "snapshot")
_SPEAKING = ("user", "assistant")
NO_MESSAGES = "the lines of a session hold no message of a person or a model"


class NoMessagesError(InvalidArgumentError):
    """Nothing was said in a session."""


def is_session_line(document: object) -> bool:
    """Return whether a value out of a JSON file is a line of a session."""
    if not isinstance(document, dict):
        return False
    line = cast("Json", document)
    return isinstance(line.get("type"), str) and any(mark in line for mark in _MARKS)


def sessions_of(lines: Sequence[object]) -> Iterator[tuple[str, list[Json]]]:
    """Yield the runs in the lines of a session, each with its name: the session's, its compactions', its sub-agents'."""
    runs = dict[str, list[Json]]()
    compactions = dict[str, int]()
    for line in cast("Sequence[Json]", lines):
        message = line.get("message")
        if line.get("type") not in _SPEAKING or not isinstance(message, dict):
            continue
        run = _name(line)
        if line.get("isCompactSummary"):
            compactions[run] = compactions.get(run, 0) + 1
        if run in compactions:
            run = f"{run}, compaction {compactions[run]}"
        _append(runs.setdefault(run, []), cast("Json", message))
    yield from runs.items()


def _name(line: Json) -> str:
    session = str(line.get("sessionId", ""))
    return f"{session}/{line.get('agentId', 'agent')}" if line.get("isSidechain") else session


def _append(messages: list[Json], message: Json) -> None:
    """Append *message*, or what it adds to the last one, if both are of one response."""
    last: Json = messages[-1] if messages else {}
    if message.get("id") is None or last.get("id") != message["id"]:
        messages.append(message)
        return
    messages[-1] = {**message, "content": [*parts_of(last), *parts_of(message)]}
