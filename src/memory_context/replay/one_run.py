"""One run, call by call: what a policy would have sent, and what was out of sight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from memory_context.display.terminal import facts, plain, quoted
from memory_context.exceptions import InvalidArgumentError
from memory_context.model.reference import MemoryRef
from memory_context.replay.measure import Figures, Prompt, Sight, replay
from memory_context.replay.needs_by_call import needs_by_call
from memory_context.replay.policies_by_name import Policy, parse_policy
from memory_context.replay.prices import Price
from memory_context.replay.recording_as_messages import Recording
from memory_context.replay.token_meter import TokenMeter
from memory_context.text.describe.description import counted

NAMED = 3
"""So many values of a call are named in its line."""


@dataclass(frozen=True, slots=True)
class CallOfRun:
    """A model call of a run under a policy.

    Attributes:
        unbounded: The tokens of the prompt with everything in it.
        figures: The policy's.
        prompt: What it would have sent.
        missing: The needed values that are out of sight, each with the key of a text that holds it; None if nothing
            brings it back.
    """

    unbounded: int
    figures: Figures
    prompt: Prompt
    missing: Sequence[tuple[str, str | None]]

    @property
    def references(self) -> list[str]:
        """Return the keys of the references that stand in the prompt."""
        found = [ref.key for message in self.prompt for ref in MemoryRef.find_all(message.text)]
        return list(dict.fromkeys(found))


async def calls_of_run(
    recording: Recording, policy: Policy, meter: TokenMeter, price: Price
) -> list[CallOfRun]:
    """Return what *policy* makes of each model call of a run."""
    needs = needs_by_call(recording.messages, meter)
    unbounded = await replay(recording, needs, parse_policy("unbounded"), meter, price)
    calls = list[CallOfRun]()

    def note(prompt: Prompt, sight: Sight, figures: Figures) -> None:
        missing = [(need.value, sight.behind.get(need.value)) for need in sight.hidden]
        calls.append(CallOfRun(unbounded[len(calls)].tokens, figures, prompt, missing))

    await replay(recording, needs, policy, meter, price, note)
    return calls


def lines_of_run(calls: Sequence[CallOfRun]) -> RenderableType:
    """Return a line for each call: tokens in full and sent, texts behind references, needed values out of sight."""
    rows = list[tuple[str, str]]()
    for number, call in enumerate(calls, 1):
        told = f"{call.unbounded:,} → {call.figures.tokens:,} tokens"
        if call.references:
            told += f", {len(call.references)} folded"
        rows.append((str(number), told + _told(call.missing)))
    return facts(rows)


def _told(missing: Sequence[tuple[str, str | None]]) -> str:
    if not missing:
        return ""
    shown = [_placed(value, key) for value, key in missing[:NAMED]]
    more = len(missing) - len(shown)
    return "; out of sight: " + ", ".join([*shown, f"{more} more"] if more else shown)


def _placed(value: str, key: str | None) -> str:
    return f"{value} (behind {key})" if key else f"{value} (lost)"


def prompt_of_call(calls: Sequence[CallOfRun], number: int) -> Iterator[RenderableType]:
    """Yield the prompt of the call with that number, and what was out of sight.

    Raises:
        InvalidArgumentError: The run has no such call.
    """
    if not 1 <= number <= len(calls):
        raise InvalidArgumentError(
            f"the run has {counted(len(calls), 'model call')}; there is no call {number}"
        )
    call = calls[number - 1]
    for sent in call.prompt:
        yield plain(sent.role, "bold")
        yield quoted(sent.text)
    yield Text("Out of sight", "bold")
    told = [_placed(value, key) for value, key in call.missing]
    yield quoted("\n".join(told) or "nothing that this call needed")


def run_as_json(recording: Recording, policy: str, calls: Sequence[CallOfRun]) -> dict[str, Any]:
    """Return the run as one object in JSON's own types; its fields are described in docs/replay.md."""
    return {
        "run": recording.id,
        "policy": policy,
        "calls": [
            {
                "unbounded": call.unbounded,
                "tokens": call.figures.tokens,
                "folded": call.references,
                "missing": dict(call.missing),
                "prompt": [{"role": one.role, "text": one.text} for one in call.prompt],
            }
            for call in calls
        ],
    }
