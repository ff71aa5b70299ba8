"""Recorded agent runs, in OpenAI's chat form, as scripts for hosts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from memory_context.conversation.message import FunctionCall, Message
from memory_context.testing.scripted_turns import ScriptedReply, ScriptedResult, ScriptedTurn

RecordedRun: TypeAlias = list[dict[str, Any]]


def recorded_scripts(folder: Path) -> Iterator[tuple[str, list[ScriptedTurn]]]:
    """Yield each run in the files ``*.jsonl`` and ``*.jsonl.gz`` of *folder*: its file and line, and its turns."""
    for path in sorted(folder.glob("*.jsonl*")):
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield f"{path.name}:{number}", turns_of(json.loads(line)["messages"])


def turns_of(messages: RecordedRun) -> list[ScriptedTurn]:
    """Return the turns of a run. A turn that breaks off amid calls ends with an empty reply; one without replies goes."""
    turns = list[ScriptedTurn]()
    said = list[Message]()
    replies = list[ScriptedReply]()
    for index, message in enumerate(messages):
        role = message["role"]
        text = message.get("content") or ""
        if role in ("system", "user"):
            if replies:
                turns.append(_turn(said, replies))
                said = []
                replies = []
            said.append(Message("", role, role, {0: text}))
        elif role == "assistant":
            replies.append(ScriptedReply(text, tuple(_results(messages, index))))
    if replies:
        turns.append(_turn(said, replies))
    return turns


def _turn(said: Sequence[Message], replies: Sequence[ScriptedReply]) -> ScriptedTurn:
    if replies[-1].results:
        replies = [*replies, ScriptedReply("")]
    return ScriptedTurn(tuple(said), tuple(replies))


def _results(messages: RecordedRun, index: int) -> Iterator[ScriptedResult]:
    """Yield the calls of the message at *index* with their results, under ids that no other call has."""
    answers = dict[str, str]()
    for message in messages[index + 1 :]:
        if message["role"] != "tool":
            break
        answers[message["tool_call_id"]] = message.get("content") or ""
    for number, call in enumerate(messages[index].get("tool_calls") or ()):
        function = call["function"]
        # Some frameworks keep arguments parsed, so that only what they mean comes back.
        arguments = json.dumps(json.loads(function["arguments"] or "{}"), ensure_ascii=False)
        named = FunctionCall(f"call-{index}-{number}", function["name"], arguments)
        yield ScriptedResult(named, answers.get(call["id"], ""))
