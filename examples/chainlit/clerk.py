"""The agent's tool, and a model that needs no key: it follows rules where a real one would think."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResultMessage, LLMMessage, UserMessage

from memory_context import MemoryRef
from memory_context.testing import ScriptedChatClient

ORDERS = 2000


def sales_report() -> str:
    """List all orders of this year."""
    return "\n".join(
        f"order {number}: {number * 37 % 500} EUR, customer {number * 7919 % 1000}"
        for number in range(1, ORDERS + 1)
    )


def scripted_model() -> ScriptedChatClient:
    """Make a model that answers a thousand times."""
    return ScriptedChatClient([reply] * 1000)


def reply(prompt: Sequence[LLMMessage]) -> str | list[FunctionCall]:
    """Call a tool for a person's message, and answer from what the tool returned."""
    question = next(message.content for message in reversed(prompt) if is_from_a_person(message))
    texts = [str(message.content) for message in prompt]
    newest = prompt[-1]
    if isinstance(newest, FunctionExecutionResultMessage):
        said = newest.content[-1].content
        asked_for = re.search(r"order (\d+)", question)
        line = asked_for and re.search(rf"order {asked_for[1]}: .*", said)
        if line:
            return line[0]
        refs = MemoryRef.find_all(said)
        return f"The report is here: {refs[0].key}" if refs else f"The tool says: {said[:200]}"
    if key := re.search(r"[Oo]pen (\w+)", question):
        return called("retrieve_memory", key=key[1])
    if "order" not in question:
        return called("sales_report")
    refs = MemoryRef.find_all("\n".join(texts))
    if refs:
        return called("retrieve_memory", key=refs[0].key, contains=f"{question_of(question)}:")
    return called("search_memory", query=question)


def is_from_a_person(message: LLMMessage) -> bool:
    """Return whether somebody has typed this message."""
    return isinstance(message, UserMessage) and message.source == "user"


def question_of(question: str) -> str:
    """Return the order that is asked for, as the report names it."""
    found = re.search(r"order \d+", question)
    return found[0] if found else question


def called(tool: str, **arguments: str) -> list[FunctionCall]:
    """Return a call of a tool."""
    return [FunctionCall(id="1", name=tool, arguments=json.dumps(arguments))]
