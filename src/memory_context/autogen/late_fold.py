"""``fold="after_reading"``: texts that are shown in full once, and folded when that has paid for itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from autogen_core.models import LLMMessage

from memory_context.autogen.messages import parts_of, with_texts
from memory_context.autogen.origins import origin_of
from memory_context.autogen.token_ledger import Ledger
from memory_context.conversation.fold import Folded
from memory_context.conversation.late_fold_timing import ReadText, late_fold_start
from memory_context.conversation.text_folder import TextFolder, TextPart

REFERENCE_TOKENS = 40


@dataclass(slots=True, eq=False)
class UnfoldedText:
    """A text that stands in the prompt in full until it is folded, and how often a model has read it."""

    message: LLMMessage
    part: TextPart
    tokens: int
    reads: int = 0


@dataclass(slots=True)
class Reader:
    """Keeps the texts of one conversation that are to be read in full, and folds them in batches."""

    folder: TextFolder
    ledger: Ledger
    shown: list[UnfoldedText] = field(default_factory=list[UnfoldedText])

    def keep(self, message: LLMMessage, parts: Iterable[TextPart]) -> None:
        """Note the parts of `message` that are over their threshold and below the cap of what is read in full."""
        self.shown += (
            UnfoldedText(message, part, self.folder.manager.counter.count(part.text))
            for part in parts
        )

    def to_read(self, parts: Iterable[TextPart]) -> list[TextPart]:
        """The parts that a model shall read in full first."""
        read_cap, counter = self.folder.policy.read_cap, self.folder.manager.counter
        to_read = list[TextPart]()
        for part in parts:
            threshold = self.folder.threshold_of(part)
            if threshold is None or not counter.exceeds(part.text, threshold):
                continue
            if not counter.exceeds(part.text, read_cap):
                to_read.append(part)
        return to_read

    def fold_due(
        self, messages: Sequence[LLMMessage], seen: int
    ) -> tuple[list[LLMMessage], list[Folded]]:
        """`messages`, of which `seen` have been shown, with the batch folded that is due; and the folds.

        Raises:
            StoreError: The store failed; nothing was changed.
        """
        places = {id(message): place for place, message in enumerate(messages)}
        self.shown = [one for one in self.shown if id(one.message) in places]
        read = [one for one in self.shown if one.reads]
        preview = self.folder.policy.preview_tokens + REFERENCE_TOKENS
        readings = [
            ReadText(places[id(one.message)], max(0, one.tokens - preview), one.reads)
            for one in read
        ]
        start = late_fold_start(readings, self.ledger.tokens(messages[:seen])) if readings else None
        if start is None:
            return list(messages), []
        return self._folded(
            messages, [one for one in read if places[id(one.message)] >= start], places
        )

    def _folded(
        self, messages: Sequence[LLMMessage], batch: list[UnfoldedText], places: dict[int, int]
    ) -> tuple[list[LLMMessage], list[Folded]]:
        changed, folds = list(messages), list[Folded]()
        for one in batch:
            place = places[id(one.message)]
            folded = self.folder.fold(one.part, origin_of(one.part, messages[:place], frozenset()))
            if folded is not None:
                changed[place] = with_texts(changed[place], {one.part.index: folded.text})
                folds.append(folded)
        self.shown = [one for one in self.shown if one not in batch]
        return changed, folds

    def count_reads(self) -> None:
        """Note that everything that is kept has been shown once more."""
        for one in self.shown:
            one.reads += 1

    def saved(self, messages: Sequence[LLMMessage]) -> list[tuple[int, int, int]]:
        """For a state: message, place in its content and reads of each text."""
        places = {id(message): place for place, message in enumerate(messages)}
        return [
            (places[id(one.message)], one.part.index, one.reads)
            for one in self.shown
            if id(one.message) in places
        ]

    def load(self, messages: Sequence[LLMMessage], saved: Iterable[tuple[int, int, int]]) -> None:
        """Take up what `saved` has noted."""
        reads = {(place, index): count for place, index, count in saved}
        self.shown = []
        for place, message in enumerate(messages):
            self.keep(message, [part for part in parts_of(message) if (place, part.index) in reads])
        for one, count in zip(self.shown, (reads[key] for key in sorted(reads)), strict=False):
            one.reads = count
