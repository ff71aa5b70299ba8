"""A table of rows as one case: what `pytest.mark.parametrize` makes a case of each row of."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def for_each(names: str, values: Iterable[Any]) -> Callable[[Callable[..., Any]], Any]:
    """Call a test with each row of *values* in turn; the error of a row that fails ends with the row.

    As with `parametrize`, *names* are the parameters that a row fills, separated by commas. All rows share the
    fixtures of the one case, so a row must not mind what the rows before it left behind.
    """
    fields = [name.strip() for name in names.split(",")]
    values = [*values]
    assert values, "a table without rows would hold nothing"

    def decorate(test: Callable[..., Any]) -> Any:
        def calls() -> Iterator[dict[str, Any]]:
            for value in values:
                yield dict(zip(fields, value if len(fields) > 1 else [value], strict=True))

        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            for row in calls():
                with _named(row):
                    test(*args, **fixtures, **row)

        @functools.wraps(test)
        async def run_async(*args: Any, **fixtures: Any) -> None:
            for row in calls():
                with _named(row):
                    await test(*args, **fixtures, **row)

        case: Any = run_async if inspect.iscoroutinefunction(test) else run
        signature = inspect.signature(test)
        fixtures = [param for name, param in signature.parameters.items() if name not in fields]
        case.__signature__ = signature.replace(parameters=fixtures)
        return case

    return decorate


@contextmanager
def _named(row: dict[str, Any]) -> Iterator[None]:
    """Note the row on an error that it causes; pytest prints notes below the traceback."""
    try:
        yield
    except BaseException as error:  # that `pytest.raises` saw nothing is no Exception
        for name, value in row.items():
            error.add_note(f"{name} = {value!r:.500}")
        raise


def first_quick(values: Iterable[Any]) -> list[Any]:
    """Return *values* for `parametrize`, of which `make test` takes the first and the long suite the others."""
    first, *others = values
    rows = [value if isinstance(value, tuple) else (value,) for value in others]
    return [first, *(pytest.param(*row, marks=pytest.mark.long) for row in rows)]
