"""What was decided, done and put together: decisions, stats and packages as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from memory_context.conversation.fold import ContextStats
from memory_context.conversation.judge import Decision
from memory_context.display.html import Html, bar, folded, joined, soft, table, tag
from memory_context.memory.context_package import ContextPackage, PackageEntry

SHOWN = 50
ASKED = 120
STATS = {
    "messages": "messages",
    "folds": "texts replaced by a reference",
    "tokens_folded": "their tokens",
    "tokens_shown": "tokens of references and previews",
    "recalls": "texts brought back",
    "tokens_recalled": "their tokens",
    "late_folds": "late folds",
    "compactions": "compactions",
    "tokens_compacted": "tokens that left the prompt by them",
    "store_failures": "failures of the store",
}


def decisions(made: Sequence[Decision]) -> Html:
    """What was decided for each message; the newest last."""
    if not made:
        return soft("no decisions yet")
    columns = ("message", "judge", "brought back", "looked for", "why", "tokens", "seconds")
    return joined((*_earlier(made), table(columns, map(_decision, made[-SHOWN:]), (5, 6))))


def _earlier(made: Sequence[Decision]) -> Iterator[Html]:
    if len(made) > SHOWN:
        yield soft(f"⋯ {len(made) - SHOWN:,} earlier ones")


def _decision(one: Decision) -> Iterator[str]:
    keys = one.opened or one.found
    yield one.asked if len(one.asked) <= ASKED else f"{one.asked[:ASKED]}…"
    yield one.judge
    yield (
        joined(part for key in keys for part in (tag("code", key, cls="key"), " "))
        if keys
        else soft("nothing")
    )
    yield one.searched or ""
    yield one.why
    yield f"{one.tokens:,}"
    yield f"{one.seconds:.1f}"


def decisions_text(made: Sequence[Decision]) -> str:
    """Decisions in a terminal: a line for each."""
    return "\n".join(map(_decision_text, made[-SHOWN:])) or "no decisions yet"


def _decision_text(one: Decision) -> str:
    asked, keys = " ".join(one.asked.split())[:ASKED], ", ".join(one.opened or one.found)
    return f"{asked} -> {keys or 'nothing'} ({one.judge}: {one.why})"


def stats(done: ContextStats) -> Html:
    """What a context has done, and a bar for what is left of what was folded."""
    rows = [(name, f"{value:,}") for name, value in _stats(done)]
    rows.append(
        ("tokens that every later prompt is smaller by", tag("b", f"{done.tokens_saved:,}"))
    )
    share = (
        (done.tokens_shown + done.tokens_recalled) / done.tokens_folded
        if done.tokens_folded
        else 0.0
    )
    said = f"{share:.1%} of the folded tokens still stand in the prompt"
    note = tag("div", bar(share, 1 - share), " ", soft(said)) if done.tokens_folded else joined(())
    return joined((table(("", ""), rows, (1,)), note))


def _stats(done: ContextStats) -> Iterator[tuple[str, int]]:
    """The figures; those of rare events only where there were some."""
    known = {field.name for field in fields(done)}
    rare = {"late_folds", "compactions", "tokens_compacted", "store_failures"}
    for name, label in STATS.items():
        value: int = getattr(done, name) if name in known else 0
        if value or name not in rare:
            yield label, value


def stats_text(done: ContextStats) -> str:
    """The figures in a terminal."""
    rows = [*_stats(done), ("tokens that every later prompt is smaller by", done.tokens_saved)]
    return "\n".join(f"{value:>12,}  {name}" for name, value in rows)


def package(made: ContextPackage) -> Html:
    """A package: its budget, what each tier got of it, what went in and what did not."""
    head = tag("div", tag("b", "ContextPackage"), soft(f" for: {made.task[:ASKED]}"), cls="head")
    used = tag(
        "div",
        bar(made.tokens / max(made.budget, 1), 1.0),
        f" {made.tokens:,} of {made.budget:,} tokens, ",
    )
    total = soft(
        f"{made.compression_ratio:.0%} of the {made.all_tokens:,} tokens that the tiers hold"
    )
    return joined((head, used, total, _tiers(made), *map(_entry, made.entries), *_left_out(made)))


def _tiers(made: ContextPackage) -> Html:
    whole = sum(made.allocation.values()) or 1
    taken = made.tokens_by_tier
    rows = [
        (
            tier,
            f"{part / whole:.0%}",
            f"{taken[tier]:,}",
            bar(taken[tier] / max(made.budget, 1)),
            *_counts(made, tier),
        )
        for tier, part in made.allocation.items()
    ]
    return table(
        ("tier", "share", "tokens", "", "in", "left out", "not looked at"), rows, (1, 2, 4, 5, 6)
    )


def _counts(made: ContextPackage, tier: str) -> tuple[str, str, str]:
    shown = sum(entry.tier == tier for entry in made.entries)
    left = sum(one.tier == tier for one in made.left_out)
    return f"{shown:,}", f"{left:,}", f"{made.unranked.get(tier, 0):,}"


def _entry(entry: PackageEntry) -> Html:
    key = tag("code", entry.item.memory_key, cls="key")
    title = joined(
        (
            key,
            f" {entry.item.summary} ",
            soft(f"· {entry.tier}, {entry.form}, {entry.tokens:,} tokens"),
        )
    )
    return folded(title, tag("pre", entry.text))


def _left_out(made: ContextPackage) -> Iterator[Html]:
    if made.left_out:
        rows = (
            (f"{one.rank:,}", one.tier, one.key, f"{one.tokens:,}", one.reason)
            for one in made.left_out[:SHOWN]
        )
        yield folded(
            f"{len(made.left_out):,} left out",
            table(("rank", "tier", "key", "tokens", "why"), rows, (0, 3)),
        )


def package_text(made: ContextPackage) -> str:
    """A package in a terminal: its figures, and its text."""
    tiers = ", ".join(f"{tier} {tokens:,}" for tier, tokens in made.tokens_by_tier.items())
    figures = (
        f"{made.tokens:,} of {made.budget:,} tokens ({tiers}), {len(made.left_out):,} left out"
    )
    return f"ContextPackage: {figures}\n{made.text}"
