"""What this process exports through OpenTelemetry's real SDK, in memory; it can be set up once in a process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import SystemRandom
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, UpDownCounter
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator


class WhenAsked(InMemorySpanExporter):
    """Keeps spans while it is asked to: the SDK stays in the process, whatever tests it runs afterwards."""

    keeping = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep them, or not."""
        return super().export(spans) if self.keeping else SpanExportResult.SUCCESS


class OwnIds(IdGenerator):
    """Leaves Python's shared random numbers alone: threads end spans while hypothesis watches them."""

    _random = SystemRandom()

    def generate_span_id(self) -> int:
        """Return a number of 64 bits that is not 0."""
        return self._random.getrandbits(64) or 1

    def generate_trace_id(self) -> int:
        """Return a number of 128 bits that is not 0."""
        return self._random.getrandbits(128) or 1


class Exported:
    """Spans since `clear`, and metrics since they were read last."""

    def __init__(self) -> None:
        self._spans = WhenAsked()
        tracing = TracerProvider(id_generator=OwnIds())
        tracing.add_span_processor(SimpleSpanProcessor(self._spans))
        trace.set_tracer_provider(tracing)
        delta = dict.fromkeys((Counter, Histogram, UpDownCounter), AggregationTemporality.DELTA)
        self._reader = InMemoryMetricReader(preferred_temporality=delta)  # type: ignore[arg-type] # classes, as documented
        metrics.set_meter_provider(MeterProvider([self._reader]))

    def keep(self, keeping: bool) -> None:
        """Begin to keep spans, or end it and forget them."""
        self._spans.keeping = keeping
        self.clear()

    def clear(self) -> None:
        """Forget what was exported."""
        self._spans.clear()
        self._reader.get_metrics_data()

    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in that order."""
        return list(self._spans.get_finished_spans())

    def ours(self, name: str | None = None) -> list[ReadableSpan]:
        """Those of this library, or those of one operation."""
        ours = [
            span
            for span in self.spans()
            if span.instrumentation_scope and span.instrumentation_scope.name == SCOPE
        ]
        return [span for span in ours if name is None or span.name == f"{SCOPE}.{name}"]

    def points(self) -> dict[str, list[tuple[Mapping[str, Any], Any]]]:
        """For each metric of this library its points: attributes, and the value, or the number of measurements."""
        data = self._reader.get_metrics_data()
        return {} if data is None else {name: list(points) for name, points in _points(data)}


SCOPE = "memory_context"


def _points(data: Any) -> Iterator[tuple[str, Iterator[tuple[Mapping[str, Any], Any]]]]:
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            if scope.scope.name == SCOPE:
                yield from ((one.name, map(_point, one.data.data_points)) for one in scope.metrics)


def _point(point: Any) -> tuple[Mapping[str, Any], Any]:
    return dict(point.attributes), getattr(point, "value", getattr(point, "count", None))


@cache
def exported() -> Exported:
    """What this process exports."""
    return Exported()
