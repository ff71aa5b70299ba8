"""Draw decisions, model calls, a context's stats, query results and an assembler's packages as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from memory_context.conversation.context_stats import ContextStats
from memory_context.display.escaped_html import (
    Html,
    and_more,
    bar,
    folded,
    joined,
    key_name,
    soft,
    table,
    tag,
)
from memory_context.display.rows_and_json_trees import rows_of
from memory_context.memory.package_text_and_what_was_used import ContextPackage
from memory_context.model.call_log_records import CallRecord, CallTotals, Decision, ModelCall
from memory_context.model.query_result import QueryResult
from memory_context.text.rows.text_table import TextTable

SHOWN = 50
ASKED = 120  # characters
STATS = {
    "messages": "messages",
    "folds": "texts replaced by a reference",
    "tokens_folded": "their tokens",
    "tokens_shown": "tokens of references and previews",
    "asked_again": "texts read again as soon as they were folded",
    "recalls": "texts brought back",
    "tokens_recalled": "their tokens",
    "asks": "questions that a light model answered",
    "tokens_asked": "tokens that these cost",
    "tokens_noted": "tokens of notes in prompts",
    "late_folds": "late folds",
    "compactions": "compactions",
    "tokens_compacted": "tokens that they took out of the prompt",
    "store_failures": "failures of the store",
}
# These are drawn even if they are 0. Not `messages`: a middleware, which is given all messages with each call, counts none.
ALWAYS = frozenset({"folds", "tokens_folded", "tokens_shown", "recalls", "tokens_recalled"})
SAVED = "tokens that every later prompt is smaller by"


def decisions(made: Sequence[Decision]) -> Html:
    """Draw the decision for each message, the newest last."""
    if not made:
        return soft("no decisions yet")
    columns = ("message", "judge", "brought back", "looked for", "why", "tokens", "seconds")
    rows = [_decision(decision) for decision in made[-SHOWN:]]
    drawn = table(columns, rows, (5, 6))
    earlier = len(made) - SHOWN
    if earlier > 0:
        return joined(soft(f"⋯ {earlier:,} earlier ones"), drawn)
    return drawn


def _decision(decision: Decision) -> list[str]:
    asked = decision.asked
    if len(asked) > ASKED:
        asked = f"{asked[:ASKED]}…"
    return [
        asked,
        decision.judge,
        _keys((*decision.opened, *decision.found)) or soft("nothing"),
        decision.searched or "",
        decision.why,
        f"{decision.tokens:,}",
        f"{decision.seconds:.1f}",
    ]


def _keys(keys: Sequence[str]) -> Html:
    """Draw the keys of memories."""
    return Html(", ".join(map(key_name, keys)))


def what_happened(what: ModelCall | Decision, draw_keys: Callable[[Sequence[str]], Html]) -> Html:
    """Draw what changed before a model call; or which judge opened which memories, and why."""
    if isinstance(what, ModelCall):
        changes = [tag("div", soft(f"{verb} "), draw_keys(keys)) for verb, keys in what.changes()]
        return joined(*changes) or soft("nothing new")
    opened = draw_keys((*what.opened, *what.found)) or soft("nothing")
    cost = f" · {what.tokens:,} tokens" if what.tokens else ""
    return joined(what.judge, soft(" opened "), opened, f": {what.why}", soft(cost))


def stats(done: ContextStats) -> Html:
    """Draw the figures of a context, and a bar for the share of the folded tokens that is still in the prompt."""
    rows = list[tuple[str, str]]()
    for name, label in STATS.items():
        value: int = getattr(done, name)
        if value or name in ALWAYS:
            rows.append((label, f"{value:,}"))
    for kind, count in done.redacted.items():
        rows.append((f"redacted {kind}", f"{count:,}"))
    rows.append((SAVED, tag("b", f"{done.tokens_saved:,}")))
    kept = done.kept
    if kept:
        label = f"tokens avoided in the {kept.calls:,} model calls that are kept"
        rows.append((label, f"{kept.tokens_avoided:,} of {kept.tokens_full:,}"))
    drawn = table(("", ""), rows, (1,))
    if not done.tokens_folded:
        return drawn
    share = (done.tokens_shown + done.tokens_recalled) / done.tokens_folded
    caption = f"{share:.1%} of the folded tokens still stand in the prompt"
    return joined(drawn, tag("div", bar(share), " ", soft(caption)))


def calls(kept: Sequence[CallRecord]) -> Html:
    """Draw model calls and decisions, the newest first."""
    if not kept:
        return soft("no calls are kept")
    columns = ("at", "conversation", "sent", "in full", "what happened")
    rows = [_call(record) for record in kept[:SHOWN]]
    return and_more(table(columns, rows, (2, 3)), len(kept) - SHOWN)


def _call(record: CallRecord) -> list[str]:
    what = record.what
    thread = record.thread_id or ""
    at = f"{what.at.astimezone():%Y-%m-%d %H:%M:%S}"
    sizes = ["", ""]
    if isinstance(what, ModelCall):
        sizes = [f"{what.tokens_sent:,}", f"{what.tokens_full:,}"]
    return [at, thread, *sizes, what_happened(what, _keys)]


def call_totals(kept: Sequence[CallTotals]) -> Html:
    """Draw the sums of each conversation's calls, with a bar for the share of tokens that was not sent."""
    if not kept:
        return soft("no calls are kept")
    columns = ("conversation", "calls", "sent", "in full", "avoided", "")
    rows = [_totals(one) for one in kept[:SHOWN]]
    return and_more(table(columns, rows, (1, 2, 3, 5)), len(kept) - SHOWN)


def _totals(one: CallTotals) -> list[str]:
    # It would be below 0 if what was added, such as recalled texts, had more tokens than what was left out.
    share = max(one.tokens_avoided / max(one.tokens_full, 1), 0)
    return [
        one.thread_id or "",
        f"{one.calls:,}",
        f"{one.tokens_sent:,}",
        f"{one.tokens_full:,}",
        bar(share),
        f"{share:.0%}",
    ]


def answer(result: QueryResult) -> Html:
    """Draw the first rows of a query's result."""
    found = TextTable(result.columns, lambda: map(list, result.rows), "the answer")
    return rows_of(found)


def package(made: ContextPackage) -> Html:
    """Draw a package: its budget, each tier's part of it, and the memories that were included or left out."""
    task = soft(f" for: {made.task[:ASKED]}")
    head = tag("div", tag("b", "ContextPackage"), task, cls="head")
    share = bar(made.tokens / max(made.budget, 1))
    ratio = f"{made.compression_ratio:.0%} of the {made.all_tokens:,} tokens that the tiers hold"
    used = tag("div", share, f" {made.tokens:,} of {made.budget:,} tokens, ", soft(ratio))
    parts = [head, used, _tiers(made)]
    for entry in made.entries:
        item = entry.item
        size = soft(f"· {entry.tier}, {entry.form}, {entry.tokens:,} tokens")
        title = joined(key_name(item.memory_key), f" {item.summary} ", size)
        parts.append(folded(title, tag("pre", entry.text)))
    if made.left_out:
        columns = ("rank", "tier", "key", "tokens", "why")
        rows = [
            (f"{one.rank:,}", one.tier, one.key, f"{one.tokens:,}", one.reason)
            for one in made.left_out[:SHOWN]
        ]
        drawn = and_more(table(columns, rows, (0, 3)), len(made.left_out) - SHOWN)
        parts.append(folded(f"{len(made.left_out):,} left out", drawn))
    return joined(*parts)


def _tiers(made: ContextPackage) -> Html:
    """Draw each tier's share of the budget, the tokens that it used, and how many memories were included or not."""
    total_shares = sum(made.allocation.values()) or 1
    included = Counter(entry.tier for entry in made.entries)
    left_out = Counter(omitted.tier for omitted in made.left_out)
    rows = list[list[str]]()
    for tier, used in made.tokens_by_tier.items():
        share = made.allocation[tier] / total_shares
        row = [
            tier,
            f"{share:.0%}",
            f"{used:,}",
            bar(used / max(made.budget, 1)),
            f"{included[tier]:,}",
            f"{left_out[tier]:,}",
            f"{made.unranked.get(tier, 0):,}",
        ]
        rows.append(row)
    columns = ("tier", "share", "tokens", "", "in", "left out", "not looked at")
    return table(columns, rows, (1, 2, 4, 5, 6))
