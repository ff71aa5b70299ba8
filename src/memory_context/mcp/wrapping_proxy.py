"""A proxy between an MCP client and other MCP servers that keeps large tool results in memory.

Messages are passed on as JSON, so that those of a newer protocol are passed on, too. Only messages that name a tool, a
prompt or a resource, and the results of tools, are inspected. The tools and prompts of several servers are merged;
where two have the same name, the server's name is put before it.
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

from memory_context import sentences_models_read as prompts
from memory_context.conversation.references.pass_by_reference import NotPassedError
from memory_context.mcp.memory_of_a_wrapped_session import WrappedMemory
from memory_context.mcp.memory_tools_over_mcp import failed
from memory_context.mcp.server_on_either_sdk import NAME, wire_of
from memory_context.mcp.upstream_connections import (
    CANCELLED,
    Upstream,
    WrappedServer,
    ask_concurrently,
    result_of,
    write_messages,
)
from memory_context.mcp.wire_types_and_errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RequestError,
    Wire,
    answered,
    member,
)
from memory_context.model.item import encodable
from memory_context.runtime import log_events
from memory_context.runtime.defaults_in_help import PATIENCE, START_PATIENCE
from memory_context.runtime.version import __version__

METHOD_NOT_FOUND = -32601
# Characters that providers of models do not allow in the name of a tool.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_NAME = 64
# Requests for lists of resources, and where in the answer the list is.
_LISTS = {"resources/list": "resources", "resources/templates/list": "resourceTemplates"}
_BY_URI = {"resources/read", "resources/subscribe", "resources/unsubscribe"}


@dataclass(frozen=True, slots=True)
class WrapSettings:
    """How servers are wrapped.

    Attributes:
        prefix: Whether the server's name is put before every tool's and prompt's name, not only where names clash.
        patience: How many seconds a server may give no sign of life while it has a request to answer.
        start_patience: How many seconds it may take to start.
    """

    prefix: bool = False
    patience: float = PATIENCE
    start_patience: float = START_PATIENCE


Offer: TypeAlias = tuple[Upstream, Wire]
"""A server, and a tool, prompt or resource of it as the server describes it."""


class Wrapper:
    """One session of a client with the wrapped servers.

    Args:
        servers: The servers.
        memory: The memory that keeps large results.
        settings: How the servers are wrapped.
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
        self._started = [Upstream(server, self._hear, self.settings.patience) for server in servers]
        self._methods: dict[str, Callable[[Wire], Awaitable[Wire]]] = {
            "initialize": self._begin,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "logging/setLevel": self._set_level,
        }

    async def run(self, read: Any, write: Any) -> None:  # noqa: ANN401 - streams of either SDK
        """Serve the client until it disconnects; then close the servers, too."""
        async with self._connections:
            try:
                async with self._tasks:
                    self._tasks.start_soon(write_messages, self._outbox, write)
                    async for message in read:
                        # A line that is not a message has no request id, so it cannot be answered.
                        if not isinstance(message, Exception):
                            self._take(wire_of(message))
                    self._tasks.cancel_scope.cancel()
            finally:
                for upstream in self._started:
                    upstream.close()

    def _say(self, wire: Wire) -> None:
        self._outbox.put_nowait(wire)

    # Messages of the client.

    def _take(self, wire: Wire) -> None:
        match wire:
            case {"method": str(method), "id": number}:
                self._serving[number] = scope = anyio.CancelScope()
                self._tasks.start_soon(self._serve, number, scope, method, member(wire, "params"))
            case {"method": "notifications/cancelled", "params": {"requestId": number}}:
                if number in self._serving:
                    self._serving[number].cancel()
            case {"method": _}:
                for upstream in self.upstreams:
                    upstream.send(wire)
            case {"id": int(number)} if number in self._asked:
                upstream, theirs = self._asked.pop(number)
                upstream.note_answered(number)
                upstream.send({**wire, "id": theirs})
            case _:
                pass

    async def _serve(
        self, number: int | str, scope: anyio.CancelScope, method: str, params: Wire
    ) -> None:
        """Answer a request, unless the client cancels it."""
        answer: Wire | None = None
        with scope:
            try:
                answer = await self._answer(method, params)
            except RequestError as error:
                answer = _refused(error)
            except Exception as error:  # noqa: BLE001 - one request must not end the others
                log_events.REQUEST_BROKE.log(error, where=True)
                answer = _refused(RequestError(INTERNAL_ERROR, prompts.MCP_FAILED))
        self._serving.pop(number, None)
        if answer is not None:
            self._say({"id": number, **answer})

    async def _answer(self, method: str, params: Wire) -> Wire:
        if method == "ping":
            return {"result": {}}
        if method in self._methods:
            return await self._methods[method](params)
        if len(self.upstreams) == 1:
            return await self.upstreams[0].request(method, params)
        if method in _LISTS:
            return await self._list_resources(method)
        if method in _BY_URI:
            return await self._by_uri(method, str(params.get("uri")), params)
        raise RequestError(METHOD_NOT_FOUND, prompts.WRAPPED_UNKNOWN.format(method=method[:80]))

    # Messages of the servers.

    def _hear(self, upstream: Upstream, wire: Wire) -> None:
        method = str(wire["method"])
        params = member(wire, "params")
        if "id" in wire and method == "ping":
            upstream.send({"id": wire["id"], "result": {}})
        elif "id" in wire:
            # The servers' request ids may clash, so the client gets ids of our own.
            number = next(self._numbers)
            self._asked[number] = upstream, wire["id"]
            upstream.note_asked(number)
            self._say({**wire, "id": number})
        elif method == CANCELLED:
            cancelled = upstream, params.get("requestId")
            numbers = [number for number, one in self._asked.items() if one == cancelled]
            for number in numbers:
                del self._asked[number]
                upstream.note_answered(number)
                ours = {**params, "requestId": number}
                self._say({**wire, "params": ours})
        else:
            if method.endswith("/list_changed"):
                self._offers.pop(method.split("/")[1], None)
            self._say(wire)

    # The session.

    async def _begin(self, params: Wire) -> Wire:
        """Start the servers if they are not running, and return their answers to ``initialize``, merged into one.

        Raises:
            RequestError: None of the servers could be started.
        """
        if self._welcome is not None:
            return {"result": self._welcome}
        for upstream in self._started:
            self._connections.start_soon(upstream.run)
        patience = self.settings.start_patience
        answers = await ask_concurrently(
            self._started, lambda upstream: upstream.request("initialize", params, patience)
        )
        results = list[Wire]()
        problems = list[str]()
        for upstream, answer in zip(self._started, answers, strict=True):
            try:
                result = result_of(answer)
            except RequestError as error:
                problem = error.message
                # Our own errors, such as for a server that did not start, already name the server.
                if error is not answer:
                    problem = prompts.WRAPPED_REFUSED.format(server=upstream.name, reason=problem)
                problems.append(problem)
                upstream.close()
            else:
                self._join(upstream, result)
                results.append(result)
        if not results:
            raise RequestError(INTERNAL_ERROR, " ".join(problems))
        names = [upstream.name for upstream in self.upstreams]
        self._welcome = _merged_welcome(results, names, prefix=self.settings.prefix)
        return {"result": self._welcome}

    def _join(self, upstream: Upstream, result: Wire) -> None:
        """Add a server that has started, under a name that no other has; *result* is its answer to ``initialize``."""
        name = upstream.server.name or str(member(result, "serverInfo").get("name", ""))
        name = base = _NOT_IN_NAMES.sub("_", name).strip("_") or "server"
        others = {other.name for other in self.upstreams}
        number = 1
        while name in others:
            number += 1
            name = f"{base}_{number}"
        upstream.name = name
        upstream.capabilities = member(result, "capabilities")
        self.upstreams.append(upstream)

    def _having(self, capability: str) -> list[Upstream]:
        """Return the servers with a capability, without those that have ended.

        If there is only one server, it is returned even then, so that a request to it fails with the reason why it ended.
        """
        having = [one for one in self.upstreams if capability in one.capabilities]
        if len(self.upstreams) == 1:
            return having
        return [one for one in having if one.is_there]

    async def _listed(self, method: str) -> list[Offer]:
        """Return what all servers list when they are asked with *method*, server by server.

        A server that fails is left out if there are others.
        """
        capability, _, _ = method.partition("/")
        having = self._having(capability)
        kind = _LISTS.get(method, capability)
        answers = await ask_concurrently(having, lambda upstream: upstream.every(method, kind))
        found = list[Offer]()
        for upstream, listed in zip(having, answers, strict=True):
            if isinstance(listed, list):
                found += [(upstream, entry) for entry in listed]
            elif len(having) == 1:
                raise listed
        return found

    # Tools and prompts.

    async def _offered(self, kind: str) -> dict[str, Offer]:
        """Return all servers' ``tools`` or ``prompts`` (the *kind*), by the names that the client sees."""
        listed = await self._listed(f"{kind}/list")
        found = [offer for offer in listed if isinstance(offer[1].get("name"), str)]
        ours = self._memory.names if kind == "tools" else frozenset[str]()
        times = Counter(ours)
        times.update(entry["name"] for _, entry in found)
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
        """List the tools, those of the memory last.

        Their output schemas are left out, since a result that was folded into a reference would not match them.
        """
        theirs = await self._renamed("tools")
        tools = [*theirs, *self._memory.listed()]
        for tool in tools:
            tool.pop("outputSchema", None)
        return {"result": {"tools": tools}}

    async def _list_prompts(self, _: Wire) -> Wire:
        return {"result": {"prompts": await self._renamed("prompts")}}

    async def _renamed(self, kind: str) -> list[Wire]:
        offers = await self._offered(kind)
        return [{**entry, "name": name} for name, (_, entry) in offers.items()]

    async def _call_tool(self, params: Wire) -> Wire:
        name = str(params.get("name"))
        arguments = member(params, "arguments")
        if name in self._memory.names:
            return {"result": await answered(self._memory.called, params)}
        offered = await self._named("tools", name)
        if not offered:
            names = ", ".join([*self._offers["tools"], *sorted(self._memory.names)])
            message = prompts.MCP_NO_SUCH_TOOL.format(tool=name[:80], tools=names)
            raise RequestError(INVALID_PARAMS, encodable(message))
        upstream, tool = offered
        try:
            filled = await self._memory.filled(name, arguments, member(tool, "inputSchema"))
            passed = {**params, "name": tool["name"], "arguments": filled}
            answer = await upstream.request("tools/call", passed)
        except NotPassedError as refused:
            return {"result": failed(prompts.NOT_CALLED.format(tool=name, reason=refused))}
        except RequestError as error:
            # As a result, since not every client shows a model the errors of the protocol. Once a model has read
            # what happened, it can go on without this server.
            return {"result": failed(error.message)}
        if "result" in answer:
            answer["result"] = await self._memory.folded(name, arguments, answer["result"])
        return answer

    async def _get_prompt(self, params: Wire) -> Wire:
        offered = await self._named("prompts", str(params.get("name")))
        if not offered:
            raise RequestError(INVALID_PARAMS, f"there is no prompt {params.get('name')!r:.80}")
        upstream, prompt = offered
        return await upstream.request("prompts/get", {**params, "name": prompt["name"]})

    async def _set_level(self, params: Wire) -> Wire:
        for upstream in self._having("logging"):
            await upstream.request("logging/setLevel", params)
        return {"result": {}}

    # Resources of several servers.

    async def _list_resources(self, method: str) -> Wire:
        """Return all servers' resources, or the templates of resources, and note whose they are."""
        found = await self._listed(method)
        for upstream, entry in found:
            uri = entry.get("uri") or entry.get("uriTemplate")
            self._owners.setdefault(str(uri), upstream)
        return {"result": {_LISTS[method]: [entry for _, entry in found]}}

    async def _by_uri(self, method: str, uri: str, params: Wire) -> Wire:
        """Pass a request to the server that has listed the URI; if none has, to each until one answers with a result."""
        owner = self._owners.get(uri)
        answer = _refused(RequestError(INVALID_PARAMS, f"no server has the resource {uri!r:.80}"))
        asked = [owner] if owner else self._having("resources")
        for upstream in asked:
            answer = await upstream.request(method, params)
            if "result" in answer:
                break
        return answer


def _refused(error: RequestError) -> Wire:
    return {"error": {"code": error.code, "message": error.message}}


def _merged_welcome(results: Sequence[Wire], names: Sequence[str], *, prefix: bool) -> Wire:
    """Merge the servers' answers to ``initialize`` into ours.

    A single server's answer is passed on, with our instructions added. Several servers are presented as one, with the
    capabilities of all that works for several.
    """
    only_result = results[0] if len(results) == 1 else {}
    instructions = [str(one["instructions"]) for one in results if one.get("instructions")]
    capabilities = Wire()
    for one in results:
        able = member(one, "capabilities")
        for name in able:
            enabled = {key: value for key, value in member(able, name).items() if value}
            capabilities[name] = {**capabilities.get(name, {}), **enabled}
    # A request about a task does not name the server that runs it, so tasks work only with a single server.
    if not only_result:
        capabilities.pop("tasks", None)
    # A request for completions names a prompt, and is passed on as it is.
    if not only_result or prefix:
        capabilities.pop("completions", None)
    title = f"{NAME}: {', '.join(names)}"
    return {
        "serverInfo": {"name": NAME, "title": title, "version": __version__},
        **only_result,
        # Versions are dates; all servers understand the oldest.
        "protocolVersion": min(str(one.get("protocolVersion")) for one in results),
        "capabilities": {**capabilities, "tools": capabilities.get("tools", {})},
        "instructions": "\n\n".join([*instructions, prompts.WRAPPED_INSTRUCTIONS]),
    }
