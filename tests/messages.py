"""Messages, and random conversations, for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from hypothesis import strategies as st

from memory_context.autogen.messages import hosts_id, made_of, neutral_of
from memory_context.conversation.message import Message, from_lines

LOG = "\n".join(
    f"2026-01-01 12:00:{i % 60:02d} INFO worker-{i} handled job-{i * 7919 % 10007}"
    for i in range(400)
)
LOG += "\n2026-01-01 13:00:00 ERROR worker-777 crashed: no space left on /dev/sdx9"


def user(text: str, source: str = "user") -> UserMessage:
    """A user message."""
    return UserMessage(content=text, source=source)


def call(*names: str, number: int = 1, arguments: str = "{}") -> AssistantMessage:
    """An assistant's calls of some tools."""
    calls = [
        FunctionCall(id=f"call-{number}-{i}", name=name, arguments=arguments)
        for i, name in enumerate(names)
    ]
    return AssistantMessage(content=calls, source="coder")


def results(
    *texts: str, number: int = 1, name: str = "run", is_error: bool = False
) -> FunctionExecutionResultMessage:
    """The results of those calls."""
    return FunctionExecutionResultMessage(
        content=[
            FunctionExecutionResult(
                content=text, name=name, call_id=f"call-{number}-{i}", is_error=is_error
            )
            for i, text in enumerate(texts)
        ]
    )


def restored(messages: Iterable[Message]) -> Iterator[LLMMessage]:
    """Yield AutoGen's messages of which *messages* were made; results side by side are one message."""
    for _, group in groupby(messages, key=hosts_id):
        yield made_of(list(group))


def texts_of(message: LLMMessage) -> list[str]:
    """Return the texts of a message of a user or with results, recalled ones included."""
    if not isinstance(message, UserMessage | FunctionExecutionResultMessage):
        return []
    return [text for part in neutral_of(message, "") for text in part.texts.values()]


def dumps(messages: Sequence[LLMMessage]) -> list[str]:
    """Each message as its bytes, to compare them exactly."""
    return [json.dumps(message.model_dump(), default=str) for message in messages]


def neutral(messages: Sequence[LLMMessage]) -> list[Message]:
    """The messages as a conversation sees them."""
    return [part for i, message in enumerate(messages) for part in neutral_of(message, str(i))]


def stored_messages(text: str) -> list[LLMMessage]:
    """The messages that a compaction has stored."""
    return list(restored(replace(m, id=str(i)) for i, m in enumerate(from_lines(text))))


_words = st.lists(
    st.sampled_from(
        ["job", "worker-12", "error", "where is", "/etc/hosts", "中文", "ok?", "\0", "\ud800"]
    )
)
short_texts = _words.map(" ".join)
large_texts = st.builds(
    lambda text, seed: f"{text}\n" + LOG.replace("worker", f"w{seed}"),
    short_texts,
    st.integers(0, 5),
)
texts = st.one_of(short_texts, large_texts)


@st.composite
def conversations(draw: st.DrawFn) -> list[LLMMessage]:
    """Legal conversations: users, other agents, calls with all their results, answers."""
    messages: list[LLMMessage] = [SystemMessage(content="be brief")] if draw(st.booleans()) else []
    for number in range(draw(st.integers(1, 8))):
        match draw(st.sampled_from(["user", "agent", "tools", "answer"])):
            case "user":
                messages.append(user(draw(texts)))
            case "agent":
                messages.append(user(draw(texts), source="researcher"))
            case "tools":
                names = draw(
                    st.lists(st.sampled_from(["run", "read_file"]), min_size=1, max_size=3)
                )
                messages.append(call(*names, number=number))
                messages.append(
                    results(
                        *(draw(texts) for _ in names), number=number, is_error=draw(st.booleans())
                    )
                )
            case _:
                messages.append(
                    AssistantMessage(content=draw(short_texts), source="coder", thought="hm")
                )
    return messages
