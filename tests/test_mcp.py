"""The MCP server from the outside: real processes, the SDK's own client, both transports.

It runs on mcp 2.x in the main environment, and `.ci/run` runs it on mcp 1.x too.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl

from examples import examples
from for_each import first_quick, for_each
from mcp_clients import SDK, Client, RefusedError, http_server, on_stdio, session_with
from memory_context import MemoryItem, MemoryManager
from memory_context.autogen.memory_tools_with_strict_schemas import memory_tools
from memory_context.mcp.resources import SCHEME, Resources, key_of
from memory_context.mcp.wire_types_and_errors import INVALID_PARAMS
from memory_context.model.item import encodable
from memory_context.model.tool_names import ASK, QUERY, READING_TOOLS
from messages import LOG

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
MODES = ["legacy"] if SDK == 1 else [pytest.param("legacy", marks=pytest.mark.long), "auto"]
ORDERS = {"orders": [{"id": 1, "total": 50}, {"id": 2, "total": 150}, {"id": 3, "total": 250}]}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with a few memories of ann's, and one of bob's."""
    url = f"sqlite:///{tmp_path_factory.mktemp('mcp') / 'memory.db'}"
    with MemoryManager(url, user_id="bob") as memory:
        memory.store("what bob knows", key="of.bob")
    with MemoryManager(url, user_id="ann") as memory:
        memory.store(LOG, "the night's log", key="Night.Log")
        memory.store(PIXEL, key="pixel")
        memory.store(ORDERS, key="orders")
        memory.store("hunter2", "password of the database", "secret", key="password")
        memory.store("gone", key="gone")
        memory.forget("gone")
    return url


@pytest.fixture(scope="module")
def address(url: str) -> Iterator[str]:
    """The URL of a server for ann."""
    with http_server("--store", url, "--user", "ann") as (_, address):
        yield address


@pytest.fixture(params=first_quick(["http", "stdio"]))
def transport(request: pytest.FixtureRequest) -> str:
    """How the client reaches the server."""
    return str(request.param)


@asynccontextmanager
async def connected(
    transport: str, url: str, *arguments: str, mode: str = "legacy"
) -> AsyncIterator[Client]:
    """A client of a server of its own."""
    arguments = ("--store", url, "--user", "ann", *arguments)
    if transport == "stdio":
        async with session_with(on_stdio(*arguments), mode) as client:
            yield client
    else:
        with http_server(*arguments) as (_, address):
            async with session_with(address, mode) as client:
                yield client


@pytest.mark.parametrize("mode", MODES)
async def test_a_session(transport: str, mode: str, sqlite_url: str) -> None:
    """A client stores, finds, reads and lists, over either transport and in either form of the protocol."""
    async with connected(transport, sqlite_url, mode=mode) as client:
        assert {"retrieve_memory", "search_memory", "store_memory"} <= {*await client.tools()}
        stored = await client.call(
            "store_memory", content="the port of the database is 5433", description="a port"
        )
        [key] = stored["structuredContent"]["keys"]
        assert key in await client.text("search_memory", query="port of the database")
        assert "5433" in await client.text("retrieve_memory", key=key)
        [listed] = (await client.page())["resources"]
        assert "the port of the database is 5433" == (await client.read(listed["uri"]))["text"]


@pytest.mark.long
async def test_notes(sqlite_url: str) -> None:
    """A client keeps notes in the conversation and the project that the server was started for, and no other's."""
    async with connected("stdio", sqlite_url, "--session", "s1", "--project", "web") as client:
        assert {"save_memory", "get_memory", "clear_memory", "list_categories"} <= {
            *await client.tools()
        }
        await client.text(
            "save_memory", content="the port is 5433", tier="project", category="infra/db"
        )
        await client.text("save_memory", content="ask Bob first")
        assert "5433" in await client.text("get_memory", category="infra")
        assert "infra/db" in await client.text("list_categories")
        assert "run" in await client.mistake("save_memory", content="x", tier="run")
    async with connected("stdio", sqlite_url, "--session", "s2", "--project", "web") as client:
        assert "5433" in await client.text("search_memory", query="port")
        assert "Bob" not in await client.text("search_memory", query="whom to ask first")
        assert "Bob" not in await client.text("get_memory")


@pytest.mark.long
async def test_who_it_is(address: str) -> None:
    """The server says its name, its version, and to the model what it is for."""
    async with session_with(address) as client:
        told: Any = await client.session.initialize()

        assert "memory-context" == (told.serverInfo if SDK == 1 else told.server_info).name
        assert "search_memory" in told.instructions


class TestTools:
    """Tools: what is told of them, what they answer, what they say to mistakes."""

    async def test_schemas(self, address: str) -> None:
        """A model sees the arguments that it sees in AutoGen, where a strict schema has it give all of them."""
        async with session_with(address) as client:
            tools = await client.tools()

            for theirs in memory_tools(MemoryManager("sqlite://", user_id="ann")):
                ours, parameters = tools[theirs.name], theirs.schema["parameters"]
                assert theirs.description == ours["description"]
                assert parameters["properties"] == _titled(
                    ours["inputSchema"]["properties"], parameters["properties"]
                )
                required = set(ours["inputSchema"].get("required", []))
                assert required <= set(parameters["required"])

    async def test_hints(self, address: str) -> None:
        """A client may call what only reads without asking, and knows that storing destroys nothing."""
        async with session_with(address) as client:
            hints = {name: tool["annotations"] for name, tool in (await client.tools()).items()}

            assert READING_TOOLS - {ASK, QUERY} <= {
                name for name, hint in hints.items() if hint.get("readOnlyHint")
            }
            assert hints["store_memory"]["destructiveHint"] is False
            assert not hints["store_memory"].get("readOnlyHint")
            assert hints["query_memory"] == hints["store_memory"]

    @pytest.mark.long
    @for_each(
        "arguments, said",
        [
            ({}, "lines 1-"),
            ({"lines": "2-3"}, LOG.split("\n")[1]),
            ({"contains": "sdx9"}, "401: 2026-01-01 13:00:00 ERROR worker-777"),
            ({"pattern": r"worker-7{3}", "context": 1}, "400"),
            ({"query": "which worker failed"}, "chosen for the query"),
            ({"offset": 100}, "characters 100-"),
            ({"lines": [401, 401]}, "worker-777"),
            (
                {"key": "[MemoryRef: Night.Log - the night's log - 9 tokens]", "lines": 1},
                LOG.split("\n")[0],
            ),
            ({"key": "orders", "path": "$.orders[*].id"}, "1,"),
            ({"key": "orders", "where": "total > 100", "columns": "id, total"}, "2,150\n3,250"),
            ({"key": "pixel"}, "image/png"),
        ],
    )
    async def test_partial_reads(self, address: str, arguments: dict[str, Any], said: str) -> None:
        """Every partial read of the other hosts gives here what it gives there."""
        async with session_with(address) as client:
            assert said in await client.text("retrieve_memory", **{"key": "Night.Log", **arguments})

    @pytest.mark.long
    async def test_pages(self, address: str, url: str) -> None:
        """An answer takes at most the tokens that the server was started with, and leads to the next page."""
        async with session_with(address) as client:
            count = MemoryManager("sqlite://", user_id="ann").counter.count
            async with connected("stdio", url, "--max-tokens", "300") as brief:
                text = await brief.text("retrieve_memory", key="Night.Log")
            assert 100 < count(text) <= 300
            async with connected("stdio", url, "--page-tokens", "2000") as paged:
                text = await paged.text("retrieve_memory", key="Night.Log")
            assert 1500 < count(text) <= 2000
            assert 3000 < count(await client.text("retrieve_memory", key="Night.Log")) <= 4000

            text, pages = "", [await client.text("retrieve_memory", key="Night.Log")]
            while "offset=" in pages[-1]:
                offset = int(pages[-1].rpartition("offset=")[2].rstrip(")"))
                pages.append(await client.text("retrieve_memory", key="Night.Log", offset=offset))
            for page in pages:
                text += "\n".join(page.split("\n")[2:-1]) + "\n"
            assert f"{LOG}\n" == text

    async def test_every_tool_has_a_title(self, address: str) -> None:
        """What a client shows a person in place of a name."""
        async with session_with(address) as client:
            titles = {name: tool["title"] for name, tool in (await client.tools()).items()}
        assert "Retrieve memory" == titles["retrieve_memory"]
        assert all(title[0].isupper() and "_" not in title for title in titles.values())

    async def test_structured_answers(self, address: str) -> None:
        """An answer has the form that the tool has declared: the text, and the keys that it speaks of."""
        async with session_with(address) as client:
            for tool in (await client.tools()).values():
                assert {"text", "keys"} == {*tool["outputSchema"]["required"]}
            found = await client.call("search_memory", query="the night's log", limit=1)
            assert ["Night.Log"] == found["structuredContent"]["keys"]

    @pytest.mark.long
    @for_each(
        "arguments, said",
        [
            ({"key": "../../etc/passwd"}, "A-Z a-z 0-9 _ . -"),
            ({"key": "/etc/passwd"}, "some_key in [MemoryRef: some_key"),
            ({"key": "C:\\windows"}, "some_key in [MemoryRef: some_key"),
            ({"key": ""}, "A-Z a-z 0-9 _ . -"),
            ({"key": "k" * 100_000}, "1 to 255 characters"),
            ({"key": "nothing"}, "search_memory"),
            ({"key": "of.bob"}, "no memory with the key 'of.bob'"),
            ({"key": "gone"}, "was deleted on"),
            ({"key": 5}, "argument key is wrong"),
            ({"key": {"key": "Night.Log"}}, "argument key is wrong"),
            ({"key": None}, "argument key is missing"),
            ({"offset": "far"}, "argument offset is wrong"),
            ({"offset": 10**30}, "offset"),
            ({"offset": [1]}, "argument offset is wrong"),
            ({"lines": "1-2", "query": "x"}, "not lines= and query="),
            ({"lines": "999-"}, "lines 1 to 401"),
            ({"lines": {"from": 1}}, "lines"),
            ({"pattern": "("}, "pattern"),
            ({"pattern": "x" * 20_000}, "10000 characters at most"),
            ({"path": "$["}, "path"),
            ({"where": "nonsense"}, "no such column: nonsense"),
            ({"contains": "xyzzy"}, "None of the 401 lines"),
            ({"key": "pixel", "lines": "1"}, "Binary content"),
        ],
    )
    async def test_mistakes(self, address: str, arguments: dict[str, Any], said: str) -> None:
        """A call that is of no use is answered with what would be: no stack trace, no path, 500 tokens at most."""
        async with session_with(address) as client:
            result = await client.call("retrieve_memory", **{"key": "Night.Log", **arguments})

            [content] = result["content"]
            assert said in content["text"]
            assert len(content["text"]) < 2500
            assert "Traceback" not in content["text"]
            assert "sqlite" not in content["text"]

    async def test_arguments_are_missing(self, address: str) -> None:
        """A call without what is needed says what is missing."""
        async with session_with(address) as client:
            assert "argument key is missing" in await client.mistake("retrieve_memory")
            assert "argument content is wrong" in await client.mistake("store_memory", content=7)
            assert "argument limit is wrong" in await client.mistake(
                "search_memory", query="x", limit="many"
            )
            assert "argument since is wrong: it must be a day" in await client.mistake(
                "search_memory", query="x", since="yesterday"
            )

    async def test_an_unknown_tool(self, address: str) -> None:
        """A tool that there is not is refused, with those that there are."""
        async with session_with(address) as client:
            with pytest.raises(
                RefusedError,
                match="'forget_all'; there are retrieve_memory, search_memory, query_memory, store_memory",
            ):
                await client.call("forget_all")

    async def test_secrets(self, address: str) -> None:
        """A secret is found by its description and never shown by a search, only by its key."""
        async with session_with(address) as client:
            found = await client.text("search_memory", query="password of the database")
            assert "password" in found
            assert "hunter2" not in found
            assert "Nothing in memory" in await client.text("search_memory", query="hunter2")
            assert "hunter2" in await client.text("retrieve_memory", key="password")

    @pytest.mark.long
    async def test_twenty_at_once(self, transport: str, sqlite_url: str) -> None:
        """Twenty calls at the same time are all answered, each with its own answer."""
        async with connected(transport, sqlite_url) as client:
            stored = await asyncio.gather(
                *(client.call("store_memory", content=f"note {n}") for n in range(20))
            )
            keys = [result["structuredContent"]["keys"][0] for result in stored]
            answers = await asyncio.gather(
                *(client.text("retrieve_memory", key=key) for key in keys)
            )

        assert 20 == len(set(keys))
        assert all(f"\nnote {n}\n" in answer for n, answer in enumerate(answers))

    @pytest.mark.long
    async def test_a_large_argument(self, sqlite_url: str) -> None:
        """A text of a megabyte is kept."""
        text = "0123456789abcde\n" * 66_000
        async with connected("stdio", sqlite_url) as client:
            stored = await client.call("store_memory", content=text, description="large")
            assert "66000: " in await client.text(
                "retrieve_memory",
                key=stored["structuredContent"]["keys"][0],
                contains="abcde",
                offset=65_990,
            )

    @pytest.mark.long
    async def test_texts_that_json_cannot_carry(self, sqlite_url: str) -> None:
        """NUL goes through; a lone surrogate becomes a replacement character, and the server goes on."""
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            memory.store("before \x00 \ud800 after", key="odd")
        async with connected("stdio", sqlite_url) as client:
            assert "before \x00 \N{REPLACEMENT CHARACTER} after" in await client.text(
                "retrieve_memory", key="odd"
            )
            assert (
                "before \x00 \N{REPLACEMENT CHARACTER} after"
                == (await client.read("memory://odd"))["text"]
            )

    @pytest.mark.long
    async def test_a_store_that_fails(self, sqlite_url: str, tmp_path: Path) -> None:
        """If the database fails under the server, the model is told so, without the database's address."""

        def ruin() -> None:
            for file in tmp_path.glob("memory.db*"):
                file.write_bytes(b"no database" * 1000)

        async with connected("stdio", sqlite_url) as client:
            await client.text("store_memory", content="x")
            ruin()
            for said in (
                await client.mistake("search_memory", query="x"),
                await client.mistake("store_memory", content="y"),
                (await client.refusal("memory://x"))[1],
            ):
                assert "memory.db" not in said
                assert "Memory cannot be reached" in said


class TestResources:
    """Memories as resources."""

    def test_a_secret_has_no_size(self, url: str) -> None:
        """How long a secret is would be a help to whoever guesses it."""
        with MemoryManager(url, user_id="ann") as memory:
            [password] = [
                one
                for one in Resources(memory).listed({})["resources"]
                if one["name"] == "password"
            ]
        assert "size" not in password

    @pytest.mark.long
    async def test_list(self, address: str) -> None:
        """Memories are listed newest first, with what describes them; secrets by their names, others' not at all."""
        async with session_with(address) as client:
            page = await client.page()

            listed = {resource["name"]: resource for resource in page["resources"]}
            assert ["password", "orders", "pixel", "Night.Log"] == [*listed][-4:]
            log = listed["Night.Log"]
            assert ("memory://Night.Log", "the night's log", "text/plain") == (
                log["uri"],
                log["description"],
                log["mimeType"],
            )
            assert (len(LOG), 0.5) == (log["size"], log["annotations"]["priority"])
            assert "image/png" == listed["pixel"]["mimeType"]
            assert "password of the database" == listed["password"]["description"]
            assert "size" not in listed["password"]
            assert "nextCursor" not in page

    def test_in_this_process(self, url: str) -> None:
        """The template and the contents, without a server around them: text as it is, bytes in base64."""
        with MemoryManager(url, user_id="ann") as memory:
            resources = Resources(memory)
            [log], [pixel] = (
                resources.read({"uri": SCHEME + key})["contents"] for key in ("Night.Log", "pixel")
            )
            [template] = resources.templates({})["resourceTemplates"]
        assert (LOG, "text/plain") == (log["text"], log["mimeType"])
        assert (PIXEL, "image/png") == (base64.b64decode(pixel["blob"]), pixel["mimeType"])
        assert "memory://{key}" == template["uriTemplate"]

    @pytest.mark.long
    async def test_template(self, address: str) -> None:
        """A template says how a memory is named."""
        async with session_with(address) as client:
            [template] = (await client.templates())["resourceTemplates"]
            assert "memory://{key}" == template["uriTemplate"]

    @pytest.mark.long
    async def test_read(self, address: str) -> None:
        """A text comes whole, binary content as base64, each with its media type."""
        async with session_with(address) as client:
            log, pixel = (
                await client.read("memory://Night.Log"),
                await client.read("memory://pixel"),
            )

            assert (LOG, "text/plain", "memory://Night.Log") == (
                log["text"],
                log["mimeType"],
                log["uri"],
            )
            assert (PIXEL, "image/png") == (base64.b64decode(pixel["blob"]), pixel["mimeType"])
            assert "application/json" == (await client.read("memory://orders"))["mimeType"]

    @for_each(
        "uri, said",
        [
            ("memory://password", "is a secret"),
            ("memory://nothing", "search_memory"),
            ("memory://of.bob", "no memory with the key 'of.bob'"),
            ("memory://gone", "was deleted on"),
            ("memory://..%2F..%2Fetc%2Fpasswd", "A-Z a-z 0-9 _ . -"),
            ("memory:///etc/passwd", "A-Z a-z 0-9 _ . -"),
            ("file:///etc/passwd", "memory://KEY"),
            ("https://example.org/Night.Log", "memory://KEY"),
        ],
    )
    @pytest.mark.long
    async def test_refusals(self, address: str, uri: str, said: str) -> None:
        """What cannot be read is refused, with what would be right."""
        async with session_with(address) as client:
            code, message = await client.refusal(uri)

            assert INVALID_PARAMS == code
            assert said in message
            assert "hunter2" not in message

    @pytest.mark.long
    async def test_pages(self, sqlite_url: str) -> None:
        """Many memories come in pages, each memory once, also when others are stored meanwhile."""
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            for number in range(120):
                memory.store(f"note {number}", key=f"note.{number}")
            async with connected("http", sqlite_url) as client:
                pages = [await client.page()]
                memory.store("a late one", key="late")
                while cursor := pages[-1].get("nextCursor"):
                    pages.append(await client.page(cursor))
                with pytest.raises(RefusedError, match="nextCursor"):
                    await client.page("next")

        assert [50, 50, 20] == [len(page["resources"]) for page in pages]
        names = [resource["name"] for page in pages for resource in page["resources"]]
        assert [f"note.{number}" for number in reversed(range(120))] == names

    @pytest.mark.long
    async def test_names(self, sqlite_url: str) -> None:
        """Every key is a name that comes back: long, in capitals, of dots alone; controls in descriptions do not."""
        keys = [
            "K" * 255,
            "..",
            ".",
            "-",
            "_",
            "0x7F",
            "127.0.0.1",
            "Xn--a",
            "%41".replace("%", ""),
        ]
        with MemoryManager(sqlite_url, user_id="ann") as memory:
            for key in keys:
                memory.store(f"of {key}", "a\u202eb\x1b[31m\u200bc\nd", key=key)
        async with connected("http", sqlite_url) as client:
            listed = (await client.page())["resources"]
            assert {*keys} == {resource["name"] for resource in listed}
            for resource in listed:
                assert f"of {resource['name']}" == (await client.read(resource["uri"]))["text"]
                assert resource["description"].isprintable()


def _titled(properties: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """`properties` with the titles that AutoGen adds."""
    return {
        name: {**schema, **({"title": like[name]["title"]} if "title" in like[name] else {})}
        for name, schema in properties.items()
    }


MOMENTS = st.lists(
    st.integers(0, 3).map(lambda n: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=n))
)


@given(moments=MOMENTS)
@examples(30)
def test_pages_law(moments: list[datetime]) -> None:
    """Page by page, each memory is listed once, newest first, however many were stored at the same moment."""
    with MemoryManager("sqlite://", user_id="ann") as memory:
        for number, moment in enumerate(moments):
            item = MemoryItem(
                user_id="ann", memory_key=f"k{number}", content="x", created_at=moment
            )
            memory.memory_store.put(memory.scope, item)
        everything = [item.memory_key for item in memory.memory_store.query(memory.scope)]
        resources, names, params = Resources(memory, page=3), list[str](), dict[str, Any]()
        while True:
            page = resources.listed(params)
            names += [resource["name"] for resource in page["resources"]]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}

    assert everything == names


def test_large_memories_make_small_pages() -> None:
    """A page ends early where memories are large, so that a list never takes them all into the process at once."""
    with MemoryManager("sqlite://", user_id="ann") as memory:
        for number in range(6):
            content, key = f"{number}\n" * 100, f"k{number}"
            item = MemoryItem(user_id="ann", memory_key=key, content=content, char_count=4_000_000)
            memory.memory_store.put(memory.scope, item)
        page = Resources(memory).listed({})

    assert 5 == len(page["resources"])
    assert "nextCursor" in page


@given(key=st.from_regex(r"[A-Za-z0-9_.\-]{1,255}", fullmatch=True))
def test_names_law(key: str) -> None:
    """Every key comes back from its URI, as it stands and as pydantic, which mcp 1.x uses, normalises it."""
    assert key == key_of(SCHEME + key)
    assert key == key_of(str(AnyUrl(SCHEME + key)))


@given(text=st.text(st.characters(codec=None)))
def test_text_on_the_wire_law(text: str) -> None:
    """Whatever goes out can be UTF-8, and is the same text wherever that could be UTF-8 before."""
    sent = encodable(text)
    sent.encode()
    assert sent == text or "\N{REPLACEMENT CHARACTER}" in sent
    assert len(sent) == len(text)


@pytest.mark.soak
async def test_fifty_megabytes(sqlite_url: str) -> None:
    """A memory of fifty megabytes is read in pages and by parts, and over HTTP as one resource."""
    text = "".join(
        f"line {number} of a very long log of the job {number * 7919}\n"
        for number in range(1_200_000)
    )
    with MemoryManager(sqlite_url, user_id="ann") as memory:
        memory.store(text, key="big")
    async with connected("stdio", sqlite_url) as client:
        assert "line 0 of" in await client.text("retrieve_memory", key="big")
        assert text[40_000_000:40_000_500] in await client.text(
            "retrieve_memory", key="big", offset=40_000_000
        )
        assert "line 1199999 of" in await client.text("retrieve_memory", key="big", lines="-1")
        assert "600001: line 600000 of" in await client.text(
            "retrieve_memory", key="big", contains="line 600000 "
        )
    async with connected("http", sqlite_url) as client:
        assert text == (await client.read("memory://big"))["text"]
