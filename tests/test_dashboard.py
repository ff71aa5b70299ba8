"""The dashboard and the alerts of examples/grafana: every metric, label and value in them is one that is exported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
import yaml

from memory_context.runtime.telemetry import METRICS
from pages import ROOT

FOLDER = ROOT / "examples/grafana"
# What Prometheus reads from a process in which everything has happened once.
EXPORT = """
from contextlib import suppress
from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import generate_latest
from memory_context import MemoryManager, observe
from memory_context.runtime.telemetry import METRICS, count, operation

metrics.set_meter_provider(MeterProvider([PrometheusMetricReader()]))
for name, metric in METRICS.items():
    if metric.kind in ("counter", "updowncounter"):
        count(name)
for outcome in ("decided", "failed"):
    count("judge_calls", outcome=outcome)
for name in ("fold", "recall", "retrieve", "search"):
    with suppress(ValueError), operation(name):
        raise ValueError
with MemoryManager("sqlite://", user_id="ann") as memory, observe(memory):
    memory.store("a note")
    print(generate_latest().decode())
"""


@cache
def exported() -> tuple[set[str], set[str], set[str]]:
    """The names of metrics, of their labels, and the labels' values."""
    done = subprocess.run(
        [sys.executable, "-c", EXPORT], capture_output=True, encoding="utf-8", check=True
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("memory_context_")]
    labels = re.findall(r'([a-z_]+)="([^"]*)"', "\n".join(lines))
    return (
        {re.split(r"[{ ]", line)[0] for line in lines},
        {name for name, _ in labels},
        {value for _, value in labels},
    )


def dashboard() -> dict[str, Any]:
    """The dashboard."""
    read: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
    return read


def alerts() -> list[dict[str, Any]]:
    """The rules of the alerts."""
    read = yaml.safe_load((FOLDER / "alerts.yml").read_text("utf-8"))
    return [rule for group in read["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    """All that Prometheus is asked."""
    asked = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return asked + [rule["expr"] for rule in alerts()]


@pytest.mark.long
def test_names_what_is_exported() -> None:
    """Each metric, each label, and each value that a label is compared with is exported under that name."""
    metrics, labels, values = exported()
    for asked in expressions():
        compared = re.findall(r'(\w+)(?:=~|!=|=)"([^"]*)"', asked)
        by = [name for names in re.findall(r"by \(([^)]*)\)", asked) for name in names.split(", ")]
        named = set(re.findall(r"memory_context_\w+", asked)) - labels

        assert named, asked
        assert named <= metrics, asked
        assert {*by, *(name for name, _ in compared)} <= labels, asked
        assert {value for _, texts in compared for value in texts.split("|")} <= values, asked
        assert asked.count("(") == asked.count(")")


def test_shows_every_metric_that_says_how_it_goes() -> None:
    """Those that are left out say how much is done, which other panels show, or are of single features."""
    shown = " ".join(expressions())
    missing = {
        name for name, metric in METRICS.items() if metric.name.replace(".", "_") not in shown
    }

    assert missing == {
        *("memories", "bytes", "messages", "redacted"),
        *("summarizer_calls", "audit_entries", "tokens_saved"),
    }


def test_is_a_dashboard() -> None:
    """Panels have a title, a place of their own, a unit and thresholds that rise; every alert says what happened."""
    panels = dashboard()["panels"]
    taken = set[tuple[int, int]]()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        steps = [step["value"] for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]]

        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert None is steps[0]
        assert sorted(steps[1:]) == steps[1:]
        assert not taken & cells
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len(panels) == len({panel["id"] for panel in panels})
    for rule in alerts():
        assert {"alert", "expr", "labels", "annotations"} <= set(rule)
        assert rule["annotations"]["summary"].endswith(".")
