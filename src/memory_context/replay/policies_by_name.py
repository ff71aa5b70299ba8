"""The policies that can be replayed, by name and settings."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Protocol

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.fold_recall_notes_policies import (
    FoldMoment,
    FoldPolicy,
    RecallPolicy,
)
from memory_context.conversation.message import Message
from memory_context.exceptions import InvalidArgumentError
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.checked_numbers import check_whole
from memory_context.replay.compacting_contexts import compacted, summarized
from memory_context.replay.memory_context_policy import RememberingContext
from memory_context.replay.shortening_contexts import (
    Ends,
    OffloadContext,
    ShorteningContext,
    buffered,
    cleared,
    head_and_tail,
    masked,
    token_limited,
)
from memory_context.text.tokens.counter import TokenCounter

# From deepagents 0.7.32 (`FilesystemMiddleware`): the size of its tools' schemas without `execute`, in tokens of
# o200k_base, and how many characters it counts as one token.
FILE_TOOLS = 2027
CHARACTERS = 4
# As long as the text that deepagents puts beside the path.
EVICTED = (
    "This result is too large to be shown, and was saved as a file. Read it by the tool read_file, and only in parts: give "
    "an offset and a limit, for its first 100 lines the offset 0 and the limit 100. What follows are its first and its "
    "last lines, each cut to 1000 characters; one line says which of them are left out in between."
)


async def _no_work() -> None:
    pass


class ReplayedContext(Protocol):
    """Builds the prompts of one run. It never changes a message; to show one differently, it returns another object."""

    async def add(self, messages: Sequence[Message]) -> None:
        """Add messages of the recording that came together."""
        ...

    async def prompt(self) -> list[Message]:
        """Return the prompt that a model would be sent now."""
        ...


@dataclass(frozen=True, slots=True)
class Replayed:
    """A context that one recording is fed into.

    Attributes:
        context: Builds the prompts.
        stored: Returns the text behind a reference, by its key; None if there is none.
        close: Releases the resources of the context.
        carried: The tokens that every request carries beside its messages: the schemas of the policy's own tools.
        spent: Returns the tokens that the policy's own model calls have cost so far, such as those for summaries.
    """

    context: ReplayedContext
    stored: Callable[[str], str | None] = dict[str, str]().get
    close: Callable[[], Awaitable[None]] = _no_work
    carried: int = 0
    spent: Callable[[], int] = int  # int() is 0


@dataclass(frozen=True, slots=True)
class Policy:
    """A named way to build prompts; `open` makes a fresh context for each recording."""

    name: str
    open: Callable[[TokenCounter], Replayed]


def default_policies(threshold: int = 500) -> list[Policy]:
    """Return the default policies of a report; those that fold or offload do so above `threshold` tokens."""
    names = (
        "unbounded",
        "buffered:size=20",
        "ends:head=4,tail=16",
        "limited:tokens=8000",
        "mask:keep=10",
        "clear:trigger=8000,keep=3",
        f"offload:threshold={threshold}",
        f"reference:threshold={threshold}",
        f"memory:threshold={threshold}",
        f"memory:threshold={threshold},fold=after_reading",
    )
    return [parse_policy(name) for name in names]


def reference_policy(threshold: int = 500) -> Policy:
    """Return the policy "reference only", which peaks are compared with."""
    return parse_policy(f"reference:threshold={threshold}")


def parse_policy(text: str) -> Policy:
    """Return the policy that `text` names, such as ``memory:threshold=500,recall=false``.

    The policies, with their settings:

    - AutoGen's contexts: ``unbounded``, ``buffered`` (``size``), ``ends`` (``head``, ``tail``), ``limited`` (``tokens``).
    - ``mask`` (``keep``): only the newest outputs.
    - LangChain's ``clear`` (``trigger``, ``keep``): the same, in prompts with more tokens than the trigger.
    - LangChain's ``summarize`` (``trigger``, ``keep``, ``words``): a summary in place of all but the newest messages.
    - Agent Framework's ``compact`` (``tokens``, ``keep``): old results are joined, then the oldest messages dropped.
    - ``offload`` (``threshold``, ``lines``): a reference and that many lines of either end.
    - deepagents' ``evict`` (``threshold``, ``lines``): the same by its rule, with its tools.
    - ``memory``: this library, with settings named as those of `MemoryContext`.
    - ``reference``: the same, without preview and recall.

    Raises:
        InvalidArgumentError: There is no such policy or setting, or a setting has no value.
    """
    name, _, rest = text.partition(":")
    if name not in _POLICIES:
        raise InvalidArgumentError(
            f"there is no policy {name!r}; the policies are {', '.join(_POLICIES)}"
        )
    make = _POLICIES[name]
    parts = filter(None, rest.split(","))
    settings = dict(map(_parse_setting, parts))
    parameters = inspect.signature(make).parameters.values()
    allowed = {one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
    unknown = ", ".join(sorted(settings.keys() - allowed))
    if unknown:
        has = ", ".join(sorted(allowed)) or "none"
        raise InvalidArgumentError(f"{name!r} has no setting {unknown}; it has {has}")
    return Policy(text, lambda counter: make(counter, **settings))


def is_ours(policy: str) -> bool:
    """Return whether *policy* is this library with previews and recall, not "reference only"."""
    return policy.partition(":")[0] == "memory"


def check_policy(policy: Policy, counter: TokenCounter) -> None:
    """Check the settings of `policy` by opening a context, in which nothing is stored.

    Raises:
        InvalidArgumentError: A setting has a value of the wrong kind.
    """
    try:
        policy.open(counter)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the policy {policy.name!r} cannot be used: {error}") from error


def _parse_setting(text: str) -> tuple[str, Any]:
    """Return the name and the value in ``name=value``; a value is a number, true, false, none, or a text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgumentError(f"a setting is written name=value, not {text!r}")
    return name.strip(), _parse_value(value.strip())


def _parse_value(text: str) -> Any:  # noqa: ANN401 - a setting of any kind
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    word = text.lower()
    if word in words:
        return words[word]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _unbounded(_counter: TokenCounter) -> Replayed:
    return Replayed(ShorteningContext())


def _shortened_by(rule: Callable[..., list[Message]], *from_one: str) -> Callable[..., Replayed]:
    """Return what opens a context that shows what *rule* leaves.

    The settings are those of the rule: whole numbers, 1 or more for *from_one*, 0 or more for the others.
    """

    @wraps(rule)
    def opened(counter: TokenCounter, **settings: int) -> Replayed:
        for name, number in settings.items():
            check_whole(name, number, 1 if name in from_one else 0)
        return Replayed(ShorteningContext(lambda messages: rule(messages, counter, **settings)))

    return opened


def _memory(  # noqa: PLR0913 - each is a setting of its own, with a default
    counter: TokenCounter,
    *,
    threshold: int = 500,
    preview_tokens: int = 400,
    fold: FoldMoment = "at_once",
    read_cap: int = 2500,
    recall: bool = True,
    recall_results: bool = False,
    expansion_budget: int = 2000,
    user_layer_tokens: int = 300,
    notes: bool = False,
    max_tokens: int | None = None,
) -> Replayed:
    check_arguments(recall=recall, notes=notes)
    folding = FoldPolicy(
        threshold=threshold,
        preview_tokens=preview_tokens,
        fold=fold,
        read_cap=read_cap,
        counter=counter,
    )
    recalling = RecallPolicy(
        expansion_budget=expansion_budget,
        results=recall_results,
        user_layer_tokens=user_layer_tokens,
    )
    settings = ConversationSettings(folding, recalling if recall else None, max_tokens)
    context = RememberingContext(settings, keeps_notes=notes)
    return Replayed(context, context.stored, context.close, counter.count(context.schemas()))


def _summarize(
    counter: TokenCounter, *, trigger: int = 8000, keep: int = 20, words: int = 400
) -> Replayed:
    check_whole("trigger", trigger, 1)
    check_whole("keep", keep, 1)
    check_whole("words", words)
    spent = list[int]()
    numbers = {"trigger": trigger, "keep": keep, "words": words}
    context = ShorteningContext(lambda messages: summarized(messages, counter, spent, **numbers))
    return Replayed(context, spent=lambda: sum(spent))


def _offload(counter: TokenCounter, *, threshold: int = 500, lines: int = 5) -> Replayed:
    most = check_whole("threshold", threshold)
    ends = Ends(check_whole("lines", lines))
    context = OffloadContext(counter, lambda text: counter.exceeds(text, most), ends)
    return Replayed(context, context.texts.get)


def _evict(counter: TokenCounter, *, threshold: int = 20_000, lines: int = 5) -> Replayed:
    most = CHARACTERS * check_whole("threshold", threshold)
    ends = Ends(check_whole("lines", lines), 1000, EVICTED)
    context = OffloadContext(counter, lambda text: len(text) > most, ends)
    return Replayed(context, context.texts.get, carried=FILE_TOOLS)


_POLICIES: Mapping[str, Callable[..., Replayed]] = {
    "unbounded": _unbounded,
    "buffered": _shortened_by(buffered, "size"),
    "ends": _shortened_by(head_and_tail, "head", "tail"),
    "limited": _shortened_by(token_limited, "tokens"),
    "mask": _shortened_by(masked),
    "clear": _shortened_by(cleared),
    "summarize": _summarize,
    "compact": _shortened_by(compacted, "tokens"),
    "offload": _offload,
    "evict": _evict,
    "reference": partial(_memory, preview_tokens=0, recall=False),
    "memory": _memory,
}
