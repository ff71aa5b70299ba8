"""Write the package of memories that an agent starts with, and find which of them later texts used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as count_from
from typing import NamedTuple
from uuid import uuid4

from memory_context import sentences_models_read as prompts
from memory_context.memory.assembly_within_budget import (
    Allocation,
    Allotment,
    AssemblyCandidate,
    Form,
    choose,
    choose_more,
)
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.one_line import one_line
from memory_context.model.origin import CONFIRMED
from memory_context.model.reference import names_key
from memory_context.model.registry_of_drawers import Displayed
from memory_context.model.tiers_and_limits import GLOBAL
from memory_context.text.excerpt.excerpt import excerpt
from memory_context.text.notes_that_say_the_same import runs
from memory_context.text.words_and_names import names

TASK = "task"
# Five words in a row are hardly ever in two texts by chance.
QUOTED_WORDS = 5
SAME_BEGINNING = 24

Count = Callable[[str], int]


class RankedMemory(NamedTuple):
    """A memory with its score for the task.

    Attributes:
        item: The record.
        tier: The tier whose share of the budget it takes.
        worth: Its score.
        kept: Its position among the memories that are kept whatever their score: even numbers are
            the last written, odd ones the first written. None for the others.
    """

    item: MemoryItem
    tier: str
    worth: float
    kept: int | None = None

    @property
    def key(self) -> str:
        """Return the memory's key."""
        return self.item.memory_key


@dataclass(frozen=True, slots=True)
class PackageEntry:
    """A memory that is in the package.

    Attributes:
        item: The record.
        tier: The tier whose share of the budget it takes.
        form: ``whole``, ``excerpt`` or ``reference``.
        text: The text that is shown.
        tokens: The tokens of `text`.
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
    """A ranked memory that is not in the package.

    Attributes:
        key: Its key.
        tier: Its tier.
        rank: Its position in the ranking, from 1.
        tokens: The tokens that it would have taken whole.
        reason: Why it was left out.
    """

    key: str
    tier: str
    rank: int
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPackage(Displayed):
    """The memories that an agent starts with. ``str(package)`` is its text; a package without entries is false.

    Attributes:
        id: Identifies this assembly among recorded ones.
        task: The task that it was assembled for.
        text: The text that a model reads; "" without entries.
        tokens: The tokens of `text`.
        budget: The most tokens that it could have.
        allocation: The tiers' parts of the budget.
        entries: The memories in it, tier by tier. Within a tier: the first written that are kept,
            then the others, best first, then the last written that are kept.
        left_out: The ranked memories that are not in it, best first.
        unranked: For each tier, how many memories ranked too low to be looked at.
        all_tokens: The tokens of everything that the tiers hold.
        candidates: The ranked memories, in the form in which `choose` took them.
        room: The tokens of the budget that were left for entries.
        longest: The most tokens that one memory could take.
    """

    id: str
    task: str
    text: str
    tokens: int
    budget: int
    allocation: Allocation
    entries: tuple[PackageEntry, ...]
    left_out: tuple[LeftOut, ...]
    unranked: Mapping[str, int]
    all_tokens: int
    candidates: tuple[AssemblyCandidate, ...] = field(default=(), repr=False)
    room: int = 0
    longest: int | None = None

    def __bool__(self) -> bool:
        """Return whether anything went in."""
        return bool(self.entries)

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    @property
    def items(self) -> list[MemoryItem]:
        """Return the memories that went in, in order."""
        return [entry.item for entry in self.entries]

    @property
    def tokens_by_tier(self) -> dict[str, int]:
        """Return the tokens that the entries of each tier take."""
        tokens = dict.fromkeys(self.allocation, 0)
        for entry in self.entries:
            tokens[entry.tier] += entry.tokens
        return tokens

    @property
    def compression_ratio(self) -> float:
        """Return the share of the tiers' tokens that went in; 1.0 for empty tiers."""
        if not self.all_tokens:
            return 1.0
        return sum(entry.selected for entry in self.entries) / self.all_tokens

    @property
    def summary(self) -> str:
        """Return a line for people: how many memories of which tiers, their tokens, and what was left out."""
        shown = f"{len(self.entries)} memories"
        if self.entries:
            number = Counter(entry.tier for entry in self.entries)
            tiers = ", ".join(f"{count} of {tier}" for tier, count in number.items())
            shown += f" ({tiers})"
        left_out = len(self.left_out) + sum(self.unranked.values())
        return f"{shown} in {self.tokens} of {self.budget} tokens; {left_out} left out"

    def used(self, *texts: str) -> frozenset[str]:
        """Return the keys of the memories that `texts`, a model's words or tool calls, make use of.

        A text uses a memory if it contains its key, or five words in a row of what was shown of it, or
        a name (of a file, a function, a host, a ticket) that was shown of it and that is not in the
        task. A memory that was left out counts as used if a text contains its key. Influence that
        leaves no such trace is not seen.
        """
        said = "\n".join(texts)
        new_names = names(said) - names(self.task)
        quotes = runs(said, QUOTED_WORDS)
        used = {memory.key for memory in self.left_out if names_key(said, memory.key)}
        for entry in self.entries:
            key = entry.item.memory_key
            common_names = new_names.intersection(names(entry.text))
            common_quotes = quotes & runs(entry.text, QUOTED_WORDS)
            if common_names or common_quotes or names_key(said, key):
                used.add(key)
        return frozenset(used)


def make_package(
    ranked: Sequence[RankedMemory],
    task: str,
    budget: int,
    allocation: Allocation,
    longest: int | None,
    held: Mapping[str, tuple[int, int]],
    count: Count,
) -> ContextPackage:
    """Choose among the ranked memories, and write the text, which takes at most `budget` tokens.

    Args:
        ranked: The memories, best first.
        task: The question that excerpts are chosen for.
        budget: The most tokens of the text.
        allocation: Each tier's part of the budget.
        longest: The most tokens that one memory may take; None for no limit.
        held: How many memories and tokens each tier holds.
        count: Counts tokens.
    """
    originals = _originals(ranked)
    wanted = [memory for memory in ranked if memory.key not in originals]
    held_tiers = {memory.tier for memory in wanted}
    tiers = [tier for tier in allocation if tier in held_tiers]
    candidates, room, shown, text = _fill(wanted, tiers, task, budget, allocation, longest, count)
    if TASK in tiers and all(entry.tier != TASK for entry in shown):
        # The headings of all tiers left too little for the task's memories, or better ones took the
        # room. Then the task's memories go first.
        wanted = _task_first(wanted)
        candidates, room, shown, text = _fill(
            wanted, [TASK], task, budget, allocation, longest, count
        )
    number = Counter(memory.tier for memory in ranked)
    return ContextPackage(
        id=uuid4().hex,
        task=task,
        text=text,
        tokens=count(text) if text else 0,
        budget=budget,
        allocation=allocation,
        entries=tuple(shown),
        left_out=tuple(_left_out(ranked, candidates, shown, originals)),
        unranked={tier: max(0, memories - number[tier]) for tier, (memories, _) in held.items()},
        all_tokens=sum(tokens for _, tokens in held.values()),
        candidates=tuple(candidates.values()),
        room=room,
        longest=longest,
    )


def _task_first(wanted: Sequence[RankedMemory]) -> list[RankedMemory]:
    """Return the memories, with those of the task marked as kept, best first."""
    positions = count_from(1, 2)
    marked = list[RankedMemory]()
    for memory in wanted:
        kept = None
        if memory.tier == TASK:
            kept = next(positions)
        marked.append(memory._replace(kept=kept))
    return marked


def _fill(
    wanted: Sequence[RankedMemory],
    tiers: Iterable[str],
    task: str,
    budget: int,
    allocation: Allocation,
    longest: int | None,
    count: Count,
) -> tuple[dict[str, AssemblyCandidate], int, list[PackageEntry], str]:
    """Return the candidates, the tokens that the headings of `tiers` leave, the entries in order, and their text."""
    candidates = {memory.key: _candidate(memory, count, budget) for memory in wanted}
    frame = (prompts.ASSEMBLED_HEADER, *map(_heading, tiers), "")
    room = max(0, budget - count("\n".join(frame)))
    entries = dict[str, PackageEntry]()

    def add_entries(allotments: Mapping[str, Allotment]) -> None:
        for memory in wanted:
            if memory.key in allotments:
                entries[memory.key] = _entry(memory, allotments[memory.key], task, count)

    add_entries(choose(candidates.values(), room, allocation, longest))
    taken = sum(entry.tokens + 1 for entry in entries.values())
    most = room if longest is None else longest
    add_entries(choose_more(candidates.values(), entries, most, room - taken))
    shown, text = _fitted(entries, wanted, tuple(allocation), budget, count)
    return candidates, room, shown, text


def whole_text(item: MemoryItem) -> str:
    """Return the text of a whole memory: its description, unless the content begins with it, and its content."""
    summary = one_line(item.summary)
    text = item.text.strip()
    first_line, _, _ = text.partition("\n")
    begins_with_it = first_line[:SAME_BEGINNING] in summary
    if summary and not begins_with_it:
        headed = f"{summary}:\n{text}"
        if "\n" not in text:
            headed = prompts.ASSEMBLED_LINE.format(summary=summary, text=text)
        text = headed
    indented = text.replace("\n", "\n  ")
    # The mark of its origin is first, where nothing in the memory's own text can precede it.
    return f"-{unconfirmed(item)} {indented}"


def unconfirmed(item: MemoryItem) -> str:
    """Return the mark of a memory's origin; "" for that of a person or a program."""
    if item.origin in CONFIRMED:
        return ""
    return prompts.ORIGIN.format(origin=item.origin)


def _marked_ref(item: MemoryItem) -> str:
    return f"{item.ref}{unconfirmed(item)}"


def _reference_text(item: MemoryItem) -> str:
    return prompts.ASSEMBLED_REFERENCE.format(ref=_marked_ref(item))


def _candidate(memory: RankedMemory, count: Count, budget: int) -> AssemblyCandidate:
    item = memory.item
    opens = isinstance(item.content, str) and not is_secret(item)
    short = count(_reference_text(item)) + 1
    if not opens:
        whole = short
    elif item.token_count > 2 * budget:
        whole = item.token_count  # far too long anyway, and counting it again would take long
    else:
        whole = count(whole_text(item)) + 1
    return AssemblyCandidate(memory.key, memory.tier, whole, short, opens, memory.kept)


def _entry(memory: RankedMemory, allotment: Allotment, task: str, count: Count) -> PackageEntry:
    """Return a memory in its allotted form; as a reference if no excerpt fits."""
    item = memory.item
    tier = memory.tier
    if allotment.form == "whole":
        text = whole_text(item)
        return PackageEntry(item, tier, "whole", text, count(text), item.token_count)
    if allotment.form == "excerpt":
        opening = prompts.ASSEMBLED_PART.format(ref=_marked_ref(item)) + "\n"
        room = allotment.tokens - count(opening) - 2
        part = excerpt(item.text, task, room, count).text
        text = opening + part
        tokens = count(text)
        if part and tokens < allotment.tokens:
            return PackageEntry(item, tier, "excerpt", text, tokens, count(part))
    text = _reference_text(item)
    return PackageEntry(item, tier, "reference", text, count(text), 0)


def _render(entries: Iterable[PackageEntry], tiers: Iterable[str]) -> str:
    """Return the text of entries: a header, and the entries of each tier under its heading."""
    texts: dict[str, list[str]] = {tier: [] for tier in tiers}
    for entry in entries:
        texts[entry.tier].append(entry.text)
    filled = [tier for tier in texts if texts[tier]]
    # Alone, the tier `global` needs no heading: the header says that these are the user's own.
    if filled in ([], [GLOBAL.name]):
        return "\n".join((prompts.LAYER_HEADER, *texts.get(GLOBAL.name, ())))
    lines = [prompts.ASSEMBLED_HEADER]
    for tier in filled:
        lines += [_heading(tier), *texts[tier]]
    return "\n".join(lines)


def _heading(tier: str) -> str:
    return prompts.ASSEMBLED_TIERS.get(tier) or prompts.ASSEMBLED_TIER.format(tier=tier)


def _originals(ranked: Sequence[RankedMemory]) -> dict[str, str]:
    """Return, by the key of each memory that repeats another's text, the key of that other one."""
    first = dict[str, str]()
    originals = dict[str, str]()
    for memory in sorted(ranked, key=lambda memory: memory.kept is None):
        digest = memory.item.content_hash
        if not digest:
            continue
        original = first.setdefault(digest, memory.key)
        if original != memory.key and memory.kept is None:
            originals[memory.key] = original
    return originals


def _fitted(
    entries: Mapping[str, PackageEntry],
    ranked: Sequence[RankedMemory],
    tiers: Sequence[str],
    budget: int,
    count: Count,
) -> tuple[list[PackageEntry], str]:
    """Drop the worst entries until the text fits `budget`; return the others, in order, and the text.

    The choice of the entries was an estimate: the tokens of a text are not the sum of those of its parts.
    """
    remaining = dict(entries)

    def place(memory: RankedMemory) -> tuple[int, int, int]:
        """Return the sort key: in each tier the oldest kept ones, then those not kept, then the newest kept ones."""
        tier = tiers.index(memory.tier)
        if memory.kept is None:
            return tier, 1, 0
        if memory.kept % 2 == 1:
            return tier, 0, memory.kept
        return tier, 2, -memory.kept

    in_order = sorted(ranked, key=place)
    chosen = [memory for memory in ranked if memory.key in entries]
    # A stable sort: the kept ones come first, then the others, best first.
    chosen.sort(key=lambda memory: (memory.kept is None, memory.kept or 0))
    while chosen:
        shown = [remaining[memory.key] for memory in in_order if memory.key in remaining]
        text = _render(shown, tiers)
        if count(text) <= budget:
            return shown, text
        del remaining[chosen.pop().key]
    return [], ""


def _left_out(
    ranked: Sequence[RankedMemory],
    candidates: Mapping[str, AssemblyCandidate],
    entries: Iterable[PackageEntry],
    originals: Mapping[str, str],
) -> Iterator[LeftOut]:
    """Yield the ranked memories that are not in the package, and why."""
    shown = {entry.item.memory_key for entry in entries}
    for rank, memory in enumerate(ranked, 1):
        if memory.key in shown:
            continue
        if memory.key in originals:
            tokens = memory.item.token_count
            reason = f"the same text as {originals[memory.key]}"
        else:
            tokens = candidates[memory.key].whole
            reason = f"no room: {tokens} tokens, and better ones took the budget"
        yield LeftOut(memory.key, memory.tier, rank, tokens, reason)
