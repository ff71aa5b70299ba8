"""The command line as people and programs run it: in processes of their own, and in a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

import pytest

from memory_context.cli import run

# A shell starts what runs in the background with SIGINT ignored, and children inherit that: Ctrl-C is put back.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from memory_context.cli import main
main()
"""
COMMAND = [sys.executable, "-c", PROGRAM]
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


def in_this_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as `memory_context` does, without the second that a process takes to begin."""
    streams = BytesIO(), BytesIO()
    out, errors = (TextIOWrapper(stream, "utf-8", write_through=True) for stream in streams)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        for name, value in ({"COLUMNS": "80"} | environment).items():
            patch.setenv(name, value)
        code = run([*arguments])
    printed, complained = (stream.getvalue().decode() for stream in streams)
    return subprocess.CompletedProcess(arguments, code, printed, complained)


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
