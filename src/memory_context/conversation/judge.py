"""Judges: who decides what the next step needs from memory. Any object of the protocol will do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from memory_context.conversation.keyword_judge import (
    Candidate,
    Expansion,
    Intent,
    Question,
    Verdict,
    judge_by_words,
)
from memory_context.exceptions import InvalidArgumentError, JudgeError
from memory_context.model.drawers import Displayed
from memory_context.model.item import now
from memory_context.runtime import events
from memory_context.runtime.breaker import Breaker, check_not_negative
from memory_context.runtime.telemetry import count, operation
from memory_context.runtime.threads import off_loop

MAX_EXPANSIONS = 10
ASKED_AT_MOST = 200


@runtime_checkable
class Judge(Protocol):
    """Decides, for one message, what to open and what to look for."""

    @property
    def name(self) -> str:
        """What it is called in the record of decisions."""
        ...

    async def decide(self, question: Question) -> Verdict:
        """The verdict. May raise anything, or take too long: then the words decide."""
        ...


class LexicalJudge:
    """Decides by words alone (`judge_by_words`): no model, no cost."""

    name = "lexical"

    async def decide(self, question: Question) -> Verdict:
        """The verdict of the words, made off the event loop."""
        return await off_loop(judge_by_words, question)


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """What a judge with a model may cost in one conversation.

    Attributes:
        seconds: The deadline of one decision.
        calls: How many decisions it may be asked for.
        tokens: How many tokens they may cost.
        failures: After so many failures in a row it is not asked for a while.
        pause: For so many seconds.

    Raises:
        InvalidArgumentError: A negative number.
    """

    seconds: float = 10.0
    calls: int = 200
    tokens: int = 200_000
    failures: int = 3
    pause: float = 60.0

    def __post_init__(self) -> None:
        """Check every number."""
        check_not_negative(self, self.__slots__)


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided for one message.

    Attributes:
        at: When.
        judge: Who decided.
        asked: The beginning of the message.
        offered: The keys that could be opened.
        intent: Whether the message said all that it takes.
        opened: The keys that were opened.
        searched: What was looked for among the user's other memories.
        found: The keys that were found there.
        why: The reason, for people; after a failure, what failed.
        tokens: What the decision cost.
        seconds: How long it took.
    """

    at: datetime
    judge: str
    asked: str
    offered: tuple[str, ...]
    intent: Intent
    opened: tuple[str, ...]
    searched: str | None
    found: tuple[str, ...]
    why: str
    tokens: int
    seconds: float


class Decisions(Displayed, list[Decision]):
    """A list of decisions. A notebook shows it as a table."""

    __slots__ = ()


@dataclass(slots=True)
class Bench:
    """Asks a judge within its limits; where it may not be asked, fails, is late or talks nonsense, the words decide."""

    judge: Judge
    limits: JudgeLimits = field(default_factory=JudgeLimits)
    calls: int = 0
    tokens: int = 0
    breaker: Breaker = field(init=False)

    def __post_init__(self) -> None:
        """Begin without failures."""
        self.breaker = Breaker(self.limits)

    @property
    def asks_more_than_words(self) -> bool:
        """Whether the judge may see more in a message than the words that it shares with a memory."""
        return not isinstance(self.judge, LexicalJudge)

    async def decide(self, question: Question) -> tuple[str, Verdict]:
        """Who decided, and what."""
        if not self.asks_more_than_words or not self._may_ask():
            return LexicalJudge.name, await LexicalJudge().decide(question)
        self.calls += 1
        try:
            verdict = await self._asked(question)
        except Exception as error:  # noqa: BLE001 - whatever a judge of somebody else's raises
            self._count("failed", getattr(error, "tokens", 0))
            self._note_failure(error)
            fallback = await LexicalJudge().decide(question)
            return LexicalJudge.name, Verdict(
                fallback.intent,
                fallback.expand,
                fallback.search,
                f"{self.judge.name} failed: {error!r:.80}",
                getattr(error, "tokens", 0),
            )
        self.breaker.note_success()
        self._count("decided", verdict.tokens)
        return self.judge.name, verdict

    async def _asked(self, question: Question) -> Verdict:
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

    def _may_ask(self) -> bool:
        within = self.calls < self.limits.calls and self.tokens < self.limits.tokens
        return within and self.breaker.lets_ask

    def _note_failure(self, error: Exception) -> None:
        self.breaker.note_failure()
        events.JUDGE_FAILED.log(error, judge=self.judge.name)


def _checked(verdict: object, question: Question) -> Verdict:
    """A verdict that opens only what was offered, each key once, and not too much."""
    if not isinstance(verdict, Verdict):
        message = f"a judge answers with a Verdict, not with {type(verdict).__name__}"
        raise InvalidArgumentError(message)
    offered = {candidate.item.memory_key for candidate in question.candidates}
    expand = {
        expansion.key: expansion
        for expansion in reversed(verdict.expand)
        if expansion.key in offered
    }
    if verdict.expand and not expand:
        message = "the judge wants to open only what was not offered"
        raise JudgeError(message, tokens=verdict.tokens)
    first = tuple(reversed(expand.values()))[:MAX_EXPANSIONS]
    return Verdict(verdict.intent, first, verdict.search, verdict.why, verdict.tokens)


def decision(
    judge: str,
    question: Question,
    verdict: Verdict,
    *,
    opened: tuple[str, ...],
    found: tuple[str, ...],
    seconds: float,
) -> Decision:
    """The record of a decision."""
    return Decision(
        at=now(),
        judge=judge,
        asked=question.message[:ASKED_AT_MOST],
        offered=tuple(candidate.item.memory_key for candidate in question.candidates),
        intent=verdict.intent,
        opened=opened,
        searched=verdict.search,
        found=found,
        why=verdict.why,
        tokens=verdict.tokens,
        seconds=seconds,
    )


__all__ = [
    "Bench",
    "Candidate",
    "Decision",
    "Expansion",
    "Judge",
    "JudgeLimits",
    "LexicalJudge",
    "Question",
    "Verdict",
    "decision",
]
