"""What comes back by itself when somebody else asks: five sets of questions about the outputs of tools.

    python benchmarks/asked.py [benchmarks/asked/held_out.jsonl.gz] [--misses] [--loud]

Each set was written by a stranger who had not read this library's code; persons and firms are invented:

- ``asked/first.jsonl.gz`` (the default): 24 conversations, 351 questions, 192 messages that need nothing;
- ``asked/held_out.jsonl.gz``: 20 others on other topics, 240 questions, 160 messages that need nothing. It is for reading
  results, not for choosing rules: whoever changes recall looks at the misses of the first set only;
- ``asked/third.jsonl.gz``: 20 others, 7 of them in German, French, Spanish and Japanese, 330 questions, 156 messages that
  need nothing. It is held out, too;
- ``asked/fourth.jsonl.gz``: 12 others, half of them agents' work in software and operations, 168 questions that ask for
  several things, for lists, for reasons, or in words of their own, and 96 messages that need nothing. Rules were chosen
  by it, as by the first;
- ``asked/fourth_held_out.jsonl.gz``: 12 others by the same hand, as many questions and messages. It is held out.

Each message is asked of its own copy of the conversation, so that none sees what another brought. Counted are

- **answered**: all that a question ``needs`` stands in what came, runs of white space taken as one space;
- **unseen answered**: of the questions that the prompt did not answer before, those that it answers now;
- **tokens**: those of what came, on average over the questions;
- **not quiet**: messages that need nothing, for which something came.

Beside it: BM25 over chunks of whole lines, some 700 characters: the best three, as many tokens of the best as ours, and
the best one alone where it holds 0.4 of the message's words, by their rarity.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import logging
import multiprocessing
import re
import shutil
import statistics
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autogen_core import FunctionCall, models
from recall import PlainBM25, console, count  # type: ignore[import-not-found] # beside this file
from rich.table import Table

from memory_context import MemoryContext

FIRST = Path(__file__).parent / "asked" / "first.jsonl.gz"
ENOUGH = 0.4
CHUNK = re.compile(r"(?s).{1,699}(?:\n|\Z)|.{1,699} |.{1,700}")
WORD = re.compile(r"(?=([\u3400-\u9fff]{2}))|([^\W\u3400-\u9fff]+)")  # Chinese by pairs


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came for a message, the prompt before it, and how BM25 ranks the chunks; quiet messages need nothing.

    `share` is that of the message's words, by their rarity, which stand in the best chunk.
    """

    conversation: str
    ask: str
    needs: Sequence[str] = ()
    shape: str = "quiet"
    prompt: str
    came: str
    ranked: Sequence[str]
    share: float

    def is_answered_by(self, text: str) -> bool:
        """Return whether all that is needed stands in a text."""
        return all(_flat(need) in _flat(text) for need in self.needs)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _shown(message: models.LLMMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    parts = [getattr(part, "content", getattr(part, "arguments", "")) for part in message.content]
    return "\n".join(parts)


def _words(text: str) -> list[str]:
    return [pair or word for pair, word in WORD.findall(text.lower())]


def replies_in(conversation: Mapping[str, Any]) -> list[Reply]:
    """Return what comes for each message about a conversation."""
    logging.disable(logging.WARNING)
    outputs = conversation["outputs"]
    chunks = [chunk for output in outputs for chunk in CHUNK.findall(output["text"])]
    bm25 = PlainBM25(chunks, words_of=_words)
    replies = list[Reply]()
    with tempfile.TemporaryDirectory() as store:
        state = asyncio.run(_state_after(conversation, store))
        quiet = [{"ask": message} for message in conversation["quiet"]]
        for asked in [*conversation["questions"], *quiet]:
            with tempfile.TemporaryDirectory() as copy:
                shutil.copytree(store, copy, dirs_exist_ok=True)
                prompt, came = asyncio.run(_prompt_and_new(asked["ask"], copy, state))
            ranked = bm25.ranked(asked["ask"])
            share = bm25.share_of(asked["ask"], ranked[0]) if ranked else 0.0
            found = {"prompt": prompt, "came": came, "ranked": ranked, "share": share}
            replies.append(Reply(conversation=conversation["name"], **asked, **found))
    return replies


def _context(folder: str) -> MemoryContext:
    return MemoryContext("ann", store=f"sqlite:///{folder}/memory.db", thread_id="asked")


async def _state_after(conversation: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    """Lead the conversation up to the assistant's answer."""
    context = _context(folder)
    await context.add_message(models.UserMessage(content=conversation["task"], source="user"))
    for number, output in enumerate(conversation["outputs"]):
        arguments = json.dumps(output["args"], ensure_ascii=False)
        call = FunctionCall(id=f"call-{number}", name=output["tool"], arguments=arguments)
        result = models.FunctionExecutionResult(
            content=output["text"], name=call.name, call_id=call.id, is_error=False
        )
        await context.add_message(models.AssistantMessage(content=[call], source="agent"))
        await context.add_message(models.FunctionExecutionResultMessage(content=[result]))
        await context.get_messages()
    answer = conversation["answer"]
    await context.add_message(models.AssistantMessage(content=answer, source="agent"))
    await context.get_messages()
    state = await context.save_state()
    await context.aclose()
    return state


async def _prompt_and_new(said: str, folder: str, state: Mapping[str, Any]) -> tuple[str, str]:
    """Return the prompt before a message, and what is new beside the message."""
    context = _context(folder)
    await context.load_state(state)
    before = Counter(map(_shown, await context.get_messages()))
    await context.add_message(models.UserMessage(content=said, source="user"))
    now = Counter(map(_shown, await context.get_messages()))
    await context.aclose()
    return "\n".join(before), "\n".join(now - before - Counter([said]))


def best_within(ranked: Sequence[str], budget: float) -> str:
    """Return the first chunks within some tokens, the last one cut."""
    text, left = "", budget
    for chunk in ranked:
        tokens = count(chunk)
        if tokens > left:
            return text + chunk[: int(len(chunk) * left / tokens)]
        text += chunk
        left -= tokens
    return text


def row_of(name: str, replies: Sequence[Reply]) -> list[str]:
    """Return the figures of some replies."""
    asked = [reply for reply in replies if reply.needs]
    tokens = statistics.fmean(count(reply.came) for reply in asked)
    loud = [bool(reply.came) for reply in replies if not reply.needs]
    answered = [reply.is_answered_by(reply.came) for reply in asked]
    unseen = [reply for reply in asked if not reply.is_answered_by(reply.prompt)]
    now = [reply.is_answered_by(f"{reply.came}\n{reply.prompt}") for reply in unseen]
    return [name, f"{tokens:.0f}", *(f"{sum(t)}/{len(t)}" for t in (answered, now, loud))]


def print_tables(ours: Sequence[Reply]) -> None:
    """Print the figures of each way, and ours for each shape of question."""
    heads = ("tokens", "answered", "unseen answered", "not quiet")
    ways, shapes = Table("way", *heads), Table("shape", *heads[:-1])
    budget = statistics.fmean(count(reply.came) for reply in ours if reply.needs)
    texts = {
        "memory-context": [reply.came for reply in ours],
        "BM25, three chunks": ["\n".join(reply.ranked[:3]) for reply in ours],
        "BM25, the best one if it holds enough": [
            reply.ranked[0] if reply.share >= ENOUGH else "" for reply in ours
        ],
        f"BM25, {budget:.0f} tokens": [best_within(reply.ranked, budget) for reply in ours],
    }
    for way, came in texts.items():
        pairs = zip(ours, came, strict=True)
        ways.add_row(*row_of(way, [replace(reply, came=text) for reply, text in pairs]))
    for shape in sorted({reply.shape for reply in ours if reply.needs}):
        shapes.add_row(*row_of(shape, [reply for reply in ours if reply.shape == shape])[:-1])
    console.print(ways, shapes)


def main() -> None:
    """Print the tables, and what went wrong."""
    parser = argparse.ArgumentParser(description="What comes back when somebody else asks.")
    parser.add_argument("set", type=Path, nargs="?", default=FIRST)
    parser.add_argument("--misses", action="store_true", help="questions that nothing answered")
    parser.add_argument("--loud", action="store_true", help="what came though nothing was needed")
    options = parser.parse_args()
    with gzip.open(options.set, "rt", encoding="utf-8") as lines:
        conversations = [json.loads(line) for line in lines]
    with multiprocessing.get_context("spawn").Pool() as pool:
        replies = [one for some in pool.imap(replies_in, conversations) for one in some]
    print_tables(replies)
    for reply in replies:
        is_wrong = not reply.is_answered_by(reply.came) if reply.needs else bool(reply.came)
        if is_wrong and (options.misses if reply.needs else options.loud):
            print(f"\n[{reply.conversation}, {reply.shape}] {reply.ask}")
            came = _flat(reply.came)[:900] or "nothing"
            print(f"  needs {list(reply.needs)}; {count(reply.came)} tokens came: {came}")


if __name__ == "__main__":
    main()
