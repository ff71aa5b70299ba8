"""The tool with which an agent asks a light model a question about texts. The answer contains checked quotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from memory_context import sentences_models_read as prompts
from memory_context.conversation.ask_memories_by_key import MemoryReader, told_cost
from memory_context.model.tool_names import ASK
from memory_context.text.read.paging import truncated
from memory_context.tools.arguments_as_models_write_them import LenientArgs, Text, as_key
from memory_context.tools.tool_calls_and_answers import ToolAnswer, Verb


def _as_keys(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Return keys as one text, separated by commas. They may be given as a list, and as references."""
    if isinstance(value, list):
        value = ",".join(map(str, cast("Sequence[Any]", value)))
    if not isinstance(value, str):
        return value
    return ",".join(filter(None, map(as_key, value.split(","))))


class AskArgs(LenientArgs):
    """The arguments of `ask_memory`."""

    key: Annotated[str, BeforeValidator(_as_keys)]
    question: Text

    @property
    def keys(self) -> list[str]:
        """Return the keys as a list."""
        return self.key.split(",")


def _ask(reader: MemoryReader, args: AskArgs, max_tokens: int) -> ToolAnswer:
    answer = reader.ask(args.keys, args.question)
    keys = tuple(args.keys)
    count = reader.counter.count
    facts = told_cost(answer)
    if not answer.text:
        nothing = prompts.ASK_NOTHING if answer.read else prompts.ASK_FAILED
        return ToolAnswer(nothing.format(facts=facts), keys)
    budget = max_tokens - count(facts) - 1
    # An answer leaves at least a third of the budget for the quotations, without which it cannot be relied on.
    text = truncated(answer.text, budget * 2 // 3, count)
    quoted = [
        prompts.ASK_QUOTATION.format(key=one.key, line=one.line, text=one.text)
        for one in answer.quotations
    ]
    shown = truncated("\n".join([text, *quoted]), budget, count)
    return ToolAnswer(f"{shown}\n{facts}", keys)


ASKING = Verb(ASK, prompts.ASK_TOOL, AskArgs, _ask)
