"""The verbs `reindex`, `gc`, `doctor` and `migrate`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime

from rich.text import Text

from memory_context.cli.app import FAILED, NOTHING_FOUND
from memory_context.cli.listings import Place
from memory_context.cli.open_store import check_given, login, opened_store
from memory_context.cli.screen import (
    Step,
    confirm,
    counted,
    print_json,
    print_paged,
    progress,
    say,
    screen,
)
from memory_context.display import plain
from memory_context.exceptions import InvalidArgumentError, StoreError
from memory_context.memory.health import Check, CheckStatus, examined
from memory_context.memory.manager import MemoryManager
from memory_context.memory.retention import RetentionRule, count_expired, delete_expired
from memory_context.model.scope import Scope
from memory_context.stores import Administration, SQLAlchemyStore, as_store
from memory_context.stores.opening import database_url
from memory_context.stores.sql.migrate import HEAD

_COUNTED = ("memories", "deletions", "audit_entries", "reads")
_STYLES = {
    CheckStatus.OK: "green",
    CheckStatus.NOTE: "dim",
    CheckStatus.WARNING: "yellow",
    CheckStatus.PROBLEM: "bold red",
}


@dataclass(slots=True)
class Work:
    """How far a long work is."""

    done: int = 0
    of: int = 0


@contextmanager
def told(label: str, ending: str) -> Generator[tuple[Work, Step]]:
    """A bar while work goes on. An interruption says how far it was, and what that means."""
    work = Work()
    try:
        with progress(label) as step:

            def both(done: int, of: int) -> None:
                work.done, work.of = done, of
                step(done, of)

            yield work, both
    except KeyboardInterrupt:
        say(f"Interrupted after {work.done:,} of {work.of:,}. {ending}")
        raise


def make_index(store: str | None, embedder: str | None, *, as_json: bool) -> None:
    """Index everything anew."""
    ending = "The next search, or reindex, does the rest."
    with (
        opened_store(store, "reindex", embedder) as database,
        told("indexing", ending) as (_, step),
    ):
        found = MemoryManager(database, user_id="everybody").reindex(step)
    if as_json:
        print_json({"indexed": found})
    else:
        print_paged(f"indexed {counted(found, 'memory', 'memories')}")


def collect_garbage(
    place: Place, keep: Sequence[str], *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete what is over, after a question.

    Raises:
        InvalidArgumentError: What is to be kept is no rule; or there is nobody to ask.
    """
    user = Scope(place.user).user_id if place.user else None
    rules = [RetentionRule.parse(text) for text in keep]
    deleted = 0
    with opened_store(place.store, "gc") as store:
        expired = count_expired(store, rules, user_id=user)
        total = sum(expired.values())
        if total and not dry_run:
            what = f"{counted(total, 'memory', 'memories')} of {_users(expired)}"
            confirm(f"Delete {what}, whose time is over, for good?", yes=yes)
            with told("deleting", "What was deleted is gone, the rest is as it was.") as (_, step):
                deleted = delete_expired(
                    store,
                    rules,
                    user_id=user,
                    progress=step,
                    audit=place.audit,
                    agent_id=login(audit=place.audit),
                )
    if as_json:
        print_json({"expired": total, "deleted": deleted, "users": expired})
    else:
        done = "would delete" if dry_run else "deleted"
        print_paged(
            f"{done} {counted(total if dry_run else deleted, 'memory', 'memories')} whose time is over"
        )


def remove_user(store: str | None, user: str, *, yes: bool, as_json: bool) -> int:
    """Remove every trace of a user, after a question; 1 if there was none.

    Raises:
        StoreError: The store could not do it, or is not one of this library's.
        InvalidArgumentError: There is nobody to ask.
    """
    with opened_store(store, "forget-user") as database:
        if not isinstance(database, Administration):
            message = f"{database!r} cannot forget users"
            raise StoreError(message)
        confirm(f"Remove every trace of {user}: memories, deletions, audit trail?", yes=yes)
        receipt = database.forget_user(user)
    facts = asdict(receipt)
    if as_json:
        print_json(facts)
    else:
        print_paged(
            *(plain(f"{name.replace('_', ' ')}: {_fact(value)}") for name, value in facts.items())
        )
    found = any(facts[name] for name in _COUNTED)
    return 0 if found else NOTHING_FOUND


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:%Y-%m-%d %H:%M} UTC"
        if isinstance(value, datetime)
        else str(value)
    )


def _users(expired: dict[str, int]) -> str:
    return f"{len(expired):,} users" if len(expired) > 1 else next(iter(expired))


def examine(store: str | None, *, as_json: bool) -> int:
    """Print what is well and what is not, and what to do; 2 if something has to be done."""
    checks: list[Check] = []
    console = screen()
    for check in examined(store):
        checks.append(check)
        if not as_json:
            console.print(_line(check))
    well = all(check.status is not CheckStatus.PROBLEM for check in checks)
    if as_json:
        print_json({"ok": well, "checks": [asdict(check) for check in checks]})
    return 0 if well else FAILED


def _line(check: Check) -> Text:
    line = Text(f"{check.status.value:<8}", style=_STYLES[check.status])
    line.append_text(plain(f"{check.name}: {check.found}"))
    if check.remedy:
        line.append_text(plain(f"\n{'':8}-> {check.remedy}"))
    return line


def migrate_schema(store: str | None, *, as_json: bool) -> None:
    """Create or upgrade the schema."""
    database = as_store(database_url(check_given(store, "migrate")))
    if not isinstance(database, SQLAlchemyStore):
        message = f"{database!r} has no schema"
        raise InvalidArgumentError(message)
    with database:
        before = database.migrate()
        name = database.url
    if as_json:
        print_json({"store": name, "before": before, "after": HEAD})
    else:
        print_paged(plain(f"{name or 'the database in memory'}: {_migrated(before, HEAD)}"))


def _migrated(before: str | None, after: str) -> str:
    if before is None:
        return f"there was no schema; created revision {after}"
    return (
        f"revision {after} already, nothing to do"
        if before == after
        else f"migrated from revision {before} to {after}"
    )
