"""Answer questions from texts that stay out of the prompt: a light model reads them part by part, and must quote them."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol, runtime_checkable

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import InvalidArgumentError
from memory_context.model.checked_numbers import check_not_negative
from memory_context.model.item import MemoryItem, is_secret
from memory_context.model.json_object import elements_of, members_of
from memory_context.runtime import log_events
from memory_context.text.excerpt.record_around_place import record_at
from memory_context.text.index.analyzer import analyze, held_by
from memory_context.text.rows.names_above_rows import end_of_names
from memory_context.text.tokens.counter import TokenCounter

# Some 4,000 tokens of prose: a light model reads them in a second or two.
PART_CHARACTERS = 16_000
LONGEST_TORN = 2_000
LONGEST_ANSWER = 20_000
LINES_AROUND = 3
MOST_QUOTATIONS = 12
LONGEST_LINE_NUMBER = 12  # digits
_BLANKS = re.compile(r"\s+")
# A place that is not inside a Latin word or a number. Other scripts, such as Chinese, have no spaces between words.
_WORD_EDGE = r"(?:(?<![0-9A-Za-z])|(?![0-9A-Za-z]))"


@runtime_checkable
class LightModel(Protocol):
    """A model that is cheap enough to read long texts."""

    async def complete(self, system: str, prompt: str) -> tuple[str, int]:
        """Return the model's answer, and the tokens of the call."""
        ...


@dataclass(frozen=True, slots=True)
class AskLimits:
    """The limits on the cost of one question.

    Attributes:
        calls: The most model calls, including the one that merges the answers.
        tokens: The most tokens that the prompts for the parts may have together. They are counted before the calls.
        seconds: The time limit of all calls together, in seconds.
        side_by_side: The most calls that run at once.

    Raises:
        InvalidArgumentError: A negative number.
    """

    calls: int = 20
    tokens: int = 100_000
    seconds: float = 60.0
    side_by_side: int = 4

    def __post_init__(self) -> None:
        """Check every number."""
        check_not_negative(self, self.__slots__)


class TextPart(NamedTuple):
    """A part of a memory that is read in one call.

    Attributes:
        key: The key of the memory.
        first: The number of the part's first line in the memory, from 1.
        lines: The lines of the part.
        header: The header of the table that the part continues; "" if it continues none.
    """

    key: str
    first: int
    lines: tuple[str, ...]
    header: str = ""

    @property
    def numbered(self) -> str:
        """Return its header and its lines, each preceded by its number."""
        lines = [f"{number}: {line}" for number, line in enumerate(self.lines, self.first)]
        if self.header:
            lines.insert(0, f"1: {self.header}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words that a memory contains, and the number of the line where they begin."""

    key: str
    line: int
    text: str


class Finding(NamedTuple):
    """The model's answer from one part, its quotations that the part contains, and how many others were dropped."""

    text: str
    quotations: tuple[Quotation, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class AskAnswer:
    """The answer to a question.

    Attributes:
        text: The answer in the model's words; empty if nothing was found.
        quotations: The quotations that it is based on; each was checked to be at its line.
        parts: How many parts the texts have.
        read: How many of them the model read.
        skipped: How many were not worth reading, because they lack the words of the question that tell parts apart.
        dropped: How many quotations were dropped because the text does not contain them.
        calls: How many calls were made.
        tokens: The tokens that these calls cost.
    """

    text: str
    quotations: tuple[Quotation, ...]
    parts: int
    read: int
    skipped: int
    dropped: int
    calls: int
    tokens: int

    @property
    def unread(self) -> int:
        """Return how many parts worth reading were not read: calls, tokens or time ran out, or a call failed."""
        return self.parts - self.read - self.skipped


def parts_of(item: MemoryItem) -> list[TextPart]:
    """Cut a memory into parts of at most 16,000 characters, between lines. A record at a cut is in both parts.

    Raises:
        InvalidArgumentError: It is a secret, or binary.
    """
    text = item.content
    if is_secret(item):
        raise InvalidArgumentError(f"{item.memory_key} is a secret, which no model reads")
    if not isinstance(text, str):
        raise InvalidArgumentError(f"{item.memory_key} is binary content, which no model reads")
    parts = list[TextPart]()
    heading = text[: end_of_names(text, 0, len(text))]
    header = heading.partition("\n")[0]
    number = 1
    counted = 0
    for start, stop in _spans(text):
        number += text.count("\n", counted, start)
        counted = start
        part = text[start:stop]
        lines = part.removesuffix("\n").split("\n")
        continued = header if start else ""
        parts.append(TextPart(item.memory_key, number, tuple(lines), continued))
    return parts


def _spans(text: str) -> list[tuple[int, int]]:
    """Return where the parts begin and end: at the beginning of a line, or within a line that is longer than a part."""
    spans = list[tuple[int, int]]()
    start = 0
    while start < len(text):
        stop = start + PART_CHARACTERS
        if stop >= len(text):
            spans.append((start, len(text)))
            break
        line_start = text.rfind("\n", start, stop) + 1
        if line_start > start:
            stop = line_start
        spans.append((start, stop))
        record = record_at(text, stop, stop)
        torn = text.rfind("\n", 0, record.start) + 1
        is_inside = start < torn < stop
        is_near = stop - torn <= LONGEST_TORN
        start = torn if is_inside and is_near else stop
    return spans


def worth_reading(parts: Sequence[TextPart], question: str) -> list[TextPart]:
    """Return the parts with a word of the question that at least half of the parts lack, those with the rarest first.

    If there is no such word, return all parts in their order.
    """
    wanted = analyze(question).counts
    held = [held_by("\n".join(part.lines), wanted) for part in parts]
    holders = Counter[str]()
    for words in held:
        holders.update(words)
    rarity = dict[str, float]()
    for word, count in holders.items():
        if count <= len(parts) / 2:
            rarity[word] = math.log(len(parts) / count)
    if not rarity:
        return list(parts)
    scored = list[tuple[float, TextPart]]()
    for part, words in zip(parts, held, strict=True):
        rare = words & rarity.keys()
        if rare:
            # A plain sum would depend on the order of the set, which differs between processes.
            score = math.fsum(rarity[word] for word in rare)
            scored.append((score, part))
    scored.sort(key=itemgetter(0), reverse=True)
    return [part for _, part in scored]


@dataclass(slots=True)
class Asking:
    """One question, and what its calls have cost so far."""

    question: str
    model: LightModel
    counter: TokenCounter
    limits: AskLimits
    calls: int = 0
    tokens: int = 0

    async def answer(self, wanted: Sequence[TextPart], parts: int) -> AskAnswer:
        """Return the model's answer from the *wanted* parts, of *parts* in all. Calls that fail or are late are left out."""
        deadline = time.monotonic() + self.limits.seconds
        findings = await self._read(wanted)
        found = [finding for finding in findings if finding.text]
        # Without repetitions: where two parts overlap, both contain the quotation.
        quotations = dict[Quotation, None]()
        for finding in found:
            quotations |= dict.fromkeys(finding.quotations)
        return AskAnswer(
            await self._merged(found, deadline - time.monotonic()),
            tuple(quotations)[:MOST_QUOTATIONS],
            parts,
            len(findings),
            parts - len(wanted),
            sum(finding.dropped for finding in findings),
            self.calls,
            self.tokens,
        )

    async def _read(self, parts: Sequence[TextPart]) -> list[Finding]:
        """Return what the model finds in as many *parts* as the limits allow, sorted by key and line."""
        tasks = dict[TextPart, asyncio.Task[Finding | None]]()
        turn = asyncio.Semaphore(max(self.limits.side_by_side, 1))
        # One call is kept for the merge, unless it is the only one.
        most = max(self.limits.calls - 1, min(self.limits.calls, 1))
        planned = 0
        for part in parts[:most]:
            prompt = prompts.ASK_PART.format(
                key=part.key, text=part.numbered, question=self.question
            )
            planned += self.counter.count(prompts.ASK_SYSTEM + prompt)
            if planned > self.limits.tokens:
                break
            tasks[part] = asyncio.create_task(self._finding(part, prompt, turn))
        if not tasks:
            return []
        _, late = await asyncio.wait(tasks.values(), timeout=self.limits.seconds)
        for task in late:
            task.cancel()
        in_order = [tasks[part] for part in sorted(tasks, key=attrgetter("key", "first"))]
        found = [task.result() for task in in_order if task not in late]
        return list(filter(None, found))

    async def _finding(
        self, part: TextPart, prompt: str, turn: asyncio.Semaphore
    ) -> Finding | None:
        async with turn:
            try:
                given = await self._call(prompts.ASK_SYSTEM, prompt)
                return finding_in(given, part)
            except Exception as error:  # noqa: BLE001 - whatever a client raises, or a model writes
                log_events.ASK_FAILED.log(error, memory_key=part.key, line=part.first)
                return None

    async def _merged(self, findings: Sequence[Finding], seconds_left: float) -> str:
        """Return one answer made from several; if that fails, all of them, one below the other."""
        together = "\n".join(finding.text for finding in findings)
        may_call = self.calls < self.limits.calls and seconds_left > 0
        if len(findings) < 2 or not may_call:
            return together
        listed = "\n\n".join(map(_with_quotations, findings))
        prompt = prompts.ASK_MERGE.format(answers=listed, question=self.question)
        try:
            call = self._call(prompts.ASK_MERGE_SYSTEM, prompt)
            answer = await asyncio.wait_for(call, seconds_left)
            return answer.strip() or together
        except Exception as error:  # noqa: BLE001 - as above
            log_events.ASK_FAILED.log(error, memory_key="", line=0)
            return together

    async def _call(self, system: str, prompt: str) -> str:
        self.calls += 1
        text, tokens = await self.model.complete(system, prompt)
        self.tokens += tokens
        return text[:LONGEST_ANSWER]


def _with_quotations(finding: Finding) -> str:
    quoted = [f"{one.key} line {one.line}: {one.text}" for one in finding.quotations]
    return "\n".join([finding.text, *quoted])


def finding_in(given: str, part: TextPart) -> Finding:
    """Parse a model's answer about a part, and keep the quotations that the part contains.

    Raises:
        ValueError: It is not the JSON object that was asked for.
    """
    start = given.find("{")
    stop = given.rfind("}") + 1
    fields = members_of(json.loads(given[start:stop]))
    if "answer" not in fields:
        raise ValueError(
            f"the model's answer is not the JSON object that was asked for: {given!r:.80}"
        )
    claimed = elements_of(fields.get("quotes"))
    checked = [checked_quotation(quote, part) for quote in claimed]
    quotations = [quotation for quotation in checked if quotation]
    dropped = len(claimed) - len(quotations)
    text = str(fields["answer"] or "").strip()
    return Finding(text, tuple(quotations[:MOST_QUOTATIONS]), dropped)


def checked_quotation(quote: Any, part: TextPart) -> Quotation | None:  # noqa: ANN401 - whatever a model writes
    """Return a quotation with the line where it begins, the nearest to the claimed one; None if the part lacks it.

    Whitespace may differ, and it may span up to three lines. A part of a number or of a Latin word is not a quotation.
    """
    fields = members_of(quote)
    words = _plain(str(fields.get("text") or ""))
    if not words:
        return None
    line = str(fields.get("line"))
    claimed = 0
    if line.isdecimal() and len(line) <= LONGEST_LINE_NUMBER:
        claimed = int(line) - part.first
    pattern = re.compile(f"{_WORD_EDGE}{re.escape(words)}{_WORD_EDGE}")
    starts = list[int]()
    for index, first_line in enumerate(part.lines):
        around = part.lines[index : index + LINES_AROUND]
        found = pattern.search(_plain(" ".join(around)))
        if found and found.start() < len(_plain(first_line)):
            starts.append(index)
    if not starts:
        if pattern.search(_plain(part.header)):
            return Quotation(part.key, 1, words)
        return None
    nearest = min(starts, key=lambda index: abs(index - claimed))
    return Quotation(part.key, part.first + nearest, words)


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()
