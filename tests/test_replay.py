"""The replay: what policies would have cost on recorded runs, on recordings so small that a person can count."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from agent_framework import (
    Content,
    ContextWindowCompactionStrategy,
    included_messages,
)
from agent_framework import Message as FrameworkMessage
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    HeadAndTailChatCompletionContext,
    TokenLimitedChatCompletionContext,
)
from autogen_core.models import LLMMessage
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.runtime import Runtime
from rich.console import Console

from for_each import first_quick, for_each
from langchain_memory_context.messages import neutral_of as langchain_neutral
from langchain_memory_context.testing import ScriptedChatModel
from memory_context.agent_framework.messages import held_by
from memory_context.autogen.messages import neutral_of
from memory_context.conversation.message import Message
from memory_context.exceptions import InvalidArgumentError, InvalidThresholdError
from memory_context.replay import (
    Comparing,
    Figures,
    Price,
    Recording,
    Result,
    TokenMeter,
    default_policies,
    identifiers,
    needed_values,
    parse_policy,
    parse_recording,
    read_recordings,
    squash,
)
from memory_context.replay.compacting_contexts import (
    SUMMARY,
    SUMMARY_PROMPT,
    compacted,
    summarized,
)
from memory_context.replay.identifiers_needed_and_shown import passages, shows
from memory_context.replay.memory_context_policy import RememberingContext
from memory_context.replay.needed_values_of_each_call import NeededValue, needs_by_call
from memory_context.replay.policies_by_name import Policy, Replayed, check_policy
from memory_context.replay.prices import ChargedMessage, charged, tokens_of, tokens_of_prefix
from memory_context.replay.recording_as_messages import to_messages, together
from memory_context.replay.replay_one_policy import StoredTexts, figures_of, sight_of
from memory_context.replay.shortening_contexts import GONE, ShorteningContext, cleared
from memory_context.replay.terminal_report import report
from memory_context.sentences_models_read import ABOUT_REFERENCES
from memory_context.testing import ScriptedChatClient
from memory_context.text.tokens.counter import CallableCounter, TokenCounter
from messages import restored
from replayed import measure

OUTPUT = "the build of job-4711 has failed on host alpha.example"
LONG = "\n".join(f"step {number} of the build went well" for number in range(40)) + f"\n{OUTPUT}"

NOTHING = StoredTexts(lambda _key: None)


def is_visible(value: str, outputs: list[str], prompt: list[str]) -> bool:
    """Whether a squashed prompt shows `value` as the squashed outputs do."""
    word = squash(value)
    return any(shows(word, passages(word, outputs), text) for text in prompt)


def letters() -> TokenMeter:
    """A meter for which each letter is a token."""
    return TokenMeter(CallableCounter(len))


def calls(*ids: str, text: str | None = None, arguments: str = "{}") -> dict[str, Any]:
    """A recorded assistant message with a call of `run` for each of `ids`."""
    function = {"name": "run", "arguments": arguments}
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [{"id": one, "type": "function", "function": function} for one in ids],
    }


def result(call: str, text: str) -> dict[str, Any]:
    """A recorded output."""
    return {"role": "tool", "tool_call_id": call, "content": text}


def said(role: str, text: str) -> dict[str, Any]:
    """A recorded message that is a text."""
    return {"role": role, "content": text}


def recording(*messages: Mapping[str, Any]) -> Recording:
    """A run of these messages."""
    return Recording("run", tuple(to_messages(messages)))


def run_with(output: str, reply: str) -> Recording:
    """A question, a call, its output, and what the model made of it: two model calls."""
    return recording(
        said("user", "Why?"), calls("c1"), result("c1", output), said("assistant", reply)
    )


@for_each(
    "text, expected",
    [
        ("see job-4711, or job-4711.", ["job-4711"]),
        ("open /etc/hosts: now", ["etc/hosts"]),
        ("mail ann@example.org", ["ann@example.org"]),
        ("call readFile on snake_case", ["readFile", "snake_case"]),
        ("Hello THERE, plain words-with-hyphens", []),
        ("a1b2 is too short, a1b2c is not", ["a1b2c"]),
        ("a1b2- and a1b2. are too short without their signs", []),
        ("example.org", ["example.org"]),
        ("sentence. Another", []),
    ],
)
def test_identifiers_have_a_sign_that_plain_words_lack(text: str, expected: list[str]) -> None:
    """Digits, _ / @ #, inner points and capitals after small letters tell an identifier; it stands without its dots."""
    assert expected == identifiers(text)


def test_a_value_is_needed_if_only_outputs_have_told_it() -> None:
    """What a person or the model itself has said before was no output's to tell, nor what nobody has said."""
    reply = "job-4711 on host-12 for user_9 and new_10"
    assert ["job-4711"] == needed_values(
        reply, ["job-4711 user_9", "host-12"], ["host-12?", "{user_9}"]
    )


def test_squashing_makes_formats_alike() -> None:
    """JSON, its repr and plain text of the same words become the same."""
    assert (
        squash('{"name": ["job-4711"]}') == squash("{'name':\n ('job-4711')}") == " name job-4711 "
    )


@for_each(
    "shown, expected",
    [
        (OUTPUT, True),
        ("he build of job-4711", True),
        ("e build of job-4711", False),
        ("job-4711 has failed", False),
        ("job-4711 has failed ", True),
        ("job-4711", False),
        ('"he build\nof":["job-4711"]', True),
        ("the build of job-", False),
    ],
)
def test_a_value_is_visible_with_twelve_neighbours(shown: str, *, expected: bool) -> None:
    """A bare name is no help; twelve characters of what stood on one side are, however they are quoted."""
    assert expected == is_visible("job-4711", [squash(OUTPUT)], [squash(shown)])


def passages_by_definition(value: str, output: str) -> list[str]:
    """The definition, word by word: twelve neighbours of one side, or the whole output."""
    found = list[str]()
    for place in range(len(output)):
        if output.startswith(value, place):
            end = place + len(value)
            before = [output[place - 12 : end]] if place >= 12 else []
            behind = [output[place : end + 12]] if end + 12 <= len(output) else []
            found += before + behind or [output]
    return found


FEW = st.text("ab1", max_size=45)


@given(
    value=st.text("ab1", min_size=5, max_size=6),
    around=st.tuples(FEW, FEW),
    cut=st.integers(0, 20),
    text=FEW,
)
def test_visibility_is_as_defined(value: str, around: tuple[str, str], cut: int, text: str) -> None:
    """However often a value overlaps itself, it is visible if and only if one of its passages is part of the prompt."""
    output = value.join(around)
    for prompt in (
        text,
        output[cut:],
        text + output[: len(output) - cut],
        text + value,
        value + text,
    ):
        expected = any(passage in prompt for passage in passages_by_definition(value, output))
        assert expected == is_visible(value, [output], [prompt])


def test_of_a_short_output_all_must_stand_there() -> None:
    """Where no side has twelve characters, nothing less than the output will do."""
    assert is_visible("job-4711", ["id is job-4711 ok"], ["what id is job-4711 ok so"])
    assert not is_visible("job-4711", ["id is job-4711 ok"], ["the id is job-4711"])


def test_a_prompt_costs_its_texts_and_four_tokens_a_message() -> None:
    """Thoughts, names and arguments of calls and all results count."""
    messages = [*run_with("abc", "de").messages]
    assert ["Why?", "run\n{}", "abc", "de"] == [charged(message).text for message in messages]
    assert 4 + 6 + 3 + 2 + 4 * 4 == tokens_of(map(charged, messages), letters())
    [thinking] = to_messages([calls("c1", text="hm")])
    assert "hm\nrun\n{}" == charged(thinking).text


@for_each(
    "before, prompt, expected",
    [
        ([], ["abc"], 0),
        (["abc"], ["abc", "def"], 7),
        (["abc", "def"], ["abc", "dxf"], 8),
        (["abc", "def"], ["abc", "defg"], 10),
        (["xbc", "def"], ["abc", "def"], 0),
        (["abc", "def"], ["abc"], 7),
    ],
)
def test_the_prefix_goes_by_messages_and_then_by_characters(
    before: list[str], prompt: list[str], expected: int
) -> None:
    """Whole equal messages count with their 4 tokens, of the first other one the characters that are alike."""
    entries = [[ChargedMessage("user", text) for text in texts] for texts in (before, prompt)]
    assert expected == tokens_of_prefix(entries[0], entries[1], letters())


def test_messages_of_other_kinds_share_no_prefix() -> None:
    """The same words from somebody else are another message."""
    assert 0 == tokens_of_prefix(
        [ChargedMessage("user", "abc")],
        [ChargedMessage("assistant", "abc")],
        letters(),
    )


def test_prices() -> None:
    """A cached token costs a tenth; a trip reads the prompt again, brings 2,000 tokens at most, and asks for 150."""
    assert 100 - 90 + 9 == pytest.approx(Price().call(100, 90))
    assert 10 + 500 + 150 == pytest.approx(Price().trip(100, 500))
    assert 10 + 2000 + 150 == pytest.approx(Price().trip(100, 9000))


@for_each(
    "cost, said",
    [
        (4e5, "$1.00"),
        (3.2e5, "$0.80"),
        (3e4, "$0.075"),
        (4e8, "$1,000.00"),
        (8, "less than $0.0001"),
    ],
)
def test_dollars(cost: float, said: str) -> None:
    """Cents, two digits of what is less than ten of them, and no exponent."""
    assert said == Price().in_dollars(cost)


def test_results_stand_in_the_order_of_their_calls_with_their_names() -> None:
    """The results of one message's calls came together; what nobody asked for comes last."""
    recorded = [
        calls("c1", "c2", text="both"),
        result("x", "stray"),
        result("c2", "second"),
        result("c1", "first"),
    ]
    [call], results = together(to_messages(recorded))
    assert "both" == call.text
    assert ["first", "second", "stray"] == [one.text for one in results]
    assert ["run", "run", "tool"] == [one.source for one in results]


def test_an_id_that_is_used_again_stands_for_its_newest_call() -> None:
    """Recorders that number the calls of each message anew are understood."""
    again = {
        "role": "assistant",
        "tool_calls": [{"id": "c2", "function": {"name": "read"}}, calls("c1")["tool_calls"][0]],
    }
    recorded = [
        calls("c1", "c2"),
        result("c1", "a"),
        result("c2", "b"),
        again,
        result("c1", "c"),
        result("c2", "d"),
    ]
    groups = list(together(to_messages(recorded)))
    results = [group for group in groups if group[0].role == "tool"]
    assert [["a", "b"], ["d", "c"]] == [[one.text for one in group] for group in results]
    assert ["read", "run"] == [one.source for one in results[1]]


@pytest.mark.parametrize(
    "odd",
    first_quick(
        [
            {"role": "assistant", "content": None},
            {"role": "assistant", "content": None, "tool_calls": None},
            {"role": "assistant", "function_call": {"name": "run", "arguments": {"a": 1}}},
            {"role": "assistant", "tool_calls": [{}]},
            {"role": "tool"},
            {"role": "function", "name": "run", "content": {"a": 1}},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "x"}},
                ],
            },
            {"role": "user", "content": "\ud800\0"},
            {"role": "user", "content": 7},
            {"role": "user"},
        ]
    ),
)
async def test_recorded_oddities_are_replayed(odd: dict[str, Any]) -> None:
    """Missing contents and ids, old forms of calls and parts stop no policy."""
    odd_run = recording(
        odd, said("system", "late"), odd, said("assistant", "done"), said("assistant", "really")
    )
    for policy in default_policies():
        assert 2 <= (await measure([odd_run], policy, letters())).calls


def test_roles_are_known() -> None:
    """System and developer are instructions."""
    roles = ("system", "developer", "user")
    messages = to_messages([said(role, "x") for role in roles])
    assert ["system", "system", "user"] == [message.role for message in messages]


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_has_a_run_in_each_line(tmp_path: Path, *, zipped: bool) -> None:
    """Plain or gzipped; blank lines and unusual line breaks inside of texts change nothing."""
    line = json.dumps(
        {"id": "r1", "source": "s", "messages": [said("user", "a\u2028b")]}, ensure_ascii=False
    )
    data = f"{line}\n\n{line}\n".encode()
    path = tmp_path / ("runs.jsonl.gz" if zipped else "runs.jsonl")
    path.write_bytes(gzip.compress(data) if zipped else data)
    message = Message("0", "user", "user", {0: "a\u2028b"})
    assert [Recording("r1", (message,))] * 2 == read_recordings(path)


@for_each("line", ["{", "[]", "{}", '{"messages": 1}', '{"messages": ["hello"]}'])
def test_a_line_that_is_no_recording_is_named(tmp_path: Path, line: str) -> None:
    """The error says in which line of which file."""
    with pytest.raises(InvalidArgumentError):
        parse_recording(line)
    path = tmp_path / "runs.jsonl"
    path.write_text('{"messages": []}\n' + line, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=r"runs\.jsonl, line 2: "):
        read_recordings(path)


Call: TypeAlias = tuple[tuple[NeededValue, ...], list[ChargedMessage]]
"""What a call needed, and the prompt that it was shown."""


def call_of(reply: str, shown: str, *outputs: str) -> Call:
    """A call after `outputs`, which was shown one message of 100 tokens that begins with `shown`."""
    results = [result("c1", output) for output in outputs]
    said = to_messages([calls("c1"), *results, {"role": "assistant", "content": reply}])
    prompt = [ChargedMessage("user", shown + "." * (96 - len(shown)))]
    return needs_by_call(said, letters())[-1], prompt


def counted(call: Call, texts: StoredTexts) -> Figures:
    """The figures of a call with these texts behind its references."""
    needs, prompt = call
    sight = sight_of(needs, prompt, texts, letters())
    return figures_of(prompt, (), sight, letters(), Price())


def test_a_value_in_sight_costs_nothing_more() -> None:
    """The cost of a call without a trip is that of its prompt."""
    figures = counted(call_of("It was job-4711.", OUTPUT, OUTPUT), NOTHING)
    assert (
        Figures(calls=1, tokens=100, cost=100.0, needed=1, named=1, visible=1, peaks=(100,))
        == figures
    )


def test_a_bare_name_is_named_and_not_visible() -> None:
    """A value without neighbours counts as named, and as lost where nothing brings back what stood around it."""
    figures = counted(call_of("It was job-4711.", "job-4711", OUTPUT), NOTHING)
    assert (
        Figures(calls=1, tokens=100, cost=100.0, needed=1, named=1, lost=1, peaks=(100,)) == figures
    )


def test_a_value_behind_a_reference_costs_a_trip() -> None:
    """One trip for the call, at the price of the largest of the outputs that it has to fetch from."""
    small, large = "job-4711 and job-4712" + "-" * 79, "host-99" + "-" * 293
    stored = {"k": f"{small}{large}"}
    call = call_of("job-4711, job-4712, host-99", "[MemoryRef: k]", large, small)
    expected = Figures(
        calls=1, tokens=100, cost=100 + 10 + 300 + 150, needed=3, trips=1, peaks=(100,)
    )
    assert expected == counted(call, StoredTexts(stored.get))


def test_a_value_that_nothing_holds_is_lost() -> None:
    """There is no trip for it, and a reference that nobody stored is none."""
    figures = counted(call_of("job-4711", "[MemoryRef: gone]", OUTPUT), NOTHING)
    assert Figures(calls=1, tokens=100, cost=100.0, needed=1, lost=1, peaks=(100,)) == figures


def test_references_in_stored_texts_are_followed_once() -> None:
    """A compacted conversation holds references of its own, even to itself."""
    texts = {"old": "[MemoryRef: log] [MemoryRef: old]", "log": "job-4711"}
    assert texts == StoredTexts(texts.get).behind([ChargedMessage("user", "see [MemoryRef: old]")])


async def test_the_unbounded_context_counted_by_hand() -> None:
    """Each prompt is everything so far; what stood in the one before costs a tenth."""
    figures = await measure([run_with(OUTPUT, "job-4711")], parse_policy("unbounded"), letters())
    first, second = 8, 8 + 10 + len(OUTPUT) + 4
    assert (2, first + second) == (figures.calls, figures.tokens)
    assert pytest.approx(first + second - 0.9 * first) == figures.cost
    assert (1, 1, 0, 0, (second,)) == (
        figures.needed,
        figures.visible,
        figures.lost,
        figures.trips,
        figures.peaks,
    )


async def test_what_a_buffer_drops_is_lost() -> None:
    """AutoGen's buffers have nothing to bring it back."""
    later = [said("user", "and?"), said("assistant", "job-4711")]
    run = recording(*(calls("c1"), result("c1", OUTPUT), said("assistant", "hm"), *later))
    figures = await measure([run], parse_policy("buffered:size=2"), letters())
    assert (1, 0, 1, 0) == (figures.needed, figures.visible, figures.lost, figures.trips)


@for_each(
    "policy", ["reference:threshold=200", "offload:threshold=200,lines=1", "memory:threshold=200"]
)
async def test_what_is_folded_is_lost_to_nobody(policy: str) -> None:
    """A value of the middle is in the preview or behind the reference."""
    run = run_with("\n".join([LONG, *(f"more {number}" for number in range(99))]), "job-4711")
    figures = await measure([run], parse_policy(policy), letters())
    assert 0 == figures.lost
    assert 1 == figures.needed == figures.visible + figures.trips


async def test_a_reference_alone_shows_nothing_and_costs_one_trip() -> None:
    """The trip reads the folded prompt, and the output up to 2,000 tokens."""
    # Where it stands last, its description shows it.
    output = f"{LONG}\nstep 41 of the build went well"
    run = run_with(output, "job-4711")
    reference = await measure([run], parse_policy("reference:threshold=200"), letters())
    unbounded = await measure([run], parse_policy("unbounded"), letters())
    assert (1, 0, 0, 1) == (reference.needed, reference.visible, reference.lost, reference.trips)
    folded = reference.tokens - 8
    assert unbounded.tokens - reference.tokens > len(output) - len(ABOUT_REFERENCES) - 150
    assert pytest.approx(8 + folded - 0.9 * 8 + 0.1 * folded + len(output) + 150) == reference.cost


async def test_both_ends_show_what_stands_there() -> None:
    """The baseline keeps lines of either end, cut to 200 characters, and says how many are between them."""
    replayed = parse_policy("offload:threshold=300,lines=2").open(letters())
    text = "\n".join(["first " + "x" * 300, "second", *["between"] * 9, "last but one", "last"])
    await replayed.context.add(run_with(text, "ok").messages)
    shown = charged((await replayed.context.prompt())[2]).text.split("\n")
    assert [
        "first " + "x" * 194,
        "second",
        "… lines 3-11 of 13 not shown …",
        "last but one",
        "last",
    ] == shown[1:]
    assert text == replayed.stored(shown[0].split()[1])


def outputs_run(*outputs: str, each: int = 1) -> Recording:
    """A run that reads these outputs, `each` of them at once, and then answers."""
    said_so_far = list[dict[str, Any]]()
    for start in range(0, len(outputs), each):
        ids = [f"c{number}" for number in range(start, min(start + each, len(outputs)))]
        said_so_far += [
            calls(*ids),
            *(result(one, outputs[start + i]) for i, one in enumerate(ids)),
        ]
    return recording(said("user", "go"), *said_so_far, said("assistant", "done"))


async def last_prompt(policy: str, run: Recording) -> list[str]:
    """The texts of the results in the prompt before the last message of `run`."""
    replayed = parse_policy(policy).open(letters())
    await replayed.context.add(run.messages[:-1])
    return [message.text for message in await replayed.context.prompt() if message.role == "tool"]


@for_each("each", [1, 2, 3])
async def test_masking_shows_the_newest_outputs(each: int) -> None:
    """Outputs are counted one by one, also where several answer one message; the recording stays as it was."""
    run = outputs_run("one", "two", "three", "four", each=each)
    assert [GONE, "two", "three", "four"] == await last_prompt("mask:keep=3", run)
    assert [GONE] * 4 == await last_prompt("mask:keep=0", run)
    assert ["one", "two", "three", "four"] == await last_prompt("mask", run)


async def test_clearing_waits_for_its_trigger() -> None:
    """Up to the trigger the prompt is whole; from there on, only the newest outputs stand in it."""
    run = outputs_run("x" * 100, "two", "three")
    tokens = (await measure([run], parse_policy("unbounded"), letters())).peaks[0]
    assert ["x" * 100, "two", "three"] == await last_prompt(f"clear:trigger={tokens},keep=1", run)
    assert [GONE, GONE, "three"] == await last_prompt(f"clear:trigger={tokens - 1},keep=1", run)


async def test_what_is_masked_is_lost() -> None:
    """A masked value is behind no reference."""
    run = recording(
        *(calls("c1"), result("c1", OUTPUT), calls("c2"), result("c2", "x")),
        said("assistant", "job-4711"),
    )
    figures = await measure([run], parse_policy("mask:keep=1"), letters())
    assert (1, 0, 0, 1, 0) == (
        figures.needed,
        figures.named,
        figures.visible,
        figures.lost,
        figures.trips,
    )


async def test_the_token_limited_context_counts_as_the_replay_does() -> None:
    """Its limit is one of the tokens that the report shows."""
    run = outputs_run("one " * 30, "two " * 30, "three " * 30)
    limited = await measure([run], parse_policy("limited:tokens=300"), letters())
    whole = await measure([run], parse_policy("unbounded"), letters())
    assert 200 < limited.peaks[0] <= 300 < whole.peaks[0]


class Counting(ScriptedChatClient):
    """A client that counts tokens as the replay does."""

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        """Return the tokens of a prompt."""
        parts = [part for message in messages for part in neutral_of(message, "")]
        return tokens_of(map(charged, parts), letters())


@given(
    st.lists(st.sampled_from(["say", "ask", "call 1", "call 2"]), max_size=12),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 120),
)
async def test_the_rules_are_those_of_autogens_contexts(
    steps: list[str], first: int, last: int, tokens: int
) -> None:
    """Whatever a run is like, AutoGen's own contexts show the same of it."""
    recorded = list[dict[str, Any]]()
    for step in steps:
        ids = [f"c{number}" for number in range(int(step[-1]))] if step.startswith("call") else []
        if ids:
            recorded += [calls(*ids), *(result(one, f"result {one}") for one in ids)]
        else:
            recorded.append(said("user" if step == "ask" else "assistant", step))
    run = recording(*recorded)
    pairs: list[tuple[str, ChatCompletionContext]] = [
        (f"buffered:size={last}", BufferedChatCompletionContext(last)),
        (f"ends:head={first},tail={last}", HeadAndTailChatCompletionContext(first, last)),
        (
            f"limited:tokens={tokens}",
            TokenLimitedChatCompletionContext(Counting([]), token_limit=tokens),
        ),
    ]
    for policy, theirs in pairs:
        ours = parse_policy(policy).open(letters()).context
        await ours.add(run.messages)
        for message in restored(run.messages):
            await theirs.add_message(message)
        assert list(restored(await ours.prompt())) == await theirs.get_messages()


@given(st.lists(st.integers(1, 3), max_size=6), st.integers(0, 5), st.integers(0, 200))
def test_clearing_is_langchains(groups: list[int], keep: int, trigger: int) -> None:
    """Whatever a run is like, LangChain's own edit leaves the same of it."""
    recorded, theirs = list[dict[str, Any]](), list[AnyMessage]()
    for number, group in enumerate(groups):
        ids = [f"{number}.{place}" for place in range(group)]
        recorded += [calls(*ids), *(result(one, f"result {one}") for one in ids)]
        theirs.append(AIMessage("", tool_calls=[ToolCall(name="run", args={}, id=i) for i in ids]))
        theirs += [ToolMessage(f"result {one}", tool_call_id=one) for one in ids]
    messages = recording(*recorded).messages
    tokens = tokens_of(map(charged, messages), letters())
    edit = ClearToolUsesEdit(trigger=trigger, keep=keep, placeholder=GONE)
    edit.apply(theirs, count_tokens=lambda _: tokens)
    shown = [message.text for message in theirs if isinstance(message, ToolMessage)]
    ours = cleared(messages, letters(), keep=keep, trigger=trigger)
    assert shown == [message.text for message in ours if message.role == "tool"]


STEPS = st.lists(st.sampled_from(["ask", "say", "call 1", "call 2"]), min_size=1, max_size=14)


def long_run(steps: Sequence[str]) -> Recording:
    """A run with a system message, whose results are long enough to be cut."""
    recorded = [said("system", "Be brief.")]
    for number, step in enumerate(steps):
        ids = [f"{number}.{place}" for place in range(int(step[-1]) if "call" in step else 0)]
        if ids:
            recorded += [
                calls(*ids),
                *(result(one, " ".join([f"result {one}"] * 300)) for one in ids),
            ]
        else:
            recorded.append(said("user" if step == "ask" else "assistant", f"{step} {number}"))
    return recording(*recorded)


def shown(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Roles, and what is charged."""
    return [(one.role, charged(one).text) for one in messages]


@given(STEPS, st.integers(1, 8), st.integers(1, 12_000))
async def test_summarizing_is_langchains(steps: list[str], keep: int, trigger: int) -> None:
    """Whatever a run is like, LangChain's own middleware summarizes at the same call, and keeps the same messages."""

    def counted(some: Iterable[Any]) -> int:
        return tokens_of((charged(langchain_neutral(one)) for one in some), letters())

    spent = list[int]()
    counter = letters()
    ours = ShorteningContext(
        lambda messages: summarized(messages, counter, spent, trigger=trigger, keep=keep, words=3)
    )
    theirs = SummarizationMiddleware(
        ScriptedChatModel([]),
        trigger=("tokens", trigger),
        keep=("messages", keep),
        token_counter=counted,
        trim_tokens_to_summarize=None,
        summarizer=lambda _: "word word word",
    )
    held = list[AnyMessage]()
    for messages in together(long_run(steps).messages):
        await ours.add(messages)
        held += [as_langchain(one) for one in messages if one.role != "system"]
        if messages[0].calls:  # no model is asked before their results
            continue
        update = theirs.before_model({"messages": held}, Runtime()) if held else None
        held = update["messages"][1:] if update else held
        prompt = [one for one in await ours.prompt() if one.role != "system"]
        assert shown([langchain_neutral(one) for one in held]) == shown(prompt)
    assert bool(spent) == (held[0].text.startswith(SUMMARY) if held else False)


def as_langchain(message: Message) -> AnyMessage:
    """The same message as LangChain has it."""
    if message.role == "tool":
        return ToolMessage(message.text, tool_call_id=str(message.answers))
    if message.role == "user":
        return HumanMessage(message.text)
    made = [ToolCall(name=one.name, args={}, id=one.id) for one in message.calls]
    return AIMessage(message.text, tool_calls=made)


@given(STEPS, st.integers(0, 4), st.integers(2, 30_000))
async def test_compacting_is_agent_frameworks(steps: list[str], keep: int, tokens: int) -> None:
    """Whatever a run is like, Agent Framework's own strategy leaves the same of it."""
    counter = letters()
    ours = ShorteningContext(
        lambda messages: compacted(messages, counter, tokens=tokens, keep=keep)
    )
    theirs = ContextWindowCompactionStrategy(
        max_context_window_tokens=tokens,
        max_output_tokens=0,
        tokenizer=Letters(),
        keep_last_tool_call_groups=keep,
    )
    held = list[FrameworkMessage]()
    for number, messages in enumerate(together(long_run(steps).messages)):
        await ours.add(messages)
        held += [as_framework(one, f"{number}.{place}") for place, one in enumerate(messages)]
        if messages[0].calls:
            continue
        await theirs(held)
        left = [part for parts in held_by(included_messages(held)) for part in parts]
        assert shown(left) == shown(await ours.prompt())


class Letters:
    """Counts a message of Agent Framework's as the replay does."""

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a message that was written as JSON."""
        parts = held_by([FrameworkMessage.from_dict(json.loads(text))])[0]
        return tokens_of(map(charged, parts), letters())


def as_framework(message: Message, name: str) -> FrameworkMessage:
    """The same message as Agent Framework has it."""
    contents = [Content.from_text(message.text)] if message.text else []
    if message.answers:
        contents = [Content.from_function_result(message.answers, result=message.text)]
    contents += [
        Content.from_function_call(c.id, c.name, arguments=c.arguments) for c in message.calls
    ]
    return FrameworkMessage(message.role, contents, message_id=name)


async def test_a_summary_costs_a_call() -> None:
    """What a summarizing model reads is paid in full, its instructions included."""
    run = long_run(["ask", "call 1", "call 1", "say"])
    prices = [
        await measure([run], parse_policy(name), letters())
        for name in ("summarize:trigger=999999", "summarize:trigger=1,keep=1,words=0")
    ]
    assert prices[0].calls == prices[1].calls
    assert prices[1].cost - prices[1].tokens > 2 * SUMMARY_PROMPT
    assert prices[0].cost <= prices[0].tokens


async def test_eviction_is_that_of_deepagents() -> None:
    """The same outputs leave the prompt, the same lines of them stay, and as many tokens of schemas are carried."""
    from deepagents.middleware._message_eviction import (  # noqa: PLC0415 - what is compared with
        _create_content_preview,
    )
    from deepagents.middleware.filesystem import FilesystemMiddleware  # noqa: PLC0415

    text = "\n".join(f"{number} " + "x" * 1200 for number in range(80))
    replayed = parse_policy("evict").open(TokenMeter())
    await replayed.context.add(outputs_run(text[:80_000], text).messages)
    whole, evicted = [one for one in await replayed.context.prompt() if one.role == "tool"]
    assert text[:80_000] == whole.text
    _, _, *ends = evicted.text.split("\n")
    numbered = _create_content_preview(text).text.split("\n")
    theirs = [re.sub(r"^ *[0-9]+ +", "", line) for line in numbered if "truncated" not in line]
    assert theirs == [line for line in ends if not line.startswith("…")]

    tools = [convert_to_openai_tool(one)["function"] for one in FilesystemMiddleware().tools]
    schemas = "\n".join(json.dumps(one) for one in tools if one["name"] != "execute")
    assert TokenMeter().count(schemas) == pytest.approx(replayed.carried, rel=0.1)


async def test_figures_are_summed_over_runs() -> None:
    """Of the peaks, each run keeps its own; a run without model calls has none to speak of."""
    runs = [run_with("abc", "d"), recording(said("user", "hi")), run_with("abcdef", "d")]
    alone = [await measure([run], parse_policy("unbounded"), letters()) for run in runs]
    together = await measure(runs, parse_policy("unbounded"), letters())
    assert sum(alone, Figures()) == together
    assert (25, 0, 28) == together.peaks


async def test_a_policy_starts_each_run_anew() -> None:
    """Nothing of one run is remembered in the next."""
    run = run_with(LONG, "job-4711")
    once, twice = [
        await measure([run] * count, parse_policy("memory:threshold=200"), letters())
        for count in (1, 2)
    ]
    assert once + once == twice


@for_each(
    "text, said_by_error",
    [
        (
            "best",
            "mask, clear, summarize, compact, offload, evict, reference, memory",
        ),
        ("buffered:length=3", "has no setting length; it has size"),
        ("memory:treshold=3", "has no setting treshold"),
        ("memory:store=x", "has no setting store"),
        ("offload:lines", "name=value"),
        ("unbounded:size=3", "it has none"),
        (f"unbounded:x={'[' * 5000}", "has no setting x"),
    ],
)
def test_a_policy_that_does_not_exist_says_what_does(text: str, said_by_error: str) -> None:
    """A misspelt setting would otherwise measure something else than was meant."""
    with pytest.raises(InvalidArgumentError, match=said_by_error):
        parse_policy(text)


@pytest.mark.parametrize(
    "text",
    [
        "buffered:size=0",
        "buffered:size=x",
        "ends:tail=none",
        "limited:tokens=0",
        "mask:keep=-1",
        "clear:trigger=1.5",
        "offload:lines=true",
        "memory:threshold=1",
        "memory:threshold=x",
        "memory:fold=never",
        "memory:recall=maybe",
        "memory:notes=1",
        "reference:max_tokens=9",
    ],
)
def test_a_value_that_a_policy_does_not_take_is_found_at_once(text: str) -> None:
    """Before the first run is read, and as an error that can be shown in a line."""
    with pytest.raises(InvalidArgumentError):
        check_policy(parse_policy(text), letters())


async def test_settings_reach_the_context() -> None:
    """Numbers, words and yes or no are handed on by name; what a context refuses, it refuses as ever."""
    replayed = parse_policy(
        "memory:threshold=1_077, recall=false ,preview_tokens=+09,fold=after_reading"
    ).open(letters())
    assert isinstance(replayed.context, RememberingContext)
    settings = replayed.context.settings
    policy = settings.fold
    assert (1077, 9, "after_reading") == (policy.threshold, policy.preview_tokens, policy.fold)
    assert settings.recall is None
    with pytest.raises(InvalidThresholdError):
        await measure([run_with("a", "b")], parse_policy("memory:threshold=1"), letters())


def test_figures_are_shown_as_shares() -> None:
    """Tokens and cost of the unbounded context's, values of those that are needed, peaks of the references'."""
    unbounded = Figures(
        calls=4,
        tokens=1000,
        cost=200.0,
        all_counted=200.0,
        needed=8,
        named=8,
        visible=8,
        peaks=(100, 400, 100),
    )
    reference = Figures(
        calls=4,
        tokens=500,
        cost=100.0,
        all_counted=150.0,
        needed=8,
        named=4,
        visible=2,
        trips=2,
        peaks=(50, 100, 80),
    )
    mine = Result("mine", reference, unbounded, reference)
    assert {
        "tokens": 0.5,
        "cost": 0.5,
        "all_counted": 0.75,
        "peak": 0.5,
        "peak_of_reference": 1.0,
        "named": 0.5,
        "visible": 0.25,
    } == mine.shares
    assert 2.0 == Result("all", unbounded, unbounded, reference).shares["peak_of_reference"]


async def test_schemas_and_instructions_are_counted() -> None:
    """A policy with tools of its own pays for their schemas at each request: in full at first, then at the cached price."""
    recording = run_with("a", "b")
    policies = [parse_policy("unbounded"), parse_policy("memory:recall=false")]
    unbounded, memory = [await measure([recording], policy, letters()) for policy in policies]
    carried = policies[1].open(letters()).carried

    assert unbounded.cost == unbounded.all_counted == memory.cost
    assert carried > 500
    assert memory.all_counted - memory.cost == pytest.approx(
        carried * (1 + 0.1 * (memory.calls - 1))
    )


async def test_the_report_has_a_row_for_each_policy() -> None:
    """The policies that everything is set against are replayed even if nobody asked for them."""
    comparing = Comparing([parse_policy("ends:head=1,tail=2")], letters(), threshold=200)
    await comparing.add(run_with(LONG, "job-4711"))
    results = comparing.results().policies
    assert ["ends:head=1,tail=2"] == [result.policy for result in results]
    console = Console(width=100, record=True)
    console.print(report(results))
    assert "ends:head=1,tail=2" in console.export_text()


async def test_runs_are_read_one_by_one() -> None:
    """Every policy has seen a run before the next is read, so that a stream of any length will do."""
    comparing, seen = (
        Comparing([parse_policy("mask"), parse_policy("buffered")], letters()),
        list[tuple[int, int]](),
    )

    def stream() -> Iterator[Recording]:
        for number in range(3):
            seen.append((number, comparing.runs))
            yield run_with(OUTPUT, "job-4711")

    for one in stream():
        await comparing.add(one)
    assert [(0, 0), (1, 1), (2, 2)] == seen
    assert {(3, 6)} == {
        (comparing.runs, result.figures.calls) for result in comparing.results().policies
    }


async def test_a_run_counts_for_all_policies_or_for_none() -> None:
    """What is interrupted between two policies leaves the figures as they were."""
    mask = parse_policy("mask")
    opened = list[TokenCounter]()

    def open_once(counter: TokenCounter) -> Replayed:
        opened.append(counter)
        if len(opened) > 1:
            raise KeyboardInterrupt
        return mask.open(counter)

    comparing = Comparing([mask, Policy("mask, once", open_once)], letters())
    await comparing.add(run_with(OUTPUT, "job-4711"))
    before = comparing.results()
    with pytest.raises(KeyboardInterrupt):
        await comparing.add(run_with(LONG, "job-4711"))
    assert before == comparing.results()


async def test_tokens_by_call() -> None:
    """The mean is one over the runs that have the call."""
    comparing = Comparing([parse_policy("unbounded")], letters())
    for text in ("a", "abc"):
        await comparing.add(Recording(text, run_with(text, "d").messages))
    await comparing.add(outputs_run("abcde", "f"))
    [result_] = comparing.results().policies
    assert (3, 3, 1) == comparing.results().reached
    assert pytest.approx((8 + 8 + 6) / 3) == result_.mean[0]
    assert 6 + 4 + 6 + 4 + 5 + 4 + 6 + 1 + 4 == result_.mean[2]


def test_nothing_to_measure_is_no_error() -> None:
    """Without runs, every share is whole."""
    for result in Comparing(default_policies(), letters()).results().policies:
        assert {1.0} == set(result.shares.values())
        assert 0 == result.figures.lost


def test_each_text_is_counted_once() -> None:
    """The meter remembers what it has counted, and gives the counter's own answers."""
    asked = list[str]()

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    meter = TokenMeter(CallableCounter(count))
    assert (3, 3) == (meter.count("abc"), meter.count("abc"))
    assert (True, False) == (meter.exceeds("abc", 2), meter.exceeds("abc", 3))
    assert ["abc"] == asked
    assert meter.exceeds("abcd", 3)
