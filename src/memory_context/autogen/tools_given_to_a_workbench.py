"""Sort and check what a `MemoryWorkbench` is built from: tools, functions and other workbenches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

from autogen_core import ComponentModel
from autogen_core.tools import BaseTool, FunctionTool, Workbench

from memory_context.exceptions import InvalidArgumentError, NotSerializableError

AnyTool: TypeAlias = BaseTool[Any, Any] | Callable[..., Any] | Workbench


def sorted_tools(tools: object) -> tuple[list[BaseTool[Any, Any]], list[Workbench]]:
    """Split *tools* into plain tools and workbenches, keeping the order; functions become tools.

    Raises:
        InvalidArgumentError: One of *tools* is not a tool, a function or a workbench.
    """
    if isinstance(tools, Workbench):
        return [], [tools]
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise InvalidArgumentError(
            f"workbench() takes one workbench, or a list of tools, functions and workbenches, not {tools!r}"
        )
    plain = list[BaseTool[Any, Any]]()
    workbenches = list[Workbench]()
    for tool in cast("Sequence[object]", tools):
        if isinstance(tool, Workbench):
            workbenches.append(tool)
        elif isinstance(tool, BaseTool):
            plain.append(tool)  # pyright: ignore[reportUnknownArgumentType] # any arguments and result
        elif callable(tool):
            plain.append(FunctionTool(tool, description=tool.__doc__ or ""))
        else:
            raise InvalidArgumentError(f"not a tool, a function or a workbench: {tool!r}")
    return plain, workbenches


def refuse_duplicates(names: Iterable[str]) -> None:
    """Check that all names differ.

    Raises:
        InvalidArgumentError: Two tools have the same name; the message lists such names.
    """
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InvalidArgumentError(
            f"more than one tool has the name {', '.join(twice)}; the memory tools are added by the workbench itself"
        )


def dumped(part: Workbench) -> ComponentModel:
    """Return the component that *part* can be loaded from.

    Raises:
        NotSerializableError: The workbench, or one of its tools, cannot be dumped.
    """
    try:
        return part.dump_component()
    except NotSerializableError:
        raise
    except (NotImplementedError, TypeError, ValueError, OSError) as error:
        raise NotSerializableError(
            f"{type(part).__name__} or one of its tools cannot be dumped: {error}"
        ) from error
