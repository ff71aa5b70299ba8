"""The verb `audit`: who did what with which memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from memory_context.cli.app import NOTHING_FOUND
from memory_context.cli.filter_options import moment
from memory_context.cli.listings import Place
from memory_context.cli.open_store import only_user, opened_store
from memory_context.cli.screen import LINE, NAME, print_json, print_paged, say, table
from memory_context.model.audit import Action, AuditEntry
from memory_context.stores import SQLAuditTrail

_COLUMNS = (("at", NAME), ("action", NAME), ("key", NAME), ("agent", NAME), ("thread", LINE))


@dataclass(frozen=True, slots=True)
class Entries:
    """Which entries; None is no restriction."""

    limit: int
    key: str | None = None
    action: Action | None = None
    since: str | None = None
    until: str | None = None


def show_trail(place: Place, wanted: Entries, *, as_json: bool) -> int:
    """Print the entries that match, newest first; 1 if there are none."""
    found = _found(place, wanted)
    shown = found[: wanted.limit]
    if as_json:
        print_json({"entries": [asdict(entry) for entry in shown], "more": len(found) > len(shown)})
    elif shown:
        print_paged(table(_COLUMNS, [_row(entry) for entry in shown]))
        if len(found) > len(shown):
            say(f"the newest {len(shown):,}; there are more: --limit, or --until")
    else:
        say("no entries match")
    return 0 if shown else NOTHING_FOUND


def _found(place: Place, wanted: Entries) -> Sequence[AuditEntry]:
    """The entries, and one more than is wanted, where there is one."""
    with opened_store(place.store, "audit") as store:
        since, until = (moment(text) if text else None for text in (wanted.since, wanted.until))
        user = place.user or only_user(store)
        entries = SQLAuditTrail(store).entries(
            user, key=wanted.key, action=wanted.action, since=since, until=until
        )
        return list(islice(entries, wanted.limit + 1))


def _row(entry: AuditEntry) -> list[str]:
    at = f"{entry.at.astimezone():%Y-%m-%d %H:%M:%S}"
    return [at, entry.action, entry.memory_key, entry.agent_id or "", entry.thread_id or ""]
