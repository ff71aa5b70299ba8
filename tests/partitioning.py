"""Partitioning a database by the script that docs/many-machines.md shows."""

from __future__ import annotations

import re
from pathlib import Path

from memory_context.stores import SQLAlchemyStore

PAGE = Path(__file__).parents[1] / "docs" / "many-machines.md"


def partition(url: str, parts: int = 16) -> None:
    """Create the schema, and run the script of the page with this many parts."""
    [script] = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    with SQLAlchemyStore(url) as store:
        store.migrate()
        with store.database.engine.begin() as connection:
            # Doubled, because the driver reads a percent sign as the beginning of a parameter.
            doubled = script.replace("%", "%%")
            connection.exec_driver_sql(doubled.replace(":= 16", f":= {parts}"))
