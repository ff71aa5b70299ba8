"""Collect from a conversation's messages what the decision on recall needs, for the newest message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from memory_context.conversation.message import Message, references_of
from memory_context.conversation.recall.calls_since_an_output import calls_since
from memory_context.model.item import MemoryItem
from memory_context.model.reference import MemoryRef, without_references
from memory_context.text.index.analyzer import held_by
from memory_context.text.relevance.question_terms import asked_terms
from memory_context.text.relevance.recall_candidates_and_their_calls import Ranges
from memory_context.text.relevance.term_occurrences import wanted_lexemes
from memory_context.text.terminal_output import without_colours

MAX_CANDIDATES = 500
TURN_CHARACTERS = 4000
SAID_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """The newest message of a conversation, and what is known of the memories that it may need.

    A text is *in sight* if the prompt contains it.

    Attributes:
        message: The newest message, without references.
        turns: The last two or three turns before it.
        named: The keys that a person has named. These memories are opened without asking a judge; but a secret only if
            the person gave its reference, because any page can contain a reference whose key is an ordinary word.
        references: The keys of the conversation's newest 500 references, each with the ranges of lines in sight.
        recency: For each key, a number that is higher if it was shown or named later.
        came: For each key, a number that is higher if its text arrived or was named later; recalling it changes nothing.
        shown_here: The keys of everything that entered this conversation other than by recall.
        mentioned: The keys whose references the message contains. They are not searched for.
        in_sight: Returns whether the prompt contains a text before the message.
        is_told: Returns whether the prompt contains a text there in something that no person wrote.
        answer: The newest answer of a model before the message; "" if there is none.
        calls_since: Returns which calls after an output have the path of its own call as an argument.
    """

    message: str
    turns: str
    named: frozenset[str]
    references: Mapping[str, Ranges]
    recency: Mapping[str, int]
    came: Mapping[str, int]
    shown_here: frozenset[str]
    mentioned: frozenset[str]
    in_sight: Callable[[str], bool]
    is_told: Callable[[str], bool]
    answer: str
    calls_since: Callable[[MemoryItem], str]

    @property
    def known_here(self) -> set[str]:
        """Return the keys of all memories that this conversation refers to or has shown."""
        return {*self.references, *self.shown_here, *self.mentioned}


def newest_question(
    messages: Sequence[Message], seen: int, undecided: str | None, *, results: bool
) -> Message | None:
    """Return the newest message that still needs a decision on what to bring back; None if there is none.

    Args:
        messages: The messages of the conversation.
        seen: How many of them a model has seen.
        undecided: The id of a seen question whose decision has to wait, if there is one.
        results: Whether a tool's result may be that message if nobody asks.
    """
    for message in reversed(messages[seen:]):
        if message.is_question:
            return message
    waiting = next((one for one in messages[:seen] if one.id == undecided), None)
    if waiting is not None or not results:
        return waiting
    return next((one for one in reversed(messages[seen:]) if one.is_result), None)


def recall_request(question: Message, messages: Sequence[Message], seen: int = 0) -> RecallRequest:
    """Return the request for recall that *question* makes.

    Args:
        question: The newest message that asks.
        messages: The messages of the conversation.
        seen: How many of them a model has seen. What persons said after these, right before *question*, also asks.
    """
    asking = [*_said_before(question, messages[seen:]), question]
    before = [message for message in messages if message is not question]
    shown = [text for message in before for text in message.billed()]
    # A person's earlier questions, and the user layer, mention things without telling what is in them.
    not_by_persons = [one for one in before if not (one.is_typed or one.is_a("layer"))]
    told = [text for message in not_by_persons for text in message.billed()]
    answers = (one.text for one in reversed(before) if one.is_reply and one.text)
    text = "\n".join(map(_asked_by, asking))
    mentioned = frozenset(ref.key for ref in MemoryRef.find_all(text))
    left_out = mentioned | _earlier_answers(_asked_by(question), before)
    newest = list(references_of(messages).items())[-MAX_CANDIDATES:]
    recency = dict[str, int]()
    shown_here = set[str]()
    for place, message in enumerate(messages):
        keys = {*message.known.lines, *message.known.named}
        recency.update(dict.fromkeys(keys, place))
        if not message.is_ours:
            shown_here |= keys
    return RecallRequest(
        message=without_references(text),
        turns=_last_turns(before),
        named=frozenset(chain.from_iterable(message.known.named for message in asking)),
        references={key: ranges for key, ranges in newest if key not in left_out},
        recency=recency,
        came=_order_of_outputs(messages),
        shown_here=frozenset(shown_here),
        mentioned=mentioned,
        in_sight=_contained_in(shown),
        is_told=_contained_in(told),
        answer=without_references(next(answers, "")),
        calls_since=partial(calls_since, messages=messages),
    )


def _contained_in(texts: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether one of *texts* contains a text, whatever the colours of either."""
    plain = list(map(without_colours, texts))
    return lambda wanted: any(without_colours(wanted) in text for text in plain)


def _order_of_outputs(messages: Sequence[Message]) -> dict[str, int]:
    """Return, for the key of each output, a number that is higher if it arrived, or was named by a person, later.

    Recalling parts of an output does not make it newer.
    """
    keys = list[str]()
    for message in messages:
        keys += message.known.named
        if message.is_a("compaction"):
            keys += message.known.lines
        elif message.is_result:
            keys += message.keys_of_outputs
    return {key: place for place, key in enumerate(keys)}


def _said_before(question: Message, messages: Sequence[Message]) -> list[Message]:
    """Return what persons said after the last answer and before *question*; [] if that is not a question.

    A call answers nothing: an agent that is handed the last calls of another one has not heard the rest. What another agent
    says may hand the question on, but answers it if a person speaks again.
    """
    said = list[Message]()
    may_be_answered = False
    for message in messages:
        if message.is_typed and may_be_answered:
            said.clear()
            may_be_answered = False
        if message is question:
            return said if question.is_question else []
        if message.is_typed and not message.known.folded:
            said.append(message)
        elif message.is_question:
            may_be_answered = True
        elif message.is_reply and not message.calls:
            said.clear()
    return []


def _asked_by(question: Message) -> str:
    """Return the text with which a message asks. The previews of what another agent sent ask for nothing."""
    return question.text if question.is_typed else _without_previews(question)


def _without_previews(message: Message) -> str:
    """Return the texts of a message; for folded ones, the references without the previews."""
    folded = message.known.folded
    return "\n".join(
        text.partition("\n")[0] if place in folded else text
        for place, text in message.texts.items()
    )


def _earlier_answers(text: str, before: Sequence[Message]) -> set[str]:
    """Return the keys of what tools returned when the same was asked before: a person who asks again wants a new answer."""
    wanted = _lexemes(text)
    if not wanted:
        return set()
    answered = list[tuple[Message, set[str]]]()
    references = set[str]()
    for message in before:
        if message.is_question:
            references = set[str]()
            answered.append((message, references))
        elif message.is_result:
            references.update(message.known.lines)
    keys = set[str]()
    for question, references in answered:
        asked = _asked_by(question)
        # The first test costs a tenth of the second, and nearly every message fails it.
        if references and held_by(asked, wanted) == wanted == _lexemes(asked):
            keys |= references
    return keys


def _lexemes(text: str) -> set[str]:
    """Return the lexemes of the terms of a message."""
    asked = asked_terms(without_references(text))
    return set(chain.from_iterable(map(wanted_lexemes, asked)))


def _last_turns(before: Sequence[Message]) -> str:
    """Return the last two or three turns, one line for each message, with the references in them.

    It is two turns if the conversation has an even number of turns, else three. So every other time the text begins as
    it did before, and a provider's prompt cache applies to it, too.
    """
    starts = [place for place, message in enumerate(before) if message.is_question]
    if not starts:
        return ""
    turns = 2 + len(starts) % 2
    first = starts[-turns:][0]
    lines = list[str]()
    for message in before[first:]:
        said = " ".join(_without_previews(message).split())[:SAID_CHARACTERS]
        if said and not message.is_ours:
            speaker = message.role if message.is_reply else message.source
            lines.append(f"{speaker}: {said}")
    return "\n".join(lines)[-TURN_CHARACTERS:]
