"""The judge that asks a model: its prompt, and the parsing of the answer. Each host calls its own model client."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.exceptions import JudgeError
from memory_context.model.json_object import JsonObject
from memory_context.model.one_line import one_line
from memory_context.text.relevance.reasons_for_records import Expansion
from memory_context.text.tokens.counter import default_counter

MAX_CANDIDATES = 30
MAX_TEXT = 4000
MAX_LINES = 10
MAX_ANSWER = 20_000
SETTINGS = {"temperature": 0, "max_tokens": 400}
BAD_REQUEST = 400


def _strict(schema: JsonObject) -> None:
    """Make a schema strict, with every field required; remove defaults, and texts that only developers read."""
    schema.pop("description", None)
    schema["required"] = list(schema["properties"])
    schema["additionalProperties"] = False
    for field in schema["properties"].values():
        field.pop("title", None)
        field.pop("default", None)


class Opening(BaseModel):
    """A reference to open."""

    # Models often write a line as a number.
    model_config = ConfigDict(json_schema_extra=_strict, coerce_numbers_to_str=True)

    key: str
    query: str | None = None
    lines: str | None = None


class JudgeAnswer(BaseModel):
    """The model's answer. The schema for structured output requires every field; an answer as plain text may omit some."""

    model_config = ConfigDict(json_schema_extra=_strict, coerce_numbers_to_str=True)

    intent: Literal["concrete", "ambiguous"] = "concrete"
    expand: list[Opening] = Field(default_factory=list[Opening])
    search: str | None = None


class ModelJudge(ABC):
    """Asks a model, in one small call, if keyword matching decides nothing clearly. A host's subclass makes the call.

    Attributes:
        name: The judge's name in the record of decisions.
        settings: The settings of the call. They are dropped if the client or the model refuses them.
    """

    name: str
    settings: Mapping[str, int] = SETTINGS

    @abstractmethod
    async def ask(self, prompt: str, settings: Mapping[str, int]) -> tuple[Any, int]:
        """Return the model's answer to `JUDGE_SYSTEM` and *prompt*, and the tokens of the call."""

    async def decide(self, question: Question) -> Verdict:
        """Return the model's verdict.

        Raises:
            JudgeError: The model's answer is not a verdict.
        """
        prompt = judge_prompt(question)
        try:
            given, tokens = await self.ask(prompt, self.settings)
        except Exception as error:
            # The client may not know a setting, or the model may refuse it, as reasoning models refuse a temperature.
            is_refused = isinstance(error, TypeError | ValueError)
            if not (is_refused or getattr(error, "status_code", None) == BAD_REQUEST):
                raise
            given, tokens = await self.ask(prompt, {})
            self.settings = {}
        try:
            answer = parse_answer(given)
        except JudgeError as error:
            raise JudgeError(str(error), tokens=tokens) from error
        why = "the model asked for it"
        expand = [Expansion(one.key, one.query, one.lines, why) for one in answer.expand]
        search = None
        if question.has_memories:
            search = answer.search or None
        return Verdict(answer.intent, tuple(expand), search, "the model decided", tokens)


def judge_prompt(question: Question) -> str:
    """Return the prompt for the model, without `JUDGE_SYSTEM`. Its length is limited, however long the conversation is.

    The parts that stay the same from message to message come first, so that a provider's prompt cache covers most of it.
    """
    references = list[str]()
    for candidate in question.candidates[:MAX_CANDIDATES]:
        item = candidate.item
        size = f"{item.token_count} tokens, {item.line_count} lines"
        references.append(f"{item.memory_key} - {one_line(item.summary)} - {size}")
    lines = [
        f"{one.item.memory_key}: {one.best_line}" for one in question.candidates if one.best_line
    ]
    memories = prompts.JUDGE_NO_MEMORIES
    if question.has_memories:
        memories = prompts.JUDGE_HAS_MEMORIES
    return prompts.JUDGE_QUESTION.format(
        references="\n".join(references) or "-",
        memories=memories,
        turns=question.turns or "-",
        lines="\n".join(lines[-MAX_LINES:]) or "-",
        message=question.message[:MAX_TEXT],
    )


def sent_tokens(question: Question) -> int:
    """Return the number of tokens that a model is sent for a question, by this library's own count."""
    return default_counter().count(prompts.JUDGE_SYSTEM + judge_prompt(question))


def parse_answer(content: Any) -> JudgeAnswer:  # noqa: ANN401 - a client may return anything
    """Return the answer in a model's text: the first JSON object of its form, even inside other text or a code fence.

    Raises:
        JudgeError: The text has no such object.
    """
    text = content[:MAX_ANSWER] if isinstance(content, str) else ""
    for brace in re.finditer("{", text):
        answer = _answer_at(text, brace.start())
        if answer is not None:
            return answer
    raise JudgeError(
        f"the model's answer is not the JSON object that was asked for: {content!r:.80}"
    )


def _answer_at(text: str, start: int) -> JudgeAnswer | None:
    """Return the answer that begins at *start*; None if no JSON object of its form begins there."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
        if not JudgeAnswer.model_fields.keys() & value:
            return None
        return JudgeAnswer.model_validate(value)
    except (ValueError, RecursionError):
        return None
