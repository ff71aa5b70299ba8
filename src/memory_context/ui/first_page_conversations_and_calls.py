"""The pages of conversations: a list of all, the timeline of one, and a single model call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from memory_context.conversation.message import Message, from_lines
from memory_context.conversation.transcript_entries import entries_of, stored_behind
from memory_context.display.decision_stats_and_package_tables import what_happened
from memory_context.display.drawn_contents import content_of
from memory_context.display.drawn_conversation import conversation, split_at_references
from memory_context.display.escaped_html import Html, bar, folded, joined, soft, tag
from memory_context.display.line_charts import Mark, line_chart
from memory_context.exceptions import InvalidArgumentError, MemoryNotFoundError
from memory_context.model.call_log_records import CallRecord, CallTotals, Decision
from memory_context.model.reference import referenced_keys
from memory_context.model.transcript import Transcript
from memory_context.stores.sql.listings_and_totals_of_memories import ThreadSummary
from memory_context.ui.links_forms_and_tables import Visit, listing, remark, when

ROWS = 100
# Charts and timelines read this many of the newest calls and decisions.
CHARTED = 5000
DAYS = 30
SENT = Mark(1, "sent", is_ours=True)
IN_FULL = Mark(8, "with every text in full")
NO_CALLS = (
    "No model calls are kept here: agents that run on this store add them, "
    "and each is kept for 30 days."
)


def overview(visit: Visit) -> Html:
    """Draw how many tokens were sent and avoided, and a table of conversations."""
    totals = visit.memory.call_totals()
    summaries = visit.catalog.threads(visit.memory.scope, limit=100_000)
    stored = {one.thread_id: one for one in summaries}
    # The calls of agents without a conversation are in one row, without a name.
    sent_in = {total.thread_id or "": total for total in totals}

    def last_use(name: str) -> datetime:
        return _last(stored.get(name), sent_in.get(name))

    threads = sorted({*stored, *sent_in}, key=last_use, reverse=True)
    start = visit.start
    shown = threads[start : start + ROWS]
    rows = [_thread_row(visit, name, stored.get(name), sent_in.get(name)) for name in shown]
    columns = ("conversation", "calls", "sent", "in full", "avoided", "memories", "last")
    listed = soft("no conversations yet")
    if rows:
        listed = listing(columns, rows, (1, 2, 3, 5))
    parts = [tag("h1", "Conversations"), _figures(totals), _days(visit), listed]
    return joined(*parts, visit.pages(len(rows), ROWS, len(threads)))


def _last(stored: ThreadSummary | None, total: CallTotals | None) -> datetime:
    return max(one.last for one in (stored, total) if one)


def _figures(totals: Sequence[CallTotals]) -> Html:
    """Draw the three most important numbers, or say why there are none."""
    full = sum(total.tokens_full for total in totals)
    if not full:
        return remark(NO_CALLS)
    sent = sum(total.tokens_sent for total in totals)
    calls = sum(total.calls for total in totals)
    spent = sum(total.tokens_spent for total in totals)
    figures = [
        (f"{sent:,}", f"tokens sent, in {calls:,} model calls"),
        (f"{full - sent:,}", f"tokens avoided, of {full:,}"),
        (f"{1 - sent / full:.0%}", "less than with every text in full"),
    ]
    if spent:
        figures.append((f"{spent:,}", "tokens that decisions cost"))
    boxes = [tag("div", tag("b", number), tag("span", label)) for number, label in figures]
    return tag("div", *boxes, cls="figures")


def _days(visit: Visit) -> Html:
    """Draw the tokens per day, for the last days with model calls."""
    records = visit.memory.calls(kind="model", limit=CHARTED, prompts=False)
    sent = Counter[str]()
    full = Counter[str]()
    for call in reversed(records.model_calls):
        day = f"{call.at.astimezone():%Y-%m-%d}"
        sent[day] += call.tokens_sent
        full[day] += call.tokens_full
    newest = list(sent)[-DAYS:]
    # A line needs two points.
    if len(newest) < 2:
        return Html("")
    points = [(sent[day], full[day]) for day in newest]
    across = f"days with model calls, {newest[0]} to {newest[-1]}"
    return _chart("Tokens per day", points, across)


def _chart(title: str, points: Sequence[Sequence[int]], across: str) -> Html:
    """Draw two lines: the tokens that were sent, and those with every text in full, at each of *points*."""
    sent, full = zip(*points, strict=True)
    lines = [(IN_FULL, full), (SENT, sent)]
    drawn = line_chart(lines, title, across)
    caption = tag(
        "figcaption",
        f"{title}: ",
        tag("span", "━ sent", cls="sent"),
        ", ",
        tag("span", "─ with every text in full", cls="full"),
    )
    return tag("figure", caption, drawn)


def _thread_row(
    visit: Visit, name: str, stored: ThreadSummary | None, total: CallTotals | None
) -> list[str]:
    numbers = ["", "", ""]
    avoided = ""
    if total:
        numbers = [f"{total.calls:,}", f"{total.tokens_sent:,}", f"{total.tokens_full:,}"]
        avoided = _share(total.tokens_full, total.tokens_sent)
    memories = ""
    if stored:
        memories = f"{stored.memories:,}"
    link = soft("no conversation")
    if name:
        link = visit.link(name, "thread", id=name)
    return [link, *numbers, avoided, memories, when(_last(stored, total))]


def _share(full: int, sent: int) -> Html:
    """Draw the share of the tokens that was not sent."""
    if sent >= full:
        return soft("none")
    part = (full - sent) / full
    return tag("span", bar(part), f" {part:.0%}", cls="share")


def timeline(visit: Visit) -> Html:
    """Draw one conversation: the sizes of its prompts, and each call and decision, the newest first."""
    thread = visit.word("id")
    records = visit.memory.calls(thread_id=thread, limit=CHARTED, prompts=False)
    title = tag("h1", "Conversation ", tag("code", thread))
    link = visit.link("what it has stored", "memories", thread=thread)
    parts = [title, tag("p", link)]
    if not records:
        return joined(*parts, remark(NO_CALLS))
    points = [(call.tokens_sent, call.tokens_full) for call in reversed(records.model_calls)]
    if len(points) > 1:
        parts.append(_chart("Tokens per call", points, "number of the call"))
    start = visit.start
    shown = records[start : start + ROWS]
    rows = [_record_row(visit, thread, record) for record in shown]
    columns = ("at", "sent", "in full", "avoided", "what happened")
    parts.append(listing(columns, rows, (1, 2)))
    return joined(*parts, visit.pages(len(rows), ROWS, len(records), id=thread))


def _record_row(visit: Visit, thread: str, record: CallRecord) -> list[str]:
    what = record.what
    happened = what_happened(what, visit.keys)
    if isinstance(what, Decision):
        return [when(what.at), "", "", "", happened]
    return [
        visit.link(when(what.at), "call", id=thread, at=what.at.isoformat()),
        f"{what.tokens_sent:,}",
        f"{what.tokens_full:,}",
        _share(what.tokens_full, what.tokens_sent),
        happened,
    ]


def one_call(visit: Visit) -> Html:
    """Draw a model call: what was folded and brought back before it, and why; what was out of sight; and its prompt.

    Raises:
        InvalidArgumentError: The address holds no valid moment.
        MemoryNotFoundError: No such call is kept.
    """
    thread = visit.word("id")
    at, until = _moment_and_next(visit.word("at"))
    records = visit.memory.calls(thread_id=thread, until=until, limit=CHARTED, prompts=False)
    models = records.model_calls
    if not models or models[0].at != at:
        raise MemoryNotFoundError(f"no call of {thread!r:.80} at {at} is kept")
    call, *earlier = models
    decisions = [one.what for one in records if isinstance(one.what, Decision)]
    if earlier:
        decisions = [one for one in decisions if one.at > earlier[0].at]
    # The number is unknown if there are more records than were read.
    number = ""
    if len(records) < CHARTED:
        number = f"{len(models):,}"
    head = tag("h1", f"Call {number} of ", visit.link(thread, "thread", id=thread))
    sizes = tag(
        "p",
        when(call.at),
        f" · {call.messages:,} messages · {call.tokens_sent:,} tokens sent of {call.tokens_full:,} · ",
        _share(call.tokens_full, call.tokens_sent),
    )
    recorded = visit.memory.calls(thread_id=thread, kind="model", since=at, until=until, limit=1)
    # A prompt is "" if prompts were not recorded.
    prompt = next((one.prompt for one in recorded.model_calls), "")
    messages = from_lines(prompt) if prompt else []
    known = set(referenced_keys(*_texts_of(messages)))
    previews = _previews(messages, known)
    parts = [
        head,
        sizes,
        *_texts(visit, "Folded before it", call.folded, previews),
        *_texts(visit, "Brought back", call.recalled),
        *_texts(visit, "Compacted before it", call.compacted, previews),
    ]
    if decisions:
        lines = [tag("div", what_happened(one, visit.keys)) for one in reversed(decisions)]
        parts += [tag("h2", "Decided before it"), *lines]
    folded_so_far = set[str]()
    for one in models:
        folded_so_far.update(one.folded, one.compacted)
    hidden = sorted(folded_so_far.difference(call.recalled))
    if hidden:
        parts.append(tag("h2", "Behind references, out of sight"))
        parts.append(tag("p", visit.keys(hidden)))
    parts.append(tag("h2", "The prompt"))
    parts.append(_prompt(visit, prompt, messages, known))
    return joined(*parts)


def _texts_of(messages: Sequence[Message]) -> list[str]:
    return [text for one in messages for text in one.texts.values()]


def _previews(messages: Sequence[Message], known: AbstractSet[str]) -> dict[str, str]:
    """Return the preview below each of the *known* references in a prompt, by key: the first one if there are several."""
    previews = dict[str, str]()
    for text in _texts_of(messages):
        for part in split_at_references(text, known):
            if part.ref:
                previews.setdefault(part.ref.key, part.text)
    return previews


def _texts(
    visit: Visit, title: str, keys: Sequence[str], previews: Mapping[str, str] = {}
) -> list[Html]:
    """Draw the texts behind keys, folded, with the preview that the model saw beside each, if that is known."""
    if not keys:
        return []
    parts = [tag("h2", title)]
    for key in keys:
        item = visit.memory.memory_store.get(visit.memory.scope, key)
        if not item:
            parts.append(tag("div", visit.key(key), soft(" is deleted")))
            continue
        size = soft(f"· {item.token_count:,} tokens")
        head = joined(visit.key(key), f" {item.summary} ", size)
        drawn = content_of(item)
        if key in previews:
            preview = tag("div", soft("what the model sees"), tag("pre", previews[key]))
            stored = tag("div", soft("what is stored"), drawn)
            drawn = tag("div", preview, stored, cls="prompt")
        parts.append(folded(head, drawn))
    return parts


def _prompt(
    visit: Visit, prompt: str, messages: Sequence[Message], known: AbstractSet[str]
) -> Html:
    """Draw the messages that were sent, or say how to record them."""
    if not messages:
        return remark(
            "It was not recorded. FoldPolicy(record_prompts=True) keeps the exact messages of each call."
        )
    entries = entries_of(messages, visit.memory.counter.count)
    view = Transcript("", (), tuple(entries), stored_behind(messages, known))
    lines = map(json.loads, prompt.split("\n"))
    indented = [json.dumps(line, ensure_ascii=False, indent=1) for line in lines]
    exact = tag("pre", "\n".join(indented))
    return joined(conversation(view), folded("as it was kept", exact))


def _moment_and_next(text: str) -> tuple[datetime, datetime]:
    """Parse a moment, and return it and the next one that a database can distinguish from it.

    Raises:
        InvalidArgumentError: *text* is not a moment.
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment, moment + timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise InvalidArgumentError(
            f"{text!r:.80} is not a moment such as 2026-01-31T12:00:00+00:00"
        ) from None
