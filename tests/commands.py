"""The command line as people and programs run it: in processes of their own, and in a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMMAND = [sys.executable, "-c", "from memory_context.cli import main; main()"]
TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "60", "PAGER": "cat"}


def memory_context(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, 80 columns wide."""
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, "COLUMNS": "80", **environment},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )


@dataclass(frozen=True)
class Shown:
    """What a terminal was sent, both outputs together, and the exit code."""

    code: int
    sent: bytes

    @property
    def text(self) -> str:
        """With the line breaks of a file."""
        return self.sent.decode("utf-8").replace("\r\n", "\n")


def in_terminal(
    *arguments: str,
    typed: str = "",
    meanwhile: Callable[[subprocess.Popen[bytes], bytes], object] | None = None,
    **environment: str,
) -> Shown:
    """Run the command in a terminal of 100 columns whose user types something.

    Args:
        arguments: Of the command.
        typed: What is waiting in the terminal when it starts.
        meanwhile: Called with the process and everything that was sent so far, as it comes.
        environment: Variables beside the usual ones.
    """
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    sent = b""
    variables = {**os.environ, **TERMINAL, **environment}
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=variables
    ) as process:
        os.close(theirs)
        for data in read_terminal(ours):
            sent += data
            if meanwhile:
                meanwhile(process, sent)
    return Shown(process.returncode, sent)


def read_terminal(descriptor: int) -> Iterator[bytes]:
    """What comes out of our side of a terminal, until the other side is closed."""
    try:
        while data := os.read(descriptor, 65536):
            yield data
    except OSError:
        pass  # how Linux says that the other side has closed a terminal
    finally:
        os.close(descriptor)
