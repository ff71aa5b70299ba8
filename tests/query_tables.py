"""Made-up orders, customers and products, in the forms in which agents find tables; and questions on them."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Shop:
    """Three tables: orders have ties and missing values, ids begin with zeros."""

    orders: Rows
    customers: Rows
    products: Rows


def shop(seed: int, count: int = 3000) -> Shop:
    """A shop with some thousand orders."""
    rng = random.Random(seed)
    customers = [
        {
            "customer_id": f"{number:05d}",
            "name": f"{rng.choice(('Ada', 'Björn', 'Chloé', 'Dan', 'Eve'))} {number}",
            "city": rng.choice(("Rome", "Oslo", "Lima", "Kyiv", "São Paulo")),
        }
        for number in range(count // 10)
    ]
    products = [
        {
            "sku": f"P-{number:03d}",
            "kind": rng.choice(("bolt", "nut", "gear")),
            "price": rng.randrange(1, 400) / 4,
        }
        for number in range(60)
    ]
    orders = [
        {
            "order_id": f"{number:06d}",
            "customer_id": rng.choice(customers)["customer_id"],
            "sku": rng.choice(products)["sku"],
            "amount": rng.choice((1, 1, 2, 3, 5, 8, None)),
            "day": f"2026-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
        }
        for number in range(count)
    ]
    return Shop(orders, customers, products)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def as_csv(rows: Rows) -> str:
    """Comma-separated, below a line of names."""
    written = io.StringIO()
    writer = csv.DictWriter(written, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def as_tsv(rows: Rows) -> str:
    """Separated by tabs."""
    return as_csv(rows).replace(",", "\t")


def as_markdown(rows: Rows) -> str:
    """A table between bars."""
    lines = [" | ".join(rows[0]), " | ".join("---" for _ in rows[0])]
    lines += [" | ".join(map(_cell, row.values())) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def as_json_lines(rows: Rows) -> str:
    """An object on each line."""
    return "\n".join(map(json.dumps, rows))


def as_blocks(rows: Rows) -> str:
    """A field on each line, records between blank lines; what is missing has no line."""
    blocks = list[str]()
    for row in rows:
        fields = [f"{name}: {value}" for name, value in row.items() if value is not None]
        blocks.append("\n".join(fields))
    return "\n\n".join(blocks)


def as_psql(rows: Rows) -> str:
    """As psql prints it."""
    widths = [max(len(_cell(row[name])) for row in rows) + len(name) for name in rows[0]]
    lines = ["|".join(f" {name:{width}} " for name, width in zip(rows[0], widths, strict=True))]
    lines.append("+".join("-" * (width + 2) for width in widths))
    for row in rows:
        cells = zip(row.values(), widths, strict=True)
        lines.append("|".join(f" {_cell(cell):{width}} " for cell, width in cells))
    return "\n".join([*lines, f"({len(rows)} rows)"])


def as_columns(rows: Rows) -> str:
    """Aligned below a line of names, as commands print it; a hyphen stands for what is missing."""
    widths = [max(len(_cell(row[name])) for row in rows) + len(name) + 2 for name in rows[0]]
    lines = ["".join(f"{name:{width}}" for name, width in zip(rows[0], widths, strict=True))]
    for row in rows:
        cells = zip(row.values(), widths, strict=True)
        lines.append("".join(f"{_cell(cell) or '-':{width}}" for cell, width in cells))
    return "\n".join(lines)


FORMS: Mapping[str, Callable[[Rows], str]] = {
    "csv": as_csv,
    "tsv": as_tsv,
    "markdown": as_markdown,
    "json": json.dumps,
    "wrapped": lambda rows: json.dumps({"status": "ok", "data": {"items": rows}}),
    "json lines": as_json_lines,
    "repr": repr,
    "blocks": as_blocks,
    "psql": as_psql,
    "columns": as_columns,
    "introduced": lambda rows: f"Found {len(rows)} rows:\n\n{as_csv(rows)}",
}


def joined(tables: Shop) -> Rows:
    """The orders, each with its customer and its product."""
    customers = {row["customer_id"]: row for row in tables.customers}
    products = {row["sku"]: row for row in tables.products}
    return [
        {**order, **customers[order["customer_id"]], **products[order["sku"]]}
        for order in tables.orders
    ]


def _by(rows: Rows, name: str) -> dict[Any, Rows]:
    ordered = sorted(rows, key=lambda row: row[name])
    return {key: list(group) for key, group in groupby(ordered, key=lambda row: row[name])}


def _amount(rows: Rows) -> int:
    return sum(row["amount"] or 0 for row in rows)


JOIN = "FROM orders JOIN customers USING (customer_id) JOIN products USING (sku)"


def questions(tables: Shop) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Questions as SQL that need two joins, a filter and an aggregate; and what Python says to them."""
    rows = joined(tables)
    asked: list[tuple[str, list[tuple[Any, ...]]]] = []
    for city in ("Rome", "Oslo", "Lima", "Kyiv", "São Paulo"):
        in_city = [row for row in rows if row["city"] == city]
        asked.append(
            (
                f"SELECT kind, sum(amount) {JOIN} WHERE city = '{city}' GROUP BY kind ORDER BY kind",
                [(kind, _amount(group)) for kind, group in _by(in_city, "kind").items()],
            )
        )
        none = [row for row in in_city if row["amount"] is None]
        asked.append(
            (
                f"SELECT count(*) {JOIN} WHERE city = '{city}' AND amount IS NULL AND price > 0",
                [(len(none),)],
            )
        )
    for kind in ("bolt", "nut", "gear"):
        of_kind = [row for row in rows if row["kind"] == kind]
        spring = [row for row in of_kind if "2026-03-01" <= row["day"] < "2026-06-01"]
        asked.append(
            (
                (
                    f"SELECT count(DISTINCT customer_id), max(price) {JOIN} "
                    f"WHERE kind = '{kind}' AND day >= '2026-03-01' AND day < '2026-06-01'"
                ),
                [
                    (
                        len({row["customer_id"] for row in spring}),
                        max(row["price"] for row in spring),
                    )
                ],
            )
        )
        dear = [row for row in of_kind if row["price"] > 50]
        asked.append(
            (
                (
                    f"SELECT city, count(*) AS n {JOIN} WHERE kind = '{kind}' AND price > 50 "
                    "GROUP BY city HAVING n > 0 ORDER BY n DESC, city"
                ),
                sorted(
                    [(city, len(group)) for city, group in _by(dear, "city").items()],
                    key=lambda pair: (-pair[1], pair[0]),
                ),
            )
        )
    for number in (3, 17, 42, 99):
        customer = f"{number:05d}"
        own = [row for row in rows if row["customer_id"] == customer]
        asked.append(
            (
                f"SELECT sum(amount * price) {JOIN} WHERE customer_id = '{customer}' AND amount > 1",
                [
                    (
                        sum(
                            row["amount"] * row["price"]
                            for row in own
                            if row["amount"] and row["amount"] > 1
                        )
                        or None,
                    )
                ],
            )
        )
    return asked
