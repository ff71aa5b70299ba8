"""Everything that memory-context raises on purpose.

::

    MemoryContextError
    ├── InvalidArgumentError (ValueError)
    │   ├── InvalidThresholdError
    │   ├── InvalidScopeError
    │   ├── InvalidKeyError
    │   ├── InvalidReferenceError
    │   ├── InvalidContentError
    │   ├── InvalidRecordError
    │   ├── InvalidFilterError
    │   ├── InvalidTierError
    │   ├── InvalidCategoryError
    │   ├── InvalidSelectionError
    │   │   └── InvalidLinesError
    │   ├── InvalidQueryError
    │   ├── BudgetTooSmallError
    │   └── UnsupportedDatabaseError
    ├── MissingDependencyError (ImportError)
    ├── MemoryNotFoundError (LookupError)
    │   └── MemoryDeletedError
    ├── NothingMatchedError (LookupError)
    ├── SelectionTimeoutError (TimeoutError)
    ├── KeyExistsError
    ├── TierFullError
    ├── RecordChangedError
    ├── DeclinedError
    ├── StoreError
    │   ├── StoreUnavailableError
    │   ├── QuotaExceededError
    │   ├── EmbedderError
    │   ├── EncryptionError
    │   │   └── SealError
    │   ├── RedactionTimeoutError (TimeoutError)
    │   └── SchemaVersionError
    ├── StateError (ValueError)
    │   ├── StateVersionError
    │   └── StateOwnerError
    ├── JudgeError
    ├── AgentMemoryError
    │   ├── AgentNotFoundError (LookupError)
    │   ├── AgentMemoryFileNotFoundError (LookupError)
    │   ├── InvalidPathError (ValueError)
    │   └── FileOperationError
    └── NotSerializableError (TypeError)

Each class's docstring is its default message. A driver's own exception, where there is one, is the ``__cause__``.
"""

from __future__ import annotations

import inspect


class MemoryContextError(Exception):
    """memory-context could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        """Set the message; without one, it is the class's docstring."""
        super().__init__(message or inspect.getdoc(type(self)))


class InvalidArgumentError(MemoryContextError, ValueError):
    """An argument is not valid here."""


class InvalidThresholdError(InvalidArgumentError):
    """A threshold is a whole number of tokens, 50 or more."""


class InvalidScopeError(InvalidArgumentError):
    """A scope needs a user: a text of 1 to 255 printable characters, or an integer."""


class InvalidKeyError(InvalidArgumentError):
    """A memory key has 1 to 255 characters out of A-Z a-z 0-9 _ . - and no others."""


class InvalidReferenceError(InvalidArgumentError):
    """This text is not a reference of the form [MemoryRef: key - description - N tokens] or [MemoryRef: key]."""


class InvalidContentError(InvalidArgumentError):
    """A memory's content is text, bytes, or a dict or list that JSON can express; its metadata is a JSON object."""


class InvalidRecordError(InvalidArgumentError):
    """This JSON does not describe a memory."""


class InvalidFilterError(InvalidArgumentError):
    """A filter names a column of the record and an equality, a membership or one of $eq $ne $gt $gte $lt $lte."""


class InvalidTierError(InvalidArgumentError):
    """There is no such tier, or none of its runs, sessions, plans, tasks or projects is open here."""


class InvalidCategoryError(InvalidArgumentError):
    """A category is a path of letters, digits, "-" and "_", with "/" between its parts, such as project-context/rockets."""


class InvalidSelectionError(InvalidArgumentError):
    """A part of a text is given by one of lines, contains, pattern, path, where (with columns) or query."""


class InvalidLinesError(InvalidSelectionError):
    """Lines are given as "120-180", "500-", "-40" (the last 40) or "7", counted from 1; several with commas."""


class InvalidQueryError(InvalidArgumentError):
    """A query is one SELECT over memories as tables; the database says what is wrong with this one."""


class BudgetTooSmallError(InvalidArgumentError):
    """The token budget is too small to show anything of the text."""


class UnsupportedDatabaseError(InvalidArgumentError):
    """Memories live in SQLite (sqlite:///memory.db) or PostgreSQL (postgresql+psycopg://host/database)."""


class MissingDependencyError(MemoryContextError, ImportError):
    """A package that this feature needs is not installed."""


class MemoryNotFoundError(MemoryContextError, LookupError):
    """There is no memory under this key."""


class MemoryDeletedError(MemoryNotFoundError):
    """The memory under this key was deleted."""


class NothingMatchedError(MemoryContextError, LookupError):
    """Nothing in the text matches what was asked for."""


class SelectionTimeoutError(MemoryContextError, TimeoutError):
    """A pattern, path or condition took too long."""


class KeyExistsError(MemoryContextError):
    """Another memory has this key."""


class TierFullError(MemoryContextError):
    """A tier has no room for this.

    Attributes:
        tier: The tier.
        unit: The unit of `size` and `limit`: ``characters`` or ``items``.
        size: How many there are now, without the memory that was refused.
        limit: How many there may be.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        tier: str = "",
        unit: str = "",
        size: int = 0,
        limit: int = 0,
    ) -> None:
        """Set the message and the attributes."""
        super().__init__(message)
        self.tier = tier
        self.unit = unit
        self.size = size
        self.limit = limit


class RecordChangedError(MemoryContextError):
    """The record was changed or deleted since it was read; read it again."""


class DeclinedError(MemoryContextError):
    """The person or function that confirms writes to a tier declined this one; nothing was written."""


class StoreError(MemoryContextError):
    """The store could not carry out the operation; the database's own error is the cause."""


class StoreUnavailableError(StoreError):
    """The database cannot be reached or opened."""


class EmbedderError(StoreError):
    """The caller's embedder failed; a keyword search needs none."""


class QuotaExceededError(StoreError):
    """The user's quota does not allow this.

    Attributes:
        unit: The unit of `size` and `limit`: ``memories`` or ``bytes``.
        size: How many there would have been.
        limit: How many there may be.
    """

    def __init__(
        self, message: str | None = None, *, unit: str = "", size: int = 0, limit: int = 0
    ) -> None:
        """Set the message and the attributes."""
        super().__init__(message)
        self.unit = unit
        self.size = size
        self.limit = limit


class EncryptionError(StoreError):
    """This record cannot be read with the keys at hand."""


class SealError(EncryptionError, InvalidRecordError):
    """A stored record is not what the store's codec wrote: it was changed, moved, damaged, or never encoded."""


class SchemaVersionError(StoreError):
    """The database's schema is not the one that this version of memory-context needs."""


class RedactionTimeoutError(StoreError, TimeoutError):
    """A custom redaction pattern took too long or too much memory; nothing was stored."""


class StateError(MemoryContextError, ValueError):
    """This is not a state that a MemoryContext or one of AutoGen's own contexts has saved."""


class StateVersionError(StateError):
    """The state was saved by a newer version of memory-context; upgrade to load it."""


class StateOwnerError(StateError):
    """The state belongs to another user."""


class JudgeError(MemoryContextError):
    """A judge's answer cannot be used; keyword matching decides instead."""

    def __init__(self, message: str | None = None, *, tokens: int = 0) -> None:
        """Set the message; *tokens* is the number of tokens that the answer cost."""
        super().__init__(message)
        self.tokens = tokens


class NotSerializableError(MemoryContextError, TypeError):
    """A part of this component cannot be expressed in its configuration."""


class AgentMemoryError(MemoryContextError):
    """An agent's file could not be read or written."""


class AgentNotFoundError(AgentMemoryError, LookupError):
    """The agent's folder cannot be made or used."""


class AgentMemoryFileNotFoundError(AgentMemoryError, LookupError):
    """The agent has no file of this path."""


class InvalidPathError(AgentMemoryError, ValueError):
    """A path is relative to the agent's folder, such as notes/today.md, and names a file in it."""


class FileOperationError(AgentMemoryError):
    """The operation on an agent's file failed; the system's own error, where there is one, is the cause."""
