"""Write the message that shows recalled text to a model, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from memory_context import sentences_models_read as prompts
from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.conversation.recall.recall_request_from_messages import RecallRequest
from memory_context.conversation.recall.stored_turns_within_budget import (
    as_said,
    least_cost,
    share_of,
    show_turns,
)
from memory_context.exceptions import InvalidLinesError
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem, encodable, is_secret
from memory_context.model.one_line import one_line
from memory_context.text.excerpt.excerpt import ANSWER, excerpt, show_records
from memory_context.text.excerpt.record_around_place import Record
from memory_context.text.excerpt.shown_parts_and_gap_marks import Excerpt
from memory_context.text.excerpt.turns_of_conversations import is_conversation
from memory_context.text.frames_around_stored_text import quoted
from memory_context.text.read.lines_by_number import parse_lines, span_of_lines
from memory_context.text.relevance.reasons_for_records import Expansion
from memory_context.text.relevance.recall_candidates_and_their_calls import Ranges
from memory_context.text.relevance.records_meant import records_meant
from memory_context.text.terminal_output import without_colours
from memory_context.text.words_of_page import words_of_page

FOUND_TOKENS = 600
LEAST_BUDGET = 30


class Recall(NamedTuple):
    """What is recalled for one message.

    Attributes:
        text: The text of the message that shows it to the model.
        ranges: The ranges of lines that are shown of each memory, by its key.
        tokens: The number of tokens in `text`.
    """

    text: str
    ranges: Mapping[str, Ranges]
    tokens: int


PartToShow: TypeAlias = tuple[MemoryItem, Expansion]
"""A memory, and the part of it to show."""


@dataclass(frozen=True, slots=True)
class RecalledText:
    """Writes the text that shows memories in one conversation.

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
        found: Sequence[PartToShow],
    ) -> Recall | None:
        """Return the recall within the budget: what was opened, then what was found elsewhere; None if nothing is shown."""
        message = request.message
        wanted = [
            (item, Expansion(item.memory_key, message, why="it was named")) for item in opened
        ]
        offered = {one.item.memory_key: one.item for one in question.candidates}
        wanted += [(offered[expansion.key], expansion) for expansion in verdict.expand]
        others = list[PartToShow]()
        for item, expansion in found:
            if is_conversation(item.text) and not self.elsewhere(item, request):
                wanted.append((item, expansion))
            else:
                others.append((item, expansion))
        count = self.manager.counter.count
        wanted.sort(key=_said_at)
        frame = (prompts.RECALL_HEADER, prompts.FOUND_HEADER, prompts.RECALL_FOOTER)
        tokens_left = self.budget - count("\n".join(frame))
        parts, ranges, tokens_left = self._parts(wanted, request, tokens_left)
        listed, found_ranges = self._listed(others, request, tokens_left)
        lines = list[str]()
        if parts:
            lines += [prompts.RECALL_HEADER, *parts]
        if listed:
            lines += [prompts.FOUND_HEADER, *listed]
        if not lines:
            return None
        lines.append(prompts.RECALL_FOOTER)
        ranges |= found_ranges
        text = encodable("\n".join(lines))
        self.manager.audit("recalled", *ranges)
        return Recall(text, ranges, count(text))

    def _parts(
        self, wanted: Sequence[PartToShow], request: RecallRequest, budget: int
    ) -> tuple[list[str], dict[str, Ranges], int]:
        """Return the texts of the *wanted* parts that fit, in their order, the lines shown of each memory, and what is left.

        The newest turns get tokens first, because they may correct older ones; but enough is kept for what was said in
        the older ones.
        """
        count = self.manager.counter.count
        least = dict[int, int]()
        for rank, (item, expansion) in enumerate(wanted):
            if expansion.records and is_conversation(item.text):
                least[rank] = self._least_cost(item, expansion, request)
        others = [rank for rank in range(len(wanted)) if rank not in least]
        order = [*others, *reversed(least)]
        shown = dict[int, str]()
        ranges = dict[str, Ranges]()
        for place, rank in enumerate(order):
            item, expansion = wanted[rank]
            share = budget if expansion.records else budget // (len(order) - place)
            if rank in least:
                older = [least[other] for other in order[place + 1 :]]
                share = share_of(budget, least[rank], sum(older))
            ref = self._ref(item, request)
            part, lines = self._part(ref, item, expansion, request, share)
            if part and not request.in_sight(lines.text):
                shown[rank] = part
                budget -= count(part) + 1
                ranges[item.memory_key] = ranges.get(item.memory_key, ()) + lines.ranges
        return [shown[rank] for rank in sorted(shown)], ranges, budget

    def _least_cost(self, item: MemoryItem, expansion: Expansion, request: RecallRequest) -> int:
        """Return the tokens of a memory's reference and of its turns, with all that was said but without tools' results."""
        count = self.manager.counter.count
        ref = prompts.RECALLED_PART.format(ref=self._ref(item, request), text="")
        return count(ref) + 1 + least_cost(item.text, expansion.records, count)

    def _part(
        self, ref: str, item: MemoryItem, expansion: Expansion, request: RecallRequest, budget: int
    ) -> tuple[str, Excerpt]:
        """Return a memory's *ref* with the wanted lines below it, and these lines; empty if the budget is too small."""
        count = self.manager.counter.count
        tokens_left = budget - count(prompts.RECALLED_PART.format(ref=ref, text="")) - 1
        more = ""
        if expansion.more:
            more = f"\n{prompts.MORE_MATCH.format(count=expansion.more)}"
            # A line break may be a token of its own.
            tokens_left -= count(more) + 1
        if tokens_left < LEAST_BUDGET:
            return "", Excerpt("")
        query = expansion.query or request.message
        lines = _lines_of(item, expansion, tokens_left, count)
        if expansion.records and is_conversation(item.text):
            in_order = sorted(expansion.records, key=attrgetter("start"))
            lines = show_turns(item.text, in_order, query, tokens_left, count)
        elif expansion.records:
            lines = _records_of_page(item.text, query, request, tokens_left, count)
            if lines is None:
                lines = show_records(item.text, expansion.records, tokens_left, count)
        if lines is None:
            lines = excerpt(as_said(item.text), query, tokens_left, count, ranking=ANSWER)
        text = self.redacted(without_colours(lines.text))
        # Redaction may have made the text longer.
        if count(text) > max(tokens_left, count(lines.text)):
            text = excerpt(text, query, tokens_left, count).text
        lines = replace(lines, text=text)
        shown = quoted(lines.text)
        if not shown:
            return "", lines
        return prompts.RECALLED_PART.format(ref=ref, text=shown + more), lines

    def _listed(
        self, found: Sequence[PartToShow], request: RecallRequest, budget: int
    ) -> tuple[list[str], dict[str, Ranges]]:
        """Return the texts of *found* parts that fit into the budget, and the lines that are shown of each memory.

        A secret is shown as its reference alone. If two memories have the same wanted lines, only the first is shown.
        """
        count = self.manager.counter.count
        listed = list[str]()
        ranges = dict[str, Ranges]()
        shown = set[str]()
        for item, expansion in found:
            line = self._ref(item, request)
            lines = Excerpt("")
            if not is_secret(item):
                tokens = min(budget, FOUND_TOKENS)
                part, lines = self._part(line, item, expansion, request, tokens)
                if part and lines.text in shown:
                    continue
                shown.add(lines.text)
                if lines.text not in line:  # a note is its own description
                    line = part
            budget -= count(line) + 1
            if line and budget >= 0:
                listed.append(line)
                ranges[item.memory_key] = ranges.get(item.memory_key, ()) + lines.ranges
        return listed, ranges

    def _ref(self, item: MemoryItem, request: RecallRequest) -> str:
        """Return a memory's reference with the origin of its text, where else it is from, and the calls since it came."""
        ref = replace(item.ref, description=self.redacted(item.ref.description))
        origin = prompts.ORIGIN.format(origin=item.origin)
        since = self.redacted(request.calls_since(item))
        return f"{ref.render()}{origin}{self.elsewhere(item, request)}{since}"

    def elsewhere(self, item: MemoryItem, request: RecallRequest) -> str:
        """Return which other conversation a memory is from, and of when; empty if it is from this one or from none."""
        if item.thread_id in (None, self.manager.thread_id):
            return ""
        if item.memory_key in request.shown_here:  # the same text arrived in this conversation, too
            return ""
        return prompts.ELSEWHERE.format(thread=one_line(item.thread_id), when=item.created_at)


def _said_at(part: PartToShow) -> float:
    """Return when turns that are to be shown were said; 0 for any other part, which precedes them."""
    item, expansion = part
    is_said = expansion.records and is_conversation(item.text)
    return item.created_at.timestamp() if is_said else 0


def _lines_of(
    item: MemoryItem, expansion: Expansion, budget: int, count: Callable[[str], int]
) -> Excerpt | None:
    """Return the lines that were asked for by number; None if none were, or if they do not exist or do not fit."""
    if expansion.lines is None or isinstance(item.content, bytes):
        return None
    try:
        first, last = parse_lines(expansion.lines, item.line_count)
    except InvalidLinesError:
        return None
    span = span_of_lines(item.content, first, last)
    shown = Excerpt(item.content[span.start : span.end], ((first, last),))
    return shown if count(shown.text) <= budget else None


def _records_of_page(
    text: str, query: str, request: RecallRequest, budget: int, count: Callable[[str], int]
) -> Excerpt | None:
    """Return the records that *query* means among the words of an HTML page, without those that are in sight.

    None if the text is no page, or if its words hold none of them, but its tags or programs do.
    """
    page = words_of_page(text)
    if page is None:
        return None
    words = page.text
    meant = records_meant(words, query, [(0, len(words))])
    if not meant:
        return None

    def is_new(record: Record) -> bool:
        """Return whether a record is not in sight, with the line breaks around it: ``K77`` is not, in ``K777``."""
        return not request.in_sight(words[max(0, record.start - 1) : record.stop + 1])

    new = list(filter(is_new, meant))
    shown = show_records(words, new, budget, count, page.numbers)
    # No line of the page itself is shown whole.
    return replace(shown, ranges=())
