"""Recall what the newest message needs: gather candidates, ask the judge, and search where it says so.

*Other* memories are those of the user that did not come into this conversation; a judge may have them searched.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.recall.judge_question_and_verdict import (
    Question,
    Verdict,
)
from memory_context.conversation.recall.judge_within_limits import BoundedJudge
from memory_context.conversation.recall.keyword_judge import is_answered, relevant_candidates
from memory_context.conversation.recall.recall_request_from_messages import RecallRequest
from memory_context.conversation.recall.recalled_text import FoundElsewhere, Recall, RecalledText
from memory_context.conversation.recall.stored_turns_within_budget import as_said, is_conversation
from memory_context.conversation.recall.turns_meant import (
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
from memory_context.text.index.chunks import card_of
from memory_context.text.index.term_hits import TermHits
from memory_context.text.relevance.chosen_records import best_lines
from memory_context.text.relevance.question_terms import asked_terms, names_pointed_at
from memory_context.text.relevance.reasons_for_records import Expansion
from memory_context.text.relevance.searched_candidates import (
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
        shown: Makes the text that shows it.
        log: Keeps the decisions.
    """

    manager: MemoryManager
    fail_open: FailOpen
    bounded_judge: BoundedJudge
    shown: RecalledText
    log: DecisionLog

    async def recall(self, request: RecallRequest) -> Recall | None:
        """Return what the message needs, and count it in the statistics; None if it is nothing, or if the store fails."""
        with operation("recall", self.manager.who, budget=self.shown.budget) as recalling:
            recall = await self._decide(request, recalling)
            recalling.note(outcome="recalled" if recall else "nothing")
        if recall:
            self.fail_open.stats.add(recalls=len(recall.ranges), tokens_recalled=recall.tokens)
        return recall

    async def _decide(self, request: RecallRequest, recalling: operation) -> Recall | None:
        """Return what the judge opens or finds, with what a person has named; keep the decision in the log."""
        gathered = await off_loop(self.fail_open.run, self._gather, request)
        if gathered is None:
            return None
        started = time.perf_counter()
        request, opened, question = gathered
        undecided = bool(question.candidates or question.has_memories)
        judge, verdict = "nobody", Verdict()
        if undecided:
            judge, verdict = await self.bounded_judge.decide(question)
        found = list[FoundElsewhere]()
        if verdict.search is not None:
            hits = await off_loop(self.fail_open.run, self._find, request, verdict, opened)
            found = hits or []
        recall = await off_loop(
            self.fail_open.run, self.shown.show, request, opened, question, verdict, found
        )
        if undecided or opened:
            seconds = time.perf_counter() - started
            self._keep_decision(judge, question, verdict, recall, found, seconds)
        recalling.note(judge=judge, candidates=len(question.candidates))
        if recall:
            recalling.note(keys=tuple(recall.ranges), hits=len(recall.ranges), tokens=recall.tokens)
        return recall

    def _gather(self, request: RecallRequest) -> tuple[RecallRequest, list[MemoryItem], Question]:
        """Return the memories that a person has named, which are opened without a judge, and the question for the judge.

        The request comes first, without the secrets in its message and in the answer before it. No stored text holds them,
        and a judge quotes words of the message, of which a secret may be one: by itself, without the name before it, it
        would not be recognised in the record of the decision.
        """
        message, answer = map(self.manager.without_secrets, (request.message, request.answer))
        request = replace(request, message=message, answer=answer)
        store, scope = self.manager.memory_store, self.manager.offered
        opened = [
            item
            for item in store.get_many(scope, sorted(request.named))
            if not is_secret(item) or item.memory_key in request.mentioned
        ]
        opened_keys = {item.memory_key for item in opened}
        others = [key for key in request.references if key not in opened_keys]
        asked = asked_terms(request.message)
        asked += names_pointed_at(request.message, asked, request.answer)
        term_hits = TermHits()
        if asked:
            wanted = list(map(wanted_lexemes, asked))
            term_hits = term_hits_in(store, scope, wanted, {"memory_key": others})
        keys = dict.fromkeys(chunk.memory_key for chunk in term_hits.places)
        if self.bounded_judge.sees_beyond_keywords:
            # A model may see that a text is meant that shares no word with the message, so the newest are offered, too.
            # The list begins at a multiple of ten, so that it mostly grows at its end, and a prompt cache holds for it.
            start = max(0, len(others) - OFFERED + 9) // 10 * 10
            keys = dict.fromkeys((*others[start:], *keys))
        items = dict[str, MemoryItem]()
        for item in store.get_many(scope, keys):
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
            chunks = [chunk for chunk in term_hits.places if chunk.memory_key in texts]
            lines = best_lines(FoundTerms(asked, term_hits, chunks, texts))
            candidates = [
                replace(one, best_line=self.shown.redacted(lines.get(one.item.memory_key, "")))
                for one in candidates
            ]
        shown = {*request.references, *request.shown_here, *request.mentioned}
        known = store.count(scope, {"memory_key": list(shown)})
        has_others = store.count(scope) > known
        self.fail_open.note_read()
        question = Question(
            request.message,
            request.turns,
            tuple(candidates),
            has_others,
            request.in_sight,
            term_hits,
            request.is_told,
            request.answer,
        )
        return request, opened, question

    def _find(
        self, request: RecallRequest, verdict: Verdict, opened: Sequence[MemoryItem]
    ) -> list[FoundElsewhere]:
        """Return up to three of the user's other memories that answer the verdict's search.

        Without words in the search, they are the last used ones. Else they are chosen as this conversation's memories
        are; a note may also just hold half of the words.
        """
        query = verdict.search or ""
        if not terms(query):
            query = ""
        known = {*request.references, *request.shown_here, *request.mentioned}
        known |= {item.memory_key for item in opened}
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
        # The query is then what is left of the message without a phrase such as "as last time".
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
            may_answer, text = hit.memory_type not in FOLDED or may_be_output, hit.text
            if is_conversation(text):
                may_answer, text = refers_to_earlier and not meant, as_said(text)
            holds_half = hit.match is not None and is_answered(query, hit.match.why)
            is_new = hit.memory_key not in meant
            # A part of a name is another name: "Nora" of "Nora99".
            if may_answer and holds_half and is_new and holds_a_name(asked, text):
                found.append((hit, Expansion(hit.memory_key)))
        return found[:FOUND]

    def _meant(
        self, message: str, others: Sequence[MemoryItem], request: RecallRequest, *, kept_only: bool
    ) -> list[FoundElsewhere]:
        """Return those of the *others* that a message is about, with the records and turns that are meant."""
        items = {item.memory_key: item for item in others}
        asked = asked_terms(message)
        wanted = list(map(wanted_lexemes, asked))
        store, scope = self.manager.memory_store, self.manager.offered
        hits = term_hits_in(store, scope, wanted, {"memory_key": list(items)}) if wanted else None
        candidates = tuple(map(RecallCandidate, others))
        question = Question(message, "", candidates, False, request.in_sight, hits)  # noqa: FBT003
        expansions, _ = relevant_candidates(question)
        found = list[FoundElsewhere]()
        for expansion in expansions:
            item, records = items[expansion.key], expansion.records
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
        found: Sequence[FoundElsewhere],
        seconds: float,
    ) -> None:
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
    """Return the memories whose card has all words of a query ("the orders from last week"); if there are none, all."""
    wanted = set(chain.from_iterable(map(wanted_lexemes, asked_terms(query))))
    return [item for item in items if wanted.issubset(card_of(item))] or items
