"""LangGraph's store on the memories of one user."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from itertools import chain, takewhile
from operator import attrgetter, eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
)

from langchain_memory_context.user_of_a_run import RunUser, user_of_run
from memory_context.exceptions import (
    EmbedderError,
    InvalidArgumentError,
    InvalidFilterError,
    MemoryContextError,
    StoreError,
    StoreUnavailableError,
)
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import (
    STORE_ITEM,
    MemoryItem,
    check_metadata,
    hash_content,
    is_storable,
    now,
    to_content,
)
from memory_context.model.origin import MODEL
from memory_context.model.reference import one_line
from memory_context.model.scope import Scope
from memory_context.runtime import events
from memory_context.runtime.threads import off_loop
from memory_context.stores import SQLAlchemyStore, as_store
from memory_context.text.index.embedders import Embedder, name_of

if TYPE_CHECKING:
    from memory_context.stores import AnyStore, MemoryStore
    from memory_context.stores.protocol import Filters
    from memory_context.stores.sql.index.embedding_worker import EmbeddingWorker

TIER = "store"
TYPE = STORE_ITEM
SEARCHED = 1000
LEAST_READ = 100
# How many items are one transaction: for a tenth of a second, or others that write would wait in vain.
WRITTEN_TOGETHER = 100
# A statement takes so many keys in every database.
RANKED_TOGETHER = 1000
_PLAIN = re.compile(r"[\w-]+")
_FIELD = re.compile(r"[a-zA-Z0-9_.-]+")
_LABEL = re.compile(r"[^.\0]+")
_SPECIAL = re.compile(r"\W")
_WRITTEN = re.compile(r"-x([0-9a-f]{1,6})-")
# A category has at most 255 characters: what a namespace has beyond these stands there as a hash.
LONGEST_PATH = 200
# How many labels are kept as they are written.
LABELS = 10_000
_HASHED = re.compile(r"(?:^|/)-x[0-9a-f]{40}-$")
# Whole numbers up to here are written in one way.
_EXACT = 10**15
_SETTINGS = ("default_ttl", "refresh_on_read", "omit_expired")
_INDEX_SETTINGS = ("dims", "embed", "fields", "distance_type")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip


# Items with what they hold: namespace, key, value and times.
_Found: TypeAlias = list[tuple[MemoryItem, dict[str, Any]]]


class MemoryStoreAdapter(BaseStore):
    """LangGraph's `BaseStore` on one user's memories, for ``create_agent(store=…)``, LangMem and others.

    An item is a memory of the type ``store_item`` in the tier ``store``, so that `MemoryManager.search` and
    `search_memory` find it too. A search with a query finds the items that speak of it, best first; without one, the
    oldest first. An item with a ttl whose time has come is deleted by `sweep_ttl` and `memory-context gc`, and read as
    others are until then; reading it begins that time anew, unless ``refresh_ttl`` is False. The index False keeps an item
    from searches with a query.
    In a batch all reads see what was there before its writes; in a database each hundred items that it puts are one
    transaction, what it deletes is deleted after them.

    `get`, `search`, `put`, `delete`, `list_namespaces`, and `aget`, `asearch` and so on, take what LangGraph's take.

    Args:
        manager: The memories of one user, for everybody who uses the store.
        store: In place of a manager, for many users: a database URL, a SQLAlchemy engine or pool, or a `MemoryStore`.
        user_id: Whose items each run works on, as `MemoryContextMiddleware` takes it: a callable of the run's `Runtime`,
            or None for the one whom LangGraph's server has signed in, or whom the run names.
        ttl: ``default_ttl``, in minutes, for items that are put without one; ``refresh_on_read`` for reads that do not
            say whether they begin an item's time anew, True without it; ``omit_expired`` for an item that is not there any
            more when its time has come, swept or not.
        index: LangGraph's configuration of semantic search: ``embed`` makes a vector of each of an item's ``fields`` (the
            whole item without them, those that `put` names in their place), and a search with a query finds all items,
            the most similar first, by ``distance_type``: ``cosine``, ``inner_product`` or ``l2``. Those that were put
            without it have no vectors: they come last, without a score.
            Without `index` words decide, or the store's own embedder, and names of fields make no difference.

    Raises:
        InvalidArgumentError: A manager beside a store or a user, another setting in `ttl` or `index`, or an
            index for a store that is no `SQLAlchemyStore`, or that encrypts.
    """

    supports_ttl = True

    def __init__(
        self,
        manager: MemoryManager | None = None,
        *,
        store: AnyStore | None = None,
        user_id: RunUser = None,
        ttl: TTLConfig | None = None,
        index: IndexConfig | Mapping[str, Any] | None = None,
    ) -> None:
        unknown = sorted(set(ttl or ()).difference(_SETTINGS))
        if unknown:
            raise InvalidArgumentError(
                f"ttl takes {', '.join(_SETTINGS)}, not {', '.join(unknown)}: what has expired is deleted by "
                "sweep_ttl() and `memory-context gc`"
            )
        if manager is not None and (store is not None or user_id is not None):
            raise InvalidArgumentError(
                "a manager has a store and a user: give it, or store= and user_id="
            )
        given: object = manager
        if not isinstance(given, MemoryManager | None):
            # Without what was given: a URL may hold a password.
            raise InvalidArgumentError(
                "manager= takes a MemoryManager; a URL or a store is store=, beside user_id="
            )
        self.ttl_config = ttl
        self.index_config = index
        self._manager = manager
        self._user_id = user_id
        self._store = as_store(store) if manager is None else manager.memory_store
        self._embedding = None if index is None else _embedding_of(self._store, index)
        self._turns: dict[_Turn, _JoinedCalls] = {}

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
            InvalidNamespaceError: A namespace that is not a tuple of texts, or has a label that LangGraph does not take.
                Nothing was done then.
            InvalidArgumentError: An unknown operation or operator, or a filter on a name with other characters than letters,
                digits, ``_``, ``.`` and ``-``.
            InvalidContentError: JSON cannot express a value.
            InvalidScopeError: Nobody says whose run it is.
            StoreError: The store could not do it, or something in it left no item under the key; a search leaves
                such items out, and logs a warning.
        """
        return self._items.batch(list(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, off the event loop.

        Operations that tasks ask for one by one, in the same turn of the loop and for the same user, are one batch, as in
        LangGraph's own asynchronous stores. One that fails leaves the others as they would be without it.
        """
        match list(ops):
            case [op]:
                return [await self._joined(op)]
            case several:
                return await off_loop(self.batch, several)

    async def _joined(self, op: Op) -> Result:
        _check(op)
        items = self._items
        turn = asyncio.get_running_loop(), items.scope.user_id
        if turn not in self._turns:
            # Its task has its turn when all have had theirs that are ready now.
            task = asyncio.create_task(self._done(turn))
            self._turns[turn] = _JoinedCalls(items, task)
        calls = self._turns[turn]
        place = len(calls.ops)
        calls.ops.append(op)
        # Whoever is cancelled, the others still wait for it.
        result = (await asyncio.shield(calls.task))[place]
        if isinstance(result, MemoryContextError):
            raise result
        return result

    async def _done(self, turn: _Turn) -> list[Result | MemoryContextError]:
        calls = self._turns.pop(turn)
        return await off_loop(calls.items.results, calls.ops)

    def sweep_ttl(self) -> int:
        """Delete the user's items that have expired; return how many there were.

        Raises:
            StoreError: The store could not do it.
        """
        return self._items.sweep()

    @property
    def _items(self) -> _StoredItems:
        fields = (self.index_config or {}).get("fields") or "$"
        listed = [fields] if isinstance(fields, str) else fields
        omits_expired = bool((self.ttl_config or {}).get("omit_expired"))
        return _StoredItems(self.manager, self._embedding, listed, omits_expired)


_Turn: TypeAlias = tuple[asyncio.AbstractEventLoop, str]


@dataclass(slots=True)
class _JoinedCalls:
    """What is asked for in one turn of an event loop, and the task that does it."""

    items: _StoredItems
    task: asyncio.Task[list[Result | MemoryContextError]]
    ops: list[Op] = field(default_factory=list[Op])


def _embedding_of(store: MemoryStore, index: Mapping[str, Any]) -> EmbeddingWorker:
    """Return what makes vectors in *store* as LangGraph's configuration says.

    Raises:
        InvalidArgumentError: It says something else, or the store has no place for them.
    """
    if "embed" not in index or set(index).difference(_INDEX_SETTINGS):
        raise InvalidArgumentError(
            f"index takes {', '.join(_INDEX_SETTINGS)}, embed always; not {', '.join(index)}"
        )
    if not isinstance(store, SQLAlchemyStore):
        raise InvalidArgumentError(
            f"index needs a SQLAlchemyStore, which keeps vectors; not {store!r}"
        )
    embed = index["embed"]
    if iscoroutinefunction(embed):
        raise InvalidArgumentError(
            "index takes an embed that is no coroutine function: it is called off the event loop"
        )
    # Apart from the vectors of whole memories, which the store's own embedder may make by the same model.
    embedder = embed if isinstance(embed, Embedder) else ensure_embeddings(embed)
    return store.embedding_by(
        embedder, f"langgraph {name_of(embed) or embed}", index.get("distance_type", "cosine")
    )


@dataclass(frozen=True, slots=True)
class _StoredItems:
    """The items of one user."""

    manager: MemoryManager
    embedding: EmbeddingWorker | None
    fields: Sequence[str]
    omits_expired: bool

    @property
    def scope(self) -> Scope:
        return Scope(self.manager.scope.user_id, tier=TIER)

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        for op in ops:
            _check(op)
        refreshed: dict[str, MemoryItem] = {}
        results = [self._read(op, refreshed) for op in ops]
        self._refresh(refreshed.values())
        # Of several writes to one key only the last counts.
        writes = {(tuple(op.namespace), op.key): op for op in ops if isinstance(op, PutOp)}
        for start in range(0, len(writes), WRITTEN_TOGETHER):
            self._write(list(writes.values())[start : start + WRITTEN_TOGETHER])
        return results

    def results(self, ops: Sequence[Op]) -> list[Result | MemoryContextError]:
        """Return the results of operations of several callers; of one that fails, its error."""
        try:
            return [*self.batch(ops)]
        except StoreUnavailableError:
            raise
        except MemoryContextError as error:
            return [error] if len(ops) == 1 else [self.results([op])[0] for op in ops]

    def _read(self, op: Op, refreshed: dict[str, MemoryItem]) -> Result:
        """Return the result of *op*; note in *refreshed*, by key, whose time it begins anew."""
        match op:
            case GetOp():
                found = self.manager.memory_store.get(self.scope, _key(op.namespace, op.key))
                if found is None or (self.omits_expired and _has_expired(found)):
                    return None
                self.manager.audit("expanded", found.memory_key)
                if op.refresh_ttl:
                    refreshed[found.memory_key] = found
                return Item(**_facts(found))
            case SearchOp():
                page = self._searched(op)
                self.manager.audit("expanded", *(item.memory_key for item, _ in page))
                if op.refresh_ttl:
                    refreshed.update((item.memory_key, item) for item, _ in page)
                return [
                    SearchItem(**facts, score=item.match.score if item.match else None)
                    for item, facts in page
                ]
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None

    def _write(self, ops: Sequence[PutOp]) -> None:
        put = {_key(op.namespace, op.key): op for op in ops if op.value is not None}
        if put:
            self.manager.replace_all([self._described(key, op) for key, op in put.items()])
            if self.embedding is not None:
                self._embed(self.embedding, put)
        for key in [_key(op.namespace, op.key) for op in ops if op.value is None]:
            if self.manager.memory_store.delete(self.scope, key):
                self.manager.audit("deleted", key)

    def _embed(self, embedding: EmbeddingWorker, put: Mapping[str, PutOp]) -> None:
        """Make the vectors of the items that were put under these keys, as they are stored: without secrets."""
        chosen: list[tuple[MemoryItem, list[str]]] = []
        for item, facts in _readable(self.manager.memory_store.get_many(self.scope, put)):
            index = put[item.memory_key].index
            fields = self.fields if index is None else index or ()
            texts = [get_text_at_path(facts["value"], field) for field in fields]
            chosen.append((item, list(chain.from_iterable(texts))))
        embedding.embed_chosen(chosen)

    def _described(self, key: str, op: PutOp) -> tuple[MemoryItem, str]:
        """Return the memory of an item that is put, under its key there, and its description."""
        metadata: dict[str, Any] = {
            "namespace": list(op.namespace),
            "key": op.key,
            "index": op.index is not False,
        }
        if op.ttl is not None:
            metadata["ttl"] = op.ttl
        content, media_type = to_content(dict(op.value or {}))
        item = MemoryItem(
            user_id=self.manager.scope.user_id,
            agent_id=self.manager.agent_id,
            thread_id=self.manager.thread_id,
            memory_key=key,
            memory_type=TYPE,
            tier=TIER,
            content=content,
            media_type=media_type,
            content_metadata=check_metadata(metadata),
            category=category_of(op.namespace),
            expires_at=None if op.ttl is None else now() + timedelta(minutes=op.ttl),
            origin=MODEL,  # or of the program: an item does not say whether a tool has put it
        )
        return item, one_line(f"{'/'.join(op.namespace)}: {op.key}")

    def _searched(self, op: SearchOp) -> _Found:
        """Return a page of the items below a namespace that match."""
        return self._spoken_of(op) if (op.query or "").strip() else self._oldest(op)

    def _spoken_of(self, op: SearchOp) -> _Found:
        hits = partial(self.manager.hits, self.scope, op.query or "")
        if self.embedding is not None:
            by_vectors = partial(hits, mode="semantic", passages=False, by=self.embedding)
            # An embedder that fails is logged, and words decide, as in every search.
            with suppress(EmbedderError):
                return self._most_similar(op, by_vectors)
        found = hits(limit=SEARCHED, filters=self._below(op.namespace_prefix))
        items = [item for item in found if item.content_metadata.get("index", True)]
        return _matching(items, op)[op.offset : op.offset + op.limit]

    def _most_similar(self, op: SearchOp, by_vectors: Callable[..., list[MemoryItem]]) -> _Found:
        """Return a page of the items that match, the most similar first; those without vectors last, oldest first."""
        needed = op.offset + op.limit
        limit = needed if _is_met_in_sql(op) else max(needed * 4, LEAST_READ)
        near = self._read_by(by_vectors, op, limit)
        found = _matching(near, op)
        if len(found) < needed:
            is_all = len(near) < limit
            oldest = self._first(op, needed if is_all else None)
            if not is_all:
                # What is near does not match: all that matches is ranked.
                near = _ranked(by_vectors, [item.memory_key for item, _ in oldest], needed)
                found = _matching(near, op)
            similar = {item.id for item, _ in found}
            found += [(item, facts) for item, facts in oldest if item.id not in similar]
        return found[op.offset : needed]

    def _oldest(self, op: SearchOp) -> _Found:
        """Return a page of the items that match, oldest first."""
        if _is_met_in_sql(op):
            read = partial(self._query, offset=op.offset)
            return _matching(self._read_by(read, op, op.limit), op)
        return self._first(op, op.offset + op.limit)[op.offset :]

    def _first(self, op: SearchOp, needed: int | None) -> _Found:
        """Return the oldest items that match: as many as are needed, or all."""
        # Which ones match is seen in their values: more are read until there are enough, or no more.
        limit = needed
        while True:
            items = self._read_by(self._query, op, limit)
            found = _matching(items, op)
            if limit is None or len(items) < limit or len(found[:needed]) == needed:
                return found[:needed]
            limit = max(limit * 16, LEAST_READ)

    def _read_by(
        self, read: Callable[..., list[MemoryItem]], op: SearchOp, limit: int | None
    ) -> list[MemoryItem]:
        """Return the first items below the namespace that may match."""
        filters = self._below(op.namespace_prefix)
        hint = _hint(op.filter or {})
        try:
            return read(filters={**filters, **hint}, limit=limit)
        except (InvalidFilterError, StoreError) as error:
            if not hint or isinstance(error, StoreUnavailableError | EmbedderError):
                raise
            # A codec hides contents from the database, or one is no JSON for it; they are only a hint.
            return read(filters=filters, limit=limit)

    def _query(self, filters: Filters, limit: int | None, offset: int = 0) -> list[MemoryItem]:
        return self.manager.memory_store.query(
            self.scope, filters, limit=limit, offset=offset, order_by="-created_at"
        )

    def _below(self, prefix: Sequence[str]) -> Filters:
        """Return the filters for the items below a namespace; of a long one only the first labels count."""
        filters: dict[str, Any] = {}
        if self.omits_expired:
            filters["expires_at"] = [None, {"$gt": now()}]
        if path := _path_of(prefix):
            filters["category"] = {"$under": path}
        return filters

    def sweep(self) -> int:
        """Delete what has expired; return how many there were."""
        store, user = self.manager.memory_store, self.scope.user_id
        return delete_expired(store, user_id=user, tier=TIER)

    def _refresh(self, items: Iterable[MemoryItem]) -> None:
        """Begin the time of those items anew that were put with one."""
        ends = [
            (item, now() + timedelta(minutes=item.content_metadata["ttl"]))
            for item in items
            if item.expires_at is not None and "ttl" in item.content_metadata
        ]
        if ends:
            self.manager.memory_store.expire_at(self.scope, ends)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        namespaces = {
            namespace[: op.max_depth]
            for namespace in self._namespaces_below(_fixed_beginning(conditions))
            if all(_fits(condition, namespace) for condition in conditions)
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _namespaces_below(self, prefix: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the namespaces with items; of a long *prefix* only the first labels count."""
        # Every item has a category; where that is asked for, its index alone is read.
        filters = {"category": {"$gt": ""}, **self._below(prefix)}
        for usage in self.manager.memory_store.usage(self.scope, filters):
            category = usage.category or ""
            namespace = namespace_of(category)
            if namespace is not None:
                yield namespace
                continue
            # Its items know it, all of them the same one.
            items = self._query({"category": category}, limit=1)
            yield from (facts["namespace"] for _, facts in _readable(items))


class InvalidStoreNamespaceError(InvalidArgumentError, InvalidNamespaceError):
    """A namespace that is none; LangGraph's error and ours."""


def _check(op: Op) -> None:
    """Refuse an operation on what is no namespace, or by a filter on what is no field, as LangGraph's own stores do.

    Raises:
        InvalidStoreNamespaceError: It is no namespace.
        InvalidFilterError: It is no name that LangGraph's `SqliteStore` takes.
    """
    match op:
        case PutOp():
            _check_labels(op.namespace)
            # LangGraph's own label, langgraph, is refused where an item is put by itself: what it writes itself is a batch.
            if not op.namespace:
                raise InvalidStoreNamespaceError("an item needs a namespace that is not empty")
        case GetOp():
            _check_labels(op.namespace)
        case SearchOp():
            _check_labels(op.namespace_prefix)
            for name in op.filter or ():
                if not _FIELD.fullmatch(name):
                    raise InvalidFilterError(
                        f"Invalid filter key: {name!r:.80}; a field's name has ASCII letters, digits, _ . and - only"
                    )
        case ListNamespacesOp():
            for condition in op.match_conditions or ():
                # A text is as many labels as it has characters, as in LangGraph's own stores.
                _check_labels(tuple(condition.path))


def _check_labels(namespace: object) -> None:
    labels = cast("Sequence[object]", namespace if isinstance(namespace, tuple | list) else [None])
    if not all(isinstance(label, str) and _LABEL.fullmatch(label) for label in labels):
        raise InvalidStoreNamespaceError(
            f"a namespace is a tuple of texts that are not empty and have no period and no NUL; not {namespace!r:.80}"
        )


def category_of(namespace: Sequence[str]) -> str:
    """Return the category of a namespace's items: its path, which `namespace_of` reads; of a long one, a part and a hash."""
    path = _path_of(namespace)
    if not _is_cut(namespace):
        return path
    digest = hash_content(json.dumps(list(namespace)))[:40]
    return f"{path}/-x{digest}-".removeprefix("/")


def namespace_of(category: str) -> tuple[str, ...] | None:
    """Return the namespace that `category_of` made a category of; None if that holds a part of it only."""
    if _HASHED.search(category):
        return None
    return tuple(
        _WRITTEN.sub(lambda code: chr(int(code[1], 16)), label) for label in category.split("/")
    )


def _path_of(namespace: Sequence[str]) -> str:
    """Return as many of the labels as a category has room for."""
    path = "/".join(map(_written, namespace))
    while len(path) > LONGEST_PATH:
        path = path.rpartition("/")[0]
    return path


def _is_met_in_sql(op: SearchOp) -> bool:
    """Return whether the database alone tells what a search is for."""
    return not op.filter and not _is_cut(op.namespace_prefix)


def _is_cut(namespace: Sequence[str]) -> bool:
    return len("/".join(map(_written, namespace))) > LONGEST_PATH


@lru_cache(maxsize=LABELS)
def _written(label: str) -> str:
    """Return a label as categories can hold it: ``new york`` as ``new-x20-york``."""
    if _PLAIN.fullmatch(label) and not _WRITTEN.search(label):
        return label
    # A hyphen, too: it would be read as the beginning of a code.
    return _SPECIAL.sub(lambda char: f"-x{ord(char[0]):x}-", label)


def _hint(wanted: Mapping[str, Any]) -> Filters:
    """Return a filter that lets through every value that matches *wanted*: by a text that it holds, or by its fields."""
    for name, value in wanted.items():
        if _is_written_alike(value):
            # Of a name with dots, its last part may be the name of a field further below.
            written = json.dumps({name.rpartition(".")[2]: value}, ensure_ascii=False)
            return {"content": {"$contains": written[2:-1]}}
    asked = {name: cast("Any", one) for name, one in wanted.items() if isinstance(one, dict)}
    return {"content": {"$fields": asked}} if asked else {}


def _is_written_alike(value: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Return whether JSON writes every value that equals this one in the same way, or begins so."""
    if isinstance(value, str):
        return is_storable(value)
    # True equals 1; 2.0 is written behind 2.
    return type(value) is int and abs(value) < _EXACT and value not in (0, 1)


def _key(namespace: Sequence[str], key: str) -> str:
    return f"store_{hash_content(json.dumps([*namespace, key]))[:48]}"


def _facts(item: MemoryItem) -> dict[str, Any]:
    """Return the item that a memory holds.

    Raises:
        StoreError: It holds none.
    """
    try:
        return {
            "namespace": tuple(item.content_metadata["namespace"]),
            "key": item.content_metadata["key"],
            "value": dict(json.loads(item.content)),
            "created_at": item.created_at,
            "updated_at": item.updated_at,
        }
    except (ValueError, TypeError, LookupError) as error:
        raise StoreError(
            f"the memory {item.memory_key!r} does not hold the item that was stored there"
        ) from error


def _ranked(
    by_vectors: Callable[..., list[MemoryItem]], keys: Sequence[str], needed: int
) -> list[MemoryItem]:
    """Return the most similar of the memories under *keys*."""
    near: list[MemoryItem] = []
    for start in range(0, len(keys), RANKED_TOGETHER):
        some = keys[start : start + RANKED_TOGETHER]
        near += by_vectors(filters={"memory_key": some}, limit=needed)
    return sorted(near, key=attrgetter("match.score"), reverse=True)


def _matching(items: Iterable[MemoryItem], op: SearchOp) -> _Found:
    """Return the items below the namespace whose values match, with what they hold."""
    prefix = tuple(op.namespace_prefix)
    return [
        (item, facts)
        for item, facts in _readable(items)
        if facts["namespace"][: len(prefix)] == prefix and _matches(facts["value"], op.filter or {})
    ]


def _readable(items: Iterable[MemoryItem]) -> Iterator[tuple[MemoryItem, dict[str, Any]]]:
    """Yield the items with what they hold; leave out records that hold no item."""
    for item in items:
        try:
            yield item, _facts(item)
        except StoreError as error:
            events.RECORD_UNREADABLE.log(error, memory_key=item.memory_key)


def _has_expired(item: MemoryItem) -> bool:
    return item.expires_at is not None and item.expires_at <= now()


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
        raise InvalidArgumentError(
            f"unknown operator {operator!r}: there are {' '.join(_OPERATORS)}"
        )
    try:
        return _OPERATORS[operator](value, operand)
    except TypeError:  # a text is neither more nor less than a number
        return False


def _fixed_beginning(conditions: Iterable[MatchCondition]) -> list[str]:
    """Return the first labels of every namespace that fits."""
    for condition in conditions:
        if condition.match_type == "prefix":
            return list(takewhile(lambda label: label != "*", condition.path))
    return []


def _fits(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if condition.match_type == "suffix":
        path, namespace = path[::-1], namespace[::-1]
    if len(path) > len(namespace):
        return False
    return all(wanted in ("*", label) for wanted, label in zip(path, namespace, strict=False))
