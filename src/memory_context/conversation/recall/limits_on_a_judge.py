"""The protocol of judges, and their limits: of time, tokens and failures. Beyond these, keyword matching decides."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.conversation.recall.keyword_judge import judge_by_keywords
from memory_context.conversation.recall.model_judge import ModelJudge, sent_tokens
from memory_context.exceptions import InvalidArgumentError, JudgeError
from memory_context.model.checked_numbers import check_not_negative
from memory_context.runtime import log_events
from memory_context.runtime.circuit_breaker import Breaker
from memory_context.runtime.telemetry import count, operation
from memory_context.runtime.threads import off_loop
from memory_context.text.relevance.reasons_for_records import Expansion

MAX_EXPANSIONS = 10


@runtime_checkable
class Judge(Protocol):
    """Decides, for one message, which memories to open and what to search for."""

    @property
    def name(self) -> str:
        """Return the judge's name in the record of decisions."""
        ...

    async def decide(self, question: Question) -> Verdict:
        """Return the verdict. If it raises any exception or takes too long, keyword matching decides instead."""
        ...


class LexicalJudge:
    """Decides by keyword matching alone (`judge_by_keywords`): no model, no cost."""

    name = "lexical"

    async def decide(self, question: Question) -> Verdict:
        """Return the verdict of keyword matching, made off the event loop."""
        return await off_loop(judge_by_keywords, question)


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """The limits on the cost of a judge with a model in one conversation.

    Attributes:
        seconds: The time limit of one decision, in seconds.
        calls: The most decisions that the judge is asked for.
        tokens: The most tokens that these decisions may cost together.
        failures: After this many failures in a row, the judge is not asked for `pause` seconds.
        pause: The length of that pause, in seconds.

    Raises:
        InvalidArgumentError: A limit is negative.
    """

    seconds: float = 3.0
    calls: int = 200
    tokens: int = 200_000
    failures: int = 3
    pause: float = 60.0

    def __post_init__(self) -> None:
        """Check every number."""
        check_not_negative(self, self.__slots__)


@dataclass(slots=True)
class BoundedJudge:
    """Asks a judge within its limits.

    Keyword matching decides if the judge may not be asked, fails, is late, or returns something that is not a verdict.
    It also decides in place of a `ModelJudge` if its verdict is clear.

    Attributes:
        judge: The judge.
        limits: Its limits.
        calls: How many decisions it was asked for.
        tokens: How many tokens these decisions cost.
        breaker: Counts failures, and tells whether the judge may be asked now.
    """

    judge: Judge
    limits: JudgeLimits = field(default_factory=JudgeLimits)
    calls: int = 0
    tokens: int = 0
    breaker: Breaker = field(init=False)

    def __post_init__(self) -> None:
        """Create the circuit breaker."""
        self.breaker = Breaker(self.limits.failures, self.limits.pause)

    @property
    def sees_beyond_keywords(self) -> bool:
        """Return whether the judge is more than keyword matching: it may open memories that share no word with a message."""
        return type(self.judge) is not LexicalJudge

    async def decide(self, question: Question) -> tuple[str, Verdict]:
        """Return the name of the judge that decided, and its verdict."""
        by_keywords: Verdict | None = None
        is_spent = self.calls >= self.limits.calls or self.tokens >= self.limits.tokens
        may_ask = self.sees_beyond_keywords and not is_spent and self.breaker.lets_ask
        asks_model = isinstance(self.judge, ModelJudge)
        if asks_model or not may_ask:
            by_keywords = await LexicalJudge().decide(question)
            if by_keywords.is_clear or not may_ask:
                return LexicalJudge.name, by_keywords
        self.calls += 1
        try:
            verdict = await self._ask(question)
        except Exception as error:  # noqa: BLE001 - a judge from elsewhere may raise anything
            tokens = error.tokens if isinstance(error, JudgeError) else 0
            if isinstance(error, TimeoutError) and asks_model:
                tokens = sent_tokens(question)
            self._count("failed", tokens)
            self.breaker.note_failure()
            log_events.JUDGE_FAILED.log(error, judge=self.judge.name)
            fallback = by_keywords or await LexicalJudge().decide(question)
            why = f"{self.judge.name} failed: {error!r:.80}; {fallback.why}"
            return LexicalJudge.name, replace(fallback, why=why, tokens=tokens)
        self.breaker.note_success()
        self._count("decided", verdict.tokens)
        return self.judge.name, verdict

    async def _ask(self, question: Question) -> Verdict:
        with operation(
            "judge", judge=self.judge.name, candidates=len(question.candidates)
        ) as judging:
            verdict = await asyncio.wait_for(self.judge.decide(question), self.limits.seconds)
            verdict = _checked(verdict, question)
            judging.note(tokens=verdict.tokens, hits=len(verdict.expand))
        return verdict

    def _count(self, outcome: str, tokens: int) -> None:
        self.tokens += tokens
        count("judge_calls", judge=self.judge.name, outcome=outcome)
        count("judge_tokens", tokens, judge=self.judge.name)


def _checked(verdict: object, question: Question) -> Verdict:
    """Return a judge's verdict without what it may not open: it may open candidates only, each once, and 10 at most.

    Raises:
        InvalidArgumentError: It is not a `Verdict`, or its reason or its tokens have a wrong type.
        JudgeError: It opens memories, but no candidate.
    """
    if not isinstance(verdict, Verdict):
        raise InvalidArgumentError(f"a judge must return a Verdict, not {type(verdict).__name__}")
    for name, kind in (("why", str), ("tokens", int)):
        if not isinstance(getattr(verdict, name), kind):
            raise InvalidArgumentError(f"the verdict's {name} must be of the type {kind.__name__}")
    offered = {candidate.item.memory_key for candidate in question.candidates}
    expansions = dict[str, Expansion]()
    for expansion in verdict.expand:
        if expansion.key in offered:
            expansions.setdefault(expansion.key, expansion)
    if verdict.expand and not expansions:
        raise JudgeError(
            "the judge opens only memories that were not offered", tokens=verdict.tokens
        )
    return replace(verdict, expand=tuple(expansions.values())[:MAX_EXPANSIONS])
