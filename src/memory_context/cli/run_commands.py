"""The verbs that run agents, made up or recorded: demo, replay."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memory_context.cli.app import app
from memory_context.cli.options import URLS, AsJson

_SCENARIO = "short: an agent and two questions. long: a team of agents, 200 turns under a limit of 8,000 tokens."
_MODEL = "Ask a real model; its key stands in the environment. Not for the long scenario, which would cost money."
_RECORDINGS = "Recordings: OpenAI-style chats (JSON lines or JSON, .gz too), AutoGen's saved states, LangChain's dumps."
_REPLAYED = "Replay this one, as memory:threshold=800, and not the usual ones; repeatable. --explain names them."


class Scenario(StrEnum):
    """What the demo shows."""

    SHORT = "short"
    LONG = "long"


@app.command()
def demo(
    *,
    scenario: Annotated[Scenario, typer.Option(help=_SCENARIO)] = Scenario.SHORT,
    turns: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="How long the long scenario lasts.", show_default="200"
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help=_MODEL)] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask it at this OpenAI-compatible server.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help=f"Use this database, and keep it: {URLS}.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the database that the demo makes.")
    ] = False,
) -> None:
    """Watch an agent at work on this machine: its large outputs are folded, stored and recalled."""
    from memory_context.demo import DemoOptions, run_demo  # noqa: PLC0415 - loads a database library

    long = scenario is Scenario.LONG
    run_demo(
        DemoOptions(model=model, base_url=base_url, store=store, keep=keep, long=long, turns=turns)
    )


@app.command()
def replay(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help=_RECORDINGS, show_default=False)
    ] = None,
    *,
    policy: Annotated[
        list[str] | None, typer.Option(metavar="NAME[:KEY=VALUE,…]", help=_REPLAYED)
    ] = None,
    threshold: Annotated[
        int,
        typer.Option(
            min=50, metavar="TOKENS", help="Of the usual policies: larger outputs are folded."
        ),
    ] = 500,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML report with charts.")
    ] = None,
    as_json: AsJson = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what the figures and the policies mean.")
    ] = False,
) -> None:
    """What recorded runs would have cost under other policies, and what would have been in sight; asks no model."""
    from memory_context.replay import ReplayOptions, run_replay  # noqa: PLC0415 - loads AutoGen

    run_replay(
        ReplayOptions(
            tuple(files or ()),
            tuple(policy or ()),
            threshold,
            report,
            json=as_json,
            explain=explain,
        )
    )
