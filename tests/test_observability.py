"""Spans and metrics through OpenTelemetry's real SDK, of real agents on both hosts; and none of it tells content."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from exported import Exported, exported
from journeys import JOURNEYS, MARKER, NOTE, THREAD, Journey
from memory_context import MemoryContext, MemoryManager, SQLAlchemyStore, identify_users, observe
from memory_context._telemetry import ATTRIBUTES, METRICS, WHO, operation
from memory_context.folding import ContextStats
from memory_context.judges import Bench, JudgeLimits, Question, Verdict
from memory_context.summaries import Summaries
from memory_context.testing import ScriptedChatClient
from messages import LOG, results, user

tracer = trace.get_tracer("the caller")


@pytest.fixture
def telemetry() -> Iterator[Exported]:
    """What is exported from here on."""
    one = exported()
    one.clear()
    yield one
    identify_users(False)


def parent_of(span: ReadableSpan, spans: list[ReadableSpan]) -> ReadableSpan | None:
    """The span that it stands under."""
    parent = span.parent
    return next((one for one in spans if parent and one.context.span_id == parent.span_id), None)


def above(span: ReadableSpan, spans: list[ReadableSpan]) -> list[str]:
    """The names of the spans that it stands under, the next one first."""
    names, parent = list[str](), parent_of(span, spans)
    while parent is not None:
        names.append(parent.name)
        parent = parent_of(parent, spans)
    return names


@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
async def test_spans_of_an_agent(journey: Journey, sqlite_url: str, telemetry: Exported) -> None:
    """Every span stands under the caller's, across threads and loops: fold, store, transaction; recall, retrieve."""
    with tracer.start_as_current_span("the run"):
        await journey(sqlite_url)
    spans = telemetry.spans()

    assert {"the run"} == {above(span, spans)[-1] for span in telemetry.ours()}
    [folded] = [span for span in telemetry.ours("fold") if span.attributes["memory_context.outcome"] == "folded"]
    [stored] = [span for span in telemetry.ours("store") if parent_of(span, spans) is folded]
    [written] = [span for span in telemetry.ours("transaction") if parent_of(span, spans) is stored]
    assert "run_job" == folded.attributes["gen_ai.tool.name"]
    assert folded.attributes["memory_context.key"] == stored.attributes["memory_context.key"]
    assert folded.attributes["memory_context.tokens"] > 10 * folded.attributes["memory_context.tokens.shown"]
    assert ("tool_output", "detail") == tuple(stored.attributes[f"memory_context.{name}"] for name in ("type", "tier"))
    assert (True, "sqlite") == (written.attributes["memory_context.writes"], written.attributes["db.system.name"])
    assert SpanKind.CLIENT == written.kind
    [read] = telemetry.ours("retrieve")
    assert ("lines", stored.attributes["memory_context.key"]) == tuple(
        read.attributes[f"memory_context.{name}"] for name in ("selector", "key")
    )
    recalled = telemetry.ours("recall")[-1]
    assert ("recalled", 1, (stored.attributes["memory_context.key"],)) == tuple(
        recalled.attributes[f"memory_context.{name}"] for name in ("outcome", "hits", "keys")
    )


async def test_autogen_spans_are_the_parents(sqlite_url: str, telemetry: Exported) -> None:
    """What a memory tool does stands under AutoGen's own span of the call, and all else under the agent's."""
    await JOURNEYS["autogen"](sqlite_url)
    spans = telemetry.spans()

    [read] = telemetry.ours("retrieve")
    assert ["execute_tool retrieve_memory", "invoke_agent coder"] == above(read, spans)
    for name in ("fold", "recall", "pass"):
        assert {"invoke_agent coder"} == {above(span, spans)[0] for span in telemetry.ours(name)}
    assert {"invoke_agent coder"} == {above(span, spans)[-1] for span in telemetry.ours()}


@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
async def test_metrics_are_the_stats(journey: Journey, sqlite_url: str, telemetry: Exported) -> None:
    """The counters of the process say what the context's own numbers say."""
    manager = await journey(sqlite_url)
    [item] = manager.memory_store.query(manager.scope, {"memory_type": "tool_output"})
    points = telemetry.points()

    def value(name: str) -> int:
        return sum(number for _, number in points[f"memory_context.{name}"])

    assert 1 == value("folds") == value("recalls")
    assert [({"memory_context.type": "tool_output", "memory_context.tier": "detail"}, 1)] == points[
        "memory_context.memories.stored"
    ]
    assert len(item.data) == value("bytes.stored")
    assert item.token_count == value("tokens.folded")
    assert value("tokens.saved") == value("tokens.folded") - value("tokens.shown") - value("tokens.recalled") > 0
    measured = {attributes["memory_context.operation"] for attributes, _ in points["memory_context.operation.duration"]}
    assert {"fold", "store", "retrieve", "recall", "transaction"} <= measured


def numbers(stats: ContextStats) -> dict[str, int]:
    """The numbers of stats by the names of their metrics."""
    return {METRICS[name].name: getattr(stats, name) for name in (*stats.__slots__, "tokens_saved")}


async def test_every_number_of_the_stats_has_a_metric(sqlite_url: str, telemetry: Exported) -> None:
    """A context under a limit, reading in full first: whatever it counts, its metrics count."""
    context = MemoryContext("ann", store=sqlite_url, max_tokens=4000, scopes=True)
    async with context.run() as notes:
        notes.save("mind the gap", tier="run")
        for number in range(12):
            await context.add_message(user(f"question {number} " + LOG[number * 100 : number * 100 + 1500]))
            await context.add_message(results(f"{number}\n" + LOG))
            await context.get_messages()
    points = telemetry.points()
    counted = {name: sum(number for _, number in points.get(name, ())) for name in numbers(context.stats())}

    assert numbers(context.stats()) == counted
    assert 0 < context.stats().compactions == len(
        [span for span in telemetry.ours("compact") if span.attributes["memory_context.outcome"] == "compacted"]
    )
    assert 0 < context.stats().tokens_noted
    await context.aclose()


async def everything_with_marker(url: str) -> None:
    """Whatever a person or a model does with a text, with the marker in all of it, and much of it going wrong."""
    for journey in JOURNEYS.values():
        await journey(url)
    with MemoryManager(url, user_id="ann", summarizer=_Broken()) as memory:
        key = memory.store(f"{LOG} {MARKER}", type="note", metadata={"why": MARKER})
        memory.store(NOTE, f"about {MARKER}", key="mine", tags=[MARKER.upper()])
        memory.search(f"what of {MARKER}?")
        for failing in (
            lambda: memory.retrieve(f"no such {MARKER}"),
            lambda: memory.retrieve(f"no_such_{MARKER}"),
            lambda: memory.retrieve(key, path=f"$.{MARKER}"),
            lambda: memory.retrieve(key, contains=f"{MARKER} not there"),
            lambda: memory.store(f"other {MARKER}", key="mine"),
            lambda: memory.search(MARKER, filters={MARKER: 1}),
            lambda: memory.forget(f"no_such_{MARKER}"),
        ):
            _swallowed(failing)
    context = MemoryContext("ann", store=url, judge=_Quoting(), thread_id=THREAD)
    await context.add_message(user(f"Where is {MARKER} in the log?"))
    await context.get_messages()
    context.manager.memory_store.close()
    broken = MemoryContext("ann", store=f"sqlite:///{Path(url.removeprefix('sqlite:///')).parent / 'no' / 'such'}/x.db")
    await broken.add_message(results(f"{MARKER}\n{LOG}"))


def _swallowed(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:  # noqa: BLE001, S110 - what is raised is not the point
        pass


class _Broken:
    """A summarizer that quotes what it was given."""

    def summarize(self, text: str, description: str) -> str | None:
        message = f"cannot say what this is: {text[-200:]} {description}"
        raise ValueError(message)


class _Quoting:
    """A judge that does the same."""

    name = "quoting"

    async def decide(self, question: Question) -> Verdict:
        message = f"cannot decide {question.message}"
        raise RuntimeError(message)


async def test_no_content_anywhere(sqlite_url: str, telemetry: Exported, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of contents, descriptions, questions and passages is in spans, metrics and records of the log."""
    with caplog.at_level(logging.DEBUG, "memory_context"):
        await everything_with_marker(sqlite_url)
    records = [record for record in caplog.records if record.name == "memory_context"]
    shown = [logging.Formatter("%(message)s").format(record) + repr(vars(record)) for record in records]

    assert {"memory_context.judge_failed", "memory_context.summarizer_failed", "memory_context.store_failed"} <= {
        getattr(record, "event", None) for record in records
    }
    assert MARKER not in "\n".join(shown).lower()
    spans = [span for span in telemetry.ours()]
    assert {f"memory_context.{name}" for name in ("fold", "store", "retrieve", "search", "recall", "judge")} <= {
        span.name for span in spans
    }
    assert MARKER not in "\n".join(span.to_json() for span in spans).lower()
    assert MARKER not in str(telemetry.points()).lower()
