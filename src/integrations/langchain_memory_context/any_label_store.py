"""The verbs of LangGraph's `BaseStore`, without its refusal of labels that have a period, as e-mail addresses do."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, Literal, cast

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    NotProvided,
    PutOp,
    SearchItem,
    SearchOp,
)

Namespace = tuple[str, ...]
Index = Literal[False] | list[str] | None


class AnyLabelStore(BaseStore, ABC):
    """Makes operations of the verbs; what they do is the business of `batch` and `abatch`."""

    def get(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """Return the item under *key*; None if there is none."""
        return cast(
            "Item | None", self.batch([GetOp(namespace, str(key), refresh_ttl is not False)])[0]
        )

    async def aget(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """As `get`, off the event loop."""
        return cast(
            "Item | None",
            (await self.abatch([GetOp(namespace, str(key), refresh_ttl is not False)]))[0],
        )

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """The items below a namespace that match, a page of them."""
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh_ttl is not False)
        return cast("list[SearchItem]", self.batch([op])[0])

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """As `search`, off the event loop."""
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh_ttl is not False)
        return cast("list[SearchItem]", (await self.abatch([op]))[0])

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Index = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Keep `value`, in place of one that is there, for `ttl` minutes; with the index False no query finds it."""
        self.batch([_put(namespace, key, value, index, ttl)])

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Index = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """As `put`, off the event loop."""
        await self.abatch([_put(namespace, key, value, index, ttl)])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete the item under `key`, if there is one."""
        self.batch([PutOp(namespace, str(key), None)])

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """As `delete`, off the event loop."""
        await self.abatch([PutOp(namespace, str(key), None)])

    def list_namespaces(
        self,
        *,
        prefix: tuple[str, ...] | None = None,
        suffix: tuple[str, ...] | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces that match, ``*`` for any label, cut to a depth, sorted, a page of them."""
        op = ListNamespacesOp(_conditions(prefix, suffix), max_depth, limit, offset)
        return cast("list[Namespace]", self.batch([op])[0])

    async def alist_namespaces(
        self,
        *,
        prefix: tuple[str, ...] | None = None,
        suffix: tuple[str, ...] | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """As `list_namespaces`, off the event loop."""
        op = ListNamespacesOp(_conditions(prefix, suffix), max_depth, limit, offset)
        return cast("list[Namespace]", (await self.abatch([op]))[0])


def _put(
    namespace: Namespace,
    key: str,
    value: Mapping[str, Any],
    index: Index,
    ttl: float | NotProvided | None,
) -> PutOp:
    return PutOp(namespace, str(key), value, index, None if isinstance(ttl, NotProvided) else ttl)


def _conditions(
    prefix: tuple[str, ...] | None, suffix: tuple[str, ...] | None
) -> tuple[MatchCondition, ...]:
    first = (MatchCondition("prefix", prefix),) if prefix else ()
    return (*first, MatchCondition("suffix", suffix)) if suffix else first
