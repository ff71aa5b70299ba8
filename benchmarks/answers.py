"""Does a model answer as well? Questions with known answers, over what an agent's tools returned, asked in four ways.

    python benchmarks/answers.py
    python benchmarks/answers.py --model gpt-5.4-mini [--base-url URL] [--price 0.75/0.075]

Each conversation begins with six documents that the agent reads by a tool: records of customers, logs of jobs, minutes
of meetings, two of each, all made from a seed. Then come ten questions, one after another, each with one right answer
that stands in one line of one document. The same conversations are held with every text in full, with
`MemoryContextMiddleware`, with a window of the newest messages, and with LangChain's clearing of tool uses.

*exact* counts the answers that hold the right value and are no longer than a sentence. *calls* are those of the model,
*again* those of them that read a document, or part of it, again. *tokens* and *dollars* are those of the input, tools
counted, as the provider reports them; where it reports none, counted here, with an unchanged prefix at the price of
cached tokens. A tool can be called again, so what was cleared or fell out of the window is not lost, but paid again;
``--once`` makes a tool that cannot: what its documents said may have changed.

Without ``--model`` a scripted reader answers: a local server that speaks OpenAI's protocol. It answers only from what
stands in the prompt. If the answer does not stand there, it follows the reference that stands in the document's place,
or reads the document again, once for a question; then it says that it does not know. So its figures tell what a reader
that overlooks nothing would find, not how a model reasons. A live model's key is read from ``OPENAI_API_KEY``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage, HumanMessage, trim_messages
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from recall_data import people  # type: ignore[import-not-found] # beside this file
from rich.console import Console
from rich.progress import track
from rich.table import Table

from langchain_memory_context import MemoryContextMiddleware
from langchain_memory_context.messages import neutral_of
from memory_context import MemoryRef, default_counter
from memory_context.replay.prices import (
    ChargedMessage,
    Price,
    charged,
    parse_price,
    tokens_of,
    tokens_of_prefix,
)
from memory_context.testing import ScriptedProvider, calling

EACH = 10  # questions of a conversation
WINDOW = 20
TRIGGER, KEPT = 20_000, 3
LONGEST_ANSWER = 100
UNKNOWN = "I do not know."
INSTRUCTIONS = (
    "You answer questions about documents, which you read by the tool read. "
    "Answer a question with the value alone, nothing else."
)
PLACES = ("north", "south")
THINGS = [
    "pump",
    "valve",
    "budget",
    "audit",
    "permit",
    "tender",
    "depot",
    "sensor",
    "crane",
    "ledger",
    "boiler",
    "roster",
]
WORK = ["survey", "repair", "review", "transfer", "renewal", "inspection", "purchase", "training"]
Middlewares = list[AgentMiddleware[Any, Any, Any]]
counter = default_counter()


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what answers it.

    Attributes:
        document: Where the answer stands.
        text: The question.
        line: A pattern of the line that answers; its group is the answer.
        answer: The answer.
    """

    document: str
    text: str
    line: str
    answer: str


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: documents by name, and questions about them."""

    documents: dict[str, str]
    questions: list[Question]


def made_session(chance: random.Random, size: int) -> Session:
    """Make documents of *size* lines each, and questions about them."""
    documents, asked = dict[str, str](), list[Question]()
    for make in (_customers, _jobs, _minutes):
        for place in PLACES:
            name = f"{make.__name__.removeprefix('_')}-{place}"
            documents[name], questions = make(chance, name, size)
            asked += chance.sample(questions, EACH)
    everything = "\n".join(documents.values())
    clear = [one for one in asked if len(re.findall(one.line, everything)) == 1]
    return Session(documents, chance.sample(clear, EACH))


def _customers(chance: random.Random, name: str, size: int) -> tuple[str, list[Question]]:
    lines, asked = list[str](), list[Question]()
    for person in people(chance, size, chance.randint(1_000, 90_000)):
        kept = {
            key: getattr(person, key) for key in ("number", "name", "city", "plan", "code", "owner")
        }
        lines.append(json.dumps(kept, ensure_ascii=False))
        for key in ("code", "owner"):
            line = rf'"name": "{re.escape(person.name)}".*?"{key}": "(\w+)"'
            text = f"In {name}, what is the {key} of {person.name}?"
            asked.append(Question(name, text, line, kept[key]))
    return "\n".join(lines), asked


def _jobs(chance: random.Random, name: str, size: int) -> tuple[str, list[Question]]:
    lines, asked = list[str](), list[Question]()
    for second, job in enumerate(chance.sample(range(10_000, 99_999), size)):
        took, worker = chance.randint(100, 99_999), f"worker-{chance.randint(1, 40)}"
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        lines.append(f"{clock} INFO job {job} done in {took} ms by {worker}")
        text = f"In {name}, how many milliseconds did job {job} take?"
        asked.append(Question(name, text, rf"job {job} done in (\d+) ms", str(took)))
    return "\n".join(lines), asked


def _minutes(chance: random.Random, name: str, size: int) -> tuple[str, list[Question]]:
    lines, asked = list[str](), list[Question]()
    speakers = [person.name for person in people(chance, 8, 1)]
    tasks = [
        f"{work} of {thing} {number}" for work in WORK for thing in THINGS for number in range(1, 9)
    ]
    for task in chance.sample(tasks, min(size, len(tasks))):
        other = " and ".join(chance.sample(tasks, 2))
        speaker, day = (
            chance.choice(speakers),
            f"{chance.randint(1, 28)} {chance.choice(['May', 'June', 'July'])}",
        )
        lines.append(
            f"{chance.choice(speakers)}: We spoke about {other} before; I have nothing to add to that."
        )
        lines.append(f"{speaker}: I shall do the {task} myself, and it will be finished by {day}.")
        said = rf"shall do the {task} myself, and it will be finished by (\d+ \w+)"
        asked.append(Question(name, f"In {name}, by when will the {task} be finished?", said, day))
        said = rf"([A-Z]\w+ [\w-]+): I shall do the {task} myself"
        asked.append(Question(name, f"In {name}, who does the {task}?", said, speaker))
    return "\n".join(lines), asked


class ScriptedReader(ScriptedProvider):
    """Answers from what stands in the prompt; see the beginning of this file."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        super().__init__()
        self._asked = {one.text: one for session in sessions for one in session.questions}

    def answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return what the reader says or calls, if the request is one that OpenAI takes."""
        messages = request["messages"]
        self.script = [self._step(messages, {one["function"]["name"] for one in request["tools"]})]
        said = super().answer(request)
        self.asked.clear()
        return said

    def _step(self, messages: Sequence[dict[str, Any]], tools: set[str]) -> dict[str, Any]:
        last = max(index for index, one in enumerate(messages) if one["role"] == "user")
        since = len(messages) - last - 1
        question = self._asked.get(str(messages[last]["content"]))
        if question is None:
            names = str(messages[last]["content"]).removeprefix("Read ").split(", ")
            if since:
                return {"content": "I have read them."}
            calls = [
                calling("read", f"{last}-{name}", document=name)["tool_calls"][0] for name in names
            ]
            return {"tool_calls": calls}
        for message in messages:
            if message["role"] in {"user", "tool"}:
                found = re.search(question.line, str(message["content"]))
                if found:
                    return {"content": found[1]}
        if since:
            return {"content": UNKNOWN}
        key = _reference_to(question.document, messages)
        if key and "retrieve_memory" in tools:
            return calling("retrieve_memory", f"{last}", key=key, query=question.text)
        return calling("read", f"{last}", document=question.document)


def _reference_to(document: str, messages: Sequence[dict[str, Any]]) -> str | None:
    """Return the key that stands where a document was read, if one does."""
    ids = set[str]()
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            if (
                function["name"] == "read"
                and json.loads(function["arguments"])["document"] == document
            ):
                ids.add(call["id"])
        refs = (
            MemoryRef.find_all(str(message["content"]))
            if message.get("tool_call_id") in ids
            else ()
        )
        if refs:
            return refs[0].key
    return None


@dataclass
class Meter(AgentMiddleware[Any, Any, Any]):
    """Adds up what a model is sent; the innermost middleware.

    Attributes:
        price: What tokens cost.
        calls: Calls of the model.
        tokens: Tokens of the input.
        cost: The same with cached ones at their price.
    """

    price: Price
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    before: list[ChargedMessage] = field(default_factory=list[ChargedMessage])

    def __post_init__(self) -> None:
        """Have no tools, as LangChain asks."""
        self.tools = []

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Count a call."""
        response = handler(request)
        [answer] = [one for one in response.result if isinstance(one, AIMessage)]
        tokens, cached = self._counted(request)
        if answer.usage_metadata:
            tokens = answer.usage_metadata["input_tokens"]
            cached = answer.usage_metadata.get("input_token_details", {}).get("cache_read", 0)
        self.calls += 1
        self.tokens += tokens
        self.cost += self.price.call(tokens, cached)
        return response

    def _counted(self, request: ModelRequest[Any]) -> tuple[int, int]:
        """Return the tokens of a request, and how many of them the one before begins with."""
        tools = json.dumps([convert_to_openai_tool(one) for one in request.tools])
        head = ChargedMessage("system", f"{tools}\n{request.system_prompt}")
        prompt = [head, *(charged(neutral_of(message)) for message in request.messages)]
        cached = tokens_of_prefix(self.before, prompt, counter)
        self.before = prompt
        return tokens_of(prompt, counter), cached


class Window(AgentMiddleware[Any, Any, Any]):
    """Shows a model the newest messages only, from a person's on."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Cut the beginning off."""
        newest = trim_messages(
            request.messages, max_tokens=WINDOW, token_counter=len, start_on="human"
        )
        return handler(request.override(messages=newest))  # type: ignore[arg-type] # it keeps their types


def _ours() -> Middlewares:
    return [MemoryContextMiddleware("sqlite://", user_id="42")]


def _clearing() -> Middlewares:
    return [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=TRIGGER, keep=KEPT)])]


WAYS: dict[str, Callable[[], Middlewares]] = {
    "no folding": list,
    "memory-context": _ours,
    f"the newest {WINDOW} messages": lambda: [Window()],
    f"clearing over {TRIGGER:,} tokens": _clearing,
}


@dataclass
class Tally:
    """What one way came to."""

    asked: int = 0
    exact: int = 0
    calls: int = 0
    again: int = 0
    tokens: int = 0
    cost: float = 0.0


def hold(
    session: Session,
    model: ChatOpenAI,
    meter: Meter,
    middlewares: Middlewares,
    tally: Tally,
    *,
    once: bool,
) -> None:
    """Hold one conversation, and add to a tally what it came to."""
    left = dict(session.documents)

    @tool
    def read(document: str) -> str:
        """Read a document by its name."""
        if document not in session.documents:
            return f"no such document; there are {', '.join(session.documents)}"
        if once:
            return left.pop(document, "It was read already and is gone.")
        return left[document]

    agent: Any = create_agent(
        model,
        tools=[read],
        system_prompt=INSTRUCTIONS,
        middleware=[*middlewares, meter],
        checkpointer=InMemorySaver(),
    )
    settings = {"configurable": {"thread_id": "t"}, "recursion_limit": 60}
    names = ", ".join(session.documents)
    agent.invoke({"messages": [HumanMessage(f"Read {names}")]}, settings)
    for question in session.questions:
        before = meter.calls
        try:
            state = agent.invoke({"messages": [HumanMessage(question.text)]}, settings)
            said = str(state["messages"][-1].text)
        except GraphRecursionError:
            said = ""
        tally.asked += 1
        tally.again += meter.calls - before - 1
        tally.exact += is_exact(said, question.answer)


def is_exact(said: str, answer: str) -> bool:
    """Return whether an answer holds the right value, whole, and is no longer than a sentence."""
    whole = rf"(?<!\w){re.escape(answer.casefold())}(?!\w)"
    return len(said) <= LONGEST_ANSWER and re.search(whole, said.casefold()) is not None


def main(
    *,
    model: Annotated[str | None, typer.Option(help="A live model; else a scripted reader.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Of a server that speaks OpenAI's protocol.")
    ] = None,
    price: Annotated[str, typer.Option(help="As of `memory-context replay`.")] = "gpt-5.4",
    questions: Annotated[
        int, typer.Option(min=EACH, help="How many; ten are a conversation.")
    ] = 100,
    size: Annotated[int, typer.Option(min=20, help="Lines of a document.")] = 200,
    seed: Annotated[int, typer.Option(help="Of documents and questions.")] = 1,
    once: Annotated[bool, typer.Option("--once", help="A document can be read only once.")] = False,
) -> None:
    """Print the table."""
    chance = random.Random(seed)
    sessions = [made_session(chance, size) for _ in range(questions // EACH)]
    paid = parse_price(price)
    table = Table("way", "exact", "calls", "again", "tokens", "dollars")
    with ExitStack() as stack:
        if model:
            client = ChatOpenAI(model=model, base_url=base_url)
        else:
            reader = stack.enter_context(ScriptedReader(sessions))
            client = ChatOpenAI(model="scripted", base_url=reader.url, api_key="none")  # type: ignore[arg-type] # as it takes it
        for name, make in WAYS.items():
            tally = Tally()
            for session in track(sessions, name, transient=True):
                meter = Meter(paid)
                hold(session, client, meter, make(), tally, once=once)
                tally.calls += meter.calls
                tally.tokens += meter.tokens
                tally.cost += meter.cost
            exact = f"{tally.exact} of {tally.asked}"
            numbers = (f"{tally.calls:,}", f"{tally.again:,}", f"{tally.tokens:,}")
            table.add_row(name, exact, *numbers, paid.in_dollars(tally.cost))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
