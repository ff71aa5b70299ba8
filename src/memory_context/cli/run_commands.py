"""The verbs that run agents, made up or recorded: demo, replay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memory_context.cli.app import app
from memory_context.cli.options import URLS, AsJson

_MODEL = "Ask a real model; its key is read from the environment."
_RECORDINGS = "Recordings: OpenAI-style chats (JSON lines or JSON, .gz too), AutoGen's saved states, LangChain's dumps."
_REPLAYED = "Replay this one, as memory:threshold=800, and not the usual ones; repeatable. --explain names them."


@app.command()
def demo(
    *,
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
    from memory_context.demo import run_demo  # noqa: PLC0415 - loads a database library

    run_demo(model=model, base_url=base_url, store_url=store, keep=keep)


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
