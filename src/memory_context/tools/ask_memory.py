"""The verb by which an agent asks a light model what texts say, and gets an answer with checked quotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from pydantic import BeforeValidator

from memory_context import wording_for_models as prompts
from memory_context.conversation.ask_a_users_memories import MemoryReader, told_cost
from memory_context.model.tool_names import ASK
from memory_context.text.read.paging import truncated
from memory_context.tools.lenient_arguments import LenientArgs, Text, as_key
from memory_context.tools.verbs import ToolAnswer, Verb


def _as_keys(value: Any) -> Any:  # noqa: ANN401 - whatever a model writes
    """Return keys with commas between them, each once, also of a list and of whole references."""
    if isinstance(value, list):
        value = ",".join(str(one) for one in cast("Sequence[Any]", value))
    if not isinstance(value, str):
        return value
    keys = [as_key(one) for one in value.split(",")]
    return ",".join(dict.fromkeys(key for key in keys if key))


class AskArgs(LenientArgs):
    """The arguments of `ask_memory`."""

    key: Annotated[str, BeforeValidator(_as_keys)]
    question: Text

    @property
    def keys(self) -> list[str]:
        """Return the keys that are meant."""
        return self.key.split(",") if self.key else []


def _ask(reader: MemoryReader, args: AskArgs, most: int) -> ToolAnswer:
    answer = reader.ask(args.keys, args.question)
    facts = told_cost(answer)
    if not answer.text:
        return ToolAnswer(prompts.ASK_NOTHING.format(facts=facts), tuple(args.keys))
    quoted = [
        prompts.ASK_QUOTATION.format(key=one.key, line=one.line, text=one.text)
        for one in answer.quotations
    ]
    left = most - reader.counter.count(facts) - 1
    # A long answer leaves a third to the quotations, without which it is not to be relied on.
    text = truncated(answer.text, left * 2 // 3, reader.counter.count)
    shown = truncated("\n".join([text, *quoted]), left, reader.counter.count)
    return ToolAnswer(f"{shown}\n{facts}", tuple(args.keys))


ASKING = Verb(ASK, prompts.ASK_TOOL, AskArgs, _ask)
