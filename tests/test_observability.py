"""Spans and metrics through OpenTelemetry's real SDK, of real agents on both hosts; and none of it tells content."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from exported import Exported, exported
from for_each import first_quick
from journeys import JOURNEYS, MARKER, NOTE, THREAD, Journey
from memory_context import (
    MemoryContext,
    MemoryManager,
    RecallPolicy,
    SQLAlchemyStore,
    identify_users,
    observe,
)
from memory_context.conversation.ask_memories_by_key import MemoryReader
from memory_context.conversation.context_stats import ContextStats
from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.exceptions import MemoryNotFoundError
from memory_context.runtime.telemetry import ATTRIBUTES, METRICS, WHO, Operation
from messages import LOG, results, user
from pages import ROOT

tracer = trace.get_tracer("the caller")


@pytest.fixture
def telemetry() -> Iterator[Exported]:
    """What is exported from here on."""
    one = exported()
    one.keep(True)
    yield one
    one.keep(False)
    identify_users(False)


def parent_of(span: ReadableSpan, spans: list[ReadableSpan]) -> ReadableSpan | None:
    """The span that it stands under."""
    parent = span.parent
    return next((one for one in spans if parent and one.context.span_id == parent.span_id), None)


def facts(span: ReadableSpan) -> dict[str, Any]:
    """Its attributes."""
    return dict(span.attributes or {})


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
    ours, spans = telemetry.ours(), telemetry.spans()

    # What a model was sent may be written behind the run, and is under nothing then.
    behind = [span for span in ours if not above(span, spans)]
    assert not {span.name for span in behind} - {"memory_context.transaction"}
    assert {"the run"} == {above(span, spans)[-1] for span in ours if span not in behind}
    [folded] = [
        span for span in telemetry.ours("fold") if facts(span)["memory_context.outcome"] == "folded"
    ]
    [stored] = [span for span in telemetry.ours("store") if parent_of(span, spans) is folded]
    [written] = [span for span in telemetry.ours("transaction") if parent_of(span, spans) is stored]
    assert "run_job" == facts(folded)["gen_ai.tool.name"]
    assert facts(folded)["memory_context.key"] == facts(stored)["memory_context.key"]
    assert (
        facts(folded)["memory_context.tokens"] > 10 * facts(folded)["memory_context.tokens.shown"]
    )
    assert ("tool_output", "detail") == tuple(
        facts(stored)[f"memory_context.{name}"] for name in ("type", "tier")
    )
    assert (True, "sqlite") == (
        facts(written)["memory_context.writes"],
        facts(written)["db.system.name"],
    )
    assert SpanKind.CLIENT == written.kind
    [read] = telemetry.ours("retrieve")
    assert ("lines", facts(stored)["memory_context.key"]) == tuple(
        facts(read)[f"memory_context.{name}"] for name in ("selector", "key")
    )
    recalled = telemetry.ours("recall")[-1]
    assert ("recalled", 1, (facts(stored)["memory_context.key"],)) == tuple(
        facts(recalled)[f"memory_context.{name}"] for name in ("outcome", "hits", "keys")
    )


async def test_autogen_spans_are_the_parents(sqlite_url: str, telemetry: Exported) -> None:
    """What a memory tool does stands under AutoGen's own span of the call, and all else under the agent's."""
    await JOURNEYS["autogen"](sqlite_url)
    spans = telemetry.spans()

    [read] = telemetry.ours("retrieve")
    assert ["execute_tool retrieve_memory", "invoke_agent coder"] == above(read, spans)
    for name in ("fold", "recall", "pass"):
        assert {"invoke_agent coder"} == {above(span, spans)[0] for span in telemetry.ours(name)}
    # What a model was sent may be written behind the run, and is under nothing then.
    above_all = [above(span, spans) for span in telemetry.ours()]
    assert {"invoke_agent coder"} == {names[-1] for names in above_all if names}


@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
async def test_metrics_are_the_stats(
    journey: Journey, sqlite_url: str, telemetry: Exported
) -> None:
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
    assert (
        value("tokens.saved")
        == value("tokens.folded") - value("tokens.shown") - value("tokens.recalled")
        > 0
    )
    measured = {
        attributes["memory_context.operation"]
        for attributes, _ in points["memory_context.operation.duration"]
    }
    assert {"fold", "store", "retrieve", "recall", "transaction"} <= measured


def numbers(stats: ContextStats) -> dict[str, int]:
    """The numbers of stats by the names of their metrics."""
    counted = {name: getattr(stats, name) for name in (*stats.__slots__, "tokens_saved")}
    del counted["kept"]  # what the store keeps, and no number
    counted["redacted"] = stats.redacted.total()
    return {METRICS[name].name: number for name, number in counted.items()}


@pytest.mark.long
async def test_every_number_of_the_stats_has_a_metric(sqlite_url: str, telemetry: Exported) -> None:
    """A context under a limit, reading in full first: whatever it counts, its metrics count."""
    url = f"redacted+{sqlite_url}"
    context = MemoryContext("ann", store=url, max_tokens=4000, notes=True)
    async with context.run() as notes:
        notes.save("mind the gap, " + "password=hunter" + "2!x", tier="run")
        for number in range(12):
            await context.add_message(
                user(f"question {number} " + LOG[number * 100 : number * 100 + 1500])
            )
            await context.add_message(results(f"{number}\n" + LOG))
            await context.get_messages()
    points = telemetry.points()
    counted = {
        name: sum(number for _, number in points.get(name, ())) for name in numbers(context.stats())
    }

    assert numbers(context.stats()) == counted
    assert (
        0
        < context.stats().compactions
        == len(
            [
                span
                for span in telemetry.ours("compact")
                if facts(span)["memory_context.outcome"] == "compacted"
            ]
        )
    )
    assert 0 < context.stats().tokens_noted
    assert {"password": 1} == context.stats().redacted
    await context.aclose()


async def everything_with_marker(url: str) -> None:
    """Whatever a person or a model does with a text, with the marker in all of it, and much of it going wrong."""
    for journey in JOURNEYS.values():
        await journey(url)
    with MemoryManager(url, user_id="ann", summarizer=_Broken()) as memory:
        key = memory.store(f"{LOG} {MARKER}", type="note", metadata={"why": MARKER})
        memory.store(NOTE, f"about {MARKER}", key="mine", tags=[MARKER.upper()])
        memory.search(f"what of {MARKER}?")
        MemoryReader(memory, _Light()).ask([key], f"what of {MARKER}?")
        memory.store(f"a,{MARKER}\n1,2\n3,4", key="table")
        memory.query(f"SELECT {MARKER} FROM 'table'")
        memory.forget("mine")
        memory.store(NOTE, f"about {MARKER}", key="mine")
        for failing in (
            lambda: memory.retrieve(f"no such {MARKER}"),
            lambda: memory.retrieve(f"no_such_{MARKER}"),
            lambda: memory.retrieve(key, path=f"$.{MARKER}"),
            lambda: memory.retrieve(key, contains=f"{MARKER} not there"),
            lambda: memory.store(f"other {MARKER}", key="mine"),
            lambda: memory.search(MARKER, filters={MARKER: 1}),
            lambda: memory.query(f"SELECT no_{MARKER} FROM mine"),
            lambda: memory.forget(f"no_such_{MARKER}"),
        ):
            with contextlib.suppress(Exception):
                failing()
    context = MemoryContext(
        "ann", store=url, thread_id=THREAD, recall=RecallPolicy(judge=_Quoting())
    )
    await context.add_message(user(f"Where is {MARKER} in the log?"))
    await context.get_messages()
    context.manager.memory_store.close()
    broken = MemoryContext(
        "ann", store=f"sqlite:///{Path(url.removeprefix('sqlite:///')).parent / 'no' / 'such'}/x.db"
    )
    await broken.add_message(results(f"{MARKER}\n{LOG}"))


class _Light:
    """A light model that quotes what it was given."""

    async def complete(self, system: str, prompt: str) -> tuple[str, int]:
        line = prompt.splitlines()[-1].partition(": ")[2]
        return json.dumps({"answer": MARKER, "quotes": [{"line": 1, "text": line}]}), len(system)


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


async def test_no_content_anywhere(
    sqlite_url: str, telemetry: Exported, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of contents, descriptions, questions and passages is in spans, metrics and records of the log."""
    with caplog.at_level(logging.DEBUG, "memory_context"):
        await everything_with_marker(sqlite_url)
    records = [record for record in caplog.records if record.name == "memory_context"]
    shown = [
        logging.Formatter("%(message)s").format(record) + repr(vars(record)) for record in records
    ]

    assert {
        "memory_context.judge_failed",
        "memory_context.summarizer_failed",
        "memory_context.store_failed",
    } <= {getattr(record, "event", None) for record in records}
    assert MARKER not in "\n".join(shown).lower()
    spans = telemetry.ours()
    assert {
        f"memory_context.{name}"
        for name in ("fold", "store", "retrieve", "search", "recall", "judge")
    } <= {span.name for span in spans}
    assert MARKER not in "\n".join(span.to_json() for span in spans).lower()
    assert MARKER not in str(telemetry.points()).lower()


PAGE = (ROOT / "docs/observability.md").read_text("utf-8")


def rows(section: str) -> dict[str, list[str]]:
    """The table of a section of docs/observability.md: for each name in its first column the cells behind it."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `(memory_context\.[\w.]+)` \|(.*)\|$", text, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split(" | ")] for name, cells in lines}


def named(cell: str) -> set[str]:
    """The names in a cell, those in parentheses left out."""
    return set(re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", cell)))


def test_the_page_lists_every_metric() -> None:
    """docs/observability.md has the metrics with their kinds and units, and no others."""
    listed = {name: (cells[0], cells[1].strip("`")) for name, cells in rows("Metrics").items()}

    assert {metric.name: (metric.kind, metric.unit) for metric in METRICS.values()} == listed


@pytest.mark.long
async def test_the_page_lists_every_attribute(sqlite_url: str, telemetry: Exported) -> None:
    """What spans and metrics of everything there is have as attributes stands on the page, and all of that is there."""
    await everything_with_marker(sqlite_url)
    url = f"redacted+{sqlite_url}"
    context = MemoryContext(
        "ann", store=url, max_tokens=2000, recall=RecallPolicy(judge=_Content())
    )
    await context.store("password=hunter" + "2!x")
    for number in range(20):
        await context.add_message(
            user(f"worker-{number}? " + LOG[number * 100 : number * 100 + 500])
        )
        await context.get_messages()
    with observe(context.manager, users=True):
        points = telemetry.points()
    seen: dict[str, set[str]] = {}
    for span in telemetry.ours():
        seen.setdefault(span.name, set()).update(set(span.attributes or ()) - {"error.type"})
    measured = {
        name: {key for attributes, _ in points[name] for key in attributes} for name in points
    }

    assert {name: named(cells[-1]) for name, cells in rows("Spans").items()} == seen
    assert set(get_args(Operation)) == {name.removeprefix("memory_context.") for name in seen}
    assert {
        name: named(cells[2]) for name, cells in rows("Metrics").items() if name in measured
    } == measured
    assert set(ATTRIBUTES.values()) == {
        key for keys in (*seen.values(), *measured.values()) for key in keys
    } - {*WHO}
    await context.aclose()


class _Content:
    """A judge with a model's manners that wants nothing."""

    name = "content"

    async def decide(self, question: Question) -> Verdict:
        return Verdict(tokens=7 + len(question.turns[:1]))


@pytest.mark.parametrize("journey", first_quick(JOURNEYS.values()), ids=JOURNEYS)
async def test_whose_it_is_by_choice(
    journey: Journey, sqlite_url: str, telemetry: Exported
) -> None:
    """Nobody is named on spans until `identify_users`; then user, agent and thread are. Metrics never name them."""
    await journey(sqlite_url)
    assert not [key for span in telemetry.ours() for key in span.attributes or () if key in WHO]

    telemetry.clear()
    identify_users()
    await journey(sqlite_url)
    whose = {tuple(facts(span).get(name) for name in WHO) for span in telemetry.ours("recall")}
    assert {("ann", "coder", THREAD)} == whose
    assert not [
        key
        for points in telemetry.points().values()
        for attributes, _ in points
        for key in attributes
        if key in WHO
    ]


def test_what_fails_is_noted_without_words(sqlite_url: str, telemetry: Exported) -> None:
    """A span of what failed has the error's type and no event of it, and so has its duration."""
    with MemoryManager(sqlite_url, user_id="ann") as memory, pytest.raises(MemoryNotFoundError):
        memory.retrieve("not_there")

    [span] = telemetry.ours("retrieve")
    assert (StatusCode.ERROR, None, ()) == (
        span.status.status_code,
        span.status.description,
        tuple(span.events),
    )
    assert "MemoryNotFoundError" == facts(span)["error.type"]
    failed = {"memory_context.operation": "retrieve", "error.type": "MemoryNotFoundError"}
    assert (failed, 1) in telemetry.points()["memory_context.operation.duration"]


def test_what_is_observed(store_url: str, telemetry: Exported) -> None:
    """Items and bytes of each tier, of those users and until then; managers of the same memories count once."""
    store = SQLAlchemyStore(store_url)
    ann, bob = (MemoryManager(store, user_id=user) for user in ("ann", "bob"))
    ann.store("äöü")
    ann.store("12345", tier="project", tier_id="p")
    bob.store("123")
    items, size = ("memory_context.usage.items", "memory_context.usage.bytes")

    def tiers(name: str) -> dict[Any, int]:
        return {
            tuple(attributes.values()): value
            for attributes, value in telemetry.points().get(name, ())
        }

    assert {} == tiers(items)
    with observe(ann), observe(ann.within([("project", "p")])):
        assert {("detail",): 1, ("project",): 1} == tiers(items)
        assert {("detail",): 6, ("project",): 5} == tiers(size)
        with observe(bob):
            assert {("detail",): 9, ("project",): 5} == tiers(size)
        ann.store("more")
        assert {("detail",): 2, ("project",): 1} == tiers(items)
    with observe(ann, users=True), observe(bob, users=True):
        assert {("detail", "ann"): 2, ("project", "ann"): 1, ("detail", "bob"): 1} == tiers(items)
    assert {} == tiers(items)
    store.close()


def test_a_store_that_fails_under_a_gauge(
    tmp_path: Path, telemetry: Exported, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is reported of it, a warning is logged, and others are reported."""
    lost, there = (
        MemoryManager(f"sqlite:///{tmp_path / name}", user_id="ann")
        for name in ("no/such.db", "is.db")
    )
    there.store("a text")
    with observe(lost), observe(there):
        assert [({"memory_context.tier": "detail"}, 1)] == telemetry.points()[
            "memory_context.usage.items"
        ]

    assert {"memory_context.usage_failed"} == {
        getattr(record, "event", "") for record in caplog.records
    }
    there.close()


@pytest.mark.long
async def test_threads_and_loops_keep_the_parent(sqlite_url: str, telemetry: Exported) -> None:
    """Twenty runs at once on one store: whatever each does is in its own trace."""

    async def run(number: int) -> int:
        with tracer.start_as_current_span(f"run {number}") as span:
            context = MemoryContext("ann", store=store, agent_id=str(number))
            await context.add_message(results(f"{number}\n{LOG}"))
            await context.get_messages()
            return span.get_span_context().trace_id

    identify_users()
    store = SQLAlchemyStore(sqlite_url)
    traces = await asyncio.gather(*map(run, range(20)))
    found = {(span.context.trace_id, facts(span)[WHO[1]]) for span in telemetry.ours("fold")}

    assert {(trace_id, str(number)) for number, trace_id in enumerate(traces)} == found
    store.close()


@pytest.mark.long
def test_without_an_sdk() -> None:
    """Where no SDK is set up, spans are those of the API that do nothing, and nothing is attached."""
    program = (
        "from opentelemetry import context, trace\n"
        "from memory_context import MemoryManager\n"
        "from memory_context.runtime.telemetry import operation\n"
        "before = context.get_current()\n"
        "with operation('store', ('ann', None, None), type='note') as storing:\n"
        "    storing.note(key='k')\n"
        "    assert context.get_current() is before\n"
        "    assert not trace.get_current_span().get_span_context().is_valid\n"
        "with MemoryManager('sqlite://', user_id='ann') as memory:\n"
        "    print(memory.retrieve(memory.store('a text')))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ("a text\n", "") == (run.stdout, run.stderr)
