"""The records of model calls, and of the decisions before them: numbers, keys and reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.item import with_zone
from memory_context.model.registry_of_drawers import Displayed

Intent: TypeAlias = Literal["concrete", "ambiguous"]
CallKind: TypeAlias = Literal["model", "decision"]
CALL_KINDS = get_args(CallKind)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call: the size of its prompt, beside the size without this library, and what changed.

    Attributes:
        at: When, in UTC.
        tokens_full: The tokens of the conversation with every text in full.
        tokens_sent: The tokens of the messages that were sent; tools and their schemas are not among them.
        messages: How many messages were sent.
        folded: The keys of the texts that a reference replaced since the call before.
        recalled: The keys of the memories that were brought back since then, and of a run's notes that were shown,
            without those of the user layer.
        compacted: The keys of the references that replaced compacted messages since then.
        prompt: The messages as JSON lines; empty unless prompts are recorded.
    """

    at: datetime
    tokens_full: int
    tokens_sent: int
    messages: int = 0
    folded: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()
    compacted: tuple[str, ...] = ()
    prompt: str = ""

    def changes(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return what changed since the call before, for people: pairs of a verb, such as ``folded``, and its keys."""
        lists = (
            ("folded", self.folded),
            ("brought back", self.recalled),
            ("compacted", self.compacted),
        )
        return [(verb, keys) for verb, keys in lists if keys]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on what to bring back for one message.

    What a record of another program lacks has a default, so that the record can be read.

    Attributes:
        at: When, in UTC.
        judge: The name of the judge that decided.
        asked: The beginning of the message.
        offered: The keys that could be opened.
        intent: Whether the message said all that the decision needs (``concrete``) or not (``ambiguous``).
        opened: The keys that were opened.
        searched: What was looked for among the user's other memories; None if nothing was.
        found: The keys that were found there.
        why: The reason, for people; after a failure, what failed.
        tokens: The tokens that the decision cost.
        seconds: How long it took.
    """

    at: datetime
    judge: str = ""
    asked: str = ""
    offered: tuple[str, ...] = ()
    intent: Intent = "ambiguous"
    opened: tuple[str, ...] = ()
    searched: str | None = None
    found: tuple[str, ...] = ()
    why: str = ""
    tokens: int = 0
    seconds: float = 0.0

    def without_words(self) -> Decision:
        """Return the decision without the words of the message, as it is kept where prompts are not recorded."""
        return replace(self, asked="", searched=None)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A model call or a decision, with the user, agent and conversation that it belongs to.

    Attributes:
        user_id: Whose memories it was about.
        agent_id: The agent, if it has a name.
        thread_id: The conversation.
        what: The model call or the decision.
    """

    user_id: str
    agent_id: str | None
    thread_id: str | None
    what: ModelCall | Decision

    @property
    def kind(self) -> CallKind:
        """Return whether it is a model call or a decision."""
        return "model" if isinstance(self.what, ModelCall) else "decision"


@dataclass(frozen=True, slots=True)
class CallFilter:
    """The conditions for a query of call records.

    Attributes:
        user_id: Only those of this user.
        thread_id: Only those of this conversation.
        kind: Only those of this kind, ``model`` or ``decision``.
        since: Only those at this moment or later.
        until: Only those before this moment.
        prompts: Whether model calls include their prompts, which may be large.

    Raises:
        InvalidArgumentError: There is no such kind, or a time has no zone.
    """

    user_id: str
    thread_id: str | None = None
    kind: CallKind | None = None
    since: datetime | None = None
    until: datetime | None = None
    prompts: bool = True

    def __post_init__(self) -> None:
        """Check kind and times."""
        given: object = self.kind
        if given is not None and given not in CALL_KINDS:
            raise InvalidArgumentError(
                f"a kind of call is one of {', '.join(CALL_KINDS)}, not {given!r:.80}"
            )
        with_zone(self.since, "a moment")
        with_zone(self.until, "a moment")


@dataclass(frozen=True, slots=True)
class CallTotals:
    """The totals of the model calls of one conversation.

    Attributes:
        thread_id: The conversation.
        calls: How many model calls there were.
        tokens_full: The tokens that they would have been sent without this library.
        tokens_sent: The tokens that they were sent.
        tokens_spent: The tokens that decisions have cost.
        first: When the first of its records was written.
        last: When the newest of its records was written.
    """

    thread_id: str | None
    calls: int
    tokens_full: int
    tokens_sent: int
    tokens_spent: int
    first: datetime
    last: datetime

    @property
    def tokens_avoided(self) -> int:
        """Return how many tokens were not sent, less what decisions have cost."""
        return self.tokens_full - self.tokens_sent - self.tokens_spent


class KeptCalls(Displayed, list[CallRecord]):
    """A list of model calls and decisions. A notebook shows it as a table."""

    @property
    def model_calls(self) -> list[ModelCall]:
        """Return the model calls, without the decisions."""
        return [one.what for one in self if isinstance(one.what, ModelCall)]


class KeptTotals(Displayed, list[CallTotals]):
    """A list of the totals of conversations. A notebook shows it as a table."""
