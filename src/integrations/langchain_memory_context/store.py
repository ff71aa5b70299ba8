"""`MemoryStoreAdapter`: LangGraph's `BaseStore` on the memories of a user.

An *item* is LangGraph's record: a namespace, a key and a JSON value. It is stored as one memory, whose category is made
of the namespace. A *filter* on values is only narrowed down in SQL; whether an item matches is decided here, by
LangGraph's rules.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from itertools import takewhile
from operator import attrgetter, call, eq, ge, gt, le, lt, ne
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
from memory_context.memory.filters_from_keywords import as_list
from memory_context.memory.gc_by_retention_rules import delete_expired
from memory_context.memory.manager import MemoryManager, check_owner
from memory_context.model.batches import slices_of
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.item import (
    STORE_ITEM,
    MemoryItem,
    check_metadata,
    hash_content,
    is_storable,
    now,
    to_content,
)
from memory_context.model.json_object import elements_of, members_of
from memory_context.model.one_line import one_line
from memory_context.model.origin import MODEL
from memory_context.model.scope import MAX_NAME, Scope
from memory_context.runtime import log_events
from memory_context.runtime.threads import off_loop
from memory_context.stores import SQLAlchemyStore, as_store
from memory_context.text.index.embedders import Embedder, name_of

if TYPE_CHECKING:
    from memory_context.stores import AnyStore, MemoryStore
    from memory_context.stores.protocol import Filters
    from memory_context.stores.sql.index.embedding_of_chunks_and_questions import EmbeddingWorker

TIER = "store"

SEARCHED = 1000
MIN_READ = 100
# Items per transaction: with more, it would take longer than a tenth of a second, and other writers might time out.
WRITTEN_TOGETHER = 100
# Keys per statement, which every database accepts.
RANKED_TOGETHER = 1000
_PLAIN = re.compile(r"[\w-]+")
_FIELD = re.compile(r"[a-zA-Z0-9_.-]+")
_LABEL = re.compile(r"[^.\0]+")
_SPECIAL = re.compile(r"\W")
_ESCAPED = re.compile(r"-x([0-9a-f]{1,6})-")
# The size of the cache of escaped labels.
LABELS = 10_000
# Smaller integers have only one form in JSON.
_EXACT = 10**15
_SETTINGS = ("default_ttl", "refresh_on_read", "omit_expired")
_INDEX_SETTINGS = ("dims", "embed", "fields", "distance_type")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip


# Memories, each with the item in it: namespace, key, value and times.
_Found: TypeAlias = list[tuple[MemoryItem, dict[str, Any]]]
# Reads memories; takes `filters` and a `limit`.
_Read: TypeAlias = Callable[..., list[MemoryItem]]


class MemoryStoreAdapter(BaseStore):
    """LangGraph's `BaseStore` on one user's memories, for ``create_agent(store=…)``, LangMem and others.

    An item is stored as a memory of the type ``store_item`` in the tier ``store``, so `MemoryManager.search` and
    `search_memory` find it, too. A search with a query returns the items that match it, best first; without a query, all
    items, oldest first. An item whose ttl has expired is deleted by `sweep_ttl` and `memory-context gc`, and can be read
    until then. Reading an item restarts its ttl, unless ``refresh_ttl`` is False. An item that is put with ``index=False``
    is not found by searches with a query.

    In a batch, all reads see the state before its writes. The writes are performed a hundred at a time: first what they
    put, in one transaction, then what they delete.

    `get`, `search`, `put`, `delete`, `list_namespaces`, and their asynchronous forms, have LangGraph's arguments.

    Args:
        manager: The memories of one user, shared by all who use the store.
        store: For many users, in place of a manager: a database URL, a SQLAlchemy engine or pool, or a `MemoryStore`.
        user_id: The user whose items a run works on, as in `MemoryContextMiddleware`: a callable that gets the run's
            `Runtime`, or None for the user whom LangGraph's server has authenticated, or whom the run names.
        ttl: ``default_ttl``, in minutes, is the ttl of items that are put without one. ``refresh_on_read`` is whether
            reads restart an item's ttl if they do not say so themselves; True by default. ``omit_expired`` hides expired
            items that are not deleted yet.
        index: LangGraph's configuration of semantic search. ``embed`` makes a vector of each of an item's ``fields``: of
            those that `put` names, else of those given here, else of the whole item. A search with a query then returns
            all items, the most similar first, by ``distance_type``: ``cosine``, ``inner_product`` or ``l2``. Items that
            were put without `index` have no vectors; they come last, without a score.
            Without `index`, searches match words, or use the store's own embedder, and names of fields are ignored.

    Raises:
        InvalidArgumentError: There is a manager and also a store or a user; `ttl` or `index` has an unknown setting; or
            there is an index, but the store is not a `SQLAlchemyStore`, or it encrypts.
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
        check_arguments(ttl=ttl, index=index)
        unknown = set(ttl or ()).difference(_SETTINGS)
        if unknown:
            raise InvalidArgumentError(
                f"ttl takes {', '.join(_SETTINGS)}, not {', '.join(sorted(unknown))}: expired items are deleted by "
                "sweep_ttl() and `memory-context gc`"
            )
        if manager is not None:
            if store is not None or user_id is not None:
                raise InvalidArgumentError(
                    "a manager has a store and a user: give either manager=, or store= and user_id="
                )
            check_owner(manager, MemoryManager)
        self.ttl_config = ttl
        self.index_config = index
        self._manager = manager
        self._user_id = user_id
        self._store = manager.memory_store if manager else as_store(store)
        self._embedding = None if index is None else _embedding_of(self._store, index)
        # The operations that were requested in one iteration of an event loop, and the task that performs them.
        self._turns: dict[_Turn, tuple[list[Op], asyncio.Task[list[Any]]]] = {}

    @property
    def manager(self) -> MemoryManager:
        """Return the memories of the current run's user.

        Raises:
            InvalidScopeError: No user is given.
        """
        if self._manager:
            return self._manager
        return MemoryManager(self._store, user_id=user_of_run(self._user_id))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Perform *ops*, and return their results in the same order.

        Raises:
            InvalidNamespaceError: A namespace is not a tuple of strings, has a label that LangGraph does not allow, or is too
                long. Then no operation was performed.
            InvalidArgumentError: An operation or an operator is unknown; the name of a filter has characters other than
                ASCII letters, digits, ``_``, ``.`` and ``-``; or the key of an item to put has NUL bytes or lone surrogates.
            InvalidContentError: A value cannot be expressed in JSON.
            InvalidScopeError: No user is given.
            StoreError: The store failed, or the item to get was damaged in the store. A search leaves damaged items out,
                and logs a warning.
        """
        return self._items.batch(list(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, with the store used in a thread.

        Single operations that several tasks request in the same iteration of the event loop, for the same user, are
        performed as one batch, as in LangGraph's own asynchronous stores. If one of them fails, the others do not.
        """
        several = list(ops)
        if len(several) != 1:
            return await off_loop(self.batch, several)
        [op] = several
        _check(op)
        items = self._items
        turn = asyncio.get_running_loop(), items.scope.user_id
        if turn not in self._turns:
            # The task runs only after all tasks that are ready now, which can join the batch until then.
            joined = list[Op]()
            self._turns[turn] = joined, asyncio.create_task(self._done(turn, items, joined))
        joined, task = self._turns[turn]
        place = len(joined)
        joined.append(op)
        # Shielded, since other callers wait for the same task if this one is cancelled.
        result = (await asyncio.shield(task))[place]
        if isinstance(result, MemoryContextError):
            raise result
        return [result]

    async def _done(self, turn: _Turn, items: _StoredItems, ops: Sequence[Op]) -> list[Any]:
        del self._turns[turn]
        return await off_loop(items.results, ops, _result_of)

    def sweep_ttl(self) -> int:
        """Delete the user's expired items, and return how many there were.

        Raises:
            StoreError: The store failed.
        """
        return delete_expired(self._store, user_id=self._items.scope.user_id, tier=TIER)

    @property
    def _items(self) -> _StoredItems:
        fields = as_list((self.index_config or {}).get("fields") or "$")
        omits_expired = bool((self.ttl_config or {}).get("omit_expired"))
        return _StoredItems(self.manager, self._embedding, fields, omits_expired)


_Turn: TypeAlias = tuple[asyncio.AbstractEventLoop, str]


def _embedding_of(store: MemoryStore, index: Mapping[str, Any]) -> EmbeddingWorker:
    """Return the worker that makes vectors in *store* by LangGraph's configuration.

    Raises:
        InvalidArgumentError: The configuration is invalid, or the store cannot keep vectors.
    """
    if "embed" not in index or set(index).difference(_INDEX_SETTINGS):
        raise InvalidArgumentError(
            f"index takes {', '.join(_INDEX_SETTINGS)}, and needs embed; it has {', '.join(index)}"
        )
    if not isinstance(store, SQLAlchemyStore):
        raise InvalidArgumentError(
            f"index needs a SQLAlchemyStore, which keeps vectors, not {store!r}"
        )
    embed = index["embed"]
    if iscoroutinefunction(embed):
        raise InvalidArgumentError(
            "the embed of index must not be a coroutine function: it is called in a thread, off the event loop"
        )
    # The name keeps these vectors apart from those of whole memories, even if the store's own embedder uses this model.
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
        """Perform the operations in order, and return their results (see `BaseStore.batch`)."""
        for op in ops:
            _check(op)
        return self.results(ops, call)

    def results(
        self, ops: Sequence[Op], perform: Callable[[Callable[[], Result]], Any]
    ) -> list[Any]:
        """As `batch`, but *perform* calls each step. With `_result_of`, an error of one caller does not reach the others."""
        refreshed: dict[str, MemoryItem] = {}
        results = [perform(partial(self._read, op, refreshed)) for op in ops]
        self._refresh(refreshed.values())
        for some in _written_together(ops):
            if perform(partial(self._write, some)) is None:
                continue
            # One of them cannot be written, so none was: each is written by itself.
            places = set(map(_place, some))
            for index, op in enumerate(ops):
                if isinstance(op, PutOp) and _place(op) in places:
                    results[index] = _result_of(partial(self._write, [op]))
        return results

    def _read(self, op: Op, refreshed: dict[str, MemoryItem]) -> Result:
        """Return the result of *op*; add the memories whose ttl it restarts to *refreshed*, by key."""
        match op:
            case GetOp():
                key = _key(op.namespace, op.key)
                found = self.manager.memory_store.get(self.scope, key)
                if not found:
                    return None
                if self.omits_expired and found.expires_at and found.expires_at <= now():
                    return None
                self.manager.audit("expanded", key)
                if op.refresh_ttl:
                    refreshed[key] = found
                return Item(**_facts(found))
            case SearchOp():
                find = self._by_query if op.query and op.query.strip() else self._oldest
                page = find(op)
                self.manager.audit("expanded", *(item.memory_key for item, _ in page))
                hits = list[SearchItem]()
                for item, facts in page:
                    if op.refresh_ttl:
                        refreshed[item.memory_key] = item
                    score = item.match.score if item.match else None
                    hits.append(SearchItem(**facts, score=score))
                return hits
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None

    def _write(self, ops: Sequence[PutOp]) -> None:
        keyed = {_key(op.namespace, op.key): op for op in ops}
        put = {key: op for key, op in keyed.items() if op.value is not None}
        if put:
            described = [self._described(key, op) for key, op in put.items()]
            self.manager.replace_all(described)
            if self.embedding:
                self._embed(self.embedding, put)
        for key in keyed:
            if key not in put and self.manager.memory_store.delete(self.scope, key):
                self.manager.audit("deleted", key)

    def _embed(self, embedding: EmbeddingWorker, put: Mapping[str, PutOp]) -> None:
        """Make the vectors of the items that were put, from the stored texts, in which secrets are redacted."""
        chosen: list[tuple[MemoryItem, list[str]]] = []
        stored = self.manager.memory_store.get_many(self.scope, put)
        for item, facts in _readable(stored):
            index = put[item.memory_key].index
            # None stands for the store's own fields, False for none.
            fields = self.fields if index is None else index or ()
            texts = list[str]()
            for name in fields:
                texts += get_text_at_path(facts["value"], name)
            chosen.append((item, texts))
        embedding.embed_chosen(chosen)

    def _described(self, key: str, op: PutOp) -> tuple[MemoryItem, str]:
        """Return the memory for an item to put, with the memory's key *key*, and its description."""
        metadata: dict[str, Any] = {
            "namespace": list(op.namespace),
            "key": op.key,
            "index": op.index is not False,
        }
        expires_at = None
        if op.ttl is not None:
            metadata["ttl"] = op.ttl
            expires_at = now() + timedelta(minutes=op.ttl)
        content, media_type = to_content(dict(op.value or {}))
        item = MemoryItem(
            user_id=self.manager.scope.user_id,
            agent_id=self.manager.agent_id,
            thread_id=self.manager.thread_id,
            memory_key=key,
            memory_type=STORE_ITEM,
            tier=TIER,
            content=content,
            media_type=media_type,
            content_metadata=check_metadata(metadata),
            category=category_of(op.namespace),
            expires_at=expires_at,
            origin=MODEL,  # it may be the program's, too: an item does not say who has put it
        )
        namespace = "/".join(op.namespace)
        return item, one_line(f"{namespace}: {op.key}")

    def _by_query(self, op: SearchOp) -> _Found:
        """Return a page of the matching items, best first: by vectors if there are any, else by words."""
        hits = partial(self.manager.hits, self.scope, op.query or "")
        if self.embedding:
            by_vectors = partial(hits, mode="semantic", passages=False, by=self.embedding)
            # If the embedder fails, that is logged, and the search is by words, as everywhere in the library.
            with suppress(EmbedderError):
                return self._most_similar(op, by_vectors)
        found = hits(limit=SEARCHED, filters=self._below(op.namespace_prefix))
        items = [item for item in found if item.content_metadata.get("index", True)]
        return _matching(items, op)[op.offset : op.offset + op.limit]

    def _most_similar(self, op: SearchOp, by_vectors: _Read) -> _Found:
        """Return a page of the matching items, the most similar first; those without vectors last, oldest first."""
        needed = op.offset + op.limit
        limit = needed
        if op.filter:
            limit = max(needed * 4, MIN_READ)
        near = self._read_by(by_vectors, op, limit)
        found = _matching(near, op)
        if len(found) < needed:
            # If too few of the most similar items match, all that match are ranked by similarity.
            is_all = len(near) < limit
            most = needed if is_all else None
            oldest = self._first(op, most)
            if not is_all:
                keys = [item.memory_key for item, _ in oldest]
                near = list[MemoryItem]()
                for some in slices_of(keys, RANKED_TOGETHER):
                    near += by_vectors(filters={"memory_key": some}, limit=needed)
                near.sort(key=attrgetter("match.score"), reverse=True)
                found = _matching(near, op)
            similar = {item.id for item, _ in found}
            found += [(item, facts) for item, facts in oldest if item.id not in similar]
        return found[op.offset : needed]

    def _oldest(self, op: SearchOp) -> _Found:
        """Return a page of the matching items, oldest first."""
        if not op.filter:
            read = partial(self._query, offset=op.offset)
            return _matching(self._read_by(read, op, op.limit), op)
        return self._first(op, op.offset + op.limit)[op.offset :]

    def _first(self, op: SearchOp, needed: int | None) -> _Found:
        """Return the oldest matching items: as many as are needed, or all if *needed* is None."""
        # Whether an item matches is known only once it is read. So more are read until enough match, or all are read.
        limit = needed
        while True:
            items = self._read_by(self._query, op, limit)
            found = _matching(items, op)
            if limit is None or len(items) < limit or len(found[:needed]) == needed:
                return found[:needed]
            limit = max(limit * 16, MIN_READ)

    def _read_by(self, read: _Read, op: SearchOp, limit: int | None) -> list[MemoryItem]:
        """Read the first items in and below the namespace that may match the filter."""
        filters = self._below(op.namespace_prefix)
        hint = _hint(op.filter or {})
        try:
            return read(filters={**filters, **hint}, limit=limit)
        except (InvalidFilterError, StoreError) as error:
            if not hint or isinstance(error, StoreUnavailableError | EmbedderError):
                raise
            # The database cannot filter contents that a codec encodes, or that are not valid JSON for it. The filter is
            # only a hint, so it can be left out.
            return read(filters=filters, limit=limit)

    def _query(self, filters: Filters, limit: int | None, offset: int = 0) -> list[MemoryItem]:
        return self.manager.memory_store.query(
            self.scope, filters, limit=limit, offset=offset, order_by="-created_at"
        )

    def _below(self, prefix: Sequence[str]) -> Filters:
        """Return the filters for the items in and below a namespace."""
        filters: dict[str, Any] = {}
        if self.omits_expired:
            filters["expires_at"] = [None, {"$gt": now()}]
        path = category_of(prefix)
        if path:
            filters["category"] = {"$under": path}
        return filters

    def _refresh(self, items: Iterable[MemoryItem]) -> None:
        """Restart the ttl of the items that were put with one."""
        ends = list[tuple[MemoryItem, datetime]]()
        for item in items:
            minutes = item.content_metadata.get("ttl")
            if item.expires_at and minutes is not None:
                ends.append((item, now() + timedelta(minutes=minutes)))
        if ends:
            self.manager.memory_store.expire_at(self.scope, ends)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix = list[str]()
        for condition in conditions:
            if condition.match_type == "prefix":
                prefix = list(takewhile(lambda label: label != "*", condition.path))
        # Every item has a category. With a filter on it, the database need only read the index of categories.
        filters = {"category": {"$gt": ""}, **self._below(prefix)}
        namespaces = set[tuple[str, ...]]()
        for usage in self.manager.memory_store.usage(self.scope, filters):
            namespace = namespace_of(usage.category or "")
            if all(_fits(condition, namespace) for condition in conditions):
                namespaces.add(namespace[: op.max_depth])
        return sorted(namespaces)[op.offset : op.offset + op.limit]


def _written_together(ops: Iterable[Op]) -> Iterator[list[PutOp]]:
    """Yield the writes among *ops*, those of one transaction together; of several to one key only the last."""
    writes = {_place(op): op for op in ops if isinstance(op, PutOp)}
    for some in slices_of(list(writes.values()), WRITTEN_TOGETHER):
        yield [op for op in some if op.value is not None]
        # Each by itself: a deletion is a transaction.
        yield from ([op] for op in some if op.value is None)


def _place(op: PutOp) -> tuple[tuple[str, ...], str]:
    return tuple(op.namespace), op.key


def _result_of(perform: Callable[[], Result]) -> Result | MemoryContextError:
    """Return the result of *perform*; if it fails, its error.

    Raises:
        StoreUnavailableError: The store cannot be reached, so everything else would fail, too.
    """
    try:
        return perform()
    except StoreUnavailableError:
        raise
    except MemoryContextError as error:
        return error


class InvalidStoreNamespaceError(InvalidArgumentError, InvalidNamespaceError):
    """A namespace is invalid; both LangGraph's error and ours."""


def _check(op: Op) -> None:
    """Refuse an operation with an invalid namespace, or with an invalid name in a filter, as LangGraph's own stores do.

    Raises:
        InvalidStoreNamespaceError: The namespace is invalid.
        InvalidFilterError: LangGraph's `SqliteStore` would not accept the name.
    """
    match op:
        case PutOp():
            _check_labels(op.namespace)
            if op.value is not None:
                _check_length(op.namespace)
                _check_item_key(op.key)
            # LangGraph reserves the first label `langgraph`: its `put` refuses it, while it writes itself by `batch`.
            if not op.namespace:
                raise InvalidStoreNamespaceError("an item needs a namespace that is not empty")
        case GetOp():
            _check_labels(op.namespace)
        case SearchOp():
            _check_labels(op.namespace_prefix)
            _check_length(op.namespace_prefix)
            for name in op.filter or ():
                if not _FIELD.fullmatch(name):
                    raise InvalidFilterError(
                        f"Invalid filter key: {name!r:.80}; a field's name has only ASCII letters, digits, _ . and -"
                    )
        case ListNamespacesOp():
            for condition in op.match_conditions or ():
                # A string is treated as a sequence of one-character labels, as in LangGraph's own stores.
                _check_labels(tuple(condition.path))


def _check_labels(namespace: object) -> None:
    is_listed = isinstance(namespace, tuple | list)
    labels = cast("Sequence[object]", namespace)
    if not is_listed or not all(isinstance(one, str) and _LABEL.fullmatch(one) for one in labels):
        raise InvalidStoreNamespaceError(
            f"a namespace is a tuple of non-empty strings without periods and NUL bytes, not {namespace!r:.80}"
        )


def _check_length(namespace: Sequence[str]) -> None:
    """Refuse a namespace that is too long for a category. Items stored under one by an earlier version can be read."""
    length = len(category_of(namespace))
    if length > MAX_NAME:
        raise InvalidStoreNamespaceError(
            f"a namespace has at most {MAX_NAME} characters, and each that is not a letter, a digit or an underscore "
            f"counts as up to nine; {namespace!r:.80} has {length}"
        )


def _check_item_key(key: object) -> None:
    if not is_storable(str(key)):
        raise InvalidArgumentError(
            f"an item's key must not contain NUL bytes or lone surrogates: {key!r:.80}"
        )


def category_of(namespace: Sequence[str]) -> str:
    """Return the category for a namespace's items: the path of its labels, which `namespace_of` reads."""
    return "/".join(map(_escaped, namespace))


def namespace_of(category: str) -> tuple[str, ...]:
    """Return the namespace of a category that `category_of` made."""
    return tuple(map(_unescaped, category.split("/")))


def _unescaped(label: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), label)


@lru_cache(maxsize=LABELS)
def _escaped(label: str) -> str:
    """Escape a label for a category: ``new york`` becomes ``new-x20-york``."""
    if _PLAIN.fullmatch(label) and not _ESCAPED.search(label):
        return label
    # This also escapes hyphens, which could look like the beginning of an escape.
    return _SPECIAL.sub(lambda char: f"-x{ord(char[0]):x}-", label)


def _hint(wanted: Mapping[str, Any]) -> Filters:
    """Return a filter for SQL that every value matching *wanted* passes: for a text in its JSON, or for its fields."""
    for name, value in wanted.items():
        if _has_one_json_form(value):
            # The last part of a name with dots may be the name of a nested field.
            _, _, field_name = name.rpartition(".")
            text = json.dumps({field_name: value}, ensure_ascii=False)
            # Without the braces, and without the first quotation mark: a longer name may end with this one.
            return {"content": {"$contains": text[2:-1]}}
    conditions = {name: cast("Any", one) for name, one in wanted.items() if isinstance(one, dict)}
    if conditions:
        return {"content": {"$fields": conditions}}
    return {}


def _has_one_json_form(value: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Return whether the JSON of every equal value begins with the JSON of this one."""
    if isinstance(value, str):
        return is_storable(value)
    # 1 equals True, whose JSON is `true`; 2 equals 2.0, whose JSON begins with `2`.
    return type(value) is int and abs(value) < _EXACT and value not in (0, 1)


def _key(namespace: Sequence[str], key: str) -> str:
    digest = hash_content(json.dumps([*namespace, key]))
    return f"store_{digest[:48]}"


def _facts(item: MemoryItem) -> dict[str, Any]:
    """Return the item in a memory.

    Raises:
        StoreError: The memory does not hold an item.
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


def _matching(items: Iterable[MemoryItem], op: SearchOp) -> _Found:
    """Return the memories whose items are in or below the namespace and match the filter."""
    prefix = tuple(op.namespace_prefix)
    wanted = op.filter or {}
    found = _Found()
    for item, facts in _readable(items):
        beginning = facts["namespace"][: len(prefix)]
        if beginning == prefix and _matches(facts["value"], wanted):
            found.append((item, facts))
    return found


def _readable(items: Iterable[MemoryItem]) -> Iterator[tuple[MemoryItem, dict[str, Any]]]:
    """Yield the memories with their items; log and leave out those that do not hold an item."""
    for item in items:
        try:
            yield item, _facts(item)
        except StoreError as error:
            log_events.RECORD_UNREADABLE.log(error, memory_key=item.memory_key)


def _matches(value: Any, wanted: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Return whether a value matches a filter by LangGraph's rules: on fields, lists of the same length, and operators."""
    fields = members_of(wanted)
    members = members_of(value)
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in fields):
            return all(_holds(value, name, operand) for name, operand in fields.items())
        if not isinstance(value, Mapping):
            return False
        return all(_matches(_field(members, name), one) for name, one in fields.items())
    if isinstance(wanted, list | tuple):
        values = elements_of(value)
        others = cast("Sequence[Any]", wanted)
        has_as_many = isinstance(value, list) and len(values) == len(others)
        return has_as_many and all(map(_matches, values, others))
    return bool(value == wanted)


def _field(value: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a field of an object. If there is none with a name such as ``address.city``, look for the nested field."""
    if name in value or "." not in name:
        return value.get(name)
    first, _, rest = name.partition(".")
    return _field(members_of(value.get(first)), rest)


def _holds(value: Any, operator: str, operand: Any) -> bool:  # noqa: ANN401 - whatever JSON holds
    if operator not in _OPERATORS:
        raise InvalidArgumentError(
            f"unknown operator {operator!r}: the operators are {' '.join(_OPERATORS)}"
        )
    try:
        return _OPERATORS[operator](value, operand)
    except TypeError:  # the types cannot be compared, such as a string and a number
        return False


def _fits(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    if condition.match_type == "suffix":
        namespace = namespace[-len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, namespace, strict=False))
