"""Refuse a SELECT with a column that is neither grouped nor aggregated: SQLite would silently take it from any row."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.columns_of_a_statement import is_total


def check_groups(statement: exp.Expr) -> None:
    """Check a statement in which each column names its source.

    ``SELECT city, sum(total) FROM orders`` is refused: it would return the one sum with the city of any row.

    Raises:
        InvalidQueryError: A query aggregates, and a column is neither grouped nor in an aggregate.
    """
    for select in statement.find_all(exp.Select):
        column = _ungrouped(select)
        if column is not None:
            raise InvalidQueryError(_error_message(select, column))


def _error_message(select: exp.Select, column: str) -> str:
    """Return an error message: what is wrong with *column*, and how to correct it."""
    if select.args.get("group") is None:
        return (
            f"an aggregate gives one value for all rows, and {column} has one in each: add GROUP BY {column}, "
            f"or leave it out"
        )
    return f"a group has several values of {column}: add it to GROUP BY, or take min({column}) or max({column})"


def _ungrouped(select: exp.Select) -> str | None:
    """Return the first column that is neither grouped nor aggregated in a SELECT that aggregates; None if there is none."""
    group = select.args.get("group")
    checked = [*select.expressions, *filter(None, map(select.args.get, ("having", "order")))]
    if group is None and not any(map(_aggregates, checked)):
        return None
    grouped: list[exp.Expr] = group.expressions if group else []
    # A column without a source is an output, in ORDER BY.
    found = (column for one in checked for column in _bare_columns(one, grouped) if column.table)
    return next((column.name for column in found), None)


def _aggregates(expression: exp.Expr) -> bool:
    """Return whether an expression aggregates, not counting subqueries in it."""
    nodes = expression.walk(prune=lambda node: isinstance(node, exp.Query))
    return any(map(_is_aggregate, nodes))


def _is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        return False
    if isinstance(node.parent, exp.Filter):
        return _is_aggregate(node.parent)
    return isinstance(node, exp.AggFunc | exp.Filter) or is_total(node)


def _bare_columns(node: exp.Expr, grouped: list[exp.Expr]) -> Iterator[exp.Column]:
    """Yield the columns of an expression that are neither grouped nor in an aggregate."""
    if isinstance(node, exp.Query) or _is_aggregate(node) or node in grouped:
        return
    if isinstance(node, exp.Column):
        yield node
    for child in node.iter_expressions():
        yield from _bare_columns(child, grouped)
