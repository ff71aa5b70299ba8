"""What contexts cost on recorded agent runs, without a model.

    python benchmarks/replay.py RECORDINGS.jsonl[.gz]... [--threshold 500] [--policy memory:threshold=500]...

One run a line: ``{"id", "messages": [...]}`` in OpenAI's chat form. Shares are those of the unbounded context.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from rich.console import Console

from memory_context.replay import Meter, compared, default_policies, parse_policy, read_recordings, report

console = Console(width=None if sys.stdout.isatty() else 110)


async def main() -> None:
    """Replay each file through each policy, and print a table for each file."""
    parser = argparse.ArgumentParser(description="Replay recorded agent runs through contexts.")
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--threshold", type=int, default=500, help="tokens, for the policies that fold")
    parser.add_argument("--policy", action="append", help="instead of the usual ones; repeatable")
    options = parser.parse_args()
    policies = [parse_policy(text) for text in options.policy or ()] or default_policies(options.threshold)
    meter = Meter()
    for path in options.recordings:
        recordings = read_recordings(path)
        console.print(f"\n{path.name}: {len(recordings)} runs, tokens by {meter.name}", highlight=False)
        console.print(report(await compared(recordings, policies, meter, options.threshold)))


if __name__ == "__main__":
    asyncio.run(main())
