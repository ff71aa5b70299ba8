"""The verbs of a memory, synchronous, for one user: store, retrieve, search, forget."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, get_args

from memory_context.exceptions import (
    BudgetTooSmallError,
    InvalidArgumentError,
    MemoryDeletedError,
    MemoryNotFoundError,
    NotSerializableError,
    StoreError,
)
from memory_context.memory.summaries import Summaries, Summarizer, as_summaries
from memory_context.model.audit import Action, Auditor, AuditTrail
from memory_context.model.item import (
    SECRET,
    Content,
    MemoryItem,
    MemoryList,
    bytes_of,
    check_metadata,
    count_lines,
    hash_content,
    identity_of,
    is_secret,
    new_key,
    now,
    to_content,
    with_zone,
)
from memory_context.model.reference import check_key, one_line
from memory_context.model.scope import DETAIL, MAX_NAME, Place, Scope
from memory_context.model.selection import Page, Selection
from memory_context.model.tier import Room, policies_with
from memory_context.runtime import events
from memory_context.runtime.telemetry import Who, count, operation
from memory_context.stores import Filters, Mode, as_auditor, as_store, reindexed
from memory_context.stores.wrappers.wrapper import innermost, wrappers
from memory_context.text.describe import describe
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.read.line_ranges import parse_lines, span_of_lines
from memory_context.text.read.partial_read import DEFAULT_ANSWER, answer, read_part
from memory_context.text.tokens.counter import TokenCounter, as_counter

if TYPE_CHECKING:
    from memory_context.stores import AnyStore


MAX_SUMMARY = 1000
MODES = get_args(Mode)
BUILT_IN = policies_with()


class MemoryManager:
    """One user's memories in a store. Safe under threads.

    Args:
        store: A URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable ``MEMORY_CONTEXT_STORE``, else
            ``sqlite:///memory.db`` in the working directory.
        user_id: Whose memories these are. Nobody else's can be reached.
        agent_id: Noted on what is stored here.
        thread_id: Noted on what is stored here.
        counter: Counts tokens; the process's default without one.
        password_variable: The environment variable with the password of a database URL that has none.
        summarizer: Describes texts in its own words, within its limits (`Summaries`); without one, or where it fails,
            they are described by their kind.
        audit: Where it is written who did what with which memory (`AuditEntry`): a trail, the URL of a database, or
            True for the store's own database. Nowhere without it.

    Attributes:
        scope: What is read and written here: the user's, behind the walls of `within`.
        offered: What of it may be brought back without being asked for.

    Raises:
        InvalidScopeError: No user.
        InvalidArgumentError: Something that is no summarizer, or no trail.
        UnsupportedDatabaseError: A URL of another database than SQLite and PostgreSQL.
    """

    def __init__(
        self,
        store: AnyStore | None = None,
        *,
        user_id: str | int,
        agent_id: str | None = None,
        thread_id: str | None = None,
        counter: TokenCounter | Callable[[str], int] | None = None,
        password_variable: str = "MEMORY_CONTEXT_STORE_PASSWORD",  # noqa: S107 - the name of a variable
        summarizer: Summarizer | Summaries | None = None,
        audit: AuditTrail | Auditor | str | bool | None = None,
    ) -> None:
        maker = Scope(user_id, agent_id, thread_id)  # type: ignore[arg-type] # turns an integer into text
        self.scope = self.offered = Scope(maker.user_id)
        self._widest: frozenset[Place] | None = None
        self.agent_id = maker.agent_id
        self.thread_id = maker.thread_id
        self.memory_store = as_store(store, password_variable)
        self._closes_store = self.memory_store is not store
        self._counter = None if counter is None else as_counter(counter)
        self._password_variable = password_variable
        self.summaries = as_summaries(summarizer)
        self._auditor = as_auditor(audit, self.memory_store, password_variable)
        self._audits_here = audit is True

    def __enter__(self) -> Self:
        """The manager itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def within(
        self, places: Iterable[Place], offered: Iterable[Place] | None = None
    ) -> MemoryManager:
        """The same memories behind walls: of the runs, sessions, plans, tasks and projects only `places` are seen.

        Args:
            places: Pairs of tier and id. Those that this manager does not see itself are not seen either.
            offered: Those of them that may be brought back without being asked for; all without it.

        Raises:
            InvalidScopeError: A name that no database column can hold.
        """
        view = copy(self)
        view._closes_store, view._widest = False, self.scope.places  # noqa: SLF001 - its own
        view.set_places(places, offered)
        return view

    def set_places(self, places: Iterable[Place], offered: Iterable[Place] | None = None) -> None:
        """Put other walls in place of those of `within`; no wider ones than it got there."""
        seen = Scope(self.scope.user_id, places=frozenset(places)).places or frozenset[Place]()
        seen = seen if self._widest is None else seen & self._widest
        kept = seen if offered is None else seen & frozenset(offered)
        self.scope, self.offered = (
            replace(self.scope, places=seen),
            replace(self.scope, places=kept),
        )

    @property
    def who(self) -> Who:
        """User, agent and thread: whose memories these are, and who works on them here."""
        return self.scope.user_id, self.agent_id, self.thread_id

    @property
    def audits(self) -> bool:
        """Whether there is an audit trail."""
        return self._auditor is not None

    @property
    def audit_failures(self) -> int:
        """How often the audit trail failed."""
        return self._auditor.failures if self._auditor else 0

    def audit(self, action: Action, *keys: str) -> None:
        """Write into the audit trail, if there is one, that this was done with the memories under `keys`."""
        if self._auditor:
            self._auditor.note(action, self.who, keys)

    @property
    def counter(self) -> TokenCounter:
        """What counts tokens here. The first use in a process may take seconds (`default_counter`)."""
        return as_counter(self._counter)

    def store(
        self,
        content: Content | dict[str, Any] | list[Any],
        description: str | None = None,
        type: str = "note",  # noqa: A002 - the word that the record uses
        **details: Any,  # noqa: ANN401 - those of `remember`
    ) -> str:
        """Commit `content` and return its key. Takes what `remember` takes."""
        return self.remember(content, description, type, **details).memory_key

    def remember(  # noqa: PLR0913 - each is a column of the record, with a default
        self,
        content: Content | dict[str, Any] | list[Any],
        description: str | None = None,
        type: str = "note",  # noqa: A002 - the word that the record uses
        *,
        key: str | None = None,
        source: str = "",
        tier: str = DETAIL,
        tier_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        category: str | None = None,
        tags: Iterable[str] = (),
        importance: float = 0.5,
        expires_at: datetime | None = None,
        replace: bool = False,
        room: Room | None = None,
        check: Callable[[MemoryItem], object] | None = None,
    ) -> MemoryItem:
        """Commit `content` and return its record.

        In the tier ``detail`` equal contents are one record, unless they come under a `key` of the caller's own or are
        secrets: the first one's description stays.

        Args:
            content: Text, bytes, or a dict or list, which is kept as JSON.
            description: One line; without it the content is described.
            type: ``note``, ``tool_output``, ``file_content``, ``decision``, …
            key: The caller's own key. Without it one is made of `source` and the content's hash.
            source: What made the content: a tool, a file.
            tier: Where the memory belongs.
            tier_id: Which run, session, plan, task or project of the tier.
            metadata: A JSON object.
            category: A path such as ``project-context/rockets``.
            tags: Words.
            importance: 0 to 1.
            expires_at: When it may be deleted; with a time zone.
            replace: Whether `key` may take the place of another memory.
            room: How much the tier holds (see `MemoryStore.put`).
            check: Looks at the record before it is committed, and may raise.

        Raises:
            InvalidContentError: Content or metadata of a kind that cannot be kept.
            InvalidArgumentError: A type, tier, category or tag that is no name, an importance that is none, a time
                without a zone.
            InvalidKeyError: `key` cannot be one.
            KeyExistsError: `key` holds another memory, and not `replace`.
            TierFullError: There is no `room`.
            InvalidScopeError: The tier's id is behind a wall (see `within`).
            StoreError: The store could not do it; nothing was changed.
        """
        body, media_type = to_content(content)
        tags = (tags,) if isinstance(tags, str) else tuple(tags)
        _check_names(type, tier, tier_id, category, *tags)
        facts = check_metadata(metadata)
        measured = self.facts_of(body)
        shared = key is None and tier == DETAIL and type != SECRET
        item = MemoryItem(
            user_id=self.scope.user_id,
            agent_id=self.agent_id,
            thread_id=self.thread_id,
            memory_key=check_key(key) if key is not None else "",
            memory_type=type,
            tier=tier,
            tier_id=tier_id,
            summary=one_line(
                self._given(description, type) or self._described(body, type, tags, source, facts),
                MAX_SUMMARY,
            ),
            content=body,
            media_type=media_type,
            content_metadata=facts,
            category=category,
            tags=tags,
            importance=_between_0_and_1(importance),
            identity=identity_of(body, measured["content_hash"]) if shared else None,
            expires_at=with_zone(expires_at, "expires_at"),
            **measured,
        )
        if check:
            check(item)
        return self._put(_with_key(item, source or type), replace=replace, room=room)

    def _put(self, item: MemoryItem, *, replace: bool, room: Room | None) -> MemoryItem:
        """Commit a record, and tell of it."""
        with operation("store", self.who, type=item.memory_type, tier=item.tier) as storing:
            stored = self.memory_store.put(self.scope, item, replace=replace, room=room)
            size = bytes_of(item.content)
            storing.note(key=stored.memory_key, tokens=stored.token_count, bytes=size)
        count("memories", type=item.memory_type, tier=item.tier)
        count("bytes", size, type=item.memory_type, tier=item.tier)
        self.audit("stored", stored.memory_key)
        return stored

    def kept(self, text: str) -> str:
        """`text` as the store keeps it: what is to be cut short or given to a model is made of that.

        Raises:
            RedactionTimeoutError: A user's pattern took too long on it.
        """
        for wrapper in wrappers(self.memory_store):
            text = wrapper.said(text)
        return text

    def facts_of(self, content: Content) -> dict[str, Any]:
        """What a record tells of its content: tokens, characters, lines and hash, by the names of its fields."""
        return {
            "token_count": self.counter.count(content) if isinstance(content, str) else 0,
            "char_count": len(content),
            "line_count": count_lines(content),
            "content_hash": hash_content(content),
        }

    def _given(self, description: str | None, kind: str) -> str | None:
        """A caller's description; one that will be cut short as the store keeps it, so that no secret is cut."""
        is_long = description is not None and len(description) > MAX_SUMMARY and kind != SECRET
        return self.kept(description) if description and is_long else description

    def _described(
        self,
        content: Content,
        kind: str,
        tags: tuple[str, ...],
        source: str,
        facts: Mapping[str, Any],
    ) -> str:
        """The line on a content that came without one; it tells nothing of a secret."""
        if kind == SECRET or SECRET in tags:
            return SECRET
        arguments = facts.get("arguments")
        content = self.kept(content) if isinstance(content, str) else content
        line = describe(
            content,
            source=source,
            arguments=self.kept(arguments) if isinstance(arguments, str) else None,
        )
        return (
            self.summaries.summary(content, line)
            if self.summaries and isinstance(content, str)
            else line
        )

    def get(self, key: str) -> MemoryItem:
        """The record under `key`, without counting it as a read.

        Raises:
            InvalidKeyError: It cannot be a key.
            MemoryDeletedError: It was deleted; says when and why.
            MemoryNotFoundError: There is none, or it is another user's.
        """
        item = self.memory_store.get(self.scope, check_key(key))
        if item is not None:
            return item
        if deletion := self.memory_store.deletion(self.scope, key):
            message = f"the memory {key!r} was deleted on {deletion.deleted_at:%Y-%m-%d %H:%M} UTC ({deletion.reason})"
            raise MemoryDeletedError(message)
        message = f"there is no memory under the key {key!r}; search(…) finds keys by words"
        raise MemoryNotFoundError(message)

    def read(self, key: str) -> MemoryItem:
        """The record under `key`, counted as a read. Raises what `get` raises."""
        item = self.fetch(key)
        self.audit("expanded", key)
        return item

    def fetch(self, key: str) -> MemoryItem:
        """As `read`, for who does something else with it than to show it, and notes that in the audit trail."""
        item = self.get(key)
        try:
            self.memory_store.touch(self.scope, [key])
        except StoreError as error:
            events.READ_NOT_COUNTED.log(error, user_id=self.scope.user_id, memory_key=key)
        return item

    def retrieve(  # noqa: PLR0913 - one of them selects
        self,
        key: str,
        *,
        lines: str | None = None,
        contains: str | None = None,
        pattern: str | None = None,
        context: int = 0,
        path: str | None = None,
        where: str | None = None,
        columns: str | None = None,
        query: str | None = None,
        max_tokens: int | None = None,
    ) -> Content:
        """The content under `key`: whole, or the part that one selector asks for.

        What is selected comes as plain text: lines as they stand, matching lines with their numbers, values as JSON,
        rows as CSV. With `max_tokens` the whole, lines and a `query` become an excerpt where they are too large, and of
        the rest the first page comes; `page` says how much there is and gives the other pages.

        Args:
            key: The memory's key.
            lines: ``120-180``, ``500-``, ``-40`` (the last 40), ``7``; several with commas.
            contains: The lines that hold this text, however it is capitalised.
            pattern: The lines that hold a match of this regular expression (the package ``regex``; ``^`` and ``$`` are
                the ends of lines).
            context: With `contains` and `pattern`, how many lines around each.
            path: A JSONPath (RFC 9535) into JSON, JSON lines, a Python repr, or these inside an MCP tool's result. The
                value itself where the path can find one only, else a list.
            where: A SQL expression over the columns of a JSON list, JSON lines, CSV, TSV or a Markdown table.
            columns: Which columns, with commas; expressions and aggregates too.
            query: What the caller wants to know.
            max_tokens: The most that comes back. A `query` without it gets 500.

        Raises:
            MemoryNotFoundError: There is no such memory (see `get`).
            NothingMatchedError: Nothing in the text is what was asked for; says what is there.
            InvalidSelectionError: More than one selector, or one that means nothing in this text; says what would.
            SelectionTimeoutError: A pattern, path or expression took more than 5 seconds.
            BudgetTooSmallError: The text is larger, and `max_tokens` would not even hold its reference.
            InvalidArgumentError: A part of binary content.
            StoreError: The store could not do it.
        """
        selection = Selection(
            lines=lines, contains=contains, pattern=pattern, context=context, path=path, where=where, columns=columns,
            query=query or None,
        )  # fmt: skip
        with self._reading(key, selection) as item:
            if selection.selector == "whole" and max_tokens is None:
                return item.content
            text = _readable(item)
            most = DEFAULT_ANSWER if query and max_tokens is None else max_tokens
            if (
                most is not None
                and selection.selector in ("whole", "lines", "query")
                and "," not in (lines or "")
            ):
                return self._within(item, text, lines, query or "", most)
            return read_part(text, selection, 0, max_tokens, self.counter.count).text

    def page(
        self,
        key: str,
        selection: Selection | None = None,
        *,
        offset: int = 0,
        max_tokens: int | None = None,
    ) -> Page:
        """A page of what is selected of the memory under `key`, with what part of how much it is.

        Args:
            key: The memory's key.
            selection: Which part; the whole without one.
            offset: Where the page begins: the `next_offset` of the page before.
            max_tokens: The most that the page's text takes.

        Raises:
            MemoryContextError: As `retrieve` does.
        """
        wanted = selection or Selection()
        with self._reading(key, wanted) as item:
            return read_part(_readable(item), wanted, offset, max_tokens, self.counter.count)

    def answer(
        self, key: str, selection: Selection | None = None, *, offset: int = 0, max_tokens: int
    ) -> str:
        """A page as a model reads it: reference, what part of how much it is, text, and the call for the next page.

        Nothing is raised because nothing matched: the answer says so, and what is there.

        Args:
            key: The memory's key.
            selection: Which part; the whole without one.
            offset: Where the page begins.
            max_tokens: The most that the whole answer takes.

        Raises:
            MemoryContextError: As `retrieve` does.
        """
        wanted = selection or Selection()
        with self._reading(key, wanted) as item:
            return answer(item, wanted, offset, max_tokens, self.counter.count)

    @contextmanager
    def _reading(self, key: str, selection: Selection) -> Generator[MemoryItem]:
        """The record under `key`, read while something of it is selected."""
        with operation("retrieve", self.who, selector=selection.selector) as reading:
            item = self.read(key)
            reading.note(
                key=item.memory_key, tier=item.tier, type=item.memory_type, tokens=item.token_count
            )
            yield item

    def search(  # noqa: PLR0913 - each narrows the search, with a default
        self,
        query: str,
        limit: int = 5,
        *,
        mode: Mode = "hybrid",
        types: str | Iterable[str] | None = None,
        tier: str | None = None,
        category: str | None = None,
        tags: str | Iterable[str] | None = None,
        thread: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        filters: Filters | None = None,
    ) -> MemoryList:
        """The user's memories that speak of `query`, best first, each with a `match`; without words, the newest.

        Secrets are found by what describes them; the content of their hits is masked.

        Args:
            query: Any text.
            limit: How many at most.
            mode: ``keyword`` is by words, ``semantic`` by meaning, ``hybrid`` by both; without an embedder, that is by
                words.
            types: One of these types.
            tier: Of this tier.
            category: Of this category, or one below it.
            tags: With one of these tags.
            thread: Made in this conversation.
            since: Stored at this moment or later; with a time zone.
            until: Stored before this moment; with a time zone.
            filters: Columns and what they must be (see `MemoryStore`), beside all that.

        Raises:
            InvalidArgumentError: No text, a limit below 1, a time without a zone; ``semantic`` without an embedder.
            InvalidFilterError: There is no such column, or no such operator.
            StoreError: The store could not do it.
        """
        given: tuple[object, object] = (query, limit)
        if not isinstance(given[0], str) or not isinstance(given[1], int) or limit < 1:
            message = (
                f"search takes a text and a limit of 1 or more, not {query!r:.80} and {limit!r}"
            )
            raise InvalidArgumentError(message)
        if mode not in MODES:
            message = f"a search is {' or '.join(MODES)}, not {mode!r}"
            raise InvalidArgumentError(message)
        narrow = {
            "memory_type": _one_of(types),
            "tier": tier,
            "category": None if category is None else {"$under": category},
            "tags": _one_of(tags),
            "thread_id": thread,
            "created_at": _between(since, until),
        }
        wanted = _joined(narrow, filters)
        with operation("search", self.who, mode=mode, limit=limit) as searching:
            found = self.memory_store.search(
                self.scope, query, limit=limit, filters=wanted, mode=mode
            )
            searching.note(hits=len(found), keys=tuple(hit.memory_key for hit in found))
        self.audit("expanded", *(hit.memory_key for hit in found if not is_secret(hit)))
        return MemoryList(found)

    def reindex(self, progress: Callable[[int, int], object] | None = None) -> int:
        """Make the search index of the whole database anew (every user's); how many memories it holds.

        Args:
            progress: Called after each memory with how many are done, and of how many.

        Raises:
            StoreError: The store could not do it, or keeps no index.
        """
        return reindexed(self.memory_store, progress)

    def forget(self, key: str, *, reason: str = "forgotten", soft: bool = False) -> bool:
        """Delete the memory under `key` for good; whether there was one. References to it say when and why afterwards.

        With `soft` it is only put away: no longer found, listed or offered, while its key still redeems; `revive` takes
        it back, and a `RetentionRule` may delete it for good later.

        Raises:
            InvalidKeyError: It cannot be a key.
            StoreError: The store could not do it.
        """
        with operation("forget", self.who) as forgetting:
            was_there = self.memory_store.delete(
                self.scope, check_key(key), reason=reason, soft=soft
            )
            forgetting.note(key=key if was_there else None)
        if was_there:
            self.audit("deleted", key)
        return was_there

    def clear(self, tier: str, tier_id: str | None = None, *, reason: str = "cleared") -> int:
        """Delete every memory of a tier, or of one run, session, … of it, evicted ones too; how many there were.

        Raises:
            InvalidScopeError: A name that no database column can hold.
            StoreError: The store could not do it; what was deleted until then is gone.
        """
        scope = replace(self.scope, tier=tier, tier_id=tier_id)
        keys = (
            [item.memory_key for item in self.memory_store.list_all(scope)] if self.audits else []
        )
        deleted = self.memory_store.clear(scope, reason=reason)
        self.audit("deleted", *keys)
        return deleted

    def revive(self, key: str, *, room: Room | None = None) -> MemoryItem:
        """The record under `key`, active again after a soft `forget`, or after a full tier evicted it.

        Args:
            key: The memory's key.
            room: How much its tier holds (see `MemoryStore.put`). Without it what the built-in tier of that name does,
                and nothing is evicted for it; `ScopedMemory.revive` knows other policies.

        Raises:
            MemoryNotFoundError: There is none (see `get`).
            TierFullError: There is no room for it.
            RecordChangedError: Somebody changed it just now.
            StoreError: The store could not do it.
        """
        item = self.get(key)
        if item.is_active:
            return item
        active = replace(item, is_active=True, updated_at=now())
        revived = self.memory_store.put(
            self.scope, active, room=room or _built_in_room(item.tier), replaces=item
        )
        self.audit("stored", key)
        return revived

    def close(self) -> None:
        """Give back connections, unless the store is the caller's. The manager may be used again."""
        if self._auditor:
            self._auditor.close()
        if self._closes_store:
            self.memory_store.close()

    def connection(self) -> dict[str, Any]:
        """What leads another process to the same memories: store URL (without its password), user, agent, audit trail.

        Raises:
            NotSerializableError: Store or audit trail live in this process only; or counter, embedder or quota are the
                caller's own.
        """
        url = getattr(self.memory_store, "url", None)
        if not isinstance(url, str):
            message = f"{self.memory_store!r} cannot be written down: it has no URL; use a database file or a server"
            raise NotSerializableError(message)
        if getattr(self.memory_store, "has_embedder", False):
            message = (
                "an embedder cannot be written down; give each process a store of its own with one"
            )
            raise NotSerializableError(message)
        if getattr(innermost(self.memory_store), "quota", None) is not None:
            message = "a quota cannot be written down; give each process a store of its own with it"
            raise NotSerializableError(message)
        if self._counter is not None:
            message = "a counter of your own cannot be written down; use set_default_counter() in each process"
            raise NotSerializableError(message)
        return {
            "user_id": self.scope.user_id,
            "store": url,
            "agent_id": self.agent_id,
            "password_variable": getattr(
                innermost(self.memory_store), "password_variable", self._password_variable
            ),
            "audit": self._trail(),
        }

    def _trail(self) -> str | bool:
        """What leads another process to the same audit trail.

        Raises:
            NotSerializableError: It is the caller's own, or lives in this process only.
        """
        if self._auditor is None or self._audits_here:
            return self._audits_here
        url = getattr(self._auditor.trail, "url", None)
        if isinstance(url, str):
            return url
        message = f"{self._auditor.trail!r} cannot be written down: it has no URL; use audit=True or a database's URL"
        raise NotSerializableError(message)

    def _within(self, item: MemoryItem, text: str, lines: str | None, query: str, most: int) -> str:
        first = 1
        if lines is not None:
            first, last = parse_lines(lines, item.line_count)
            span = span_of_lines(text, first, last)
            text = text[span.start : span.end]
        if not self.counter.exceeds(text, most):
            return text
        least = self.counter.count(item.ref.render())
        if most < least:
            message = (
                f"max_tokens={most} is less than the reference itself takes; give {least} or more"
            )
            raise BudgetTooSmallError(message)
        return excerpt(text, query, most, self.counter.count, first_line=first).text


def _readable(item: MemoryItem) -> str:
    if isinstance(item.content, str):
        return item.content
    message = f"{item.memory_key!r} holds binary content, which has no lines; retrieve it whole"
    raise InvalidArgumentError(message)


def _with_key(item: MemoryItem, source: str) -> MemoryItem:
    return item if item.memory_key else replace(item, memory_key=new_key(source, item))


def _built_in_room(tier: str) -> Room | None:
    """What a tier holds where no policy says more; one that does may hold more, so nothing is evicted by this."""
    room = BUILT_IN[tier].room if tier in BUILT_IN else None
    return None if room is None else replace(room, evict=0.0)


def _check_names(*names: object) -> None:
    for name in names:
        if name is not None and not (
            isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()
        ):
            message = f"a type, tier, category or tag has 1 to {MAX_NAME} printable characters, not {name!r:.80}"
            raise InvalidArgumentError(message)


def _joined(narrow: Mapping[str, Any], filters: Filters | None) -> Filters:
    """What is given of `narrow`, and `filters`, which must not say it again."""
    wanted = {name: value for name, value in narrow.items() if value is not None}
    both = wanted.keys() & (filters or {}).keys()
    if both:
        message = f"{', '.join(sorted(both))} is given twice, once in filters"
        raise InvalidArgumentError(message)
    return wanted | dict(filters or {})


def _one_of(names: str | Iterable[str] | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _between(since: datetime | None, until: datetime | None) -> dict[str, datetime] | None:
    ends = {"$gte": with_zone(since, "since"), "$lt": with_zone(until, "until")}
    return {name: moment for name, moment in ends.items() if moment is not None} or None


def _between_0_and_1(importance: float) -> float:
    if 0 <= importance <= 1:
        return float(importance)
    message = f"importance lies between 0 and 1, not {importance!r}"
    raise InvalidArgumentError(message)
