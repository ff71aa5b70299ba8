"""Record spans and metrics through OpenTelemetry's API, never with content. All their names are in this file.

Without an SDK in the process the API does nothing, and costs next to nothing (``benchmarks/telemetry.py``).
Names follow OpenTelemetry's semantic conventions where those have a name (``db.system.name``, ``error.type``, ``user.id``,
``gen_ai.*``); all others begin with ``memory_context``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Self, TypeAlias

from opentelemetry import context as context_api
from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from memory_context.runtime.version import __version__

SCOPE = "memory_context"

Operation: TypeAlias = Literal[
    "fold", "store", "retrieve", "search", "query", "ask", "recall", "judge", "summarize", "compact", "assemble", "forget",
    "pass", "transaction",
]  # fmt: skip
Instrument: TypeAlias = Literal["counter", "updowncounter", "histogram", "gauge"]
Value: TypeAlias = str | bool | int | float | tuple[str, ...]
Who: TypeAlias = tuple[str, str | None, str | None]

ATTRIBUTES: Mapping[str, str] = {
    "key": "memory_context.key",
    "keys": "memory_context.keys",
    "type": "memory_context.type",
    "tier": "memory_context.tier",
    "tool": "gen_ai.tool.name",
    "tokens": "memory_context.tokens",
    "tokens_shown": "memory_context.tokens.shown",
    "characters": "memory_context.characters",
    "bytes": "memory_context.bytes",
    "messages": "memory_context.messages",
    "candidates": "memory_context.candidates",
    "hits": "memory_context.hits",
    "limit": "memory_context.limit",
    "budget": "memory_context.budget",
    "selector": "memory_context.selector",
    "mode": "memory_context.mode",
    "judge": "memory_context.judge",
    "kind": "memory_context.kind",
    "outcome": "memory_context.outcome",
    "writes": "memory_context.writes",
    "backend": "db.system.name",
    "operation": "memory_context.operation",
    "error": "error.type",
}
WHO = ("user.id", "gen_ai.agent.id", "gen_ai.conversation.id")


class Metric(NamedTuple):
    """A metric.

    Attributes:
        name: Its name.
        kind: The instrument of OpenTelemetry that records it.
        unit: In the notation of UCUM.
        description: What it measures.
    """

    name: str
    kind: Instrument
    unit: str
    description: str


def _metric(name: str, unit: str, description: str, kind: Instrument = "counter") -> Metric:
    return Metric(f"{SCOPE}.{name}", kind, unit, description)


METRICS: Mapping[str, Metric] = {
    "memories": _metric("memories.stored", "{memory}", "Memories that were committed"),
    "bytes": _metric("bytes.stored", "By", "Bytes of their contents"),
    "messages": _metric("messages", "{message}", "Messages that came into conversations"),
    "folds": _metric("folds", "{text}", "Texts that were replaced by a reference"),
    "late_folds": _metric(
        "folds.late", "{batch}", "Batches of texts that were folded after reading"
    ),
    "asked_again": _metric(
        "folds.asked_again", "{text}", "Texts that a model read as soon as they were folded"
    ),
    "tokens_folded": _metric("tokens.folded", "{token}", "Tokens of the texts that were folded"),
    "tokens_shown": _metric("tokens.shown", "{token}", "Tokens of references and previews"),
    "recalls": _metric("recalls", "{memory}", "Memories that a context brought back"),
    "tokens_recalled": _metric("tokens.recalled", "{token}", "Tokens that were brought back"),
    "tokens_noted": _metric("tokens.noted", "{token}", "Tokens of a run's notes in prompts"),
    "asks": _metric("asks", "{question}", "Questions that a light model answered from memories"),
    "tokens_asked": _metric("tokens.asked", "{token}", "Tokens that these cost"),
    "compactions": _metric(
        "compactions", "{compaction}", "Conversations' beginnings that were compacted"
    ),
    "tokens_compacted": _metric("tokens.compacted", "{token}", "Tokens that compactions took away"),
    "tokens_saved": _metric(
        "tokens.saved",
        "{token}",
        "Tokens folded, less shown, recalled, noted",
        kind="updowncounter",
    ),
    "redacted": _metric("redacted", "{secret}", "Secrets that were taken out of what was stored"),
    "store_failures": _metric("store.failures", "{failure}", "Failures that a run went on after"),
    "judge_calls": _metric("judge.calls", "{call}", "Questions to judges with a model"),
    "judge_tokens": _metric("judge.tokens", "{token}", "Tokens that they cost"),
    "summarizer_calls": _metric("summarizer.calls", "{call}", "Questions to summarizers"),
    "audit_entries": _metric("audit.entries", "{entry}", "Entries that were written to a trail"),
    "audit_failures": _metric(
        "audit.failures", "{failure}", "Times that a trail could not be written to"
    ),
    "calls_dropped": _metric(
        "calls.dropped", "{call}", "Rows on model calls that a database did not take for too long"
    ),
    "duration": _metric("operation.duration", "s", "How long an operation took", kind="histogram"),
    "usage_items": _metric("usage.items", "{memory}", "Active memories, by tier", kind="gauge"),
    "usage_bytes": _metric("usage.bytes", "By", "Bytes of their contents, by tier", kind="gauge"),
}
# In seconds: a transaction takes about a millisecond, the call of a judge or a summarizer seconds.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

tracer = trace.get_tracer(SCOPE, __version__)
meter = metrics.get_meter(SCOPE, __version__)
_identified = False


def identify_users(shown: bool = True) -> None:  # noqa: FBT001, FBT002 - a switch has one argument
    """Put user, agent and thread on the spans of this process, as ``user.id`` and ``gen_ai.*``; off by default.

    They may be names or addresses of people, which a tracing backend should not get unasked. Metrics never carry them.
    """
    global _identified  # noqa: PLW0603 - one switch for the process, as the SDK is
    _identified = shown


_Counter: TypeAlias = metrics.Counter | metrics.UpDownCounter
_MADE_BY: Mapping[str, Callable[[str, str, str], _Counter]] = {
    "counter": meter.create_counter,
    "updowncounter": meter.create_up_down_counter,
}
_COUNTERS = {
    name: _MADE_BY[metric.kind](metric.name, metric.unit, metric.description)
    for name, metric in METRICS.items()
    if metric.kind in _MADE_BY
}
_duration = METRICS["duration"]
_DURATION = meter.create_histogram(
    _duration.name,
    _duration.unit,
    _duration.description,
    explicit_bucket_boundaries_advisory=BUCKETS,
)


def count(name: str, amount: int = 1, **facts: Value) -> None:
    """Add *amount* to the counter *name* of `METRICS`."""
    _COUNTERS[name].add(amount, _named(facts))


def _named(facts: Mapping[str, Value | None]) -> dict[str, Value]:
    """Return *facts* under the names of their attributes (`ATTRIBUTES`), without those that are None."""
    return {ATTRIBUTES[name]: value for name, value in facts.items() if value is not None}


class operation:  # noqa: N801 - used as a statement, like a function of contextlib
    """A span around an operation, and a measurement of how long it took.

    In the body of the ``with``, the span is the current one. Errors pass through; their type is recorded.

    Args:
        name: The operation.
        who: User, agent and thread.
        **facts: Attributes by the names of `ATTRIBUTES`.
    """

    __slots__ = ("_attached", "_name", "_span", "_started")

    def __init__(self, name: Operation, who: Who | None = None, **facts: Value | None) -> None:
        self._name = name
        kind = SpanKind.CLIENT if name == "transaction" else SpanKind.INTERNAL
        self._span: Span = tracer.start_span(f"{SCOPE}.{name}", kind=kind, attributes=_named(facts))
        if _identified and who:
            for attribute, value in zip(WHO, who, strict=True):
                if value:
                    self._span.set_attribute(attribute, value)

    def __enter__(self) -> Self:
        """Begin the measurement, and make the span the current one."""
        self._started = time.perf_counter()
        self._attached = None
        if self._span.get_span_context().is_valid:  # without an SDK it is not
            self._attached = context_api.attach(trace.set_span_in_context(self._span))
        return self

    def note(self, **facts: Value | None) -> None:
        """Add attributes to the span."""
        if self._span.is_recording():
            self._span.set_attributes(_named(facts))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        *_: object,
    ) -> None:
        """End both. Only the type of an error is recorded: its message may quote content."""
        error = None
        if kind:
            error = kind.__qualname__
            self._span.set_status(StatusCode.ERROR)
            self.note(error=error)
        facts = {"operation": self._name, "error": error}
        _DURATION.record(time.perf_counter() - self._started, _named(facts))
        if self._attached:
            context_api.detach(self._attached)
        self._span.end()
