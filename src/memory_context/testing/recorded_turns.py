"""Turn recorded agent runs, in the formats of `memory-context replay`, into scripts for hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from memory_context.conversation.message import FunctionCall, Message
from memory_context.replay.recording_files import stream_recordings
from memory_context.testing.scripted_turns import ScriptedReply, ScriptedResult, ScriptedTurn


def recorded_scripts(folder: Path) -> Iterator[tuple[str, list[ScriptedTurn]]]:
    """Yield each run in the files ``*.jsonl`` and ``*.jsonl.gz`` of *folder*: its file and id in one text, its turns."""
    for path in sorted(folder.glob("*.jsonl*")):
        for recording in stream_recordings(path):
            yield f"{path.name}: {recording.id}", turns_of(recording.messages)


def turns_of(messages: Sequence[Message]) -> list[ScriptedTurn]:
    """Return the turns of a run. A turn that ends with calls gets an empty reply; one without replies is left out."""
    turns = list[ScriptedTurn]()
    said = list[Message]()
    replies = list[ScriptedReply]()
    for index, message in enumerate(messages):
        if message.is_result:
            continue
        if message.is_reply:
            results = tuple(_results(messages, index))
            replies.append(ScriptedReply(message.text, results))
            continue
        if replies:
            turns.append(_turn(said, replies))
            said = []
            replies = []
        said.append(replace(message, id=""))
    if replies:
        turns.append(_turn(said, replies))
    return turns


def _turn(said: Sequence[Message], replies: Sequence[ScriptedReply]) -> ScriptedTurn:
    if replies[-1].results:
        replies = [*replies, ScriptedReply("")]
    return ScriptedTurn(tuple(said), tuple(replies))


def _results(messages: Sequence[Message], index: int) -> Iterator[ScriptedResult]:
    """Yield the calls of the message at *index* with their results, under new ids that are unique in the run."""
    results = takewhile(lambda message: message.is_result, messages[index + 1 :])
    answers = {result.answers: result.text for result in results}
    for number, call in enumerate(messages[index].calls):
        # Normalized, because some frameworks parse arguments and write them again in another form.
        parsed = json.loads(call.arguments)
        arguments = json.dumps(parsed, ensure_ascii=False)
        named = FunctionCall(f"call-{index}-{number}", call.name, arguments)
        yield ScriptedResult(named, answers.get(call.id, ""))
