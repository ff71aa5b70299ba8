"""What comes back by itself, and what is read and found: the table of recall, beside plain ways to do the same.

    python benchmarks/recall.py [--judged FOLDER] [--seed 1] [--scale 1.0]

Records, numbers and messages that need nothing are made here (`recall_data.py`); the same seed makes the same ones.
A conversation gets large outputs, then one question, and the prompt is looked at. Right is

- for **records**: number, code and owner's id of a named record stand in what came back, or in the prompt before it;
- for **numbers and names**: the line that answers stands in either, whole;
- for **messages that need nothing**: nothing came;
- for **compacted conversations** (``max_tokens=1500``): the name or number that answers a plain question about an early
  turn, after 2, 8 and 26 compactions. Beside it: BM25 over the turns, and the newest turns, in as many tokens;
- for **messages**, with ``--judged``: a message that answers, among the turns that keyword matching opens.

Beside it: BM25 over chunks of 1,000 characters, the best 2,000 tokens of them; and "the newest three", the beginnings of
the last three outputs in as many tokens.

With `--judged` also judged sets: see `judged_sets.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)
from judged_sets import meetings, users  # type: ignore[import-not-found] # beside this file
from recall_data import (  # type: ignore[import-not-found] # beside this file
    NEEDS_NOTHING,
    Person,
    exact_outputs,
    outputs_with_long_texts,
    record_outputs,
    record_questions,
)
from recall_turns import Fact, conversation  # type: ignore[import-not-found] # beside this file
from rich.console import Console
from rich.table import Table

from memory_context import MemoryContext, MemoryItem, MemoryManager, default_counter
from memory_context.conversation.message import Message, as_lines
from memory_context.conversation.recall.judge_records import Question
from memory_context.conversation.recall.keyword_judge import judge_by_keywords
from memory_context.text.relevance.recall_candidates_and_their_calls import RecallCandidate
from memory_context.text.words_and_names import STOP_WORDS

CHUNK = 1000
BUDGET = 2000
MEETINGS = 10
CHARACTERS_PER_TOKEN = 4
console = Console(width=None if sys.stdout.isatty() else 130)
count = default_counter().count


@dataclass(frozen=True)
class Brought:
    """What a question brought back.

    Attributes:
        text: What came.
        prompt: What stood in the prompt anyway.
        tokens: Those of `text`.
        seconds: How long it took.
    """

    text: str
    prompt: str
    tokens: int
    seconds: float


Way: TypeAlias = Callable[[str], Brought]


class Library:
    """A conversation of this library with some outputs: each question is asked of the same state."""

    def __init__(self, outputs: Sequence[str], folder: Path) -> None:
        self._store = f"sqlite:///{folder}/{time.monotonic_ns()}.db"
        self._loop = asyncio.new_event_loop()
        self._state = self._loop.run_until_complete(self._added(outputs))

    async def _added(self, outputs: Sequence[str]) -> Mapping[str, Any]:
        context = MemoryContext("ann", store=self._store, thread_id="bench")
        await context.add_message(
            UserMessage(content="Load what we have, I shall ask about it.", source="user")
        )
        for number, output in enumerate(outputs):
            call = FunctionCall(id=str(number), name="export", arguments=f'{{"part": {number}}}')
            result = FunctionExecutionResult(
                content=output, name="export", call_id=call.id, is_error=False
            )
            await context.add_message(AssistantMessage(content=[call], source="agent"))
            await context.add_message(FunctionExecutionResultMessage(content=[result]))
            await context.get_messages()
        await context.add_message(AssistantMessage(content="I have loaded it.", source="agent"))
        await context.get_messages()
        return await context.save_state()

    def __call__(self, question: str) -> Brought:
        """Ask one question."""
        return self._loop.run_until_complete(self._asked(question))

    async def _asked(self, question: str) -> Brought:
        context = MemoryContext("ann", store=self._store, thread_id="bench")
        await context.load_state(self._state)
        before = await context.get_messages()
        await context.add_message(UserMessage(content=question, source="user"))
        started = time.perf_counter()
        messages = await context.get_messages()
        seconds = time.perf_counter() - started
        recalled = messages[len(before) : -1]
        text = "\n".join(str(message.content) for message in recalled)
        prompt = "\n".join(_shown(message.content) for message in before)
        await context.aclose()
        return Brought(text, prompt, count(text) if text else 0, seconds)

    def close(self) -> None:
        """End the event loop."""
        self._loop.close()


def _shown(content: object) -> str:
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return "\n".join(str(getattr(part, "content", "")) for part in content)


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]


class PlainBM25:
    """BM25 over chunks; the best ones within some tokens. It always brings as much."""

    def __init__(
        self,
        chunks: Sequence[str],
        budget: int = BUDGET,
        words_of: Callable[[str], list[str]] = _words,
    ) -> None:
        self._chunks, self._budget, self._words_of = chunks, budget, words_of
        self._words = [Counter(words_of(chunk)) for chunk in self._chunks]
        self._holding = Counter(word for words in self._words for word in words)
        self._average = statistics.fmean(words.total() for words in self._words)

    def __call__(self, question: str) -> Brought:
        """Ask one question."""
        started = time.perf_counter()
        shown, left = list[str](), self._budget
        for chunk in self.ranked(question):
            tokens = count(chunk)
            if tokens > left:
                break
            shown.append(chunk)
            left -= tokens
        return Brought("\n".join(shown), "", self._budget - left, time.perf_counter() - started)

    def ranked(self, question: str) -> list[str]:
        """Return the chunks that hold a word of the question, the best first."""
        wanted = set(self._words_of(question))
        scores = [self._score(words, wanted) for words in self._words]
        places = sorted(range(len(scores)), key=lambda place: -scores[place])
        return [self._chunks[place] for place in places if scores[place]]

    def share_of(self, question: str, chunk: str) -> float:
        """Return the share of the question's words, by their rarity, that stand in a chunk."""
        wanted = set(self._words_of(question))
        held = sum(map(self._rarity, wanted.intersection(self._words_of(chunk))))
        return held / max(sum(map(self._rarity, wanted)), 1e-9)

    def _rarity(self, word: str) -> float:
        holding = self._holding[word]
        return math.log1p((len(self._words) - holding + 0.5) / (holding + 0.5))

    def _score(self, words: Counter[str], wanted: set[str]) -> float:
        score = 0.0
        for word in wanted & words.keys():
            rarity = self._rarity(word)
            norm = 1.2 * (0.25 + 0.75 * words.total() / self._average)
            score += rarity * words[word] * 2.2 / (words[word] + norm)
        return score


def chunks_of(outputs: Sequence[str]) -> list[str]:
    """Return chunks of 1,000 characters."""
    return [
        output[start : start + CHUNK]
        for output in outputs
        for start in range(0, len(output), CHUNK)
    ]


class NewestThree:
    """The beginnings of the last three outputs."""

    def __init__(self, outputs: Sequence[str]) -> None:
        part = BUDGET // 3 * CHARACTERS_PER_TOKEN
        self._text = "\n".join(output[:part] for output in outputs[-3:])

    def __call__(self, question: str) -> Brought:  # noqa: ARG002 - the same for every question
        """Ask one question."""
        return Brought(self._text, "", count(self._text), 0.0)


def ways_over(outputs: Sequence[str], folder: Path) -> dict[str, Way]:
    """Return the three ways to bring something back."""
    return {
        "memory-context": Library(outputs, folder),
        "BM25, 1,000 characters": PlainBM25(chunks_of(outputs)),
        "the newest three": NewestThree(outputs),
    }


@dataclass
class Tally:
    """What one way brought for the questions of one row."""

    right: int = 0
    asked: int = 0
    questions: int = 0
    tokens: int = 0
    came: int = 0
    share: float = 0.0
    seconds: list[float] = field(default_factory=list[float])

    def add(self, brought: Brought, right: int, asked: int, share: float = 0.0) -> None:
        """Count a question."""
        self.right += right
        self.asked += asked
        self.questions += 1
        self.tokens += brought.tokens
        self.came += bool(brought.text)
        self.share += share
        self.seconds.append(brought.seconds)


Rows: TypeAlias = dict[tuple[str, str], Tally]


def tally(rows: Rows, row: str, way: str) -> Tally:
    """Return the tally of a row and a way, a new one at first."""
    return rows.setdefault((row, way), Tally())


def record_in_sight(person: Person, brought: Brought) -> bool:
    """Return whether a record and its owner's id stand in the prompt."""
    shown = f"{brought.text}\n{brought.prompt}"
    return all(value in shown for value in (person.code, person.owner, person.name))


def measure_records(rows: Rows, chance: random.Random, scale: float, folder: Path) -> None:
    """Ask about records in conversations of several outputs of 30,000 to 100,000 tokens each."""
    for number in range(max(1, round(4 * scale))):
        sizes = (75_000, 100_000, 150_000, 220_000)
        size = int(sizes[number % len(sizes)] * min(scale, 1.0))
        outputs = record_outputs(chance, size, 5)
        questions = record_questions(chance, outputs, max(6, round(45 * min(scale, 1.0))))
        for way, bring in ways_over([output.text for output in outputs], folder).items():
            for question in questions:
                brought = bring(question.text)
                seen = [record_in_sight(person, brought) for person in question.named]
                tally(rows, "records named in long questions", way).add(
                    brought, sum(seen), len(seen)
                )
                for form, was_seen in zip(question.forms, seen, strict=True):
                    tally(rows, f"  of them in {form}", way).add(brought, was_seen, 1)
            if way != "the newest three":
                measure_quiet(rows, f"messages that need nothing, records {number + 1}", way, bring)


def measure_long_records(rows: Rows, chance: random.Random, scale: float, folder: Path) -> None:
    """Ask about records that are too long to come whole."""
    outputs = outputs_with_long_texts(chance)
    questions = record_questions(chance, outputs, max(9, round(60 * min(scale, 1.0))))
    for way, bring in ways_over([output.text for output in outputs], folder).items():
        for question in questions:
            brought = bring(question.text)
            seen = [record_in_sight(person, brought) for person in question.named]
            tally(rows, "records with a long text", way).add(brought, sum(seen), len(seen))


def measure_exact(rows: Rows, chance: random.Random, scale: float, folder: Path) -> None:
    """Ask for numbers and names that stand inside others."""
    outputs, questions = exact_outputs(chance)
    questions = questions[:: max(1, round(1 / scale))]
    for way, bring in ways_over(outputs, folder).items():
        for question in questions:
            brought = bring(question.text)
            row = (
                "order N in 1,500 lines" if "order" in question.text else "worker-N, T-N, /dev/sdXN"
            )
            right = question.line in f"{brought.text}\n{brought.prompt}"
            # A reference's description may quote the first line of a text.
            shown = re.sub(r"(?m)^\[MemoryRef: .*", "", brought.text)
            lines = [line for output in outputs for line in output.split("\n")]
            others = sum(line in shown for line in lines if line != question.line)
            tally(rows, row, way).add(brought, right, 1, share=others)
        if way != "the newest three":
            measure_quiet(rows, "messages that need nothing, lists", way, bring)


def measure_compactions(rows: Rows, chance: random.Random, scale: float, folder: Path) -> None:
    """Measure what an early turn's question brings after some compactions."""
    for number in range(max(1, round(8 * scale))):
        turns, facts = conversation(chance, 260)
        asyncio.run(_after_compactions(rows, turns, facts, folder / f"turns{number}.db"))


async def _after_compactions(
    rows: Rows, turns: Sequence[tuple[str, str]], facts: Sequence[Fact], path: Path
) -> None:
    """Go through *turns*, and ask the five questions after 2, 8 and 26 compactions."""
    settings: dict[str, Any] = {"store": f"sqlite:///{path}", "thread_id": "bench"}
    context = MemoryContext("ann", max_tokens=1500, **settings)
    said = list[str]()
    asked_at = [2, 8, 26]
    for question, answer in turns:
        await context.add_message(UserMessage(content=question, source="user"))
        await context.get_messages()
        await context.add_message(AssistantMessage(content=answer, source="agent"))
        said.append(f"user: {question}\nassistant: {answer}")
        if asked_at and context.stats().compactions >= asked_at[0]:
            row = f"early turns, {asked_at.pop(0)} compactions"
            state = await context.save_state()
            for fact in facts:
                await _ask_fact(rows, row, fact, state, settings, said)
            row = "messages that need nothing, compacted turns"
            for message in NEEDS_NOTHING[:: 1 + 3 * bool(asked_at)]:
                nothing = Fact("", "", message, "")
                await _ask_fact(rows, row, nothing, state, settings, said)
        if not asked_at:
            break
    await context.aclose()


async def _ask_fact(
    rows: Rows,
    row: str,
    fact: Fact,
    state: Mapping[str, Any],
    settings: Mapping[str, Any],
    said: Sequence[str],
) -> None:
    context = MemoryContext("ann", max_tokens=1500, **settings)
    await context.load_state(state)
    before = await context.get_messages()
    await context.add_message(UserMessage(content=fact.question, source="user"))
    started = time.perf_counter()
    messages = await context.get_messages()
    seconds = time.perf_counter() - started
    # A compaction may make room for what comes, so the recalled text is told by whether it is new.
    old = [message.content for message in before]
    came = "\n".join(
        _shown(message.content) for message in messages[:-1] if message.content not in old
    )
    prompt = "\n".join(_shown(message.content) for message in messages[:-1])
    brought = Brought(came, prompt, count(came) if came else 0, seconds)
    right = fact.needed in prompt if fact.needed else not came
    tally(rows, row, "memory-context").add(brought, right, 1)
    await context.aclose()
    for name, bring in (("BM25 over turns", _best_turns), ("the newest turns", _newest_turns)):
        found = bring(said, fact.question)
        right = fact.needed in found if fact.needed else not found
        tally(rows, row, name).add(Brought(found, "", count(found), 0), right, 1)


def _best_turns(said: Sequence[str], question: str) -> str:
    """Return the best turns by BM25, in 375 tokens: a quarter of the limit, as recall has."""
    return PlainBM25(said, 375)(question).text


def _newest_turns(said: Sequence[str], question: str) -> str:  # noqa: ARG001 - the same for every question
    """Return the newest turns that the limit holds."""
    shown = list[str]()
    left = 1500
    for turn in reversed(said):
        left -= count(turn)
        if left < 0:
            break
        shown.append(turn)
    return "\n".join(shown)


def measure_quiet(rows: Rows, row: str, way: str, bring: Way) -> None:
    """Say what needs nothing: right is if nothing comes."""
    for message in NEEDS_NOTHING:
        brought = bring(message)
        tally(rows, row, way).add(brought, not brought.text, 1)


def needed_lines(question: Mapping[str, Any]) -> set[int]:
    """Return the numbers of the lines that people marked."""
    return {number for first, last in question["lines"] for number in range(first, last + 1)}


def shown_lines(lines: Sequence[str], shown: str) -> set[int]:
    """Return the numbers of the lines, longer than a word or two, that stand whole in a text."""
    return {number for number, line in enumerate(lines, 1) if len(line) > 25 and line in shown}


def measure_meetings(rows: Rows, sets: Path, scale: float, folder: Path) -> None:
    """Put ten meetings into one conversation, and ask about each."""
    judged = meetings(sets)
    judged = judged[: max(MEETINGS, int(len(judged) * scale))]
    for start in range(0, len(judged), MEETINGS):
        group = judged[start : start + MEETINGS]
        for way, bring in ways_over([meeting["text"] for meeting in group], folder).items():
            for meeting in group:
                lines = meeting["text"].split("\n")
                for question in meeting["questions"]:
                    brought = bring(question["query"])
                    needed = needed_lines(question) & shown_lines(lines, meeting["text"])
                    shown = shown_lines(lines, brought.text) & needed
                    share = _length(lines, shown) / max(1, _length(lines, needed))
                    tally(rows, "ten meetings, questions in plain words", way).add(
                        brought, bool(shown), 1, share
                    )
            if way != "the newest three":
                measure_quiet(rows, "messages that need nothing, meetings", way, bring)


def _length(lines: Sequence[str], numbers: set[int]) -> int:
    return sum(len(lines[number - 1]) for number in numbers)


def measure_reading(sets: Path, folder: Path, scale: float = 1) -> Table:
    """Read parts of one meeting by a question: how much of what is needed is shown, and how much of it is needed."""
    table = Table(
        "read by a question",
        "recall",
        "precision",
        "any",
        "tokens",
        title="retrieve(query=, max_tokens=)",
    )
    judged = meetings(sets)
    judged = judged[: max(MEETINGS, int(len(judged) * scale))]
    with MemoryManager(f"sqlite:///{folder}/read.db", user_id="ann") as memory:
        keys = [memory.store(meeting["text"]) for meeting in judged]
        for budget in (200, 1000, 2000):
            for way in ("memory-context", "BM25 over lines"):
                figures = list[tuple[float, float, bool, int]]()
                for key, meeting in zip(keys, judged, strict=True):
                    lines = meeting["text"].split("\n")
                    for question in meeting["questions"]:
                        if way == "memory-context":
                            shown = memory.retrieve(key, query=question["query"], max_tokens=budget)
                        else:
                            shown = _best_lines(lines, question["query"], budget)
                        assert isinstance(shown, str)
                        figures.append(_reading_figures(lines, shown, needed_lines(question)))
                recall, precision, some, tokens = zip(*figures, strict=True)
                table.add_row(
                    f"{way}, {budget:,} tokens",
                    f"{statistics.fmean(recall):.3f}",
                    f"{statistics.fmean(precision):.3f}",
                    f"{statistics.fmean(some):.3f}",
                    f"{statistics.fmean(tokens):,.0f}",
                )
    return table


def _reading_figures(
    lines: Sequence[str], shown: str, needed: set[int]
) -> tuple[float, float, bool, int]:
    """Return recall and precision in characters, parts of lines counted too; whether anything is there; the tokens."""
    pieces = [piece.strip() for piece in re.split(r"[\n…]", shown)]
    pieces = [piece for piece in pieces if len(piece) > 15]
    wanted = "\n".join(lines[number - 1] for number in sorted(needed))
    hit = sum(len(piece) for piece in pieces if piece in wanted)
    everything = sum(map(len, pieces))
    return hit / max(1, len(wanted)), hit / max(1, everything), hit > 0, count(shown)


def _best_lines(lines: Sequence[str], question: str, budget: int) -> str:
    """Return the lines that BM25 ranks best, as many as the budget takes, in their order."""
    words = [Counter(_words(line)) for line in lines]
    holding = Counter(word for held in words for word in held)
    average = max(1.0, statistics.fmean(held.total() for held in words))
    scores = dict[int, float]()
    for place, held in enumerate(words):
        for word in set(_words(question)) & held.keys():
            rarity = math.log1p((len(lines) - holding[word] + 0.5) / (holding[word] + 0.5))
            norm = 1.2 * (0.25 + 0.75 * held.total() / average)
            score = rarity * held[word] * 2.2 / (held[word] + norm)
            scores[place] = scores.get(place, 0.0) + score
    chosen, left = list[int](), budget
    for place in sorted(scores, key=lambda place: -scores[place]):
        tokens = count(lines[place]) + 1
        if tokens <= left:
            chosen.append(place)
            left -= tokens
    return "\n".join(lines[place] for place in sorted(chosen))


def measure_search(sets: Path, folder: Path) -> Table:
    """Search one user's messages for the one that answers."""
    hits = Counter[tuple[str, int]]()
    asked = 0
    for user in users(sets):
        texts = [turn["text"] for turn in user["turns"]]
        with MemoryManager(f"sqlite:///{folder}/search.db", user_id=user["id"]) as memory:
            keys = [memory.store(text) for text in texts]
            porter = _fts5(texts)
            for question in user["questions"]:
                query, right = question["query"], set(question["turns"])
                asked += 1
                ours = [item.memory_key for item in memory.search(query, limit=10)]
                for way, found in (
                    ("memory-context", [keys.index(key) for key in ours]),
                    ("FTS5, porter", porter(query)),
                ):
                    for limit in (1, 5, 10):
                        hits[way, limit] += bool(right.intersection(found[:limit]))
    table = Table("search", "hit@1", "hit@5", "hit@10", title="BFCL memory")
    for way in dict.fromkeys(way for way, _ in hits):
        table.add_row(way, *(f"{hits[way, limit] / asked:.3f}" for limit in (1, 5, 10)))
    return table


def measure_messages(rows: Rows, sets: Path) -> None:
    """Ask about each user's messages, stored as one compacted conversation: is a message that answers among the turns?"""
    for user in users(sets):
        said = list[Message]()
        for turn in user["turns"]:
            said.append(Message("u", "user", "user", {0: turn["text"]}))
            said.append(Message("a", "assistant", "agent", {0: "I see, noted."}))
        text = as_lines(said)
        item = MemoryItem(
            user_id="ann", memory_key="said", content=text, memory_type="conversation"
        )
        for question in user["questions"]:
            wanted = [as_lines(said[2 * turn : 2 * turn + 1]) for turn in question["turns"]]
            brought = _turns_meant(item, question["query"])
            right = any(line in brought.text for line in wanted)
            tally(rows, "BFCL's messages, one conversation", "memory-context").add(
                brought, right, 1
            )
        row = "messages that need nothing, BFCL's messages"
        measure_quiet(rows, row, "memory-context", partial(_turns_meant, item))


def _turns_meant(item: MemoryItem, asked: str) -> Brought:
    """Return the turns of a stored conversation that keyword matching opens."""
    started = time.perf_counter()
    question = Question(asked, "", (RecallCandidate(item),), False, lambda _: False)  # noqa: FBT003
    expansions = judge_by_keywords(question).expand
    records = [record for expansion in expansions for record in expansion.records]
    text = "\n".join(item.text[record.start : record.stop] for record in records)
    return Brought(text, "", count(text), time.perf_counter() - started)


def _fts5(texts: Sequence[str]) -> Callable[[str], list[int]]:
    """Return a search of SQLite's own: any of a question's words, ranked, stems for words."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter unicode61')")
    database.executemany("INSERT INTO said VALUES (?)", [(text,) for text in texts])

    def found(question: str) -> list[int]:
        words = [f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", question.lower()))]
        wanted = "SELECT rowid - 1 FROM said WHERE said MATCH ? ORDER BY rank LIMIT 10"
        return [row[0] for row in database.execute(wanted, (" OR ".join(words),))]

    return found


def shown_rows(rows: Rows) -> Table:
    """Return the table of what came back."""
    table = Table(
        "case",
        "way",
        "right",
        "of",
        "share",
        "tokens",
        "came",
        "ms",
        title="What comes back by itself",
    )
    cases = list(dict.fromkeys(row for row, _ in rows))
    for (row, way), tallied in sorted(rows.items(), key=lambda pair: cases.index(pair[0][0])):
        milliseconds = 1000 * statistics.median(tallied.seconds)
        table.add_row(
            row,
            way,
            f"{tallied.right / max(1, tallied.asked):.3f}",
            str(tallied.asked),
            f"{tallied.share / max(1, tallied.questions):.2f}" if tallied.share else "",
            f"{tallied.tokens / max(1, tallied.questions):,.0f}",
            f"{tallied.came / max(1, tallied.questions):.2f}",
            f"{milliseconds:,.0f}",
        )
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description="What comes back by itself, is read, and is found."
    )
    parser.add_argument("--judged", type=Path, help="the folder of the judged sets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="below 1 for a shorter run")
    parser.add_argument(
        "--only", default="records,exact,compactions,messages,meetings,reading,search"
    )
    options = parser.parse_args()
    wanted = options.only.split(",")
    rows: Rows = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "records" in wanted:
            measure_records(rows, random.Random(options.seed), options.scale, folder)
            measure_long_records(rows, random.Random(options.seed), options.scale, folder)
        if "exact" in wanted:
            measure_exact(rows, random.Random(options.seed), options.scale, folder)
        if "compactions" in wanted:
            measure_compactions(rows, random.Random(options.seed), options.scale, folder)
        if options.judged and "messages" in wanted:
            measure_messages(rows, options.judged)
        if options.judged and "meetings" in wanted:
            measure_meetings(rows, options.judged, options.scale, folder)
        if rows:
            console.print(shown_rows(rows))
        if options.judged and "reading" in wanted:
            console.print(measure_reading(options.judged, folder, options.scale))
        if options.judged and "search" in wanted:
            console.print(measure_search(options.judged, folder))


if __name__ == "__main__":
    main()
