"""The question that a judge of recall is asked, and its verdict: which memories to open, and what to search for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memory_context.model.call_log_records import Intent
from memory_context.text.index.term_hits import TermHits
from memory_context.text.relevance.reasons_for_records import Expansion
from memory_context.text.relevance.recall_candidates_and_their_calls import RecallCandidate


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a judge is asked: which memories does the newest message need?

    Attributes:
        message: The newest message, without references.
        turns: The last two or three turns, as ``user: …`` and ``assistant: …``, with the references in them.
        candidates: The memories of the conversation whose text is not in the prompt and that contain words of the message.
            For a judge that sees more than keywords, up to 30 of the newest precede these, oldest first.
        has_memories: Whether the user has other memories to search.
        in_sight: Returns whether the prompt contains a text before the message.
        hits: The index's hits for the message's terms; None if there is no index.
        is_told: Returns whether the prompt contains a text in something that no person wrote; None if that is unknown.
        answer: The answer of a model before the message; "" if there is none.
    """

    message: str
    turns: str
    candidates: tuple[RecallCandidate, ...]
    has_memories: bool
    in_sight: Callable[[str], bool]
    hits: TermHits | None = None
    is_told: Callable[[str], bool] | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a judge.

    Attributes:
        intent: ``concrete`` if the message contains all that is needed to act on it, else ``ambiguous``.
        expand: The memories of the conversation to open, best first.
        search: What to search for among the user's other memories; None to search for nothing.
        why: The reason, for people.
        tokens: The tokens that the decision cost.
        kept_only: Whether the search is limited to what was kept on purpose and to what persons stated. It then leaves
            out what other conversations folded, and everything else that was said in them.
        is_clear: Whether keyword matching decided so clearly that no model needs to be asked.
    """

    intent: Intent = "concrete"
    expand: tuple[Expansion, ...] = ()
    search: str | None = None
    why: str = ""
    tokens: int = 0
    kept_only: bool = False
    is_clear: bool = False
