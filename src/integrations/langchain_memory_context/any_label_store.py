"""The verbs of LangGraph's `BaseStore`, without its refusal of labels that have a period, as e-mail addresses do."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Literal, ParamSpec, cast

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    NotProvided,
    Op,
    PutOp,
    SearchOp,
)

P = ParamSpec("P")
Namespace = tuple[str, ...]


def _sync(operation: Callable[P, Op]) -> Callable[P, Any]:
    """Return the method that carries out by `batch` what the method *operation* asks for."""

    @wraps(operation)
    def verb(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - each operation's own
        store = cast("BaseStore", args[0])
        return store.batch([operation(*args, **kwargs)])[0]

    return verb


def _async(operation: Callable[P, Op]) -> Callable[P, Any]:
    """Return the method that carries out by `abatch` what the method *operation* asks for."""

    @wraps(operation)
    async def verb(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - each operation's own
        store = cast("BaseStore", args[0])
        return (await store.abatch([operation(*args, **kwargs)]))[0]

    return verb


class AnyLabelStore(BaseStore, ABC):
    """Makes operations of the verbs; `batch` and `abatch` carry them out."""

    def _get(
        self: BaseStore, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> GetOp:
        """Return the item under *key*; None if there is none."""
        return GetOp(namespace, str(key), refresh_ttl is not False)

    get = _sync(_get)
    aget = _async(_get)

    def _search(
        self: BaseStore,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> SearchOp:
        """Return a page of the items below a namespace that match."""
        return SearchOp(namespace_prefix, filter, limit, offset, query, refresh_ttl is not False)

    search = _sync(_search)
    asearch = _async(_search)

    def _put(
        self: BaseStore,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> PutOp:
        """Store *value*, in place of one that is there, for *ttl* minutes; with the index False no query finds it."""
        minutes = None if isinstance(ttl, NotProvided) else ttl
        return PutOp(namespace, str(key), dict(value), index, minutes)

    put = _sync(_put)
    aput = _async(_put)

    def _delete(self: BaseStore, namespace: Namespace, key: str) -> PutOp:
        """Delete the item under *key*, if there is one."""
        return PutOp(namespace, str(key), None)

    delete = _sync(_delete)
    adelete = _async(_delete)

    def _list_namespaces(
        self: BaseStore,
        *,
        prefix: Namespace | None = None,
        suffix: Namespace | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> ListNamespacesOp:
        """Return a sorted page of the namespaces that match, ``*`` for any label, cut to a depth."""
        conditions = list[MatchCondition]()
        if prefix:
            conditions.append(MatchCondition("prefix", prefix))
        if suffix:
            conditions.append(MatchCondition("suffix", suffix))
        return ListNamespacesOp(tuple(conditions), max_depth, limit, offset)

    list_namespaces = _sync(_list_namespaces)
    alist_namespaces = _async(_list_namespaces)
