"""How the work on a text grows with it, in CPU time, which other processes on the machine do not lengthen."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 8


def assert_linear(
    work: Callable[[str], object], unit: str, before: str = "", after: str = ""
) -> None:
    """Assert that *work* on many units takes no more than some times what it takes on an eighth of them.

    Linear work takes 8 times as much, quadratic work 64 times; halfway between them is far from both. The cheapest of
    several runs counts, because a collection of garbage makes single ones dear.
    """

    def cost(characters: int, runs: int) -> float:
        text = before + unit * (characters // len(unit)) + after
        taken = list[float]()
        for _ in range(runs):
            started = time.process_time()
            work(text)
            taken.append(time.process_time() - started)
        return min(taken)

    fewest = 2_000
    work(before + unit + after)  # compiles the patterns
    assert cost(TIMES * fewest, 2) < 3 * TIMES * max(cost(fewest, 9), 0.002)
