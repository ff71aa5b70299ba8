"""Evaluate the expressions of a statement where they stand: over the rows that their query reads.

So names of outputs, subqueries, unions and WITH clauses mean what they mean to the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.expressions import Expr

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.ungrouped_columns import aggregates, resolved

if TYPE_CHECKING:
    from memory_context.text.query.sandboxed_database import Selected

# A recursive WITH clause may give rows without end, so that only so many are read; else all of them.
MOST_RECURSIVE = 10_000
ALL = -1
# So many of the conditions beside an expression are heeded.
MOST_CONDITIONS = 10
_VALUE = "given_value"
# All numbers become 0, so that DISTINCT leaves one of them. A text that is compared with a column of numbers becomes a
# number, this one a number below all others; any other text is larger than all numbers.
_READ = f"""
SELECT DISTINCT iif(typeof({_VALUE}) = 'text', {_VALUE}, 0), {_VALUE} > '-1e999'
FROM ({{}} LIMIT {{}}) WHERE typeof({_VALUE}) IN ('text', 'integer', 'real')
"""  # noqa: S608 - the statement is locked in when it is run
_BEHIND_ROWS = ("with_", "order", "limit", "offset")


class Given(NamedTuple):
    """The values that an expression gives.

    Attributes:
        has_numbers: Whether some are numbers.
        texts: Those that are texts, each once.
        reads_texts: Whether SQLite converts a text to a number when it compares it with the numbers.
    """

    has_numbers: bool = False
    texts: Sequence[str] = ()
    reads_texts: bool = False


def parsed(sql: str) -> Expr:
    """Parse a statement.

    Raises:
        InvalidQueryError: It cannot be parsed, and so not checked.
    """
    try:
        return sqlglot.parse_one(sql, dialect="sqlite")
    except SqlglotError as error:
        raise InvalidQueryError(
            "this statement has a form that cannot be checked; write it more simply"
        ) from error


class ValuesOfExpressions:
    """Evaluates the expressions of one statement.

    Args:
        statement: The statement.
        tried: Runs a SELECT that is a part of it; returns None if that is not valid by itself.
    """

    def __init__(self, statement: Expr, tried: Callable[[str], Selected | None]) -> None:
        self._tried = cache(tried)
        clauses = {one.alias: sql_of(one) for one in statement.find_all(exp.CTE)}
        self._with = f"WITH {', '.join(clauses.values())} " if clauses else ""
        is_recursive = any(one.recursive for one in statement.find_all(exp.With))
        self._most = MOST_RECURSIVE if is_recursive else ALL

    def of(self, node: Expr, form: str = "{}") -> Given:
        """Return the values of *node* in the rows that pass the other conditions of its query.

        There are none if it cannot be evaluated, as what is made of the columns of two tables.

        Args:
            node: The expression.
            form: What to evaluate in its place, with ``{}`` where it stands.
        """
        select = node.find_ancestor(exp.Select)
        while select is not None:
            for meant in _meanings(node, select):
                value = exp.Var(this=f"{form.format(sql_of(meant))} AS {_VALUE}")
                for evaluating in self._evaluating(node, meant, value, select):
                    given = self._given_by(evaluating)
                    if given is not None:
                        return given
            select = select.find_ancestor(exp.Select)
        return Given()

    def columns(self, query: Expr) -> dict[str, Given]:
        """Return the values of each column of a query, by its name."""
        alone = query.unnest().copy()
        for clause in _BEHIND_ROWS:
            alone.set(clause, None)
        columns = dict[str, Given]()
        for name in self._names(alone):
            column = exp.to_identifier(name, quoted=True)
            value = exp.alias_(column, _VALUE)
            given = self._given_by(exp.select(value).from_(exp.Subquery(this=alone)))
            columns[name] = given or Given()
        return columns

    def reads(self, select: exp.Select, name: str) -> bool:
        """Return whether a source of a SELECT has a column of this name."""
        column = exp.to_identifier(name, quoted=True)
        return any(self._can_read(source, column) for source in _sources(select))

    def _evaluating(
        self, node: Expr, meant: Expr, value: Expr, select: exp.Select
    ) -> Iterator[exp.Select]:
        """Yield SELECTs of a *value* that is made of *node* as it is *meant*, for the rows of *select*."""
        if aggregates(meant):
            whole = select.select(value)  # its other outputs may be named in GROUP BY
            for clause in (*_BEHIND_ROWS, "distinct", "having"):
                whole.set(clause, None)
            yield whole
            return
        conditions = list(islice(_other_conditions(node, select), MOST_CONDITIONS))
        for source in _sources(select):
            fitting = [one.copy() for one in conditions if self._can_read(source, one)]
            yield exp.select(value).from_(source.copy()).where(*fitting)
        if not meant.find(exp.Column):
            yield exp.select(value)

    def _can_read(self, source: Expr, expression: Expr) -> bool:
        return bool(self._names(exp.select(expression.copy()).from_(source.copy())))

    def _names(self, select: Expr) -> Sequence[str]:
        """Return the names of the columns of a SELECT; empty if it is not valid."""
        selected = self._tried(f"SELECT * FROM ({self._with}{sql_of(select)}) LIMIT 0")  # noqa: S608
        return selected.columns if selected else ()

    def _given_by(self, select: Expr) -> Given | None:
        """Return the values in the column `_VALUE` of a SELECT; None if it is not valid."""
        selected = self._tried(_READ.format(self._with + sql_of(select), self._most))
        if selected is None:
            return None
        texts = [value for value, _ in selected.rows if isinstance(value, str)]
        numbers = [reads_texts for value, reads_texts in selected.rows if value == 0]
        return Given(bool(numbers), texts, any(numbers))


def sql_of(node: Expr) -> str:
    """Return an expression as SQL."""
    return node.sql(dialect="sqlite")


def _meanings(node: Expr, select: exp.Select) -> Iterator[Expr]:
    """Yield an expression as it is, and with the outputs of a SELECT in place of their names."""

    def as_meant(one: Expr) -> Expr:
        return resolved(one, select).copy() if isinstance(one, exp.Column) else one

    yield node
    if any(resolved(one, select) is not one for one in node.find_all(exp.Column)):
        yield node.transform(as_meant)


def _other_conditions(node: Expr, select: exp.Select) -> Iterator[Expr]:
    """Yield the conditions of a SELECT's WHERE clause, without the one that *node* is in."""
    where = select.args.get("where")
    condition = where.this if where else exp.true()
    for one in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        if all(below is not node for below in one.walk()):
            yield one


def _sources(select: exp.Select) -> Iterator[Expr]:
    joins = select.args.get("joins") or ()
    return (clause.this for clause in (select.args.get("from_"), *joins) if clause)
