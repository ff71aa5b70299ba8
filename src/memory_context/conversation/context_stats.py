"""The counters of a conversation: how much was folded, brought back and compacted."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field

from memory_context.model.call_log_records import CallTotals
from memory_context.model.registry_of_drawers import Displayed
from memory_context.runtime.telemetry import count


@dataclass(slots=True)
class ContextStats(Displayed):
    """The work that a context has done so far. Tokens are counted by the context's own counter.

    Attributes:
        messages: Messages added to a `MemoryContext`, including initial ones and those of AutoGen's own states; in
            other hosts 0.
        folds: Texts that were replaced by a reference.
        tokens_folded: The tokens of these texts.
        tokens_shown: The tokens of the references and previews in their place.
        asked_again: How often a model read a text with `retrieve_memory` right after it was folded: a sign that the
            threshold of its tool is too low.
        recalls: Texts that were brought back.
        tokens_recalled: Their tokens in the prompt.
        asks: Questions that a light model answered from memories (`ask_memory`).
        tokens_asked: What these questions cost, in tokens of that model.
        tokens_noted: The tokens of the run's notes that were put into prompts.
        store_failures: How often the store failed and the text stayed in the prompt, or nothing was brought back.
        late_folds: How often texts that had been read in full were folded. Each late fold changes the cached prefix.
        compactions: How often the oldest messages became one reference, or large texts became bare references. Each
            compaction changes the cached prefix.
        tokens_compacted: The tokens that compactions took out of the prompt.
        redacted: How many secrets were taken out of stored texts, by kind.
        kept: The store's totals of the conversation's model calls, including those of earlier processes; None unless
            they were asked for.
    """

    messages: int = 0
    folds: int = 0
    tokens_folded: int = 0
    tokens_shown: int = 0
    asked_again: int = 0
    recalls: int = 0
    tokens_recalled: int = 0
    asks: int = 0
    tokens_asked: int = 0
    tokens_noted: int = 0
    store_failures: int = 0
    late_folds: int = 0
    compactions: int = 0
    tokens_compacted: int = 0
    redacted: Counter[str] = field(default_factory=Counter[str])
    kept: CallTotals | None = field(default=None, compare=False, repr=False)

    @property
    def tokens_saved(self) -> int:
        """Return how many tokens every later prompt has been reduced by."""
        return self.tokens_folded - self.tokens_shown - self.tokens_recalled - self.tokens_noted

    def snapshot(self) -> ContextStats:
        """Return a copy that stays as it is."""
        return deepcopy(self)

    def add(self, **amounts: int) -> None:
        """Add to these counters, and to those of the same names in the metrics of the process."""
        saved = self.tokens_saved
        for name, amount in amounts.items():
            setattr(self, name, getattr(self, name) + amount)
            count(name, amount)
        if self.tokens_saved != saved:
            count("tokens_saved", self.tokens_saved - saved)
