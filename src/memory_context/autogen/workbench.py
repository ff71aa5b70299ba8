"""A workbench around an agent's tools: large outputs are folded at the source, references are passed as arguments."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from autogen_core import CancellationToken, ComponentModel
from autogen_core.model_context import ChatCompletionContext
from autogen_core.tools import (
    StaticStreamWorkbench,
    StaticWorkbench,
    TextResultContent,
    ToolResult,
    ToolSchema,
    Workbench,
)
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from memory_context import wording_for_models as prompts
from memory_context.autogen.calling_agent import caller, reporting
from memory_context.autogen.toolbox import (
    AnyTool,
    dumped,
    refuse_duplicates,
    sorted_tools,
    told_of_passing,
)
from memory_context.autogen.unread_outputs import UnreadWatch
from memory_context.conversation.references.key_trust import RunningCall
from memory_context.conversation.references.pass_by_reference import NotPassedError, PassingPolicy
from memory_context.conversation.references.reference_files import with_references_filled
from memory_context.exceptions import StateError
from memory_context.model.reference import MemoryRef
from memory_context.runtime.threads import off_loop

if TYPE_CHECKING:
    from memory_context.autogen.context import MemoryContext


class PassingConfig(BaseModel):
    """A `PassingPolicy`."""

    tools: list[str] | None = None
    secrets_for: list[str]
    max_argument_bytes: int | dict[str, int]
    directories: dict[str, Annotated[str, BeforeValidator(str)]] = Field(
        default_factory=dict[str, str]
    )


class MemoryWorkbenchConfig(BaseModel):
    """What a dumped workbench holds."""

    workbenches: list[ComponentModel]
    context: ComponentModel
    pass_by_reference: PassingConfig


class MemoryWorkbenchState(BaseModel):
    """The states of the workbenches inside, in their order."""

    type: str = "MemoryWorkbenchState"
    workbenches: list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WorkbenchCall:
    """A call that may be made.

    Attributes:
        name: The name of the tool.
        part: The workbench that has it.
        context: The conversation of the agent that calls.
        arguments: The arguments as the tool gets them, texts in place of references.
        running: What an agent inside of the tool knows of the call.
    """

    name: str
    part: Workbench
    context: MemoryContext
    arguments: Mapping[str, Any] | None
    running: RunningCall


class MemoryWorkbench(StaticStreamWorkbench):
    """The tools of an agent and those of its memory; made by `MemoryContext.workbench`.

    A large output leaves the workbench as the reference and preview that the context would make of it, so that events,
    summaries and what a team hears are small too. A reference that is the whole value of an argument is replaced by the
    text before the tool runs; if that cannot be, the tool is not called and the model reads why. What tools stream, and
    images, pass through.

    Args:
        tools: Tools, functions and workbenches, or one workbench.
        context: The conversation.
        pass_by_reference: Whether references in arguments are replaced; or a `PassingPolicy`. Only those that memory
            itself or a person has brought into the conversation are (`MemoryContext.trusted_keys`), and never those in
            calls of the memory tools. AutoGen logs what tools are called with.

    Raises:
        InvalidArgumentError: Something that is no tool, two tools of one name, or settings of the wrong kind.
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
        self._policy = PassingPolicy.of(pass_by_reference)
        self._context = context
        self._loaded = False
        plain, self._inner = sorted_tools(tools)
        memory_tools = context.tools()
        refuse_duplicates(tool.name for tool in (*plain, *memory_tools))
        if plain:
            self._inner.insert(0, StaticStreamWorkbench(plain))
        self._memory = StaticWorkbench(memory_tools, told_of_passing(memory_tools, self._policy))
        self._routes: dict[str, tuple[Workbench, ToolSchema]] = {}
        self._unread = UnreadWatch()

    async def list_tools(self) -> list[ToolSchema]:
        """Return the tools of all workbenches, the memory tools last.

        Raises:
            InvalidArgumentError: Two of them have one name.
        """
        self._unread.look(self._conversation().shown_messages(), self._routes)
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
        """Return the tool's result, large texts folded; an error if the tool could not be called."""
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
        """Yield what the tool streams, if it does, and its result as from `call_tool`."""
        call = await self._prepared(name, arguments)
        if isinstance(call, ToolResult):
            yield self._noted(call, call_id)
        elif isinstance(call.part, StaticStreamWorkbench):
            stream = call.part.call_tool_stream(name, call.arguments, cancellation_token, call_id)
            async with aclosing(stream), aclosing(_stepped(stream, call)) as events:
                async for event in events:
                    if isinstance(event, ToolResult):
                        yield self._noted(await self._folded(call, event), call_id)
                    else:
                        yield event
        else:
            yield self._noted(await self._called(call, cancellation_token, call_id), call_id)

    async def start(self) -> None:
        """Start the workbenches inside; if one fails, those before it are stopped."""
        async with AsyncExitStack() as stack:
            for part in self._inner:
                await part.start()
                stack.push_async_callback(part.stop)
            stack.pop_all()

    async def stop(self) -> None:
        """Stop the workbenches inside, each one even if another fails."""
        self.note_end()
        async with AsyncExitStack() as stack:
            for part in self._inner:
                stack.push_async_callback(part.stop)

    def note_end(self) -> None:
        """Note that no run goes on now; warn if the last one ended with a reference that no model has read."""
        self._unread.look(self._conversation().shown_messages(), self._routes, ended=True)

    async def reset(self) -> None:
        """Reset the workbenches inside. Memories stay."""
        for part in self._inner:
            await part.reset()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the states of the workbenches inside. The memories are in the store."""
        return MemoryWorkbenchState(
            workbenches=[await part.save_state() for part in self._inner]
        ).model_dump()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Give each workbench inside its state back.

        Raises:
            StateError: It was not saved by a workbench around as many workbenches.
        """
        try:
            states = MemoryWorkbenchState.model_validate(state).workbenches
        except ValidationError as error:
            raise StateError(
                f"not the state of a MemoryWorkbench: {error.error_count()} errors"
            ) from error
        if len(states) != len(self._inner):
            raise StateError(
                f"a state of {len(states)} workbenches does not fit {len(self._inner)}"
            )
        for part, part_state in zip(self._inner, states, strict=True):
            await part.load_state(part_state)

    async def _prepared(
        self, name: str, arguments: Mapping[str, Any] | None
    ) -> WorkbenchCall | ToolResult:
        """Return the call as it is made, or the error in its place."""
        if name not in self._routes:
            await self.list_tools()
        if name not in self._routes:
            return _error(name, prompts.NO_SUCH_TOOL.format(tool=name))
        part, schema = self._routes[name]
        context = self._conversation()
        allowed = frozenset(context.trusted_keys())
        running = RunningCall(context.user_id, allowed, arguments)
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
                context.trusted_keys,
                schema.get("parameters", {}),
            )
        except NotPassedError as refused:
            return _error(name, str(refused))
        return replace(call, arguments=filled)

    async def _called(
        self, call: WorkbenchCall, token: CancellationToken | None, call_id: str | None
    ) -> ToolResult:
        """Return what the tool gives, folded; the keys that a memory tool reports may be passed on."""
        with call.running.running(), reporting() as reported:
            result = await call.part.call_tool(call.name, call.arguments, token, call_id)
        if call.part is self._memory:
            call.context.trust(*reported)
        return await self._folded(call, result)

    async def _folded(self, call: WorkbenchCall, result: ToolResult) -> ToolResult:
        """Return a copy of *result* with its large texts folded, adjacent ones as one; images stay."""
        if call.part is self._memory:
            return result
        call.context.trust(*call.running.told_in(result.to_text()))
        contents = list[Any]()
        for kind, run in groupby(result.result, type):
            parts = list(run)
            if issubclass(kind, TextResultContent):
                text = "\n".join(str(part.content) for part in parts)
                shown = await call.context.fold_output(
                    text,
                    tool=call.name,
                    arguments=json.dumps(
                        call.running.written or {}, ensure_ascii=False, default=str
                    ),
                    is_error=result.is_error,
                )
                if shown != text:
                    self._unread.keys.add(MemoryRef.find_all(shown)[0].key)
                    parts = [TextResultContent(content=shown)]
            contents += parts
        return result.model_copy(update={"result": contents})

    def _noted(self, result: ToolResult, call_id: str | None) -> ToolResult:
        """Return *result*, which its agent adds to the conversation unless its run is cancelled; the context keeps it."""
        if call_id is not None:
            context, text = self._conversation(), result.to_text()
            context.note_finished(call_id, result.name, text, is_error=result.is_error)
        return result

    def _conversation(self) -> MemoryContext:
        """Return the context of the agent; a loaded workbench has another one of its own, and asks who calls."""
        agents_context = caller(self._context.user_id) if self._loaded else None
        return agents_context or self._context

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
    """Yield what *stream* gives; nothing of the call is noted while its consumer works."""
    while True:
        with call.running.running():
            try:
                event = await anext(stream)
            except StopAsyncIteration:
                return
        yield event


def _error(name: str, text: str) -> ToolResult:
    return ToolResult(name=name, result=[TextResultContent(content=text)], is_error=True)
