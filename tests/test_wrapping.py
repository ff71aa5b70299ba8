"""Servers that are wrapped: what passes through, what is folded and filled in, what a client is told of failures."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from pydantic import BaseModel

from for_each import for_each
from mcp_clients import SDK
from memory_context import FoldPolicy, MemoryManager, ModelCall
from memory_context.conversation import ConversationSettings
from memory_context.conversation.references.pass_by_reference import PassingPolicy
from memory_context.mcp.memory_of_a_wrapped_session import WrappedMemory
from memory_context.mcp.server_on_either_sdk import message_of, wire_of
from memory_context.mcp.stdio_server import serve_to_the_last
from memory_context.mcp.upstream_connections import WrappedServer
from memory_context.mcp.wire_types_and_errors import RequestError
from memory_context.mcp.wrapping_proxy import Wrapper, WrapSettings
from memory_context.model.reference import MemoryRef

SERVER = str(Path(__file__).with_name("scripted_mcp_server.py"))
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"sampling": {}, "elicitation": {}, "roots": {}},
    "clientInfo": {"name": "test", "version": "1"},
}
MEMORY = ["retrieve_memory", "search_memory", "query_memory"]


class Request(BaseModel):
    """A request whose id nothing has checked."""

    method: str
    id: Any


class Notification(BaseModel):
    """A notification whose parameters nothing has checked."""

    method: str
    params: Any


class RawClient:
    """A client that says what it is told to, and keeps what it hears."""

    def __init__(self, wrapper: Wrapper, say: Any) -> None:
        self.wrapper = wrapper
        self._say = say
        self._numbers = itertools.count(1)
        self.heard = list[dict[str, Any]]()
        self._more = asyncio.Condition()

    async def listen(self, read: Any) -> None:
        """Keep what comes."""
        async for message in read:
            async with self._more:
                self.heard.append(wire_of(message))
                self._more.notify_all()

    async def say(self, **wire: Any) -> None:
        """Say anything."""
        await self._say.send(message_of(wire))

    async def ask(self, method: str, **params: Any) -> int:
        """Ask something, and go on."""
        number = next(self._numbers)
        await self.say(id=number, method=method, params=params)
        return number

    async def until(self, number: int = 1, **parts: Any) -> dict[str, Any]:
        """The first message with these members, or a later one. Those with an id and no method are answers."""
        async with self._more:
            await self._more.wait_for(lambda: len(self._with(parts)) >= number)
            return self._with(parts)[number - 1]

    def _with(self, parts: dict[str, Any]) -> list[dict[str, Any]]:
        answers = "id" in parts
        return [
            wire
            for wire in self.heard
            if parts.items() <= wire.items() and not (answers and "method" in wire)
        ]

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        answer = await self.until(id=await self.ask(method, **params))
        assert "error" not in answer, answer
        return dict(answer["result"])

    async def error(self, method: str, **params: Any) -> dict[str, Any]:
        """The error that a request gets."""
        return dict((await self.until(id=await self.ask(method, **params)))["error"])

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        return await self.result("tools/call", name=tool, arguments=arguments)

    async def text(self, tool: str, **arguments: Any) -> str:
        """The one text of a tool's result."""
        [part] = (await self.call(tool, **arguments))["content"]
        return str(part["text"])

    async def tools(self) -> dict[str, dict[str, Any]]:
        """The tools, by name."""
        return {tool["name"]: tool for tool in (await self.result("tools/list"))["tools"]}


def scripted(name: str = "demo", *more: str, called: str = "") -> WrappedServer:
    """A server that is started."""
    return WrappedServer(called, (sys.executable, "-S", SERVER, name, *more))


@asynccontextmanager
async def connected(
    *servers: WrappedServer, manager: MemoryManager | None = None, **settings: Any
) -> AsyncIterator[RawClient]:
    """A client that has not said hello."""
    to_wrapper, read = anyio.create_memory_object_stream[Any](100)
    write, from_wrapper = anyio.create_memory_object_stream[Any](100)
    with MemoryManager("sqlite://", user_id="ann") as own:
        fold = ConversationSettings(FoldPolicy(queries=True), recall=None)
        memory = WrappedMemory(manager or own, fold, PassingPolicy())
        async with to_wrapper, read, write, from_wrapper, anyio.create_task_group() as tasks:
            client = RawClient(Wrapper(servers, memory, WrapSettings(**settings)), to_wrapper)
            tasks.start_soon(client.wrapper.run, read, write)
            tasks.start_soon(client.listen, from_wrapper)
            yield client
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def wrapped(*servers: WrappedServer, **settings: Any) -> AsyncIterator[RawClient]:
    """A client in a session."""
    async with connected(*(servers or (scripted(),)), **settings) as client:
        await client.result("initialize", **HELLO)
        await client.say(method="notifications/initialized")
        yield client


def ref_in(text: str) -> MemoryRef:
    """The reference at the beginning of a text."""
    return MemoryRef.parse(text.split("\n", maxsplit=1)[0])


async def test_the_same_tools() -> None:
    """A client sees the tools of all pages as they are, but for the schemas of their results, and those of the memory."""
    async with wrapped() as client:
        tools = await client.tools()

        assert MEMORY == [*tools][-3:]
        assert {"got", "orders", "recorded", "demo_retrieve_memory"} <= {*tools}
        assert "Got" == tools["got"]["title"]
        assert "outputSchema" not in tools["orders"]
        assert "any other tool" in tools["retrieve_memory"]["description"]
        assert tools["query_memory"]["annotations"]


async def test_a_large_result() -> None:
    """A large text leaves as a reference with a preview, said once what that is; the memory's tools read it again."""
    async with wrapped() as client:
        result = await client.call("large")
        [part] = result["content"]
        ref = ref_in(part["text"])
        again = await client.text("read_file")

        assert {"trace": 7} == result["_meta"]
        assert len(part["text"]) < 2000
        assert "Such references stand for texts in memory" in part["text"]
        assert "worker-399 took 399 ms" in await client.text(
            "retrieve_memory", key=ref.key, lines="400"
        )
        assert ref.key in await client.text("search_memory", query="worker-77")
        assert "Such references" not in again


async def test_a_query() -> None:
    """What structured results said is there for queries."""
    async with wrapped() as client:
        ref = ref_in(await client.text("orders"))
        assert "1990" in await client.text(
            "query_memory", sql=f'SELECT max(total) FROM "{ref.key}"'
        )


async def test_what_is_not_folded() -> None:
    """Small texts, images and what is for the user's eyes alone come through as they are."""
    async with wrapped() as client:
        assert '{"text": "hi"}' == await client.text("got", text="hi")
        assert ["image"] == [part["type"] for part in (await client.call("image"))["content"]]
        [part] = (await client.call("for_the_user"))["content"]
        assert part["text"].endswith("took 399 ms")


async def test_structured_content() -> None:
    """Structured content goes with the text that repeats it, and stays where it says something else and is small."""
    async with wrapped() as client:
        orders, attached = await client.call("orders"), await client.call("attached")

        assert "structuredContent" not in orders
        assert "rows" in ref_in(orders["content"][0]["text"]).description
        [part] = attached["content"]
        assert {"lines": 400} == attached["structuredContent"]
        assert ("demo://log", "text/plain") == (
            part["resource"]["uri"],
            part["resource"]["mimeType"],
        )
        assert ref_in(part["resource"]["text"]).key.startswith("attached")


async def test_many_parts() -> None:
    """Texts side by side are one memory; what stands behind them stays."""
    async with wrapped() as client:
        first, image, last = (await client.call("parts"))["content"]

        whole = await client.text("retrieve_memory", key=ref_in(first["text"]).key)
        assert " of 400," in whole
        assert ("image", "the end") == (image["type"], last["text"])


async def test_arguments_by_reference() -> None:
    """A reference that a client was shown is filled in, as text or as JSON; one that it was not is refused."""
    async with wrapped() as client:
        ref = ref_in(await client.text("large"))
        orders = ref_in(await client.text("orders"))
        got = await client.text("got", text=f"[MemoryRef: {ref.key}]")
        rows = await client.text("rows", rows=f"[MemoryRef: {orders.key}]")
        refused = await client.call("got", text="[MemoryRef: not_shown_0123456789]")

        # What the tool gives back is the same text again, in JSON.
        shown = ref_in(got)
        assert "worker-399" in await client.text(
            "retrieve_memory", key=shown.key, query="worker-399"
        )
        assert "1990" in await client.text("retrieve_memory", key=ref_in(rows).key, query="1990")
        assert refused["isError"]
        assert "got was not called" in refused["content"][0]["text"]


async def test_planted_references() -> None:
    """A key that only a tool has written is not redeemed for another tool."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        manager.store("hunter2 " * 600, key="of.ann")
        async with wrapped(manager=manager) as client:
            planted = "[MemoryRef: of.ann - a log - 600 tokens]"
            await client.text("got", text=f"look at {planted}")
            assert "was not called" in await client.text("got", text=planted)
            # Once the memory itself has shown it, it is.
            await client.text("retrieve_memory", key="of.ann")
            assert "hunter2" in await client.text("got", text=planted)


async def test_errors() -> None:
    """Errors of tools and of the protocol come through with all they say."""
    async with wrapped() as client:
        assert (await client.call("wrong"))["isError"]
        error = await client.error("tools/call", name="refused", arguments={})
        assert {"code": -32042, "message": "not today", "data": {"until": "tomorrow"}} == error
        assert (
            "there are got, rows" in (await client.error("tools/call", name="no_such"))["message"]
        )


async def test_progress_and_logs() -> None:
    """What a server tells meanwhile reaches the client, in its order."""
    async with wrapped() as client:
        await client.result("tools/call", name="slow", arguments={}, _meta={"progressToken": "t"})
        told = [wire["params"] for wire in client.heard if "method" in wire]

        assert [1, 2, None] == [params.get("progress") for params in told]
        assert ["t", "t"] == [params["progressToken"] for params in told[:2]]
        assert "half way" == told[2]["data"]


@for_each("method", ["sampling/createMessage", "elicitation/create", "roots/list"])
async def test_requests_of_a_server(method: str) -> None:
    """A server's question reaches the client, and the answer the server that asked."""
    async with wrapped(scripted("a"), scripted("b")) as client:
        first = await client.ask("tools/call", name="a_asks", arguments={"method": method})
        one = await client.until(method=method)
        second = await client.ask("tools/call", name="b_asks", arguments={"method": method})
        other = await client.until(2, method=method)
        await client.say(id=other["id"], error={"code": -1, "message": "declined"})
        await client.say(id=one["id"], result={"said": "to a"})

        assert one["id"] != other["id"]
        assert "to a" in json.dumps(await client.until(id=first))
        assert "declined" in json.dumps(await client.until(id=second))


async def test_a_person_may_take_longer() -> None:
    """While a server waits for the client's answer, perhaps a person's, no call is given up; then their time begins again."""
    async with wrapped() as client:
        [upstream] = client.wrapper.upstreams
        params = {"name": "deaf", "arguments": {}}
        first = asyncio.create_task(upstream.request("tools/call", params, 0.05))
        await asyncio.sleep(0)
        upstream.take({"id": 7, "method": "elicitation/create", "params": {}})
        second = asyncio.create_task(upstream.request("tools/call", params, 0.05))
        await asyncio.wait([first, second], timeout=0.2)
        assert [False, False] == [first.done(), second.done()]
        for pending in upstream.pending.values():
            pending.heard = 0
        upstream.take({"method": "notifications/cancelled", "params": {"requestId": 7}})
        assert all(pending.heard for pending in upstream.pending.values())
        for call in (first, second):
            with pytest.raises(RequestError, match="gave no sign"):
                await call


async def test_a_request_that_a_client_never_answers() -> None:
    """A server's request holds up no call that began after the one that it belonged to had ended."""
    async with wrapped() as client:
        [upstream] = client.wrapper.upstreams
        params = {"name": "deaf", "arguments": {}}
        first = asyncio.create_task(upstream.request("tools/call", params))
        await asyncio.sleep(0)
        upstream.take({"id": 7, "method": "roots/list", "params": {}})
        first.cancel()
        with pytest.raises(RequestError, match="gave no sign"):
            await upstream.request("tools/call", params, 0.05)


async def test_progress_is_a_sign() -> None:
    """The clock of a call begins again with each progress on it, and with no other's."""
    async with wrapped() as client:
        [upstream] = client.wrapper.upstreams
        params = {"name": "deaf", "arguments": {}, "_meta": {"progressToken": "t"}}
        call = asyncio.create_task(upstream.request("tools/call", params))
        await client.until(method="notifications/message")
        [pending] = upstream.pending.values()
        pending.heard = 0
        for token, is_sign in (("other", False), ("t", True)):
            progress = {"progressToken": token, "progress": 1}
            upstream.take({"method": "notifications/progress", "params": progress})
            assert is_sign == (pending.heard > 0)
        call.cancel()


async def test_cancellation() -> None:
    """A call that the client cancels is cancelled at the server, and gets no answer."""
    async with wrapped() as client:
        number = await client.ask("tools/call", name="wait", arguments={})
        await client.until(method="notifications/message")
        await client.say(method="notifications/cancelled", params={"requestId": number})
        assert 1 == len(json.loads(await client.text("cancelled")))
        assert number not in [wire.get("id") for wire in client.heard]


async def test_list_changes() -> None:
    """A tool that is new is there once the server has said so."""
    async with wrapped() as client:
        assert "grown" not in await client.tools()
        await client.call("grow")
        await client.until(method="notifications/tools/list_changed")
        assert "grown up" == await client.text("grown")
        assert "grown" in await client.tools()


async def test_prompts_and_resources() -> None:
    """Prompts, resources, templates, subscriptions and completions of one server come through page by page."""
    async with wrapped() as client:
        pages = list[str]()
        cursor: dict[str, str] = {}
        while True:
            page = await client.result("resources/list", **cursor)
            pages += [one["uri"] for one in page["resources"]]
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        completed = await client.result(
            "completion/complete", ref={"type": "ref/prompt", "name": "greet"}, argument={}
        )

        assert ["demo://0", "demo://1", "demo://2"] == pages
        assert "read demo://1 of demo" in json.dumps(
            await client.result("resources/read", uri="demo://1")
        )
        assert ["greet"] == [
            one["name"] for one in (await client.result("prompts/list"))["prompts"]
        ]
        assert "greet demo" in json.dumps(await client.result("prompts/get", name="greet"))
        assert (await client.result("resources/templates/list"))["resourceTemplates"]
        assert "greet" in completed["completion"]["values"][0]
        await client.result("logging/setLevel", level="debug")
        # A method that nobody here knows is the server's own.
        assert ["debug"] == (await client.result("demo/levels"))["levels"]
        assert "no demo/none" in (await client.error("demo/none"))["message"]


async def test_what_a_client_is_told_first() -> None:
    """The server speaks for itself, and is told what the client can do; the memory adds a sentence."""
    async with connected(scripted()) as client:
        told = await client.result("initialize", **HELLO)

        assert "demo" == told["serverInfo"]["name"]
        assert told["instructions"].startswith("This is demo.")
        assert "retrieve_memory" in told["instructions"]
        assert HELLO["capabilities"] == told["capabilities"]["experimental"]["demo"]["seen"]
        assert {} == await client.result("ping")


async def test_several_servers() -> None:
    """Names that clash get the server's name in front, others none; each request goes where it belongs."""
    async with wrapped(scripted("a", called="left"), scripted("b")) as client:
        tools = await client.tools()
        assert {"left_got", "b_got", *MEMORY} <= {*tools}
        assert "got" not in tools
        assert '{"text": "x"}' == await client.text("b_got", text="x")

        names = [one["name"] for one in (await client.result("prompts/list"))["prompts"]]
        assert ["left_greet", "b_greet"] == names
        assert "greet b" in json.dumps(await client.result("prompts/get", name="b_greet"))
        listed = await client.result("resources/list")
        uris = [one["uri"] for one in listed["resources"]]
        assert ["a://0", "a://1", "a://2", "b://0", "b://1", "b://2"] == uris
        assert "nextCursor" not in listed
        listed = await client.result("resources/templates/list")
        uris = [one["uriTemplate"] for one in listed["resourceTemplates"]]
        assert ["a://{id}", "b://{id}"] == uris
        for uri in ("b://1", "b://unlisted", "a://0"):
            assert f"read {uri}" in json.dumps(await client.result("resources/read", uri=uri))
        assert -32602 == (await client.error("resources/read", uri="c://0"))["code"]
        assert -32601 == (await client.error("demo/levels"))["code"]
        assert -32601 == (await client.error("completion/complete", ref={}, argument={}))["code"]


@for_each("servers, prefix, offered", [(1, False, True), (1, True, False), (2, False, False)])
async def test_completions(servers: int, prefix: bool, offered: bool) -> None:
    """They are offered for one server whose prompts keep their names, and for no others."""
    upstreams = [scripted("a"), scripted("b")][:servers]
    async with connected(*upstreams, prefix=prefix) as client:
        told = await client.result("initialize", **HELLO)
        assert offered is ("completions" in told["capabilities"])


async def test_names_in_front() -> None:
    """On request the server's name stands before each tool, though nothing clashes."""
    async with wrapped(scripted("a b"), prefix=True) as client:
        assert {"a_b_got", "a_b_large"} <= {*await client.tools()}


async def test_from_one_server_to_another() -> None:
    """What one server returned is passed to another by its reference."""
    async with wrapped(scripted("a"), scripted("b")) as client:
        ref = ref_in(await client.text("a_large"))
        assert "worker" in await client.text("b_got", text=ref.render())


# The older SDK leaves streams open where nobody listens.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_server_that_cannot_be_reached() -> None:
    """One that does not start is named, with why; where others do, the session goes on with them."""
    missing = WrappedServer("gone", ("/no/such/program",))
    nobody = WrappedServer("far", url="http://127.0.0.1:1/mcp")
    mistyped = WrappedServer("odd", url="odd")
    async with connected(missing, nobody, mistyped) as client:
        message = (await client.error("initialize", **HELLO))["message"]
        assert "gone is not there" in message
        assert (
            "gone is not there: No such file or directory: /no/such/program. Do without" in message
        )
        assert "far is not there" in message
        assert "odd is not there" in message
        assert ".." not in message
    async with wrapped(missing, scripted()) as client:
        assert '{"text": "x"}' == await client.text("got", text="x")


async def test_a_server_that_does_not_start_in_time() -> None:
    """A server that says nothing is given up after the time it has to start."""
    silent = WrappedServer("mute", (sys.executable, "-c", "import sys; sys.stdin.read()"))
    async with connected(silent, start_patience=0.2) as client:
        assert (
            "mute gave no sign for 0.2 seconds"
            in (await client.error("initialize", **HELLO))["message"]
        )


async def test_a_server_that_dies() -> None:
    """A call that a server dies in is answered, so are later ones; the memory stays."""
    async with wrapped() as client:
        ref = ref_in(await client.text("large"))
        died = await client.call("die")
        later = await client.call("got", text="x")

        for result in (died, later):
            assert result["isError"]
            assert "The server demo is not there" in result["content"][0]["text"]
        assert "is not there" in (await client.error("resources/read", uri="demo://1"))["message"]
        assert "worker-0" in await client.text("retrieve_memory", key=ref.key)


class FarServer(BaseHTTPRequestHandler):
    """A server over HTTP 1.0 that closes the connection after each answer; `answer_call` answers the calls of its tool."""

    def do_POST(self) -> None:
        """Answer."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "got", "inputSchema": {"type": "object"}}]},
        }
        self.send_response(200 if "id" in asked else 202)
        if asked["method"] in results:
            self.write_answer(id=asked["id"], result=results[asked["method"]])
        else:
            self.answer_call(asked.get("id"))

    def write_answer(self, **members: object) -> None:
        """Answer in JSON."""
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"jsonrpc": "2.0", **members}).encode())

    def answer_call(self, number: object) -> None:
        """Begin to answer, and break off."""
        del number
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named so in the standard library
        """Say nothing."""


OWN_ERROR = {"code": -32000, "message": "Try again.", "data": {"after": 30}}


class Limiting(FarServer):
    """A server with an error of its own, under the code that the SDK has for broken connections."""

    def answer_call(self, number: object) -> None:
        """Refuse."""
        self.write_answer(id=number, error=OWN_ERROR)


@contextmanager
def far(server: type[FarServer]) -> Iterator[WrappedServer]:
    """A server over HTTP."""
    with ThreadingHTTPServer(("127.0.0.1", 0), server) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield WrappedServer(url=f"http://127.0.0.1:{http.server_port}/mcp")
        http.shutdown()


OF_SDK_2 = pytest.mark.skipif(
    SDK == 1,
    reason="its client waits for the rest of such an answer, and leaves a stream open",
)


@OF_SDK_2
async def test_a_server_that_breaks_off() -> None:
    """A call that a server over HTTP breaks off is answered by a result that says so."""
    with far(FarServer) as server:
        async with wrapped(server) as client:
            result = await client.call("got")

    assert result["isError"]
    assert "The server far broke off before it answered" in result["content"][0]["text"]


@OF_SDK_2
async def test_an_error_of_a_servers_own() -> None:
    """An error of a server reaches the client as it was written, also under the code of broken connections."""
    with far(Limiting) as server:
        async with wrapped(server) as client:
            assert OWN_ERROR == await client.error("tools/call", name="got", arguments={})


async def test_one_of_several_dies() -> None:
    """Its tools are gone, and those of the others stay."""
    async with wrapped(scripted("a"), scripted("b")) as client:
        assert (await client.call("a_die"))["isError"]
        assert "read b://1" in json.dumps(await client.result("resources/read", uri="b://1"))
        assert (await client.result("resources/list"))["resources"][0]["uri"] == "b://0"
        await client.result("logging/setLevel", level="debug")
        tools = await client.tools()
        assert "got" in tools
        assert '{"text": "x"}' == await client.text("got", text="x")


async def test_a_server_that_hangs() -> None:
    """A call without a sign of life is given up and cancelled; others go on meanwhile."""
    async with wrapped(patience=4) as client:
        number = await client.ask("tools/call", name="deaf", arguments={})
        await client.until(method="notifications/message")
        assert '{"text": "x"}' == await client.text("got", text="x")
        result = (await client.until(id=number))["result"]

        assert result["isError"]
        assert (
            "demo gave no sign for 4 seconds; tools/call was cancelled"
            in result["content"][0]["text"]
        )
        assert 1 == len(json.loads(await client.text("cancelled")))


async def test_a_store_that_fails() -> None:
    """Where the store cannot be written, results come whole."""
    with MemoryManager("sqlite:////dev/full/memory.db", user_id="ann") as manager:
        async with wrapped(manager=manager) as client:
            assert (await client.text("large")).endswith("took 399 ms")


async def test_the_store_outlives_the_session(sqlite_url: str) -> None:
    """What one session folded is read in the next, and what it sent is on record."""
    with MemoryManager(sqlite_url, user_id="ann", thread_id="wrap_1") as manager:
        async with wrapped(manager=manager) as client:
            ref = ref_in(await client.text("large"))
        async with wrapped(manager=manager) as client:
            assert ref.key in await client.text("search_memory", query="worker-77")
            assert "worker-77 " in await client.text(
                "retrieve_memory", key=ref.key, query="worker-77"
            )
        [call] = manager.calls(thread_id="wrap_1")
        assert isinstance(call.what, ModelCall)
        assert (ref.key,) == call.what.folded
        assert call.what.tokens_sent < call.what.tokens_full / 4


async def test_results_that_no_sdk_reads(tmp_path: Path) -> None:
    """Half an emoji, which a server in JavaScript may send, and a content of a server's own form come through."""
    recorded = tmp_path / "results.json"
    recorded.write_text(json.dumps(["cut here \ud83d", {"text": "alone"}]), "ascii")
    async with wrapped(scripted("demo", str(recorded))) as client:
        assert "cut here \ufffd" == await client.text("recorded", number=0)
        assert {"text": "alone"} == (await client.call("recorded", number=1))["content"]


async def test_answers_without_a_result() -> None:
    """An answer whose result or error is no object is an error at once, not when the time is over."""
    async with wrapped() as client:
        for wrong in ({"result": 5}, {"result": None}, {"error": "bad"}, {}):
            result = await client.call("odd", says=[{"id": "same", **wrong}])
            assert result["isError"]
            assert "neither a result nor an error" in result["content"][0]["text"]


async def test_lines_that_are_no_messages(capsys: pytest.CaptureFixture[str]) -> None:
    """A line that a server prints beside its messages is passed over, and named in a line on standard error."""
    right = {"id": "same", "result": {"content": [{"type": "text", "text": "right"}]}}
    async with wrapped() as client:
        says = [{"prints": "Listening \x1b[1m"}, {"prints": '{"level": "info"}'}, right]
        assert "right" == await client.text("odd", says=says)
    first, second = capsys.readouterr().err.splitlines()
    assert first == r"memory-context wrap: demo: not a message: 'Listening \x1b[1m'"
    assert second == "memory-context wrap: demo: not a message: {'level': 'info'}"


@for_each("number", [None, 0.5, True, [1]])
def test_ids_that_mcp_forbids(number: Any) -> None:
    """A request with an id that is neither a whole number nor a string is a notification, as in both SDKs."""
    request: Any = Request(method="ping", id=number)
    assert wire_of(SessionMessage(request)) == {"method": "ping"}


async def test_a_cancellation_of_no_request() -> None:
    """A client that cancels `true`, which is 1 for Python, still gets the answer to request 1 after its last line."""
    says, read = anyio.create_memory_object_stream[Any](2)
    write, hears = anyio.create_memory_object_stream[Any](1)
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": True}}
    with says:
        says.send_nowait(message_of({"id": 1, "method": "ping"}))
        says.send_nowait(SessionMessage(Notification.model_validate(cancelled)))  # type: ignore[arg-type]

    async def serve(requests: Any, answers: Any) -> None:
        with requests:
            await requests.receive()
            await requests.receive()
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(anyio.WouldBlock):  # the requests have not ended
                requests.receive_nowait()
            await answers.send(message_of({"id": 1, "result": {}}))
            with pytest.raises(anyio.EndOfStream):
                await requests.receive()

    with read, write, hears:
        await serve_to_the_last(serve, read, write)
        assert 1 == wire_of(hears.receive_nowait())["id"]


async def test_odd_ids_of_a_server() -> None:
    """Answers to nothing that was asked are passed over; 1.0 is the number 1; a request's own id comes back."""
    right = {"result": {"content": [{"type": "text", "text": "right"}]}}
    others: list[dict[str, Any]] = [
        {"id": one, "result": {"content": []}} for one in (None, "x", "1", -1, 1e6, 0.5)
    ]
    async with wrapped() as client:
        for same in ("same", "float"):
            assert "right" == await client.text("odd", says=[*others, {"id": same, **right}])
        pings = [{"id": one, "method": "ping"} for one in ("ping", "1", None, 0.5)]
        assert "right" == await client.text("odd", says=[*pings, {"id": "same", **right}])
        # The session goes on.
        assert '{"text": "x"}' == await client.text("got", text="x")
