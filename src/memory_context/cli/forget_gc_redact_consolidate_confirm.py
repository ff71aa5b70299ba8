"""The commands `confirm`, `forget`, `gc`, `forget-user`, `consolidate` and `redact`, which change what is stored."""

from dataclasses import asdict
from typing import Annotated

import typer

from memory_context.cli import options_of_several_commands as opt
from memory_context.cli.app_and_exit_codes import KEEP, NOTHING_FOUND, app
from memory_context.cli.ask_before_deleting import ask_before_deleting
from memory_context.cli.command_output import print_json, print_paged, say
from memory_context.cli.open_store_and_user import chosen_user, login, opened, opened_store
from memory_context.cli.progress_and_ctrl_c import interruptible
from memory_context.exceptions import StoreError

_KEEP = (
    "How long to keep memories: of a type (tool_output=30d), of a tier (tier:detail=12h), evicted ones (evicted=4w), or "
    "all of them, counted from the last read (=365d:read); repeatable."
)
# Fields of a receipt that are all 0 if the store had nothing of the user.
_COUNTS = ("memories", "deletions", "audit_entries", "reads", "calls")


@app.command("confirm", rich_help_panel=KEEP)
def confirm_(
    keys: opt.Keys,
    *,
    store: opt.Store = None,
    user: opt.User = None,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> None:
    """Vouch for memories that a model wrote or that were imported. They count as a person's from then on."""
    from memory_context.model.reference import key_in

    with opened(store, user, "confirm", audit=audit) as memory:
        wanted = dict.fromkeys(map(key_in, keys))
        # All are read first: if one does not exist, none is confirmed.
        items = [memory.get(key) for key in wanted]
        confirmed = [memory.confirm(item.memory_key).memory_key for item in items]
    if as_json:
        print_json({"confirmed": confirmed})
    else:
        print_paged(*(f"confirmed: {key}" for key in confirmed))


@app.command(rich_help_panel=KEEP)
def forget(
    keys: opt.Keys,
    *,
    store: opt.Store = None,
    user: opt.User = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="The reason that their references will give.")
    ] = "forgotten",
    soft: Annotated[
        bool, typer.Option("--soft", help="Only evict: no longer found, but readable by key.")
    ] = False,
    yes: opt.Yes = False,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> None:
    """Delete memories for good. If one of them does not exist, none is deleted."""
    from memory_context.model.reference import key_in
    from memory_context.text.describe.description import counted

    with opened(store, user, "forget", audit=audit) as memory:
        wanted = list(dict.fromkeys(map(key_in, keys)))
        refs = [str(memory.get(key).ref) for key in wanted]
        if not yes:
            say("\n".join(refs))
        memories = counted(len(refs), "memory")
        ask_before_deleting(
            f"Evict {memories}?" if soft else f"Delete {memories} for good?", yes=yes
        )
        forgotten = [key for key in wanted if memory.forget(key, reason=reason, soft=soft)]
    if as_json:
        print_json({"forgotten": forgotten})
    else:
        done = "evicted" if soft else "forgotten"
        print_paged(*(f"{done}: {key}" for key in forgotten))


@app.command(rich_help_panel=KEEP)
def gc(
    *,
    store: opt.Store = None,
    user: opt.OneUser = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="RULE", help=_KEEP)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many would be deleted.")
    ] = False,
    yes: opt.Yes = False,
    audit: opt.Audited = False,
    as_json: opt.AsJson = False,
) -> None:
    """Delete expired memories for good. With --keep, also those that a rule finds too old."""
    from memory_context.memory.gc_by_retention_rules import (
        RetentionRule,
        count_expired,
        delete_expired,
    )
    from memory_context.text.describe.description import counted

    rules = [RetentionRule.parse(text) for text in keep or ()]
    deleted = 0
    with opened_store(store, "gc") as database:
        user_id = chosen_user(database, user) if user else None
        expired = count_expired(database, rules, user_id=user_id)
        total = sum(expired.values())
        if total and not dry_run:
            whose = f"{len(expired):,} users" if len(expired) > 1 else next(iter(expired))
            memories = counted(total, "expired memory")
            ask_before_deleting(f"Delete {memories} of {whose} for good?", yes=yes)
            with interruptible(
                "deleting", "Deleted memories are gone; the others are unchanged."
            ) as report:
                deleted = delete_expired(
                    database,
                    rules,
                    user_id=user_id,
                    progress=report,
                    audit=audit,
                    agent_id=login(audit=audit),
                )
    if as_json:
        print_json({"expired": total, "deleted": deleted, "users": expired})
    elif dry_run:
        print_paged(f"would delete {counted(total, 'expired memory')}")
    else:
        print_paged(f"deleted {counted(deleted, 'expired memory')}")


@app.command(rich_help_panel=KEEP)
def redact(
    *,
    store: opt.Store = None,
    user: opt.OneUser = None,
    yes: opt.Yes = False,
    as_json: opt.AsJson = False,
) -> None:
    """Remove secrets from what was stored without redaction. The old texts are gone for good."""
    from memory_context.memory.redacted_records import redact_memories
    from memory_context.text.redact import Redactor

    with (
        opened_store(store, "redact") as database,
        interruptible(
            "redacting", "Redacted memories stay redacted; run redact again for the rest."
        ) as report,
    ):
        user_id = chosen_user(database, user) if user else None
        ask_before_deleting(
            f"Remove secrets from the memories and model calls of {user or 'all users'} for good?",
            yes=yes,
        )
        counts = redact_memories(database, Redactor(), user_id=user_id, progress=report)
    if as_json:
        print_json({"redacted": counts})
        return
    removed = [f"{kind}: {count:,}" for kind, count in sorted(counts.items())]
    print_paged(*(removed or ["no secrets were found"]))


@app.command("forget-user", rich_help_panel=KEEP)
def forget_user(
    user: Annotated[
        str,
        typer.Argument(metavar="USER", help="The user to forget."),
    ],
    *,
    store: opt.Store = None,
    yes: opt.Yes = False,
    as_json: opt.AsJson = False,
) -> int:
    """Remove every trace of a user for good, and print a receipt."""
    from memory_context.stores import Administration

    with opened_store(store, "forget-user") as database:
        if not isinstance(database, Administration):
            raise StoreError(f"{database!r} cannot forget users")
        ask_before_deleting(
            f"Remove every trace of {user}: memories, deletions, audit trail?", yes=yes
        )
        receipt = asdict(database.forget_user(user))
    if as_json:
        print_json(receipt)
    else:
        receipt["at"] = f"{receipt['at']:%Y-%m-%d %H:%M} UTC"
        receipt["scrubbed"] = "yes" if receipt["scrubbed"] else "no"
        for name, value in receipt.items():
            number = f"{value:,}" if isinstance(value, int) else value
            print_paged(f"{name.replace('_', ' ')}: {number}")
    if any(receipt[name] for name in _COUNTS):
        return 0
    say(f"there is nothing of a user {user!r} in this database")
    return NOTHING_FOUND


@app.command(rich_help_panel=KEEP)
def consolidate(
    tier: Annotated[
        str,
        typer.Argument(
            metavar="TIER", help="The tier of the notes: session, task, project, global, …"
        ),
    ],
    tier_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="Which run, task or project; without it, each one separately."
        ),
    ] = None,
    *,
    store: opt.Store = None,
    user: opt.User = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be merged.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Merge notes of a tier that say the same thing. The old ones are evicted; their keys stay valid."""
    from memory_context.memory import consolidation
    from memory_context.text.describe.description import counted

    with (
        opened(store, user, "consolidate") as memory,
        interruptible(
            "consolidating", "Merged notes stay merged; the others are unchanged."
        ) as report,
    ):
        done = consolidation.consolidate(memory, tier, tier_id, dry_run=dry_run, progress=report)
    if as_json:
        print_json(asdict(done) | {"tokens_saved": done.tokens_saved})
        return
    if not done.groups:
        print_paged(
            f"nothing to merge in the tier {tier!r}; `memory-context stats` lists the tiers"
        )
        return
    lines = list[str]()
    for group in done.groups:
        tokens = f"{group.tokens_before:,} -> {group.tokens_after:,} tokens"
        lines.append(f"{group.key or '(one note)'} <- {', '.join(group.sources)}: {tokens}")
    merged = sum(len(group.sources) for group in done.groups)
    became = "would become" if dry_run else "became"
    lines.append(
        f"{merged:,} of {counted(done.notes, 'note')} {became} {len(done.groups):,}: "
        f"{done.tokens_saved:,} tokens saved"
    )
    print_paged(*lines)
