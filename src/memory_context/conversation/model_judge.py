"""What a judge asks a model, and how the model's answer is read, whichever framework calls the model."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, Field

from memory_context.conversation.keyword_judge import Candidate, Expansion, Question, Verdict
from memory_context.exceptions import JudgeError
from memory_context.model.reference import one_line
from memory_context.runtime import prompts

MAX_CANDIDATES = 30
MAX_TEXT = 4000
MAX_ANSWER = 20_000


class Opening(BaseModel):
    """A reference to open."""

    key: str
    query: str | None = None
    lines: str | None = None


class Answer(BaseModel):
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


def words_for(question: Question) -> str:
    """What the model is asked beside `JUDGE_SYSTEM`; bounded, whatever the conversation holds."""
    lines = "\n".join(_line(candidate) for candidate in question.candidates[:MAX_CANDIDATES])
    return prompts.JUDGE_QUESTION.format(
        task=question.task[:MAX_TEXT],
        message=question.message[:MAX_TEXT],
        references=lines or "-",
        memories=prompts.JUDGE_HAS_MEMORIES if question.has_memories else prompts.JUDGE_NO_MEMORIES,
    )


def _line(candidate: Candidate) -> str:
    item = candidate.item
    seen = ", ".join(f"{first}-{last}" for first, last in candidate.seen[:5]) or "none"
    description = one_line(item.summary)
    return f"{item.memory_key} - {description} - {item.token_count} tokens, {item.line_count} lines, in sight: {seen}"


def parse_answer(content: Any) -> Answer:  # noqa: ANN401 - whatever a model's client gives
    """The answer in a model's words: JSON, also inside other text or a fence.

    Raises:
        JudgeError: There is none.
    """
    if isinstance(content, str):
        content = content[:MAX_ANSWER]
        start = content.find("{")
        while start >= 0:
            answer = _answer_at(content, start)
            if answer is not None:
                return answer
            start = content.find("{", start + 1)
    message = f"the model's answer is no JSON object as asked for: {content!r:.80}"
    raise JudgeError(message)


def _answer_at(content: str, start: int) -> Answer | None:
    try:
        value, _ = json.JSONDecoder().raw_decode(content, start)
        return Answer.model_validate(value) if Answer.model_fields.keys() & value else None
    except (ValueError, RecursionError):
        return None


def verdict_of(answer: Answer, question: Question, tokens: int) -> Verdict:
    """The verdict that a model's answer means."""
    expand = tuple(
        Expansion(one.key, one.query, one.lines, "the model asked for it") for one in answer.expand
    )
    search = answer.search if question.has_memories else None
    return Verdict(answer.intent, expand, search or None, "the model decided", tokens)
