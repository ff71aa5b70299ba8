"""Show what is recalled: the text of the message in which a model reads it, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.judge_question_and_verdict import (
    Question,
    Verdict,
)
from memory_context.conversation.recall.recall_request_from_messages import RecallRequest
from memory_context.conversation.recall.stored_turns_within_budget import (
    as_said,
    is_conversation,
    least_cost,
    share_of,
    show_turns,
)
from memory_context.exceptions import InvalidLinesError
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem, encodable, is_secret
from memory_context.model.one_line import one_line
from memory_context.text.excerpt.excerpt import ANSWER, Excerpt, excerpt, show_records
from memory_context.text.frames_around_stored_text import quoted
from memory_context.text.lines import without_colours
from memory_context.text.read.lines_by_number import parse_lines, span_of_lines
from memory_context.text.relevance.reasons_for_records import Expansion
from memory_context.text.relevance.searched_candidates import Ranges

FOUND_TOKENS = 600
LEAST_BUDGET = 30


class Recall(NamedTuple):
    """What is recalled for one message.

    Attributes:
        text: The text of the message that shows it to the model.
        ranges: For each memory, by its key, the lines that are shown.
        tokens: The number of tokens in `text`.
    """

    text: str
    ranges: Mapping[str, Ranges]
    tokens: int


FoundElsewhere: TypeAlias = tuple[MemoryItem, Expansion]
"""One of the user's other memories that answers the message, and the part of it to show."""


@dataclass(frozen=True, slots=True)
class RecalledText:
    """Makes the text that shows memories in one conversation.

    Attributes:
        manager: The user's memories.
        budget: The most tokens that a recall may have.
        redacted: Returns a text as it may be shown.
    """

    manager: MemoryManager
    budget: int
    redacted: Callable[[str], str]

    def show(
        self,
        request: RecallRequest,
        opened: Sequence[MemoryItem],
        question: Question,
        verdict: Verdict,
        found: Sequence[FoundElsewhere],
    ) -> Recall | None:
        """Return the recall within the budget: what was opened, then what was found elsewhere; None if it is nothing."""
        items = {item.memory_key: item for item in opened}
        expansions = [Expansion(key, request.message, why="it was named") for key in items]
        expansions += verdict.expand
        items |= {one.item.memory_key: one.item for one in question.candidates}
        others = list[FoundElsewhere]()
        for item, expansion in found:
            if is_conversation(item.text) and not self.elsewhere(item, request):
                items[item.memory_key] = item
                expansions.append(expansion)
            else:
                others.append((item, expansion))
        count = self.manager.counter.count
        frame = (prompts.RECALL_HEADER, prompts.FOUND_HEADER, prompts.RECALL_FOOTER)
        tokens_left = self.budget - count("\n".join(frame))
        shown, ranges = dict[int, str](), dict[str, Ranges]()
        least = {
            rank: self._least_cost(items[expansion.key], expansion, request)
            for rank, expansion in enumerate(expansions)
            if expansion.records and is_conversation(items[expansion.key].text)
        }
        # The newest turns are served first, because they may correct older ones; but enough is left to show what was said
        # in these.
        order = [rank for rank in range(len(expansions)) if rank not in least] + sorted(least)[::-1]
        for place, rank in enumerate(order):
            item, expansion = items[expansions[rank].key], expansions[rank]
            share = tokens_left if expansion.records else tokens_left // (len(order) - place)
            if rank in least:
                older = [least[other] for other in order[place + 1 :]]
                share = share_of(tokens_left, least[rank], sum(older))
            part, lines = self._part(item, expansion, request, share)
            if part and not request.in_sight(lines.text):
                shown[rank] = part
                tokens_left -= count(part) + 1
                ranges[item.memory_key] = (*ranges.get(item.memory_key, ()), *lines.ranges)
        parts = [shown[rank] for rank in sorted(shown)]
        listed, found_ranges = self._listed(others, request, tokens_left)
        if not parts and not listed:
            return None
        lines_shown = list[str]()
        if parts:
            lines_shown += [prompts.RECALL_HEADER, *parts]
        if listed:
            lines_shown += [prompts.FOUND_HEADER, *listed]
            ranges |= found_ranges
        lines_shown.append(prompts.RECALL_FOOTER)
        text = encodable("\n".join(lines_shown))
        self.manager.audit("recalled", *ranges)
        return Recall(text, ranges, count(text))

    def _least_cost(self, item: MemoryItem, expansion: Expansion, request: RecallRequest) -> int:
        """Return the tokens of a memory's reference and of its turns, with all that was said but without tools' results."""
        count = self.manager.counter.count
        ref = prompts.RECALLED_PART.format(ref=self._ref(item, request), text="")
        return count(ref) + 1 + least_cost(item.text, expansion.records, count)

    def _part(
        self, item: MemoryItem, expansion: Expansion, request: RecallRequest, budget: int
    ) -> tuple[str, Excerpt]:
        """Return a memory's reference with the wanted lines below it, and these lines; empty if the budget is too small."""
        count = self.manager.counter.count
        ref = self._ref(item, request)
        tokens_left = budget - count(prompts.RECALLED_PART.format(ref=ref, text="")) - 1
        more = prompts.MORE_MATCH.format(count=expansion.more) if expansion.more else ""
        # A line break may be a token of its own.
        tokens_left -= count(f"\n{more}") + 1 if more else 0
        if tokens_left < LEAST_BUDGET:
            return "", Excerpt("")
        query = expansion.query or request.message
        lines = _lines_of(item, expansion, tokens_left, count)
        if expansion.records and is_conversation(item.text):
            lines = show_turns(item.text, expansion.records, query, tokens_left, count)
        elif expansion.records:
            lines = show_records(item.text, expansion.records, tokens_left, count)
        if lines is None:
            lines = excerpt(as_said(item.text), query, tokens_left, count, ranking=ANSWER)
        text = self.redacted(lines.text)
        # Redaction may have made the text longer.
        if count(text) > max(tokens_left, count(lines.text)):
            text = excerpt(text, query, tokens_left, count).text
        lines = replace(lines, text=text)
        shown = quoted(without_colours(lines.text))
        if not shown:
            return "", lines
        if more:
            shown += f"\n{more}"
        return prompts.RECALLED_PART.format(ref=ref, text=shown), lines

    def _listed(
        self, found: Sequence[FoundElsewhere], request: RecallRequest, budget: int
    ) -> tuple[list[str], dict[str, Ranges]]:
        """Return what is shown of other memories, as far as the budget goes, and the lines of each that are shown.

        Of a secret it is the reference alone. Of two memories with the same wanted lines, only the first is shown.
        """
        count = self.manager.counter.count
        listed, ranges = list[str](), dict[str, Ranges]()
        shown = set[str]()
        for item, expansion in found:
            line, lines = self._ref(item, request), Excerpt("")
            if not is_secret(item):
                part, lines = self._part(item, expansion, request, min(budget, FOUND_TOKENS))
                if part and lines.text in shown:
                    continue
                shown.add(lines.text)
                if lines.text not in line:  # a note is its own description
                    line = part
            budget -= count(line) + 1
            if line and budget >= 0:
                listed.append(line)
                ranges[item.memory_key] = (*ranges.get(item.memory_key, ()), *lines.ranges)
        return listed, ranges

    def _ref(self, item: MemoryItem, request: RecallRequest) -> str:
        """Return a memory's reference, with who said the text and, if it is from elsewhere, which conversation."""
        ref = replace(item.ref, description=self.redacted(item.ref.description))
        origin = prompts.ORIGIN.format(origin=item.origin)
        return f"{ref.render()}{origin}{self.elsewhere(item, request)}"

    def elsewhere(self, item: MemoryItem, request: RecallRequest) -> str:
        """Return which other conversation a memory is from, and since when; empty if it is from this one or from none."""
        if item.thread_id in (None, self.manager.thread_id):
            return ""
        if item.memory_key in request.shown_here:  # the same text came into this conversation, too
            return ""
        return prompts.ELSEWHERE.format(thread=one_line(item.thread_id), day=item.created_at.date())


def _lines_of(
    item: MemoryItem, expansion: Expansion, budget: int, count: Callable[[str], int]
) -> Excerpt | None:
    """Return the lines that were asked for by number; None if none were, if they do not exist, or do not fit."""
    if expansion.lines is None or isinstance(item.content, bytes):
        return None
    try:
        first, last = parse_lines(expansion.lines, item.line_count)
    except InvalidLinesError:
        return None
    span = span_of_lines(item.content, first, last)
    shown = Excerpt(item.content[span.start : span.end], ((first, last),))
    return shown if count(shown.text) <= budget else None
