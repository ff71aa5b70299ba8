"""The long scenario on the screen: a bar while the team works, then a chart and what it came to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from rich.console import Console
from rich.progress import Progress

from memory_context._scopes import Scope
from memory_context._tokens import default_counter
from memory_context.demo._chart import chart
from memory_context.demo._team import LIMIT, TeamRun, new_run, work
from memory_context.demo._worker import NAMES
from memory_context.stores import SQLAlchemyStore

WINDOW = 128_000


def run_long(store: SQLAlchemyStore, user_id: str, turns: int, console: Console) -> None:
    """Let a team work for `turns` turns, and show what was sent and what would have been.

    Raises:
        KeyboardInterrupt: It was interrupted; what is done so far has been shown.
    """
    run = new_run(store, user_id)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(f"{len(NAMES)} agents take {turns} turns", total=turns)
        asyncio.run(work(run, turns, lambda: progress.advance(bar)))
    for line in chart(run.calls, console.width):
        console.print(line, no_wrap=True, overflow="crop")
    console.print()
    for sentence in _summary(run, turns):
        console.print(sentence)
    count = store.count(Scope(user_id))
    console.print(f"Database: {store.url or 'in memory'}, {count:,} memories.", soft_wrap=True)
    if run.stopped:
        raise KeyboardInterrupt


def _summary(run: TeamRun, turns: int) -> Iterator[str]:
    if run.stopped:
        yield f"Interrupted after {run.turns} of {turns} turns."
    yield f"Turns: {run.turns} of {', '.join(NAMES)}; {len(run.calls)} calls of the model in {run.seconds:.1f} seconds."
    yield from _tokens(run)
    yield from _memory(run)
    yield f"Counted by {default_counter().name}: messages and the descriptions of tools."


def _tokens(run: TeamRun) -> Iterator[str]:
    sent, without = [call.sent for call in run.calls], [call.without or 0 for call in run.calls]
    yield f"Tokens: {sum(sent):,} were sent instead of {sum(without):,}: {sum(sent) / sum(without):.1%}."
    yield f"Largest prompt: {max(sent):,} tokens instead of {max(without):,}."
    largest = max(call.conversation for call in run.calls)
    yield f"Without its system message and tools, which the limit of {LIMIT:,} is not for, it had {largest:,} at most."
    above = next((number for number, tokens in enumerate(without, 1) if tokens > WINDOW), None)
    if above:
        yield f"Without memory-context, call {above} would have been the first with more than {WINDOW:,} tokens."


def _memory(run: TeamRun) -> Iterator[str]:
    stats, kept = run.stats(), sum(call.kept for call in run.calls)
    yield f"Folded: {stats.folds} texts of {stats.tokens_folded:,} tokens, shown in {stats.tokens_shown:,}."
    yield f"Recalled: {stats.recalls}, shown in {stats.tokens_recalled:,} tokens{_example(run)}."
    yield (
        f"Compacted: {stats.compactions} times, {stats.tokens_compacted:,} tokens; late folds: {stats.late_folds}. "
        f"{kept} of {len(run.calls)} prompts began with the whole prompt before them."
    )
    if stats.store_failures:
        yield f"The store failed {stats.store_failures} times; those texts stayed in the prompt."


def _example(run: TeamRun) -> str:
    recalls = run.recalls()
    if not recalls:
        return ""
    last = recalls[-1]
    return f'; for "{" ".join(last.asked.split())}", {last.opened[0]}, because {last.why.partition(";")[0]}'
