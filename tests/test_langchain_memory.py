"""LangChain's memory and history on a store, in real chains of langchain-classic."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any, cast

import pytest
from langchain_classic.agents import AgentExecutor, BaseSingleActionAgent
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_classic.memory import (
    CombinedMemory,
    ConversationBufferMemory,
    ReadOnlySharedMemory,
    SimpleMemory,
)
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.load import dumps
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import tool
from pydantic import ValidationError

from for_each import first_quick
from langchain_memory_context import (
    ChatModelJudge,
    MemoryContextChatMessageHistory,
    MemoryContextMemory,
    MemoryContextMiddleware,
    MemoryRetriever,
)
from langchain_memory_context.testing import ScriptedChatModel, call
from memory_context import FoldPolicy, MemoryRef, SQLAlchemyStore
from memory_context.exceptions import (
    InvalidArgumentError,
    InvalidScopeError,
    InvalidThresholdError,
    StoreError,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:langchain_core",
    "ignore:The class",
    "ignore:RunnableWithMessageHistory",
)
LOG = "\n".join(f"02:{i // 60:02}:{i % 60:02} worker-{i} done" for i in range(3000))
QUESTION = "When was worker-1234 done?"
IMAGE = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
USAGE = UsageMetadata(input_tokens=1, output_tokens=2, total_tokens=3)
ANSWER = "02:20:34 worker-1234 done"


@pytest.fixture
def store(sqlite_url: str) -> SQLAlchemyStore:
    """An empty store in a file."""
    return SQLAlchemyStore(sqlite_url)


def memory_of(store: SQLAlchemyStore, **settings: Any) -> MemoryContextMemory:
    """The memory of a conversation."""
    return MemoryContextMemory(**{"user_id": "42", "thread_id": "t", "store": store, **settings})


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_conversation_chain(store: SQLAlchemyStore, how: str) -> None:
    """A ConversationChain's large answer is folded; what the next input needs stands behind the history, and stays."""
    model = ScriptedChatModel([LOG, "At 02:20:34.", "Bye."])
    memory = memory_of(store)
    chain = ConversationChain(llm=model, memory=memory)
    for question in ("Read the log.", QUESTION, "Bye."):
        given = {"input": question}
        assert "response" in (
            chain.invoke(given) if how == "invoke" else await chain.ainvoke(given)
        )

    first, second, third = (str(prompt[0].content) for prompt in model.prompts)
    assert LOG not in second
    [key] = {ref.key for ref in MemoryRef.find_all(second)}
    assert LOG == memory.manager.retrieve(key)
    assert ANSWER in second
    assert ANSWER not in first
    history = second.partition("Human: " + QUESTION)[0]
    assert third.startswith(history)
    assert (1, 1) == (memory.stats().folds, memory.stats().recalls)
    assert [(key,)] == [one.opened for one in memory.decisions() if one.opened]


def test_conversation_goes_on_elsewhere(store: SQLAlchemyStore) -> None:
    """Another memory on the same thread goes on with it; another thread, and another user, know nothing of it."""
    memory_of(store).save_context({"input": "I am Ann."}, {"output": "Hello Ann."})

    assert {"history": "Human: I am Ann.\nAI: Hello Ann."} == memory_of(
        store
    ).load_memory_variables({})
    assert {"history": ""} == memory_of(store, thread_id="u").load_memory_variables({})
    assert {"history": ""} == memory_of(store, user_id="43").load_memory_variables({})
    memory_of(store).clear()
    assert {"history": ""} == memory_of(store).load_memory_variables({})


def test_like_the_buffer_memory(store: SQLAlchemyStore) -> None:
    """For small texts it loads what ConversationBufferMemory loads, with its keys, prefixes and forms."""
    settings: dict[str, Any] = {
        "memory_key": "chat", "human_prefix": "Q", "ai_prefix": "A", "input_key": "question", "output_key": "answer",
    }  # fmt: skip
    for as_messages in (False, True):
        ours = memory_of(store, thread_id=str(as_messages), return_messages=as_messages, **settings)
        theirs = ConversationBufferMemory(return_messages=as_messages, **settings)
        for number in range(3):
            for memory in (ours, theirs):
                memory.save_context(
                    {"question": f"{number}?", "other": 1}, {"answer": f"{number}!", "more": "x"}
                )
        mine, buffer = (
            one.load_memory_variables({"question": "x"})["chat"] for one in (ours, theirs)
        )
        assert (
            (mine == buffer)
            if not as_messages
            else [(m.type, m.content) for m in mine] == [(m.type, m.content) for m in buffer]
        )
        assert ["chat"] == ours.memory_variables


def test_any_value_is_an_input(store: SQLAlchemyStore) -> None:
    """A value that JSON cannot hold, such as a dict with tuples as keys, is stored as text, too."""
    memory = memory_of(store)
    memory.save_context({"input": {("order", 1): "late"}}, {"output": "sorry"})
    memory.save_context({"input": {True: 1, "at": date(2026, 1, 31)}}, {"output": "fine"})
    extra: dict[Any, Any] = {("order", 2): "lost"}
    memory.save_context({"input": "and?"}, {"output": AIMessage("gone", additional_kwargs=extra)})
    history = memory.load_memory_variables({})["history"]
    assert "late" in history
    assert '{"true": 1, "at": "2026-01-31"}' in history
    assert history.endswith("AI: gone")


def test_which_input_and_output(store: SQLAlchemyStore) -> None:
    """Loaded variables and `stop` are no input; where it cannot be told which is meant, the error says what to set."""
    memory = memory_of(store)
    memory.save_context({"input": "hi", "history": "old", "stop": ["x"]}, {"output": "hello"})
    memory.save_context({"input": "hi"}, {"output": "hello", "intermediate_steps": []})
    with pytest.raises(ValueError, match="One input key expected"):
        memory.save_context({"a": "1", "b": "2"}, {"output": "hello"})
    with pytest.raises(InvalidArgumentError, match="set output_key"):
        memory.save_context({"input": "hi"}, {"a": "1", "b": "2"})

    assert (
        "Human: hi\nAI: hello\nHuman: hi\nAI: hello" == memory.load_memory_variables({})["history"]
    )


def test_any_value_is_remembered(store: SQLAlchemyStore) -> None:
    """Messages, lists of messages, and what JSON can express come back."""
    memory = memory_of(store, return_messages=True)
    memory.save_context(
        {"input": [HumanMessage("one"), HumanMessage("two")]},
        {"output": AIMessage("three", id="x")},
    )
    memory.save_context({"input": {"question": 4}}, {"output": ["5", 6]})

    loaded = memory.load_memory_variables({})["history"]
    assert ["one", "two", "three", '{"question": 4}', '["5", 6]'] == [
        message.content for message in loaded
    ]
    assert ("x", "ai") == (loaded[2].id, loaded[2].type)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_combined_and_shared(store: SQLAlchemyStore, how: str) -> None:
    """It works inside CombinedMemory and ReadOnlySharedMemory, from their threads."""
    memory = memory_of(store, input_key="input")
    both = CombinedMemory(memories=[memory, SimpleMemory(memories={"mood": "calm"})])
    prompt = PromptTemplate.from_template("{history} ({mood}) {input}")
    model = ScriptedChatModel(["one", "two", "three"])
    chain = LLMChain(llm=model, prompt=prompt, memory=both)
    for question in ("first", "second"):
        _ = (
            chain.invoke({"input": question})
            if how == "invoke"
            else await chain.ainvoke({"input": question})
        )
    shared = LLMChain(
        llm=model,
        prompt=PromptTemplate.from_template("{history} {input}"),
        memory=ReadOnlySharedMemory(memory=memory),
    )
    _ = (
        shared.invoke({"input": "third"})
        if how == "invoke"
        else await shared.ainvoke({"input": "third"})
    )

    assert "Human: first\nAI: one (calm) second" == model.prompts[1][0].content
    assert "Human: first\nAI: one\nHuman: second\nAI: two third" == model.prompts[2][0].content
    assert 4 == len(memory_of(store, return_messages=True).load_memory_variables({})["history"])


class Reader(BaseSingleActionAgent):
    """An agent that reads the log twice and then answers with what it saw."""

    seen: list[Any]

    @property
    def input_keys(self) -> list[str]:
        """What it takes."""
        return ["input"]

    def plan(
        self,
        intermediate_steps: list[tuple[AgentAction, str]],
        *_: Any,
        **__: Any,
    ) -> AgentAction | AgentFinish:
        """Call the tool twice."""
        self.seen.append(list(intermediate_steps))
        if len(intermediate_steps) < 2:
            return AgentAction("read_log", str(len(intermediate_steps)), "")
        return AgentFinish({"output": "Read."}, "")

    async def aplan(
        self,
        intermediate_steps: list[tuple[AgentAction, str]],
        *_: Any,
        **__: Any,
    ) -> Any:
        """Call the tool twice."""
        return self.plan(intermediate_steps)


@pytest.mark.parametrize("how", first_quick(["ainvoke", "invoke"]))
async def test_agent_executor(store: SQLAlchemyStore, how: str) -> None:
    """An agent's large observations are references for it, the same ones at each step; returned steps are whole."""

    @tool
    def read_log(day: str) -> str:
        """Read the log of a day."""
        return LOG + day

    memory = memory_of(store, memory_key="chat_history", output_key="output")
    agent = Reader(seen=[])
    executor = AgentExecutor(
        agent=agent, tools=[read_log], memory=memory, return_intermediate_steps=True,
        trim_intermediate_steps=memory.trim_intermediate_steps,
    )  # fmt: skip
    given = {"input": "Read."}
    result = executor.invoke(given) if how == "invoke" else await executor.ainvoke(given)

    assert [LOG + "0", LOG + "1"] == [
        observation for _, observation in result["intermediate_steps"]
    ]
    _, [(_, early)], [(_, late), _] = agent.seen
    assert early == late
    assert LOG + "0" == memory.manager.retrieve(MemoryRef.find_all(early)[0].key)
    assert "Human: Read.\nAI: Read." == memory.load_memory_variables({})["chat_history"]


class Failing(SQLAlchemyStore):
    """A store whose database takes nothing."""

    def put(self, *_: Any, **__: Any) -> Any:
        """Fail."""
        raise StoreError


def test_observations_are_redacted(store: SQLAlchemyStore) -> None:
    """Filters of a `FoldPolicy` are applied to every observation, also to one that is too small to be folded."""
    fold = FoldPolicy(redact=[lambda text: text.replace("hunter2", "***")])
    memory = MemoryContextMemory(user_id="42", store=store, fold=fold)
    for observation in ("it is hunter2", f"it is hunter2\n{LOG}", {"rows": 2}):
        [(_, shown)] = memory.trim_intermediate_steps([("action", observation)])
        assert "hunter2" not in str(shown)
    assert {"rows": 2} == shown


def test_failing_store() -> None:
    """Observations stay whole when the store fails; a conversation that cannot be saved is an error, not a loss."""
    memory = memory_of(Failing("sqlite://"))

    [(_, observation)] = memory.trim_intermediate_steps([(AgentAction("t", "", ""), LOG)])
    assert LOG == observation
    with pytest.raises(StoreError):
        memory.save_context({"input": "hi"}, {"output": "hello"})


def test_settings_and_their_errors(store: SQLAlchemyStore) -> None:
    """Wrong settings are refused at once; what is dumped holds neither store nor judge."""
    with pytest.raises(InvalidThresholdError):
        memory_of(store, threshold=1)
    with pytest.raises(InvalidScopeError):
        memory_of(store, user_id="")
    with pytest.raises(InvalidArgumentError):
        memory_of(store, model=4)
    with pytest.raises(ValueError, match="provider"):
        memory_of(store, model="nobodys-model")
    dumped = memory_of(store).model_dump()
    assert {"store", "model", "fold", "recall"}.isdisjoint(dumped)
    assert "t" == dumped["thread_id"]


@pytest.mark.parametrize("name", ["user_id", "thread_id", "store", "max_turns"])
def test_what_it_was_made_with_does_not_change(store: SQLAlchemyStore, name: str) -> None:
    """Another user, store or limit needs another memory: an assignment or a copy is refused; it would change nothing."""
    memory = MemoryContextMemory(user_id="42", thread_id="t", store=store)
    with pytest.raises(ValidationError, match="frozen"):
        setattr(memory, name, "other")
    for copied in (memory.model_copy, memory.copy):
        with pytest.raises(InvalidArgumentError, match=name):
            copied(update={name: "other"})
        assert "human" == copied(update={"human_prefix": "human"}).human_prefix


def test_a_setting_that_there_is_not(store: SQLAlchemyStore) -> None:
    """A misspelt setting is refused, and named."""
    with pytest.raises(ValidationError, match="treshold"):
        memory_of(store, treshold=100)
    with pytest.raises(ValidationError, match="top_k"):
        MemoryRetriever(manager=memory_of(store).manager, top_k=3)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


@pytest.mark.long
def test_a_model_is_named_as_langchain_names_it(
    store: SQLAlchemyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A light model may be given by its provider and name, as `create_agent` takes it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    judge = ChatModelJudge("anthropic:claude-haiku-4-5")
    assert "model:ChatAnthropic" == judge.name
    MemoryContextMiddleware(store, user_id="42", model="anthropic:claude-haiku-4-5")


def test_memory_asks_a_model(store: SQLAlchemyStore) -> None:
    """A chat model as the judge decides what comes back, in a chain without an event loop."""

    def verdict(prompt: Sequence[BaseMessage]) -> str:
        key = str(prompt[-1].content).split("References")[1].split("\n")[1].split(" - ")[0]
        return f'{{"expand": [{{"key": "{key}", "lines": "500-501"}}]}}'

    memory = memory_of(store, model=ScriptedChatModel([verdict]))
    memory.save_context({"input": "Read."}, {"output": LOG})

    assert "worker-500 done" in memory.load_memory_variables({"input": "What about it?"})["history"]


def history(store: SQLAlchemyStore, thread_id: str = "t") -> MemoryContextChatMessageHistory:
    """The history of a conversation."""
    return MemoryContextChatMessageHistory(thread_id, user_id="42", store=store)


def test_history_keeps_messages(store: SQLAlchemyStore) -> None:
    """Messages of every type come back as they were added, but for large texts and values that JSON cannot express."""
    messages = [
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "Look:"}, IMAGE]),
        AIMessage("", tool_calls=[call("read_log", "1", day="monday")], id="a", usage_metadata=USAGE),
        ToolMessage("short", tool_call_id="1", name="read_log", status="error", artifact={"rows": 2}),
        ToolMessage(LOG, tool_call_id="2", name="read_log", id="b"),
        AIMessage("done", response_metadata={"logprobs": [float("-inf"), -1.5]}),
    ]  # fmt: skip
    history(store).add_messages(messages[:4])
    history(store).add_messages(messages[4:])

    *others, large, last = history(store).messages
    assert messages[:4] == others
    assert isinstance(large, ToolMessage)
    assert ("2", "read_log") == (large.tool_call_id, large.name)
    assert ("b", "done") == (large.id, last.content)
    assert {"logprobs": ["-Infinity", -1.5]} == last.response_metadata
    [ref] = MemoryRef.find_all(str(large.content))
    assert LOG == MemoryContextMemory(user_id="42", store=store).manager.retrieve(ref.key)
    history(store).clear()
    assert [] == history(store).messages


def test_a_history_folds_what_other_agents_say(store: SQLAlchemyStore) -> None:
    """Each report of another agent is folded, although it is the first message that is added with others."""
    report = LOG[:6000]
    for _ in range(2):
        history(store).add_messages([HumanMessage(report, name="planner"), AIMessage("ok")])
    assert all(MemoryRef.find_all(str(message.content)) for message in history(store).messages[::2])


def test_a_history_is_named_by_its_session(store: SQLAlchemyStore) -> None:
    """`session_id`, LangChain's name, is the thread's; both names or none are refused."""
    MemoryContextChatMessageHistory(session_id="t", user_id="42", store=store).add_user_message(
        "Hi."
    )
    assert ["Hi."] == [message.content for message in history(store, "t").messages]
    with pytest.raises(InvalidArgumentError, match="one of them"):
        MemoryContextChatMessageHistory("t", session_id="t", user_id="42", store=store)
    with pytest.raises(InvalidScopeError, match="which conversation"):
        MemoryContextChatMessageHistory(user_id="42", store=store)


@pytest.mark.parametrize("key", first_quick(["history", None]))
@pytest.mark.parametrize("how", first_quick(["ainvoke", "invoke"]))
async def test_runnable_with_message_history(
    store: SQLAlchemyStore, key: str | None, how: str
) -> None:
    """With and without a key for the history, each run adds its input and its answer once."""
    model = ScriptedChatModel(["one", LOG, "three"])
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{input}")]
    )
    settings: dict[str, Any] = (
        {"history_messages_key": key, "input_messages_key": "input"} if key else {}
    )
    chain: Any = RunnableWithMessageHistory(
        prompt | model if key else model, lambda session_id: history(store, session_id), **settings
    )
    config = {"configurable": {"session_id": "s"}}
    for question in ("first", "second", "third"):
        given = {"input": question} if key else [HumanMessage(question)]
        _ = chain.invoke(given, config) if how == "invoke" else await chain.ainvoke(given, config)

    kept = [str(message.content) for message in await history(store, "s").aget_messages()]
    assert ["first", "one", "second", "third", "three"] == kept[:3] + kept[4:]
    assert 1 == len(MemoryRef.find_all(kept[3]))
    assert kept[:4] == [str(message.content) for message in model.prompts[2][:4]]


@pytest.mark.long
def test_history_under_threads(store: SQLAlchemyStore) -> None:
    """Several threads add to one history; each pair stays together and none is lost."""
    with ThreadPoolExecutor(6) as threads:
        pairs = [[HumanMessage(f"{number}?"), AIMessage(f"{number}!")] for number in range(30)]
        list(threads.map(lambda pair: history(store).add_messages(pair), pairs))

    kept = [str(message.content) for message in history(store).messages]
    assert sorted(f"{number}?" for number in range(30)) == sorted(kept[::2])
    assert [text[:-1] for text in kept[::2]] == [text[:-1] for text in kept[1::2]]


def test_windows(store: SQLAlchemyStore) -> None:
    """A window bounds what memory and history give, not what is kept; it begins with no tool's result."""
    messages = [
        HumanMessage("Read."), AIMessage("", tool_calls=[call("read_log", "1", day="monday")], id="a"),
        ToolMessage("short", tool_call_id="1", name="read_log"), AIMessage("Done."), HumanMessage("Thanks."),
    ]  # fmt: skip
    history(store).add_messages(messages)

    short = MemoryContextChatMessageHistory("t", user_id="42", store=store, max_turns=3)
    assert ["Done.", "Thanks."] == [message.content for message in short.messages]
    memory = memory_of(store, max_turns=1)
    assert "Human: Thanks." == memory.load_memory_variables({})["history"]
    memory.save_context({"input": "hi"}, {"output": "hello"})
    assert "AI: hello" == memory.load_memory_variables({})["history"]
    assert 7 == len(history(store).messages)
    with pytest.raises(InvalidArgumentError, match="max_turns"):
        memory_of(store, max_turns=0)


def test_a_turn_that_left_the_window_comes_as_it_was_said(store: SQLAlchemyStore) -> None:
    """Alone, without what LangChain keeps beside its words, and as a turn of this conversation."""
    memory = memory_of(store, max_turns=4)
    for number in range(10):
        question, answer = f"q{number} about thing-{number}", f"thing-{number} costs {number * 7}"
        memory.save_context({"input": question}, {"output": answer})
    history = memory.load_memory_variables({"input": "What does thing-1 cost?"})["history"]
    recalled = history.partition("Recalled from memory")[2]
    assert "user: q1 about thing-1\nassistant: thing-1 costs 7\n" in recalled
    assert 1 == recalled.count("user: ")
    assert "additional_kwargs" not in recalled


def test_what_was_recalled_is_kept_and_never_found(store: SQLAlchemyStore) -> None:
    """Nothing of it describes a turn, is found, or is recalled again; a turn begins with what a person asked."""
    memory = memory_of(store)
    memory.save_context({"input": "Read the log."}, {"output": LOG})
    shown = memory.load_memory_variables({"input": QUESTION})["history"]
    memory.save_context({"input": QUESTION}, {"output": "At 02:20:34."})
    manager = memory.manager
    [*_, turn] = sorted(store.list_all(manager.scope), key=lambda item: item.created_at)

    assert ANSWER in shown
    assert shown in memory_of(store).load_memory_variables({})["history"]
    assert QUESTION == turn.summary
    assert "Recalled" not in turn.text
    assert "02:20:34 worker-1234" not in turn.text
    assert [] == manager.search("quoted")


@pytest.mark.long
def test_what_was_shown_last_is_what_is_kept(store: SQLAlchemyStore) -> None:
    """After a run that failed, a text that was recalled for it and forgotten since does not enter the history."""
    memory = memory_of(store)
    memory.save_context({"input": "Read the log."}, {"output": LOG})
    assert ANSWER in memory.load_memory_variables({"input": QUESTION})["history"]
    [kept] = [item for item in store.list_all(memory.manager.scope) if item.text == LOG]
    memory.manager.forget(kept.memory_key)

    shown = memory.load_memory_variables({"input": QUESTION})["history"]
    memory.save_context({"input": QUESTION}, {"output": "I do not know."})
    assert ANSWER not in memory.load_memory_variables({})["history"]
    assert memory.load_memory_variables({})["history"].startswith(shown)


def test_the_model_is_who_said_its_answers(store: SQLAlchemyStore) -> None:
    """A large answer that was folded is the model's, in memory and history, and is recalled as such."""
    memory = memory_of(store)
    memory.save_context({"input": "Read the log."}, {"output": LOG})
    history(store, "s").add_messages([AIMessage(LOG + "\nmore", name="Ann")])
    kept = list(store.list_all(memory.manager.scope))

    assert {"model"} == {item.origin for item in kept if item.memory_type == "message"}
    assert {"assistant"} == {
        item.memory_key.rpartition("_")[0] for item in kept if item.memory_type == "message"
    }
    assert "tokens] (model)\n" in memory.load_memory_variables({"input": QUESTION})["history"]


def test_a_streamed_answer_is_kept_as_a_message(store: SQLAlchemyStore) -> None:
    """Its chunks, which `RunnableWithMessageHistory` adds as one, are the model's answer like any other."""
    history(store).add_messages(
        [HumanMessage("Where is Rex?"), AIMessageChunk(content="In the garden.", id="a")]
    )

    assert [HumanMessage("Where is Rex?"), AIMessage("In the garden.", id="a")] == history(
        store
    ).messages
    manager = memory_of(store).manager
    assert ["model"] == [item.origin for item in store.list_all(manager.scope)]
    [found] = MemoryRetriever(manager=manager).invoke("Rex")
    assert "user: Where is Rex?\nassistant: In the garden." == found.page_content


def test_a_retriever_shows_a_conversation_as_it_was_said(store: SQLAlchemyStore) -> None:
    """Not as JSON of LangChain's messages."""
    memory = memory_of(store)
    memory.save_context({"input": 'Where is "Rex"?'}, {"output": "In the garden."})
    for most in (500, None):
        [found] = MemoryRetriever(manager=memory.manager, max_tokens=most).invoke("Rex")
        assert 'user: Where is "Rex"?\nassistant: In the garden.' == found.page_content


def test_idle_conversation(store: SQLAlchemyStore) -> None:
    """With a timeout a conversation begins anew when it was silent for longer; everything is kept."""
    memory_of(store).save_context({"input": "hi"}, {"output": "hello"})

    time.sleep(0.01)
    memory = memory_of(store, idle_timeout=0.001)
    assert {"history": ""} == memory.load_memory_variables({})
    assert 2 == len(history(store).messages)


def test_a_password_of_the_url_is_in_no_repr_and_no_error() -> None:
    """LangChain's dumps and tracers show reprs, and pydantic's errors their input: both held the store's password."""
    url = "postgresql://ann:hunter2@db.example/memory"
    memory = MemoryContextMemory(user_id="ann", store=url, audit=url)
    wrong: dict[str, Any] = {"store": url}
    with pytest.raises(ValidationError) as refused:
        MemoryContextMemory(**wrong)
    with pytest.raises(ValidationError) as retriever_refused:
        MemoryRetriever(manager=cast("Any", url))
    refusals = [str(refused.value), str(retriever_refused.value)]
    for shown in (repr(memory), dumps(memory), *refusals):
        assert "hunter2" not in shown
