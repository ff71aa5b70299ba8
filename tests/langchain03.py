"""Memory and history in chains of LangChain 0.3; run by CI in an environment of their own (group ``langchain03``)."""

from __future__ import annotations

from typing import Any

import langchain_core
import pytest
from langchain.chains import ConversationChain  # type: ignore[import-not-found] # LangChain 0.3
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

import langchain_memory_context
from langchain_memory_context import MemoryContextChatMessageHistory, MemoryContextMemory
from langchain_memory_context.testing import ScriptedChatModel
from memory_context.exceptions import MissingDependencyError

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* was deprecated", "ignore:RunnableWithMessageHistory"
)
LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
QUESTION = "When was worker-1234 done?"
ANSWER = "02:20:34 worker-1234 done"


def test_version() -> None:
    """This is LangChain 0.3; what needs 1.x says so."""
    assert langchain_core.__version__.startswith("0.3.")
    with pytest.raises(MissingDependencyError):
        _ = langchain_memory_context.MemoryContextMiddleware


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize(
    "judge_model", [None, ScriptedChatModel(["no answer"] * 9)], ids=["words", "model"]
)
async def test_chain(sqlite_url: str, how: str, judge_model: Any) -> None:
    """A large answer is folded, and what the next input needs comes back."""
    model = ScriptedChatModel([LOG, "At 02:20:34.", "Bye."])
    memory = MemoryContextMemory(user_id="42", thread_id="t", store=sqlite_url, model=judge_model)
    chain = ConversationChain(llm=model, memory=memory)
    for question in ("Read the log.", QUESTION, "Bye."):
        _ = (
            chain.invoke({"input": question})
            if how == "invoke"
            else await chain.ainvoke({"input": question})
        )

    _, second, third = (str(prompt[0].content) for prompt in model.prompts)
    assert ANSWER in second
    assert LOG not in second
    assert third.startswith(second.partition("Human: " + QUESTION)[0])


def test_history(sqlite_url: str) -> None:
    """A history keeps its messages, large texts folded."""
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{input}")]
    )
    model = ScriptedChatModel([LOG, "Bye."])
    chain: Any = RunnableWithMessageHistory(
        prompt | model,
        lambda session_id: MemoryContextChatMessageHistory(
            session_id, user_id="42", store=sqlite_url
        ),
        history_messages_key="history",
        input_messages_key="input",
    )
    for question in ("Read the log.", "Bye."):
        list(chain.stream({"input": question}, {"configurable": {"session_id": "s"}}))

    assert "[MemoryRef: assistant_" in str(model.prompts[-1][1].content)
