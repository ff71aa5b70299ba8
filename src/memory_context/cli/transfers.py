"""What the verbs `export`, `import`, `backup` and `consolidate` do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from memory_context.cli.app import FAILED
from memory_context.cli.listings import Place
from memory_context.cli.maintenance import told
from memory_context.cli.open_store import check_given, opened, opened_store
from memory_context.cli.screen import counted, print_json, print_paged, say, size
from memory_context.display import plain
from memory_context.memory.consolidation import ConsolidationReport, MergedNotes, consolidate
from memory_context.memory.transfer import (
    ALL_USERS,
    Transferred,
    User,
    backup_database,
    copy_memories,
    export_memories,
    import_memories,
)
from memory_context.stores import as_store
from memory_context.stores.opening import database_url

DETAILS_SHOWN = 10


def write_file(place: Place, path: Path, *, as_json: bool) -> None:
    """Export, and say what the file holds."""
    ending = "The file is not there, or as it was."
    with opened_store(place.store, "export") as store, told("exporting", ending) as (_, step):
        found = export_memories(store, path, user_id=_user(place), progress=step)
    if as_json:
        print_json(asdict(found))
        return
    memories = counted(found.memories, "memory", "memories")
    deletions = counted(found.deletions, "deletion", "deletions")
    print_paged(plain(f"{path}: {memories}, {deletions}, {size(found.size)}"))


def read_into(place: Place, source: str, *, as_json: bool) -> int:
    """Import, and say what came of it; 2 if something could not be written."""
    ending = "What was written is there; do it again to write the rest."
    target, user = as_store(check_given(place.store, "import")), _user(place)
    try:
        with told("importing", ending) as (_, step):
            if "://" in source or database_url(source).startswith("file:"):
                with opened_store(source, "import") as other:
                    found = copy_memories(other, target, user_id=user, progress=step)
            else:
                found = import_memories(target, source, user_id=user, progress=step)
    finally:
        target.close()
    if as_json:
        print_json(asdict(found))
    else:
        _tell(found)
    return FAILED if found.conflicts or found.damaged or not found.complete else 0


def _user(place: Place) -> User:
    return place.user or ALL_USERS


def _tell(found: Transferred) -> None:
    written = counted(found.written, "record", "records")
    print_paged(f"{written} written, {found.unchanged:,} there already")
    for name, problems in (
        ("not written, something else is there", found.conflicts),
        ("damaged", found.damaged),
    ):
        for problem in problems[:DETAILS_SHOWN]:
            say(f"{name}: {', '.join(f'{key} {value}' for key, value in asdict(problem).items())}")
        if len(problems) > DETAILS_SHOWN:
            say(f"{name}: {len(problems) - DETAILS_SHOWN:,} more")
    if not found.complete:
        say("the file ends before its end was written: it holds less than was exported")


def copy_database(store: str | None, folder: Path, keep: int | None, *, as_json: bool) -> None:
    """Back up, and say what was written and removed."""
    ending = "There is no new copy; the older ones are there."
    with opened_store(store, "backup") as database, told("copying", ending) as (_, step):
        found = backup_database(database, folder, keep=keep, progress=step)
    if as_json:
        print_json(asdict(found))
        return
    print_paged(
        plain(f"{found.path}: {size(found.size)}"),
        *(plain(f"removed {path}") for path in found.removed),
    )


@dataclass(frozen=True, slots=True)
class Notes:
    """Which notes, and how much they have in common to become one."""

    tier: str
    tier_id: str | None
    similarity: float


def merge_notes(place: Place, notes: Notes, *, dry_run: bool, as_json: bool) -> None:
    """Consolidate, and say which notes became one."""
    ending = "What became one stays so, the rest is as it was."
    with (
        opened(place.store, place.user, "consolidate") as memory,
        told("consolidating", ending) as (_, step),
    ):
        found = consolidate(
            memory,
            notes.tier,
            notes.tier_id,
            similarity=notes.similarity,
            dry_run=dry_run,
            progress=step,
        )
    if as_json:
        print_json(asdict(found) | {"tokens_saved": found.tokens_saved})
    else:
        print_paged(*(plain(_line(group)) for group in found.groups), _sum(found))


def _line(group: MergedNotes) -> str:
    tokens = f"{group.tokens_before:,} -> {group.tokens_after:,} tokens"
    return f"{group.key or '(one note)'} <- {', '.join(group.sources)}: {tokens}"


def _sum(found: ConsolidationReport) -> str:
    merged = sum(len(group.sources) for group in found.groups)
    done = "would become" if found.dry_run else "became"
    saved = f"{found.tokens_saved:,} tokens less"
    return f"of {counted(found.notes, 'note', 'notes')}, {merged:,} {done} {len(found.groups):,}: {saved}"
