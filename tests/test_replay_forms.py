"""One conversation in the forms that providers and frameworks have for it: read alike, with the same figures."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import first_quick, for_each
from memory_context.exceptions import InvalidArgumentError
from memory_context.replay import TokenMeter, parse_policy, parse_recording
from replayed import measure

OUTPUT = "\n".join(f"order-{number} went to dock {number % 31}" for number in range(3000))
ARGUMENTS = {"day": "Mönday"}
WRITTEN = json.dumps(ARGUMENTS, ensure_ascii=False)
ANSWER = "order-777 went to dock 2."

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Where did order-777 go?"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "orders", "arguments": WRITTEN}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": OUTPUT},
    {"role": "assistant", "content": ANSWER},
]


def anthropic(result: object, system: object) -> dict[str, Any]:
    """The conversation as a request and its answer in Anthropic's form."""
    call = {"type": "tool_use", "id": "c1", "name": "orders", "input": ARGUMENTS}
    answered = {"type": "tool_result", "tool_use_id": "c1", "content": result}
    return {
        "system": system,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Where did order-777 go?"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]},
            {"role": "user", "content": [answered]},
            {"role": "assistant", "content": ANSWER},
        ],
    }


def response_items(output: object) -> list[dict[str, Any]]:
    """The conversation as items of OpenAI's Responses, a thought without words among them."""
    return [
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": [{"type": "input_text", "text": "Where did order-777 go?"}]},
        {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "gAAA"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c1", "name": "orders", "arguments": WRITTEN},
        {"type": "function_call_output", "call_id": "c1", "output": output},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": ANSWER}],
        },
    ]


FORMS = {
    "chat": CHAT,
    "anthropic": anthropic(OUTPUT, "Be short."),
    "anthropic blocks": anthropic(
        [{"type": "text", "text": OUTPUT}], [{"type": "text", "text": "Be short."}]
    ),
    "responses": response_items(OUTPUT),
    "responses parts": response_items([{"type": "input_text", "text": OUTPUT}]),
}


@pytest.mark.parametrize("form", first_quick(FORMS))
async def test_every_form_is_the_same_conversation(form: str) -> None:
    """A result is read in whole, wherever it stands, so it is folded and its tokens are avoided."""
    expected, read = (parse_recording(json.dumps(FORMS[name])) for name in ("chat", form))
    assert expected.messages == read.messages
    meter = TokenMeter()
    for policy in map(parse_policy, ("unbounded", "memory")):
        assert await measure([expected], policy, meter) == await measure([read], policy, meter)
    plain = await measure([read], parse_policy("unbounded"), meter)
    ours = await measure([read], parse_policy("memory"), meter)
    assert OUTPUT.count("\n") < plain.tokens
    assert ours.tokens < plain.tokens / 10


def test_failed_results_and_words_beside_results_are_kept() -> None:
    """Anthropic's flag of a failed call is kept, and what a person says beside a result comes after it."""
    request = anthropic(OUTPUT, "")
    request["messages"][2]["content"][0]["is_error"] = True
    request["messages"][2]["content"].append({"type": "text", "text": "Hurry."})
    messages = parse_recording(json.dumps(request)).messages
    assert messages[2].is_error
    assert messages[3].text == "Hurry."


def test_what_has_no_text_stands_in_brackets() -> None:
    """An image is not skipped: its kind stands in its place."""
    content = [{"type": "text", "text": "See:"}, {"type": "image", "source": {"data": "iVBO"}}]
    [message] = parse_recording(json.dumps([{"role": "user", "content": content}])).messages
    assert message.text == "See:\n[image]"


@for_each(
    "part, text",
    [
        ({"type": "tool_reference", "tool_name": "WebFetch"}, "WebFetch"),
        (
            {"type": "search_result", "title": "Docks", "content": []},
            '{"title": "Docks", "content": []}',
        ),
        ({"type": "container_upload", "file_id": "f1"}, "[container_upload]"),
    ],
)
def test_anthropics_parts_of_results_are_read(part: dict[str, object], text: str) -> None:
    """Claude Code's search for tools answers with references to tools, and a tool may answer with search results."""
    messages = parse_recording(json.dumps(anthropic([part], ""))).messages
    assert messages[2].text == text


def test_what_a_provider_ran_itself_belongs_to_the_response() -> None:
    """A search of the provider's is no call of a tool of ours; what it encrypted is no text, all else is."""
    found = {"type": "web_search_result", "title": "Docks", "encrypted_content": "gAAA"}
    page = {"type": "document", "source": {"type": "base64", "data": "JVBE"}, "title": "Map"}
    parts: list[dict[str, object]] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "dock 2"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
        {"type": "web_fetch_tool_result", "tool_use_id": "s2", "content": {"content": page}},
        {"type": "mcp_tool_use", "id": "s3", "name": "map", "server_name": "maps", "input": {}},
        {"type": "text", "text": ANSWER},
    ]
    [message] = parse_recording(json.dumps([{"role": "assistant", "content": parts}])).messages
    assert message.calls == ()
    for said in ("web_search", "dock 2", "Docks", "Map", "maps", ANSWER):
        assert said in message.text
    assert "gAAA" not in message.text
    assert "JVBE" not in message.text


@for_each(
    "messages",
    [
        [{"role": "user", "content": [{"type": "hologram", "data": "x"}]}],
        [{"role": "tool", "content": [{"type": "hologram", "text": "x"}]}],
        anthropic([{"type": "hologram"}], ""),
        response_items([{"type": "hologram"}]),
    ],
)
def test_parts_of_unknown_kind_are_refused(messages: object) -> None:
    """A part that nobody can read would save tokens that it never had: the error names it and what is known."""
    with pytest.raises(InvalidArgumentError, match=r'"type": "hologram".*the known kinds are text'):
        parse_recording(json.dumps(messages))


@for_each(
    "message",
    [
        {"role": "user", "body": [{"type": "text", "content": "Hello"}]},
        {"role": "user", "utterances": [{"type": "text", "text": "Hello"}]},
    ],
)
def test_a_message_that_says_nothing_is_refused(message: object) -> None:
    """Forms that keep their texts elsewhere are not read as empty: the error shows what stands there."""
    with pytest.raises(
        InvalidArgumentError, match=r"message 1 has neither content nor calls: .*(body|utterances)"
    ):
        parse_recording(json.dumps([message]))


KINDS = (
    "text refusal thinking tool_result function_result tool_use tool_call function_call custom_tool_call "
    "search_result server_tool_use x_tool_result hologram"
)
PLACES = "text content input arguments output result refusal thinking"


def _part(inner: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    """A part of any kind, with something at any place."""
    ids = {"id": "c1", "call_id": "c1", "tool_use_id": "c1", "name": "run"}
    kinds, places = st.sampled_from(KINDS.split()), st.sampled_from(PLACES.split())
    return st.builds(
        lambda kind, place, told: {"type": kind, place: told, **ids}, kinds, places, inner
    )


WORD = st.integers(0, 10**6).map(lambda number: f"word{number}x")
CONTENT = st.recursive(
    WORD, lambda inner: st.lists(_part(inner), max_size=3) | _part(inner), max_leaves=4
)
ANY_MESSAGE = st.builds(
    lambda role, place, told: {"role": role, place: told},
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.sampled_from(["content", "parts", "contents"]),
    CONTENT,
)


@given(st.lists(ANY_MESSAGE, min_size=1, max_size=2))
def test_no_word_is_skipped(recorded: list[dict[str, object]]) -> None:
    """Whatever parts a message has, in whatever place: each word is in the recording, or the recording is refused."""
    text = json.dumps(recorded)
    try:
        messages = parse_recording(text).messages
    except InvalidArgumentError:
        return
    read = "\n".join(told for message in messages for told in message.billed())
    assert [] == [word for word in re.findall(r"word\d+x", text) if word not in read]


def test_roles_that_are_not_known_are_named() -> None:
    """A run with an unknown role is refused: nobody knows whether a person, a tool or the model said it."""
    said = [{"role": role, "content": "Good morning."} for role in ("assistant", "bot")]
    with pytest.raises(InvalidArgumentError, match=r"the role 'bot' is not .* user, assistant,"):
        parse_recording(json.dumps(said))


def test_a_refusal_is_said() -> None:
    """OpenAI's refusals stand beside an empty content."""
    [message] = parse_recording(
        json.dumps([{"role": "assistant", "content": None, "refusal": "I cannot."}])
    ).messages
    assert "I cannot." == message.text
