"""Store, retrieve, search and forget the memories of one user. Synchronous."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace as with_changes
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from memory_context.exceptions import (
    BudgetTooSmallError,
    InvalidArgumentError,
    InvalidTierError,
    KeyExistsError,
    MemoryDeletedError,
    MemoryNotFoundError,
    NotSerializableError,
    StoreError,
)
from memory_context.memory import urls_for_other_processes
from memory_context.memory.descriptions_by_a_summarizer import Summaries, Summarizer, as_summaries
from memory_context.memory.filters_from_keywords import ANY_STATE, as_list, search_filters
from memory_context.memory.redacted_records import redacted_facts, with_redacted_content
from memory_context.memory.sql_over_memories import query
from memory_context.memory.substring_search import containing
from memory_context.memory.summary_of_a_memory import summary_of
from memory_context.model.audit_entries import Action
from memory_context.model.call_log_records import (
    CallFilter,
    CallKind,
    CallRecord,
    Decision,
    KeptCalls,
    KeptTotals,
    ModelCall,
)
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.model.generated_keys import KeyGenerator
from memory_context.model.item import (
    QUERY_ANSWER,
    SECRET,
    AnyContent,
    Content,
    MemoryItem,
    MemoryList,
    bytes_of,
    changed,
    check_metadata,
    check_names,
    facts_of,
    identity_of,
    is_query_answer,
    is_secret,
    now,
    to_content,
    with_zone,
)
from memory_context.model.origin import ORIGINS, PERSON, PROGRAM, Origin
from memory_context.model.query_result import QueryResult
from memory_context.model.reference import check_key
from memory_context.model.scope import DETAIL, Place, Scope, UserId, checked_places
from memory_context.model.selection import Page, Selection
from memory_context.model.tiers_and_limits import Capacity, policies_with
from memory_context.runtime import log_events
from memory_context.runtime.after_fork import Lock
from memory_context.runtime.closed_at_exit import ClosedAtExit
from memory_context.runtime.telemetry import Who, count, operation
from memory_context.stores import Filters, Mode, SQLAlchemyStore, as_auditor, as_store, reindexed
from memory_context.stores.auditor_with_waiting_entries import Auditor, AuditTrail
from memory_context.stores.protocol import Progress, keeper_of, redactor_of, replace_all
from memory_context.text.describe.description import counted
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.read.lines_by_number import parse_lines, span_of_lines
from memory_context.text.read.read_by_selection import DEFAULT_ANSWER, answer, read_part
from memory_context.text.redact import Redaction
from memory_context.text.tokens.counter import TokenCounter, as_counter

if TYPE_CHECKING:
    from memory_context.stores import AnyStore


SearchMode: TypeAlias = Mode | Literal["substring"]
BUILT_IN = policies_with()
NEEDING_IDS = frozenset(name for name, policy in BUILT_IN.items() if policy.lifetime != "user")
_counting = Lock()


class MemoryManager(ClosedAtExit):
    """One user's memories in a store. Safe under threads.

    Args:
        store: A URL, a SQLAlchemy engine or pool, or a `MemoryStore`. None: the variable
            ``MEMORY_CONTEXT_STORE``, else ``sqlite:///memory.db`` in the working directory.
        user_id: Whose memories these are. Nobody else's can be reached.
        agent_id: The agent that is recorded with new memories.
        thread_id: The conversation that is recorded with new memories.
        counter: Counts tokens; without one, the process's default does.
        password_variable: The environment variable with the password of a database URL that has
            none.
        summarizer: Describes texts in its own words, within its limits (`Summaries`); without one,
            or where it fails, they are described by their kind.
        audit: The audit trail (`AuditEntry`) of who did what with which memory: a trail, the URL of
            a database, or True for the store's own database. No trail without it.
        key_source: Draws the random characters of generated keys, such as ``random.Random(1)`` in
            a test. Without it they come from the operating system's cryptographic source.

    Attributes:
        key_generator: Generates the keys of new memories, here and in the views of `within`.
        scope: What can be read and written here: the user's memories, in the places of `within`.
        offered: The part of `scope` that may be brought back without being asked for.
        gate: Called with each new record before it is committed; may raise. Views have it, too.
        needing_ids: The tiers into which nothing is stored without a `tier_id`. Views have it, too.
        redactor: Removes secrets from all texts that are stored here; a setting of the store.
        redacted: How many secrets it has removed, by kind.

    Raises:
        InvalidScopeError: There is no user, or a name does not fit a database column.
        InvalidArgumentError: `counter`, `summarizer`, `audit` or `key_source` has the wrong type.
        UnsupportedDatabaseError: The URL is that of a database other than SQLite and PostgreSQL.
    """

    def __init__(  # noqa: PLR0913 - each but the user has a default
        self,
        store: AnyStore | None = None,
        *,
        user_id: UserId,
        agent_id: str | None = None,
        thread_id: str | None = None,
        counter: TokenCounter | Callable[[str], float] | None = None,
        password_variable: str = "MEMORY_CONTEXT_STORE_PASSWORD",  # noqa: S107 - the name of a variable
        summarizer: Summarizer | Summaries | None = None,
        audit: AuditTrail | Auditor | str | bool | None = None,
        key_source: Random | None = None,
    ) -> None:
        writer = Scope(user_id, agent_id, thread_id)  # type: ignore[arg-type] # turns it into text
        self.scope = self.offered = Scope(writer.user_id)
        self.gate: Callable[[MemoryItem], object] | None = None
        self.needing_ids = NEEDING_IDS
        self._widest: frozenset[Place] | None = None
        self.agent_id = writer.agent_id
        self.thread_id = writer.thread_id
        self.memory_store = as_store(store, password_variable)
        # A store object belongs to the caller, who may use it elsewhere; one made of a URL is ours.
        self._closes_store = self.memory_store is not store
        self.redactor = redactor_of(self.memory_store)
        self.redacted = Counter[str]()
        self._counter = None if counter is None else as_counter(counter)
        self._password_variable = password_variable
        self.summaries = as_summaries(summarizer)
        self._auditor = as_auditor(audit, self.memory_store, password_variable)
        check_arguments(key_source=key_source)
        self.key_generator = KeyGenerator(key_source)

    def within(
        self, places: Iterable[Place], offered: Iterable[Place] | None = None
    ) -> MemoryManager:
        """Return a view of the same memories that sees only the runs, sessions, … of `places`.

        Args:
            places: Pairs of tier and id. Those that this manager does not see stay unseen.
            offered: Those of them that may be brought back without being asked for; None for all.

        Raises:
            InvalidScopeError: A name does not fit a database column.
        """
        view = copy(self)
        view._closes_store = False  # noqa: SLF001 - its own
        view._widest = self.scope.places  # noqa: SLF001 - its own
        view.set_places(places, offered)
        return view

    def set_places(self, places: Iterable[Place], offered: Iterable[Place] | None = None) -> None:
        """Replace the places that are seen here. A view never gets more than it was made with (see `within`)."""
        seen = checked_places(places)
        if self._widest is not None:
            # A view can only narrow: a tool that is given one must not reach beyond it.
            seen &= self._widest
        self.scope = self.offered = with_changes(self.scope, places=seen)
        if offered is not None:
            self.offered = with_changes(self.scope, places=seen & checked_places(offered))

    def __repr__(self) -> str:
        """Name the user and the store, without a database's password."""
        return f"<MemoryManager of {self.scope.user_id!r} in {self.memory_store!r}>"

    @property
    def who(self) -> Who:
        """Return user, agent and thread: whose memories these are, and who works with them here."""
        return self.scope.user_id, self.agent_id, self.thread_id

    @property
    def audits(self) -> bool:
        """Return whether there is an audit trail."""
        return self._auditor is not None

    @property
    def audit_failures(self) -> int:
        """Return how often the audit trail failed."""
        return self._auditor.failures if self._auditor else 0

    def audit(self, action: Action, *keys: str) -> None:
        """Note in the audit trail, if there is one, what was done with these memories."""
        if self._auditor:
            self._auditor.note(action, self.who, keys)

    def note_call(self, what: ModelCall | Decision) -> None:
        """Record a model call or a decision, if the store keeps such records. Never fails."""
        keeper = keeper_of(self.memory_store)
        if keeper:
            keeper.note_call(CallRecord(*self.who, what))

    def calls(
        self,
        *,
        thread_id: str | None = None,
        kind: CallKind | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = 100,
        prompts: bool = True,
    ) -> KeptCalls:
        """Return the recorded model calls and decisions, newest first; none if the store keeps no such records.

        Records stay for 30 days, unless the store says otherwise (`calls_kept`).

        Args:
            thread_id: Only those of this conversation; without it, of all the user's conversations.
            kind: ``model`` for model calls only, ``decision`` for decisions only.
            since: Only those at this moment or later; with a time zone.
            until: Only those before this moment; with a time zone.
            limit: How many at most; None for all.
            prompts: Whether model calls include their prompts, where these are recorded.

        Raises:
            InvalidArgumentError: There is no such kind, or a time has no zone.
            StoreError: The store failed.
        """
        check_arguments(limit=limit)
        wanted = CallFilter(self.scope.user_id, thread_id, kind, since, until, prompts)
        keeper = keeper_of(self.memory_store)
        return KeptCalls(keeper.calls(wanted, limit) if keeper else [])

    def call_totals(self, *, thread_id: str | None = None) -> KeptTotals:
        """Return the totals of the model calls of each conversation, newest first; or of one conversation.

        Raises:
            StoreError: The store failed.
        """
        keeper = keeper_of(self.memory_store)
        return KeptTotals(keeper.call_totals(self.scope.user_id, thread_id) if keeper else [])

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter. Its first use in a process may take seconds."""
        return as_counter(self._counter)

    def store(
        self,
        content: AnyContent,
        description: str | None = None,
        type: str = "note",  # noqa: A002 - the word that the record uses
        **details: Any,  # noqa: ANN401 - those of `remember`
    ) -> str:
        """Commit `content` and return its key. Takes the arguments of `remember`."""
        known = MemoryManager.remember.__kwdefaults__ or {}
        if unknown := sorted(details.keys() - known.keys()):
            raise TypeError(f"store() has no argument {unknown[0]!r}; there are {', '.join(known)}")
        return self.remember(content, description, type, **details).memory_key

    def remember(  # noqa: PLR0913 - each is a column of the record, with a default
        self,
        content: AnyContent,
        description: str | None = None,
        type: str = "note",  # noqa: A002 - the word that the record uses
        *,
        key: str | None = None,
        source: str = "",
        tier: str = DETAIL,
        tier_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = (),
        importance: float = 0.5,
        expires_at: datetime | None = None,
        replace: bool = False,
        room: Capacity | None = None,
        check: Callable[[MemoryItem], object] | None = None,
        redaction: Redaction | None = None,
        origin: Origin = PROGRAM,
    ) -> MemoryItem:
        """Commit `content` and return its record, both without secrets where the store has a redactor.

        In the tier ``detail`` equal contents are one record, unless they are secrets or the caller
        chose the `key`: the first one's description stays.

        Args:
            content: Text, bytes, or a dict or list, which is kept as JSON.
            description: One line; without it, the content is described.
            type: ``note``, ``tool_output``, ``file_content``, ``decision``, …
            key: The caller's own key. Without it, one is made of `source` and ten random
                characters, unless the content is already kept under a key.
            source: What made the content: a tool, a file.
            tier: Where the memory belongs.
            tier_id: Which run, session, plan, task or project of the tier. The built-in tiers other
                than ``global`` need it: without an id, a note would belong to all of them.
            metadata: A JSON object.
            category: A path such as ``project-context/rockets``.
            tags: Words.
            importance: 0 to 1.
            expires_at: When it may be deleted; with a time zone.
            replace: Whether `key` may take the place of another memory.
            room: How much the tier holds (see `MemoryStore.put`).
            check: Called with the record before it is committed; may raise.
            redaction: The redaction that has already removed the secrets from `content`, as for
                texts that were put into JSON afterwards. Without it, they are removed here.
            origin: Where the content comes from. A host gives ``model`` for what its model stores;
                your program may give ``person`` for what somebody typed.

        Raises:
            InvalidContentError: The content or metadata is of a kind that cannot be kept.
            InvalidArgumentError: A type, tier, category or tag is not a name, the importance is
                outside 0 to 1, a time has no zone, or the origin is unknown.
            InvalidKeyError: `key` is not a valid key.
            KeyExistsError: `key` holds another memory, and `replace` is False.
            InvalidTierError: The tier needs a `tier_id`.
            TierFullError: There is no `room`.
            InvalidScopeError: The tier's id is not one of the places that are seen here (see
                `within`).
            DeclinedError: The tier asks for confirmation, and it was declined.
            StoreError: The store failed; nothing was changed.
        """
        check_arguments(
            description=description,
            type=type,
            source=source,
            tags=tags,
            importance=importance,
            room=room,
            check=check,
            origin=origin,
        )
        body, media_type = to_content(content)
        words = as_list(tags)
        check_names(type, tier, tier_id, category, tags=words)
        self._check_tier_id(tier, tier_id)
        # A secret is never shared: two that are equal by chance would be one record under one key.
        is_shared = key is None and tier == DETAIL and type != SECRET
        item = MemoryItem(
            user_id=self.scope.user_id,
            agent_id=self.agent_id,
            thread_id=self.thread_id,
            memory_key="" if key is None else check_key(key),
            memory_type=type,
            tier=tier,
            tier_id=tier_id,
            content=body,
            media_type=media_type,
            content_metadata=check_metadata(metadata),
            category=category,
            tags=tuple(words),
            importance=float(importance),
            expires_at=with_zone(expires_at, "expires_at"),
            origin=origin,
            generated_key=key is None and self.key_generator.is_unguessable,
        )
        if not redaction:
            redaction = self.redaction(type)
            item = with_redacted_content(item, redaction)
        item = self._completed(item, description, source, redaction)
        if is_shared:
            item = with_changes(item, identity=identity_of(item.content, item.content_hash))
        for look in (check, self.gate):
            if look:
                look(item)
        with operation("store", self.who, type=type, tier=tier) as storing:
            if key is None:
                stored = self._put_under_new_key(item, source or type, room)
            else:
                stored = self.memory_store.put(self.scope, item, replace=replace, room=room)
            storing.note(
                key=stored.memory_key, tokens=stored.token_count, bytes=bytes_of(item.content)
            )
        self._count_stored(item, redaction)
        self.audit("stored", stored.memory_key)
        return stored

    def replace_all(self, described: Sequence[tuple[MemoryItem, str]]) -> None:
        """Commit records with their descriptions, each in place of what its key holds: all of them, or none.

        The caller has chosen their keys, which are all different. Counts and hashes are filled in here.

        Raises:
            InvalidTierError: A record has no `tier_id`, and its tier needs one.
            DeclinedError: A tier asks for confirmation, and it was declined.
            StoreError: The store failed.
        """
        items: list[MemoryItem] = []
        redactions: list[Redaction] = []
        for item, description in described:
            self._check_tier_id(item.tier, item.tier_id)
            redaction = self.redaction(item.memory_type)
            clean = with_redacted_content(item, redaction)
            items.append(self._completed(clean, description, "", redaction))
            redactions.append(redaction)
        for item in items:
            if self.gate:
                self.gate(item)
        with operation("store", self.who) as storing:
            replace_all(self.memory_store, self.scope, items)
            storing.note(
                keys=tuple(item.memory_key for item in items),
                tokens=sum(item.token_count for item in items),
            )
        for item, redaction in zip(items, redactions, strict=True):
            self._count_stored(item, redaction)
        self.audit("stored", *(item.memory_key for item in items))

    def _check_tier_id(self, tier: str, tier_id: str | None) -> None:
        if tier_id is None and tier in self.needing_ids:
            raise InvalidTierError(
                f"tier={tier!r} needs tier_id=, the id of the {tier} that this belongs to; "
                f"without one it would belong to every {tier}"
            )

    def _completed(
        self, item: MemoryItem, description: str | None, source: str, redaction: Redaction
    ) -> MemoryItem:
        """Return a record with its description, counts and hash, without secrets."""
        # Redact before cutting: neither half of a secret that is cut in two would be recognised.
        description = description and redaction.line(description)
        item = redacted_facts(item, redaction)
        summary = summary_of(item, description, source=source, summaries=self.summaries)
        return with_changes(item, summary=summary, **self.facts_of(item.content))

    def _put_under_new_key(
        self, item: MemoryItem, made_by: str, room: Capacity | None
    ) -> MemoryItem:
        """Put *item* under a generated key, and generate another one as long as the key is taken."""
        while True:
            keyed = with_changes(item, memory_key=self.key_generator.new_key(made_by))
            with suppress(KeyExistsError):
                return self.memory_store.put(self.scope, keyed, room=room)

    def redaction(self, memory_type: str = "") -> Redaction:
        """Return the redaction for the texts of one record. It changes nothing in records of the type ``secret``."""
        return Redaction(None if memory_type == SECRET else self.redactor)

    def _count_stored(self, item: MemoryItem, redaction: Redaction) -> None:
        """Count a stored record in the metrics, and the secrets that were removed from it."""
        count("memories", type=item.memory_type, tier=item.tier)
        count("bytes", bytes_of(item.content), type=item.memory_type, tier=item.tier)
        self.note_redacted(redaction)

    def note_redacted(self, redaction: Redaction) -> None:
        """Count the secrets that were removed from a stored record, and call the redactor's callback."""
        if not self.redactor or not redaction.counts:
            return
        with _counting:  # several managers may share the counter
            self.redacted.update(redaction.counts)
        for kind, number in redaction.counts.items():
            count("redacted", number, kind=kind)
        self.redactor.tell(redaction.counts)

    def facts_of(self, content: Content) -> dict[str, Any]:
        """Return the counts and the hash of a content, by the record's field names."""
        return facts_of(content, self.counter.count)

    def get(self, key: str) -> MemoryItem:
        """Return the record under `key`, without counting it as a read.

        Raises:
            InvalidKeyError: It is not a valid key.
            MemoryDeletedError: The memory was deleted; the message says when and why.
            MemoryNotFoundError: There is none, or it is another user's.
        """
        item = self.memory_store.get(self.scope, check_key(key))
        if item:
            return item
        # Only now: a key that was deleted and stored again has a record.
        deletion = self.memory_store.deletion(self.scope, key)
        if deletion:
            raise MemoryDeletedError(
                f"the memory {key!r} was deleted on {deletion.deleted_at:%Y-%m-%d %H:%M} UTC ({deletion.reason})"
            )
        raise MemoryNotFoundError(
            f"there is no memory under the key {key!r}; `search` finds keys by words"
        )

    def read(self, key: str) -> MemoryItem:
        """Return the record under `key`, counted as a read. Raises what `get` raises."""
        item = self.fetch(key)
        self.audit("expanded", key)
        return item

    def fetch(self, key: str) -> MemoryItem:
        """Return the record as `read` does, but leave the entry in the audit trail to the caller."""
        item = self.get(key)
        self._count_reads([key])
        return item

    def _count_reads(self, keys: Sequence[str]) -> None:
        """Count a read of each memory. A failure is only logged, since the reader has the texts already."""
        try:
            self.memory_store.touch(self.scope, keys)
        except StoreError as error:
            read = ", ".join(keys)
            log_events.READ_NOT_COUNTED.log(error, user_id=self.scope.user_id, memory_key=read)

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
        """Return the content under `key`: whole, or the part that one selector asks for.

        A selection is plain text: lines as they are, matching lines with their numbers,
        values as JSON, rows as CSV. With `max_tokens`, the whole text, lines or a `query` become an
        excerpt if they are too large, and any other selection gives its first page; `page` says how
        much there is and gives the other pages.

        Args:
            key: The memory's key.
            lines: ``120-180``, ``500-``, ``-40`` (the last 40), ``7``; several separated by commas.
            contains: The lines that hold this text, however it is capitalised.
            pattern: The lines that hold a match of this regular expression (the package ``regex``;
                ``^`` and ``$`` are the ends of lines).
            context: With `contains` and `pattern`, how many lines around each.
            path: A JSONPath (RFC 9535) into JSON, JSON lines, a Python repr, or these inside an MCP
                tool's result. Gives the value itself if the path can find only one, else a list.
            where: A SQL expression over the columns of a JSON list, JSON lines, CSV, TSV or a
                Markdown table.
            columns: Which columns, separated by commas; expressions and aggregates too.
            query: What the caller wants to know.
            max_tokens: The most tokens that are returned. A `query` without it gets 500.

        Raises:
            MemoryNotFoundError: There is no such memory (see `get`).
            NothingMatchedError: Nothing in the text matches; the message says what is there.
            InvalidSelectionError: More than one selector, or one that cannot be used on this text;
                the message names those that can.
            SelectionTimeoutError: A pattern, path or expression took more than 5 seconds.
            BudgetTooSmallError: The text is larger, and `max_tokens` does not even hold its
                reference.
            InvalidArgumentError: A part of binary content was asked for.
            StoreError: The store failed.
        """
        selection = Selection(
            lines=lines, contains=contains, pattern=pattern, context=context, path=path, where=where, columns=columns,
            query=query or None,
        )  # fmt: skip
        check_arguments(max_tokens=max_tokens)
        with self._reading(key, selection) as item:
            if selection.selector == "whole" and max_tokens is None:
                return item.content
            text = _readable(item)
            if selection.selector == "query" and max_tokens is None:
                max_tokens = DEFAULT_ANSWER
            # An excerpt numbers its lines from one beginning; several ranges have several.
            has_several_ranges = "," in (lines or "")
            can_be_excerpt = selection.selector in ("whole", "lines", "query")
            if max_tokens is None or has_several_ranges or not can_be_excerpt:
                return read_part(
                    text,
                    selection,
                    0,
                    max_tokens,
                    self.counter.count,
                    is_answer=is_query_answer(item),
                ).text
            first = 1
            if lines is not None:
                first, last = parse_lines(lines, item.line_count)
                span = span_of_lines(text, first, last)
                text = text[span.start : span.end]
            if not self.counter.exceeds(text, max_tokens):
                return text
            # The least answer that still says where the rest is: the reference.
            least = self.counter.count(item.ref.render())
            if max_tokens < least:
                raise BudgetTooSmallError(
                    f"max_tokens={max_tokens} is less than the reference takes; give {least} or more"
                )
            return excerpt(text, query or "", max_tokens, self.counter.count, first_line=first).text

    def page(
        self,
        key: str,
        selection: Selection | None = None,
        *,
        offset: int = 0,
        max_tokens: int | None = None,
    ) -> Page:
        """Return a page of the memory under `key`, and what part of the selection it is.

        Args:
            key: The memory's key.
            selection: Which part; without it, the whole.
            offset: Where the page begins: the `next_offset` of the page before.
            max_tokens: The most tokens that the page's text takes.

        Raises:
            MemoryContextError: As `retrieve` does.
        """
        selection = selection or Selection()
        check_arguments(selection=selection, offset=offset, max_tokens=max_tokens)
        with self._reading(key, selection) as item:
            return read_part(
                _readable(item),
                selection,
                offset,
                max_tokens,
                self.counter.count,
                is_answer=is_query_answer(item),
            )

    def answer(
        self, key: str, selection: Selection | None = None, *, offset: int = 0, max_tokens: int
    ) -> str:
        """Return a page as a model reads it: reference, part, text, and the call for the next page.

        If nothing matches, nothing is raised: the answer says so, and what is there.

        Args:
            key: The memory's key.
            selection: Which part; without it, the whole.
            offset: Where the page begins.
            max_tokens: The most tokens that the whole answer takes.

        Raises:
            MemoryContextError: As `retrieve` does.
        """
        selection = selection or Selection()
        check_arguments(selection=selection, offset=offset)
        check_whole("max_tokens", max_tokens)
        with self._reading(key, selection) as item:
            return answer(item, selection, offset, max_tokens, self.counter.count)

    @contextmanager
    def _reading(self, key: str, selection: Selection) -> Generator[MemoryItem]:
        """Read the record under `key`, in a telemetry span that covers the body of the `with`."""
        with operation("retrieve", self.who, selector=selection.selector) as retrieval:
            item = self.read(key)
            retrieval.note(
                key=item.memory_key, tier=item.tier, type=item.memory_type, tokens=item.token_count
            )
            yield item

    def search(  # noqa: PLR0913 - each narrows the search, with a default
        self,
        query: str,
        limit: int = 5,
        *,
        mode: SearchMode = "hybrid",
        types: str | Iterable[str] | None = None,
        tier: str | None = None,
        category: str | None = None,
        tags: str | Iterable[str] | None = None,
        thread: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        filters: Filters | None = None,
    ) -> MemoryList:
        """Find memories about `query`, best first, each with a `match`; the newest if it is blank.

        Secrets are found by their descriptions; the content of such hits is masked.

        Args:
            query: Any text.
            limit: How many at most.
            mode: ``keyword``, ``semantic`` or ``hybrid``, which is both; ``hybrid`` without an
                embedder is keyword search. ``substring`` finds the newest memories with a line that
                contains the query, whatever its case, among the newest 1,000 of at most 100,000 characters.
            types: Only memories of one of these types.
            tier: Only those of this tier.
            category: Only those of this category, or one below it; ``project*``: of those that begin
                with ``project``.
            tags: Only those with one of these tags.
            thread: Only those made in this conversation.
            since: Only those stored at this moment or later; with a time zone.
            until: Only those stored before this moment; with a time zone.
            filters: Further conditions on columns (see `MemoryStore`).

        Raises:
            InvalidArgumentError: The limit is below 1, a time has no zone, or there is no embedder for
                ``semantic``.
            InvalidFilterError: There is no such column, or no such operator.
            StoreError: The store failed.
        """
        check_arguments(query=query)
        check_whole("limit", limit, 1)
        wanted = search_filters(
            filters, types=types, tier=tier, category=category, tags=tags, thread=thread, since=since, until=until,
        )  # fmt: skip
        with operation("search", self.who, mode=mode, limit=limit) as searching:
            if mode == "substring":
                hits = containing(self.memory_store, self.scope, query, limit, wanted)
            else:
                hits = self.hits(self.scope, query, limit=limit, filters=wanted, mode=mode)
            searching.note(hits=len(hits), keys=tuple(hit.memory_key for hit in hits))
        # The content of a secret was masked, so nothing of it was read.
        self.audit("expanded", *(hit.memory_key for hit in hits if not is_secret(hit)))
        return MemoryList(hits)

    def query(
        self, sql: str, *, save_as: str | None = None, description: str | None = None
    ) -> QueryResult:
        """Run one SELECT (SQLite's SQL) over the user's memories, each a table under its key.

        ``FROM orders_3f9a JOIN customers_77aa USING (customer_id)`` joins two; ``FROM "read_file_*"`` has the rows of all
        whose keys begin with ``read_file_``, with their keys in a column `memory_key`. A key with a hyphen or a dot needs
        double quotes.
        `docs/query.md` says which rows a text has; a text of no known form has the columns line and text.

        Args:
            sql: The statement. It can reach nothing but those rows and SQL's plain functions.
            save_as: Keep the answer as a memory under this key, as CSV, with the statement and the keys that it read as
                metadata. It may take the place of an earlier answer.
            description: One line about the answer.

        Raises:
            InvalidQueryError: The database refuses the statement; the message gives its reason, and the tables and
                columns that exist. Or the answer has more than 100,000 rows or 20 MB.
            SelectionTimeoutError: It took more than 20 seconds, or more than 1 GB.
            KeyExistsError: `save_as` is the key of a memory that is not such an answer.
            StoreError: The store failed.
        """
        check_arguments(sql=sql)
        with operation("query", self.who) as asking:
            result = query(self.memory_store, self.scope, sql)
            asking.note(hits=len(result), keys=result.sources)
        self._count_reads(result.sources)
        self.audit("expanded", *result.sources)
        if save_as is None:
            return result
        if not description:
            description = f"{counted(len(result), 'row')}: {', '.join(result.columns)}"
        earlier = self.memory_store.get(self.scope, check_key(save_as))
        try:
            kept = self.remember(
                result.to_csv(),
                description,
                QUERY_ANSWER,
                key=save_as,
                metadata={"sql": sql, "sources": list(result.sources)},
                origin=self.origin_of(result.sources, PROGRAM),
                replace=earlier is not None and earlier.memory_type == QUERY_ANSWER,
            )
        except KeyExistsError as error:
            raise KeyExistsError(
                f"the key {save_as!r} holds a memory that is not the answer to a query; choose another key, or forget it"
            ) from error
        return with_changes(result, key=kept.memory_key)

    def without_secrets(self, query: str) -> str:
        """Return the words of *query*, without secrets if the store has a redactor.

        Raises:
            RedactionTimeoutError: A user's pattern took too long.
        """
        return self.redactor.words(query) if self.redactor else query

    def hits(self, scope: Scope, query: str, **how: Any) -> list[MemoryItem]:  # noqa: ANN401 - see `MemoryStore.search`
        """Return what `MemoryStore.search` finds; the store and its embedder get the query without secrets."""
        words = self.without_secrets(query)
        # A query of nothing but secrets has no words left, and a search without words lists everything.
        if query.strip() and not words:
            return []
        return self.memory_store.search(scope, words, **how)

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the search index of the whole database (every user's), and count its memories.

        Args:
            progress: Called after each memory with how many are done, and of how many.

        Raises:
            StoreError: The store failed, or keeps no index.
        """
        return reindexed(self.memory_store, progress)

    def forget(
        self,
        key: str,
        *,
        reason: str = "forgotten",
        soft: bool = False,
        seen: datetime | None = None,
    ) -> bool:
        """Delete the memory under `key` for good, and return whether there was one.

        References to it say afterwards when and why it was deleted. With `soft`, it is only put away:
        it is no longer found, listed or offered, but its key still redeems. `revive` brings it back,
        and a `RetentionRule` may delete it for good later. With `seen`, the `updated_at` that the
        caller has seen, a memory that was changed since then is left alone.

        Raises:
            InvalidKeyError: It is not a valid key.
            StoreError: The store failed.
        """
        with operation("forget", self.who) as forgetting:
            was_there = self.memory_store.delete(
                self.scope,
                check_key(key),
                reason=self.redaction().text(reason),
                soft=soft,
                seen=seen,
            )
            forgetting.note(key=key if was_there else None)
        if was_there:
            self.audit("deleted", key)
        return was_there

    def clear(self, tier: str, tier_id: str | None = None, *, reason: str = "cleared") -> int:
        """Delete all memories of a tier, or of one run, session, … of it, evicted ones too, and count them.

        Raises:
            InvalidScopeError: A name does not fit a database column.
            InvalidTierError: The tier is None.
            StoreError: The store failed; what was deleted until then is gone.
        """
        if tier is None:  # pyright: ignore[reportUnnecessaryComparison] # a Scope without a tier is all of them
            raise InvalidTierError("clear() needs the name of a tier, not None")
        scope = with_changes(self.scope, tier=tier, tier_id=tier_id)
        keys: list[str] = []
        if self.audits:
            # Before the deletion: afterwards nobody could say which they were.
            keys = [item.memory_key for item in self.memory_store.list_all(scope)]
        deleted = self.memory_store.clear(scope, reason=self.redaction().text(reason))
        self.audit("deleted", *keys)
        return deleted

    def revive(self, key: str, *, room: Capacity | None = None) -> MemoryItem:
        """Make a memory that was softly forgotten, or evicted by a full tier, active again.

        Args:
            key: The memory's key.
            room: How much its tier holds (see `MemoryStore.put`). Without it, the limits of the
                built-in tier of that name apply, and nothing is evicted for it;
                `ScopedMemory.revive` knows other policies.

        Raises:
            MemoryNotFoundError: There is none (see `get`).
            TierFullError: There is no room for it.
            RecordChangedError: Somebody changed it just now.
            StoreError: The store failed.
        """
        item = self.get(key)
        # Storing it again would change its `updated_at`, and so postpone its deletion by a retention rule.
        if item.is_active:
            return item
        if not room and item.tier in BUILT_IN:
            # An evicted memory takes no room, an active one does.
            room = BUILT_IN[item.tier].room
            # The caller's own policy may hold more, so this one must not evict anything.
            room = room and with_changes(room, evict=0.0)
        active = with_changes(item, is_active=True, updated_at=now())
        revived = self.memory_store.put(self.scope, active, room=room, replaces=item)
        self.audit("stored", key)
        return revived

    def confirm(self, key: str, *, seen: datetime | None = None) -> MemoryItem:
        """Record that a person vouches for the memory under `key`: it counts as theirs from now on.

        Nothing else raises an origin. Offer it to people only, never to a model as a tool.

        Args:
            key: The memory's key.
            seen: The `updated_at` that the person has seen; a memory with another one is refused.

        Raises:
            MemoryNotFoundError: There is none (see `get`).
            RecordChangedError: Somebody changed it just now, or since it was seen.
            StoreError: The store failed.
        """
        check_arguments(seen=seen)
        item = self.get(key)
        if seen not in (None, item.updated_at):
            raise changed(key)
        if item.origin == PERSON:
            return item
        theirs = with_changes(item, origin=PERSON, updated_at=now())
        confirmed = self.memory_store.put(self.scope, theirs, replaces=item)
        self.audit("confirmed", key)
        return confirmed

    def known_keys(self, keys: Sequence[str], filters: Filters | None = None) -> list[str]:
        """Return those of *keys*, which are all different, that the store knows; with *filters*, those that match.

        Raises:
            StoreError: The store failed.
        """
        check_arguments(keys=keys, filters=filters)
        keys = list(keys)
        if not keys:
            return []
        wanted = {**ANY_STATE, **(filters or {}), "memory_key": keys}
        known = self.memory_store.count(self.scope, wanted)
        if known in (0, len(keys)):
            return keys[:known]
        # Counting reads no content. Usually all but one or two are known, and a few halvings find those.
        half = len(keys) // 2
        return self.known_keys(keys[:half], filters) + self.known_keys(keys[half:], filters)

    def origin_of(self, keys: Iterable[str], origin: Origin) -> Origin:
        """Return the least trusted of *origin* and the origins of the memories under *keys*, for a text made of them.

        Raises:
            StoreError: The store failed.
        """
        check_arguments(keys=keys, origin=origin)
        sources = list(keys)
        if not sources:
            return origin
        for lower in reversed(ORIGINS[ORIGINS.index(origin) + 1 :]):
            wanted = {**ANY_STATE, "memory_key": sources, "origin": lower}
            if self.memory_store.count(self.scope, wanted):
                return lower
        return origin

    def close(self) -> None:
        """Release connections, unless the store is the caller's. The manager may still be used.

        A store in memory loses everything: `sqlite://` is empty afterwards.
        """
        if self._auditor:
            self._auditor.close()
        if self._closes_store:
            self.memory_store.close()

    def connection(self) -> dict[str, Any]:
        """Return the arguments that open the same memories in another process, without a password.

        Raises:
            NotSerializableError: The store or the audit trail exists only in this process; or the
                counter, embedder, quota or a tier's `confirm` is the caller's own object.
        """
        if self.gate:
            raise NotSerializableError(
                "memories with a tier that has a confirm of its own cannot be dumped"
            )
        url = urls_for_other_processes.store_url(self.memory_store)
        if self._counter is not None:
            raise NotSerializableError(
                "a counter of your own cannot be serialized; use set_default_counter() in each process"
            )
        variable = self._password_variable
        if isinstance(self.memory_store, SQLAlchemyStore):
            variable = self.memory_store.password_variable
        audit: str | bool = False
        if self._auditor:
            audit = urls_for_other_processes.needed_url(
                self._auditor.trail, "use audit=True or a database's URL"
            )
        return {
            "user_id": self.scope.user_id,
            "store": url,
            "agent_id": self.agent_id,
            "password_variable": variable,
            "audit": audit,
        }


def check_owner(owner: object, *kinds: type) -> None:
    """Check that *owner*, whose memories are used, is not a URL or a store: only its first use would fail.

    Raises:
        InvalidArgumentError: It is not of one of the *kinds*.
    """
    if not isinstance(owner, kinds):
        names = " or a ".join(kind.__name__ for kind in kinds)
        raise InvalidArgumentError(
            f"a {names} is needed here, not {type(owner).__name__}; "
            "MemoryManager(URL or store, user_id=…) makes one, and ScopedMemory(manager) its notes"
        )


def _readable(item: MemoryItem) -> str:
    if isinstance(item.content, str):
        return item.content
    raise InvalidArgumentError(
        f"{item.memory_key!r} holds binary content, which has no lines; retrieve it whole"
    )
