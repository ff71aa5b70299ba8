"""End a server in an orderly way on SIGINT or SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ending(end: Callable[[], object]) -> Generator[None]:
    """Call *end* on the first SIGINT or SIGTERM; the second ends the process at once."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def on_signal(_: int, __: FrameType | None) -> None:
        for number in _SIGNALS:
            # So that an impatient second Ctrl-C works even if the ordinary end hangs.
            signal.signal(number, signal.SIG_DFL)
        end()

    for number in _SIGNALS:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
