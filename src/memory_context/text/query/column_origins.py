"""The columns of tables that a column of a statement stands for, through names, subqueries and WITH clauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from memory_context.text.rows.rows_under_columns import TextTable

Origin = tuple[str, str]


_Outputs = list[tuple[str, set[Origin]]]


class ColumnOrigins:
    """Finds what columns of one statement stand for.

    Args:
        tables: The tables that the statement names.
    """

    def __init__(self, tables: Mapping[str, TextTable]) -> None:
        self._tables = tables
        # Each query is looked through once: a WITH clause may stand in a hundred places, or in itself.
        self._outputs_of = dict[int, _Outputs]()
        self._named = dict[tuple[int, str], dict[str, set[Origin]]]()

    def of(self, column: exp.Column) -> set[Origin]:
        """Return the tables and names of what *column* stands for; nothing where it is computed, or unknown."""
        select = column.find_ancestor(exp.Select)
        while select is not None:
            named = self._named_in(select, column.table)
            if column.name.lower() in named:
                return named[column.name.lower()]
            select = select.find_ancestor(exp.Select)
        return set()

    def _named_in(self, select: exp.Select, of: str) -> dict[str, set[Origin]]:
        """Return what the names of columns stand for in a SELECT: its sources' before those that it gives itself."""
        key = (id(select), of)
        if key not in self._named:
            outputs = self._read_by(select, of)
            if not of:
                outputs += self._outputs(select)
            self._named[key] = dict(reversed(outputs))
        return self._named[key]

    def _read_by(self, select: exp.Select, of: str) -> _Outputs:
        """Return the columns that a SELECT reads from: of all its sources, or of the one that is called so."""
        outputs: _Outputs = []
        for source in _sources(select):
            if of.lower() in ("", source.alias_or_name.lower()):
                outputs += self._of_source(source)
        return outputs

    def _of_source(self, source: exp.Expr) -> _Outputs:
        named = source if isinstance(source, exp.Subquery) else _with_clause(source)
        if named is not None:
            return self._of_query(named)
        table = self._tables.get(source.name)
        columns = table.columns if table else ()
        return [(column.lower(), {(source.name, column)}) for column in columns]

    def _of_query(self, named: exp.Expr) -> _Outputs:
        """Return the outputs of a query in parentheses, those of each part of a UNION together."""
        names = [name.lower() for name in named.alias_column_names]
        united: _Outputs = []
        for select in _parts(named.this):
            for index, (name, origins) in enumerate(self._outputs(select)):
                if index == len(united):
                    united.append((names[index] if index < len(names) else name, set()))
                united[index][1].update(origins)
        return united

    def _outputs(self, select: exp.Select) -> _Outputs:
        key = id(select)
        if key not in self._outputs_of:
            self._outputs_of[key] = []
            outputs: _Outputs = []
            for output in select.expressions:
                inner = output.unalias()
                if output.is_star:
                    outputs += self._read_by(select, getattr(output, "table", ""))
                elif isinstance(inner, exp.Column):
                    outputs.append((output.alias_or_name.lower(), self.of(inner)))
                else:
                    outputs.append((output.alias_or_name.lower(), set()))
            self._outputs_of[key] = outputs
        return self._outputs_of[key]


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    for clause in (select.args.get("from_"), *(select.args.get("joins") or ())):
        if clause is not None:
            yield clause.this


def _with_clause(source: exp.Expr) -> exp.CTE | None:
    """Return the WITH clause that a source names, and does not stand in."""
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
        elif isinstance(one, exp.Subquery):
            waiting.append(one.this)
