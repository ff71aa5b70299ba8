"""How much CPU time a description takes, for each kind of text and size, beside a count of its line breaks.

python benchmarks/describe_speed.py [--sizes 20000 1000000 50000000] [--kinds log prose …] [--repeat 30]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial

from memory_context.text.describe import describe

_SENTENCE = (
    "the harbour was quiet when ann walked down to the pier and looked at the boats that had come in at night "
    "because of the storm which nobody had expected so early in the year"
)
_WORDS = _SENTENCE.split()


def _log(n: int) -> str:
    level = "ERROR" if n % 97 == 0 else "INFO"
    when = f"2024-05-{n % 28 + 1:02} 10:{n % 60:02}:{n % 59:02},{n % 1000:03}"
    return f"{when} {level} shop.cart: request {n} took {n % 350} ms\n"


def _csv(n: int) -> str:
    return f"{n},customer {n % 300},{n % 90}.50,2024-05-{n % 28 + 1:02},{'paid' if n % 3 else 'open'}\n"


def _record(n: int) -> dict[str, object]:
    return {
        "order_id": n,
        "customer": f"customer {n % 300}",
        "total": n % 90 + 0.5,
        "is_paid": n % 3 == 0,
        "note": None,
    }


def _prose(n: int) -> str:
    words = [_WORDS[(n * 7 + k) % len(_WORDS)] for k in range(11 + n % 9)]
    return f"{' '.join(words).capitalize()}.{chr(10) * 2 if n % 6 == 5 else ' '}"


def _python(n: int) -> str:
    return (
        f"def total_{n}(orders, rate={n % 20}):\n"
        f'    """The sum of the orders in month {n % 12}."""\n'
        f"    result = 0\n    for order in orders:\n        if order.month == {n % 12}:\n"
        f"            result += order.total * (1 + rate / 100)\n    return result\n\n\n"
    )


def _markdown(n: int) -> str:
    return (
        f"## Step {n}\n\n"
        f"Run `make step-{n}` and read [the notes](https://example.org/notes/{n}) before **going on**.\n\n"
        f"- {' '.join(_WORDS[n % 9 : n % 9 + 8])}\n- {' '.join(_WORDS[n % 7 : n % 7 + 10])}\n\n"
    )


def _text(n: int) -> str:
    return f"{_WORDS[n % len(_WORDS)]} {n % 77} and {_WORDS[n * 3 % len(_WORDS)]} ({n % 13})\n"


def _of_lines(line: Callable[[int], str], beginning: str = "") -> Callable[[int], str]:
    """A text of at least so many characters, cut there at the end of a line."""

    def of_size(size: int) -> str:
        block = "".join(line(n) for n in range(2000))
        whole = beginning + block * (size // len(block) + 1)
        return whole[: max(whole.rfind("\n", 0, size) + 1, 1)]

    return of_size


def _records(size: int) -> list[dict[str, object]]:
    return [_record(n) for n in range(max(1, size // len(json.dumps(_record(1000)))))]


KINDS: dict[str, Callable[[int], str]] = {
    "log": _of_lines(_log),
    "CSV": _of_lines(_csv, "id,customer,total,day,state\n"),
    "JSON": lambda size: json.dumps(_records(size)),
    "JSON lines": _of_lines(lambda n: json.dumps(_record(n)) + "\n"),
    "repr": lambda size: str(_records(size)),
    "JSON, cut": lambda size: json.dumps(_records(size + 2000))[:size],
    "SQL repr": lambda size: str([(n, f"it's {n}", Decimal(n)) for n in range(size // 37)]),
    "prose": _of_lines(_prose),
    "lead": _of_lines(_text, "What was found:\n"),
    "Python": _of_lines(_python),
    "Markdown": _of_lines(_markdown, "# How to sail\n\n"),
    "grep": _of_lines(
        lambda n: f"src/shop/cart_{n % 40}.py:{n % 900 + 1}:    total = total + order_{n}.price\n"
    ),
    "paths": _of_lines(lambda n: f"./src/shop/module_{n % 90}/views_{n}.py\n"),
    "HTML": _of_lines(
        lambda n: f'<div class="row"><a href="/orders/{n}">Order {n}</a></div>\n',
        "<!doctype html><html><head><title>Orders</title></head><body>\n",
    ),
    "pytest": lambda size: (
        "============================= test session starts ==============================\ncollected 415 items\n\n"
        + _of_lines(
            lambda n: f"tests/test_cart_{n}.py::test_total PASSED                [ {n % 100:2}%]\n"
        )(size)
        + "============================= 415 passed in 12.31s =============================\n"
    ),
    "text": _of_lines(_text),
}


def best(call: Callable[[], object], repeat: int) -> float:
    """The least CPU time of so many calls, in milliseconds."""
    times: list[float] = []
    for _ in range(repeat):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return 1000 * min(times)


def main() -> None:
    """Print a row for each kind and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[20_000, 1_000_000, 50_000_000], help="characters"
    )
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument(
        "--repeat",
        type=int,
        default=30,
        help="calls of which the fastest counts; one in ten above 100 K",
    )
    options = parser.parse_args()
    print(f"{'kind':11} {'characters':>11} {'describe ms':>12} {'line breaks ms':>15}  line")
    for size in options.sizes:
        repeat = options.repeat if size <= 100_000 else max(1, options.repeat // 10)
        for kind in options.kinds:
            text = KINDS[kind](size)
            line, took, floor = (
                describe(text),
                best(partial(describe, text), repeat),
                best(partial(text.count, "\n"), repeat),
            )
            print(f"{kind:11} {len(text):11,} {took:12.2f} {floor:15.3f}  {line}", flush=True)


if __name__ == "__main__":
    main()
