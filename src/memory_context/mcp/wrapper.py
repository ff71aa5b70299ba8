"""Any MCP server, wrapped: its client sees the same tools, with a memory between them.

Messages are passed on as JSON, so that whatever a client and a server say to each other comes through, known here or
not. Only what names a tool or a prompt is looked into, and what a tool returns.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio

from memory_context import wording_for_models as prompts
from memory_context.conversation.references.pass_by_reference import NotPassedError
from memory_context.mcp.memory_beside_servers import WrappedMemory
from memory_context.mcp.requests import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RequestError,
    Wire,
    answered,
    member,
    on_wire,
)
from memory_context.mcp.server_on_either_sdk import NAME, wire_of
from memory_context.mcp.tool_list import failed
from memory_context.mcp.wrapped_servers import (
    CANCELLED,
    PATIENCE,
    START_PATIENCE,
    Upstream,
    WrappedServer,
    asked_side_by_side,
    result_of,
    written,
)
from memory_context.runtime import events
from memory_context.runtime.version import __version__

METHOD_NOT_FOUND = -32601
# What models' providers allow in the name of a tool.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_NAME = 64
_PAGED = {"resources/list": "resources", "resources/templates/list": "resourceTemplates"}
_BY_URI = {"resources/read", "resources/subscribe", "resources/unsubscribe"}


@dataclass(frozen=True, slots=True)
class WrapSettings:
    """How servers are wrapped.

    Attributes:
        prefix: Whether the server's name stands before the name of each tool and prompt, and not only where they clash.
        patience: How many seconds a server may give no sign of a request.
        start_patience: How many seconds it may take to start.
    """

    prefix: bool = False
    patience: float = PATIENCE
    start_patience: float = START_PATIENCE


Offer: TypeAlias = tuple[Upstream, Wire]
"""A tool or a prompt, with the server that has it."""


class Wrapper:
    """One session of a client with servers that are wrapped.

    Args:
        servers: The servers.
        memory: What results are folded into.
        settings: How they are wrapped.
    """

    def __init__(
        self,
        servers: Sequence[WrappedServer],
        memory: WrappedMemory,
        settings: WrapSettings | None = None,
    ) -> None:
        self._memory = memory
        self.settings = settings or WrapSettings()
        self.upstreams = list[Upstream]()
        self._welcome: Wire | None = None
        self._offers = dict[str, dict[str, Offer]]()
        self._owners = dict[str, Upstream]()
        self._serving = dict[Any, anyio.CancelScope]()
        self._asked = dict[int, tuple[Upstream, Any]]()
        self._numbers = itertools.count(1)
        self._outbox = asyncio.Queue[Wire]()
        self._tasks = anyio.create_task_group()
        self._connections = anyio.create_task_group()
        self._started = [Upstream(server, self._hear) for server in servers]
        self._methods: dict[str, Callable[[Wire], Awaitable[Wire]]] = {
            "initialize": self._begin,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
            "logging/setLevel": self._set_level,
        }

    async def run(self, read: Any, write: Any) -> None:  # noqa: ANN401 - streams of either SDK
        """Serve the client until it goes away; the servers end then, too."""
        async with self._connections:
            try:
                async with self._tasks:
                    self._tasks.start_soon(written, self._outbox, write)
                    async for message in read:
                        # A line that is no message has no number to answer under.
                        if not isinstance(message, Exception):
                            self._take(wire_of(message))
                    self._tasks.cancel_scope.cancel()
            finally:
                for upstream in self._started:
                    upstream.close()

    def _say(self, wire: Wire) -> None:
        self._outbox.put_nowait(wire)

    # What the client says.

    def _take(self, wire: Wire) -> None:
        match wire:
            case {"method": str(method), "id": number}:
                self._serving[number] = scope = anyio.CancelScope()
                params = member(wire, "params")
                self._tasks.start_soon(self._serve, number, scope, method, params)
            case {"method": "notifications/cancelled", "params": {"requestId": number}}:
                if number in self._serving:
                    self._serving[number].cancel()
            case {"method": _}:
                for upstream in self.upstreams:
                    upstream.send(wire)
            case {"id": int(number)} if number in self._asked:
                upstream, theirs = self._asked.pop(number)
                upstream.asking -= 1
                upstream.send({**wire, "id": theirs})
            case _:
                pass

    async def _serve(
        self, number: int | str, scope: anyio.CancelScope, method: str, params: Wire
    ) -> None:
        """Answer a request; one that the client cancels gets no answer."""
        answer: Wire | None = None
        with scope:
            try:
                answer = await self._answer(method, params)
            except RequestError as error:
                answer = _refused(error)
            except Exception as error:  # noqa: BLE001 - one request must not end the others
                events.REQUEST_BROKE.log(error, where=True)
                answer = _refused(RequestError(INTERNAL_ERROR, prompts.MCP_FAILED))
        self._serving.pop(number, None)
        if answer is not None:
            self._say({"id": number, **answer})

    async def _answer(self, method: str, params: Wire) -> Wire:
        if method == "ping":
            return {"result": {}}
        if method in self._methods:
            return await self._methods[method](params)
        if method in _PAGED:
            return await self._page(method, params)
        if method in _BY_URI:
            return await self._by_uri(method, str(params.get("uri")), params)
        if len(self.upstreams) == 1:
            return await self._ask(self.upstreams[0], method, params)
        raise RequestError(METHOD_NOT_FOUND, prompts.WRAPPED_UNKNOWN.format(method=method[:80]))

    async def _ask(self, upstream: Upstream, method: str, params: Wire) -> Wire:
        return await upstream.request(method, params, self.settings.patience)

    # What a server says.

    def _hear(self, upstream: Upstream, wire: Wire) -> None:
        method = str(wire["method"])
        params = member(wire, "params")
        if "id" in wire and method == "ping":
            upstream.send({"id": wire["id"], "result": {}})
        elif "id" in wire:
            # Under a number that no other server uses.
            number = next(self._numbers)
            self._asked[number] = upstream, wire["id"]
            upstream.asking += 1
            self._say({**wire, "id": number})
        elif method == CANCELLED:
            cancelled = upstream, params.get("requestId")
            for number in [number for number, one in self._asked.items() if one == cancelled]:
                del self._asked[number]
                upstream.asking -= 1
                self._say({**wire, "params": {**params, "requestId": number}})
        else:
            if method.endswith("/list_changed"):
                self._offers.pop(method.split("/")[1], None)
            self._say(wire)

    # The session.

    async def _begin(self, params: Wire) -> Wire:
        if self._welcome is None:
            self._welcome = await self._welcomed(params)
        return {"result": self._welcome}

    async def _welcomed(self, params: Wire) -> Wire:
        """Start the servers, and return what they say of themselves, as one.

        Raises:
            RequestError: None of them could be started.
        """
        for upstream in self._started:
            self._connections.start_soon(upstream.run)
        patience = self.settings.start_patience
        answers = await asked_side_by_side(
            self._started, lambda upstream: upstream.request("initialize", params, patience)
        )
        said = list[Wire]()
        problems = list[str]()
        for upstream, answer in zip(self._started, answers, strict=True):
            try:
                result = result_of(answer)
            except RequestError as error:
                refused = prompts.WRAPPED_REFUSED.format(server=upstream.name, reason=error.message)
                problems.append(error.message if error is answer else refused)
                upstream.close()
            else:
                self._join(upstream, result)
                said.append(result)
        if not said:
            raise RequestError(INTERNAL_ERROR, " ".join(problems))
        return _welcome_of(said, [upstream.name for upstream in self.upstreams])

    def _join(self, upstream: Upstream, said: Wire) -> None:
        """Take a server in that has started, under a name that no other has."""
        name = upstream.server.name or str(member(said, "serverInfo").get("name", ""))
        name = base = _NOT_IN_NAMES.sub("_", name).strip("_") or "server"
        others = {other.name for other in self.upstreams}
        for number in itertools.count(2):
            if name not in others:
                break
            name = f"{base}_{number}"
        upstream.name = name
        upstream.capabilities = member(said, "capabilities")
        self.upstreams.append(upstream)

    def _having(self, capability: str) -> list[Upstream]:
        """Return those that can do something, without the ones that are gone; the only one there is stays."""
        return [
            upstream
            for upstream in self.upstreams
            if capability in upstream.capabilities
            and (upstream.is_there or len(self.upstreams) == 1)
        ]

    # Tools and prompts.

    async def _offered(self, kind: str) -> dict[str, Offer]:
        """Return all ``tools`` or ``prompts``, under the names that the client sees."""
        having = self._having(kind)
        answers = await asked_side_by_side(
            having, lambda upstream: upstream.every(kind, self.settings.patience)
        )
        found = list[Offer]()
        for upstream, listed in zip(having, answers, strict=True):
            if isinstance(listed, list):
                found += [(upstream, entry) for entry in listed]
            elif len(having) == 1:
                raise listed
        ours = self._memory.names if kind == "tools" else frozenset[str]()
        times = Counter([*ours, *(entry["name"] for _, entry in found)])
        offers = dict[str, Offer]()
        for upstream, entry in found:
            name = entry["name"]
            if self.settings.prefix or times[name] > 1:
                name = f"{upstream.name}_{name}"[:LONGEST_NAME]
            while name in ours or name in offers:
                name = f"{name[: LONGEST_NAME - 1]}_"
            offers[name] = upstream, entry
        self._offers[kind] = offers
        return offers

    async def _named(self, kind: str, name: str) -> Offer | None:
        if name not in self._offers.get(kind, {}):
            await self._offered(kind)
        return self._offers[kind].get(name)

    async def _list_tools(self, _: Wire) -> Wire:
        """List the tools, the memory's last; without the schemas of results, of which a reference is no instance."""
        tools = [*await self._renamed("tools"), *self._memory.listed()]
        return {"result": {"tools": [_without(tool, "outputSchema") for tool in tools]}}

    async def _list_prompts(self, _: Wire) -> Wire:
        return {"result": {"prompts": await self._renamed("prompts")}}

    async def _renamed(self, kind: str) -> list[Wire]:
        return [{**entry, "name": name} for name, (_, entry) in (await self._offered(kind)).items()]

    async def _call_tool(self, params: Wire) -> Wire:
        name = str(params.get("name"))
        arguments = member(params, "arguments")
        if name in self._memory.names:
            return {"result": await answered(self._memory.called, params)}
        offered = await self._named("tools", name)
        if offered is None:
            names = ", ".join([*self._offers["tools"], *sorted(self._memory.names)])
            message = prompts.MCP_NO_SUCH_TOOL.format(tool=name[:80], tools=names)
            raise RequestError(INVALID_PARAMS, on_wire(message))
        upstream, tool = offered
        try:
            filled = await self._memory.filled(name, arguments, member(tool, "inputSchema"))
            passed = {**params, "name": tool["name"], "arguments": filled}
            answer = await self._ask(upstream, "tools/call", passed)
        except NotPassedError as refused:
            return {"result": failed(prompts.NOT_CALLED.format(tool=name, reason=refused))}
        except RequestError as error:
            # A model reads results, and can do without this server; not every client shows it errors.
            return {"result": failed(error.message)}
        if "result" in answer:
            answer["result"] = await self._memory.folded(name, arguments, answer["result"])
        return answer

    async def _get_prompt(self, params: Wire) -> Wire:
        offered = await self._named("prompts", str(params.get("name")))
        if offered is None:
            raise RequestError(INVALID_PARAMS, f"there is no prompt {params.get('name')!r:.80}")
        upstream, prompt = offered
        return await self._ask(upstream, "prompts/get", {**params, "name": prompt["name"]})

    async def _complete(self, params: Wire) -> Wire:
        """Pass a request for completions to whoever has the prompt or the template that it is for."""
        ref = member(params, "ref")
        offered = await self._named("prompts", str(ref["name"])) if "name" in ref else None
        if offered is None:
            return await self._by_uri("completion/complete", str(ref.get("uri")), params)
        upstream, prompt = offered
        passed = {**params, "ref": {**ref, "name": prompt["name"]}}
        return await self._ask(upstream, "completion/complete", passed)

    async def _set_level(self, params: Wire) -> Wire:
        for upstream in self._having("logging"):
            await self._ask(upstream, "logging/setLevel", params)
        return {"result": {}}

    # Resources.

    async def _page(self, method: str, params: Wire) -> Wire:
        """Return a page of resources, or of their templates: those of one server after those of the other."""
        having = self._having("resources")
        place, _, cursor = str(params.get("cursor") or "0:").partition(":")
        if not having:
            return {"result": {_PAGED[method]: []}}
        if not (place.isdecimal() and int(place) < len(having)):
            raise RequestError(INVALID_PARAMS, prompts.MCP_NO_SUCH_PAGE)
        upstream = having[int(place)]
        asked = {**params, "cursor": cursor} if cursor else _without(params, "cursor")
        answer = await self._ask(upstream, method, asked)
        if "error" in answer:
            return answer
        result = answer["result"]
        for entry in result.get(_PAGED[method], []):
            self._owners.setdefault(str(entry.get("uri") or entry.get("uriTemplate")), upstream)
        following = result.pop("nextCursor", None)
        if following is not None:
            result["nextCursor"] = f"{place}:{following}"
        elif int(place) + 1 < len(having):
            result["nextCursor"] = f"{int(place) + 1}:"
        return answer

    async def _by_uri(self, method: str, uri: str, params: Wire) -> Wire:
        """Pass a request to the server that has listed the URI; without one, to each until one knows it."""
        owner = self._owners.get(uri)
        answer = _refused(RequestError(INVALID_PARAMS, f"no server has the resource {uri!r:.80}"))
        for upstream in [owner] if owner else self._having("resources"):
            answer = await self._ask(upstream, method, params)
            if "result" in answer:
                break
        return answer


def _refused(error: RequestError) -> Wire:
    return {"error": {"code": error.code, "message": error.message}}


def _without(params: Wire, name: str) -> Wire:
    return {one: value for one, value in params.items() if one != name}


def _welcome_of(said: Sequence[Wire], names: Sequence[str]) -> Wire:
    """Return what the client is told of the servers: of one what it says itself, of several what each can do."""
    alone = said[0] if len(said) == 1 else {}
    told = [str(one["instructions"]) for one in said if one.get("instructions")]
    capabilities = Wire()
    for one in said:
        able = member(one, "capabilities")
        for name in able:
            given = {key: value for key, value in member(able, name).items() if value}
            capabilities[name] = {**capabilities.get(name, {}), **given}
    # Under which server a task runs is not said in what is asked of it.
    if not alone:
        capabilities.pop("tasks", None)
    title = f"{NAME}: {', '.join(names)}"
    return {
        "serverInfo": {"name": NAME, "title": title, "version": __version__},
        **alone,
        # Versions are dates: the oldest is the one that all understand.
        "protocolVersion": min(str(one.get("protocolVersion")) for one in said),
        "capabilities": {**capabilities, "tools": capabilities.get("tools", {})},
        "instructions": "\n\n".join([*told, prompts.WRAPPED_INSTRUCTIONS]),
    }
