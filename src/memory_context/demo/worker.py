"""The script of a team's member: it reads, asks, and answers with what its prompt shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autogen_core import FunctionCall
from autogen_core.models import FunctionExecutionResult, FunctionExecutionResultMessage, LLMMessage

from memory_context.autogen.messages import newest_question, texts_of
from memory_context.demo.library import DEFINITIONS, FILES, PACKAGE, SOURCE, packages, sources
from memory_context.demo.recalled import Place, recalled_lines
from memory_context.model.reference import MemoryRef
from memory_context.model.tool_names import RETRIEVE
from memory_context.testing.scripted_client import Reply

NAMES = ("ada", "ben", "cleo")
CALLS_PER_TURN = 3
LAG = 1
LINES = 12
_KINDS = (SOURCE, PACKAGE, DEFINITIONS, FILES)
_DEFINED = re.compile(r"(?:def|class) +(?!__)(\w+)")
ASKED = re.compile(r"Quote the definition of (?P<name>\w+)\.")


@dataclass
class Worker:
    """One of the team, by its number; what it calls in its turn is planned, what it says is read off its prompt."""

    number: int
    turn: int = 0
    answer: str = ""
    call_ids: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))

    def step(self, messages: Sequence[LLMMessage]) -> Reply:
        """What comes next: the lines that were asked for, the planned call, or what is said at the end of a turn."""
        results = (
            messages[-1].content if isinstance(messages[-1], FunctionExecutionResultMessage) else []
        )
        if not results:
            place = self._asked_for(messages)
            self.answer = ""
            return self._reading(place) if place else self._planned()
        if results[0].name == RETRIEVE:
            self.answer = next(
                (line.strip() for line in results[0].content.split("\n") if _DEFINED.search(line)),
                "",
            )
            return self._planned()
        self.turn += 1
        return "\n".join(
            filter(
                None, (self.answer and f"You asked for: {self.answer}", self._report(results[0]))
            )
        )

    def _asked_for(self, messages: Sequence[LLMMessage]) -> Place | None:
        """The line that this one was asked for, if memory has put it into the prompt."""
        newest = newest_question(messages, 0)
        asked = ASKED.search("\n".join(texts_of(newest))) if newest else None
        if asked is None:
            return None
        wanted = re.compile(rf"\s*(?:async )?(?:def|class) +{asked['name']}\b")
        return next(
            (place for place in recalled_lines(messages[-3:]) if wanted.match(place.line)), None
        )

    def _reading(self, place: Place) -> list[FunctionCall]:
        return self._call(
            RETRIEVE, key=place.ref.key, lines=f"{place.number}-{place.number + LINES}"
        )

    def _planned(self) -> list[FunctionCall]:
        """The rounds take turns in what they read; definitions are those of what the next member has read before."""
        kind, time = _KINDS[self.turn % len(_KINDS)], self.turn // len(_KINDS)
        if kind == DEFINITIONS:
            return self._call(
                kind, file=_of(sources(), max(0, time - LAG), (self.number + 1) % len(NAMES))
            )
        if kind == SOURCE:
            return self._call(kind, file=_of(sources(), time, self.number))
        return self._call(kind, name=_of(packages(), time, self.number))

    def _call(self, tool: str, **arguments: str) -> list[FunctionCall]:
        return [
            FunctionCall(f"{NAMES[self.number]}_{next(self.call_ids)}", json.dumps(arguments), tool)
        ]

    def _report(self, result: FunctionExecutionResult) -> str:
        """What a tool gave; or, of definitions, a question about one that is in sight."""
        names = _DEFINED.findall(result.content)
        if result.name == DEFINITIONS and names and not self.answer:
            return f"Quote the definition of {max(names, key=len)}."
        refs = MemoryRef.find_all(result.content.partition("\n")[0])
        return f"I have read {refs[0].render()}" if refs else "It is short."


def _of(things: Sequence[str], time: int, number: int) -> str:
    return things[(time * len(NAMES) + number) % len(things)]
