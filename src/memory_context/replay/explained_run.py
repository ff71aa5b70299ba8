"""Show one run call by call: what a policy would have sent, and which needed values were out of sight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from memory_context.display.safe_terminal_output import facts, plain, quoted
from memory_context.exceptions import InvalidArgumentError
from memory_context.model.reference import referenced_keys
from memory_context.replay.needed_values_of_each_call import needs_by_call
from memory_context.replay.policies_by_name import Policy, parse_policy
from memory_context.replay.prices import Price
from memory_context.replay.recording_as_messages import Recording
from memory_context.replay.replay_one_policy import Figures, Prompt, Sight, replay
from memory_context.replay.token_meter import TokenMeter
from memory_context.text.describe.description import counted

NAMED = 3
"""How many values of a call are named in its line."""


@dataclass(frozen=True, slots=True)
class CallOfRun:
    """A model call of a run under a policy.

    Attributes:
        unbounded: The tokens of the prompt with all texts in full.
        figures: The policy's figures for the call.
        prompt: The prompt that the policy would have sent.
        missing: The needed values that are out of sight, each with the key of a text that holds it; None if it cannot be
            brought back.
    """

    unbounded: int
    figures: Figures
    prompt: Prompt
    missing: Sequence[tuple[str, str | None]]

    @property
    def references(self) -> list[str]:
        """Return the keys of the references in the prompt."""
        texts = (message.text for message in self.prompt)
        return list(dict.fromkeys(referenced_keys(*texts)))

    @property
    def out_of_sight(self) -> list[str]:
        """Return the values that are out of sight, each with where it is."""
        values = list[str]()
        for value, key in self.missing:
            place = f"behind {key}" if key else "lost"
            values.append(f"{value} ({place})")
        return values


async def calls_of_run(
    recording: Recording, policy: Policy, meter: TokenMeter, price: Price
) -> list[CallOfRun]:
    """Return each model call of a run as it would have been under *policy*."""
    needs = needs_by_call(recording.messages, meter)
    unbounded = await replay(recording, needs, parse_policy("unbounded"), meter, price)
    calls = list[CallOfRun]()

    def note(prompt: Prompt, sight: Sight, figures: Figures) -> None:
        missing = [(need.value, sight.behind.get(need.value)) for need in sight.hidden]
        calls.append(CallOfRun(unbounded[len(calls)].tokens, figures, prompt, missing))

    await replay(recording, needs, policy, meter, price, note)
    return calls


def lines_of_run(calls: Sequence[CallOfRun]) -> RenderableType:
    """Return a line for each call: tokens in full and sent, number of references, needed values out of sight."""
    rows = list[tuple[str, str]]()
    for number, call in enumerate(calls, 1):
        line = f"{call.unbounded:,} → {call.figures.tokens:,} tokens"
        folded = len(call.references)
        if folded:
            line += f", {folded} folded"
        values = call.out_of_sight
        shown = values[:NAMED]
        if len(values) > NAMED:
            shown.append(f"{len(values) - NAMED} more")
        if shown:
            line += f"; out of sight: {', '.join(shown)}"
        rows.append((str(number), line))
    return facts(rows)


def prompt_of_call(calls: Sequence[CallOfRun], number: int) -> Iterator[RenderableType]:
    """Yield the prompt of the call with that number, and the values that were out of sight.

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
    yield quoted("\n".join(call.out_of_sight) or "nothing that this call needed")
