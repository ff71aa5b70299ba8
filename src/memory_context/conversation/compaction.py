"""Keep a conversation below its token limit: its oldest groups become one stored memory and one reference.

A *group* is a tool call with its results, or one other message (`message_groups`). The message that takes the place of
the compacted groups is called a *note* here (not to be confused with the notes of an agent).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from operator import itemgetter

from memory_context import sentences_models_read as prompts
from memory_context.conversation.folding.fold_messages import MessageFolder
from memory_context.conversation.folding.late_folds import (
    fold_what_was_read,
    saved_by_folding,
)
from memory_context.conversation.lasting_wishes_and_facts import standing_words, within_budget
from memory_context.conversation.message import (
    Message,
    MessageFacts,
    as_lines,
    from_lines,
    own_message,
    references_of,
    trusted_keys,
)
from memory_context.conversation.message_groups import groups
from memory_context.conversation.message_tokens import PICTURE_TOKENS
from memory_context.exceptions import BudgetTooSmallError, InvalidArgumentError, StateError
from memory_context.model.checked_numbers import check_whole, is_whole
from memory_context.model.item import CONVERSATION, MemoryItem
from memory_context.model.one_line import one_line
from memory_context.model.reference import KEPT_REFERENCES, MemoryRef
from memory_context.model.selection import Cost
from memory_context.runtime.telemetry import operation
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.frames_around_stored_text import quoted
from memory_context.text.redact import Redaction

# A compaction goes down to this share of the limit, so that the next one is far off: each one invalidates the
# provider's cached prefix.
LOW_WATER = 0.6
# The rest of a divided turn is compacted, too, if it has at most this share of the prompt's tokens.
SHORT_REST = 0.15
LISTED_CHARACTERS = 600
NOTE_TOKENS = 300
# Standing words are handed on from note to note, up to this many tokens, and up to a twelfth of the limit.
STANDING_TOKENS = 100
STANDING_SHARE = 12
LEAST_FOLD = 60
LEAST_LIMIT = 500
SAID_CHARACTERS = 200
GIVEN_CHARACTERS = 80
SHORT_DESCRIPTION = 40


def check_limit(max_tokens: object) -> None:
    """Check the limit of a conversation.

    Raises:
        BudgetTooSmallError: Less than 500 tokens.
        InvalidArgumentError: Not a number of tokens.
    """
    is_small = is_whole(max_tokens) and max_tokens < LEAST_LIMIT
    error = BudgetTooSmallError if is_small else InvalidArgumentError
    check_whole("max_tokens", max_tokens, LEAST_LIMIT, unit=" of tokens", error=error)


def plan(
    messages: Sequence[Message], tokens: Sequence[int], limit: int, note_tokens: int, seen: int
) -> tuple[int, int] | None:
    """Return where the messages to compact begin and end; None if there are none worth compacting.

    The oldest groups are compacted, until what stays, with a note of *note_tokens*, is below the low-water mark.
    These always stay: system messages at the beginning, the user layer, the task (the first message of a user), the
    newest group, and the newest question that no model has seen, which is one after the first *seen* messages. What was
    recalled for that question stays if the limit allows it.
    """
    head = _head(messages, tokens, note_tokens)
    unseen = range(seen, len(messages))
    asked = [place for place in unseen if messages[place].is_question]
    question = max(asked, default=len(messages))
    recall = question
    while recall > seen and messages[recall - 1].is_a("recall"):
        recall -= 1
    before = [0, *accumulate(tokens)]
    older = groups(messages)[:-1]
    ends = [end for start, end in older if head <= start and end <= question]
    for end in ends:
        cut = before[end] - before[head]
        remaining = before[-1] - cut + note_tokens
        # What was recalled for the question is compacted only to get below the limit, not to reach the low-water mark.
        spares_recall = end == recall and remaining <= limit
        if spares_recall or remaining <= limit * LOW_WATER:
            return head, _end_of_turn(messages, end, ends, before)
    # A single message is not worth a note.
    if not ends or ends[-1] - head <= 1:
        return None
    return head, ends[-1]


def _end_of_turn(
    messages: Sequence[Message], end: int, ends: Sequence[int], before: Sequence[int]
) -> int:
    """Return the end of the turn that a cut at *end* would divide; *end* itself if the rest of the turn is long.

    A stored answer is found by its question, so the two are best stored together.
    """
    for later in ends:
        message = messages[later]
        begins_turn = message.is_question or message.is_a("recall")
        if later >= end and begins_turn:
            rest = before[later] - before[end]
            if rest <= before[-1] * SHORT_REST:
                return later
            break
    return end


def _head(messages: Sequence[Message], tokens: Sequence[int], longest_answer: int) -> int:
    """Return how many messages stay at the beginning: system messages, the user layer, the task with its recall.

    An answer to the task of up to *longest_answer* tokens stays with it: stored without the task, it would not be found
    by the words of the question.
    """
    system = 0
    for index, message in enumerate(messages):
        if message.is_question:
            answer = index + 1
            if answer == len(messages):
                return answer
            is_answered = messages[answer].is_reply and not messages[answer].calls
            if is_answered and tokens[answer] <= longest_answer:
                return answer + 1
            return answer
        if not message.is_system and not message.is_ours:
            break
        if index == system and (message.is_system or message.is_a("layer")):
            system += 1
    return system


@dataclass(frozen=True, slots=True)
class Compactor:
    """Keeps one conversation's messages below *limit* tokens, as the folder's counter counts them.

    Attributes:
        folder: Stores what leaves the prompt.
        limit: The most tokens that all messages may have together.
        new_id: Makes the id of a note.
    """

    folder: MessageFolder
    limit: int
    new_id: Callable[[], str]

    def compact(self, messages: list[Message], seen: int) -> list[Message]:
        """Return *messages* themselves if they are within the limit; else with one reference for their oldest groups.

        If that is not enough, texts of the other messages are folded, too, the largest first. Nothing is dropped: if
        even that is not enough, the messages stay above the limit. A model has seen the first *seen* messages.

        Raises:
            StoreError: The store failed; nothing was changed.
        """
        tokens = self._tokens(messages)
        if sum(tokens) <= self.limit:
            return messages
        with operation(
            "compact", self.folder.manager.who, limit=self.limit, messages=len(messages)
        ) as compacting:
            # The compacted part may contain an output that a later message only refers to.
            whole = self.folder.with_missing_previews(messages, seen, is_cut=True)
            compacted = self._cut(whole, self._tokens(whole), seen)
            compacted = self._with_folded_calls(compacted)
            compacted = self._squeezed(compacted)
            saved = sum(tokens) - sum(self._tokens(compacted))
            is_changed = compacted != messages
            outcome = "compacted" if is_changed else "kept"
            compacting.note(tokens=saved, outcome=outcome)
        if is_changed:
            self.folder.fail_open.stats.add(compactions=1, tokens_compacted=saved)
        return compacted

    def _tokens(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of each message, counting only the images that a compaction can take away.

        The images of the task and of the newest question stay, whatever they cost.
        """
        tokens = self.folder.ledger.tokens(messages)
        pictured = [place for place, message in enumerate(messages) if message.others]
        if not pictured:  # nearly every prompt
            return tokens
        begin = _head(messages, tokens, self._preview_budget() + NOTE_TOKENS)
        asked = [place for place, message in enumerate(messages) if message.is_question]
        newest = max(asked, default=0)
        for place in pictured:
            if begin <= place < newest:
                tokens[place] += PICTURE_TOKENS * messages[place].pictures
        return tokens

    def _cut(self, messages: list[Message], tokens: Sequence[int], seen: int) -> list[Message]:
        """Return *messages* with a note in place of the oldest groups. *tokens* are those of each message."""
        stay = _exempt(messages)
        sizes = {message.id: size for message, size in zip(messages, tokens, strict=True)}
        note_tokens = self._preview_budget() + NOTE_TOKENS
        if standing_words(messages):
            note_tokens += self._standing_budget()
        staying = sum(sizes[message.id] for message in stay)
        cut = plan(messages, tokens, self.limit, note_tokens + staying, seen)
        if cut is None:
            return messages
        begin, end = cut
        before = messages[:begin]
        oldest = messages[begin:end]
        after = messages[end:]
        kept = [message for message in oldest if message in stay]
        size = note_tokens + sum(sizes[message.id] for message in (*before, *kept, *after))
        # The run's notes stay in any case. System messages are compacted, the oldest first, until the rest fits the limit.
        for message in list(kept):
            if message.is_system and size > self.limit:
                kept.remove(message)
                size -= sizes[message.id]
        replaced = [message for message in oldest if message not in kept]
        stored = _to_store(replaced)
        if not stored:
            return messages
        rest = [*before, *kept, *after]
        # The note lists the keys that no remaining message refers to. A reference that is merely quoted does not count.
        held = references_of(rest)
        keys = [key for key in references_of(messages) if key not in held]
        # A web page or a model may have made a reference up.
        keys = self.folder.manager.known_keys(keys)
        is_explained = any(message.known.instructs for message in rest)
        instructs = self.folder.policy.instructions and not is_explained
        note = self._note(replaced, stored, keys, instructs=instructs)
        return [*before, note, *kept, *after]

    def _standing_budget(self) -> int:
        return min(STANDING_TOKENS, self.limit // STANDING_SHARE)

    def _preview_budget(self) -> int:
        return min(self.folder.policy.preview_tokens, self.limit // 8)

    def _note(
        self,
        messages: Sequence[Message],
        stored: Sequence[Message],
        keys: Sequence[str],
        *,
        instructs: bool,
    ) -> Message:
        """Store *stored* as one memory, and return the note that stands for *messages*.

        Args:
            messages: The compacted messages.
            stored: The same messages in the form in which they are stored (see `_to_store`).
            keys: The keys of the references that leave the prompt with them.
            instructs: Whether the note explains references.
        """
        manager = self.folder.manager
        redaction = manager.redaction()
        stored = [_redacted(message, redaction) for message in stored]
        tags = self.folder.secret_tags(messages)
        facts = [message.known.to_json() for message in stored]
        with self.folder.fail_open.writing():
            item = manager.remember(
                as_lines(stored),
                _description(stored),
                CONVERSATION,
                source=CONVERSATION,
                tags=tags,
                metadata={"keys": keys, "facts": facts},
                redaction=redaction,
                origin=self.folder.origin_of(messages),
            )
        lines = [
            prompts.COMPACTED.format(count=len(stored)),
            item.ref.render(),
            *self._preview(stored),
        ]
        said = standing_words(stored)
        standing = within_budget(said, self._standing_budget(), manager.counter.count)
        if standing:
            words = quoted(" / ".join(standing))
            lines.append(prompts.STANDING.format(said=words))
        listed = _newest(keys, LISTED_CHARACTERS, len)
        if listed:
            lines.append(prompts.SWALLOWED.format(keys=", ".join(listed)))
        if instructs:
            lines.append(prompts.ABOUT_REFERENCES)
        replaced = list[str]()
        for message in messages:
            # A compacted earlier note hands on the ids of the messages that it stood for.
            replaced += [*message.known.replaced, message.id]
        known = MessageFacts(
            kind="compaction",
            lines=dict.fromkeys((*keys[-KEPT_REFERENCES:], item.memory_key), ()),
            trusted=tuple(trusted_keys(messages, [item.memory_key])),
            stands_for=item.memory_key,
            replaced=tuple(replaced),
            instructs=instructs,
            standing=tuple(standing),
        )
        return own_message(self.new_id(), "\n".join(filter(None, lines)), known)

    def _preview(self, stored: Sequence[Message]) -> Iterator[str]:
        """Yield who said what; then as many of the tools' newest results as fit into the rest of the budget."""
        manager = self.folder.manager
        budget = self._preview_budget()
        count = manager.counter.count
        said = _said(message for message in stored if not message.is_result)
        results = list(_said(message for message in stored if message.is_result))
        # The tools' results come last, and get at least a third of the preview.
        share = budget * 2 // 3 if results else budget
        shown = excerpt("\n".join(said), "", share, count).text
        yield shown
        newest = _newest(results, budget - count(shown), count)
        yield "\n".join(newest)

    def _with_folded_calls(self, messages: list[Message]) -> list[Message]:
        """Return *messages* with references in place of large arguments of answered calls.

        A compaction changes the prefix that a provider has cached anyway, so this costs nothing more.
        """
        answered = {message.answers for message in messages}
        due = list[int]()
        for index, message in enumerate(messages):
            calls = {call.id for call in message.calls}
            if calls and calls <= answered and saved_by_folding(message, self.folder):
                due.append(index)
        return fold_what_was_read(messages, due, self.folder)

    def _squeezed(self, messages: list[Message]) -> list[Message]:
        """Return *messages* with their largest texts folded to bare references, until they are within the limit."""
        over = sum(self.folder.ledger.tokens(messages)) - self.limit
        if over <= 0:
            return messages
        count = self.folder.manager.counter.count
        sizes = list[tuple[int, int, int]]()
        for index, message in enumerate(messages):
            if message.is_foldable:
                for place, text in message.texts.items():
                    size = count(text)
                    sizes.append((size, index, place))
        # A stable sort: among texts of the same size, the oldest come first.
        sizes.sort(key=itemgetter(0), reverse=True)
        squeezed = list(messages)
        for size, index, place in sizes:
            if over <= 0 or size <= LEAST_FOLD:
                break
            ref = self._bare_reference(squeezed[index], place)
            squeezed[index] = _bare(squeezed[index], place, ref)
            over -= size - count(ref.render())
        return squeezed

    def _bare_reference(self, message: Message, place: int) -> MemoryRef:
        """Store a text and return its reference; for a placeholder, return the reference that it begins with."""
        text = message.texts[place]
        if place in message.known.folded:
            return MemoryRef.find_all(text)[0]
        return self.folder.store(message, text, named_in=[message]).ref


def _exempt(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that a compaction passes over: the run's notes, and system messages that are not superseded.

    A system message in mid-conversation is superseded if an equal one stands at the beginning, or by a newer one from
    the same source. Hosts do not name the source of a system message, so an equal first line counts as one source:
    AutoGen's ``memory=``, for example, adds such a message in each run.
    """
    at_beginning = set[str]()
    newest = dict[str, Message]()
    has_begun = False
    for message in messages:
        has_begun = has_begun or message.is_question
        if not message.is_system:
            continue
        if not has_begun:
            at_beginning.add(message.text)
        elif message.text not in at_beginning:
            newest[message.text.strip().partition("\n")[0]] = message
    notes = [message for message in messages if message.is_a("notes")]
    return [*notes, *newest.values()]


def _to_store(messages: Sequence[Message]) -> list[Message]:
    """Return compacted messages as they are stored: an earlier note as its reference, recalled text not at all.

    The texts behind both are in the store already. A search would find a copy in their place.
    """
    stored = list[Message]()
    for message in messages:
        if message.is_a("compaction"):
            refs = MemoryRef.find_all(message.text)
            ref = next(ref for ref in refs if ref.key == message.known.stands_for)
            stored.append(message.with_texts({0: ref.render()}))
        elif not message.is_ours:
            stored.append(message)
    return stored


def _redacted(message: Message, redaction: Redaction) -> Message:
    """Return *message* without the secrets in its texts and in the arguments of its calls."""
    texts = {place: redaction.text(text) for place, text in message.texts.items()}
    calls = [replace(call, arguments=redaction.text(call.arguments)) for call in message.calls]
    return replace(message, texts=texts, calls=tuple(calls))


def _bare(message: Message, place: int, ref: MemoryRef) -> Message:
    """Return *message* with only a reference in place of a text, so that no line of the text is in sight."""
    known = message.known
    facts = MessageFacts(
        lines=dict.fromkeys((*known.lines, ref.key), ()),
        folded=tuple({*known.folded, place}),
        named=known.named,
        trusted=tuple(dict.fromkeys((*known.trusted, ref.key))),
    )
    return message.with_texts({place: ref.render()}, facts)


def _newest(texts: Sequence[str], budget: int, cost: Cost) -> list[str]:
    """Return as many of the newest texts as fit into *budget*, each in full and with a separator, oldest first."""
    listed = list[str]()
    for text in reversed(texts):
        budget -= cost(text) + 2
        if budget < 0:
            break
        listed.append(text)
    return listed[::-1]


def _said(messages: Iterable[Message]) -> Iterator[str]:
    """Yield one line for each message: who said what."""
    for message in messages:
        if message.is_ours:
            continue  # an earlier note: its key is listed, and its words are not repeated
        if message.calls:
            names = dict.fromkeys(call.name for call in message.calls)
            said = f"calls {', '.join(names)}"
        elif message.is_result:
            said = _given(message)
        else:
            said = " ".join(message.text.split())[:SAID_CHARACTERS]
        yield f"{message.source}: {said}"


def _given(message: Message) -> str:
    """Return the beginning of a tool's result; for a folded result, its reference with a short description."""
    refs = MemoryRef.find_all(message.text)
    # One of the user's redaction patterns may have removed the reference itself.
    if not refs or not message.known.folded:
        return " ".join(message.text.split())[:GIVEN_CHARACTERS]
    short = one_line(refs[0].description, SHORT_DESCRIPTION)
    return replace(refs[0], description=short).render()


def _description(messages: Sequence[Message]) -> str:
    """Return the number of messages with the beginning of the first question among them, or else of the first line."""
    asked = (message.text for message in messages if message.is_question)
    first = next(chain(asked, _said(messages)), "")
    beginning = " ".join(first.split())[:60]
    return f"{len(messages)} messages: {beginning}"


def uncompacted(
    messages: Sequence[Message], item: MemoryItem, new_id: Callable[[], str]
) -> tuple[int, list[Message]]:
    """Return the index of the note on a compaction, and the messages that belong in its place.

    Args:
        messages: The messages of the conversation.
        item: The memory that the note stands for.
        new_id: Makes the ids of the messages.

    Raises:
        StateError: *item* holds no messages, or no note of this conversation refers to it.
    """
    key = item.memory_key
    keys = [message.known.stands_for for message in messages]
    if item.memory_type != CONVERSATION or key not in keys:
        raise StateError(f"{key!r} does not stand for compacted messages of this conversation")
    restored = list[Message]()
    try:
        known = map(MessageFacts.from_json, item.content_metadata["facts"])
        for message, facts in zip(from_lines(item.text), known, strict=True):
            restored.append(replace(message, id=new_id(), facts=facts))
    # Raised by json or pydantic, or because another program wrote the record.
    except (ValueError, LookupError, TypeError) as error:
        raise StateError(
            f"the memory {key!r} does not hold the messages that were stored there"
        ) from error
    return keys.index(key), restored
