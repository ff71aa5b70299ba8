"""Folding the texts of one conversation into one user's memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from memory_context.conversation.fail_open import FailOpen
from memory_context.conversation.fold import Folded, PreviewFocus, fold
from memory_context.conversation.key_trust import vouch_for_placeholder
from memory_context.conversation.settings import LEAST_THRESHOLD, PERSON, FoldPolicy
from memory_context.memory.manager import MemoryManager
from memory_context.model.item import MemoryItem, hash_content
from memory_context.model.tool_names import READING_TOOLS
from memory_context.runtime.telemetry import operation
from memory_context.text.tokens.counter import WIDEST_CHARACTER

TASK_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text in a message that may be folded.

    Attributes:
        index: Its index in the message's content; 0 where the content is one text.
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
class TextOrigin:
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

    def focus(self, part: TextPart) -> PreviewFocus:
        """Return what decides which lines of *part* its preview shows."""
        lines = (part.origin, self.arguments or "", self.words, self.task[:TASK_CHARACTERS])
        return PreviewFocus("\n".join(lines), self.known, by_person=part.source == PERSON)


@dataclass(frozen=True, slots=True)
class TextFolder:
    """Folds texts by one policy into one user's memories.

    Attributes:
        manager: The user's memories.
        policy: When texts are folded.
        fail_open: Lets the store fail.
        made: The hashes of the placeholders that it has made.
    """

    manager: MemoryManager
    policy: FoldPolicy
    fail_open: FailOpen
    made: set[str] = field(default_factory=set[str])

    def threshold_of(self, part: TextPart) -> int | None:
        """Return the threshold for *part*; None if it is never folded."""
        if part.origin in READING_TOOLS:
            return None
        if part.source is None:
            return self.policy.tool_threshold(part.origin)
        return self.policy.threshold_for(part.source)

    def may_fold(self, part: TextPart) -> bool:
        """Return whether *part* may be over its threshold, without counting its tokens.

        A token has one byte at least, a character four at most.
        """
        threshold = self.threshold_of(part)
        return threshold is not None and len(part.text) * WIDEST_CHARACTER > threshold

    def is_large(self, part: TextPart) -> bool:
        """Return whether *part* is over its threshold; False where the user's own counter fails."""
        threshold = self.threshold_of(part)
        if threshold is None or not self.may_fold(part):
            return False
        exceeds = self.manager.counter.exceeds
        return bool(self.fail_open.run_without_store(exceeds, part.text, threshold))

    def fold_all(
        self, parts: Iterable[TextPart], origins: Mapping[int, TextOrigin]
    ) -> dict[int, Folded]:
        """Return, by index, what stands for each text that is over its threshold; without those that failed.

        Args:
            parts: The texts of one message.
            origins: What is known of them, by the same indices.
        """
        listed = list(parts)
        folder = self.sharing(listed)
        folds = dict[int, Folded]()
        for part in listed:
            folded = self.fail_open.run(folder.fold, part, origins[part.index])
            if folded is not None:
                folds[part.index] = folded
        return folds

    def sharing(self, parts: Sequence[TextPart]) -> TextFolder:
        """Return this folder, with a lower threshold if the results among *parts* are too many tokens together."""
        results = [part for part in parts if part.source is None]
        lower = self.fail_open.run_without_store(self._shared_threshold, results)
        if lower is None:
            return self
        return replace(self, policy=replace(self.policy, threshold=lower))

    def _shared_threshold(self, parts: Sequence[TextPart]) -> int | None:
        """Return the threshold for results that would stay whole and are too many together; None if they are not.

        Results of tools with a threshold of their own do not count.
        """
        usual = self.policy.threshold_for(None)
        most = self.policy.results_together
        counter = self.manager.counter
        apart = READING_TOOLS | self.policy.tool_thresholds.keys()
        texts = [part.text for part in parts if part.origin not in apart]
        if sum(len(text) for text in texts) * WIDEST_CHARACTER <= most:
            return None
        sizes = [counter.count(text) for text in texts if not counter.exceeds(text, usual)]
        return shared_threshold(sizes, most) if sum(sizes) > most else None

    def fold(self, part: TextPart, origin: TextOrigin) -> Folded | None:
        """Return what stands in the prompt for *part*; None if it stays as it is.

        Raises:
            StoreError: The store failed.
        """
        threshold = self.threshold_of(part)
        if threshold is None:
            return None

        def commit(text: str) -> MemoryItem:
            kind = "tool_output" if part.source is None else "message"
            facts = _facts(part, origin.arguments)
            with self.fail_open.writing():
                return self.manager.remember(text, type=kind, source=part.origin, metadata=facts)

        tool = part.origin if part.source is None else None
        with operation("fold", self.manager.who, tool=tool, characters=len(part.text)) as folding:
            folded = fold(
                part.text,
                commit,
                self.manager.counter,
                threshold=threshold,
                preview_tokens=self.policy.preview_budget(part.source),
                focus=origin.focus(part),
            )
            if folded is None:
                folding.note(outcome="kept")
            else:
                folding.note(
                    outcome="folded",
                    key=folded.item.memory_key,
                    tokens=folded.item.token_count,
                    tokens_shown=folded.tokens,
                )
        return folded

    def count(self, folded: Folded) -> None:
        """Note a fold that has taken its place."""
        self.made.add(hash_content(folded.text))
        vouch_for_placeholder(self.manager.scope.user_id, folded.text)
        self.fail_open.stats.add(
            folds=1, tokens_folded=folded.item.token_count, tokens_shown=folded.tokens
        )

    def has_made(self, text: str) -> bool:
        """Return whether *text* is a placeholder of this conversation, and not one that only looks like it."""
        return hash_content(text) in self.made


def shared_threshold(sizes: Sequence[int], together: int) -> int:
    """Return the most tokens that a text may have and stay whole, if all that stay may have *together*.

    It is 50 or more. Texts of one size fare alike, wherever they stand.
    """
    fitting = [LEAST_THRESHOLD]
    for size in set(sizes):
        staying = sum(other for other in sizes if other <= size)
        if staying <= together:
            fitting.append(size)
    return max(fitting)


def _facts(part: TextPart, arguments: str | None) -> dict[str, Any]:
    """Return what the record tells of where its text came from."""
    facts = {
        "source": _storable(part.origin),
        "call_id": _storable(part.call_id),
        "arguments": _storable(arguments),
        "is_error": part.is_error,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _storable(text: str | None) -> str | None:
    """Escape what a JSON column refuses; a model may have made the text up."""
    if text is None:
        return None
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
