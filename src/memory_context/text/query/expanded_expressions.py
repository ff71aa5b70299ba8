"""Expand the expressions of a statement to expressions over the tables' columns.

Names of outputs, subqueries, unions and WITH clauses are followed. An expression may have several *alternatives*, one
for each part of a UNION. A *guarded* expression is NULL in the rows that the WHERE clause of its query leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product

from sqlglot import exp

from memory_context.text.rows.rows_under_columns import TextTable

# Each WITH clause may double the expressions of the one before it. Above these limits expansion is given up.
MOST_ALTERNATIVES = 50
MOST_NODES = 500
MOST_CONDITIONS = 10
_GUARDS = "guards"
_Outputs = list[tuple[str, list[exp.Expr]]]
_GIVE_THEIR_ARGUMENT = (exp.Alias, exp.Paren, exp.Filter, exp.Window, exp.Distinct)
_GIVE_TEXTS = (exp.GroupConcat, exp.JSONArrayAgg, exp.JSONObjectAgg)
_GIVE_ONE_OF_ALL_ROWS = (
    *(exp.Max, exp.Min, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue),
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
        self._named = dict[tuple[int, str], dict[str, list[exp.Expr]]]()
        self._conditions = dict[int, list[exp.Expr]]()

    def of(self, node: exp.Expr) -> list[exp.Expr]:
        """Return expressions over columns of tables that together give the values of *node*.

        There are several for the parts of a UNION, and none if the values cannot be determined. ``max(a)``, and any other
        function that returns one of the values of its argument, is expanded to this argument. A count, a sum, or a
        question about other rows becomes a placeholder. The expressions give NULL in rows that the query leaves out;
        `of_all_rows` removes this guard.
        """
        return self._guarded(self._expanded(node), node)

    def _expanded(self, node: exp.Expr) -> list[exp.Expr]:
        if isinstance(node, exp.Column):
            return self._of_column(node)
        if isinstance(node, exp.Query):
            outputs = self._of_query(node)
            return outputs[0][1] if outputs else []
        if isinstance(node, _GIVE_THEIR_ARGUMENT):
            return self._expanded(
                node.expressions[0] if isinstance(node, exp.Distinct) else node.this
            )
        if isinstance(node, _GIVE_ONE_OF_ALL_ROWS):
            # In parentheses, it is no longer a column: SQLite converts a text to a number only if it compares it with
            # a column.
            return [exp.Paren(this=one.copy()) for one in self._expanded(node.this)]
        if isinstance(node, exp.AggFunc | exp.RowNumber) or is_total(node) or _asks_rows(node):
            return [] if isinstance(node, _GIVE_TEXTS) else [exp.Placeholder()]
        return list(_with_children(node, list(map(self._expanded, node.iter_expressions()))))

    def names_read_by(self, select: exp.Select) -> set[str]:
        """Return the names, in lower case, of the columns of the sources of a SELECT."""
        return {name for name, _ in self._read_by(select, "")}

    def ordered(self, node: exp.Ordered) -> list[exp.Expr]:
        """Expand a term of ORDER BY: first as the number or name of an output column, then as a column of a table."""
        query, term = node.parent and node.parent.parent, node.this
        if query and isinstance(term, exp.Column) and not term.table:
            for name, alternatives in self._of_query(query):
                if name == term.name.lower():
                    return alternatives
        return self._numbered(term, query)

    def made_distinct(self, node: exp.Expr) -> list[list[exp.Expr]]:
        """Expand each expression whose equal values *node* makes one: of GROUP BY, DISTINCT, EXCEPT and the like."""
        if isinstance(node, exp.Group):
            return [self._numbered(term, node.parent) for term in node.expressions]
        if isinstance(node, exp.Distinct):
            return list(map(self.of, node.expressions))
        if isinstance(node, exp.Window):
            return list(map(self.of, node.args.get("partition_by") or ()))
        if node.args.get("distinct"):
            return [alternatives for _, alternatives in self._of_query(node)]
        return []

    def _numbered(self, term: exp.Expr, query: exp.Expr | None) -> list[exp.Expr]:
        """Expand a term that may be the number of an output column of *query*."""
        if not query or not term.is_int:
            return self.of(term)
        outputs = dict(enumerate(self._of_query(query), 1))
        return outputs.get(term.to_py(), ("", []))[1]

    def _guarded(self, alternatives: list[exp.Expr], node: exp.Expr) -> list[exp.Expr]:
        """Make expressions NULL in rows for which a WHERE condition fails, other than the condition that holds *node*."""
        conditions = list(islice(self._other_conditions(node), MOST_CONDITIONS))
        return [_where(one, conditions) for one in alternatives]

    def _other_conditions(self, node: exp.Expr) -> Iterator[list[exp.Expr]]:
        """Yield the expanded conditions of the WHERE clause around *node*, without the condition that *node* is in."""
        select = node.find_ancestor(exp.Select)
        where = select.args.get("where") if select else None
        if where is None:
            return
        around = set[int]()
        above: exp.Expr | None = node
        while above is not None:
            around.add(id(above))
            above = above.parent
        conditions = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
        for condition in conditions:
            if id(condition) not in around:
                if id(condition) not in self._conditions:
                    self._conditions[id(condition)] = self._expanded(condition)
                yield self._conditions[id(condition)]

    def _of_column(self, column: exp.Column) -> list[exp.Expr]:
        """Expand a column; to nothing if it is none of a table's, as those of json_each."""
        select = column.find_ancestor(exp.Select)
        while select is not None:
            named = self._named_in(select, column.table)
            if column.name.lower() in named:
                return named[column.name.lower()]
            select = select.find_ancestor(exp.Select)
        return []

    def _named_in(self, select: exp.Select, source_name: str) -> dict[str, list[exp.Expr]]:
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
        for source in _sources(select):
            if source_name.lower() in ("", source.alias_or_name.lower()):
                outputs += self._of_source(source)
        return outputs

    def _of_source(self, source: exp.Expr) -> _Outputs:
        named = source if isinstance(source, exp.Subquery) else _with_clause(source)
        if named is not None:
            return self._of_query(named)
        table = self._tables.get(source.name)
        columns = table.columns if table else ()
        return [(column.lower(), [_column(source.name, column)]) for column in columns]

    def _of_query(self, query: exp.Expr) -> _Outputs:
        """Return the outputs of a query; for a UNION, each output has the alternatives of all parts; a window has none."""
        names = [name.lower() for name in query.alias_column_names]
        united: _Outputs = []
        for select in _parts(query):
            for index, (name, alternatives) in enumerate(self._outputs(select)):
                if index == len(united):
                    united.append((names[index] if index < len(names) else name, []))
                united[index][1].extend(alternatives)
        return united

    def _outputs(self, select: exp.Select) -> _Outputs:
        key = id(select)
        if key not in self._outputs_of:
            self._outputs_of[key] = []
            outputs: _Outputs = []
            for output in select.expressions:
                if output.is_star:
                    outputs += self._read_by(select, getattr(output, "table", ""))
                else:
                    outputs.append((output.alias_or_name.lower(), self.of(output)))
            self._outputs_of[key] = outputs
        return self._outputs_of[key]


def is_total(node: exp.Expr) -> bool:
    """Return whether a node is ``total(…)``, a sum that sqlglot does not know."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "total"


def _asks_rows(node: exp.Expr) -> bool:
    return isinstance(node, exp.Exists) or isinstance(node.args.get("query"), exp.Query)


def _column(table: str, name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True))


def _where(expanded: exp.Expr, conditions: list[list[exp.Expr]]) -> exp.Expr:
    """Return an expression that is NULL where the conditions fail, as far as these read the same table."""
    tables = tables_of(expanded)
    fitting = list[exp.Expr]()
    for condition in conditions:
        same = [one for one in condition if tables_of(one) == tables]
        if len(same) == 1 and not same[0].find(exp.Placeholder):
            fitting += same
    if not fitting or sum(map(_size, [expanded, *fitting])) > MOST_NODES:
        return expanded
    guarded = exp.Case(ifs=[exp.If(this=exp.and_(*fitting), true=expanded.copy())])
    guarded.meta[_GUARDS] = True
    return guarded


def _size(expanded: exp.Expr) -> int:
    return sum(1 for _ in expanded.walk())


def tables_of(expanded: exp.Expr) -> set[str]:
    """Return the tables whose columns an expression reads."""
    return {column.table for column in expanded.find_all(exp.Column)}


def of_all_rows(expanded: exp.Expr) -> exp.Expr:
    """Return an expression without its guard, so that it gives the values of all rows."""
    while expanded.meta.get(_GUARDS):
        expanded = expanded.args["ifs"][0].args["true"]
    return expanded


def _with_children(node: exp.Expr, of_children: list[list[exp.Expr]]) -> Iterator[exp.Expr]:
    """Yield copies of a node with each combination of its children's alternatives."""
    for chosen in islice(product(*of_children), MOST_ALTERNATIVES):
        copy = node.copy()
        for child, one in zip(list(copy.iter_expressions()), chosen, strict=True):
            child.replace(one.copy())
        if _size(copy) <= MOST_NODES:
            yield copy


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    for clause in (select.args.get("from_"), *(select.args.get("joins") or ())):
        if clause is not None:
            yield clause.this


def _with_clause(source: exp.Expr) -> exp.CTE | None:
    """Return the WITH clause that a source names, unless the source is within this clause."""
    above: exp.Expr | None = source
    within = source.find_ancestor(exp.CTE)
    while above is not None:
        clauses = above.args.get("with_")
        for clause in clauses.expressions if clauses else ():
            is_named = clause.alias.lower() == source.name.lower() and clause is not within
            if is_named and isinstance(clause, exp.CTE):
                return clause
        above = above.parent
    return None


def _parts(query: exp.Expr) -> Iterator[exp.Select]:
    waiting = [query]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Select):
            yield one
        elif isinstance(one, exp.SetOperation):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Subquery | exp.CTE):
            waiting.append(one.this)
