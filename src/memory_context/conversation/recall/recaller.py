"""Recall what the newest message needs: gather candidates, ask the judge, and search if its verdict says so.

*Other* memories are those of the user that did not enter this conversation; a judge may have them searched.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.conversation.recall.keyword_judge import is_answered, relevant_candidates
from memory_context.conversation.recall.limits_on_a_judge import BoundedJudge
from memory_context.conversation.recall.recall_request_from_messages import RecallRequest
from memory_context.conversation.recall.recalled_text import PartToShow, Recall, RecalledText
from memory_context.conversation.recall.stored_turns_within_budget import as_said
from memory_context.conversation.recall.turns_of_other_conversations import (
    holds_a_name,
    meets_from_elsewhere,
)
from memory_context.conversation.recording_to_call_log import DecisionLog
from memory_context.memory.manager import MemoryManager
from memory_context.model.call_log_records import Decision
from memory_context.model.item import CONVERSATION, MemoryItem, is_secret, now
from memory_context.runtime.telemetry import operation
from memory_context.runtime.threads import off_loop
from memory_context.stores import term_hits_in
from memory_context.text.excerpt.turns_of_conversations import is_conversation
from memory_context.text.index.chunks_and_metadata_cards import card_of
from memory_context.text.index.term_hits import TermHits
from memory_context.text.relevance.chosen_records import best_lines
from memory_context.text.relevance.question_terms import (
    AskedTerm,
    asked_terms,
    names_pointed_at,
)
from memory_context.text.relevance.reasons_for_records import Expansion
from memory_context.text.relevance.recall_candidates_and_their_calls import (
    Ranges,
    RecallCandidate,
    SearchedCandidates,
)
from memory_context.text.relevance.term_occurrences import FoundTerms, wanted_lexemes
from memory_context.text.words_and_names import terms

OFFERED = 30
ASKED_CHARACTERS = 200
FOUND = 3
# The types of memories that a conversation stores by itself.
FOLDED = frozenset({"tool_output", "message", CONVERSATION})


@dataclass(slots=True)
class Recaller:
    """Decides what is recalled in one conversation.

    Attributes:
        manager: The user's memories.
        fail_open: Runs what needs the store, and goes on without a result if the store fails.
        bounded_judge: Decides what to open and what to search for.
        shown: Writes the text that shows what is recalled.
        log: Keeps the decisions.
    """

    manager: MemoryManager
    fail_open: FailOpen
    bounded_judge: BoundedJudge
    shown: RecalledText
    log: DecisionLog

    async def recall(self, request: RecallRequest) -> Recall | None:
        """Return what the message needs, and count it in the statistics; None if it needs nothing, or if the store fails."""
        with operation("recall", self.manager.who, budget=self.shown.budget) as recalling:
            recall = await self._decide(request, recalling)
            recalling.note(outcome="recalled" if recall else "nothing")
        if recall:
            self.fail_open.stats.add(recalls=len(recall.ranges), tokens_recalled=recall.tokens)
        return recall

    async def _decide(self, request: RecallRequest, recalling: operation) -> Recall | None:
        """Return what a person has named and what the judge opens or finds; keep the decision in the log."""
        gathered = await off_loop(self.fail_open.run, self._gather, request)
        if gathered is None:
            return None
        started = time.perf_counter()
        request, opened, question = gathered
        needs_judge = bool(question.candidates or question.has_memories)
        judge = "nobody"
        verdict = Verdict()
        if needs_judge:
            judge, verdict = await self.bounded_judge.decide(question)
        found = list[PartToShow]()
        if verdict.search is not None:
            hits = await off_loop(self.fail_open.run, self._find, request, verdict, opened)
            found = hits or []
        recall = await off_loop(
            self.fail_open.run, self.shown.show, request, opened, question, verdict, found
        )
        if needs_judge or opened:
            seconds = time.perf_counter() - started
            self._keep_decision(judge, question, verdict, recall, found, seconds)
        recalling.note(judge=judge, candidates=len(question.candidates))
        if recall:
            recalling.note(keys=tuple(recall.ranges), hits=len(recall.ranges), tokens=recall.tokens)
        return recall

    def _gather(self, request: RecallRequest) -> tuple[RecallRequest, list[MemoryItem], Question]:
        """Return the request without secrets, the memories that a person has named, and the question for the judge.

        The named memories are opened without a judge. Secrets are removed from the message and from the answer before it:
        no stored text holds them, and a judge may quote one, which would not be recognised in the record of the decision
        without the name that precedes it in the message.
        """
        without_secrets = self.manager.without_secrets
        request = replace(
            request,
            message=without_secrets(request.message),
            answer=without_secrets(request.answer),
        )
        store = self.manager.memory_store
        scope = self.manager.offered
        opened = [
            item
            for item in store.get_many(scope, sorted(request.named))
            if not is_secret(item) or item.memory_key in request.mentioned
        ]
        opened_keys = {item.memory_key for item in opened}
        others = [key for key in request.references if key not in opened_keys]
        asked = asked_terms(request.message)
        asked += names_pointed_at(request.message, asked, request.answer)
        hits = self._hits(asked, others)
        candidates = self._candidates(request, others, asked, hits)
        known = store.count(scope, {"memory_key": list(request.known_here)})
        has_others = store.count(scope) > known
        self.fail_open.note_read()
        question = Question(
            request.message,
            request.turns,
            tuple(candidates),
            has_others,
            request.in_sight,
            hits,
            request.is_told,
            request.answer,
        )
        return request, opened, question

    def _hits(self, asked: Sequence[AskedTerm], keys: Sequence[str]) -> TermHits:
        """Return the index's hits for the *asked* terms in the memories under *keys*."""
        if not asked:
            return TermHits()
        store = self.manager.memory_store
        wanted = list(map(wanted_lexemes, asked))
        return term_hits_in(store, self.manager.offered, wanted, {"memory_key": keys})

    def _candidates(
        self,
        request: RecallRequest,
        others: Sequence[str],
        asked: Sequence[AskedTerm],
        hits: TermHits,
    ) -> list[RecallCandidate]:
        """Return the memories that the judge may open: those out of sight with *asked* terms; for a model, also the newest.

        Args:
            request: The request.
            others: The keys of the conversation's references that are not opened anyway, oldest first.
            asked: The terms that are asked for.
            hits: The index's hits for these terms.
        """
        keys = dict.fromkeys(chunk.memory_key for chunk in hits.places)
        if self.bounded_judge.sees_beyond_keywords:
            # A model may see that a text is meant that shares no word with the message, so the newest are offered, too.
            # The list begins at a multiple of ten, so that it mostly grows at its end, and a prompt cache applies to it.
            start = max(0, len(others) - OFFERED + 9) // 10 * 10
            keys = dict.fromkeys((*others[start:], *keys))
        items = dict[str, MemoryItem]()
        for item in self.manager.memory_store.get_many(self.manager.offered, keys):
            if not is_secret(item) and not request.in_sight(item.text):
                items[item.memory_key] = item
        candidates = [
            RecallCandidate(
                # A judge may ask a model of another provider than the conversation's.
                replace(item, summary=self.shown.redacted(item.summary)),
                request.references[key],
                request.recency.get(key, 0),
                came=request.came.get(key, 0),
            )
            for key, item in items.items()
        ]
        if self.bounded_judge.sees_beyond_keywords:
            texts = SearchedCandidates(candidates, request.in_sight)
            chunks = [chunk for chunk in hits.places if chunk.memory_key in texts]
            lines = best_lines(FoundTerms(asked, hits, chunks, texts))
            for place, candidate in enumerate(candidates):
                line = self.shown.redacted(lines.get(candidate.item.memory_key, ""))
                candidates[place] = replace(candidate, best_line=line)
        return candidates

    def _find(
        self, request: RecallRequest, verdict: Verdict, opened: Sequence[MemoryItem]
    ) -> list[PartToShow]:
        """Return up to three of the user's other memories that answer the verdict's search.

        If the search has no words, they are those used last. Else they are chosen as this conversation's memories are; a
        note may also just hold half of the words.
        """
        query = verdict.search or ""
        if not terms(query):
            query = ""
        known = request.known_here.union(item.memory_key for item in opened)
        hits = self.manager.hits(self.manager.offered, query, limit=OFFERED)
        others = list[MemoryItem]()
        for hit in hits:
            is_output = hit.memory_type in FOLDED and not is_conversation(hit.text)
            is_left_out = verdict.kept_only and is_output and self.shown.elsewhere(hit, request)
            if hit.memory_key not in known and not is_left_out:
                others.append(hit)
        if not query:
            others.sort(key=lambda item: item.accessed_at or item.created_at, reverse=True)
            return [(item, Expansion(item.memory_key)) for item in others[:FOUND]]
        # If the message has a phrase such as "as last time", the query is the message without it.
        refers_to_earlier = query != request.message
        if refers_to_earlier:
            others = _matching_cards(query, others)
        found = self._meant(request.message, others, request, kept_only=verdict.kept_only)
        if not found and refers_to_earlier:
            found = self._meant(query, others, request, kept_only=verdict.kept_only)
        meant = {item.memory_key for item, _ in found}
        # If the query has a name, an output that holds it has been found above.
        asked = asked_terms(query)
        may_be_output = not meant and not any(term.is_name for term in asked)
        for hit in others:
            text = hit.text
            may_answer = may_be_output or hit.memory_type not in FOLDED
            if is_conversation(text):
                text = as_said(text)
                may_answer = refers_to_earlier and not meant
            holds_half = hit.match is not None and is_answered(query, hit.match.why)
            is_new = hit.memory_key not in meant
            # A part of a name is another name: "Nora" of "Nora99".
            if may_answer and holds_half and is_new and holds_a_name(asked, text):
                found.append((hit, Expansion(hit.memory_key)))
        return found[:FOUND]

    def _meant(
        self, message: str, others: Sequence[MemoryItem], request: RecallRequest, *, kept_only: bool
    ) -> list[PartToShow]:
        """Return those of the *others* that a message is about, with the records and turns that are meant."""
        items = {item.memory_key: item for item in others}
        asked = asked_terms(message)
        hits = self._hits(asked, list(items))
        candidates = tuple(map(RecallCandidate, others))
        question = Question(message, "", candidates, False, request.in_sight, hits)  # noqa: FBT003
        expansions, _ = relevant_candidates(question)
        found = list[PartToShow]()
        for expansion in expansions:
            item = items[expansion.key]
            records = expansion.records
            if is_conversation(item.text) and self.shown.elsewhere(item, request):
                meets = partial(meets_from_elsewhere, message, asked, only_stated=kept_only)
                records = tuple(
                    turn for turn in records if meets(item.text[turn.start : turn.stop])
                )
            if records:
                found.append((item, replace(expansion, records=records)))
        return found

    def _keep_decision(
        self,
        judge: str,
        question: Question,
        verdict: Verdict,
        recall: Recall | None,
        found: Sequence[PartToShow],
        seconds: float,
    ) -> None:
        """Keep the decision in the log, with what of *found* and of the memories offered is shown in *recall*."""
        shown: Mapping[str, Ranges] = recall.ranges if recall else {}
        searched = dict.fromkeys(item.memory_key for item, _ in found)
        found_keys = tuple(key for key in searched if key in shown)
        opened = tuple(key for key in shown if key not in found_keys)
        decision = Decision(
            at=now(),
            judge=judge,
            asked=question.message[:ASKED_CHARACTERS],
            offered=tuple(candidate.item.memory_key for candidate in question.candidates),
            intent=verdict.intent,
            opened=opened,
            searched=verdict.search,
            found=found_keys,
            why=verdict.why,
            tokens=verdict.tokens,
            seconds=seconds,
        )
        self.log.note(decision, self.manager)


def _matching_cards(query: str, items: list[MemoryItem]) -> list[MemoryItem]:
    """Return the memories whose card has all words of a query ("the orders from last week"); if none has, return all."""
    wanted = set(chain.from_iterable(map(wanted_lexemes, asked_terms(query))))
    return [item for item in items if wanted.issubset(card_of(item))] or items
