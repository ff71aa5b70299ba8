"""Keeping a conversation below a limit: its oldest groups become one stored memory and one reference."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from pydantic import TypeAdapter

from memory_context.autogen.messages import (
    MEMORY_SOURCE,
    calls_of,
    is_layer,
    is_question,
    parts_of,
    texts_of,
    with_texts,
)
from memory_context.autogen.note_messages import is_notes
from memory_context.autogen.token_ledger import Ledger, billed
from memory_context.conversation.text_folder import TextFolder, TextPart
from memory_context.exceptions import BudgetTooSmallError, InvalidArgumentError
from memory_context.model.item import CONVERSATION, SECRET, MemoryItem
from memory_context.model.reference import MemoryRef, leading_key
from memory_context.runtime import prompts
from memory_context.runtime.telemetry import operation
from memory_context.text.excerpt.excerpt import excerpt

LOW_WATER = 0.6
LISTED_CHARACTERS = 600
NOTE_TOKENS = 300
LEAST_FOLD = 60
LEAST_LIMIT = 500
_MESSAGES: TypeAdapter[LLMMessage] = TypeAdapter(LLMMessage)


@dataclass(frozen=True, slots=True)
class Cut:
    """The messages from `start` up to `end`, which become one reference."""

    start: int
    end: int


def check_limit(max_tokens: object) -> None:
    """Check the limit of a conversation.

    Raises:
        BudgetTooSmallError: Less than 500 tokens.
        InvalidArgumentError: Not a number of tokens.
    """
    if max_tokens is None:
        return
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool):
        message = f"max_tokens must be a whole number of tokens, {LEAST_LIMIT} or more, not {max_tokens!r}"
        raise InvalidArgumentError(message)
    if max_tokens < LEAST_LIMIT:
        message = f"max_tokens={max_tokens} is too small to converse in; give {LEAST_LIMIT} or more"
        raise BudgetTooSmallError(message)


def compacted_key(message: LLMMessage) -> str | None:
    """The key of the memory that a compaction has left `message` for; None for any other message."""
    if (
        not isinstance(message, UserMessage)
        or message.source != MEMORY_SOURCE
        or not isinstance(message.content, str)
    ):
        return None
    first, _, rest = message.content.partition("\n")
    return leading_key(rest) if first.endswith(prompts.COMPACTED.partition("{count}")[2]) else None


def groups(messages: Sequence[LLMMessage]) -> list[tuple[int, int]]:
    """Where each group begins and ends: a call with all that comes until its results, or one other message.

    A call without results is waited for until its agent speaks again: then it was cancelled.
    """
    found, start, waiting = list[tuple[int, int]](), 0, set[str]()
    expected = _expected(messages)
    for index, message in enumerate(messages):
        waiting |= expected[index]
        if isinstance(message, FunctionExecutionResultMessage):
            waiting -= {result.call_id for result in message.content}
        following = messages[index + 1] if index + 1 < len(messages) else None
        if waiting or isinstance(following, FunctionExecutionResultMessage):
            continue
        found.append((start, index + 1))
        start = index + 1
    return [*found, (start, len(messages))] if start < len(messages) else found


def _expected(messages: Sequence[LLMMessage]) -> list[set[str]]:
    """For each message, the ids of its calls whose results come behind it, or may still come."""
    expected, answered, spoke = list[set[str]](), set[str](), set[str]()
    for message in reversed(messages):
        ids = {call.id for call in calls_of(message)}
        expected.append(ids & answered if getattr(message, "source", "") in spoke else ids)
        if isinstance(message, FunctionExecutionResultMessage):
            answered |= {result.call_id for result in message.content}
        if isinstance(message, AssistantMessage):
            spoke.add(message.source)
    return expected[::-1]


def plan(
    messages: Sequence[LLMMessage], tokens: Sequence[int], limit: int, note: int, shown: int
) -> Cut | None:
    """The oldest groups to compact so that what stays, with a note of `note` tokens, is below the low-water mark.

    System messages at the beginning, the user's layer and the task (the first message of a user) stay, and so do the
    newest group and the newest question that no model has seen, behind the first `shown` messages.
    """
    head = _head(messages)
    unseen = [index for index in range(shown, len(messages)) if is_question(messages[index])]
    last = unseen[-1] if unseen else len(messages)
    ends = [end for start, end in groups(messages)[:-1] if start >= head and end <= last]
    before = [0, *accumulate(tokens)]
    for end in ends:
        if before[-1] - (before[end] - before[head]) + note <= limit * LOW_WATER:
            return Cut(head, end)
    return Cut(head, ends[-1]) if ends and ends[-1] - head > 1 else None


def _head(messages: Sequence[LLMMessage]) -> int:
    """How many messages stay at the beginning: system messages, the user's layer, the task with its recall."""
    task = next(
        (i for i, message in enumerate(messages) if not _precedes_task(message)), len(messages)
    )
    if task < len(messages) and is_question(messages[task]):
        return task + 1
    return next(
        (i for i, m in enumerate(messages) if not (isinstance(m, SystemMessage) or is_layer(m))),
        len(messages),
    )


def _precedes_task(message: LLMMessage) -> bool:
    return isinstance(message, SystemMessage) or (
        isinstance(message, UserMessage) and message.source == MEMORY_SOURCE
    )


def as_lines(messages: Sequence[LLMMessage]) -> str:
    """The messages as JSON, one in a line: what a compacted conversation is stored as."""
    dumped = (_MESSAGES.dump_python(message, mode="json") for message in messages)
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in dumped)


def from_lines(text: str) -> list[LLMMessage]:
    """The messages that `as_lines` made `text` of."""
    return [_MESSAGES.validate_python(json.loads(line)) for line in text.split("\n")]


@dataclass(slots=True)
class Compactor:
    """Keeps one conversation's messages below `limit` tokens, as the folder's counter counts them."""

    folder: TextFolder
    ledger: Ledger
    limit: int

    def compact(
        self, messages: list[LLMMessage], keys: Sequence[str], shown: int
    ) -> list[LLMMessage]:
        """`messages` themselves if they are below the limit; else with their oldest groups in one reference.

        Where that is not enough, texts of what stays are folded too, the largest first. Nothing is lost: if even that
        is not enough, the messages stay above the limit. `keys` are those of the conversation's references, oldest
        first; those that get out of sight are noted in the record, and the newest of them named. A model has seen the
        first `shown` messages.

        Raises:
            StoreError: The store failed; nothing was changed.
        """
        tokens = self.ledger.tokens(messages)
        if sum(tokens) <= self.limit:
            return messages
        with operation(
            "compact", self.folder.manager.who, limit=self.limit, messages=len(messages)
        ) as compacting:
            compacted = self._compacted(messages, tokens, keys, shown)
            saved = sum(tokens) - sum(self.ledger.tokens(compacted))
            compacting.note(
                tokens=saved, outcome="compacted" if compacted is not messages else "kept"
            )
        if compacted is not messages:
            self.folder.fail_open.stats.add(compactions=1, tokens_compacted=saved)
        return compacted

    def _compacted(
        self, messages: list[LLMMessage], tokens: Sequence[int], keys: Sequence[str], shown: int
    ) -> list[LLMMessage]:
        """See `compact`; the messages, of so many `tokens` each, are above the limit."""
        stays = sum(
            size for message, size in zip(messages, tokens, strict=True) if is_notes(message)
        )
        cut = plan(messages, tokens, self.limit, self._note_budget() + NOTE_TOKENS + stays, shown)
        if cut is not None:
            rest = [*messages[: cut.start], *messages[cut.end :]]
            standing = {
                ref.key
                for message in rest
                for text in texts_of(message)
                for ref in MemoryRef.find_all(text)
            }
            swallowed = [
                message for message in messages[cut.start : cut.end] if not is_notes(message)
            ]
            notes = [message for message in messages[cut.start : cut.end] if is_notes(message)]
            note = self._note(swallowed, [key for key in keys if key not in standing])
            messages = [*messages[: cut.start], note, *notes, *messages[cut.end :]]
        return self._squeezed(messages)

    def _note_budget(self) -> int:
        return min(self.folder.policy.preview_tokens, self.limit // 8)

    def _note(self, messages: Sequence[LLMMessage], keys: Sequence[str]) -> UserMessage:
        """The message that stands for `messages`, which are stored before it exists."""
        counter = self.folder.manager.counter
        text = as_lines(messages)
        kept = self.folder.manager.kept
        description, tags = _description(messages, kept), self._tags(messages)
        with self.folder.fail_open.writing():
            item = self.folder.manager.remember(
                text,
                description,
                CONVERSATION,
                source=CONVERSATION,
                tags=tags,
                metadata={"keys": list(keys)},
            )
        preview = excerpt("\n".join(_said(messages, kept)), "", self._note_budget(), counter.count)
        listed = _newest(keys)
        swallowed = prompts.SWALLOWED.format(keys=", ".join(listed)) if listed else ""
        parts = (
            prompts.COMPACTED.format(count=len(messages)),
            item.ref.render(),
            preview.text,
            swallowed,
        )
        return UserMessage(content="\n".join(filter(None, parts)), source=MEMORY_SOURCE)

    def _tags(self, messages: Sequence[LLMMessage]) -> list[str]:
        """``secret`` if the messages name one: what is stored of them is as secret."""
        store, scope = self.folder.manager.memory_store, self.folder.manager.scope
        keys = list(
            {
                ref.key
                for message in messages
                for text in texts_of(message)
                for ref in MemoryRef.find_all(text)
            }
        )
        own = store.count(scope, {"memory_key": keys, "memory_type": SECRET})
        inherited = store.count(scope, {"memory_key": keys, "tags": SECRET})
        return [SECRET] if own or inherited else []

    def _squeezed(self, messages: list[LLMMessage]) -> list[LLMMessage]:
        """`messages` with their largest texts folded to bare references, as far as it takes to be below the limit."""
        over = sum(self.ledger.tokens(messages)) - self.limit
        if over <= 0:
            return messages
        count = self.folder.manager.counter.count
        parts = [
            (count(part.text), index, part)
            for index, message in enumerate(messages)
            for part in parts_of(message)
        ]
        squeezed, changed = list(messages), False
        for size, index, part in sorted(parts, key=lambda found: -found[0]):
            if over <= 0 or size <= LEAST_FOLD:
                break
            ref = self._bare(part, messages[index])
            changed = True
            squeezed[index] = with_texts(squeezed[index], {part.index: ref})
            over -= size - count(ref)
        return squeezed if changed else messages

    def _bare(self, part: TextPart, message: LLMMessage) -> str:
        """The reference alone; of a placeholder that this context has made, the one that it begins with."""
        if self.folder.has_made(part.text):
            return MemoryRef.find_all(part.text)[0].render()
        return self._stored(part, self._tags([message])).ref.render()

    def _stored(self, part: TextPart, tags: Sequence[str]) -> MemoryItem:
        kind = "tool_output" if part.source is None else "message"
        with self.folder.fail_open.writing():
            return self.folder.manager.remember(part.text, type=kind, source=part.origin, tags=tags)


def _newest(keys: Sequence[str]) -> list[str]:
    """As many of the newest keys as a short line holds."""
    listed, room = list[str](), LISTED_CHARACTERS
    for key in reversed(keys):
        room -= len(key) + 2
        if room < 0:
            break
        listed.append(key)
    return listed[::-1]


def _said(messages: Sequence[LLMMessage], kept: Callable[[str], str]) -> Iterator[str]:
    """One line for each message: who said what, as it is `kept`."""
    for message in messages:
        source = getattr(message, "source", None) or message.type
        names = [call.name for call in calls_of(message)]
        text = f"calls {', '.join(names)}" if names else kept(" ".join(billed(message)))
        yield f"{source}: {' '.join(text.split())[:200]}"


def _description(messages: Sequence[LLMMessage], kept: Callable[[str], str]) -> str:
    questions = (text for message in messages if is_question(message) for text in texts_of(message))
    question = next(questions, None)
    first = next(_said(messages, kept)) if question is None else kept(question)
    return f"{len(messages)} messages: {' '.join(first.split())[:60]}"
