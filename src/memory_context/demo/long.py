"""The long scenario on the screen: a bar while the team works, then a chart and what it came to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from rich.console import Console
from rich.progress import Progress

from memory_context.demo.chart import chart
from memory_context.demo.team import LIMIT, TeamRun, new_run, work
from memory_context.demo.worker import NAMES
from memory_context.display import facts
from memory_context.model.scope import Scope
from memory_context.stores import SQLAlchemyStore
from memory_context.text.tokens.counter import default_counter

WINDOW = 128_000


def run_long(store: SQLAlchemyStore, user_id: str, turns: int, console: Console) -> bool:
    """Let a team work for `turns` turns; show what was sent and what would have been. Whether it was interrupted."""
    run = new_run(store, user_id)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(f"{len(NAMES)} agents take {turns} turns", total=turns)
        asyncio.run(work(run, turns, lambda: progress.advance(bar)))
    if run.calls:
        for line in chart(run.calls, console.width):
            console.print(line, no_wrap=True, overflow="crop")
        console.print()
        console.print(facts([*_work(run, turns), *_tokens(run), *_memory(run)]))
    console.print(
        f"database: {store.url or 'in memory'}; {store.count(Scope(user_id)):,} memories",
        soft_wrap=True,
    )
    return run.stopped


def _work(run: TeamRun, turns: int) -> Iterator[tuple[str, str]]:
    done = (
        f"{run.turns}, then interrupted ({turns} were planned)" if run.stopped else f"{run.turns}"
    )
    yield (
        "turns",
        f"{done}, taken by {', '.join(NAMES)}; {len(run.calls)} calls of the model, {run.seconds:.1f} seconds",
    )


def _tokens(run: TeamRun) -> Iterator[tuple[str, str]]:
    sent, without = [call.sent for call in run.calls], [call.without or 0 for call in run.calls]
    yield (
        "tokens",
        f"{sum(sent):,} sent instead of {sum(without):,}: {sum(sent) / sum(without):.1%}",
    )
    yield "largest", f"{max(sent):,} tokens in one prompt instead of {max(without):,}"
    largest = max(call.conversation for call in run.calls)
    yield (
        "limit",
        f"{LIMIT:,} tokens of messages, {largest:,} at most; the system message and the tools come on top",
    )
    above = next((number for number, tokens in enumerate(without, 1) if tokens > WINDOW), None)
    if above:
        yield (
            "window",
            f"without memory-context, call {above} would be the first above {WINDOW:,} tokens",
        )


def _memory(run: TeamRun) -> Iterator[tuple[str, str]]:
    stats, kept = run.stats(), sum(call.kept for call in run.calls)
    yield (
        "folded",
        f"{stats.folds} texts of {stats.tokens_folded:,} tokens, shown in {stats.tokens_shown:,}",
    )
    yield (
        "recalled",
        f"{stats.recalls} texts, shown in {stats.tokens_recalled:,} tokens{_example(run)}",
    )
    yield (
        "compacted",
        f"{stats.compactions} times, {stats.tokens_compacted:,} tokens; late folds: {stats.late_folds}",
    )
    yield (
        "prefix",
        f"kept by {kept} of {len(run.calls)} prompts: they begin with the whole prompt before them",
    )
    if stats.store_failures:
        yield "failed", f"the store, {stats.store_failures} times; those texts stayed in the prompt"
    yield "counted", f"by {default_counter().name}: messages and the descriptions of tools"


def _example(run: TeamRun) -> str:
    return "".join(
        f'; for "{one.asked}" {one.opened[0]}: {one.why.partition(";")[0]}'
        for one in run.answered()[-1:]
    )
