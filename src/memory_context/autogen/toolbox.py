"""What a workbench is made of: plain tools, functions and other workbenches, under names that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeGuard, cast

from autogen_core import ComponentModel
from autogen_core.tools import BaseTool, FunctionTool, ToolOverride, Workbench

from memory_context.conversation.pass_by_reference import PassingPolicy
from memory_context.exceptions import InvalidArgumentError, NotSerializableError
from memory_context.model.tool_names import RETRIEVE
from memory_context.runtime import prompts

AnyTool: TypeAlias = BaseTool[Any, Any] | Callable[..., Any] | Workbench


def sorted_tools(tools: object) -> tuple[list[BaseTool[Any, Any]], list[Workbench]]:
    """Return the plain tools and the workbenches among *tools*, each in their order.

    Raises:
        InvalidArgumentError: One of them is something else.
    """
    listed = [tools] if isinstance(tools, Workbench) else tools
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        message = f"workbench() takes one workbench, or a list of tools, functions and workbenches, not {tools!r}"
        raise InvalidArgumentError(message)
    parts = cast("Sequence[AnyTool]", listed)
    workbenches = [part for part in parts if isinstance(part, Workbench)]
    plain = [_as_tool(part) for part in parts if not isinstance(part, Workbench)]
    return plain, workbenches


def _is_tool(tool: object) -> TypeGuard[BaseTool[Any, Any]]:
    return isinstance(tool, BaseTool)


def _as_tool(tool: object) -> BaseTool[Any, Any]:
    """Return a tool as AssistantAgent takes it; a function is described by its docstring."""
    if _is_tool(tool):
        return tool
    if callable(tool):
        return FunctionTool(tool, description=tool.__doc__ or "")
    message = f"not a tool, a function or a workbench: {tool!r}"
    raise InvalidArgumentError(message)


def refuse_duplicates(names: Iterable[str]) -> None:
    """Check that all names differ.

    Raises:
        InvalidArgumentError: Some do not; with their names.
    """
    listed = list(names)
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice:
        message = f"more than one tool has the name {', '.join(twice)}; the memory tools are added by the workbench itself"
        raise InvalidArgumentError(message)


def told_of_passing(
    tools: Iterable[BaseTool[Any, Any]], policy: PassingPolicy
) -> dict[str, ToolOverride]:
    """Return the description of the tool that reads memories, which says that references can be passed, too."""
    if not policy.passes:
        return {}
    sentence = prompts.PASS_REFERENCES.format(
        tools=", ".join(sorted(policy.tools or ())) or prompts.ANY_TOOL
    )
    return {
        t.name: ToolOverride(description=f"{t.description} {sentence}")
        for t in tools
        if t.name == RETRIEVE
    }


def dumped(part: Workbench) -> ComponentModel:
    """Return what *part* can be loaded from.

    Raises:
        NotSerializableError: It, or one of its tools, cannot be dumped.
    """
    try:
        return part.dump_component()
    except NotSerializableError:
        raise
    except (NotImplementedError, TypeError, ValueError, OSError) as error:
        message = f"{type(part).__name__} or one of its tools cannot be dumped: {error}"
        raise NotSerializableError(message) from error
