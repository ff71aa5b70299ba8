"""A package of memories as a model reads it: its entries, its text, and what later texts made use of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from memory_context.memory.budgeting import Allocation, Candidate, Form, Place
from memory_context.model.drawers import Displayed
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.reference import names_key, one_line
from memory_context.runtime import prompts
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.similarity import runs
from memory_context.text.terms import names

GLOBAL = "global"
QUOTED_WORDS = 5
SAME_BEGINNING = 24

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory that was looked at.

    Attributes:
        item: The record.
        tier: Whose share it takes.
        worth: Its score.
        kept: Its place among those that are kept whatever they are worth: even for the last written, odd for the first.
    """

    item: MemoryItem
    tier: str
    worth: float
    kept: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory that went in.

    Attributes:
        item: The record.
        tier: Whose share it takes.
        form: ``whole``, ``excerpt`` or ``reference``.
        text: What is shown.
        tokens: What that takes.
        selected: The tokens of its content that are shown; 0 for a reference.
    """

    item: MemoryItem
    tier: str
    form: Form
    text: str
    tokens: int
    selected: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that was ranked and did not go in.

    Attributes:
        key: Its key.
        tier: Its tier.
        rank: Its place among the ranked ones, from 1.
        tokens: What it would have taken whole.
        reason: Why.
    """

    key: str
    tier: str
    rank: int
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPackage(Displayed):
    """What an agent starts with. ``str(package)`` is its text; a package without entries is false.

    Attributes:
        id: Names this assembly among those that are recorded.
        task: What it was assembled for.
        text: What a model reads; "" without entries.
        tokens: The tokens of `text`.
        budget: The most that it might have.
        allocation: The tiers' parts of the budget.
        entries: What went in, tier by tier, best first; what is kept of a tier's beginning first, of its end last.
        left_out: What was ranked and did not go in, best first.
        unranked: For each tier, how many memories ranked too low to be looked at.
        all_tokens: The tokens of everything that the tiers hold.
        candidates: What was ranked, as `choose` took it.
        room: What was left of the budget for entries.
        longest: The most tokens that one memory might take.
    """

    id: str
    task: str
    text: str
    tokens: int
    budget: int
    allocation: Allocation
    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]
    unranked: Mapping[str, int]
    all_tokens: int
    candidates: tuple[Candidate, ...] = field(default=(), repr=False)
    room: int = 0
    longest: int | None = None

    def __bool__(self) -> bool:
        """Whether anything went in."""
        return bool(self.entries)

    def __str__(self) -> str:
        """The text."""
        return self.text

    def render(self) -> str:
        """The text that a model reads: a header, and the entries under their tiers."""
        return self.text

    @property
    def items(self) -> list[MemoryItem]:
        """The memories that went in, in order."""
        return [entry.item for entry in self.entries]

    @property
    def tokens_by_tier(self) -> dict[str, int]:
        """What the entries of each tier take."""
        found = dict.fromkeys(self.allocation, 0)
        for entry in self.entries:
            found[entry.tier] += entry.tokens
        return found

    @property
    def compression_ratio(self) -> float:
        """The tokens of contents that went in, by the tokens of everything that the tiers hold; 1.0 for nothing."""
        return (
            sum(entry.selected for entry in self.entries) / self.all_tokens
            if self.all_tokens
            else 1.0
        )

    def used(self, *texts: str) -> frozenset[str]:
        """The keys of the memories that `texts`, what a model said or called tools with, make use of.

        A memory is used by a text that names its key, that holds a name out of what was shown of it (of a file, a
        function, a host, a ticket) which the task did not hold, or that quotes five words in a row of it. One that was
        left out is used by a text that names its key. What shapes an answer without being named in it is not seen.
        """
        said = "\n".join(texts)
        spoken, quoted = names(said) - names(self.task), runs(said, QUOTED_WORDS)
        shown = (
            entry.item.memory_key
            for entry in self.entries
            if _speaks_of(entry, said, spoken, quoted)
        )
        return frozenset((*shown, *(one.key for one in self.left_out if names_key(said, one.key))))


def _speaks_of(
    entry: Entry, said: str, spoken: set[str], quoted: AbstractSet[tuple[str, ...]]
) -> bool:
    return (
        names_key(said, entry.item.memory_key)
        or not spoken.isdisjoint(names(entry.text))
        or not quoted.isdisjoint(runs(entry.text, QUOTED_WORDS))
    )


def whole_text(item: MemoryItem) -> str:
    """A memory whole: its description, unless it only says how the content begins, and its content."""
    lines, summary = item.text.strip().split("\n"), one_line(item.summary)
    if not summary or lines[0][:SAME_BEGINNING] in summary:
        return "\n  ".join((f"- {lines[0]}", *lines[1:]))
    if len(lines) > 1:
        return "\n  ".join((f"- {summary}:", *lines))
    return prompts.ASSEMBLED_LINE.format(summary=summary, text=lines[0])


def reference_text(item: MemoryItem) -> str:
    """The reference of a memory, as an entry."""
    return prompts.ASSEMBLED_REFERENCE.format(ref=item.ref)


def opens(item: MemoryItem) -> bool:
    """Whether something of the content may be shown."""
    return isinstance(item.content, str) and not is_secret(item)


def candidate_of(one: Ranked, count: Count, budget: int) -> Candidate:
    """What a memory would take; that of a text that is far too long is not counted anew."""
    item = one.item
    short = count(reference_text(item)) + 1
    whole = (
        count(whole_text(item)) + 1
        if opens(item) and item.token_count <= 2 * budget
        else item.token_count
    )
    return Candidate(
        item.memory_key, one.tier, whole if opens(item) else short, short, opens(item), one.kept
    )


def entry_of(one: Ranked, place: Place, task: str, count: Count) -> Entry:
    """A memory in the form that it gets; as a reference where no excerpt fits."""
    item = one.item
    if place.form == "whole":
        text = whole_text(item)
        return Entry(item, one.tier, "whole", text, count(text), item.token_count)
    if place.form == "excerpt":
        opening = f"{prompts.ASSEMBLED_PART.format(ref=item.ref)}\n"
        part = excerpt(item.text, task, place.tokens - count(opening) - 2, count).text
        text = opening + part
        if part and count(text) < place.tokens:
            return Entry(item, one.tier, "excerpt", text, count(text), count(part))
    text = reference_text(item)
    return Entry(item, one.tier, "reference", text, count(text), 0)


def render(entries: Iterable[Entry], tiers: Iterable[str]) -> str:
    """The text of entries: a header, and what each tier has, under a heading if it is not the user's alone."""
    by_tier: dict[str, list[str]] = {tier: [] for tier in tiers}
    for entry in entries:
        by_tier[entry.tier].append(entry.text)
    full = {tier: texts for tier, texts in by_tier.items() if texts}
    if full.keys() <= {GLOBAL}:
        return "\n".join((prompts.LAYER_HEADER, *full.get(GLOBAL, ())))
    parts = (part for tier, texts in full.items() for part in (_heading(tier), *texts))
    return "\n".join((prompts.ASSEMBLED_HEADER, *parts))


def overhead(tiers: Sequence[str]) -> str:
    """The header and the headings that the text of these tiers may have."""
    return "\n".join((prompts.ASSEMBLED_HEADER, *map(_heading, tiers), ""))


def _heading(tier: str) -> str:
    return prompts.ASSEMBLED_TIERS.get(tier) or prompts.ASSEMBLED_TIER.format(tier=tier)


def ordered(ranked: Sequence[Ranked], tiers: Sequence[str]) -> list[Ranked]:
    """Tier by tier: the first written of those that are kept, then best first, then the last written."""

    def place(pair: tuple[int, Ranked]) -> tuple[int, int, int]:
        rank, one = pair
        if one.kept is None:
            return tiers.index(one.tier), 1, rank
        return (
            (tiers.index(one.tier), 2, -one.kept)
            if one.kept % 2 == 0
            else (tiers.index(one.tier), 0, one.kept)
        )

    return [one for _, one in sorted(enumerate(ranked), key=place)]


def copies(ranked: Sequence[Ranked]) -> dict[str, str]:
    """The keys of memories with the text of another one that goes before them, and the key of that one."""
    first, found = dict[str, str](), dict[str, str]()
    for one in sorted(ranked, key=lambda one: one.kept is None):
        digest, key = one.item.content_hash, one.item.memory_key
        if digest and first.setdefault(digest, key) != key and one.kept is None:
            found[key] = first[digest]
    return found


def fitted(
    entries: Mapping[str, Entry],
    ranked: Sequence[Ranked],
    tiers: Sequence[str],
    budget: int,
    count: Count,
) -> tuple[list[Entry], str]:
    """The entries that really fit, in order, and their text: without the worst, until it takes `budget` at most."""
    going = [one for one in ranked if one.item.memory_key in entries]
    going.sort(
        key=lambda one: (one.kept is None, one.kept or 0)
    )  # stable: best first behind those that are kept
    while going:
        shown = [entries[one.item.memory_key] for one in ordered(_by_rank(going, ranked), tiers)]
        text = render(shown, tiers)
        if count(text) <= budget:
            return shown, text
        del going[-1]
    return [], ""


def _by_rank(some: Sequence[Ranked], ranked: Sequence[Ranked]) -> list[Ranked]:
    keys = {one.item.memory_key for one in some}
    return [one for one in ranked if one.item.memory_key in keys]


def left_out_of(
    ranked: Sequence[Ranked],
    candidates: Mapping[str, Candidate],
    entries: Iterable[Entry],
    same: Mapping[str, str],
) -> list[LeftOut]:
    """What was ranked and did not go in, and why."""
    shown = {entry.item.memory_key for entry in entries}
    left = [(rank, one) for rank, one in enumerate(ranked, 1) if one.item.memory_key not in shown]
    return [_left_out(rank, one, candidates, same) for rank, one in left]


def _left_out(
    rank: int, one: Ranked, candidates: Mapping[str, Candidate], same: Mapping[str, str]
) -> LeftOut:
    key = one.item.memory_key
    if key in same:
        return LeftOut(key, one.tier, rank, one.item.token_count, f"the same text as {same[key]}")
    tokens = candidates[key].whole
    return LeftOut(
        key, one.tier, rank, tokens, f"no room: {tokens} tokens, and better ones took the budget"
    )
