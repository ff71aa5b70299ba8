"""Folding the texts of one conversation, in a way that never stops the agent's run."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from memory_context.conversation.fold_policy import Asked, Folded, fold, level
from memory_context.conversation.key_trust import vouch_for_placeholder
from memory_context.conversation.settings import PERSON, FoldPolicy
from memory_context.memory.manager import MemoryManager
from memory_context.model.drawers import Displayed
from memory_context.model.item import MemoryItem, hash_content
from memory_context.model.tool_names import READING_TOOLS
from memory_context.runtime import events
from memory_context.runtime.breaker import PAUSE as PAUSE
from memory_context.runtime.breaker import SLOW_FAILURE as SLOW_FAILURE
from memory_context.runtime.telemetry import count, operation
from memory_context.text.tokens.counter import WIDEST_CHARACTER

T = TypeVar("T")

TASK = 4000


@dataclass(slots=True)
class ContextStats(Displayed):
    """What a context has done so far; tokens as its counter counts them.

    Attributes:
        messages: Messages added, initial and loaded ones included.
        folds: Texts that were replaced by a reference.
        tokens_folded: Their tokens.
        tokens_shown: The tokens of the references and previews in their place.
        recalls: Texts that were brought back.
        tokens_recalled: Their tokens in the prompt.
        tokens_noted: The tokens of the run's notes that were put into prompts.
        store_failures: How often the store failed and the text stayed in the prompt, or nothing was brought back.
        late_folds: How often texts that had been read in full were folded, and what was seen before changed.
        compactions: How often the oldest messages became one reference, and what was seen before changed.
        tokens_compacted: The tokens that left the prompt by that.
    """

    messages: int = 0
    folds: int = 0
    tokens_folded: int = 0
    tokens_shown: int = 0
    recalls: int = 0
    tokens_recalled: int = 0
    tokens_noted: int = 0
    store_failures: int = 0
    late_folds: int = 0
    compactions: int = 0
    tokens_compacted: int = 0

    @property
    def tokens_saved(self) -> int:
        """The tokens that every later prompt is smaller by."""
        return self.tokens_folded - self.tokens_shown - self.tokens_recalled - self.tokens_noted

    def add(self, **amounts: int) -> None:
        """Count here, and for the metrics of the process, by the same names."""
        saved = self.tokens_saved
        for name, amount in amounts.items():
            setattr(self, name, getattr(self, name) + amount)
            count(name, amount)
        if self.tokens_saved != saved:
            count("tokens_saved", self.tokens_saved - saved)


@dataclass(slots=True)
class Guard:
    """Lets work fail without stopping the run: one warning for each outage, every failure counted.

    An outage ends when the store does again what it failed to do: where a write failed, as on a full disk, reads that
    go well do not end it. After a failure that took more than 2 seconds, a locked database or a silent server, nothing
    is tried for 15.
    """

    stats: ContextStats
    warned: bool = False
    write_failed: bool = False
    closed_until: float = 0.0

    def run(self, work: Callable[..., T], *args: Any) -> T | None:  # noqa: ANN401 - passes through
        """The result of ``work(*args)``; None if it fails, or if something failed slowly a moment ago."""
        if time.monotonic() < self.closed_until:
            self.stats.add(store_failures=1)
            return None
        return self.measure(work, *args)

    def measure(self, work: Callable[..., T], *args: Any) -> T | None:  # noqa: ANN401 - passes through
        """The result of work that needs no store, such as counting tokens; None if it fails."""
        started = time.monotonic()
        try:
            return work(*args)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the agent's run goes on
            self.stats.add(store_failures=1)
            if time.monotonic() - started > SLOW_FAILURE:
                self.closed_until = time.monotonic() + PAUSE
            if not self.warned:
                events.STORE_FAILED.log(error, where=True)
            self.warned = True
            return None

    @contextmanager
    def writing(self) -> Generator[None]:
        """Around what writes: if it goes well, an outage is over; if not, only a write that does will end it."""
        self.write_failed = True
        yield
        self.write_failed = self.warned = False

    def note_read(self) -> None:
        """The store was read from: an outage in which nothing was written is over."""
        self.warned = self.warned and self.write_failed


@dataclass(frozen=True, slots=True)
class Part:
    """A text in a message that may be folded.

    Attributes:
        index: Its place in the message's content; 0 where the content is one text.
        text: The text.
        source: The source of a user message; None for a tool's result.
        origin: What made it: the tool's name, or the source.
        call_id: The call that a result answers.
        is_error: Whether the tool failed.
    """

    index: int
    text: str
    source: str | None
    origin: str
    call_id: str | None = None
    is_error: bool | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a text before it is folded.

    Attributes:
        arguments: What the tool was called with that gave it.
        words: What the assistant said before.
        task: The first message of the conversation.
        known: The names that stand in the prompt.
    """

    arguments: str | None = None
    words: str = ""
    task: str = ""
    known: AbstractSet[str] = frozenset()

    def asked(self, part: Part) -> Asked:
        """What the text was asked for."""
        question = "\n".join((part.origin, self.arguments or "", self.words, self.task[:TASK]))
        return Asked(question, self.known, of_person=part.source == PERSON)


@dataclass(frozen=True, slots=True)
class Folder:
    """Folds texts by one policy into one user's memories.

    Attributes:
        manager: The user's memories.
        policy: When texts are folded.
        guard: Lets the store fail.
        made: The hashes of the placeholders that it has made.
    """

    manager: MemoryManager
    policy: FoldPolicy
    guard: Guard
    made: set[str] = field(default_factory=set[str])

    def threshold_of(self, part: Part) -> int | None:
        """Return the threshold for *part*; None if it is never folded."""
        if part.origin in READING_TOOLS:
            return None
        if part.source is None:
            return self.policy.tool_threshold(part.origin)
        return self.policy.threshold_for(part.source)

    def may_fold(self, part: Part) -> bool:
        """Return whether *part* may be over its threshold, without counting its tokens.

        A token has one byte at least, a character four at most.
        """
        threshold = self.threshold_of(part)
        return threshold is not None and len(part.text) * WIDEST_CHARACTER > threshold

    def is_large(self, part: Part) -> bool:
        """Return whether *part* is over its threshold; False where the user's own counter fails."""
        threshold = self.threshold_of(part)
        if threshold is None or not self.may_fold(part):
            return False
        return bool(self.guard.measure(self.manager.counter.exceeds, part.text, threshold))

    def fold_all(self, parts: Iterable[Part], origins: Mapping[int, Origin]) -> dict[int, Folded]:
        """What takes the place of each text that is over its threshold, by its place; without those that failed.

        `origins` has, by the same places, what is known of the texts.
        """
        listed = list(parts)
        folder = self.sharing(listed)
        folded = {
            part.index: self.guard.run(folder.fold, part, origins[part.index]) for part in listed
        }
        return {index: one for index, one in folded.items() if one}

    def sharing(self, parts: Sequence[Part]) -> Folder:
        """This folder, with a lower threshold where the results among `parts` have too many tokens together."""
        lower = self.guard.measure(
            self._shared_threshold, [part for part in parts if part.source is None]
        )
        return (
            self if lower is None else replace(self, policy=replace(self.policy, threshold=lower))
        )

    def _shared_threshold(self, parts: Sequence[Part]) -> int | None:
        """The threshold for results that would stay whole and are too many together; None where they are not."""
        usual = self.policy.threshold_for(None)
        most = self.policy.results_together
        counter = self.manager.counter
        apart = READING_TOOLS | self.policy.tool_thresholds.keys()
        texts = [part.text for part in parts if part.origin not in apart]
        if sum(map(len, texts)) * WIDEST_CHARACTER <= most:
            return None
        whole = [counter.count(text) for text in texts if not counter.exceeds(text, usual)]
        return level(whole, most) if sum(whole) > most else None

    def fold(self, part: Part, origin: Origin) -> Folded | None:
        """What takes the place of `part`; None if it stays as it is.

        Raises:
            StoreError: The store failed.
        """

        def commit(text: str) -> MemoryItem:
            kind = "tool_output" if part.source is None else "message"
            facts = _facts(part, origin.arguments)
            with self.guard.writing():
                return self.manager.remember(text, type=kind, source=part.origin, metadata=facts)

        threshold = self.threshold_of(part)
        if threshold is None:
            return None
        tool = part.origin if part.source is None else None
        with operation("fold", self.manager.who, tool=tool, characters=len(part.text)) as folding:
            folded = fold(
                part.text,
                commit,
                self.manager.counter,
                threshold=threshold,
                preview_tokens=self.policy.preview_budget(part.source),
                asked=origin.asked(part),
            )
            folding.note(
                outcome="folded" if folded else "kept", **(_told(folded) if folded else {})
            )
        return folded

    def count(self, one: Folded) -> None:
        """Note a fold that has taken its place."""
        self.made.add(hash_content(one.text))
        vouch_for_placeholder(self.manager.scope.user_id, one.text)
        self.guard.stats.add(folds=1, tokens_folded=one.item.token_count, tokens_shown=one.tokens)

    def has_made(self, text: str) -> bool:
        """Whether `text` is a placeholder of this conversation, and not one that only looks like it."""
        return hash_content(text) in self.made


def _told(one: Folded) -> dict[str, Any]:
    """What a span tells of a fold."""
    return {"key": one.item.memory_key, "tokens": one.item.token_count, "tokens_shown": one.tokens}


def _facts(part: Part, arguments: str | None) -> dict[str, Any]:
    """What the record tells of where its text came from."""
    facts = {
        "source": _storable(part.origin),
        "call_id": _storable(part.call_id),
        "arguments": _storable(arguments),
        "is_error": part.is_error,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _storable(text: str | None) -> str | None:
    """`text` without what a JSON column refuses: a model may have made it up."""
    return text and text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
