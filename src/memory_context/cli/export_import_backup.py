"""The commands `export`, `import` and `backup`, which copy memories to files and to other stores."""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import FAILED, MOVE, NOTHING_FOUND, app
from memory_context.cli.command_output import print_json, print_paged, say
from memory_context.cli.open_store_and_user import check_given, opened_store
from memory_context.cli.progress_and_ctrl_c import interruptible
from memory_context.exceptions import InvalidArgumentError

_SOURCE = (
    "A file written by export, or the URL of another store: sqlite:///memory.db, file:///folder, …"
)
PROBLEMS_SHOWN = 10


@app.command("export", rich_help_panel=MOVE)
def export_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The file to write; compressed if its name ends in .gz."
        ),
    ],
    *,
    store: opt.Store = None,
    user: opt.OneUser = None,
    as_json: opt.AsJson = False,
) -> None:
    """Write everything in a store to a JSON Lines file. Evicted memories and deletions are included."""
    from rich.filesize import decimal

    from memory_context.memory.copy_export_import import ALL_USERS, export_memories
    from memory_context.text.describe.description import counted

    if str(file) == "-":
        raise InvalidArgumentError("export writes a file, not standard output: give its name")
    with (
        opened_store(store, "export") as database,
        interruptible(
            "exporting", "The file was not written; an existing one is unchanged."
        ) as report,
    ):
        exported = export_memories(database, file, user_id=user or ALL_USERS, progress=report)
    if as_json:
        print_json(asdict(exported))
    else:
        memories = counted(exported.memories, "memory")
        deletions = counted(exported.deletions, "deletion")
        print_paged(f"{file}: {memories}, {deletions}, {decimal(exported.size)}")


@app.command("import", rich_help_panel=MOVE)
def import_(
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help=_SOURCE)],
    *,
    store: opt.Store = None,
    user: opt.OneUser = None,
    keep_origins: Annotated[
        bool,
        typer.Option(
            "--keep-origins", help="Keep the origins stated in the file, your own backup."
        ),
    ] = False,
    as_json: opt.AsJson = False,
) -> int:
    """Import a file, or another store, into a store. The store is created if it does not exist."""
    from memory_context.memory.copy_export_import import ALL_USERS, copy_memories, import_memories
    from memory_context.stores import as_store
    from memory_context.stores.store_of_a_url import database_url
    from memory_context.text.describe.description import counted

    if source == "-":
        raise InvalidArgumentError("import reads a file, not standard input: give its name")
    user_id = user or ALL_USERS
    with (
        closing(as_store(check_given(store, "import"))) as target,
        interruptible(
            "importing", "What was written stays; run import again to write the rest."
        ) as report,
    ):
        if "://" in source or database_url(source).startswith("file:"):
            with opened_store(source, "import") as other:
                done = copy_memories(other, target, user_id=user_id, progress=report)
        else:
            done = import_memories(
                target, source, user_id=user_id, keep_origins=keep_origins, progress=report
            )
    is_unknown = user is not None and not done.written + done.unchanged + len(done.conflicts)
    if is_unknown:
        say(f"there is nothing of a user {user!r} in {source}")
    if as_json:
        print_json(asdict(done))
    else:
        written = counted(done.written, "record")
        print_paged(f"{written} written, {done.unchanged:,} unchanged")
        problems = [f"{one.memory_key} of {one.user_id}: {one.reason}" for one in done.conflicts]
        problems += [f"line {one.line}: {one.reason}" for one in done.damaged]
        for problem in problems[:PROBLEMS_SHOWN]:
            say(f"not written: {problem}")
        if len(problems) > PROBLEMS_SHOWN:
            say(f"and {len(problems) - PROBLEMS_SHOWN:,} more")
        if not done.complete:
            say("the file is truncated: it holds less than was exported")
    if done.conflicts or done.damaged or not done.complete:
        return FAILED
    return NOTHING_FOUND if is_unknown else 0


@app.command(rich_help_panel=MOVE)
def backup(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="The folder for the copies; created if it is missing."
        ),
    ],
    *,
    store: opt.Store = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Keep the newest N copies, remove older ones."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Copy a SQLite database, which may be in use, to a new file."""
    from rich.filesize import decimal

    from memory_context.memory.backup_files import backup_database

    with (
        opened_store(store, "backup") as database,
        interruptible("copying", "No copy was made; older copies are unchanged.") as report,
    ):
        copied = backup_database(database, folder, keep=keep, progress=report)
    if as_json:
        print_json(asdict(copied))
    else:
        removed = [f"removed {path}" for path in copied.removed]
        print_paged(f"{copied.path}: {decimal(copied.size)}", *removed)
