"""The verbs of LangGraph's `BaseStore`, without its refusal of labels that have a period, as e-mail addresses do."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from functools import wraps
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

Namespace = tuple[str, ...]


def _verbs(
    described: Callable[..., Any], make: Callable[..., Op]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a verb with the signature of *described* that carries out the operation it makes; and its asynchronous twin."""

    @wraps(described)
    def verb(store: BaseStore, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - each operation's own
        return store.batch([make(*args, **options)])[0]

    @wraps(described)
    async def averb(store: BaseStore, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - each operation's own
        return (await store.abatch([make(*args, **options)]))[0]

    return verb, averb


def _delete(namespace: Namespace, key: str) -> PutOp:
    return PutOp(namespace, key, None)


def _list_namespaces(
    *,
    prefix: Namespace | None = None,
    suffix: Namespace | None = None,
    **page: Any,  # noqa: ANN401 - depth, limit and offset
) -> ListNamespacesOp:
    conditions = list[MatchCondition]()
    if prefix:
        conditions.append(MatchCondition("prefix", prefix))
    if suffix:
        conditions.append(MatchCondition("suffix", suffix))
    return ListNamespacesOp(tuple(conditions), **page)


class AnyLabelStore(BaseStore, ABC):
    """Makes operations of the verbs; `batch` and `abatch` carry them out."""

    get, aget = _verbs(BaseStore.get, GetOp)
    search, asearch = _verbs(BaseStore.search, SearchOp)
    put, aput = _verbs(BaseStore.put, PutOp)
    delete, adelete = _verbs(BaseStore.delete, _delete)
    list_namespaces, alist_namespaces = _verbs(BaseStore.list_namespaces, _list_namespaces)
