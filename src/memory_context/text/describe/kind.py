"""What every kind of text has in common: facts that come first, and details as far as there is room."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from memory_context.text.describe.wording import written


@dataclass(frozen=True, slots=True)
class Kind(ABC):
    """What a text is. There is a record for each kind.

    Attributes:
        cut: Whether the text ends before what it tells of does.
    """

    cut: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def facts(self) -> str:
        """The kind and its numbers."""

    @property
    def details(self) -> tuple[str, ...]:
        """Names, most telling first; the last ones may not find room."""
        return ()

    @property
    def in_brackets(self) -> bool:
        """Whether the details stand in brackets and not behind a colon."""
        return False

    @property
    def cut_note(self) -> str:
        """How the line says that the text is cut; nothing where the facts do."""
        return "cut" if self.cut else ""

    def line(self, *notes: str) -> str:
        """The description: at most 80 characters; `notes` stand behind the facts."""
        known = [note for note in (*notes, self.cut_note) if note]
        return written(", ".join([self.facts, *known]), self.details, in_brackets=self.in_brackets)
