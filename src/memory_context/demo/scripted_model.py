"""The demo's scripted model: steps that take their answers from the prompt, the same on all frameworks."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from memory_context.conversation.message import FunctionCall, Message
from memory_context.demo.machine_tools import TOOL_NAMES
from memory_context.model.reference import MemoryRef
from memory_context.model.tool_names import QUERY, RETRIEVE

Answer: TypeAlias = str | FunctionCall
ScriptStep: TypeAlias = Callable[[Sequence[Message]], Answer]
Shown = TypeVar("Shown")
Called = TypeVar("Called")

FAILED_CASE = "14-weeks"
_LARGEST = (
    "SELECT f.package, sum(f.bytes) AS bytes, count(*) AS files, p.summary FROM {files} f "
    "JOIN {packages} p ON lower(p.name) = lower(f.package) "
    "GROUP BY f.package, p.summary ORDER BY bytes DESC LIMIT 3"
)
# Lines that were retrieved by a pattern have their numbers before them.
_QUOTES = (
    (r"^(?:\d+: )?(E +AssertionError: 14-weeks: .*)", "It fails with\n    {}"),
    (r"^(?:\d+: )?> +(.*)", "raised by\n    {}"),
    (
        r"^(?:\d+: )?INFO .* 14-weeks: (.*)",
        "The log says of a week: {}. That is a week of five days.",
    ),
)


def script(
    neutral: Callable[[Sequence[Shown]], Sequence[Message]],
    called: Callable[[FunctionCall], Called],
) -> list[Callable[[Sequence[Shown]], str | Called]]:
    """Return steps that call each tool, sum up, read on, explain, and compute.

    Args:
        neutral: Converts a framework's messages to the library's own.
        called: Converts a tool call to an answer of the framework's scripted model.
    """

    def of_host(step: ScriptStep) -> Callable[[Sequence[Shown]], str | Called]:
        """Return a step of the script that reads the host's messages, and returns an answer in the host's form."""

        def reply(messages: Sequence[Shown]) -> str | Called:
            answer = step(neutral(messages))
            if isinstance(answer, str):
                return answer
            return called(answer)

        return reply

    steps = [*map(_calling, TOOL_NAMES), _sum_up, _read_on, _explain, _compute, _conclude]
    return [of_host(step) for step in steps]


def _calling(tool: str) -> ScriptStep:
    return lambda _: FunctionCall(tool, tool, "{}")


def _sum_up(messages: Sequence[Message]) -> str:
    """List the outputs, as their references describe them."""
    found = MemoryRef.find_all(_all_text(messages))
    refs = {ref.key: ref for ref in found if ref.tokens}
    tokens = sum(ref.tokens or 0 for ref in refs.values())
    summary = f"The {len(refs)} outputs have {tokens:,} tokens:"
    for ref in refs.values():
        summary += f"\n- {ref.key}: {ref.description}"
    return summary


def _read_on(messages: Sequence[Message]) -> FunctionCall:
    """Retrieve every line about the failed case from the recalled memory."""
    recalled = MemoryRef.find_all(_all_text(messages))[-1]
    arguments = json.dumps({"key": recalled.key, "pattern": FAILED_CASE})
    return FunctionCall("read_on", RETRIEVE, arguments)


def _explain(messages: Sequence[Message]) -> str:
    """Quote the assertion, the line that raises it, and the log, from the prompt."""
    prompt = _all_text(messages)
    answer = list[str]()
    for pattern, sentence in _QUOTES:
        if quote := re.search(pattern, prompt, re.MULTILINE):
            answer.append(sentence.format(quote[1]))
    return "\n".join(answer) or "I could not find it in the output."


def _compute(messages: Sequence[Message]) -> FunctionCall:
    """Join two of the outputs by SQL."""
    keys = dict[str, str]()
    for ref in MemoryRef.find_all(_all_text(messages)):
        tool, _, _ = ref.key.rpartition("_")
        keys[tool] = ref.key
    sql = _LARGEST.format(files=keys["file_sizes"], packages=keys["installed_packages"])
    arguments = json.dumps({"sql": sql, "save_as": ""})
    return FunctionCall("compute", QUERY, arguments)


def _conclude(messages: Sequence[Message]) -> str:
    """Name the largest package, from the first row of the answer."""
    # The first line says how many rows there are.
    _, *lines = messages[-1].text.splitlines()
    largest = next(csv.DictReader(lines))
    size = int(largest["bytes"])
    return f"{largest['package']}: {size:,} bytes in {largest['files']} files. {largest['summary']}"


def _all_text(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages)
