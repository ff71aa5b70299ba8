"""What a store sends to its database, and whether each statement stays with one user."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import sqlalchemy as sa

# Tables whose rows name their user; `agent_memory_vectors_…` belong to them.
NAMED = {
    *("agent_memories", "agent_memory_audit", "agent_memory_deletions"),
    *("agent_memory_owners", "agent_memory_pending"),
    *("agent_memory_access", "agent_memory_passages", "agent_memory_calls"),
}
# The virtual tables of FTS5: their names begin with the user's number.
WORDS = {"agent_memory_index", "agent_memory_terms"}
# The library's own facts; nothing of a user stands in them.
FACTS = {"agent_memory_settings"}


@dataclass(frozen=True)
class Shape:
    """A shape of statements that name no user, with the reason why they need not.

    Attributes:
        pattern: What the statement, in single spaces, begins with.
        reason: Why it stays with the user all the same.
        dialect: The database that it is sent to; both without one.
    """

    pattern: str
    reason: str
    dialect: str | None = None


ALLOWED = (
    Shape(
        r"SELECT agent_memory_passages\.id FROM agent_memory_passages WHERE NOT \(",
        "whether the index would be empty afterwards: one id of any passage, and it is never told",
        "sqlite",
    ),
    Shape(
        r"DELETE FROM agent_memory_calls WHERE agent_memory_calls\.at < ",
        "once an hour whoever notes calls deletes everybody's that are too old, those of users who never come back, too",
    ),
    Shape(
        r"INSERT INTO agent_memory_index\(agent_memory_index\) VALUES \('delete-all'\)",
        "only where the statement above has found nothing of anybody else",
        "sqlite",
    ),
)
_TABLE = re.compile(r"\b(agent_memor\w+)")
_BIND = re.compile(r"\?|%\(\w+\)s")
_STRING = re.compile(r"'(?:[^']|'')*'")
_SCHEMA = re.compile(r"\s*(?:PRAGMA|CREATE|DROP|ALTER|DELETE FROM agent_memory_settings)\b")
_PASSAGE = re.compile(r"agent_memory_passages\.id (?:=|IN)|\browid\b|WHERE id = ")
_PLANNED = re.compile(r"\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_PART = re.compile(r"\bagent_memor\w+_p(\d+)\b")
_OPENING = re.compile(r"\s*(?:SELECT|WITH)\b")


@dataclass(frozen=True)
class Statement:
    """A statement with what was bound to it.

    Attributes:
        sql: In single spaces.
        values: The bound values, one tuple for each row of an executemany, in the order of the placeholders.
        owners: Who owns the memories whose ids are bound, as far as they are there.
        passages: Who owns the passages whose numbers are bound.
        number: The number that stands for the user in the index.
        dialect: The database.
        parts: The parts of partitioned tables that PostgreSQL's plan for it reads or writes.
    """

    sql: str
    values: tuple[tuple[Any, ...], ...]
    owners: frozenset[str]
    number: int | None
    dialect: str
    parts: frozenset[str]

    @property
    def tables(self) -> set[str]:
        """The tables of memories that it speaks of."""
        return set(_TABLE.findall(_STRING.sub("''", self.sql))) & self.known

    @property
    def known(self) -> set[str]:
        """The tables that there are, those of vectors by their names."""
        vectors = {
            name for name in _TABLE.findall(self.sql) if name.startswith("agent_memory_vectors_")
        }
        return NAMED | WORDS | vectors


@dataclass
class Watch:
    """The statements that were sent while it watched.

    Attributes:
        user: Whose statements they ought to be.
        sent: Those that speak of tables of memories.
    """

    user: str
    sent: list[Statement] = field(default_factory=list[Statement])

    def wrong(self) -> Counter[str]:
        """The statements that do not stay with the user and have no reason, with how often each was sent."""
        return Counter(
            f"{problem}: {one.sql}"
            for one in self.sent
            if allowed(one) is None and (problem := problem_of(one, self.user))
        )

    def parts(self) -> set[str]:
        """The parts of partitioned tables that were read or written, by statements that name the user."""
        return {part for one in self.sent if allowed(one) is None for part in one.parts}

    def shapes(self) -> set[Shape]:
        """The shapes without a user that were sent."""
        return {shape for one in self.sent if (shape := allowed(one))}


def allowed(statement: Statement) -> Shape | None:
    """The allowed shape that a statement has."""
    fitting = (shape for shape in ALLOWED if shape.dialect in (None, statement.dialect))
    return next((shape for shape in fitting if re.match(shape.pattern, statement.sql)), None)


def problem_of(statement: Statement, user: str) -> str | None:
    """Why a statement does not stay with `user`; None if it does."""
    if others := statement.owners - {user}:
        return f"reaches memories of {sorted(others)}"
    if len(statement.parts) > 1:
        return f"reads or writes {len(statement.parts)} parts"
    return next(
        (problem for block in blocks(statement.sql) if (problem := _block(statement, block, user))),
        None,
    )


@dataclass(frozen=True)
class Block:
    """A SELECT, INSERT, UPDATE or DELETE, without what stands in SELECTs inside of it.

    Attributes:
        text: As it stands, each inner SELECT as ``(…)``.
        binds: The places of its placeholders among those of the whole statement.
    """

    text: str
    binds: tuple[int, ...]

    @property
    def reads(self) -> set[str]:
        """The tables that it reads or writes, not only mentions in a column's name."""
        return set(
            re.findall(r"(?:FROM|JOIN|INTO|UPDATE|,)\s+(agent_memor\w+)(?!\w*\.)", self.text)
        )


def blocks(sql: str) -> Iterator[Block]:
    """The statement and every SELECT inside of it, those of a UNION apart."""
    plain = _STRING.sub(lambda match: "'" + "x" * (len(match[0]) - 2) + "'", sql)
    numbered = iter(range(len(_BIND.findall(plain))))
    marked = _BIND.sub(lambda _: f"\0{next(numbered)}\0", plain)
    for text in _nested(marked):
        for part in re.split(r"\bUNION(?: ALL)?\b", text):
            yield Block(
                re.sub("\0\\d+\0", "?", part), tuple(map(int, re.findall("\0(\\d+)\0", part)))
            )


def _nested(text: str) -> Iterator[str]:
    """`text` with its inner SELECTs replaced, and these."""
    outer, depth, start, inner = list[str](), 0, 0, False
    stack = list[bool]()
    for place, char in enumerate(text):
        if char == "(":
            opens = not inner and _OPENING.match(text, place + 1) is not None
            if opens:
                inner, start, depth = True, place + 1, len(stack)
            stack.append(opens)
        if not inner:
            outer.append(char)
        if char == ")":
            if inner and len(stack) - 1 == depth:
                yield from _nested(text[start:place])
                outer.append("(…)")
                inner = False
            stack.pop()
    yield "".join(outer)


def _block(statement: Statement, block: Block, user: str) -> str | None:
    tables = block.reads & statement.known
    named = tables - WORDS
    if named and not _follows_user(block) and not _binds_user(statement, block, user):
        return f"reads {', '.join(sorted(named))} without the user"
    if tables & WORDS and not _names_number(statement):
        return "reads the index without the user's number"
    return None


def _follows_user(block: Block) -> bool:
    """Whether the block compares a user's column with that of a table of the block around it."""
    compared = re.findall(r"user_id = (agent_memor\w+)\.user_id", block.text)
    return bool({*compared} - block.reads)


def _binds_user(statement: Statement, block: Block, user: str) -> bool:
    """Whether the block compares a user's column with the user, or writes the user into it, in every row."""
    places = [
        block.binds[block.text[: match.end()].count("?") - 1]
        for match in re.finditer(r"user_id = \?", block.text)
    ]
    if not places and re.match(r"\s*INSERT INTO \w+ ?\([^()]*\buser_id\b[^()]*\)", block.text):
        if "VALUES" not in block.text:
            return True  # the SELECT that it takes the rows from is part of the block, or has one of its own
        return all(user in row for row in statement.values)
    if re.search(r"\bOR\b", _without_parentheses(block.text)):
        return False  # what the user is compared with would not hold for every row
    return bool(places) and all(
        any(row[place] == user for place in places) for row in statement.values
    )


def _without_parentheses(text: str) -> str:
    """`text` without what stands in parentheses."""
    while (inner := re.sub(r"\([^()]*\)", "", text)) != text:
        text = inner
    return text


def _names_number(statement: Statement) -> bool:
    """Whether every word that is looked up, or put into the index, begins with the user's number."""
    texts = [value for row in statement.values for value in row if isinstance(value, str)]
    found = [word for text in texts for word in re.findall(r"(?:^|[\s\"'\[(|])(\d+:)[^\s,]", text)]
    return (
        not texts
        or (bool(found) and set(found) == {f"{statement.number}:"})
        or all(text in ("[]", "") for text in texts)
    )


@contextmanager
def watching(user: str) -> Generator[Watch]:
    """Note every statement that any engine of this process sends."""
    watch = Watch(user)

    def note(
        connection: sa.Connection,
        _cursor: object,
        sql: str,
        parameters: Any,
        _context: object,
        _many: object,
    ) -> None:
        if _TABLE.search(_STRING.sub("''", sql)) and not _SCHEMA.match(sql):
            watch.sent.append(_statement(connection, sql, parameters, user))

    with listening(sa.Engine, note):
        yield watch


@contextmanager
def listening(engine: Any, note: Callable[..., None]) -> Generator[None]:
    """Have *note* called with each statement of an engine, or of all of them."""
    _wait_for_writers()
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield
    finally:
        _wait_for_writers()
        sa.event.remove(engine, "before_cursor_execute", note)


def _wait_for_writers() -> None:
    """Wait for the threads that write: SQLAlchemy's list of listeners must not change while one executes."""
    for thread in threading.enumerate():
        if thread.name in ("memory-context-calls", "memory-context-embedder"):
            thread.join(60)


def _statement(connection: sa.Connection, sql: str, parameters: Any, user: str) -> Statement:
    rows = parameters if isinstance(parameters, list) else [parameters]
    names = [bind[2:-2] for bind in _BIND.findall(_STRING.sub("''", sql))]
    values = tuple(
        tuple(row[name] for name in names) if isinstance(row, Mapping) else tuple(row or ())
        for row in rows
    )
    bound = [value for row in values for value in row]
    raw = connection.connection.dbapi_connection
    dialect = connection.dialect.name
    return Statement(
        " ".join(sql.split()),
        values,
        frozenset(_owners(raw, dialect, sql, bound)),
        _number(raw, dialect, user),
        dialect,
        frozenset(_parts(raw, dialect, sql, rows)),
    )


def _parts(raw: Any, dialect: str, sql: str, rows: Sequence[Any]) -> Iterator[str]:
    """The numbers of the parts that stand in the plan."""
    if dialect == "postgresql" and _PLANNED.match(sql):
        for plan in _rows(raw, f"EXPLAIN {sql}", rows[0]):
            yield from _PART.findall(plan[0])


def _owners(raw: Any, dialect: str, sql: str, bound: Sequence[object]) -> Iterator[str]:
    """Who owns the memories, and the passages, whose ids are bound."""
    mark = "?" if dialect == "sqlite" else "%s"
    ids = [value for value in bound if _is_id(value)]
    yield from _asked(raw, "SELECT user_id FROM agent_memories WHERE id = " + mark, ids)
    if _PASSAGE.search(sql):
        numbers = [
            value for value in bound if isinstance(value, int) and not isinstance(value, bool)
        ]
        query = (
            "SELECT m.user_id FROM agent_memory_passages AS p JOIN agent_memories AS m ON m.id = p.memory_id "
            "WHERE p.id = "
        )
        yield from _asked(raw, query + mark, numbers)


def _asked(raw: Any, query: str, values: Sequence[object]) -> Iterator[str]:
    for value in dict.fromkeys(values):
        yield from (row[0] for row in _rows(raw, query, (value,)))


def _rows(raw: Any, query: str, values: Any) -> list[Any]:
    cursor = raw.cursor()
    try:
        cursor.execute(query, values)
        return list(cursor.fetchall())
    finally:
        cursor.close()


def _is_id(value: object) -> bool:
    return isinstance(value, UUID) or (
        isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) is not None
    )


def _number(raw: Any, dialect: str, user: str) -> int | None:
    mark = "?" if dialect == "sqlite" else "%s"
    found = _asked(raw, f"SELECT number FROM agent_memory_owners WHERE user_id = {mark}", [user])
    return next((int(number) for number in found), None)
