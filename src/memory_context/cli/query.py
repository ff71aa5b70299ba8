"""The command `query`, which runs SQL over the rows of stored texts."""

import sys
from typing import Annotated

import typer

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import FIND, NOTHING_FOUND, app
from memory_context.cli.command_output import (
    NAME,
    NUMBER,
    check_one_form,
    print_json,
    print_paged,
    say,
    table,
)
from memory_context.cli.open_store_and_user import opened


@app.command(rich_help_panel=FIND)
def query(
    sql: Annotated[
        str,
        typer.Argument(metavar="SQL", help="One SELECT; each memory is a table named by its key."),
    ],
    *,
    store: opt.Store = None,
    user: opt.User = None,
    save_as: Annotated[
        str | None, typer.Option(metavar="KEY", help="Keep the answer as a memory under this key.")
    ] = None,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
    as_csv: opt.AsCsv = False,
) -> int:
    """Run SQL over the rows of memories, such as tables and logs."""
    from memory_context.text.describe.description import counted

    check_one_form(json=as_json, csv=as_csv)
    with opened(store, user, "query", audit=audit) as memory:
        result = memory.query(sql, save_as=save_as)
    if as_json:
        print_json(
            {
                "columns": result.columns,
                "rows": result.rows,
                "sources": result.sources,
                "key": result.key,
            }
        )
    elif as_csv:
        sys.stdout.write(f"{result.to_csv()}\n")
    elif result.rows:
        columns = list[tuple[str, str]]()
        for index, name in enumerate(result.columns):
            numeric = all(not isinstance(row[index], str) for row in result.rows)
            columns.append((name, NUMBER if numeric else NAME))
        rows = [list(map(_shown, row)) for row in result.rows]
        print_paged(table(columns, rows))
    if not as_json:
        say(counted(len(result), "row"))
    if result.key:
        say(f"kept as {result.key}")
    return 0 if result.rows else NOTHING_FOUND


def _shown(cell: object) -> str:
    return "" if cell is None else str(cell)
