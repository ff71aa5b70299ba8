"""The columns of tables that a column of a statement stands for, through names, subqueries and WITH clauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from memory_context.text.rows.text_table import TextTable

Origin = tuple[str, str]


class ColumnOrigins:
    """Finds what columns of one statement stand for.

    Args:
        tables: The tables that the statement names.
    """

    def __init__(self, tables: Mapping[str, TextTable]) -> None:
        self._tables = tables
        # Each name is looked up in a query once: a WITH clause may stand in a hundred places, or in itself.
        self._found = dict[tuple[int, str, str], set[Origin]]()

    def of(self, column: exp.Column) -> set[Origin]:
        """Return the tables and names of what *column* stands for; nothing where it is computed, or unknown."""
        select = column.find_ancestor(exp.Select)
        while select is not None:
            found = self._in_select(column.name.lower(), column.table.lower(), select)
            if found:
                return found
            select = select.find_ancestor(exp.Select)
        return set()

    def _in_select(self, name: str, of: str, select: exp.Select) -> set[Origin]:
        """Return what a name stands for among the sources of a SELECT, or among its own outputs."""
        key = (id(select), name, of)
        if key not in self._found:
            self._found[key] = set()
            self._found[key] = self._among_sources(name, of, select) or (
                set() if of else self._among_outputs(name, select)
            )
        return self._found[key]

    def _among_sources(self, name: str, of: str, select: exp.Select) -> set[Origin]:
        for source in _sources(select):
            if of in ("", source.alias_or_name.lower()):
                found = self._in_source(name, source)
                if found:
                    return found
        return set()

    def _among_outputs(self, name: str, select: exp.Select) -> set[Origin]:
        for output in select.expressions:
            if isinstance(output, exp.Alias) and output.alias.lower() == name:
                return self.of(output.this) if isinstance(output.this, exp.Column) else set()
        return set()

    def _in_source(self, name: str, source: exp.Expr) -> set[Origin]:
        if isinstance(source, exp.Subquery):
            return self._in_query(name, source, source.this)
        clause = _with_clause(source)
        if clause is not None:
            return self._in_query(name, clause, clause.this)
        table = self._tables.get(source.name)
        for column in table.columns if table else ():
            if column.lower() == name:
                return {(source.name, column)}
        return set()

    def _in_query(self, name: str, named: exp.Expr, query: exp.Expr) -> set[Origin]:
        """Return what an output of an inner query stands for, in each part of a UNION."""
        found = set[Origin]()
        names = [one.lower() for one in named.alias_column_names]
        for select in _parts(query):
            for index, output in enumerate(select.expressions):
                told = names[index] if index < len(names) else output.alias_or_name.lower()
                inner = output.unalias()
                if output.is_star:
                    found |= self._in_select(name, "", select)
                elif told == name and isinstance(inner, exp.Column):
                    found |= self.of(inner)
        return found


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
            waiting += [one.this, one.expression]
        elif isinstance(one, exp.Subquery):
            waiting.append(one.this)
