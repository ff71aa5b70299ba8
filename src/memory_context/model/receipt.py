"""The receipt for a user who was forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """The counts of everything of a user's that was removed.

    Attributes:
        user_id: The user.
        at: When it was done, in UTC.
        memories: How many memories, evicted ones included.
        passages: How many passages of the search index.
        vectors: How many vectors.
        reads: How many memories had a count of reads.
        deletions: How many records of when and why a memory was deleted.
        audit_entries: How many entries of the audit trail.
        calls: How many records of model calls and decisions.
        files: How many files.
        scrubbed: Whether the freed space was cleaned, too. On SQLite it is overwritten, so that the files hold nothing
            of the user. On PostgreSQL it is released for other rows, which overwrite it in time. False if
            somebody else was reading, in which case `SQLAlchemyStore.scrub` does it later; and for a `FileStore`, which
            removes files but cannot know what the disk keeps of them.
    """

    user_id: str
    at: datetime
    memories: int = 0
    passages: int = 0
    vectors: int = 0
    reads: int = 0
    deletions: int = 0
    audit_entries: int = 0
    calls: int = 0
    files: int = 0
    scrubbed: bool = True
