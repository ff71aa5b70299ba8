"""What the descriptions of random outputs of recordings read like: one line for each, for a person to judge.

python benchmarks/describe.py RECORDINGS… [--count 100] [--seed 1] [--least 500]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_context.text.describe import describe


def outputs(path: Path) -> Iterator[tuple[str, str, str]]:
    """The tool, the arguments and the text of each output of a file of recordings."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield from _outputs(json.loads(line)["messages"])


def _outputs(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    calls: dict[str, tuple[str, str]] = {}
    for message in messages:
        for call in message.get("tool_calls") or []:
            calls[call["id"]] = (call["function"]["name"], call["function"]["arguments"])
        if message.get("role") in ("tool", "function") and isinstance(message.get("content"), str):
            name, arguments = calls.get(
                message.get("tool_call_id", ""), (message.get("name") or "", "")
            )
            yield name, arguments, message["content"]


def main() -> None:
    """Print the lines, and how long they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--least", type=int, default=500, help="only outputs of so many characters or more"
    )
    options = parser.parse_args()
    found = [
        one for path in options.recordings for one in outputs(path) if len(one[2]) >= options.least
    ]
    chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
    started = time.perf_counter()
    lines = [describe(text, source=name, arguments=arguments) for name, arguments, text in chosen]
    seconds = time.perf_counter() - started
    for (name, _, text), line in zip(chosen, lines, strict=True):
        print(f"{name[:24]:24} {len(text):7,}  {line}")
    print(
        f"{len(chosen)} of {len(found)} outputs, {1000 * seconds / max(1, len(chosen)):.2f} ms each"
    )


if __name__ == "__main__":
    main()
