"""The figures of one policy on some runs."""

from __future__ import annotations

from collections.abc import Iterable

from memory_context.replay import Comparing, Figures, Policy, Recording, TokenMeter


async def measure(runs: Iterable[Recording], policy: Policy, meter: TokenMeter) -> Figures:
    """Replay *runs* through *policy*, and return its figures."""
    comparing = Comparing([policy], meter)
    for run in runs:
        await comparing.add(run)
    [result] = comparing.results().policies
    return result.figures
