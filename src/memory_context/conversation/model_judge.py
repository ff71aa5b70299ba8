"""What a judge asks a model, and how it reads the answer, whichever host calls the model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, Field

from memory_context.conversation.keyword_judge import Expansion, Question, RecallCandidate, Verdict
from memory_context.exceptions import JudgeError
from memory_context.model.reference import one_line
from memory_context.runtime import tool_descriptions_and_prompts as prompts
from memory_context.text.tokens.counter import default_counter

MAX_CANDIDATES = 30
MAX_TEXT = 4000
MAX_ANSWER = 20_000


class Opening(BaseModel):
    """A reference to open."""

    key: str
    query: str | None = None
    lines: str | None = None


class JudgeAnswer(BaseModel):
    """What the model answers."""

    intent: Literal["concrete", "ambiguous"] = "concrete"
    expand: list[Opening] = Field(default_factory=list[Opening])
    search: str | None = None


class StrictOpening(BaseModel):
    """A reference to open, every field said: strict schemas take no defaults."""

    key: str
    query: str | None
    lines: str | None


class StrictAnswer(BaseModel):
    """The form that structured output is asked for in; strict schemas take no defaults."""

    intent: Literal["concrete", "ambiguous"]
    expand: list[StrictOpening]
    search: str | None


def judge_prompt(question: Question) -> str:
    """Return what the model is asked beside `JUDGE_SYSTEM`; bounded, whatever the conversation holds."""
    lines = [_line(candidate) for candidate in question.candidates[:MAX_CANDIDATES]]
    memories = prompts.JUDGE_NO_MEMORIES
    if question.has_memories:
        memories = prompts.JUDGE_HAS_MEMORIES
    return prompts.JUDGE_QUESTION.format(
        task=question.turns[:MAX_TEXT],
        message=question.message[:MAX_TEXT],
        references="\n".join(lines) or "-",
        memories=memories,
    )


def _line(candidate: RecallCandidate) -> str:
    item = candidate.item
    seen = ", ".join(f"{first}-{last}" for first, last in candidate.seen[:5]) or "none"
    description = one_line(item.summary)
    return f"{item.memory_key} - {description} - {item.token_count} tokens, {item.line_count} lines, in sight: {seen}"


def parse_answer(content: Any, tokens: int = 0) -> JudgeAnswer:  # noqa: ANN401 - whatever a model's client gives
    """Return the answer in a model's words: JSON, also inside other text or a fence.

    Args:
        content: The model's words.
        tokens: What the call cost.

    Raises:
        JudgeError: There is no JSON object of that form.
    """
    if isinstance(content, str):
        content = content[:MAX_ANSWER]
        start = content.find("{")
        while start >= 0:
            answer = _answer_at(content, start)
            if answer is not None:
                return answer
            start = content.find("{", start + 1)
    message = f"the model's answer is not the JSON object that was asked for: {content!r:.80}"
    raise JudgeError(message, tokens=tokens)


def _answer_at(content: str, start: int) -> JudgeAnswer | None:
    """Return the answer that begins at *start*; None if there is none, or another object."""
    try:
        value, _ = json.JSONDecoder().raw_decode(content, start)
        if not JudgeAnswer.model_fields.keys() & value:
            return None
        return JudgeAnswer.model_validate(value)
    except (ValueError, RecursionError):
        return None


def tokens_in(texts: Iterable[str]) -> int:
    """Return the tokens of a call's *texts*, for a client that does not say what it cost; no provider is asked."""
    return sum(map(default_counter().count, texts))


def verdict_of(content: Any, question: Question, tokens: int) -> Verdict:  # noqa: ANN401 - whatever a model's client gives
    """Return the verdict that a model's words mean, which cost so many *tokens*.

    Raises:
        JudgeError: There is no JSON object of the form that was asked for.
    """
    answer = parse_answer(content, tokens)
    expansions = [
        Expansion(opening.key, opening.query, opening.lines, why="the model asked for it")
        for opening in answer.expand
    ]
    search = answer.search if question.has_memories else None
    return Verdict(answer.intent, tuple(expansions), search or None, "the model decided", tokens)
