"""Expand the expressions of a statement to expressions over the tables' columns.

Names of outputs, subqueries, unions and WITH clauses are followed. An expression may have several *alternatives*, one
for each part of a UNION. A *guarded* expression is NULL in the rows that the WHERE clause of its query leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import TypeAlias

from sqlglot import exp
from sqlglot.expressions import Expr

from memory_context.text.rows.text_table import TextTable

# Each WITH clause may double the expressions of the one before it. Beyond these limits, nothing is expanded.
MOST_ALTERNATIVES = 50
MOST_NODES = 500
MOST_CONDITIONS = 10
_GUARDS = "guards"
Alternatives: TypeAlias = list[Expr]
_Outputs: TypeAlias = list[tuple[str, Alternatives]]
_GIVE_THEIR_ARGUMENT = (exp.Alias, exp.Paren, exp.Filter, exp.Window, exp.Distinct)
_GIVE_TEXTS = (exp.GroupConcat, exp.JSONArrayAgg, exp.JSONObjectAgg)
_GIVE_ONE_OF_ALL_ROWS = (
    exp.Max,
    exp.Min,
    exp.Lag,
    exp.Lead,
    exp.FirstValue,
    exp.LastValue,
    exp.NthValue,
)


class ExpandedExpressions:
    """Expands the expressions of one statement.

    Args:
        tables: The tables that the statement names.
    """

    def __init__(self, tables: Mapping[str, TextTable]) -> None:
        self._tables = tables
        # Each query is expanded only once: a WITH clause may be named in a hundred places, or in itself.
        self._outputs_of = dict[int, _Outputs]()
        self._named = dict[tuple[int, str], dict[str, Alternatives]]()
        self._conditions = dict[int, Alternatives]()

    def of(self, node: Expr) -> Alternatives:
        """Return expressions over columns of tables that together give the values of *node*.

        There are several for the parts of a UNION, and none if the values cannot be determined. ``max(a)``, and any other
        function that returns one of the values of its argument, is expanded to this argument. A count, a sum, or a
        question about other rows becomes a placeholder. The expressions give NULL in rows that the query leaves out;
        `of_all_rows` removes this guard.
        """
        alternatives = self._expanded(node)
        conditions = list(islice(self._other_conditions(node), MOST_CONDITIONS))
        return [_where(one, conditions) for one in alternatives]

    def _expanded(self, node: Expr) -> Alternatives:
        if isinstance(node, exp.Column):
            return self._of_column(node)
        if isinstance(node, exp.Query):
            outputs = self._of_query(node)
            return outputs[0][1] if outputs else []
        if isinstance(node, _GIVE_THEIR_ARGUMENT):
            argument = node.this
            if isinstance(node, exp.Distinct):
                argument = node.expressions[0]
            return self._expanded(argument)
        if isinstance(node, _GIVE_ONE_OF_ALL_ROWS):
            # In parentheses, it is no longer a column: SQLite converts a text to a number only when comparing it with
            # a column.
            return [exp.Paren(this=one.copy()) for one in self._expanded(node.this)]
        gives_other_value = isinstance(node, exp.AggFunc | exp.RowNumber) or is_total(node)
        if gives_other_value or _asks_rows(node):
            return [] if isinstance(node, _GIVE_TEXTS) else [exp.Placeholder()]
        of_children = list(map(self._expanded, node.iter_expressions()))
        return list(_with_children(node, of_children))

    def names_read_by(self, select: exp.Select) -> set[str]:
        """Return the names, in lower case, of the columns of the sources of a SELECT."""
        return {name for name, _ in self._read_by(select, "")}

    def ordered(self, node: exp.Ordered) -> Alternatives:
        """Expand a term of ORDER BY: first as the number or name of an output column, then as a column of a table."""
        query = node.parent and node.parent.parent
        term = node.this
        if query and isinstance(term, exp.Column) and not term.table:
            wanted = term.name.lower()
            for name, alternatives in self._of_query(query):
                if name == wanted:
                    return alternatives
        return self._numbered(term, query)

    def made_distinct(self, node: Expr) -> list[Alternatives]:
        """Expand each expression whose equal values *node* merges, as GROUP BY, DISTINCT and EXCEPT do."""
        if isinstance(node, exp.Group):
            return [self._numbered(term, node.parent) for term in node.expressions]
        if isinstance(node, exp.Distinct):
            return list(map(self.of, node.expressions))
        if isinstance(node, exp.Window):
            partitions = node.args.get("partition_by") or ()
            return list(map(self.of, partitions))
        if node.args.get("distinct"):
            return [alternatives for _, alternatives in self._of_query(node)]
        return []

    def _numbered(self, term: Expr, query: Expr | None) -> Alternatives:
        """Expand a term that may be the number of an output column of *query*."""
        if not query or not term.is_int:
            return self.of(term)
        wanted = term.to_py()
        for number, (_, alternatives) in enumerate(self._of_query(query), 1):
            if number == wanted:
                return alternatives
        return []

    def _other_conditions(self, node: Expr) -> Iterator[Alternatives]:
        """Yield the expanded conditions of the WHERE clause around *node*, without the condition that *node* is in."""
        select = node.find_ancestor(exp.Select)
        where = select.args.get("where") if select else None
        if where is None:
            return
        around = set(map(id, _and_all_above(node)))
        conditions = [where.this]
        if isinstance(where.this, exp.And):
            conditions = list(where.this.flatten())
        for condition in conditions:
            key = id(condition)
            if key in around:
                continue
            if key not in self._conditions:
                self._conditions[key] = self._expanded(condition)
            yield self._conditions[key]

    def _of_column(self, column: exp.Column) -> Alternatives:
        """Expand a column; empty if it is not a column of one of the tables, such as those of json_each."""
        name = column.name.lower()
        for above in _and_all_above(column):
            if isinstance(above, exp.Select):
                named = self._named_in(above, column.table)
                if name in named:
                    return named[name]
        return []

    def _named_in(self, select: exp.Select, source_name: str) -> dict[str, Alternatives]:
        """Return the expansions of the column names in a SELECT; its sources' names hide those of its own outputs."""
        key = (id(select), source_name)
        if key not in self._named:
            outputs = self._read_by(select, source_name)
            if not source_name:
                outputs += self._outputs(select)
            self._named[key] = dict(reversed(outputs))
        return self._named[key]

    def _read_by(self, select: exp.Select, source_name: str) -> _Outputs:
        """Return the columns of all sources of a SELECT, or of the source with this name."""
        outputs: _Outputs = []
        wanted = source_name.lower()
        for source in _sources(select):
            if wanted in ("", source.alias_or_name.lower()):
                outputs += self._of_source(source)
        return outputs

    def _of_source(self, source: Expr) -> _Outputs:
        named = source if isinstance(source, exp.Subquery) else _with_clause(source)
        if named is not None:
            return self._of_query(named)
        outputs: _Outputs = []
        if table := self._tables.get(source.name):
            for column in table.columns:
                expanded = exp.column(column, source.name, quoted=True)
                outputs.append((column.lower(), [expanded]))
        return outputs

    def _of_query(self, query: Expr) -> _Outputs:
        """Return the outputs of a query; in a UNION, each has the alternatives of all parts. Empty for a window."""
        given = dict(enumerate(query.alias_column_names))
        united: _Outputs = []
        for select in _parts(query):
            for index, (name, alternatives) in enumerate(self._outputs(select)):
                if index == len(united):
                    name_of_output = given.get(index, name).lower()
                    united.append((name_of_output, []))
                _, of_all_parts = united[index]
                of_all_parts.extend(alternatives)
        return united

    def _outputs(self, select: exp.Select) -> _Outputs:
        key = id(select)
        if key in self._outputs_of:
            return self._outputs_of[key]
        self._outputs_of[key] = []  # what a query that names itself finds
        outputs: _Outputs = []
        for output in select.expressions:
            if output.is_star:
                source_name = getattr(output, "table", "")
                outputs += self._read_by(select, source_name)
            else:
                name = output.alias_or_name.lower()
                outputs.append((name, self.of(output)))
        self._outputs_of[key] = outputs
        return outputs


def is_total(node: Expr) -> bool:
    """Return whether a node is ``total(…)``, a sum that sqlglot does not know."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "total"


def _asks_rows(node: Expr) -> bool:
    return isinstance(node, exp.Exists) or isinstance(node.args.get("query"), exp.Query)


def _where(expanded: Expr, conditions: list[Alternatives]) -> Expr:
    """Return an expression that is NULL where the conditions that read the same table fail."""
    tables = tables_of(expanded)
    fitting = list[Expr]()
    for condition in conditions:
        same = [one for one in condition if tables_of(one) == tables]
        if len(same) != 1:
            continue
        [only] = same
        if not only.find(exp.Placeholder):
            fitting.append(only)
    size = _size(expanded) + sum(map(_size, fitting))
    if not fitting or size > MOST_NODES:
        return expanded
    branch = exp.If(this=exp.and_(*fitting), true=expanded.copy())
    guarded = exp.Case(ifs=[branch])
    guarded.meta[_GUARDS] = True
    return guarded


def _size(expanded: Expr) -> int:
    return sum(1 for _ in expanded.walk())


def tables_of(expanded: Expr) -> set[str]:
    """Return the tables whose columns an expression reads."""
    return {column.table for column in expanded.find_all(exp.Column)}


def of_all_rows(expanded: Expr) -> Expr:
    """Return an expression without its guard, so that it gives the values of all rows."""
    while expanded.meta.get(_GUARDS):
        expanded = expanded.args["ifs"][0].args["true"]
    return expanded


def _with_children(node: Expr, of_children: list[Alternatives]) -> Iterator[Expr]:
    """Yield copies of a node with each combination of its children's alternatives."""
    combinations = product(*of_children)
    for chosen in islice(combinations, MOST_ALTERNATIVES):
        copy = node.copy()
        children = list(copy.iter_expressions())
        for child, one in zip(children, chosen, strict=True):
            child.replace(one.copy())
        if _size(copy) <= MOST_NODES:
            yield copy


def _sources(select: exp.Select) -> Iterator[Expr]:
    joins = select.args.get("joins") or ()
    for clause in (select.args.get("from_"), *joins):
        if clause is not None:
            yield clause.this


def _and_all_above(node: Expr) -> Iterator[Expr]:
    """Yield a node, then the nodes that it is in, innermost first."""
    above: Expr | None = node
    while above is not None:
        yield above
        above = above.parent


def _with_clause(source: Expr) -> exp.CTE | None:
    """Return the WITH clause that a source names, unless the source is within this clause."""
    name = source.name.lower()
    within = source.find_ancestor(exp.CTE)
    for above in _and_all_above(source):
        clauses = above.args.get("with_") or exp.With()
        for clause in clauses.expressions:
            is_around = clause is within
            is_named = clause.alias.lower() == name
            if is_named and not is_around and isinstance(clause, exp.CTE):
                return clause
    return None


def _parts(query: Expr) -> Iterator[exp.Select]:
    waiting = [query]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Select):
            yield one
        elif isinstance(one, exp.SetOperation):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Subquery | exp.CTE):
            waiting.append(one.this)
