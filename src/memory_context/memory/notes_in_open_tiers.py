"""The tiers of a user that are open, and how notes are written into them and found.

A tier is *open* if the id that it lives by is given: that of a run, a session, a plan, a task or a project.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from memory_context.exceptions import (
    DeclinedError,
    InvalidArgumentError,
    InvalidContentError,
    InvalidTierError,
    RecordChangedError,
    StoreError,
)
from memory_context.memory.filters_from_keywords import as_list, search_filters
from memory_context.memory.manager import NEEDING_IDS, MemoryManager
from memory_context.model.category import check_category
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import (
    ALWAYS,
    PATTERN,
    PREFERENCE,
    SECRET,
    AnyContent,
    MemoryItem,
    MemoryList,
    changed,
    now,
)
from memory_context.model.one_line import one_line
from memory_context.model.reference import check_key
from memory_context.model.scope import DETAIL, Place, checked_name
from memory_context.model.tiers_and_limits import (
    LONGEST_RUN,
    Confirmation,
    TierPolicy,
    policies_with,
)
from memory_context.runtime import log_events
from memory_context.runtime.closed_at_exit import ClosedAtExit
from memory_context.runtime.threads import result_of
from memory_context.stores import Filters
from memory_context.text.tokens.counter import TokenCounter

if TYPE_CHECKING:
    from memory_context.stores import AnyStore


NEWEST_FIRST = "created_at"
A_MOMENT = timedelta(minutes=1)


class TierNotes(ClosedAtExit):
    """The tiers of one user that are open, and how notes are written into them and found.

    `ScopedMemory`, which applications use, documents the arguments and errors.
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
        if isinstance(manager, MemoryManager):
            if user_id is not None:
                raise InvalidArgumentError(
                    "the manager has its own user; give user_id only with a store"
                )
            self._owner = manager
        else:
            self._owner = MemoryManager(manager, user_id=user_id)  # type: ignore[arg-type] # says what is wrong with None
        self._closes_owner = self._owner is not manager
        self.run_id = run_id
        self.session_id = session_id or self._owner.thread_id
        self._other_ids: dict[str, Any] = {
            "run_id": run_id, "plan_id": plan_id, "task_id": task_id, "project_id": project_id,
        }  # fmt: skip
        check_arguments(policies=policies)
        self.own_policies = tuple(policies)
        self.policies = policies_with(self.own_policies)
        given = {**self._other_ids, "session_id": self.session_id}
        check_arguments(**given)
        ids = {
            name.removesuffix("_id"): checked_name(name, str(one))
            for name, one in given.items()
            if one is not None
        }
        self._tier_ids = {name: ids.get(policy.lifetime) for name, policy in self.policies.items()}
        if "plan" in ids:
            self._tier_ids["plan"] = ids["plan"]
        self.manager = self._owner.within(self.places)
        # A built-in tier may have been given another lifetime; tiers of the caller's own need no id.
        self.manager.needing_ids = frozenset(
            name for name in NEEDING_IDS if self.policies[name].lifetime != "user"
        )
        if any(policy.confirm for policy in self.own_policies):
            self.manager.gate = self._check_confirmed

    def __repr__(self) -> str:
        """Name the open tiers with their ids, and the manager."""
        ids = {name: tier_id for name, tier_id in self._tier_ids.items() if tier_id}
        return f"<{type(self).__name__} {ids} of {self._owner!r}>"

    @property
    def places(self) -> frozenset[Place]:
        """Return the places that are open here: pairs of a tier and the id of its run, session or task."""
        return frozenset(
            (tier, tier_id) for tier, tier_id in self._tier_ids.items() if tier_id is not None
        )

    @property
    def open_tiers(self) -> list[str]:
        """Return the tiers that can be written to, in the order of the policies."""
        return [name for name, policy in self.policies.items() if self._is_open(policy)]

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter."""
        return self.manager.counter

    def tier_id(self, tier: str) -> str | None:
        """Return the id of the run, session, … that is open in `tier`; None where it has none.

        Raises:
            InvalidTierError: There is no such tier, or it is not open.
        """
        policy = self._policy(tier)
        if not self._is_open(policy):
            raise InvalidTierError(
                f"no {policy.lifetime} is open here, so there is no tier {tier!r}; {self._open_ones()}"
            )
        return self._tier_ids[tier]

    def close(self) -> None:
        """Release connections, unless the manager or the store is the caller's."""
        if self._closes_owner:
            self._owner.close()

    def _policy(self, tier: str) -> TierPolicy:
        # Compared, not looked up: a value that is not a text may not be hashable.
        for name, policy in self.policies.items():
            if name == tier:
                return policy
        raise InvalidTierError(f"there is no tier {tier!r:.80}; {self._open_ones()}")

    def _is_open(self, policy: TierPolicy) -> bool:
        return policy.lifetime == "user" or self._tier_ids[policy.name] is not None

    def _open_ones(self) -> str:
        return f"the open tiers are {', '.join(self.open_tiers)}"

    def _filters(
        self,
        tier: str | None,
        category: str | None = None,
        tags: str | Iterable[str] | None = (),
        filters: Filters | None = None,
    ) -> dict[str, Any]:
        """Return the filters for the notes of a tier, or of all open ones."""
        if tier is not None and tier != DETAIL:
            self.tier_id(tier)  # raises if it is not open
        if not str(category).endswith("*"):
            check_category(category)
        tiers = self.open_tiers if tier is None else tier
        check_arguments(tags=tags)
        return search_filters(filters, tier=tiers, category=category, tags=as_list(tags) or None)

    def _query(self, wanted: Filters, limit: int | None) -> list[MemoryItem]:
        scope = self.manager.scope
        return self.manager.memory_store.query(scope, wanted, limit=limit, order_by=NEWEST_FIRST)

    def _keep(
        self,
        content: AnyContent,
        tier: str,
        type: str,  # noqa: A002 - the word that the record uses
        importance: float,
        **details: Any,  # noqa: ANN401 - those of `MemoryManager.remember`
    ) -> str:
        """Commit a note to an open tier, within the tier's limits, and return its key."""
        tier_id = self.tier_id(tier)
        check_content(content)
        check_category(details.get("category"))
        redaction = self.manager.redaction(type)
        if isinstance(content, str):
            content = redaction.text(content)
            details["redaction"] = redaction
        if not details.get("description") and type != SECRET:
            details["description"] = first_line(content)
        if self.policies[tier].lifetime == "run" and details.get("expires_at") is None:
            details["expires_at"] = now() + LONGEST_RUN
        item = self.manager.remember(
            content,
            type=type,
            tier=tier,
            tier_id=tier_id,
            importance=importance,
            room=self.policies[tier].room,
            check=self._validate,
            **details,
        )
        return item.memory_key

    def _expires_with_run(self, item: MemoryItem) -> bool:
        """Return whether `_keep` set the expiry of a note, counted from a moment before its creation."""
        policy = self.policies.get(item.tier)
        if not policy or policy.lifetime != "run" or not item.expires_at:
            return False
        return abs(item.expires_at - item.created_at - LONGEST_RUN) < A_MOMENT

    def _validate(self, item: MemoryItem) -> None:
        """Check a record by its tier's `validate`.

        Raises:
            InvalidArgumentError: It objects.
        """
        validate = self.policies[item.tier].validate
        objection = validate(item) if validate else None
        if objection:
            raise InvalidArgumentError(f"the tier {item.tier!r} does not take this: {objection}")

    def _counted(self, items: Sequence[MemoryItem]) -> MemoryList:
        """Count the notes as read, and return them with the new counts."""
        keys = [item.memory_key for item in items]
        self.manager.audit("expanded", *keys)
        try:
            self.manager.memory_store.touch(self.manager.scope, keys)
        except StoreError as error:
            user_id = self.manager.scope.user_id
            log_events.NOTES_NOT_COUNTED.log(error, user_id=user_id, notes=len(items))
            return MemoryList(items)
        moment = now()
        return MemoryList(
            replace(item, accessed_at=moment, access_count=item.access_count + 1) for item in items
        )

    def _note(self, key: str, seen: datetime | None = None) -> MemoryItem | None:
        """Return the note under `key`, or None.

        Raises:
            InvalidTierError: The key belongs to a memory that is not a note.
            RecordChangedError: Its `updated_at` is not *seen*: it was changed since the caller saw it.
        """
        check_arguments(seen=seen)
        item = self.manager.memory_store.get(self.manager.scope, check_key(key))
        if item and item.tier not in self.policies:
            raise InvalidTierError(
                f"{key!r} is not a note: its tier is {item.tier!r}; notes are in {', '.join(self.policies)}"
            )
        if item and seen not in (None, item.updated_at):
            raise changed(key)
        return item

    def _replaced(self, old: MemoryItem, new: MemoryItem) -> MemoryItem | None:
        """Write *new* in place of *old*, as it was read, and return it; None if somebody has changed *old* meanwhile."""
        room = self.policies[new.tier].room if new.is_active else None
        try:
            written = self.manager.memory_store.put(
                self.manager.scope, new, room=room, replaces=old
            )
        except RecordChangedError:
            return None
        self.manager.audit("stored", written.memory_key)
        return written

    def _check_confirmed(self, item: MemoryItem) -> None:
        """Ask for confirmation of a new record, if its tier has a `confirm`.

        A record that the user layer shows in every later conversation counts as one of the tier
        ``global``.

        Raises:
            DeclinedError: It was declined.
        """
        is_shown_always = ALWAYS in item.tags
        tier = item.tier
        if tier == DETAIL and (is_shown_always or item.memory_type == PREFERENCE):
            tier = "global"
        if tier not in self.policies or (item.memory_type == PATTERN and not is_shown_always):
            return
        if not self._is_confirmed(Confirmation("save", tier, content=item.content)):
            raise DeclinedError(
                f"saving this in the tier {tier!r} was declined; nothing was written"
            )

    def _is_confirmed(self, question: Confirmation) -> bool:
        """Return the answer of the tier's `confirm`; True if the tier has none."""
        confirm = self.policies[question.tier].confirm
        if confirm is None:
            return True
        answer = confirm(question)
        if isawaitable(answer):
            answer = result_of(answer)
        return bool(answer)


def first_line(content: object) -> str | None:
    """Return the first line of a text that is not blank; None for other content, or if there is none."""
    if not isinstance(content, str):
        return None
    first = next((line for line in content.splitlines() if line.strip()), "")
    return one_line(first) or None


def check_content(content: object) -> None:
    """Raise `InvalidContentError` if the content is empty."""
    is_blank = isinstance(content, str) and not content.strip()
    if is_blank or content in (None, b"", {}, []):
        raise InvalidContentError("there is nothing to keep: the content is empty")
