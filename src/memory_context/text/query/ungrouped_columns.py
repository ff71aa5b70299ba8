"""Refuse a SELECT with a column that is neither grouped nor aggregated: SQLite would silently take it from any row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.expanded_expressions import ExpandedExpressions, is_total
from memory_context.text.rows.text_table import TextTable


def checked_statement(sql: str, tables: Mapping[str, TextTable]) -> exp.Expr:
    """Parse a statement that names *tables*, and check it.

    ``SELECT city, sum(total) FROM orders`` is refused: it would return the one sum with the city of any row.

    Raises:
        InvalidQueryError: A query aggregates, and a column is neither grouped nor in an aggregate; or the statement cannot
            be parsed, and so not checked.
    """
    try:
        statement = sqlglot.parse_one(sql, dialect="sqlite")
    except SqlglotError as error:
        raise InvalidQueryError(
            "this statement has a form that cannot be checked; write it more simply"
        ) from error
    expansions = ExpandedExpressions(tables)
    for select in statement.find_all(exp.Select):
        column = _ungrouped(select, expansions.names_read_by(select))
        if column is not None:
            raise InvalidQueryError(_error_message(select, column))
    return statement


def names_of_sources(sql: str) -> set[str]:
    """Return the names and aliases of all that a statement reads from, in lower case; none if it cannot be parsed."""
    try:
        statement = sqlglot.parse_one(sql, dialect="sqlite")
    except SqlglotError:
        return set()
    sources = statement.find_all(exp.Table, exp.CTE, exp.Subquery)
    return {source.alias_or_name.lower() for source in sources}


def _error_message(select: exp.Select, column: str) -> str:
    """Return an error message: what is wrong with *column*, and how to correct it."""
    output = _outputs(select).get(column.lower())
    if output is not None and _aggregates(output):
        return (
            f"in HAVING, and in expressions of ORDER BY, {column} is the column and not the output of this name: "
            f"write {output.sql(dialect='sqlite')}"
        )
    if select.args.get("group") is None:
        return (
            f"an aggregate gives one value for all rows, and {column} has one in each: add GROUP BY {column}, "
            "or leave it out"
        )
    return f"a group has several values of {column}: add it to GROUP BY, or take min({column}) or max({column})"


def _ungrouped(select: exp.Select, read: Collection[str]) -> str | None:
    """Return the first column that is neither grouped nor aggregated in a SELECT that aggregates; None if there is none.

    The name of an output does not count, unless it is hidden by a column of that name among the columns *read*.
    """
    checked: list[exp.Expr] = [*select.expressions]
    having = select.args.get("having")
    if having:
        checked.append(having)
    order = select.args.get("order")
    if order:
        checked += order.expressions
    group = select.args.get("group")
    if group is None and not any(map(_aggregates, checked)):
        return None
    terms = group.expressions if group else ()
    grouped = [_resolved(term, select) for term in terms]
    names = _outputs(select)
    for expression in checked:
        is_output = expression in select.expressions
        # In ORDER BY, a name alone is first looked for among the outputs.
        is_name = isinstance(expression, exp.Ordered) and _is_alone(expression.this)
        for column in _bare_columns(expression, grouped):
            name = column.lower()
            is_hidden = name in read and not is_name
            if is_output or is_hidden or name not in names:
                return column
    return None


def _outputs(select: exp.Select) -> dict[str, exp.Expr]:
    """Return the expressions that a SELECT names with AS, by name."""
    outputs = select.expressions
    return {one.alias.lower(): one.this for one in outputs if isinstance(one, exp.Alias)}


def _is_alone(term: exp.Expr) -> bool:
    """Return whether a term is a column without its table, which may be the name of an output."""
    return isinstance(term, exp.Column) and not term.table


def _resolved(term: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return the expression that a GROUP BY term means: the output column of that number or name, or the term itself."""
    outputs: list[exp.Expr] = select.expressions
    if isinstance(term, exp.Literal) and term.is_int:
        number = int(term.this)
        if 0 < number <= len(outputs):
            return outputs[number - 1].unalias()
    if _is_alone(term):
        return _outputs(select).get(term.name.lower(), term)
    return term


def _aggregates(expression: exp.Expr) -> bool:
    """Return whether an expression aggregates, not counting subqueries in it."""
    nodes = expression.walk(prune=lambda node: isinstance(node, exp.Query))
    return any(map(_is_aggregate, nodes))


def _is_aggregate(node: exp.Expr) -> bool:
    parent = node.parent
    if isinstance(parent, exp.Window) and node.arg_key == "this":
        return False
    if isinstance(parent, exp.Filter):
        return _is_aggregate(parent)
    return isinstance(node, exp.AggFunc | exp.Filter) or is_total(node)


def _bare_columns(node: exp.Expr, grouped: list[exp.Expr]) -> Iterator[str]:
    """Yield the columns of an expression that are neither grouped nor in an aggregate."""
    if isinstance(node, exp.Query) or _is_aggregate(node):
        return
    if any(_same(node, one) for one in grouped):
        return
    if isinstance(node, exp.Star | exp.Column):
        yield node.name
    else:
        for child in node.iter_expressions():
            yield from _bare_columns(child, grouped)


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    """Return whether two expressions are the same; one of them may leave out a column's table."""
    if not (isinstance(one, exp.Column) and isinstance(other, exp.Column)):
        return one.unalias() == other
    if one.name.lower() != other.name.lower():
        return False
    tables = {one.table.lower(), other.table.lower()}
    return len(tables) == 1 or "" in tables
