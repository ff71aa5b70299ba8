"""Read the sessions of Claude Code, below ``~/.claude/projects``: each line is an event, most of them messages.

The format was inferred from such files. Messages have the ``type`` ``user`` or ``assistant``, and are under ``message``
in Anthropic's format. A response of the model is spread over lines with the same ``message.id``. The lines of a sub-agent
have ``isSidechain`` and an ``agentId``. After a compaction, a user's message with ``isCompactSummary`` begins a new
prompt. The system prompt and the tools are not in the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import cast

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.json_object import members_of
from memory_context.replay.formats.content_parts import Json, parts_of

# Fields that only a session's lines have: the first is in each line of a message, the others in lines before these.
_MARKS = ("sessionId", "leafUuid", "snapshot")
_MESSAGE_TYPES = ("user", "assistant")
NO_MESSAGES = "the lines of a session hold no message of a person or a model"


class NoMessagesError(InvalidArgumentError):
    """A session holds no messages."""


def is_session_line(document: object) -> bool:
    """Return whether a value of a JSON file is a line of a session."""
    line = members_of(document)
    has_mark = any(mark in line for mark in _MARKS)
    return has_mark and isinstance(line.get("type"), str)


def sessions_of(lines: Sequence[object]) -> Iterator[tuple[str, list[Json]]]:
    """Yield the runs in a session's lines with their names; compactions and sub-agents are runs of their own."""
    runs = dict[str, list[Json]]()
    compactions = Counter[str]()
    for line in cast("Sequence[Json]", lines):
        message = members_of(line.get("message"))
        if line.get("type") not in _MESSAGE_TYPES or not message:
            continue
        run = str(line.get("sessionId", ""))
        if line.get("isSidechain"):
            agent = line.get("agentId", "agent")
            run = f"{run}/{agent}"
        if line.get("isCompactSummary"):
            compactions[run] += 1
        if run in compactions:
            run = f"{run}, compaction {compactions[run]}"
        messages = runs.setdefault(run, [])
        response = message.get("id")
        if response is None or not messages or messages[-1].get("id") != response:
            messages.append(message)
        else:
            # More parts of the same response.
            parts = [*parts_of(messages[-1]), *parts_of(message)]
            messages[-1] = {**message, "content": parts}
    yield from runs.items()
