"""The commands `reindex`, `doctor` and `migrate`, which maintain a database."""

from typing import TYPE_CHECKING, cast

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import FAILED, KEEP, app
from memory_context.cli.command_output import print_json, print_paged
from memory_context.cli.open_store_and_user import (
    check_given,
    database_here,
    opened_store,
)
from memory_context.cli.progress_and_ctrl_c import interruptible

if TYPE_CHECKING:
    from memory_context.stores import SQLAlchemyStore


@app.command(rich_help_panel=KEEP)
def reindex(
    *, store: opt.Store = None, embedder: opt.Embedder = None, as_json: opt.AsJson = False
) -> None:
    """Rebuild the search index, and compute missing vectors."""
    from memory_context.memory.manager import MemoryManager
    from memory_context.text.describe.description import counted

    with (
        opened_store(store, "reindex", embedder) as database,
        interruptible("indexing", "The next search or reindex will do the rest.") as report,
    ):
        indexed = MemoryManager(database, user_id="everybody").reindex(report)
    if as_json:
        print_json({"indexed": indexed})
    else:
        print_paged(f"indexed {counted(indexed, 'memory')}")


@app.command(rich_help_panel=KEEP)
def doctor(*, store: opt.Store = None, as_json: opt.AsJson = False) -> int:
    """Check the database and the installation, and say what to do."""
    from memory_context.memory.doctor_checks_and_advice import examined

    checks = list(examined(store or database_here()))
    well = all(check.status != "problem" for check in checks)
    if as_json:
        print_json({"ok": well, "checks": [check._asdict() for check in checks]})
    else:
        lines = list[str]()
        for check in checks:
            lines.append(f"{check.status:<8}{check.name}: {check.found}")
            if check.remedy:
                lines.append(f"{'':8}-> {check.remedy}")
        print_paged(*lines)
    return 0 if well else FAILED


@app.command(rich_help_panel=KEEP)
def migrate(*, store: opt.Store = None, as_json: opt.AsJson = False) -> None:
    """Create or upgrade the schema of a database. PostgreSQL is migrated only by this command."""
    from memory_context.stores import as_store
    from memory_context.stores.sql.migrate import HEAD
    from memory_context.stores.store_of_a_url import database_url

    opened = as_store(database_url(check_given(store, "migrate")))
    with cast("SQLAlchemyStore", opened) as database:
        before = database.migrate()
        name = database.url
    if as_json:
        print_json({"store": name, "before": before, "after": HEAD})
        return
    if before is None:
        done = f"there was no schema; created revision {HEAD}"
    elif before == HEAD:
        done = f"revision {HEAD} already, nothing to do"
    else:
        done = f"migrated from revision {before} to {HEAD}"
    print_paged(f"{name or 'the database in memory'}: {done}")
