"""Bringing back what the newest message needs: gather, judge, show."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.judge import BoundedJudge, Decision, decision
from memory_context.conversation.keyword_judge import (
    Expansion,
    Question,
    Ranges,
    RecallCandidate,
    Verdict,
    keyword_matches,
)
from memory_context.exceptions import InvalidLinesError
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem, encodable, is_secret
from memory_context.model.reference import MemoryRef, without_references
from memory_context.runtime import prompts
from memory_context.runtime.telemetry import operation
from memory_context.runtime.threads import off_loop
from memory_context.text.excerpt.excerpt import Excerpt, excerpt
from memory_context.text.quoting import quoted
from memory_context.text.read.line_ranges import parse_lines, span_of_lines
from memory_context.text.terms import terms

OFFERED = 30
FOUND = 3
LEAST_BUDGET = 30
KEPT_DECISIONS = 1000
MAX_CANDIDATES = 500


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What recall is decided for.

    Attributes:
        message: The newest message, without references.
        task: The first message of the conversation.
        named: The keys that a person has named: opened without further question; a secret by its reference only,
            because any page can make a word of the person's a key that this conversation has shown.
        references: The keys of the conversation's references, with the lines that are in sight.
        mentioned: The keys that stand in the message: they are not searched for.
        in_sight: Whether a text stands in the prompt before the message.
    """

    message: str
    task: str
    named: frozenset[str]
    references: Mapping[str, Ranges]
    mentioned: frozenset[str]
    in_sight: Callable[[str], bool]

    @classmethod
    def of(
        cls,
        text: str,
        task: str,
        references: Mapping[str, Ranges],
        *,
        named: frozenset[str],
        in_sight: Callable[[str], bool],
    ) -> Self:
        """What a message with `text` needs; of the conversation's references the newest 500 are candidates."""
        mentioned = frozenset(ref.key for ref in MemoryRef.find_all(text))
        newest = {
            key: references[key]
            for key in list(references)[-MAX_CANDIDATES:]
            if key not in mentioned
        }
        return cls(without_references(text), task, named, newest, mentioned, in_sight)


@dataclass(frozen=True, slots=True)
class Recall:
    """What is brought back.

    Attributes:
        text: The text of the message that shows it.
        ranges: For each memory, the lines that are shown.
        tokens: The tokens of `text`.
    """

    text: str
    ranges: Mapping[str, Ranges]
    tokens: int


@dataclass(frozen=True, slots=True)
class _Gathered:
    opened: tuple[MemoryItem, ...]
    candidates: tuple[RecallCandidate, ...]
    has_memories: bool


@dataclass(slots=True)
class Recaller:
    """Decides and shows what comes back, for one conversation."""

    manager: MemoryManager
    fail_open: FailOpen
    bounded_judge: BoundedJudge
    budget: int
    decisions: deque[Decision] = field(
        default_factory=lambda: deque[Decision](maxlen=KEPT_DECISIONS)
    )

    async def recall(self, request: RecallRequest) -> Recall | None:
        """What the message needs, counted as brought back; None for nothing, and where the store fails."""
        with operation("recall", self.manager.who, budget=self.budget) as recalling:
            recall = await self._decided(request, recalling)
            recalling.note(outcome="recalled" if recall else "nothing")
        if recall:
            self.fail_open.stats.add(recalls=len(recall.ranges), tokens_recalled=recall.tokens)
        return recall

    async def _decided(self, request: RecallRequest, recalling: operation) -> Recall | None:
        """What the message needs, as whoever decides it finds; the decision is kept."""
        gathered = await off_loop(self.fail_open.run, self._gather, request)
        if gathered is None:
            return None
        question = Question(
            request.message,
            request.task,
            gathered.candidates,
            gathered.has_memories,
            request.in_sight,
        )
        started = time.perf_counter()
        undecided = bool(gathered.candidates or gathered.has_memories)
        judge, verdict = (
            await self.bounded_judge.decide(question) if undecided else ("nobody", Verdict())
        )
        query = verdict.search
        found = (
            await off_loop(self.fail_open.run, self._found, request, query, gathered)
            if query is not None
            else None
        )
        items = {
            item.memory_key: item
            for item in (*gathered.opened, *(c.item for c in gathered.candidates))
        }
        named = [
            Expansion(item.memory_key, request.message, why="it was named")
            for item in gathered.opened
        ]
        recall = await off_loop(
            self.fail_open.run, self._shown, [*named, *verdict.expand], items, found or [], request
        )
        if undecided or gathered.opened:
            self._note(judge, question, verdict, recall, found or [], time.perf_counter() - started)
        recalling.note(judge=judge, candidates=len(gathered.candidates))
        if recall:
            recalling.note(keys=tuple(recall.ranges), hits=len(recall.ranges), tokens=recall.tokens)
        return recall

    def _gather(self, request: RecallRequest) -> _Gathered:
        """What can be opened, lexically best first, and whether there is more to search."""
        store, scope = self.manager.memory_store, self.manager.offered
        named = store.get_many(scope, sorted(request.named))
        opened = [
            item for item in named if not is_secret(item) or item.memory_key in request.mentioned
        ]
        others = [
            key for key in request.references if key not in {item.memory_key for item in opened}
        ]
        inside = {"memory_key": others}
        hits = (
            store.search(scope, request.message, limit=OFFERED, filters=inside, passages=False)
            if others
            else []
        )
        if self.bounded_judge.sees_beyond_keywords:
            matched = {hit.memory_key for hit in hits}
            newest = [key for key in reversed(others) if key not in matched]
            hits += store.get_many(scope, newest[: OFFERED - len(hits)])
        hidden = (hit for hit in hits if not is_secret(hit) and not request.in_sight(hit.text))
        candidates = (RecallCandidate(hit, request.references[hit.memory_key]) for hit in hidden)
        known = store.count(scope, {"memory_key": [*request.references, *request.mentioned]})
        has_others = store.count(scope) > known
        self.fail_open.note_read()
        return _Gathered(tuple(opened), tuple(candidates), has_others)

    def _found(self, request: RecallRequest, query: str, gathered: _Gathered) -> list[MemoryItem]:
        """The user's other memories that speak of `query`; equally good ones by their last use."""
        known = {
            *request.references,
            *request.mentioned,
            *(item.memory_key for item in gathered.opened),
        }
        hits = self.manager.memory_store.search(
            self.manager.offered, query, limit=OFFERED, passages=False
        )
        others = [hit for hit in hits if hit.memory_key not in known]
        if not terms(query):
            return sorted(
                others, key=lambda item: item.accessed_at or item.created_at, reverse=True
            )[:FOUND]
        return [choice.item for choice in keyword_matches(query, others, {}, described=True)][
            :FOUND
        ]

    def _shown(
        self,
        expansions: list[Expansion],
        items: Mapping[str, MemoryItem],
        found: list[MemoryItem],
        request: RecallRequest,
    ) -> Recall | None:
        """What is shown of it, within the budget."""
        count = self.manager.counter.count
        parts, ranges = list[str](), dict[str, Ranges]()
        left = self.budget - count(
            f"{prompts.RECALL_HEADER}\n{prompts.FOUND_HEADER}\n{prompts.RECALL_FOOTER}"
        )
        for rank, expansion in enumerate(expansions):
            item = items[expansion.key]
            part, lines = self._part(item, expansion, request, left // (len(expansions) - rank))
            if part and not request.in_sight(lines.text):
                parts.append(part)
                left -= count(part) + 1
                ranges[item.memory_key] = lines.ranges
        listed = self._listed(found, request, left)
        if not parts and not listed:
            return None
        head = [prompts.RECALL_HEADER, *parts] if parts else []
        tail = [prompts.FOUND_HEADER, *listed] if listed else []
        text = encodable("\n".join((*head, *tail, prompts.RECALL_FOOTER)))
        recall = Recall(
            text, ranges | {item.memory_key: () for item in found if listed}, count(text)
        )
        self.manager.audit("recalled", *recall.ranges)
        return recall

    def _part(
        self, item: MemoryItem, expansion: Expansion, request: RecallRequest, budget: int
    ) -> tuple[str, Excerpt]:
        """A memory's reference with the lines that are wanted, and these lines."""
        count = self.manager.counter.count
        left = budget - count(prompts.RECALLED_PART.format(ref=item.ref, text="")) - 1
        if left < LEAST_BUDGET:
            return "", Excerpt("")
        lines = _lines_of(item, expansion, left, count) or excerpt(
            item.text, expansion.query or request.message, left, count
        )
        shown = quoted(lines.text)
        return prompts.RECALLED_PART.format(ref=item.ref, text=shown) if shown else "", lines

    def _listed(self, found: list[MemoryItem], request: RecallRequest, budget: int) -> list[str]:
        """One line for each memory, with an excerpt where only one is meant; secrets by their names."""
        listed, count = list[str](), self.manager.counter.count
        for item in found:
            line = item.ref.render()
            if len(found) == 1 and not is_secret(item):
                part, _ = self._part(item, Expansion(item.memory_key), request, budget)
                line = part or line
            budget -= count(line) + 1
            if budget >= 0:
                listed.append(line)
        return listed

    def _note(
        self,
        judge: str,
        question: Question,
        verdict: Verdict,
        recall: Recall | None,
        found: list[MemoryItem],
        seconds: float,
    ) -> None:
        shown: Mapping[str, Ranges] = recall.ranges if recall else {}
        keys = tuple(item.memory_key for item in found if item.memory_key in shown)
        opened = tuple(key for key in shown if key not in keys)
        self.decisions.append(
            decision(judge, question, verdict, opened=opened, found=keys, seconds=seconds)
        )


def _lines_of(
    item: MemoryItem, expansion: Expansion, budget: int, count: Callable[[str], int]
) -> Excerpt | None:
    """The lines that were asked for, if they are there and fit."""
    if expansion.lines is None or isinstance(item.content, bytes):
        return None
    try:
        first, last = parse_lines(expansion.lines, item.line_count)
    except InvalidLinesError:
        return None
    span = span_of_lines(item.content, first, last)
    shown = Excerpt(item.content[span.start : span.end], ((first, last),))
    return shown if count(shown.text) <= budget else None
