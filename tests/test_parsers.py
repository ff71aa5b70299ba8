"""Whatever is written where something is parsed: the value, or one of the errors that are promised; nothing else.

Parsers with a property test elsewhere: references and descriptions (`test_refs`), scopes (`test_scopes`), pages and
lines (`test_pages`), every selector of a text (`test_parts`), queries (`test_analyzer`), kinds of text
(`test_describe`), records and deletions as JSON (`test_transfer`), recorded runs (`test_replay_files`), arguments that
hold references (`test_arguments`), paths of files (`test_filenames`), addresses and resources of the MCP server
(`test_mcp`, `test_mcp_process`), a folder's files as they are written (`test_file_store`), judges (`test_judge`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from examples import examples
from memory_context import FoldPolicy, MemoryContext, MemoryManager
from memory_context.autogen.saved_state_format import parse_state
from memory_context.cli.filter_options import moment
from memory_context.conversation.recall.model_judge import parse_answer
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidCategoryError,
    InvalidRecordError,
    JudgeError,
    MemoryContextError,
    StateError,
    StoreError,
)
from memory_context.mcp.memory_tools_over_mcp import Tools
from memory_context.mcp.resources import Resources, key_of
from memory_context.mcp.wire_types_and_errors import RequestError
from memory_context.memory.copy_export_import import import_memories
from memory_context.memory.scoped_memory import ScopedMemory
from memory_context.model.category import check_category
from memory_context.model.item import Deletion, MemoryItem
from memory_context.model.json_records_of_exports import deletion_from, item_from
from memory_context.model.scope import Scope
from memory_context.stores import FileStore
from memory_context.stores.codec import Codec
from memory_context.stores.files.memory_file_format_and_defaults import parse
from memory_context.stores.sql.urls import shown_url, store_url
from memory_context.tools.ask_memory import AskArgs
from memory_context.tools.note_tools import (
    NOTE_VERBS,
    ClearArgs,
    DeleteArgs,
    GetArgs,
    ListArgs,
    SaveArgs,
)
from memory_context.tools.query_memory import QueryArgs
from memory_context.tools.retrieve_search_store import RetrieveArgs, SearchArgs, StoreArgs
from memory_context.tools.tool_calls_and_answers import Verb
from memory_context.tools.tools_of_an_agent import memory_verbs
from messages import LOG, call, results, user

pytestmark = pytest.mark.long

numbers = st.integers() | st.floats() | st.sampled_from([10**400, -1, 2**63, 2**64])
odd = st.sampled_from(
    [
        "",
        "\0",
        "\ud800",
        "[MemoryRef: k]",
        "0",
        "1e999",
        "$.a",
        "a/b",
        "/",
        "..",
        "user",
        "2026-01-01",
    ]
)
words = st.text(max_size=30) | odd
values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=10,
)


def _as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


FEW = examples(60, *HealthCheck)


def named(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these fields, of whatever kind."""
    return st.dictionaries(st.sampled_from(names) | words, values, max_size=len(names))


@pytest.fixture(scope="module")
def manager() -> Iterator[MemoryManager]:
    """A few memories."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        manager.store([{"a": 1}], key="k", tags=["x"])
        manager.store(LOG, key="log")
        yield manager


ARGUMENTS: dict[type[BaseModel], tuple[str, ...]] = {
    RetrieveArgs: (
        "key",
        "lines",
        "contains",
        "pattern",
        "context",
        "path",
        "where",
        "columns",
        "query",
        "offset",
    ),
    SearchArgs: ("query", "category", "tags", "tier", "since", "until", "limit", "compartment"),
    StoreArgs: ("content", "description", "type"),
    QueryArgs: ("sql", "save_as"),
    AskArgs: ("key", "question"),
    SaveArgs: ("content", "tier", "category", "tags", "metadata", "priority"),
    GetArgs: ("key", "category", "tags", "tier", "offset"),
    ClearArgs: ("tier", "category", "tags"),
    ListArgs: ("tier",),
    DeleteArgs: ("key",),
}


def test_a_key_that_is_none_is_refused() -> None:
    """A key that is neither text nor a list is refused as pydantic refuses it."""
    with pytest.raises(ValidationError):
        AskArgs.model_validate({"key": False, "question": "Why?"})


@FEW
@given(st.data())
def test_arguments_of_tools(data: st.DataObject) -> None:
    """Arguments as models write them are understood, or refused as pydantic refuses them."""
    kind = data.draw(st.sampled_from(list(ARGUMENTS)))
    given_ = data.draw(named(*ARGUMENTS[kind]) | values)
    try:
        args = kind.model_validate(given_)
    except ValidationError:
        return
    assert isinstance(args, kind)


@FEW
@given(st.data())
def test_tools(manager: MemoryManager, data: st.DataObject) -> None:
    """A tool over MCP answers any arguments with a text that can be sent; a resource or a page too, or is refused."""
    notes = ScopedMemory(manager, session_id="s")
    tools = Tools(
        {**dict.fromkeys(memory_verbs(queries=True), manager), **dict.fromkeys(NOTE_VERBS, notes)},
        300,
    )
    verb: Verb[Any] = data.draw(st.sampled_from([*memory_verbs(queries=True), *NOTE_VERBS]))
    arguments = data.draw(named(*ARGUMENTS[verb.args])) | data.draw(
        st.sampled_from([{}, {"key": "k"}, {"key": "log"}])
    )
    answer = tools.called({"name": verb.name, "arguments": arguments})
    assert json.dumps(answer, ensure_ascii=False).encode()
    resources = Resources(manager)
    for ask in (resources.read, resources.listed):
        try:
            ask(
                {
                    "uri": data.draw(words | words.map("memory://{}".format)),
                    "cursor": data.draw(words),
                }
            )
        except RequestError as error:
            assert error.message.encode()
    with suppress(RequestError):
        key_of(data.draw(words))


FACTS = (
    *(
        "version",
        "user_id",
        "thread_id",
        "shown",
        "references",
        "named",
        "placeholders",
        "reading",
        "held",
        "run_id",
    ),
    *("noted", "judge_calls", "judge_tokens"),
)


@FEW
@given(
    values
    | values.map(lambda value: f"Sure: {json.dumps(value)} and so on")
    | named("intent", "expand", "search").map(
        lambda value: "```json\n" + json.dumps(value) + "\n```"
    )
    | st.sampled_from(
        ["{" * 5_000, '{"expand": ' * 3_000, "[" * 50_000, '{"expand": [' + '{"key": "k"},' * 5_000]
    )
)
def test_answers_of_judges(content: Any) -> None:
    """What a model answers is a verdict, or no answer."""
    with suppress(JudgeError):
        assert parse_answer(content) is not None


@FEW
@given(
    values | st.fixed_dictionaries({"messages": values, "memory_context": named(*FACTS) | values})
)
def test_states(state: Any) -> None:
    """A state is read, or refused as a state."""
    with suppress(StateError):
        assert parse_state(state) is not None


@FEW
@given(changes=named(*FACTS), places=st.lists(st.integers(-3, 9), max_size=3))
async def test_changed_states(changes: dict[str, Any], places: list[int]) -> None:
    """A state with facts that somebody changed is refused, or the conversation goes on with it."""
    context = MemoryContext(
        "ann", store="sqlite://", fold=FoldPolicy(fold="after_reading", read_cap=600)
    )
    for message in (user("go"), call("run"), results(LOG), user("worker-12?")):
        await context.add_message(message)
    await context.get_messages()
    state = json.loads(json.dumps(await context.save_state()))
    reading = {"reading": [[place, place, place] for place in places]} if places else {}
    state["memory_context"] |= changes | reading
    other = MemoryContext(
        "ann", store="sqlite://", fold=FoldPolicy(fold="after_reading", read_cap=600)
    )
    try:
        await other.load_state(state)
    except StateError:
        return
    await other.add_message(user("go on with worker-13"))
    assert len(await other.get_messages()) > len(state["messages"])
    assert await other.save_state()
    await context.aclose()
    await other.aclose()


@FEW
@given(filters=st.dictionaries(
    st.sampled_from(["user_id", "tags", "importance", "created_at", "id", "is_active", "category", "content"]) | words,
    values | st.dictionaries(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$under"]) | words, values),
    max_size=3,
), order=st.sampled_from(["created_at", "-importance", "tags"]) | words)  # fmt: skip
def test_filters(manager: MemoryManager, filters: dict[str, Any], order: str) -> None:
    """Filters and orders are understood, or are invalid; a number that no column holds is an error of the store's."""
    for ask in (
        lambda: manager.memory_store.query(manager.scope, filters, order_by=order),
        lambda: manager.search("launch", filters=filters),
        lambda: manager.memory_store.count(manager.scope, filters),
    ):
        with suppress(InvalidArgumentError, StoreError):
            assert ask() is not None


@FEW
@given(words | st.text(max_size=600))
def test_categories(text: str) -> None:
    """A category is one, and stays it, or is refused."""
    with suppress(InvalidCategoryError):
        assert check_category(text) == check_category(check_category(text))


@FEW
@given(
    st.text(max_size=60)
    | st.tuples(
        st.sampled_from(
            ["sqlite:", "sqlite+pysqlite:", "postgresql:", "postgresql+psycopg:", "mysql:", "file:"]
        ),
        st.text("/:@?&=%[]a1.~#", max_size=30),
    ).map("".join)
)
def test_urls_of_stores(text: str) -> None:
    """A URL leads to a database, or is refused with what would be right; its password is never shown."""
    try:
        url = store_url(text)
    except InvalidArgumentError:
        return
    assert url.get_backend_name() in {"sqlite", "postgresql"}
    assert not url.password or url.password == "***" or f":{url.password}@" not in shown_url(url)


@FEW
@given(
    words
    | st.tuples(st.integers(0, 10**30), st.sampled_from(["m", "h", "d", "w", "y", ""])).map(
        lambda p: f"{p[0]}{p[1]}"
    )
)
def test_times_on_the_command_line(text: str) -> None:
    """A time or an age is a moment, or is refused."""
    with suppress(InvalidArgumentError):
        assert moment(text).tzinfo is not None


RECORD = (
    *(
        "id",
        "user_id",
        "memory_key",
        "content",
        "content_bytes",
        "media_type",
        "tags",
        "importance",
        "created_at",
    ),
    *(
        "content_metadata",
        "token_count",
        "is_active",
        "category",
        "expires_at",
        "identity",
        "content_hash",
    ),
)


@FEW
@given(record=named(*RECORD) | values, raw=st.binary(max_size=200))
def test_files_of_a_folder(record: Any, raw: bytes) -> None:
    """A file that a person, or nobody, wrote is a memory, or is damaged and says why."""
    complete = {"user_id": "ann", "memory_key": "k", "content": "c"} | (
        record if isinstance(record, dict) else {}
    )
    for data in (raw, _as_json(record), _as_json(complete), b"[" * 50_000):
        try:
            item = parse("a/b.json", data, 3, Codec())
        except InvalidRecordError as error:
            assert str(error)
        else:
            assert isinstance(item, MemoryItem)
    for read in (item_from, deletion_from):
        with suppress(InvalidRecordError):
            assert isinstance(read(record), MemoryItem | Deletion)


@examples(30, *HealthCheck)
@given(lines=st.lists(values.map(_as_json) | st.binary(max_size=60), max_size=5), data=st.data())
def test_imports(tmp_path: Path, lines: list[bytes], data: st.DataObject) -> None:
    """A file that is no export, or a damaged one, is refused, or its lines are named as damaged; nothing is written."""
    header = [
        _as_json(
            {
                "memory_context": data.draw(st.just(1) | values),
                "memories": data.draw(values),
                "deletions": 0,
            }
        )
    ]
    path = tmp_path / "import.jsonl"
    path.write_bytes(b"\n".join(data.draw(st.sampled_from([header, []])) + lines))
    with MemoryManager("sqlite://", user_id="ann") as manager:
        try:
            result = import_memories(manager.memory_store, path, user_id="ann")
        except (InvalidRecordError, StoreError):
            return
        assert 0 == result.written == manager.memory_store.count(manager.scope)


@examples(15, *HealthCheck)
@given(
    log=st.lists(values.map(_as_json) | st.binary(max_size=60), max_size=5), record=named(*RECORD)
)
def test_a_folder_that_others_wrote_into(
    tmp_path_factory: pytest.TempPathFactory, log: list[bytes], record: dict[str, Any]
) -> None:
    """What stands in a folder's own logs, or in a file beside them, keeps nobody from working on the rest."""
    place = tmp_path_factory.mktemp("folder")
    with FileStore(place) as store:
        MemoryManager(store, user_id="ann").store("kept", key="kept")
        MemoryManager(store, user_id="ann").forget(
            MemoryManager(store, user_id="ann").store("gone")
        )
    known = ({"user_id": "ann", "memory_key": "k"} | record, {"id": "x", "reads": 1} | record)
    for name in ("deleted.jsonl", "reads.jsonl"):
        with (place / ".memory-context" / name).open("ab") as file:
            file.write(b"\n".join([*log, *map(_as_json, known), b""]))
    (place / "other.json").write_bytes(_as_json(record))
    with FileStore(place) as store:
        mine = MemoryManager(store, user_id="ann")
        assert "kept" == mine.retrieve("kept")
        assert mine.search("kept")
        assert mine.store("more")


@FEW
@given(values)
def test_scopes(value: Any) -> None:
    """A user is a text or a number, or is refused; so is whatever else narrows a scope."""
    for names in (
        {"user_id": value},
        {"user_id": "ann", "thread_id": value},
        {"user_id": "ann", "tier": value},
    ):
        with suppress(InvalidArgumentError):
            assert isinstance(Scope(**names), Scope)


@FEW
@given(st.text(max_size=300), st.sampled_from(["keyword", "hybrid"]))
def test_queries(manager: MemoryManager, query: str, mode: Any) -> None:
    """Any text is a query."""
    assert isinstance(manager.search(query, mode=mode), list)


@FEW
@given(values)
def test_content(manager: MemoryManager, value: Any) -> None:
    """What is stored is kept as it was, or refused."""
    try:
        key = manager.store(value, metadata={"a": value}, tags=["x"])
    except MemoryContextError:
        return
    stored = manager.retrieve(key)
    assert stored == value or json.loads(str(stored)) == json.loads(json.dumps(value))
