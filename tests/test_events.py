"""What the library logs: every record has an event's name, and no words of whatever was raised."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from memory_context.exceptions import StoreError
from memory_context.runtime import log_events
from memory_context.runtime.log_events import EVENTS, Event
from pages import ROOT
from sources import SOURCES

PAGE = (ROOT / "docs/observability.md").read_text("utf-8")
SPELLED = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
}
NAMES = {name for name, value in vars(log_events).items() if isinstance(value, Event)}
METHODS = {"debug", "info", "warning", "error", "exception", "critical"}
FACTS = re.compile(r"%\((\w+)\)")


def calls_of(tree: ast.AST) -> Iterator[ast.Call]:
    """Every call in a module whose function is an attribute of something."""
    yield from (
        n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    )


def dotted(node: ast.AST) -> str:
    """A name with its dots."""
    return ast.unparse(node)


def logs_itself(call: ast.Call) -> bool:
    """Whether a call is one of `logging`'s own, on whatever is called a logger."""
    assert isinstance(call.func, ast.Attribute)
    owner = dotted(call.func.value)
    return owner.split(".")[-1] in {"logger", "log", "logging"} and call.func.attr in {
        *METHODS,
        "log",
        "getLogger",
    }


@pytest.mark.long
def test_nothing_is_logged_without_an_event() -> None:
    """Only `log_events` speaks to `logging`; all others log one of its events, with the facts of its message."""
    logged = set[str]()
    for path in SOURCES:
        for call in calls_of(ast.parse(path.read_text("utf-8"))):
            assert not logs_itself(call) or path.name == "log_events.py", f"{path}:{call.lineno}"
            assert isinstance(call.func, ast.Attribute)
            owner, method = dotted(call.func.value), call.func.attr
            if owner.startswith("log_events.") and method == "log":
                name = owner.removeprefix("log_events.")
                assert name in NAMES, f"{path}:{call.lineno}"
                given = {word.arg for word in call.keywords} - {"where"} | (
                    {"error"} if call.args else set()
                )
                assert set(FACTS.findall(getattr(log_events, name).message)) <= given, (
                    f"{path}:{call.lineno}"
                )
                logged.add(name)

    assert NAMES == logged


def test_names_are_told_apart() -> None:
    """Each event has its own name below ``memory_context``."""
    assert len(EVENTS) == len({event.name for event in EVENTS}) == len(NAMES)
    assert all(re.fullmatch(r"memory_context\.[a-z_]+", event.name) for event in EVENTS)


def test_the_page_lists_every_event() -> None:
    """docs/observability.md has their names, levels and fields, and no others."""
    section = PAGE.partition("## Logging")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(memory_context\.\w+)` \| (\w+) \|([^|]*)\|", section, re.MULTILINE)

    told = {name: (level, set(re.findall(r"`(\w+)`", facts))) for name, level, facts in listed}
    assert set(told) == {event.name for event in EVENTS}
    for event in EVENTS:
        level, fields = told[event.name]
        assert SPELLED[event.level] == level
        assert (
            set(FACTS.findall(event.message))
            | ({"error_type"} if "%(error)" in event.message else set())
            <= fields
        )


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_facts_are_fields(event: Event, caplog: pytest.LogCaptureFixture) -> None:
    """A record has the event's name, its level, a readable message, and each fact as a field; so does a formatter."""
    facts: dict[str, Any] = {
        name: 7 if f"%({name})d" in event.message else f"a {name}"
        for name in FACTS.findall(event.message)
    }
    error = StoreError("the disk is full") if facts.pop("error", None) else None
    with caplog.at_level(logging.DEBUG, "memory_context"):
        event.log(error, **facts)

    [record] = caplog.records
    assert event.name == record.event  # type: ignore[attr-defined] # given by extra
    assert (event.level, "memory_context") == (record.levelno, record.name)
    for name, fact in facts.items():
        assert fact == getattr(record, name)
    assert ("the disk is full" in record.getMessage()) == (error is not None)
    assert "%(" not in record.getMessage()
    assert __file__ == record.pathname


def test_words_of_foreign_errors_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """What a database or a model's client says may quote content: its type and its place are logged, and no cause."""
    quoting = ValueError("INSERT a secret text")

    def driver() -> None:
        raise RuntimeError(*quoting.args) from quoting

    try:
        driver()
    except RuntimeError as error:
        log_events.STORE_FAILED.log(error, where=True)
    [record] = caplog.records
    shown = logging.Formatter("%(message)s").format(record)

    assert "RuntimeError" == record.error_type == record.error  # type: ignore[attr-defined] # given by extra
    assert "secret" not in shown + repr(
        {name: value for name, value in vars(record).items() if name != "exc_info"}
    )
    assert "in driver" in shown


def test_facts_are_utf8(caplog: pytest.LogCaptureFixture) -> None:
    """The name of a file that is not UTF-8 is logged with escapes, so that every handler can write it."""
    log_events.FILE_SKIPPED.log(file="/notes/\udcff.json")
    [record] = caplog.records
    assert "/notes/\\udcff.json" == vars(record)["file"]
    assert "/notes/\\udcff.json" in record.getMessage()


def test_silence_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Where its level is off, no record is made."""
    with caplog.at_level(logging.ERROR, "memory_context"):
        log_events.STORE_FAILED.log(StoreError("x"))

    assert [] == caplog.records
