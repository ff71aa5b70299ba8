"""A workbench around an agent's tools that folds large outputs and replaces references in arguments.

An output is *folded* by storing it and returning a reference and a preview in its place. A reference that a model gives
as an argument is replaced with the stored text before the tool runs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, cast

from autogen_core import CancellationToken, ComponentModel
from autogen_core.model_context import ChatCompletionContext
from autogen_core.tools import (
    StaticStreamWorkbench,
    StaticWorkbench,
    TextResultContent,
    ToolOverride,
    ToolResult,
    ToolSchema,
    Workbench,
)
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from memory_context import sentences_models_read as prompts
from memory_context.autogen.calling_agent import caller, reporting
from memory_context.autogen.tools_given_to_a_workbench import (
    AnyTool,
    dumped,
    refuse_duplicates,
    sorted_tools,
)
from memory_context.conversation.references.key_trust import RunningCall
from memory_context.conversation.references.pass_by_reference import (
    NotPassedError,
    PassingPolicy,
    with_references_again,
)
from memory_context.conversation.references.texts_as_files_for_tools import with_references_filled
from memory_context.exceptions import StateError
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.tool_names import RETRIEVE
from memory_context.runtime import log_events
from memory_context.runtime.threads import off_loop
from memory_context.text.json_documents import json_of_any

if TYPE_CHECKING:
    from memory_context.autogen.context import MemoryContext


class PassingConfig(BaseModel):
    """The settings of a `PassingPolicy`."""

    tools: list[str] | None = None
    secrets_for: list[str]
    max_argument_bytes: int | dict[str, int]
    directories: dict[str, Annotated[str, BeforeValidator(str)]] = Field(
        default_factory=dict[str, str]
    )


class MemoryWorkbenchConfig(BaseModel):
    """The serialized form of a `MemoryWorkbench`."""

    workbenches: list[ComponentModel]
    context: ComponentModel
    pass_by_reference: PassingConfig


class MemoryWorkbenchState(BaseModel):
    """The states of the inner workbenches, in their order."""

    type: str = "MemoryWorkbenchState"
    workbenches: list[Mapping[str, Any]]


class WorkbenchCall(NamedTuple):
    """A tool call that is ready to be made.

    Attributes:
        name: The name of the tool.
        part: The inner workbench that has the tool.
        context: The context of the calling agent.
        arguments: The arguments for the tool, with texts in place of references.
        running: The facts about the call for an agent that runs inside the tool.
    """

    name: str
    part: Workbench
    context: MemoryContext
    arguments: Mapping[str, Any] | None
    running: RunningCall


class MemoryWorkbench(StaticStreamWorkbench):
    """The tools of an agent and its memory tools; made by `MemoryContext.workbench`.

    A large output leaves the workbench as the reference and preview that the context would make of it, so that events,
    summaries and messages to a team are small, too. A reference that is the whole value of an argument is replaced with
    the stored text before the tool runs; if that is not possible, the tool is not called and the model is told why.
    Events that tools stream, and images, pass through unchanged.

    Args:
        tools: Tools, functions and workbenches, or one workbench.
        context: The context of the agent.
        pass_by_reference: Whether references in arguments are replaced; or a `PassingPolicy`. Only trusted references
            are replaced (`MemoryContext.trusted_keys`: those that memory itself or a person has brought into the
            conversation), and never those in calls of the memory tools. Note that AutoGen logs the arguments of calls.

    Raises:
        InvalidArgumentError: One of *tools* is not a tool, two tools have the same name, or a setting has the wrong
            type.
    """

    component_provider_override = "memory_context.autogen.MemoryWorkbench"
    component_config_schema = MemoryWorkbenchConfig  # type: ignore[assignment] # not that of StaticWorkbench

    def __init__(
        self,
        tools: Workbench | Sequence[AnyTool],
        context: MemoryContext,
        *,
        pass_by_reference: bool | PassingPolicy = True,
    ) -> None:
        super().__init__([])
        check_arguments(context=context)
        self._policy = PassingPolicy.of(pass_by_reference)
        self._context = context
        self._loaded = False
        plain, self._inner = sorted_tools(tools)
        memory_tools = context.tools()
        refuse_duplicates(tool.name for tool in (*plain, *memory_tools))
        if plain:
            self._inner.insert(0, StaticStreamWorkbench(plain))
        [reading] = [tool for tool in memory_tools if tool.name == RETRIEVE]
        told = ToolOverride(description=self._policy.told_in(reading.description))
        self._memory = StaticWorkbench(memory_tools, {RETRIEVE: told})
        self._routes: dict[str, tuple[Workbench, ToolSchema]] = {}
        self._has_warned = False

    async def list_tools(self) -> list[ToolSchema]:
        """Return the tools of all inner workbenches, the memory tools last.

        Raises:
            InvalidArgumentError: Two tools have the same name.
        """
        self._warn_of_unread()
        schemas = list[ToolSchema]()
        routes = dict[str, tuple[Workbench, ToolSchema]]()
        for part in (*self._inner, self._memory):
            for schema in await part.list_tools():
                schemas.append(schema)
                routes[schema["name"]] = (part, schema)
        refuse_duplicates(schema["name"] for schema in schemas)
        self._routes = routes
        return schemas

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        """Return the tool's result with large texts folded; an error result if the tool could not be called."""
        call = await self._prepared(name, arguments)
        if not isinstance(call, ToolResult):
            call = await self._called(call, cancellation_token, call_id)
        return self._noted(call, call_id)

    async def call_tool_stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> AsyncGenerator[Any | ToolResult, None]:
        """Yield the events that the tool streams, if any, and then its result, as `call_tool` returns it."""
        call = await self._prepared(name, arguments)
        if isinstance(call, ToolResult):
            yield self._noted(call, call_id)
        elif isinstance(call.part, StaticStreamWorkbench):
            stream = call.part.call_tool_stream(name, call.arguments, cancellation_token, call_id)
            async with aclosing(stream), aclosing(_stepped(stream, call)) as events:
                async for event in events:
                    if isinstance(event, ToolResult):
                        folded = await self._folded(call, event)
                        yield self._noted(folded, call_id)
                    else:
                        yield event
        else:
            result = await self._called(call, cancellation_token, call_id)
            yield self._noted(result, call_id)

    async def start(self) -> None:
        """Start the inner workbenches; if one fails to start, stop those before it."""
        async with AsyncExitStack() as stack:
            for part in self._inner:
                await part.start()
                stack.push_async_callback(part.stop)
            stack.pop_all()

    async def stop(self) -> None:
        """Stop all inner workbenches, even if one fails to stop."""
        self.note_end()
        async with AsyncExitStack() as stack:
            for part in self._inner:
                stack.push_async_callback(part.stop)

    def note_end(self) -> None:
        """Note that no run is going on; warn if the last one ended with a reference that no model has read."""
        self._warn_of_unread(ended=True)

    async def reset(self) -> None:
        """Reset the inner workbenches. Memories stay."""
        for part in self._inner:
            await part.reset()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the states of the inner workbenches. The memories are in the store."""
        states = [await part.save_state() for part in self._inner]
        return MemoryWorkbenchState(workbenches=states).model_dump()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load the states of the inner workbenches.

        Raises:
            StateError: The state is not that of a `MemoryWorkbench` with as many inner workbenches.
        """
        try:
            states = MemoryWorkbenchState.model_validate(state).workbenches
        except ValidationError as error:
            raise StateError(
                f"not the state of a MemoryWorkbench: {error.error_count()} errors"
            ) from error
        if len(states) != len(self._inner):
            raise StateError(
                f"the state has {len(states)} inner workbenches, but this workbench has {len(self._inner)}"
            )
        for part, part_state in zip(self._inner, states, strict=True):
            await part.load_state(part_state)

    async def _prepared(
        self, name: str, arguments: Mapping[str, Any] | None
    ) -> WorkbenchCall | ToolResult:
        """Return the call with references replaced; or, if it cannot be made, an error result."""
        if name not in self._routes:
            await self.list_tools()
        if name not in self._routes:
            return _error(name, prompts.NO_SUCH_TOOL.format(tool=name))
        part, schema = self._routes[name]
        context = self._conversation()
        trusted = frozenset(context.trusted_keys())
        running = RunningCall(context.user_id, trusted, arguments)
        call = WorkbenchCall(name, part, context, arguments, running)
        if part is self._memory:
            return call
        try:
            filled = await off_loop(
                with_references_filled,
                arguments,
                name,
                self._policy,
                context.manager,
                trusted,
                schema.get("parameters", {}),
            )
        except NotPassedError as refused:
            return _error(name, str(refused))
        return call._replace(arguments=filled)

    async def _called(
        self, call: WorkbenchCall, token: CancellationToken | None, call_id: str | None
    ) -> ToolResult:
        """Call the tool, and return its folded result. Keys that a memory tool reports become trusted."""
        with call.running.running(), reporting() as reported:
            result = await call.part.call_tool(call.name, call.arguments, token, call_id)
        if call.part is self._memory:
            call.context.trust(*reported)
        return await self._folded(call, result)

    async def _folded(self, call: WorkbenchCall, result: ToolResult) -> ToolResult:
        """Return a copy of *result* with large texts folded; adjacent texts count as one, and images stay."""
        if call.part is self._memory:
            return result
        call.context.trust(*call.running.told_in(result.to_text()))
        written = call.running.written
        arguments = json_of_any(written or {})
        contents = list[Any]()
        for kind, run in groupby(result.result, type):
            parts = list(run)
            if issubclass(kind, TextResultContent):
                text = "\n".join(str(part.content) for part in parts)
                quoted = text
                if result.is_error:
                    # In an error, references stand for passed texts.
                    quoted = with_references_again(text, written, call.arguments)
                shown = await call.context.fold_output(
                    quoted, tool=call.name, arguments=arguments, is_error=result.is_error
                )
                # Otherwise the parts stay separate, as the tool returned them.
                if shown != text:
                    parts = [TextResultContent(content=shown)]
            contents += parts
        return result.model_copy(update={"result": contents})

    def _noted(self, result: ToolResult, call_id: str | None) -> ToolResult:
        """Let the context note *result*, in case the run is cancelled before the agent adds it; return *result*."""
        if call_id is not None:
            context = self._conversation()
            text = result.to_text()
            context.note_finished(call_id, result.name, text, is_error=result.is_error)
        return result

    def _warn_of_unread(self, *, ended: bool = False) -> None:
        """Warn, once, if a run has ended with a folded output that no model has read, which is rarely intended."""
        if not self._has_warned and self._conversation().left_unread(self._routes, ended=ended):
            self._has_warned = True
            log_events.ENDED_UNREAD.log()

    def _conversation(self) -> MemoryContext:
        """Return the agent's context. A loaded workbench has only a copy of it, and so looks up the calling agent's."""
        if not self._loaded:
            return self._context
        return caller(self._context.user_id) or self._context

    def _to_config(self) -> MemoryWorkbenchConfig:  # type: ignore[override] # not that of StaticWorkbench
        return MemoryWorkbenchConfig(
            workbenches=[dumped(part) for part in self._inner],
            context=self._context.dump_component(),
            pass_by_reference=PassingConfig.model_validate(self._policy, from_attributes=True),
        )

    @classmethod
    def _from_config(cls, config: MemoryWorkbenchConfig) -> Self:  # type: ignore[override] # not that of StaticWorkbench
        workbench = cls(
            [Workbench.load_component(part) for part in config.workbenches],
            cast("MemoryContext", ChatCompletionContext.load_component(config.context)),
            pass_by_reference=PassingPolicy(**dict(config.pass_by_reference)),
        )
        workbench._loaded = True
        return workbench


async def _stepped(
    stream: AsyncGenerator[Any | ToolResult, None], call: WorkbenchCall
) -> AsyncGenerator[Any, None]:
    """Yield the events of *stream*. The call counts as running while the stream works, not while its consumer does."""
    while True:
        with call.running.running():
            try:
                event = await anext(stream)
            except StopAsyncIteration:
                return
        yield event


def _error(name: str, text: str) -> ToolResult:
    return ToolResult(name=name, result=[TextResultContent(content=text)], is_error=True)
