"""The script of the demo's model. What it says and asks for is read off the prompt that it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from autogen_core import FunctionCall
from autogen_core.models import LLMMessage

from memory_context.autogen.messages import texts_of
from memory_context.demo.recalled import Place, recalled_lines
from memory_context.demo.tools import LISTING, PACKAGES, SIZES, TESTS
from memory_context.model.reference import MemoryRef
from memory_context.model.tool_names import RETRIEVE
from memory_context.testing import ScriptedChatClient

ABOVE, BELOW = 10, 5
_RESULT = re.compile(r"\d+ failed, \d+ passed")
_ASSERTION = re.compile(r"E +AssertionError: 14-weeks: .*")


def scripted_client() -> ScriptedChatClient:
    """The model of the demo."""
    calls = [
        [FunctionCall(f"call_{n}", "{}", name)]
        for n, name in enumerate((PACKAGES, LISTING, TESTS, SIZES), 1)
    ]
    return ScriptedChatClient([*calls, sum_up, read_on, explain])


def sum_up(messages: Sequence[LLMMessage]) -> str:
    """What the four outputs are, by their references, and how the tests went, by the preview."""
    text = _all_text(messages)
    refs = {ref.key: ref for ref in MemoryRef.find_all(text) if ref.tokens}
    result = _RESULT.search(text)
    lines = [f"- {key}: {ref.description}" for key, ref in refs.items()]
    tests = (
        f"The tests do not pass: {result.group()}."
        if result
        else "How the tests went stands in their output."
    )
    total = (
        f"The {len(refs)} outputs have {sum(ref.tokens or 0 for ref in refs.values()):,} tokens:"
    )
    return "\n".join((tests, total, *lines))


def read_on(messages: Sequence[LLMMessage]) -> list[FunctionCall]:
    """Read the lines around the assertion that was recalled; without one, the end of the tests' output."""
    place = _assertion(messages)
    if place:
        wanted = {
            "key": place.ref.key,
            "lines": f"{max(1, place.number - ABOVE)}-{place.number + BELOW}",
        }
    else:
        keys = [
            ref.key for ref in MemoryRef.find_all(_all_text(messages)) if ref.key.startswith(TESTS)
        ]
        wanted = {"key": keys[-1] if keys else TESTS, "lines": "-40"}
    return [FunctionCall("call_5", json.dumps(wanted), RETRIEVE)]


def explain(messages: Sequence[LLMMessage]) -> str:
    """Quote the assertion, the line that raises it, and what was logged, each as it stands in the prompt."""
    place, read = _assertion(messages), texts_of(messages[-1])[0]
    raises = re.search(r"^> +(.*)$", read, re.MULTILINE)
    logged = re.search(r"^INFO .* 14-weeks: (.*)$", read, re.MULTILINE)
    answer = [
        f"It fails with\n    {place.line}" if place else "",
        f"raised by\n    {raises.group(1)}" if raises else "",
        f"The log says of a week: {logged.group(1)}. That is a week of five days."
        if logged
        else "",
    ]
    return "\n".join(part for part in answer if part) or "I could not find it in the output."


def _assertion(messages: Sequence[LLMMessage]) -> Place | None:
    return next(
        (place for place in recalled_lines(messages) if _ASSERTION.fullmatch(place.line)), None
    )


def _all_text(messages: Sequence[LLMMessage]) -> str:
    return "\n".join(text for message in messages for text in texts_of(message))
