"""The result of a SQL query: rows under column names, and the memories that they come from."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from memory_context.exceptions import MissingDependencyError
from memory_context.model.registry_of_drawers import Displayed

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class QueryResult(Displayed):
    """The answer to a query. Iterates over its rows; a notebook shows it as a table.

    Attributes:
        columns: The names of the columns, as the statement gives them.
        rows: Each has a cell for each column: a text, a number, or None for NULL.
        sql: The statement.
        sources: The keys of the memories that it read.
        key: The key under which the answer was kept; None if it was not.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sql: str
    sources: tuple[str, ...] = ()
    key: str | None = None

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        """Iterate over the rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def to_dicts(self) -> list[dict[str, Cell]]:
        """Return each row as a dict. Where columns have the same name, the last one counts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_csv(self) -> str:
        """Return the rows as CSV under a line of column names. NULL is an empty cell."""
        return csv_text([self.columns, *self.rows])

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas need not be installed
        """Return the rows as a pandas data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise MissingDependencyError("to_pandas() needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.rows, columns=self.columns)


def csv_text(rows: Iterable[Iterable[Cell]]) -> str:
    """Return rows as CSV (RFC 4180), but with line feeds between them and none after the last. None is an empty cell."""
    lines = list[str]()
    for row in rows:
        written = io.StringIO(newline="")
        # Up to Python 3.12 the writer quotes a carriage return only where it ends lines.
        csv.writer(written, lineterminator="\r\n").writerow(row)
        lines.append(written.getvalue().removesuffix("\r\n"))
    return "\n".join(lines)
