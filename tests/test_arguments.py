"""References as argument values: which texts take their place, and when a tool is not called."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from memory_context import MemoryManager, exceptions
from memory_context.conversation.references.pass_by_reference import (
    NotPassedError,
    PassingPolicy,
    items_of,
    passed_keys,
    with_texts,
)
from memory_context.testing import Fault, FaultyStore

ANY: dict[str, Any] = {}
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(["see [MemoryRef: a]", "[x]", "[MemoryRef"]),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
)


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    """Memories in memory."""
    with MemoryManager("sqlite://", user_id="ann") as manager:
        yield manager


def passed(
    manager: MemoryManager,
    *keys: str,
    tool: str = "upload",
    shown: Collection[str] = (),
    policy: PassingPolicy | None = None,
) -> dict[str, str]:
    """The text that the tool gets for each key."""
    items = items_of(keys, tool, policy or PassingPolicy(), manager, shown, texts_only=True)
    return {key: item.text for key, item in items.items()}


def reason(
    manager: MemoryManager,
    *keys: str,
    shown: tuple[str, ...] = (),
    policy: PassingPolicy | None = None,
) -> str:
    """Why a tool named upload is not called with these keys."""
    with pytest.raises(NotPassedError) as refused:
        passed(manager, *keys, shown=shown, policy=policy)
    return str(refused.value)


class TestValues:
    """What counts as a reference, and what takes its place."""

    @given(arguments=json_values)
    def test_nothing_else_changes(self, arguments: object) -> None:
        """Arguments without references stay equal, and stay JSON."""
        assert [] == passed_keys(arguments)
        assert arguments == with_texts(arguments, {}, ANY)

    @given(arguments=json_values, text=st.text())
    def test_whole_values_at_any_depth(self, arguments: object, text: str) -> None:
        """A reference is replaced wherever it is a whole value, with or without description and space around it."""
        written = {
            "a": [arguments, " [MemoryRef: k - some log - 12 tokens]\n"],
            "b": {"[MemoryRef: k]": "[MemoryRef: k]"},
        }
        passed = with_texts(written, {"k": text}, ANY)

        assert ["k", "k"] == passed_keys(written)
        assert {"a": [arguments, text], "b": {"[MemoryRef: k]": text}} == passed
        assert passed == json.loads(json.dumps(passed))

    def test_prose(self) -> None:
        """Inside a longer text a reference is prose."""
        prose = [
            "see [MemoryRef: k]",
            "[MemoryRef: k]\nand its preview",
            "[MemoryRef: k] [MemoryRef: l]",
            "k",
        ]

        assert [] == passed_keys(prose)

    @for_each("text", ["[MemoryRef: no key!]", "[MemoryRef: k - a log]", "[MemoryRef:]"])
    def test_misspelt(self, text: str) -> None:
        """What looks like a reference and is none is not passed on as text; the model reads how to write one."""
        with pytest.raises(NotPassedError, match="Write \\[MemoryRef: key\\]"):
            passed_keys({"text": text})

    def test_stored_text_is_data(self) -> None:
        """A reference in a stored text is not followed."""
        assert ["[MemoryRef: l]"] == with_texts(
            ["[MemoryRef: k]"], {"k": "[MemoryRef: l]", "l": "secret"}, ANY
        )


class TestSchema:
    """Where the tool does not take a text, the text's JSON takes the place."""

    @for_each(
        "schema, text, expected",
        [
            ({"type": "string"}, "[1]", "[1]"),
            ({"type": ["string", "null"]}, "[1]", "[1]"),
            ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "[1]", "[1]"),
            ({"anyOf": [{"$ref": "#/$defs/Thing"}, {"type": "null"}]}, "[1]", "[1]"),
            ({"type": "array"}, "[1]", [1]),
            ({"anyOf": [{"type": "array"}, {"type": "null"}]}, " [1]\n", [1]),
            ({"type": "integer"}, "42\n", 42),
            ({"type": "object"}, "{'a': None, 'b': (1, True)}", {"a": None, "b": [1, True]}),
            ({"type": "array"}, '{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),
            ({"type": "array"}, '{\n "a": 1\n}\n{\n "a": 2\n}\n', [{"a": 1}, {"a": 2}]),
        ],
    )
    def test_wanted(self, schema: dict[str, Any], text: str, expected: object) -> None:
        """A text where texts are legal, its value elsewhere: JSON, a repr of Python's, or objects in sequence."""
        assert {"x": expected} == with_texts(
            {"x": "[MemoryRef: k]"}, {"k": text}, {"properties": {"x": schema}}
        )

    @for_each(
        "text",
        [
            "",
            "a log",
            "[NaN]",
            '{"a": NaN}\n{}',
            '{"a": 1}\n{"b"',
            "{b'a': 1}",
            "{'a': b'b'}",
            "[" * 9999,
        ],
    )
    def test_no_json(self, text: str) -> None:
        """A text that is no JSON does not reach a tool that wants a list or an object."""
        with pytest.raises(NotPassedError, match="the text of 'k' is not JSON"):
            with_texts(
                {"x": "[MemoryRef: k]"}, {"k": text}, {"properties": {"x": {"type": "object"}}}
            )

    def test_inside(self) -> None:
        """Items, additional properties and alternatives are followed; a schema of any other form says nothing."""
        schema = {
            "properties": {
                "rows": {
                    "anyOf": [{"type": "array", "items": {"type": "object"}}, {"type": "null"}]
                },
                "odd": {"type": "object", "properties": []},
            },
            "additionalProperties": {"type": "integer"},
        }
        written = {
            "rows": ["[MemoryRef: k]"],
            "odd": {"x": "[MemoryRef: l]"},
            "more": "[MemoryRef: l]",
        }

        assert {"rows": [{}], "odd": {"x": "7"}, "more": 7} == with_texts(
            written, {"k": "{}", "l": "7"}, schema
        )


class TestTexts:
    """Which texts a tool may get."""

    def test_shown(self, manager: MemoryManager) -> None:
        """Only keys that the conversation has shown are redeemed; near ones are named."""
        key = manager.store("a text", source="npm install")

        assert {key: "a text"} == passed(manager, key, key, shown={key})
        assert f"Similar keys: {key}." in reason(manager, key[:-1] + "x", shown=(key,))
        assert "Similar" not in reason(manager, key)
        assert f"read the text with retrieve_memory({key!r})" in reason(manager, key)

    def test_shown_but_nowhere(self, manager: MemoryManager) -> None:
        """Of a key that the conversation has shown, and the store does not know, it is said that no memory has it."""
        assert "There is no memory with the key 'made_up' in this store. Call" in reason(
            manager, "made_up", shown=("made_up",)
        )
        assert "Similar" not in reason(manager, "made_up", shown=("made_up",))

    def test_deleted(self, manager: MemoryManager) -> None:
        """A deleted text says when and why."""
        key = manager.store("a text")
        manager.forget(key, reason="asked to")

        assert "(asked to)" in reason(manager, key, shown=(key,))

    def test_secret(self, manager: MemoryManager) -> None:
        """A secret goes to the tools on the list only."""
        key = manager.store("hunter2", type="secret")
        policy = PassingPolicy(secrets_for=["login"], max_argument_bytes=100)

        assert "is a secret, which upload may not get" in reason(
            manager, key, shown=(key,), policy=policy
        )
        assert {key: "hunter2"} == passed(manager, key, tool="login", shown={key}, policy=policy)

    def test_binary(self, manager: MemoryManager) -> None:
        """Binary content is not passed as text."""
        key = manager.store(b"\0\1")

        assert "binary content (application/octet-stream)" in reason(manager, key, shown=(key,))

    def test_size(self, manager: MemoryManager) -> None:
        """All texts of a call together stay below the tool's limit, a text that stands twice counted twice."""
        key = manager.store("ä" * 50)
        policy = PassingPolicy(max_argument_bytes={"upload": 199, "save": 200})

        assert "have 200 bytes together; upload gets 199 at most" in reason(
            manager, key, key, shown=(key,), policy=policy
        )
        assert [key] == list(passed(manager, key, key, tool="save", shown={key}, policy=policy))
        assert 10_000_000 == policy.limit_for("other")

    def test_store_fails(self) -> None:
        """While the store fails, the tool is not called."""
        with FaultyStore("sqlite://", repeat(Fault.LOST)) as store:
            assert "Memory cannot be reached" in reason(
                MemoryManager(store, user_id="ann"), "k", shown=("k",)
            )


class TestSettings:
    """What a caller may set."""

    def test_tools(self) -> None:
        """Every tool, none, or some."""
        settings = (True, False, PassingPolicy(tools=["upload"]), PassingPolicy(tools=[]))
        policies = [PassingPolicy.of(setting) for setting in settings]

        assert [True, False, True, False] == [policy.passes_to("upload") for policy in policies]
        assert [True, False, False, False] == [policy.passes_to("save") for policy in policies]

    @for_each(
        "settings",
        [
            {"tools": "upload"},
            {"secrets_for": None},
            {"secrets_for": "upload"},
            {"secrets_for": [1]},
            {"max_argument_bytes": -1},
            {"max_argument_bytes": {"a": "b"}},
        ],
    )
    def test_mistakes(self, settings: dict[str, Any]) -> None:
        """A text in place of a list, and a limit that is none, are refused."""
        with pytest.raises(exceptions.InvalidArgumentError, match=next(iter(settings))):
            PassingPolicy(**settings)

    @pytest.mark.parametrize("setting", ["upload", None, ["upload"]])
    def test_neither_a_bool_nor_a_policy(self, setting: Any) -> None:
        """Another setting than yes, no and a policy is refused."""
        with pytest.raises(exceptions.InvalidArgumentError, match="PassingPolicy"):
            PassingPolicy.of(setting)
