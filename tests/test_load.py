"""Many agents in several processes on one database: `benchmarks/load.py`, short here, long under ``make soak``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

LOAD = Path(__file__).with_name("patient_load.py")
LONG = pytest.mark.soak
SMALL = ["--processes", "2", "--agents", "4", "--seconds", "10"]


def run_load(url: str, *options: str) -> list[str]:
    """What it prints; that it found nothing wrong."""
    command = [sys.executable, "-W", "ignore", str(LOAD), url, *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == run.returncode, run.stdout[-3000:] + run.stderr[-3000:]
    return run.stdout.splitlines()


@pytest.mark.parametrize(
    ("fixture", "options"),
    [
        ("postgres_url", ["--processes", "2", "--agents", "6", "--seconds", "10"]),
        ("sqlite_url", SMALL),
        ("postgres_url", [*SMALL, "--codec", "encrypted"]),
        ("sqlite_url", [*SMALL, "--codec", "compressed"]),
        pytest.param(
            "postgres_url", ["--processes", "8", "--agents", "32", "--seconds", "300"], marks=LONG
        ),
        pytest.param(
            "sqlite_url", ["--processes", "4", "--agents", "32", "--seconds", "300"], marks=LONG
        ),
    ],
)
def test_agents_side_by_side(
    request: pytest.FixtureRequest,
    fixture: str,
    options: list[str],
    record_property: Any,
) -> None:
    """No run fails, no call to the store fails, and every reference that an agent was given is redeemed."""
    *_, counts, pool, server, verdict = run_load(request.getfixturevalue(fixture), *options)

    record_property("told", f"{' '.join(options)} on {fixture}: {verdict} {counts} {pool} {server}")
    assert verdict.endswith("0 lost; no error")


@pytest.mark.parametrize("seconds", [30, pytest.param(120, marks=LONG)])
def test_connections_are_cut(
    postgres_url: str,
    seconds: int,
    record_property: Any,
) -> None:
    """Every connection is cut again and again: runs go on, folding begins again, nothing that was folded is lost."""
    *_, server, verdict = run_load(
        postgres_url, "--processes", "2", "--agents", "6", "--seconds", str(seconds), "--cut", "4"
    )

    record_property("told", f"{seconds} s: {server}; {verdict}")
    assert verdict.endswith("0 lost; no error")
    assert "; 0 were cut" not in server
