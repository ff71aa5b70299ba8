"""Conversations: all of them, one as a timeline, and one model call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from memory_context.conversation.message import Message, from_lines
from memory_context.conversation.transcript_entries import entries_of, stored_behind
from memory_context.display.drawn_contents import content_of
from memory_context.display.drawn_conversation import conversation, split_at_references
from memory_context.display.escaped_html import Html, bar, folded, joined, soft, tag
from memory_context.display.line_charts import Mark, line_chart
from memory_context.exceptions import InvalidArgumentError, MemoryNotFoundError
from memory_context.model.call_records import CallRecord, CallTotals, Decision, ModelCall
from memory_context.model.reference import MemoryRef
from memory_context.model.transcript import Transcript
from memory_context.stores.sql.catalog import Catalog, ThreadSummary
from memory_context.ui.visit_and_page_parts import Visit, listing, when

ROWS = 100
# A chart and its days are made of so many of the newest calls.
CHARTED = 5000
DAYS = 30
SENT = Mark(1, "sent", is_ours=True)
IN_FULL = Mark(8, "with every text in full")
NO_CALLS = (
    "No model calls are kept. They are for 30 days, in the store, "
    "once an agent runs with this version on it."
)


def overview(visit: Visit) -> Html:
    """Draw what was sent and avoided, and a table of conversations."""
    totals = visit.memory.call_totals()
    catalog = Catalog(visit.memory.memory_store)
    stored = {one.thread_id: one for one in catalog.threads(visit.memory.scope, limit=100_000)}
    sent_in = {total.thread_id or "": total for total in totals}
    threads = sorted(
        {*stored, *sent_in},
        key=lambda name: _last(stored.get(name), sent_in.get(name)),
        reverse=True,
    )
    start = visit.number("from")
    shown = threads[start : start + ROWS]
    rows = [_thread_row(visit, name, stored.get(name), sent_in.get(name)) for name in shown]
    columns = ("conversation", "calls", "sent", "in full", "avoided", "memories", "last")
    listed = listing(columns, rows, (1, 2, 3, 5)) if rows else soft("no conversations yet")
    parts = [tag("h1", "Conversations"), _figures(totals), _days(visit), listed]
    return joined((*parts, visit.pages(len(rows), ROWS, len(threads))))


def _last(stored: ThreadSummary | None, total: CallTotals | None) -> datetime:
    return max(one.last for one in (stored, total) if one)


def _figures(totals: Sequence[CallTotals]) -> Html:
    """Draw the three numbers that matter; where there are none, say why."""
    full = sum(total.tokens_full for total in totals)
    if not full:
        return tag("p", NO_CALLS, cls="soft")
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
    boxes = [tag("div", tag("b", number), tag("span", said)) for number, said in figures]
    return tag("div", *boxes, cls="figures")


def _days(visit: Visit) -> Html:
    """Draw the tokens of each of the last days on which models were asked."""
    records = visit.memory.calls(kind="model", limit=CHARTED, prompts=False)
    days = dict[str, list[int]]()
    for call in reversed(records.model_calls):
        day = days.setdefault(f"{call.at.astimezone():%Y-%m-%d}", [0, 0])
        day[0] += call.tokens_sent
        day[1] += call.tokens_full
    newest = list(days)[-DAYS:]
    if len(newest) < 2:
        return Html("")
    across = f"days with model calls, {newest[0]} to {newest[-1]}"
    return _chart("Tokens per day", [days[day] for day in newest], across)


def _chart(title: str, points: Sequence[Sequence[int]], across: str) -> Html:
    """Draw two lines: the tokens that were sent, and those with every text in full, at each of *points*."""
    sent, full = zip(*points, strict=True)
    drawn = line_chart([(IN_FULL, full), (SENT, sent)], title, across)
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
    memories = f"{stored.memories:,}" if stored else ""
    link = visit.link(name, "thread", id=name) if name else soft("no conversation")
    return [link, *numbers, avoided, memories, when(_last(stored, total))]


def _share(full: int, sent: int) -> Html:
    """Draw how much was not sent."""
    if sent >= full:
        return soft("none")
    part = (full - sent) / full
    return tag("span", bar(part), f" {part:.0%}", cls="share")


def timeline(visit: Visit) -> Html:
    """Draw one conversation: its prompts' sizes, and each call and decision, the newest first."""
    thread = visit.word("id")
    records = visit.memory.calls(thread_id=thread, limit=CHARTED, prompts=False)
    points = [(call.tokens_sent, call.tokens_full) for call in reversed(records.model_calls)]
    parts = [
        tag("h1", "Conversation ", tag("code", thread)),
        tag("p", visit.link("what it has stored", "memories", thread=thread)),
    ]
    if not records:
        return joined((*parts, tag("p", NO_CALLS, cls="soft")))
    if len(points) > 1:
        parts.append(_chart("Tokens per call", points, "number of the call"))
    start = visit.number("from")
    shown = records[start : start + ROWS]
    rows = [_record_row(visit, thread, record) for record in shown]
    columns = ("at", "sent", "in full", "avoided", "what happened")
    parts.append(listing(columns, rows, (1, 2)))
    return joined((*parts, visit.pages(len(rows), ROWS, len(records), id=thread)))


def _record_row(visit: Visit, thread: str, record: CallRecord) -> list[str]:
    what = record.what
    if isinstance(what, Decision):
        return [when(what.at), "", "", "", _decision(visit, what)]
    moment = tag("a", when(what.at), href=visit.address("call", id=thread, at=what.at.isoformat()))
    sent = f"{what.tokens_sent:,}"
    full = f"{what.tokens_full:,}"
    return [moment, sent, full, _share(what.tokens_full, what.tokens_sent), _changes(visit, what)]


def _changes(visit: Visit, call: ModelCall) -> Html:
    """Draw what changed before a call: lists of keys."""
    lines = [tag("div", soft(f"{verb} "), visit.keys(keys)) for verb, keys in call.changes()]
    return joined(lines) if lines else soft("nothing new")


def _decision(visit: Visit, decision: Decision) -> Html:
    """Draw who opened what, and why."""
    keys = (*decision.opened, *decision.found)
    opened = visit.keys(keys) if keys else soft("nothing")
    cost = soft(f" · {decision.tokens:,} tokens") if decision.tokens else ""
    return joined((decision.judge, soft(" opened "), opened, f": {decision.why}", cost))


def one_call(visit: Visit) -> Html:
    """Draw a model call: what changed before it, what came back and why, what was out of sight, and its prompt.

    Raises:
        InvalidArgumentError: The address has no such moment.
        MemoryNotFoundError: No such call is kept.
    """
    thread = visit.word("id")
    at, until = _moment_and_next(visit.word("at"))
    records = visit.memory.calls(thread_id=thread, until=until, limit=CHARTED, prompts=False)
    models = records.model_calls
    if not models or models[0].at != at:
        raise MemoryNotFoundError(f"no call of {thread!r:.80} at {at} is kept")
    call = models[0]
    earlier = models[1:]
    since = earlier[0].at if earlier else None
    decisions = [
        one.what
        for one in records
        if isinstance(one.what, Decision) and (since is None or one.what.at > since)
    ]
    number = f"{len(models):,}" if len(records) < CHARTED else ""
    head = tag("h1", f"Call {number} of ", visit.link(thread, "thread", id=thread))
    sizes = tag(
        "p",
        when(call.at),
        f" · {call.messages:,} messages · {call.tokens_sent:,} tokens sent of {call.tokens_full:,} · ",
        _share(call.tokens_full, call.tokens_sent),
    )
    prompt = _prompt_of(visit, thread, at, until)
    messages = from_lines(prompt) if prompt else []
    known = {ref.key for text in _texts_of(messages) for ref in MemoryRef.find_all(text)}
    seen = _previews(messages, known)
    parts = [
        head,
        sizes,
        *_texts(visit, "Folded before it", call.folded, seen),
        *_texts(visit, "Brought back", call.recalled),
        *_texts(visit, "Compacted before it", call.compacted, seen),
    ]
    if decisions:
        lines = [tag("div", _decision(visit, one)) for one in reversed(decisions)]
        parts += [tag("h2", "Decided before it"), *lines]
    out = _behind_references(call, earlier)
    if out:
        parts += [tag("h2", "Behind references, out of sight"), tag("p", visit.keys(out))]
    return joined((*parts, tag("h2", "The prompt"), _prompt(visit, prompt, messages, known)))


def _prompt_of(visit: Visit, thread: str, at: datetime, until: datetime) -> str:
    """Return the prompt of a call as it was kept; nothing where it was not recorded."""
    records = visit.memory.calls(thread_id=thread, kind="model", since=at, until=until, limit=1)
    return next((call.prompt for call in records.model_calls), "")


def _behind_references(call: ModelCall, earlier: Iterable[ModelCall]) -> list[str]:
    """Return the keys that were folded by then, and of which this call got nothing back."""
    hidden = {key for one in (call, *earlier) for key in (*one.folded, *one.compacted)}
    return sorted(hidden - {*call.recalled})


def _texts_of(messages: Sequence[Message]) -> list[str]:
    return [text for one in messages for text in one.texts.values()]


def _previews(messages: Sequence[Message], known: AbstractSet[str]) -> dict[str, str]:
    """Return what stands in a prompt below each of the *known* references, by key; of several the first."""
    previews = dict[str, str]()
    for text in _texts_of(messages):
        for part in split_at_references(text, known):
            if part.ref:
                previews.setdefault(part.ref.key, part.text)
    return previews


def _texts(
    visit: Visit, title: str, keys: Sequence[str], seen: Mapping[str, str] | None = None
) -> list[Html]:
    """Draw the texts behind keys, each to be opened; beside it what the model saw of it, where that is known."""
    parts = list[Html]()
    for key in keys:
        item = visit.memory.memory_store.get(visit.memory.scope, key)
        if item is None:
            parts.append(tag("div", visit.key(key), soft(" is deleted")))
            continue
        head = joined((visit.key(key), f" {item.summary} ", soft(f"· {item.token_count:,} tokens")))
        stored = content_of(item)
        if seen and key in seen:
            left = tag("div", soft("what the model sees"), tag("pre", seen[key]))
            stored = tag("div", left, tag("div", soft("what is stored"), stored), cls="prompt")
        parts.append(folded(head, stored))
    return [tag("h2", title), *parts] if parts else []


def _prompt(
    visit: Visit, prompt: str, messages: Sequence[Message], known: AbstractSet[str]
) -> Html:
    """Draw the messages that were sent, where they are kept."""
    if not messages:
        said = "It was not recorded. FoldPolicy(record_prompts=True) keeps the exact messages of each call."
        return tag("p", said, cls="soft")
    count = visit.memory.counter.count
    view = Transcript("", (), tuple(entries_of(messages, count)), stored_behind(messages, known))
    lines = map(json.loads, prompt.split("\n"))
    exact = [json.dumps(line, ensure_ascii=False, indent=1) for line in lines]
    return joined((conversation(view), folded("as it was kept", tag("pre", "\n".join(exact)))))


def _moment_and_next(text: str) -> tuple[datetime, datetime]:
    """Read a moment, and return it with the next one that a database can tell from it.

    Raises:
        InvalidArgumentError: It is none.
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment, moment + timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise InvalidArgumentError(
            f"{text!r:.80} is not a moment such as 2026-01-31T12:00:00+00:00"
        ) from None
