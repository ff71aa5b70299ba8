"""Put recorded model calls together into runs: a call belongs to the run whose messages it repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memory_context.conversation.message import Message


@dataclass(slots=True)
class _GrowingRun:
    """A run so far: its trace, the last prompt, and the last prompt with its reply."""

    trace: str
    prompt: list[Message]
    with_reply: Sequence[Message]


def grown_runs(
    calls: Iterable[tuple[str, Sequence[Message], Sequence[Message]]],
) -> Iterator[tuple[str, Sequence[Message]]]:
    """Put model calls together into runs, and yield each run with its name.

    A call continues a run if its prompt begins with the whole prompt of the run's last call. If messages were compacted
    or cut in between, it begins another run, since a replay could not build its prompt from the earlier messages.

    Args:
        calls: For each call its trace, its prompt, and the prompt with the reply.
    """
    runs = list[_GrowingRun]()
    for trace, prompt, with_reply in calls:
        # The ids number the messages of a call, so they differ between calls.
        asked = [replace(message, id="") for message in prompt]
        for run in reversed(runs):
            length = len(run.prompt)
            # A reply must follow the earlier prompt; the same question asked again is another run. This is checked
            # first, because comparing whole prompts is slow.
            goes_on = len(asked) > length and asked[length].is_reply
            if goes_on and asked[:length] == run.prompt:
                run.prompt = asked
                run.with_reply = with_reply
                break
        else:
            runs.append(_GrowingRun(trace, asked, with_reply))
    counts = Counter[str]()
    for run in runs:
        counts[run.trace] += 1
        number = counts[run.trace]
        name = f"{run.trace}/{number}" if number > 1 else run.trace
        yield name, run.with_reply
