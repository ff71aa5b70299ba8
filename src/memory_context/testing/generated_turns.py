"""Generate random conversations for tests of hosts, with hypothesis."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from hypothesis import strategies as st

from memory_context.conversation.conversation import ConversationSettings
from memory_context.conversation.fold_recall_notes_policies import FoldPolicy, RecallPolicy
from memory_context.conversation.message import FunctionCall, Message
from memory_context.model.tool_names import RETRIEVE, SAVE
from memory_context.testing.scripted_turns import ScriptedReply, ScriptedResult, ScriptedTurn

WORDS = ("Read the log.", "Thanks.", "中文 ok?", "What was the total of order-{n}-17?",
         "Where did order-{n}-{m} go?", "What is «{n}»?", "")  # fmt: skip


@dataclass(frozen=True, slots=True)
class GeneratedConversation:
    """A conversation and its settings.

    Attributes:
        settings: The settings of the conversation.
        turns: The turns.
        keeps_notes: Whether the agent keeps notes.
        has_preference: Whether a preference of the user is stored before the conversation begins.
    """

    settings: ConversationSettings
    turns: tuple[ScriptedTurn, ...]
    keeps_notes: bool = False
    has_preference: bool = False


def by_length(text: str) -> int:
    """Count tokens by the length of a text, so that keys of the same length cost the same in every host."""
    return len(text) // 4


def without_docks(text: str) -> str:
    """Redact names of docks, and the word "total", which also occurs in small texts."""
    return re.sub(r"dock [0-9]+|total", "[redacted]", text)


numbers = st.integers(0, 5)
small_texts = st.builds(str.format, st.sampled_from(WORDS), n=numbers, m=st.integers(0, 90))


def order_log(number: int, lines: int) -> str:
    """Return the output of a tool in which every line has a name that occurs nowhere else."""
    log = [f"09:{n:02} order-{number}-{n} went to dock {n * 7 % 31}" for n in range(lines)]
    return "\n".join(log)


def order_table(number: int, rows: int) -> str:
    """Return a JSON output with that many rows."""
    return json.dumps([{"id": f"order-{number}-{n}", "total": n * 13} for n in range(rows)])


sizes = st.integers(5, 90)
large_texts = st.builds(order_log, numbers, sizes) | st.builds(order_table, numbers, sizes)
# A value that is listed several times is generated that many times as often.
tool_result = st.tuples(
    st.sampled_from(["read_log", "run", "search_orders"]),
    st.sampled_from(["today", "order-1-17"]),
    small_texts | large_texts,
    st.sampled_from([False, False, False, False, True]),
)
tool_results = st.lists(tool_result, min_size=1, max_size=3)
fold_policies = st.builds(
    FoldPolicy,
    threshold=st.sampled_from([50, 200]),
    fold=st.sampled_from(["at_once", "after_reading"]),
    preview_tokens=st.sampled_from([0, 60]),
    counter=st.just(by_length),
    redact=st.sampled_from([(), (without_docks,)]),
)
recall_policies = st.none() | st.builds(RecallPolicy, results=st.booleans())
limits_in_tokens = st.sampled_from([None, 600, 2000])
settings_of_hosts = st.builds(
    ConversationSettings, fold_policies, recall_policies, limits_in_tokens
)


@st.composite
def generated_conversations(draw: st.DrawFn) -> GeneratedConversation:
    """Generate a conversation of up to six turns, and its settings."""
    keeps_notes = draw(st.booleans())
    turns = list[ScriptedTurn]()
    count = draw(st.integers(1, 6))
    for number in range(count):
        turns.append(draw(_turns(number, keeps_notes=keeps_notes)))
    settings = draw(settings_of_hosts)
    has_preference = draw(st.booleans())
    return GeneratedConversation(settings, tuple(turns), keeps_notes, has_preference)


@st.composite
def _turns(draw: st.DrawFn, number: int, *, keeps_notes: bool) -> ScriptedTurn:
    """Generate the turn with this number: a message, up to three replies with calls, and an answer."""
    source = draw(st.sampled_from(["user", "user", "user", "researcher"]))
    text = draw(st.one_of(small_texts, small_texts, large_texts))
    said = [Message("", "user", source, {0: text})]
    if number == 0 and draw(st.booleans()):
        instructions = Message("", "system", "system", {0: "Be brief."})
        said.insert(0, instructions)
    replies = list[ScriptedReply]()
    steps = draw(st.integers(0, 3))
    for step in range(steps):
        replies.append(draw(_calls(f"{number}-{step}", keeps_notes=keeps_notes)))
    answer = draw(small_texts) or "Done."
    replies.append(ScriptedReply(answer))
    after_restart = number > 0 and draw(st.integers(0, 3)) == 0
    fails = draw(st.integers(0, 5)) == 0
    return ScriptedTurn(tuple(said), tuple(replies), after_restart, fails)


@st.composite
def _calls(draw: st.DrawFn, name: str, *, keeps_notes: bool) -> ScriptedReply:
    """Generate up to three parallel calls, or a single call of a memory tool."""
    words = draw(st.sampled_from(["", "Let me look."]))
    kinds = ["tools", "tools", "tools", RETRIEVE]
    if keeps_notes:
        kinds.append(SAVE)
    kind = draw(st.sampled_from(kinds))
    if kind == "tools":
        results = list[ScriptedResult]()
        for index, (tool, day, text, is_error) in enumerate(draw(tool_results)):
            arguments = json.dumps({"day": day})
            call = FunctionCall(f"call-{name}-{index}", tool, arguments)
            results.append(ScriptedResult(call, text, is_error))
        return ScriptedReply(words, tuple(results))
    # The first key that a prompt shows: hosts generate different ones, so a script cannot name it.
    given = {"key": "«0»", "lines": "1-3"}
    if kind == SAVE:
        given = {"category": "findings", "content": f"{name}: {draw(small_texts)}"}
    arguments = json.dumps(given, ensure_ascii=False)
    call = FunctionCall(f"call-{name}", kind, arguments)
    answered_by_host = ScriptedResult(call, None)
    return ScriptedReply(words, (answered_by_host,))
