"""Messages in the neutral form that decisions are made on, and the facts that are kept beside them.

A message has *texts*, each at a *place*: its index among the parts of the host's message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from memory_context.conversation.fold_recall_notes_policies import PERSON
from memory_context.model.json_object import JsonObject, members_of
from memory_context.model.reference import KEPT_REFERENCES, leading_key, referenced_keys
from memory_context.text.relevance.recall_candidates_and_their_calls import Ranges

MEMORY_SOURCE = "memory_context"
"""The source of messages that this library puts into a conversation."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Kind: TypeAlias = Literal["", "layer", "recall", "notes", "compaction"]


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A tool call of an assistant; the arguments are JSON as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """The facts known about a message beyond its words. A host keeps them with the message, as JSON.

    Attributes:
        kind: The purpose of a message that this library inserted; empty for others.
        lines: For the key of each reference in it, the ranges of lines that it shows.
        folded: The places of the texts that this conversation has replaced by placeholders.
        named: The keys that a person names in it.
        trusted: The keys that may be passed on to tools because of it.
        noted: When each note that the prompt shows with it was last changed, by the note's key.
        run_id: The run that its notes belong to.
        stands_for: The key of the memory that holds compacted messages, if it stands for some.
        replaced: The ids of the compacted messages.
        instructs: Whether it explains references to the model.
        standing: The standing words of the compacted messages (see `standing_words`).
    """

    kind: Kind = ""
    lines: Mapping[str, Ranges] = field(default_factory=dict[str, Ranges])
    folded: tuple[int, ...] = ()
    named: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()
    noted: Mapping[str, str] = field(default_factory=dict[str, str])
    run_id: str | None = None
    stands_for: str | None = None
    replaced: tuple[str, ...] = ()
    instructs: bool = False
    standing: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the facts in JSON's own types, without those that have their default."""
        facts: JsonObject = _FACTS.dump_python(self, mode="json", exclude_defaults=True)
        return facts

    @staticmethod
    def from_json(value: object) -> MessageFacts | None:
        """Return the facts that `to_json` turned into *value*; None for any other value, whoever it comes from."""
        try:
            return _FACTS.validate_python(value)
        except ValidationError:
            return None


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the neutral form that decisions are made on.

    Attributes:
        id: The host's id, unique in the conversation.
        role: Who speaks. Each result of a tool is a message of its own.
        source: The speaker's name: ``user`` for a person, another agent's name, a tool's.
        texts: Its texts, by their place in the host's message.
        calls: The tool calls that an assistant makes.
        answers: The id of the call that a tool's result answers.
        is_error: Whether the tool failed.
        is_summary: Whether a model wrote it in the person's name, as summaries of a conversation are.
        others: Its parts that are not text, such as images, by their place; as JSON in the host's own form.
        facts: The facts known about it; None until the conversation has taken it in.
    """

    id: str
    role: Role
    source: str
    texts: Mapping[int, str]
    calls: tuple[FunctionCall, ...] = ()
    answers: str | None = None
    is_error: bool = False
    is_summary: bool = False
    others: Mapping[int, Any] = field(default_factory=dict[int, Any])
    facts: MessageFacts | None = None

    @property
    def text(self) -> str:
        """Return its texts, one below the other."""
        return "\n".join(self.texts.values())

    @property
    def is_ours(self) -> bool:
        """Return whether this library inserted it into the conversation."""
        return self.role == "user" and self.source == MEMORY_SOURCE

    @property
    def is_question(self) -> bool:
        """Return whether a person or another agent speaks in it."""
        return self.role == "user" and self.source != MEMORY_SOURCE

    @property
    def is_system(self) -> bool:
        """Return whether it instructs the model."""
        return self.role == "system"

    @property
    def is_reply(self) -> bool:
        """Return whether a model wrote it."""
        return self.role == "assistant"

    @property
    def is_result(self) -> bool:
        """Return whether a tool returned it."""
        return self.role == "tool"

    @property
    def is_foldable(self) -> bool:
        """Return whether its texts may be folded: those of persons, other agents and tools."""
        return self.is_question or self.is_result

    @property
    def is_typed(self) -> bool:
        """Return whether a person wrote it."""
        return self.is_question and self.source == PERSON and not self.is_summary

    @property
    def pictures(self) -> int:
        """Return how many images it contains, whichever host it comes from."""
        return sum(map(_is_picture, self.others.values()))

    @property
    def known(self) -> MessageFacts:
        """Return its facts; empty ones if the conversation has not taken it in yet."""
        return self.facts or NO_FACTS

    def is_a(self, kind: Kind) -> bool:
        """Return whether this library inserted it for that purpose."""
        return self.is_ours and self.known.kind == kind

    def billed(self) -> Iterator[str]:
        """Yield the texts that a provider counts."""
        yield from self.texts.values()
        for call in self.calls:
            yield call.name
            yield call.arguments

    def with_facts_in_it(self) -> Message:
        """Return a copy without facts if it no longer contains the references that they are about.

        Others may change a message whose facts are kept: a middleware may replace a folded result, for example.
        """
        known = self.known
        if not all(leading_key(self.texts.get(place, "")) for place in known.folded):
            return replace(self, facts=None)
        if not named_keys([self]).issuperset((*known.lines, *known.trusted)):
            return replace(self, facts=None)
        return self

    @property
    def keys_of_outputs(self) -> list[str]:
        """Return the keys of its texts that were folded."""
        folded = [self.texts[place] for place in self.known.folded]
        return list(filter(None, map(leading_key, folded)))

    def with_texts(self, texts: Mapping[int, str], facts: MessageFacts | None = None) -> Message:
        """Return a copy with other texts at some places, and with *facts*, if they are given."""
        changed = {**self.texts, **texts}
        return replace(self, texts=changed, facts=facts or self.facts)


def _is_picture(other: object) -> bool:
    """Return whether a part that is not text is an image: base64 text in AutoGen, elsewhere an object with a type."""
    if isinstance(other, str):
        return True
    fields = members_of(other)
    kinds = map(fields.get, ("type", "media_type", "mime_type"))
    return any("image" in str(kind) for kind in kinds)


NO_FACTS = MessageFacts()
_FACTS = TypeAdapter(MessageFacts)
_MESSAGE = TypeAdapter(Message)


def own_message(message_id: str, text: str, facts: MessageFacts) -> Message:
    """Return a message that this library puts into a conversation."""
    return Message(message_id, "user", MEMORY_SOURCE, {0: text}, facts=facts)


def as_lines(messages: Iterable[Message]) -> str:
    """Return *messages* as JSON lines, without their ids and facts."""
    lines = list[str]()
    for message in messages:
        shown = _MESSAGE.dump_python(message, exclude={"id", "facts"}, exclude_defaults=True)
        # Lists instead of objects with places as keys: a redactor of numbers would remove the keys.
        shown["texts"] = _listed(message.texts)
        if message.others:
            shown["others"] = _listed(message.others)
        # A model may write lone surrogates, which pydantic's own JSON refuses.
        lines.append(json.dumps(shown, ensure_ascii=False))
    return "\n".join(lines)


def _listed(by_place: Mapping[int, Any]) -> list[Any]:
    last = max(by_place, default=-1)
    return [by_place.get(place) for place in range(last + 1)]


def from_lines(text: str) -> list[Message]:
    """Return the messages that `as_lines` turned into *text*, without ids and facts.

    Raises:
        ValueError, LookupError, TypeError: It was not made by `as_lines`.
    """
    messages = list[Message]()
    for line in text.split("\n"):
        stored: JsonObject = json.loads(line)
        for name in ("texts", "others"):
            listed = enumerate(stored.get(name, ()))
            # A null marks the place of a part of the other kind.
            stored[name] = {place: value for place, value in listed if value is not None}
        stored["id"] = ""
        messages.append(_MESSAGE.validate_python(stored))
    return messages


def is_task(message: Message, before: Iterable[Message]) -> bool:
    """Return whether *message* is the first one that somebody says: then it says what there is to do."""
    return message.is_question and all(one.is_system or one.is_ours for one in before)


def references_of(messages: Iterable[Message]) -> dict[str, Ranges]:
    """Return, for the key of each reference in *messages*, the ranges of lines that they show, oldest first."""
    references = dict[str, Ranges]()
    for message in messages:
        for key, ranges in message.known.lines.items():
            earlier = references.get(key, ())
            references[key] = (*earlier, *ranges)
    return references


def named_keys(messages: Iterable[Message]) -> set[str]:
    """Return the keys of all references in the texts and calls of *messages*."""
    keys = set[str]()
    for message in messages:
        keys.update(referenced_keys(*message.billed()))
    return keys


def trusted_keys(messages: Iterable[Message], others: Iterable[str] = ()) -> list[str]:
    """Return the newest 2,000 keys that may be passed on to tools: *others*, and those of *messages*."""
    keys = dict.fromkeys(others)
    for message in messages:
        for key in message.known.trusted:
            keys[key] = None
    return list(keys)[-KEPT_REFERENCES:]


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits that turn the messages of a host into a prompt.

    Attributes:
        changed: The messages whose texts, calls or facts differ, by their ids.
        inserted: The messages that the host does not hold, by the id of the message that they stand before.
        removed: The ids of the messages that are not in the prompt.
    """

    changed: Mapping[str, Message]
    inserted: Mapping[str, list[Message]]
    removed: tuple[str, ...]


def edits_between(held: Iterable[Message], prompt: Iterable[Message]) -> Edits:
    """Return the edits that turn the *held* messages of a host into *prompt*; the last message is last in both."""
    unmatched = {message.id: message for message in held}
    changed = dict[str, Message]()
    inserted = dict[str, list[Message]]()
    waiting = list[Message]()
    for message in prompt:
        old = unmatched.pop(message.id, None)
        if not old:
            waiting.append(message)
            continue
        if waiting:
            inserted[message.id] = waiting
            waiting = []
        if message is not old and _shown(message) != _shown(old):
            changed[message.id] = message
    return Edits(changed, inserted, tuple(unmatched))


def _shown(message: Message) -> tuple[object, ...]:
    """Return the parts of a message that a prompt can change. Missing facts count as empty ones."""
    return message.texts, message.calls, message.known
