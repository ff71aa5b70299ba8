"""What a conversation's private state holds, and what the newest message needs from memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self, cast
from uuid import uuid4

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from langchain_memory_context.messages import (
    MEMORY_NAME,
    as_ranges,
    billed,
    is_question,
    lines_of_previews,
    marks_of,
    source_of,
    texts_of,
    was_folded,
)
from memory_context.conversation.key_trust import typed_in, vouched_in
from memory_context.conversation.keyword_judge import Ranges
from memory_context.conversation.recall import RecallRequest
from memory_context.conversation.settings import PERSON
from memory_context.model.reference import KEPT_REFERENCES, MemoryRef, keys_named
from memory_context.model.tool_names import MEMORY_TOOLS, RETRIEVE
from memory_context.tools.retrieve_search_store import lines_shown


@dataclass(frozen=True, slots=True)
class ShownText:
    """A recalled text, and where it stands.

    Attributes:
        id: The id of its message.
        before: The message that it stands before: its id, or what tells it from others without ids (`marks_of`).
        text: The text.
        references: For each memory, the lines that it shows.
    """

    id: str
    before: str
    text: str
    references: Mapping[str, Ranges]

    @property
    def message(self) -> HumanMessage:
        """The message that a model reads."""
        return HumanMessage(self.text, name=MEMORY_NAME, id=self.id)


@dataclass(frozen=True, slots=True)
class ConversationFacts:
    """What a middleware knows of a conversation beyond its messages; kept in the graph's private state.

    Attributes:
        begun: Whether a model has been asked.
        recalls: The recalled texts, oldest first.
        notes: The texts that show the notes of the run, oldest first.
        noted: For each of these notes, when it was last changed.
        run_id: The run that goes on.
        task: The task that it works on.
        project: The project that this belongs to.
        user_id: Whose conversation this is; None before a model was asked, and in states of before this was noted.
        trusted: The keys that may be passed on to tools: this library has put them here, or a person has typed them;
            None where `user_id` is.
        judge_calls: How often a judge with a model was asked.
        judge_tokens: What that has cost.
    """

    begun: bool = False
    recalls: tuple[ShownText, ...] = ()
    judge_calls: int = 0
    judge_tokens: int = 0
    notes: tuple[ShownText, ...] = ()
    noted: Mapping[str, str] = field(default_factory=dict[str, str])
    run_id: str | None = None
    task: str | None = None
    project: str | None = None
    user_id: str | None = None
    trusted: tuple[str, ...] | None = None

    @classmethod
    def of(cls, saved: Mapping[str, Any] | None) -> Self:
        """The facts that a state holds; a new conversation's where it holds none."""
        if saved is None:
            return cls()
        shown = {name: tuple(map(_loaded, saved.get(name, ()))) for name in ("recalls", "notes")}
        trusted = saved.get("trusted")
        values: dict[str, Any] = {
            **saved,
            **shown,
            "trusted": None if trusted is None else tuple(trusted),
        }
        return cls(**values)

    def saved(self) -> dict[str, Any]:
        """The facts in JSON's own types, which every checkpointer takes."""
        shown = {
            "recalls": [_saved(one) for one in self.recalls],
            "notes": [_saved(one) for one in self.notes],
        }
        trusted = None if self.trusted is None else list(self.trusted)
        return {**asdict(self), "noted": dict(self.noted), "trusted": trusted, **shown}

    def trusting(self, keys: Iterable[str]) -> Self:
        """These facts with `keys` among the newest 2,000 that may be passed on."""
        return replace(
            self, trusted=tuple(dict.fromkeys((*(self.trusted or ()), *keys)))[-KEPT_REFERENCES:]
        )

    @property
    def shown(self) -> tuple[ShownText, ...]:
        """All texts that stand between the messages."""
        return (*self.recalls, *self.notes)


def _saved(one: ShownText) -> dict[str, Any]:
    return {
        **asdict(one),
        "references": {key: [list(run) for run in runs] for key, runs in one.references.items()},
    }


def _loaded(saved: Mapping[str, Any]) -> ShownText:
    return ShownText(saved["id"], saved["before"], saved["text"], as_ranges(saved["references"]))


def new_recall(
    messages: Sequence[AnyMessage], position: int, text: str, references: Mapping[str, Ranges]
) -> ShownText:
    """A recalled text before the message at a position."""
    return ShownText(f"{MEMORY_NAME}_{uuid4().hex}", marks_of(messages)[position], text, references)


def with_recalls(messages: Sequence[AnyMessage], recalls: Sequence[ShownText]) -> list[AnyMessage]:
    """The messages as a model sees them: every recalled text before its message, if that is still there."""
    if not recalls:
        return list(messages)
    by_place: dict[str, list[AnyMessage]] = {}
    for one in recalls:
        by_place.setdefault(one.before, []).append(one.message)
    marked = zip(messages, marks_of(messages), strict=True)
    return [shown for message, mark in marked for shown in (*by_place.get(mark, ()), message)]


def references_in(
    messages: Sequence[AnyMessage], recalls: Sequence[ShownText]
) -> dict[str, Ranges]:
    """For each reference of the conversation, the lines of it that are in sight."""
    found: dict[str, Ranges] = {}
    for message in messages:
        if isinstance(message, ToolMessage | HumanMessage) or was_folded(message):
            found.update(lines_of_previews(message))
            for key in (ref.key for text in texts_of(message) for ref in MemoryRef.find_all(text)):
                found.setdefault(key, ())
        if (
            isinstance(message, ToolMessage)
            and message.name == RETRIEVE
            and message.status == "success"
        ):
            for key, lines in (shown for text in texts_of(message) for shown in lines_shown(text)):
                found[key] = (*found.get(key, ()), lines)
    for key, ranges in (pair for one in recalls for pair in one.references.items()):
        found[key] = (*found.get(key, ()), *ranges)
    return found


def trusted_in(
    messages: Sequence[AnyMessage], facts: ConversationFacts, user_id: str
) -> Iterator[str]:
    """The keys that `facts` and `messages` let be passed on to tools.

    They are those of placeholders, of recalls and notes, those that memory tools report, and those that a person has
    typed. What else a tool's output, another agent or quoted text names is none of them.
    """
    old = (
        key for one in facts.shown for key in one.references
    )  # of before the others were told apart
    yield from old if facts.trusted is None else facts.trusted
    for message in messages:
        yield from lines_of_previews(message)
        yield from _reported_by(message)
        for text in texts_of(message):
            yield from (
                vouched_in(user_id, text) if isinstance(message, ToolMessage | HumanMessage) else ()
            )
            yield from typed_in(user_id, text) if _is_typed(message) else ()


def _is_typed(message: AnyMessage) -> bool:
    """Whether a person wrote `message` and it stands there whole; LangChain marks a model's summaries (lc_source)."""
    is_theirs = is_question(message) and source_of(message) == PERSON
    return is_theirs and "lc_source" not in message.additional_kwargs and not was_folded(message)


def _reported_by(message: AnyMessage) -> list[str]:
    """The keys that the answer of a memory tool speaks of: not those that the text in it names."""
    if (
        not isinstance(message, ToolMessage)
        or message.name not in MEMORY_TOOLS
        or message.status == "error"
    ):
        return []
    artifact = cast("object", message.artifact)
    keys = (
        cast("Mapping[str, object]", artifact).get("keys")
        if isinstance(artifact, Mapping)
        else None
    )
    return (
        [key for key in cast("list[object]", keys) if isinstance(key, str)]
        if isinstance(keys, list)
        else []
    )


def recall_request_of(
    question: HumanMessage, messages: Sequence[AnyMessage], recalls: Sequence[ShownText]
) -> RecallRequest:
    """What recall is decided for, when `question` is the newest of `messages`."""
    references = references_in(messages, recalls)
    shown = [
        one
        for message in with_recalls(messages, recalls)
        if message is not question
        for one in billed(message)
    ]
    task = next((message for message in messages if is_question(message)), question)
    return RecallRequest.of(
        "\n".join(_asked_by(question)),
        "\n".join(texts_of(task)),
        references,
        named=_named_by(question, references),
        in_sight=lambda wanted: any(wanted in one for one in shown),
    )


def _asked_by(question: HumanMessage) -> list[str]:
    """The texts of a message; of another agent's folded text the reference alone: its preview asks for nothing."""
    folded = was_folded(question) and source_of(question) != PERSON
    return [
        text.partition("\n")[0] if folded and MemoryRef.find_all(text) else text
        for text in texts_of(question)
    ]


def _named_by(question: HumanMessage, references: Mapping[str, Ranges]) -> frozenset[str]:
    """The keys that a person names, as references or bare; other agents only pass references on."""
    if source_of(question) != PERSON:
        return frozenset()
    return (
        keys_named("\n".join(texts_of(question)), references) - lines_of_previews(question).keys()
    )
