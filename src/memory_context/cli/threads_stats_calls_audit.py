"""The commands `threads`, `stats`, `calls` and `audit`: what is stored, what models were sent, and who did what."""

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import FIND, NOTHING_FOUND, app
from memory_context.cli.command_output import (
    LINE,
    NAME,
    NUMBER,
    TIME,
    local,
    page_facts,
    print_json,
    print_page,
    print_paged,
    say,
    table,
)
from memory_context.cli.filter_options import period
from memory_context.cli.open_store_and_user import chosen_user, opened, opened_store
from memory_context.model.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from memory_context.model.call_log_records import CallRecord, CallTotals
    from memory_context.stores.sql.listings_and_totals_of_memories import CatalogTotal


@app.command(rich_help_panel=FIND)
def threads(
    *,
    store: opt.Store = None,
    user: opt.User = None,
    limit: opt.Limit = 50,
    offset: opt.Offset = 0,
    as_json: opt.AsJson = False,
) -> int:
    """List conversations, the last used first. Only those that stored something are listed."""
    from memory_context.stores.sql.listings_and_totals_of_memories import Catalog

    with opened_store(store, "threads") as database:
        catalog = Catalog(database)
        scope = Scope(chosen_user(database, user))
        found = catalog.threads(scope, limit=limit, offset=offset)
        total = catalog.count_threads(scope.user_id)
    if as_json:
        conversations = [thread._asdict() for thread in found]
        print_json({"threads": conversations, **page_facts(limit, offset, total)})
    else:
        rows = [
            (t.thread_id, f"{t.memories:,}", f"{t.tokens:,}", local(t.first), local(t.last))
            for t in found
        ]
        columns = [("conversation", NAME), ("memories", NUMBER), ("tokens", NUMBER)]
        columns += [("first", TIME), ("last", TIME)]
        print_page(columns, rows, offset, total, "conversations")
    return 0 if found else NOTHING_FOUND


@app.command(rich_help_panel=FIND)
def stats(*, store: opt.Store = None, user: opt.OneUser = None, as_json: opt.AsJson = False) -> int:
    """Show how much is stored, by user, type and tier."""
    from rich.filesize import decimal

    from memory_context.display.safe_terminal_output import facts
    from memory_context.memory.gc_by_retention_rules import count_expired
    from memory_context.stores.protocol import keeper_of
    from memory_context.stores.sql.listings_and_totals_of_memories import Catalog

    with opened_store(store, "stats") as database:
        user_id = chosen_user(database, user) if user else None
        catalog = Catalog(database)
        totals = {
            "users": catalog.totals("user_id", user_id),
            "types": catalog.totals("memory_type", user_id),
            "tiers": catalog.totals("tier", user_id),
        }
        database_bytes = catalog.size()
        sums = dict[str, int]()
        for name in ("memories", "evicted", "tokens", "characters"):
            sums[name] = sum(getattr(total, name) for total in totals["users"])
        sums |= {
            "conversations": catalog.count_threads(user_id),
            "expired": sum(count_expired(database, user_id=user_id).values()),
            "not_indexed": catalog.count_pending(user_id),
        }
        keeper = keeper_of(database)
        kept: list[CallTotals] = []
        if keeper:
            for total in totals["users"]:
                kept += keeper.call_totals(total.name)
        sums |= {
            "model_calls": sum(one.calls for one in kept),
            "tokens_sent": sum(one.tokens_sent for one in kept),
            "tokens_avoided": sum(one.tokens_avoided for one in kept),
        }
    if as_json:
        tables = {name: [total._asdict() for total in rows] for name, rows in totals.items()}
        print_json({"database_bytes": database_bytes, **sums, **tables})
    else:
        rows = [(name.replace("_", " "), f"{value:,}") for name, value in sums.items()]
        sections: list[RenderableType] = [facts([("database", decimal(database_bytes)), *rows])]
        for name, kinds in totals.items():
            if kinds:
                sections += ["", _totals_table(name, kinds)]
        print_paged(*sections)
    return 0 if sums["memories"] else NOTHING_FOUND


def _totals_table(plural: str, totals: "Sequence[CatalogTotal]") -> "RenderableType":
    rows = [
        (t.name, f"{t.memories:,}", f"{t.tokens:,}", f"{t.characters:,}", local(t.newest))
        for t in totals
    ]
    columns = [(plural.removesuffix("s"), NAME), ("memories", NUMBER), ("tokens", NUMBER)]
    columns += [("characters", NUMBER), ("newest", TIME)]
    return table(columns, rows)


@app.command(rich_help_panel=FIND)
def calls(
    *,
    store: opt.Store = None,
    user: opt.User = None,
    thread: Annotated[
        str | None,
        typer.Option("--thread", metavar="ID", help="Each call and decision of this conversation."),
    ] = None,
    limit: opt.Limit = 50,
    as_json: opt.AsJson = False,
) -> int:
    """Show what models were sent, and what that saved. By conversation, or call by call with --thread."""
    found: Sequence[CallTotals | CallRecord]
    with opened(store, user, "calls") as memory:
        # One more than wanted, to know whether there are more.
        found = (
            memory.call_totals()
            if thread is None
            else memory.calls(thread_id=thread, limit=limit + 1)
        )
    shown = found[:limit]
    if as_json:
        print_json({"calls": [asdict(one) for one in shown], "more": len(found) > limit})
    elif not shown:
        what = "are kept" if thread is None else "match"
        say(f"no calls {what}: agents that run on this store add them; each is kept for 30 days")
    else:
        print_paged(_call_table(shown))
        if len(found) > limit:
            say(f"the newest {limit:,}; for more: --limit")
    return 0 if shown else NOTHING_FOUND


def _call_table(shown: "Sequence[CallTotals | CallRecord]") -> "RenderableType":
    from memory_context.model.call_log_records import CallTotals, ModelCall

    rows = list[tuple[str, ...]]()
    for one in shown:
        if isinstance(one, CallTotals):
            totals = (one.calls, one.tokens_full, one.tokens_sent, one.tokens_avoided)
            numbers = (f"{number:,}" for number in totals)
            rows.append((one.thread_id or "", *numbers, local(one.last)))
            continue
        what = one.what
        at = f"{what.at.astimezone():%m-%d %H:%M:%S}"
        if isinstance(what, ModelCall):
            changes = [f"{verb} {', '.join(keys)}" for verb, keys in what.changes()]
            summary = "; ".join(changes) or "nothing new"
            rows.append((at, f"{what.tokens_full:,}", f"{what.tokens_sent:,}", summary))
        else:
            opened_keys = ", ".join((*what.opened, *what.found)) or "nothing"
            rows.append((at, "", "", f"{what.judge} opened {opened_keys}: {what.why}"))
    if isinstance(shown[0], CallTotals):
        columns = [("conversation", NAME), ("calls", NUMBER), ("in full", NUMBER)]
        columns += [("sent", NUMBER), ("avoided", NUMBER), ("last", TIME)]
    else:
        columns = [("at", TIME), ("in full", NUMBER), ("sent", NUMBER), ("what", LINE)]
    return table(columns, rows)


@app.command(rich_help_panel=FIND)
def audit(
    *,
    store: opt.Store = None,
    user: opt.User = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="Only this memory, even if it was deleted.",
        ),
    ] = None,
    action: Annotated[
        Literal["stored", "recalled", "expanded", "passed", "confirmed", "deleted"] | None,
        typer.Option(help="Only this action."),
    ] = None,
    since: opt.Since = None,
    until: opt.Until = None,
    limit: opt.Limit = 50,
    as_json: opt.AsJson = False,
) -> int:
    """Show who did what with which memory, newest first. The audit trail must have been switched on."""
    from memory_context.stores import SQLAuditTrail

    with opened_store(store, "audit") as database:
        # A trail may have a database of its own, in which no user has a memory.
        user_id = user or chosen_user(database, user)
        entries = SQLAuditTrail(database).entries(
            user_id,
            key=key,
            action=action,
            **period(since, until),
        )
        # One more than wanted, to know whether there are more.
        found = list(islice(entries, limit + 1))
        if not found:
            chosen_user(database, user)  # its error says that the name may be mistyped
    shown = found[:limit]
    more = len(found) > limit
    if as_json:
        print_json({"entries": [asdict(entry) for entry in shown], "more": more})
    elif shown:
        rows = [
            (
                f"{entry.at.astimezone():%Y-%m-%d %H:%M:%S}",
                entry.action,
                entry.memory_key,
                entry.agent_id or "",
                entry.thread_id or "",
            )
            for entry in shown
        ]
        columns = [("at", TIME), ("action", NAME), ("key", NAME), ("agent", NAME), ("thread", LINE)]
        print_paged(table(columns, rows))
        if more:
            say(f"the newest {limit:,}; for more: --limit, or --until")
    else:
        say(
            "no entries match; only commands with --audit, and programs with audit=True, write them"
        )
    return 0 if shown else NOTHING_FOUND
