"""Notes: what an agent remembers for a run, a session, a plan, a task, a project, or for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, overload

from memory_context.exceptions import (
    DeclinedError,
    InvalidArgumentError,
    InvalidTierError,
)
from memory_context.memory.filters_from_keywords import ANY_STATE, as_list
from memory_context.memory.manager import SearchMode
from memory_context.memory.notes_in_open_tiers import (
    NEWEST_FIRST,
    TierNotes,
    check_content,
    first_line,
)
from memory_context.memory.redacted_records import redacted_record
from memory_context.model.category import Category, check_category, trees
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.importance import importance_of
from memory_context.model.item import (
    PATTERN,
    PREFERENCE,
    AnyContent,
    MemoryItem,
    MemoryList,
    check_metadata,
    check_names,
    to_content,
)
from memory_context.model.one_line import one_line
from memory_context.model.origin import MODEL, PROGRAM, TOOL, Origin, lowest
from memory_context.model.reference import check_key
from memory_context.model.scope import DETAIL
from memory_context.model.tiers_and_limits import (
    GLOBAL,
    PLAN,
    PROJECT,
    RUN,
    SESSION,
    TASK,
    Capacity,
    Confirmation,
    Lifetime,
    TierPolicy,
    wider,
)
from memory_context.stores import Filters

DEFAULT_TIER = "session"
DEFAULT_PRIORITY = 5


class ScopedMemory(TierNotes):
    """The notes of one user in their tiers, each with its limits and its lifetime. Safe under threads.

    A tier is open if the id that it lives by is given: ``run`` with a `run_id`, ``task`` with a
    `task_id`. ``global`` is always open. No method sees notes of another run, session, plan, task or
    project: the store leaves them out (`Scope.places`).

    The methods are synchronous; from asynchronous code, call them through ``asyncio.to_thread``.

    Args:
        manager: The user's memories; or a database URL, an engine or a store, and a `user_id`.
        user_id: Whose notes these are, unless `manager` is a `MemoryManager`.
        run_id: The run.
        session_id: The conversation; without it, the manager's thread.
        plan_id: The plan, where it is not the only one of its run or session.
        task_id: The task.
        project_id: The project.
        policies: Further tiers, and built-in ones with other limits.

    Raises:
        InvalidScopeError: There is no user, or a name does not fit a database column.
        InvalidArgumentError: `user_id` is given beside a manager, which has its own.
    """

    def in_session(self, session_id: str | None) -> ScopedMemory:
        """Return the notes of the same run, plan, task and project in another session."""
        return ScopedMemory(
            self._owner, session_id=session_id, policies=self.own_policies, **self._other_ids
        )

    def save(  # noqa: PLR0913 - each is a column of the record, with a default
        self,
        content: AnyContent,
        category: str | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        priority: int = DEFAULT_PRIORITY,
        *,
        tier: str = DEFAULT_TIER,
        type: str = "note",  # noqa: A002 - the word that the record uses
        description: str | None = None,
        expires_at: datetime | None = None,
        origin: Origin = PROGRAM,
    ) -> str:
        """Keep a note, and return its key.

        Args:
            content: Text, bytes, or a dict or list, which is kept as JSON; not empty.
            category: A path such as ``project-context/rockets``.
            tags: Words.
            metadata: A JSON object.
            priority: 1 to 10; the lowest is evicted first.
            tier: How long it lives.
            type: ``note``, ``decision``, ``convention``, …
            description: One line; without it, the first line of the note.
            expires_at: When it may be deleted; with a time zone. Without it, a note in a tier that lasts
                for one run may be deleted after 7 days, unless it was promoted.
            origin: Where the note comes from (see `MemoryManager.remember`).

        Raises:
            InvalidTierError: There is no such tier, or it is not open here; the message names those
                that are.
            InvalidContentError: There is no content, or the content or metadata is of a kind that
                cannot be kept.
            InvalidArgumentError: The priority, a tag or the type is not valid, or the tier's
                `validate` objects.
            InvalidCategoryError: The category is not valid.
            TierFullError: The tier has no room for it; the error has the size and the limit.
            DeclinedError: The tier's `confirm` was asked, and declined.
            StoreError: The store failed; nothing was written.
        """
        return self._keep(
            content,
            tier,
            type,
            importance_of(priority),
            category=category,
            tags=tags,
            metadata=metadata,
            description=description,
            expires_at=expires_at,
            origin=origin,
        )

    @overload
    def get(self, key: str, *, tier: str | None = None) -> MemoryItem | None: ...

    @overload
    def get(
        self,
        key: None = None,
        *,
        category: str | None = None,
        tags: str | Iterable[str] = (),
        filters: Filters | None = None,
        tier: str | None = None,
        limit: int | None = None,
    ) -> MemoryList: ...

    def get(
        self,
        key: str | None = None,
        *,
        category: str | None = None,
        tags: str | Iterable[str] = (),
        filters: Filters | None = None,
        tier: str | None = None,
        limit: int | None = None,
    ) -> MemoryItem | MemoryList | None:
        """Return the note under `key`, or None; without a key, the notes that match, newest first.

        What is returned counts as read. By key, folded outputs and evicted notes are found, too.

        Args:
            key: The note's key.
            category: Only those of this category, or one below it; ``project*``: of those that begin
                with ``project``.
            tags: Only those with one of these tags.
            filters: Further conditions on columns (see `MemoryStore`).
            tier: Only those of this tier; without it, of every tier that is open here.
            limit: How many at most.

        Raises:
            InvalidTierError: There is no such tier, or it is not open here.
            InvalidKeyError: It is not a valid key.
            InvalidFilterError: There is no such column, or no such operator.
            StoreError: The store failed.
        """
        wanted = self._filters(tier, category, tags, filters)
        if key is None:
            return self._counted(self._query(wanted, limit))
        wanted = {**ANY_STATE, **wanted, "memory_key": check_key(key)}
        if tier is None:
            wanted["tier"] = [*self.open_tiers, DETAIL]
        found = self._counted(self._query(wanted, limit=1))
        return found[0] if found else None

    def update(
        self,
        key: str,
        content: AnyContent | None = None,
        *,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        priority: int | None = None,
        origin: Origin = PROGRAM,
        seen: datetime | None = None,
    ) -> MemoryItem | None:
        """Change a note, and return the new record; None if there is no such note, or if it was declined.

        What is not given stays as it is. The note gets the less trusted of its own origin and the change's.

        Args:
            key: The note's key, which it keeps.
            content: The new content.
            category: The new category; "" for none.
            tags: The new tags.
            metadata: The new JSON object.
            priority: The new priority.
            origin: Where the change comes from.
            seen: The `updated_at` that the caller has seen; a note with another one is refused.

        Raises:
            RecordChangedError: The note was changed since it was seen.
            MemoryContextError: As `save` does; the note is then unchanged.
        """
        check_arguments(origin=origin)
        changes: dict[str, Any] = {}
        if content is not None:
            check_content(content)
            body, media_type = to_content(content)
            changes = {"content": body, "media_type": media_type, **self.manager.facts_of(body)}
        if category is not None:
            changes["category"] = check_category(category or None)
        if tags is not None:
            check_arguments(tags=tags)
            changes["tags"] = tuple(as_list(tags))
            check_names(tags=changes["tags"])
        if metadata is not None:
            changes["content_metadata"] = check_metadata(metadata)
        if priority is not None:
            changes["importance"] = importance_of(priority)
        count_tokens = self.manager.counter.count
        while old := self._note(key, seen):
            redaction = self.manager.redaction(old.memory_type)
            new = redacted_record(replace(old, **changes), redaction, count_tokens)
            new = replace(new, origin=lowest((old.origin, origin)))
            if content is not None and old.summary == first_line(old.content):
                new = replace(new, summary=first_line(new.content) or old.summary)
            self._validate(new)
            question = Confirmation("update", old.tier, content=new.content, item=old)
            if not self._is_confirmed(question):
                return None
            written = self._replaced(old, new)
            if written:
                self.manager.note_redacted(redaction)
                return written
        return None

    def delete(self, key: str) -> bool | None:
        """Delete a note, and return whether there was one; None if it was declined.

        Raises:
            InvalidKeyError: It is not a valid key.
            StoreError: The store failed.
        """
        while note := self._note(key):
            if not self._is_confirmed(Confirmation("delete", note.tier, item=note)):
                return None
            # A note that was changed meanwhile is not the one whose deletion was confirmed.
            if self.manager.forget(key, reason="deleted", seen=note.updated_at):
                return True
        return False

    def clear(
        self, category: str | None = None, tags: str | Iterable[str] = (), *, tier: str
    ) -> int | None:
        """Delete the notes of a tier, evicted ones too, and count them; None if it was declined.

        References to them say when and why they were deleted.

        Args:
            category: Only those of this category, or one below it; ``project*``: of those that begin
                with ``project``.
            tags: Only those with one of these tags.
            tier: The tier.

        Raises:
            InvalidTierError: There is no such tier, or it is not open here.
            StoreError: The store failed; what was deleted until then is gone.
        """
        scope = replace(self.manager.scope, tier=tier, tier_id=self.tier_id(tier))
        wanted = {**ANY_STATE, **self._filters(tier, category, tags)}
        store = self.manager.memory_store
        count = store.count(scope, wanted)
        if count and not self._is_confirmed(Confirmation("clear", tier, count=count)):
            return None
        if category is None and not tags:
            return self.manager.clear(tier, scope.tier_id)
        notes = store.query(scope, wanted, limit=None, order_by=NEWEST_FIRST)
        return sum(self.manager.forget(note.memory_key, reason="cleared") for note in notes)

    def search(
        self,
        query: str,
        limit: int = 5,
        *,
        tier: str | None = None,
        category: str | None = None,
        tags: str | Iterable[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        mode: SearchMode = "hybrid",
    ) -> MemoryList:
        """Find the notes about `query`, best first, each with a `match`; the newest if it is blank.

        See `MemoryManager.search`; `tier` None means every tier that is open here.
        """
        return self.manager.search(
            query,
            limit,
            since=since,
            until=until,
            mode=mode,
            filters=self._filters(tier, category, tags),
        )

    def list_categories(self, tier: str | None = None) -> list[Category]:
        """Return the categories of the notes as trees, sorted by name; uncategorised notes are first, under "".

        Raises:
            InvalidTierError: There is no such tier, or it is not open here.
            StoreError: The store failed.
        """
        counts = Counter[str]()
        for usage in self.manager.memory_store.usage(self.manager.scope, self._filters(tier)):
            counts[usage.category or ""] += usage.items
        return trees(counts)

    def count(
        self,
        tier: str | None = None,
        *,
        category: str | None = None,
        tags: str | Iterable[str] = (),
    ) -> int:
        """Count the notes of one tier, or of all that are open here. Evicted ones do not count."""
        wanted = self._filters(tier, category, tags)
        return self.manager.memory_store.count(self.manager.scope, wanted)

    def size(
        self,
        tier: str | None = None,
        *,
        category: str | None = None,
        tags: str | Iterable[str] = (),
    ) -> int:
        """Return how many characters the notes have together, counted as for `max_chars`."""
        wanted = self._filters(tier, category, tags)
        usages = self.manager.memory_store.usage(self.manager.scope, wanted)
        return sum(usage.chars for usage in usages)

    def evicted(self, tier: str | None = None) -> MemoryList:
        """Return the notes that made room for others, newest first; their keys still redeem."""
        wanted = self._filters(tier, filters={"is_active": False})
        return MemoryList(self._query(wanted, limit=None))

    def revive(self, key: str) -> MemoryItem | None:
        """Make a note that was evicted or put away active again; None if there is no such note.

        It needs room like a new note: a full tier refuses it, or evicts others.

        Raises:
            TierFullError: Its tier has no room for it.
            InvalidTierError: The key belongs to a memory that is not a note.
            InvalidKeyError: It is not a valid key.
            RecordChangedError: Somebody changed it just now.
            StoreError: The store failed.
        """
        note = self._note(key)
        if not note:
            return None
        return self.manager.revive(key, room=self.policies[note.tier].room or Capacity())

    def promote(self, key: str, to: str) -> MemoryItem | None:
        """Move a memory to a wider tier, key and all; None if there is no such memory, or if it was declined.

        Folded outputs can be promoted too: then they live as long as their new tier, and are seen
        where it is.

        Args:
            key: The memory's key.
            to: A tier that lives as long as the memory's own, or longer.

        Raises:
            InvalidTierError: There is no such tier, it is not open here, or not wider; the message names
                those that are.
            TierFullError: The tier has no room.
            InvalidKeyError: It is not a valid key.
            StoreError: The store failed; the memory is where it was.
        """
        tier_id = self.tier_id(to)
        store = self.manager.memory_store
        scope = self.manager.scope
        while old := store.get(scope, check_key(key)):
            allowed = [name for name in wider(old.tier, self.policies) if name in self.open_tiers]
            if to not in allowed:
                names = ", ".join(allowed) or "none that is open here"
                raise InvalidTierError(
                    f"a memory of the tier {old.tier!r} cannot be promoted to {to!r}; wider are {names}"
                )
            new = replace(old, tier=to, tier_id=tier_id, identity=None, is_active=True)
            if self.policies[to].lifetime != "run" and self._expires_with_run(old):
                new = replace(new, expires_at=None)
            self._validate(new)
            question = Confirmation("promote", to, content=old.content, item=old)
            if old.memory_type != PATTERN and not self._is_confirmed(question):
                return None
            written = self._replaced(old, new)
            if written:
                return written
        return None

    def end(self, lifetime: Lifetime) -> int:
        """Delete the notes that end with the open run, session, task or project, and count them.

        No confirmation is asked for. References to the notes say what ended, and when.

        Raises:
            InvalidTierError: There is no such lifetime, or it is the user's, which does not end.
            StoreError: The store failed.
        """
        tiers = [policy for policy in self.policies.values() if policy.lifetime == lifetime]
        if not tiers or lifetime == "user":
            raise InvalidTierError(
                f"only a run, session, task or project can end, not {lifetime!r:.80}"
            )
        deleted = 0
        for policy in tiers:
            if self._is_open(policy):
                tier_id = self._tier_ids[policy.name]
                deleted += self.manager.clear(policy.name, tier_id, reason=f"its {lifetime} ended")
        return deleted

    def add_preference(
        self, preference: str, category: str | None = None, *, confirm: bool = False
    ) -> str | None:
        """Keep a preference of the user (importance 0.9); return its key, or None if it was declined.

        Args:
            preference: The preference.
            category: A path.
            confirm: Whether a confirmation is required. Without it, one is asked for only if the
                tier ``global`` has a `confirm`.

        Raises:
            InvalidArgumentError: A confirmation is required, and nobody can be asked; or as `save`
                does.
        """
        if confirm and self._policy("global").confirm is None:
            raise InvalidArgumentError(
                'nobody can confirm it: give policies=[TierPolicy("global", lifetime="user", confirm=…)]'
            )
        try:
            return self._keep(preference, "global", PREFERENCE, 0.9, category=category)
        except DeclinedError:
            return None

    def query_preferences(self, category: str | None = None) -> MemoryList:
        """Return the user's preferences, newest first; if a category is given, those of it or below it."""
        return self._of_type("global", PREFERENCE, category=category)

    def add_reasoning(self, text: str, stage_id: str) -> str:
        """Keep the reasoning of a stage of the task (importance 0.5), and return its key."""
        return self._keep(
            text,
            "task",
            "reasoning",
            0.5,
            tags=[_stage(stage_id)],
            metadata={"stage_id": stage_id},
            origin=MODEL,
        )

    def add_tool_output(self, tool_id: str, output: AnyContent, stage_id: str = "") -> str:
        """Keep a tool's output in the task or a stage of it (importance 0.7); return its key."""
        tags = [f"tool:{tool_id}"]
        facts = {"tool_id": tool_id}
        if stage_id:
            tags.append(_stage(stage_id))
            facts["stage_id"] = stage_id
        return self._keep(
            output, "task", "tool_output", 0.7, tags=tags, metadata=facts, origin=TOOL
        )

    def get_stage_outputs(self, stage_id: str) -> MemoryList:
        """Return the reasoning and the tools' outputs of a stage of the task, oldest first."""
        newest_first = self._of_type("task", "reasoning", "tool_output", tags=_stage(stage_id))
        return newest_first[::-1]

    def add_decision(self, decision: str, tags: Iterable[str] = ()) -> str:
        """Keep a decision of the project (importance 0.9), and return its key."""
        return self._keep(decision, "project", "decision", 0.9, tags=tags)

    def query_decisions(self, tags: str | Iterable[str] = ()) -> MemoryList:
        """Return the decisions of the project, newest first; if `tags` are given, those with one of them."""
        return self._of_type("project", "decision", tags=tags)

    def add_convention(self, convention: str, scope: str) -> str:
        """Keep a convention of the project (importance 0.8), tagged with `scope`; return its key."""
        tags = [scope] if scope else []
        facts = {"scope": scope}
        return self._keep(convention, "project", "convention", 0.8, tags=tags, metadata=facts)

    def add_failure(self, code: str, lesson: str) -> str:
        """Keep a failure of the project and its lesson (importance 0.85), tagged with `code`; return its key.

        Raises:
            InvalidArgumentError: The code cannot be a tag; or as `save` does.
        """
        check_arguments(code=code, lesson=lesson)
        summary = one_line(self.manager.redaction().text(lesson))
        text = f"{lesson}\n\n{code}"
        facts = {"code": code}
        return self._keep(
            text, "project", "failure", 0.85, tags=[code], metadata=facts, description=summary
        )

    def add_pattern(self, pattern: str, domain: str) -> str:
        """Keep a pattern beyond projects (importance 0.7), tagged with `domain`; return its key."""
        tags = [domain] if domain else []
        return self._keep(pattern, "global", PATTERN, 0.7, tags=tags, metadata={"domain": domain})

    def _of_type(
        self,
        tier: str,
        *types: str,
        category: str | None = None,
        tags: str | Iterable[str] = (),
    ) -> MemoryList:
        filters = {"memory_type": list(types)}
        return self.get(category=category, tags=tags, filters=filters, tier=tier)


def _stage(stage_id: str) -> str:
    return f"stage:{stage_id}"


__all__ = [
    "GLOBAL",
    "PLAN",
    "PROJECT",
    "RUN",
    "SESSION",
    "TASK",
    "Category",
    "Confirmation",
    "ScopedMemory",
    "TierPolicy",
]
