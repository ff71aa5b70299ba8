"""Put recorded model calls together into runs: a call belongs to the run whose messages it repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memory_context.conversation.message import Message


def grown_runs(
    calls: Iterable[tuple[str, Sequence[Message], Sequence[Message]]],
) -> Iterator[tuple[str, Sequence[Message]]]:
    """Put model calls together to runs, and yield each with its name.

    A call continues a run if its prompt begins with the whole prompt of the run's last call. If messages were compacted
    or cut in between, it begins another run, since a replay could not build its prompt from the messages before.

    Args:
        calls: For each call its trace, its prompt, and the prompt with the reply.
    """
    runs = list[tuple[str, list[Message], Sequence[Message]]]()
    for trace, prompt, with_reply in calls:
        asked = [replace(message, id="") for message in prompt]
        for place in range(len(runs) - 1, -1, -1):
            before = runs[place][1]
            # A reply must follow the earlier prompt; the same question asked again is another run.
            answered = len(asked) > len(before) and asked[len(before)].is_reply
            if answered and asked[: len(before)] == before:
                runs[place] = (runs[place][0], asked, with_reply)
                break
        else:
            runs.append((trace, asked, with_reply))
    counts = Counter[str]()
    for trace, _, with_reply in runs:
        counts[trace] += 1
        yield (trace if counts[trace] == 1 else f"{trace}/{counts[trace]}"), with_reply
