"""LangGraph's store on the memories of one user."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, cast

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from langchain_memory_context.any_label_store import AnyLabelStore
from langchain_memory_context.run_user import RunUser, user_of_run
from memory_context.exceptions import InvalidArgumentError, RecordChangedError, StoreError
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import STORE_ITEM, MemoryItem, hash_content, now
from memory_context.model.reference import one_line
from memory_context.model.scope import MAX_NAME, Scope
from memory_context.runtime import events
from memory_context.runtime.threads import off_loop
from memory_context.stores import SQLAlchemyStore, as_store

if TYPE_CHECKING:
    from memory_context.stores import AnyStore
    from memory_context.stores.protocol import Filters

TIER = "store"
TYPE = STORE_ITEM
SEARCHED = 1000
LEAST_READ = 100
# How many items are one transaction: for a tenth of a second, or others that write would wait in vain.
WRITTEN_TOGETHER = 100
# A read that would prolong an item's life by less than this share of it writes nothing.
LEAST_REFRESH = 0.01
UPDATED = "updated_at"
_PLAIN = re.compile(r"[\w-]+")
_SPECIAL = re.compile(r"\W")
_WRITTEN = re.compile(r"-x([0-9a-f]+)-")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip


class MemoryStoreAdapter(AnyLabelStore):
    """LangGraph's `BaseStore` on one user's memories, for ``create_agent(store=…)``, LangMem and others.

    An item is a memory of the type ``store_item`` in the tier ``store``, so that `MemoryManager.search` and
    `search_memory` find it too. Labels of a namespace may hold any text, e-mail addresses too. A search with a query
    finds the items that speak of it, best first; without one, the oldest first. An item with a ttl expires when its time
    has come; reading it begins that time anew, unless ``refresh_ttl`` is False. The index False keeps an item from
    searches with a query; names of fields as an index make no difference. In a batch all reads see what was there before
    its writes, and in a database each hundred of its writes are one transaction.

    `get`, `search`, `put`, `delete`, `list_namespaces`, and `aget`, `asearch` and so on, take what LangGraph's take.

    Args:
        manager: The memories of one user, for everybody who uses the store.
        store: In place of a manager, for many users: a database URL, a SQLAlchemy engine or pool, or a `MemoryStore`.
        user_id: Whose items each run works on, as `MemoryContextMiddleware` takes it: a callable of the run's `Runtime`,
            or None for the one whom LangGraph's server has signed in, or whom the run names.

    Raises:
        InvalidArgumentError: A manager beside a store or a user.
    """

    supports_ttl = True

    def __init__(
        self,
        manager: MemoryManager | None = None,
        *,
        store: AnyStore | None = None,
        user_id: RunUser = None,
    ) -> None:
        if manager is not None and (store is not None or user_id is not None):
            message = "a manager has a store and a user: give it, or store= and user_id="
            raise InvalidArgumentError(message)
        self._manager = manager
        self._user_id = user_id
        self._store = None if manager is not None else as_store(store)

    @property
    def manager(self) -> MemoryManager:
        """Return the memories of the user whose run this is.

        Raises:
            InvalidScopeError: Nobody says whose run it is.
        """
        if self._manager is not None:
            return self._manager
        return MemoryManager(self._store, user_id=user_of_run(self._user_id))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of *ops*, in their order.

        Raises:
            InvalidArgumentError: A namespace that is not a tuple of texts, or an unknown operation or operator.
            InvalidContentError: JSON cannot express a value.
            InvalidScopeError: Nobody says whose run it is.
            StoreError: The store could not do it, or something in it left no item under the key; a search leaves
                such items out, and logs a warning.
        """
        return _StoredItems(self.manager).batch(list(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, off the event loop."""
        return await off_loop(self.batch, list(ops))


@dataclass(frozen=True, slots=True)
class _StoredItems:
    """The items of one user."""

    manager: MemoryManager

    @property
    def scope(self) -> Scope:
        return Scope(self.manager.scope.user_id, tier=TIER)

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        results = [self._read(op) for op in ops]
        # Of several writes to one key only the last counts.
        writes = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for namespace, _ in writes:
            _check(namespace)
        if not writes:
            return results
        store = self.manager.memory_store
        # In one order, or two batches could each wait for what the other one has written.
        ordered = [write for _, write in sorted(writes.items())]
        for start in range(0, len(ordered), WRITTEN_TOGETHER):
            with store.together() if isinstance(store, SQLAlchemyStore) else nullcontext():
                for write in ordered[start : start + WRITTEN_TOGETHER]:
                    self._write(write)
        return results

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = self.manager.memory_store.get(self.scope, _key(op.namespace, op.key))
                if found is None or not _lives(found):
                    return None
                self.manager.audit("expanded", found.memory_key)
                if op.refresh_ttl:
                    self._refresh(found)
                return Item(**_facts(found))
            case SearchOp():
                return self._searched(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None

    def _write(self, op: PutOp) -> None:
        key = _key(op.namespace, op.key)
        if op.value is None:
            if self.manager.memory_store.delete(self.scope, key):
                self.manager.audit("deleted", key)
            return
        metadata: dict[str, Any] = {
            "namespace": list(op.namespace),
            "key": op.key,
            "index": op.index is not False,
        }
        if op.ttl is not None:
            metadata["ttl"] = op.ttl
        self.manager.remember(
            dict(op.value),
            one_line(f"{'/'.join(op.namespace)}: {op.key}") or None,
            TYPE,
            key=key,
            tier=TIER,
            category=category_of(op.namespace),
            tags=[_tag(op.namespace[:depth]) for depth in range(1, len(op.namespace) + 1)],
            metadata=metadata,
            expires_at=None if op.ttl is None else now() + timedelta(minutes=op.ttl),
            replace=True,
        )

    def _searched(self, op: SearchOp) -> list[SearchItem]:
        """Return the items below a namespace that match and have not expired."""
        filters = {"tags": _tag(op.namespace_prefix)} if op.namespace_prefix else {}
        if op.query:
            found = self.manager.hits(self.scope, op.query, limit=SEARCHED, filters=filters)
            items = [item for item in found if item.content_metadata.get("index", True)]
            matching = _matching(items, op)
        else:
            matching = self._oldest(op, filters)
        page = matching[op.offset : op.offset + op.limit]
        self.manager.audit("expanded", *(item.memory_key for item, _ in page))
        if op.refresh_ttl:
            for item, _ in page:
                self._refresh(item)
        return [
            SearchItem(**facts, score=item.match.score if item.match and op.query else None)
            for item, facts in page
        ]

    def _oldest(self, op: SearchOp, filters: Filters) -> list[tuple[MemoryItem, dict[str, Any]]]:
        """Return the oldest items that match, as many as the operation needs or more.

        Which ones match is seen in their values: more are read until there are enough, or no more.
        """
        store, needed = self.manager.memory_store, op.offset + op.limit
        limit = needed
        while True:
            items = store.query(self.scope, filters, limit=limit, order_by="-created_at")
            matching = _matching(items, op)
            if len(matching) >= needed or len(items) < limit:
                return matching
            limit = max(limit * 4, LEAST_READ)

    def _refresh(self, item: MemoryItem) -> None:
        """Begin the time of an item anew that was put with one; its value was not updated by that."""
        minutes = item.content_metadata.get("ttl")
        if minutes is None or item.expires_at is None:
            return
        lifetime = timedelta(minutes=minutes)
        expires_at = now() + lifetime
        if expires_at - item.expires_at < lifetime * LEAST_REFRESH:
            return
        updated = item.content_metadata.get(UPDATED, item.updated_at.isoformat())
        metadata = {**item.content_metadata, UPDATED: updated}
        longer = replace(item, expires_at=expires_at, content_metadata=metadata, match=None)
        # Somebody else has put or read it meanwhile: then it lives on by that.
        with suppress(RecordChangedError):
            self.manager.memory_store.put(self.scope, longer, replaces=item)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        namespaces = {
            namespace[: op.max_depth]
            for namespace in self._all_namespaces()
            if all(_fits(condition, namespace) for condition in op.match_conditions or ())
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _all_namespaces(self) -> Iterator[tuple[str, ...]]:
        """Yield the namespaces with items: by their categories, or by each item where that has none."""
        store = self.manager.memory_store
        for lives in ({"expires_at": None}, {"expires_at": {"$gt": now()}}):
            for usage in store.usage(self.scope, lives):
                if usage.category is not None:
                    yield namespace_of(usage.category)
                    continue
                items = store.query(self.scope, {**lives, "category": None}, limit=None)
                yield from (facts["namespace"] for _, facts in _living(items))


class InvalidStoreNamespaceError(InvalidArgumentError, InvalidNamespaceError):
    """A namespace that is none; LangGraph's error and ours."""


def _check(namespace: object) -> None:
    labels = cast("tuple[object, ...]", namespace) if isinstance(namespace, tuple) else ()
    texts = [label for label in labels if isinstance(label, str) and label and "\0" not in label]
    if not labels or len(texts) < len(labels) or labels[0] == "langgraph":
        message = (
            "a namespace is a tuple of one or more texts that are not empty and have no NUL, the first of them not "
            f"langgraph, which LangGraph keeps to itself; not {namespace!r:.80}"
        )
        raise InvalidStoreNamespaceError(message)


def category_of(namespace: Sequence[str]) -> str | None:
    """Return the category of a namespace's items, which `namespace_of` reads; None if it would be too long."""
    category = "/".join(map(_written, namespace))
    return category if len(category) <= MAX_NAME else None


def namespace_of(category: str) -> tuple[str, ...]:
    """Return the namespace that `category_of` made a category of."""
    return tuple(
        _WRITTEN.sub(lambda code: chr(int(code[1], 16)), label) for label in category.split("/")
    )


def _written(label: str) -> str:
    """Return a label as categories can hold it: ``ann@example.org`` as ``ann-x40-example-x2e-org``."""
    if _PLAIN.fullmatch(label) and not _WRITTEN.search(label):
        return label
    # A hyphen, too: it would be read as the beginning of a code.
    return _SPECIAL.sub(lambda char: f"-x{ord(char[0]):x}-", label)


def _key(namespace: Sequence[str], key: str) -> str:
    return f"store_{hash_content(json.dumps([*namespace, key]))[:48]}"


def _tag(prefix: Sequence[str]) -> str:
    """Return the tag that all items below a namespace have."""
    return f"in_{hash_content(json.dumps(list(prefix)))[:32]}"


def _facts(item: MemoryItem) -> dict[str, Any]:
    """Return the item that a memory holds.

    Raises:
        StoreError: It holds none.
    """
    try:
        return {
            "namespace": tuple(item.content_metadata["namespace"]),
            "key": item.content_metadata["key"],
            "value": dict(json.loads(item.data)),
            "created_at": item.created_at,
            "updated_at": _updated(item),
        }
    except (ValueError, TypeError, LookupError) as error:
        message = f"the memory {item.memory_key!r} does not hold the item that was stored there"
        raise StoreError(message) from error


def _updated(item: MemoryItem) -> datetime:
    """Return when the value was put: beginning an item's time anew updates the memory alone."""
    written = item.content_metadata.get(UPDATED)
    return item.updated_at if written is None else datetime.fromisoformat(written)


def _matching(items: Iterable[MemoryItem], op: SearchOp) -> list[tuple[MemoryItem, dict[str, Any]]]:
    """Return the items that have not expired and whose values match, with what they hold."""
    return [
        (item, facts) for item, facts in _living(items) if _matches(facts["value"], op.filter or {})
    ]


def _living(items: Iterable[MemoryItem]) -> Iterator[tuple[MemoryItem, dict[str, Any]]]:
    """Yield the items that have not expired with what they hold; leave out records that hold no item."""
    for item in filter(_lives, items):
        try:
            yield item, _facts(item)
        except StoreError as error:
            events.RECORD_UNREADABLE.log(error, memory_key=item.memory_key)


def _lives(item: MemoryItem) -> bool:
    return item.expires_at is None or item.expires_at > now()


def _matches(value: Any, wanted: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Return whether a value is the wanted one: fields, lists of the same length, and operators, as LangGraph has them."""
    if isinstance(wanted, Mapping):
        fields = cast("Mapping[str, Any]", wanted)
        if any(name.startswith("$") for name in fields):
            return all(_holds(value, name, operand) for name, operand in fields.items())
        return isinstance(value, Mapping) and all(
            _matches(_field(cast("Mapping[str, Any]", value), name), one)
            for name, one in fields.items()
        )
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list):
            return False
        values: list[Any] = value  # pyright: ignore[reportUnknownVariableType] # JSON
        others = cast("Sequence[Any]", wanted)
        return len(values) == len(others) and all(map(_matches, values, others))
    return bool(value == wanted)


def _field(value: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a field; of a name with dots that is none itself, the field below: ``address.city``."""
    if name in value or "." not in name:
        return value.get(name)
    first, _, rest = name.partition(".")
    below = value.get(first)
    return _field(cast("Mapping[str, Any]", below), rest) if isinstance(below, Mapping) else None


def _holds(value: Any, operator: str, operand: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    if operator not in _OPERATORS:
        message = f"unknown operator {operator!r}: there are {' '.join(_OPERATORS)}"
        raise InvalidArgumentError(message)
    try:
        return _OPERATORS[operator](value, operand)
    except TypeError:  # a text is neither more nor less than a number
        return False


def _fits(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if condition.match_type == "suffix":
        path, namespace = path[::-1], namespace[::-1]
    if len(path) > len(namespace):
        return False
    return all(wanted in ("*", label) for wanted, label in zip(path, namespace, strict=False))
