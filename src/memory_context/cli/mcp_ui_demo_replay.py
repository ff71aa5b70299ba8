"""The commands `ui`, `mcp`, `demo` and `replay`, which show memories, serve them, and try out and measure the library."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import RUN, app
from memory_context.cli.open_store_and_user import (
    check_given,
    chosen_user,
    login,
    opened_store,
)

_PORT = "Serve streamable HTTP on this port (0: any free one) instead of standard input and output."
_RECORDINGS = (
    "Recordings as JSON or JSON Lines, also gzipped: OpenAI and Anthropic chats, states of AutoGen, Agent Framework and "
    "LangGraph, LangChain dumps, OpenTelemetry spans, LangSmith runs, Claude Code sessions."
)

_POLICY = "Replay this policy instead of the default ones: memory:threshold=800; repeatable. --explain lists them."

_PRICE = "What tokens cost: a model's name, or dollars per million input and cached input tokens, such as 2.50/0.25."


@app.command(rich_help_panel=RUN)
def ui(
    *,
    store: opt.Store = None,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            envvar="MEMORY_CONTEXT_USER",
            help="Whose memories are shown first, instead of those of the user with the most.",
            callback=opt.check_user,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="PORT", help="Listen on this port; 0: any free one."
        ),
    ] = 0,
    audit: opt.Audited = False,
) -> None:
    """Show what agents stored, sent and brought back, in a browser. The command prints the address."""
    from memory_context.stores.sql.listings_and_totals_of_memories import Catalog
    from memory_context.ui import Looked, serve_ui

    with opened_store(store, "ui") as memories:
        # Also without a user: a database that cannot be read is an error here, not on each page.
        # An empty one is none: something may be stored later.
        if Catalog(memories).users() and user:
            chosen_user(memories, user)
        serve_ui(Looked(memories, user, check_given(store, "ui"), login(audit=audit)), port)


@app.command(rich_help_panel=RUN)
def mcp(  # noqa: PLR0913 - each is a setting of the server, with a default
    *,
    store: opt.Store = None,
    user: Annotated[
        str,
        typer.Option(
            envvar="MEMORY_CONTEXT_USER",
            metavar="ID",
            help="Whose memories.",
            callback=opt.check_user,
        ),
    ],
    session: Annotated[
        str,
        typer.Option(
            metavar="ID", help="The conversation that notes of the session tier belong to."
        ),
    ] = "mcp",
    project: Annotated[
        str,
        typer.Option(metavar="ID", help="The project that notes of the project tier belong to."),
    ] = "default",
    http: Annotated[int | None, typer.Option(min=0, max=65535, metavar="PORT", help=_PORT)] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --http: listen on this address of the machine.",
            show_default="127.0.0.1",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=200,
            metavar="N",
            help="The maximum size of a tool's answer, in tokens.",
            show_default="500",
        ),
    ] = None,
    page_tokens: Annotated[
        int | None,
        typer.Option(
            min=200,
            metavar="N",
            help="The maximum size of a page of retrieve_memory, in tokens.",
            show_default="--max-tokens, or 4000",
        ),
    ] = None,
    audit: opt.Audited = False,
) -> None:
    """Serve a user's memories to MCP clients. The server uses standard input and output, or HTTP."""
    from memory_context.mcp import serve

    serve(
        check_given(store, "mcp"),
        user,
        session,
        project,
        audit=audit,
        http=http,
        host=host,
        max_tokens=max_tokens,
        page_tokens=page_tokens,
    )


@app.command(rich_help_panel=RUN)
def demo(
    *,
    host: Annotated[
        Literal["autogen", "langchain", "agent-framework"], typer.Option(help="The framework.")
    ] = "autogen",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Ask a real model; its key is read from the environment."
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask the model at this OpenAI-compatible server."),
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help=f"Use this database, and keep it: {opt.URLS}.")
    ] = None,
) -> None:
    """Watch an agent at work on this machine. Its large outputs are folded, stored and recalled."""
    from memory_context.demo import run_demo

    run_demo(host=host, model=model, base_url=base_url, store_url=store)


@app.command(rich_help_panel=RUN)
def replay(  # noqa: PLR0913 - each is an option
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help=_RECORDINGS,
            show_default=False,
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    *,
    policy: Annotated[
        list[str] | None, typer.Option(metavar="NAME[:KEY=VALUE,…]", help=_POLICY)
    ] = None,
    threshold: Annotated[
        int,
        typer.Option(
            min=50, metavar="TOKENS", help="Fold larger outputs, in the default policies."
        ),
    ] = 500,
    price: Annotated[str, typer.Option(metavar="MODEL or IN/CACHED", help=_PRICE)] = "gpt-5.4",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML report with a chart.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Replay this run alone, by one policy, and show it call by call."
        ),
    ] = None,
    call: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="With --run: show the prompt of this call."),
    ] = None,
    skip_damaged: Annotated[
        bool,
        typer.Option(
            "--skip-damaged", help="Continue past damaged files, and report what is left out."
        ),
    ] = False,
    as_json: opt.AsJson = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the figures and the policies.")
    ] = False,
) -> None:
    """Compare what recorded runs would cost under other policies. No model is asked."""
    from memory_context.replay.command import ReplayOptions, run_replay

    run_replay(
        ReplayOptions(
            tuple(files or ()),
            tuple(policy or ()),
            threshold,
            price,
            report,
            json=as_json,
            explain=explain,
            run=run,
            call=call,
            skip_damaged=skip_damaged,
        )
    )
