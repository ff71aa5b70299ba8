"""How stores fail under the suites of agents, and what must hold of their warnings whatever failed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import cycle

import pytest

from memory_context.conversation.context_stats import ContextStats
from memory_context.testing import Fault, FaultyStore, random_faults

SOAK = pytest.mark.soak
RAISED = frozenset(Fault) - {Fault.DELAY}
KINDS = {kind.value: (kind,) for kind in Fault} | {"any": tuple(Fault)}
DELAY = 0.001


def stores(kind: str, seeds: int) -> Iterator[FaultyStore]:
    """For each seed a new store that fails now and then, from seldom to often; and one that always does."""
    for seed in range(seeds):
        share = 0.7 * (seed + 1) / (seeds + 1)
        yield FaultyStore("sqlite://", random_faults(seed, KINDS[kind], share), delay=DELAY)
    yield AlwaysFaulty("sqlite://", cycle(KINDS[kind]), delay=DELAY)


class AlwaysFaulty(FaultyStore):
    """A store that fails at each call."""


def is_one_outage(store: FaultyStore) -> bool:
    """Whether what failed once failed always."""
    return isinstance(store, AlwaysFaulty) and 1 == len({met.fault for met in store.injected})


def check_counted(
    all_stats: Sequence[ContextStats], store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Failures are counted, and warned of once per outage; without any, nothing is."""
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    outages = sum("goes on with full texts" in line for line in said)
    undeleted = sum("could not be deleted" in line for line in said)
    failures = sum(stats.store_failures for stats in all_stats)
    assert failures == 0 or any(met.fault in RAISED for met in store.injected)
    assert bool(failures) == bool(outages + undeleted)
    assert outages <= (len(all_stats) if is_one_outage(store) else failures)
