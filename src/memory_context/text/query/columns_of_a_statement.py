"""Say where the columns of a statement come from, through names of outputs, subqueries, unions and WITH clauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from memory_context.exceptions import InvalidQueryError
from memory_context.text.query.sandboxed_database import lowered
from memory_context.text.rows.rows_under_columns import TextTable

# In each other, they double their size with each copy.
_ARE_COPIED = (exp.Case, exp.Nullif, exp.Between, exp.EQ, exp.NEQ, exp.In)
MOST_NODES = 20_000
ORDER = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_DIALECT = "sqlite, normalization_strategy = case_sensitive"


def parsed(sql: str) -> exp.Expr:
    """Parse a statement.

    Raises:
        InvalidQueryError: It cannot be parsed, so that nothing in it can be checked.
    """
    try:
        return sqlglot.parse_one(sql, dialect="sqlite")
    except SqlglotError as error:
        raise _unchecked() from error


def _unchecked() -> InvalidQueryError:
    return InvalidQueryError(
        "this statement has a form that cannot be checked; write it more simply"
    )


class QualifiedStatement:
    """A statement in which each column names its source, each ``*`` is a list, and each output has a name.

    Comparisons with several values are written as comparisons of two.

    Args:
        statement: The statement as parsed; it is changed.
        tables: The tables that it names.

    Attributes:
        tree: The statement.
    """

    def __init__(self, statement: exp.Expr, tables: Mapping[str, TextTable]) -> None:
        # The inner ones first, because the outer ones are made of their copies.
        size = 0
        for node in reversed(list(statement.walk())):
            size += sum(1 for _ in node.walk()) if isinstance(node, _ARE_COPIED) else 0
            if size > MOST_NODES:
                raise _unchecked()
            _spread(node)
        for name in statement.find_all(exp.Identifier):
            name.set("this", lowered(name.name))
        schema: dict[str, object] = {
            lowered(name): dict.fromkeys(map(lowered, table.columns), "text")
            for name, table in tables.items()
        }
        try:
            self.tree = qualify(
                statement, dialect=_DIALECT, schema=schema, validate_qualify_columns=False
            )
            scopes = traverse_scope(self.tree)
        except SqlglotError as error:
            raise _unchecked() from error
        self._sources = dict[int, exp.Expr | Scope]()
        for scope in scopes:
            for column in scope.columns:
                if column.table in scope.sources:
                    self._sources[id(column)] = scope.sources[column.table]
        self._origins = dict[int, list[exp.Expr]]()

    def origins(self, node: exp.Expr) -> list[exp.Expr]:
        """Return the expressions that give the values of *node*: of a column, those of the outputs that it names.

        A column among them is one of a table, which is its ``table``, or one of a source that is not known.
        """
        node = node.unnest()
        source = self._sources.get(id(node))
        if isinstance(source, exp.Table):
            return [exp.column(node.name, source.name)]
        if source is None:
            return [node]
        if id(node) not in self._origins:
            self._origins[id(node)] = [node]  # a WITH clause may read itself
            named = (one for name, one in outputs(source.expression) if name == node.name)
            found = (origin for one in named for origin in self.origins(one))
            self._origins[id(node)] = list(dict.fromkeys(found)) or [node]
        return self._origins[id(node)]


def outputs(query: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the outputs of all parts of a query, each with the name that the first part gives it."""
    waiting, names = [query], list[str]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.SetOperation):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Subquery):
            waiting.append(one.this)
        elif isinstance(one, exp.Select):
            names = names or one.named_selects
            yield from zip(names, (output.unalias() for output in one.expressions), strict=False)


def _spread(node: exp.Expr) -> None:
    """Write CASE x WHEN, NULLIF, BETWEEN, and comparisons with rows and lists of expressions as comparisons of two values."""
    if isinstance(node, exp.Case) and node.this is not None:
        value = node.this.pop()
        for branch in node.args["ifs"]:
            branch.set("this", _equal(value, branch.this))
    elif isinstance(node, exp.Nullif):
        one, other = node.iter_expressions()
        # Not with `=`: to look for '' among cells without a value is an error there.
        is_equal = exp.Is(this=exp.paren(one), expression=exp.paren(other))
        node.replace(exp.case().when(is_equal, exp.null()).else_(one.copy()))
    elif isinstance(node, exp.Between):
        value, low, high = map(exp.paren, node.iter_expressions())
        above = exp.GTE(this=value, expression=low)
        node.replace(exp.paren(exp.and_(above, exp.LTE(this=value.copy(), expression=high))))
    elif isinstance(node, exp.And) and not isinstance(node.parent, exp.And):
        # SQLite evaluates them in this order, so that "amount <> 'unknown'" comes before "amount > 5".
        conditions = sorted(node.flatten(unnest=False), key=lambda one: isinstance(one, ORDER))
        node.replace(exp.and_(*conditions, copy=False))
    elif isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.this, exp.Tuple):
        rows = (one.iter_expressions() for one in node.iter_expressions())
        equal = exp.paren(exp.and_(*map(_equal, *rows)))
        node.replace(equal if isinstance(node, exp.EQ) else exp.not_(equal))
    elif isinstance(node, exp.In) and not all(map(is_constant, node.expressions)):
        value, *others = list(node.iter_expressions())
        node.replace(exp.paren(exp.or_(*(_equal(value, other) for other in others))))


def _equal(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.EQ(this=exp.paren(one.copy()), expression=exp.paren(other.copy()))


def is_total(node: exp.Expr) -> bool:
    """Return whether a node is ``total(…)``, a sum that sqlglot does not know."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "total"


def is_constant(node: exp.Expr) -> bool:
    """Return whether a node is a number or a string, as it is written."""
    return node.is_number or node.is_string
