"""Notes: what an agent remembers for a run, a session, a plan, a task, a project, or for good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Self, overload

from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidContentError,
    InvalidTierError,
    RecordChangedError,
    StoreError,
)
from memory_context.memory.manager import MemoryManager
from memory_context.model.category import Category, check_category, trees
from memory_context.model.item import (
    PREFERENCE,
    SECRET,
    Content,
    MemoryItem,
    MemoryList,
    check_metadata,
    now,
    to_content,
)
from memory_context.model.reference import check_key, one_line
from memory_context.model.scope import DETAIL, Place, Scope
from memory_context.model.tier import (
    GLOBAL,
    PLAN,
    PROJECT,
    RUN,
    SESSION,
    TASK,
    Action,
    Confirmation,
    Lifetime,
    Room,
    TierPolicy,
    importance_of,
    policies_with,
    wider,
)
from memory_context.runtime import events
from memory_context.runtime.threads import result_of
from memory_context.stores import Filters, Mode
from memory_context.text.tokens.counter import TokenCounter

if TYPE_CHECKING:
    from memory_context.stores import AnyStore


DEFAULT_TIER = "session"
DEFAULT_PRIORITY = 5
NEWEST_FIRST = "created_at"


@dataclass(frozen=True, slots=True)
class _Change:
    """What an update puts in place of what is there; None leaves it."""

    content: Content | dict[str, Any] | list[Any] | None
    category: str | None
    tags: Iterable[str] | None
    metadata: Mapping[str, Any] | None
    priority: int | None


class ScopedMemory:
    """The notes of one user in their tiers, each with its own limits and its own time to live. Safe under threads.

    A tier is open where the id that it lives by is given: ``run`` with a `run_id`, ``task`` with a `task_id`.
    ``global`` is always open. What belongs to another run, session, plan, task or project is not there, for any verb:
    the store leaves it out (`Scope.places`).

    Its verbs are synchronous; from asynchronous code, call them by ``asyncio.to_thread``.

    Args:
        manager: The user's memories; or a database URL, an engine or a store, and a `user_id`.
        user_id: Whose notes these are, where `manager` does not say.
        run_id: The run.
        session_id: The conversation; without it, the manager's thread.
        plan_id: The plan, where it is not the only one of its run or session.
        task_id: The task.
        project_id: The project.
        policies: Further tiers, and built-in ones with other limits.

    Raises:
        InvalidScopeError: No user, or a name that no database column can hold.
        InvalidArgumentError: A user beside a manager, which has one.
    """

    def __init__(
        self,
        manager: MemoryManager | AnyStore | None = None,
        *,
        user_id: str | int | None = None,
        run_id: str | None = None,
        session_id: str | None = None,
        plan_id: str | int | None = None,
        task_id: str | int | None = None,
        project_id: str | int | None = None,
        policies: Iterable[TierPolicy] = (),
    ) -> None:
        owner = _manager(manager, user_id)
        self._closes = owner is not manager
        self.run_id, self.session_id = run_id, session_id or owner.thread_id
        self._owner = owner
        self.own_policies = tuple(policies)
        self.policies = policies_with(self.own_policies)
        lives: dict[Lifetime, str | int | None] = {
            "run": run_id, "session": self.session_id, "task": task_id, "project": project_id,
        }  # fmt: skip
        ids = {name: lives.get(policy.lifetime) for name, policy in self.policies.items()}
        given = ids if plan_id is None else ids | {"plan": plan_id}
        self._ids = {
            name: None if tier_id is None else str(tier_id) for name, tier_id in given.items()
        }
        self._given = {
            "run_id": run_id,
            "plan_id": plan_id,
            "task_id": task_id,
            "project_id": project_id,
        }
        self.manager = owner.within(self.places)

    def __enter__(self) -> Self:
        """The notes themselves."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close them."""
        self.close()

    def in_session(self, session_id: str | None) -> ScopedMemory:
        """The notes of the same run, plan, task and project, and of another session."""
        given: dict[str, Any] = self._given
        return ScopedMemory(self._owner, session_id=session_id, policies=self.own_policies, **given)

    @property
    def places(self) -> frozenset[Place]:
        """The runs, sessions, plans, tasks and projects that are open here, as pairs of tier and id."""
        return frozenset(
            (tier, tier_id) for tier, tier_id in self._ids.items() if tier_id is not None
        )

    @property
    def open_tiers(self) -> list[str]:
        """The tiers that can be written to, in the order of the policies."""
        return [name for name, policy in self.policies.items() if self._is_open(policy)]

    @property
    def counter(self) -> TokenCounter:
        """What counts tokens here."""
        return self.manager.counter

    def tier_id(self, tier: str) -> str | None:
        """Which run, session, plan, task or project of `tier` is open here; None for a tier that has none.

        Raises:
            InvalidTierError: There is no such tier, or it is not open.
        """
        policy = self._policy(tier)
        if not self._is_open(policy):
            message = (
                f"no {policy.lifetime} is open here, so there is no tier {tier!r}; {self._open()}"
            )
            raise InvalidTierError(message)
        return self._ids[tier]

    def save(  # noqa: PLR0913 - each is a column of the record, with a default
        self,
        content: Content | dict[str, Any] | list[Any],
        category: str | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        priority: int = DEFAULT_PRIORITY,
        *,
        tier: str = DEFAULT_TIER,
        type: str = "note",  # noqa: A002 - the word that the record uses
        description: str | None = None,
        expires_at: datetime | None = None,
    ) -> str:
        """Keep a note, and return its key.

        Args:
            content: Text, bytes, or a dict or list, which is kept as JSON; not empty.
            category: A path such as ``project-context/rockets``.
            tags: Words.
            metadata: A JSON object.
            priority: 1 to 10; what matters least is evicted first.
            tier: How long it lives.
            type: ``note``, ``decision``, ``convention``, …
            description: One line; without it, the note's first.
            expires_at: When it may be deleted; with a time zone.

        Raises:
            InvalidTierError: There is no such tier, or it is not open here; names those that are.
            InvalidContentError: Nothing, or content or metadata of a kind that cannot be kept.
            InvalidArgumentError: A priority, tag or type that is none, or what the tier's `validate` finds wrong.
            InvalidCategoryError: A category that is none.
            TierFullError: The tier has no room for it; with the size and the limit.
            StoreError: The store could not do it; nothing was written.
        """
        return self._saved(
            content,
            importance_of(priority),
            tier,
            category=category,
            tags=tags,
            metadata=metadata,
            type=type,
            description=description,
            expires_at=expires_at,
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
        """The note under `key`, or None; without a key, the notes that match, newest first. Counted as read.

        Args:
            key: The note's key.
            category: Of this category, or one below it.
            tags: With one of these tags.
            filters: Columns and what they must be (see `MemoryStore`).
            tier: Of this tier; without it, of every tier that is open here.
            limit: How many at most.

        Raises:
            InvalidTierError: There is no such tier, or it is not open here.
            InvalidKeyError: It cannot be a key.
            InvalidFilterError: There is no such column, or no such operator.
            StoreError: The store could not do it.
        """
        wanted = self._filters(tier, category, tags, filters)
        store, scope = self.manager.memory_store, self.manager.scope
        if key is None:
            return self._counted(store.query(scope, wanted, limit=limit, order_by=NEWEST_FIRST))
        folded_too = {} if tier else {"tier": [*self.open_tiers, DETAIL]}
        wanted = {"is_active": [True, False]} | wanted | {"memory_key": check_key(key)} | folded_too
        return next(
            iter(self._counted(store.query(scope, wanted, limit=1, order_by=NEWEST_FIRST))), None
        )

    def update(
        self,
        key: str,
        content: Content | dict[str, Any] | list[Any] | None = None,
        *,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        priority: int | None = None,
    ) -> MemoryItem | None:
        """Change a note; what is not given stays. The record as it is then; None for no such note, or if declined.

        Args:
            key: The note's key, which it keeps.
            content: Other content.
            category: Another category; "" for none.
            tags: Other tags.
            metadata: Another JSON object.
            priority: Another priority.

        Raises:
            MemoryContextError: What `save` raises; the note is as it was then.
        """
        change = _Change(content, category, tags, metadata, priority)
        while (old := self._note(key)) is not None:
            new = self._changed(old, change)
            if not self._may(
                "update",
                old.tier,
                item=old,
                content=new.content,
                asks=old.memory_type == PREFERENCE,
            ):
                return None
            if (put := self._replaced(old, new)) is not None:
                return put
        return None

    def delete(self, key: str) -> bool | None:
        """Delete a note; whether there was one. None if it was declined.

        Raises:
            InvalidKeyError: It cannot be a key.
            StoreError: The store could not do it.
        """
        old = self._note(key)
        if old is None:
            return False
        if not self._may("delete", old.tier, item=old, asks=old.memory_type == PREFERENCE):
            return None
        return self.manager.forget(key, reason="deleted")

    def clear(
        self, category: str | None = None, tags: str | Iterable[str] = (), *, tier: str
    ) -> int | None:
        """Delete the notes of a tier, evicted ones too; how many there were. None if it was declined.

        References to them say when and why they were deleted.

        Args:
            category: Only those of this category, or one below it.
            tags: Only those with one of these tags.
            tier: The tier.

        Raises:
            InvalidTierError: There is no such tier, or it is not open here.
            StoreError: The store could not do it; what was deleted until then is gone.
        """
        scope = self._scope(tier)
        wanted = _narrowed(category, tags) | {"is_active": [True, False]}
        count = self.manager.memory_store.count(scope, wanted)
        if not self._may("clear", tier, count=count, asks=count > 0):
            return None
        if len(wanted) == 1:
            return self.manager.clear(tier, self.tier_id(tier))
        found = self.manager.memory_store.query(scope, wanted, limit=None, order_by=NEWEST_FIRST)
        return sum(self.manager.forget(item.memory_key, reason="cleared") for item in found)

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
        mode: Mode = "hybrid",
    ) -> MemoryList:
        """The notes that speak of `query`, best first, each with a `match`; without words, the newest.

        See `MemoryManager.search`; `tier` None means every tier that is open here.
        """
        filters = self._filters(tier, category, tags, None)
        return self.manager.search(
            query, limit, since=since, until=until, mode=mode, filters=filters
        )

    def list_categories(self, tier: str | None = None) -> list[Category]:
        """The categories of the notes as trees, by name, with counts; those without one first, under "".

        Raises:
            InvalidTierError: There is no such tier, or it is not open here.
            StoreError: The store could not do it.
        """
        counts: dict[str, int] = {}
        for one in self.manager.memory_store.usage(
            self.manager.scope, self._filters(tier, None, (), None)
        ):
            counts[one.category or ""] = counts.get(one.category or "", 0) + one.items
        return trees(counts)

    def count(
        self,
        tier: str | None = None,
        *,
        category: str | None = None,
        tags: str | Iterable[str] = (),
    ) -> int:
        """How many notes there are: in one tier, or in all that are open here. Evicted ones do not count."""
        return self.manager.memory_store.count(
            self.manager.scope, self._filters(tier, category, tags, None)
        )

    def size(
        self,
        tier: str | None = None,
        *,
        category: str | None = None,
        tags: str | Iterable[str] = (),
    ) -> int:
        """How many characters the notes have together; `max_chars` counts the same."""
        wanted = self._filters(tier, category, tags, None)
        return sum(one.chars for one in self.manager.memory_store.usage(self.manager.scope, wanted))

    def evicted(self, tier: str | None = None) -> MemoryList:
        """The notes that made room for others, newest first: no longer offered, still there under their keys."""
        wanted = self._filters(tier, None, (), {"is_active": False})
        return MemoryList(
            self.manager.memory_store.query(
                self.manager.scope, wanted, limit=None, order_by=NEWEST_FIRST
            )
        )

    def revive(self, key: str) -> MemoryItem | None:
        """The note under `key`, active again after it made room for others or was put away. None for no such note.

        It needs room like one that is saved: a full tier refuses, or evicts others.

        Raises:
            TierFullError: Its tier has no room for it.
            InvalidTierError: It is a memory, but no note.
            InvalidKeyError: It cannot be a key.
            RecordChangedError: Somebody changed it just now.
            StoreError: The store could not do it.
        """
        note = self._note(key)
        return (
            None
            if note is None
            else self.manager.revive(key, room=self.policies[note.tier].room or Room())
        )

    def promote(self, key: str, to: str) -> MemoryItem | None:
        """Move a memory to a wider tier: the same record under the same key. None for no such memory, or if declined.

        Folded outputs can be promoted too; they live as long as their new tier then, and are seen where it is.

        Args:
            key: The memory's key.
            to: A tier that lives as long as its own, or longer.

        Raises:
            InvalidTierError: There is no such tier, it is not open here, or not wider; names those that are.
            TierFullError: It has no room.
            InvalidKeyError: It cannot be a key.
            StoreError: The store could not do it; the memory is where it was.
        """
        tier_id = self.tier_id(to)
        while (
            old := self.manager.memory_store.get(self.manager.scope, check_key(key))
        ) is not None:
            self._check_wider(old, to)
            new = replace(old, tier=to, tier_id=tier_id, identity=None, is_active=True)
            self._check(new)
            asks = bool(old.memory_type == PREFERENCE and old.content_metadata.get("confirm"))
            if not self._may("promote", to, item=old, content=old.content, asks=asks):
                return None
            if (put := self._replaced(old, new)) is not None:
                return put
        return None

    def end(self, lifetime: Lifetime) -> int:
        """Delete what ends with the run, the session, the task or the project that is open here; how much it was.

        Nobody is asked. References say that it ended, and when.

        Raises:
            InvalidTierError: There is no such lifetime, or it is the user's, which does not end.
            StoreError: The store could not do it.
        """
        ending = [
            name for name, policy in self.policies.items() if policy.lifetime == lifetime != "user"
        ]
        if not ending:
            message = f"what ends is run, session, task or project, not {lifetime!r:.80}"
            raise InvalidTierError(message)
        tiers = [name for name in ending if self._is_open(self.policies[name])]
        return sum(
            self.manager.clear(name, self._ids[name], reason=f"its {lifetime} ended")
            for name in tiers
        )

    def add_reasoning(self, text: str, stage_id: str) -> str:
        """Keep what was thought in a stage of the task (importance 0.5); its key. Raises what `save` raises."""
        return self._saved(
            text,
            0.5,
            "task",
            type="reasoning",
            tags=[_stage(stage_id)],
            metadata={"stage_id": stage_id},
        )

    def add_tool_output(
        self, tool_id: str, output: Content | dict[str, Any] | list[Any], stage_id: str = ""
    ) -> str:
        """Keep what a tool gave in the task (importance 0.7), in a stage if one is named; its key."""
        tags = [_stage(stage_id)] if stage_id else []
        facts = {"tool_id": tool_id} | ({"stage_id": stage_id} if stage_id else {})
        return self._saved(
            output, 0.7, "task", type="tool_output", tags=[f"tool:{tool_id}", *tags], metadata=facts
        )

    def get_stage_outputs(self, stage_id: str) -> MemoryList:
        """What was kept in a stage of the task, reasoning and tools' outputs, oldest first."""
        return self.get(
            tags=_stage(stage_id), filters=_of_type("reasoning", "tool_output"), tier="task"
        )[::-1]

    def add_decision(self, decision: str, tags: Iterable[str] = ()) -> str:
        """Keep a decision of the project (importance 0.9); its key. Raises what `save` raises."""
        return self._saved(decision, 0.9, "project", type="decision", tags=tags)

    def query_decisions(self, tags: str | Iterable[str] = ()) -> MemoryList:
        """The decisions of the project, with one of `tags` if some are given, newest first."""
        return self.get(tags=tags, filters=_of_type("decision"), tier="project")

    def add_convention(self, convention: str, scope: str) -> str:
        """Keep a convention of the project (importance 0.8), with what it holds for as a tag; its key."""
        return self._saved(
            convention,
            0.8,
            "project",
            type="convention",
            tags=[scope] if scope else [],
            metadata={"scope": scope},
        )

    def add_failure(self, code: str, lesson: str) -> str:
        """Keep what failed in the project, and what is to be learnt from it (importance 0.85); its key."""
        description = one_line(self.manager.kept(lesson))
        return self._saved(
            f"{lesson}\n\n{code}", 0.85, "project", type="failure", description=description
        )

    def add_preference(
        self, preference: str, category: str | None = None, *, confirm: bool = False
    ) -> str | None:
        """Keep what the user likes (importance 0.9); its key, None if `confirm` was wanted and declined.

        Raises:
            InvalidArgumentError: It is to be confirmed, and nobody can be asked; or what `save` raises.
        """
        if confirm and self._policy("global").confirm is None:
            message = 'there is nobody to confirm it: give policies=[TierPolicy("global", lifetime="user", confirm=…)]'
            raise InvalidArgumentError(message)
        check_category(category)
        if not self._may("save", "global", content=preference, asks=confirm):
            return None
        facts = {"confirm": True} if confirm else None
        return self._saved(
            preference, 0.9, "global", type=PREFERENCE, category=category, metadata=facts
        )

    def query_preferences(self, category: str | None = None) -> MemoryList:
        """The user's preferences, of a category or below it if one is given, newest first."""
        return self.get(category=category, filters=_of_type(PREFERENCE), tier="global")

    def add_pattern(self, pattern: str, domain: str) -> str:
        """Keep a pattern that holds beyond a project (importance 0.7), with its domain as a tag; its key."""
        return self._saved(
            pattern,
            0.7,
            "global",
            type="pattern",
            tags=[domain] if domain else [],
            metadata={"domain": domain},
        )

    def close(self) -> None:
        """Give back connections, unless manager or store are the caller's."""
        if self._closes:
            self._owner.close()

    def _policy(self, tier: str) -> TierPolicy:
        if tier in self.policies:
            return self.policies[tier]
        message = f"there is no tier {tier!r:.80}; {self._open()}"
        raise InvalidTierError(message)

    def _is_open(self, policy: TierPolicy) -> bool:
        return policy.lifetime == "user" or self._ids[policy.name] is not None

    def _open(self) -> str:
        return f"open are {', '.join(self.open_tiers)}"

    def _scope(self, tier: str) -> Scope:
        return replace(self.manager.scope, tier=tier, tier_id=self.tier_id(tier))

    def _filters(
        self,
        tier: str | None,
        category: str | None,
        tags: str | Iterable[str],
        filters: Filters | None,
    ) -> dict[str, Any]:
        """What the notes of a tier, or of all open ones, must be."""
        tiers = self.open_tiers if tier is None else [tier]
        if tier not in (None, DETAIL):
            self.tier_id(str(tier))
        narrowed = _narrowed(category, tags) | {"tier": tiers}
        if both := narrowed.keys() & (filters or {}).keys():
            message = (
                f"{', '.join(sorted(both))} is an argument of its own; leave it out of filters"
            )
            raise InvalidArgumentError(message)
        return narrowed | dict(filters or {})

    def _saved(
        self,
        content: Content | dict[str, Any] | list[Any],
        importance: float,
        tier: str,
        **details: Any,  # noqa: ANN401 - those of `remember`
    ) -> str:
        tier_id = self.tier_id(tier)
        _check_content(content)
        check_category(details.get("category"))
        described = details.pop("description", None)
        if not described and details.get("type") != SECRET:
            described = self._first_line(content)
        item = self.manager.remember(
            content,
            described,
            tier=tier,
            tier_id=tier_id,
            importance=importance,
            room=self.policies[tier].room,
            check=self._check,
            **details,
        )
        return item.memory_key

    def _first_line(self, content: object) -> str | None:
        """What describes a text: its first line that is not empty."""
        if not isinstance(content, str):
            return None
        first = next((line for line in content.splitlines() if line.strip()), "")
        return one_line(self.manager.kept(first)) or None

    def _check(self, item: MemoryItem) -> None:
        """Let the tier's own check look at a record."""
        validate = self.policies[item.tier].validate
        if validate is not None and (wrong := validate(item)):
            message = f"the tier {item.tier!r} does not take this: {wrong}"
            raise InvalidArgumentError(message)

    def _counted(self, items: Sequence[MemoryItem]) -> MemoryList:
        """The notes, after they were counted as read."""
        self.manager.audit("expanded", *(item.memory_key for item in items))
        try:
            self.manager.memory_store.touch(self.manager.scope, [item.memory_key for item in items])
        except StoreError as error:
            events.NOTES_NOT_COUNTED.log(
                error, user_id=self.manager.scope.user_id, notes=len(items)
            )
            return MemoryList(items)
        moment = now()
        return MemoryList(
            replace(item, accessed_at=moment, access_count=item.access_count + 1) for item in items
        )

    def _note(self, key: str) -> MemoryItem | None:
        """The note under `key`, of a tier of ours.

        Raises:
            InvalidTierError: It is a memory, but no note.
        """
        item = self.manager.memory_store.get(self.manager.scope, check_key(key))
        if item is not None and item.tier not in self.policies:
            message = f"{key!r} is no note, but in {item.tier!r}; promote() makes it one"
            raise InvalidTierError(message)
        return item

    def _changed(self, old: MemoryItem, change: _Change) -> MemoryItem:
        body, media_type, described = old.content, old.media_type, old.summary
        if change.content is not None:
            _check_content(change.content)
            body, media_type = to_content(change.content)
            was_first_line = old.summary == self._first_line(old.content)
            described = (
                (self._first_line(change.content) or old.summary) if was_first_line else old.summary
            )
        new = replace(
            old,
            content=body,
            media_type=media_type,
            summary=described,
            category=old.category
            if change.category is None
            else check_category(change.category or None),
            tags=old.tags if change.tags is None else _words(change.tags),
            content_metadata=old.content_metadata
            if change.metadata is None
            else check_metadata(change.metadata),
            importance=old.importance
            if change.priority is None
            else importance_of(change.priority),
            **self.manager.facts_of(body),
        )
        self._check(new)
        return new

    def _replaced(self, old: MemoryItem, new: MemoryItem) -> MemoryItem | None:
        """The record as it is after the change; None if somebody else was faster."""
        room = self.policies[new.tier].room if new.is_active else None
        try:
            put = self.manager.memory_store.put(self.manager.scope, new, room=room, replaces=old)
        except RecordChangedError:
            return None
        self.manager.audit("stored", put.memory_key)
        return put

    def _check_wider(self, item: MemoryItem, to: str) -> None:
        allowed = [name for name in wider(item.tier, self.policies) if name in self.open_tiers]
        if to not in allowed:
            names = ", ".join(allowed) or "none that is open here"
            message = f"a memory of the tier {item.tier!r} cannot be promoted to {to!r}; wider are {names}"
            raise InvalidTierError(message)

    def _may(self, action: Action, tier: str, *, asks: bool, **about: Any) -> bool:  # noqa: ANN401 - fields of Confirmation
        """Whether it may be done; asks where the tier has somebody to ask."""
        confirm = self.policies[tier].confirm
        if not asks or confirm is None:
            return True
        answer = confirm(Confirmation(action, tier, **about))
        return bool(result_of(answer) if isawaitable(answer) else answer)


def _manager(manager: MemoryManager | AnyStore | None, user_id: str | int | None) -> MemoryManager:
    if not isinstance(manager, MemoryManager):
        return MemoryManager(manager, user_id=user_id)  # type: ignore[arg-type] # says what is wrong with None
    if user_id is not None:
        message = "the manager has its user; give user_id with a store only"
        raise InvalidArgumentError(message)
    return manager


def _check_content(content: object) -> None:
    is_blank = isinstance(content, str) and not content.strip()
    if is_blank or content in (None, b"", {}, []):
        message = "there is nothing to keep: the content is empty"
        raise InvalidContentError(message)


def _narrowed(category: str | None, tags: str | Iterable[str]) -> dict[str, Any]:
    narrowed = {
        "category": None if category is None else {"$under": check_category(category)},
        "tags": _words(tags),
    }
    return {
        name: list(value) if name == "tags" else value for name, value in narrowed.items() if value
    }


def _words(tags: str | Iterable[str]) -> tuple[str, ...]:
    return (tags,) if isinstance(tags, str) else tuple(tags)


def _of_type(*types: str) -> dict[str, Any]:
    return {"memory_type": list(types)}


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
