"""What a judge's model is asked, as it goes over the wire: when, in which form, with which settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from autogen_core.models import CreateResult, LLMMessage
from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable
from pydantic import Field

from for_each import for_each
from langchain_memory_context import ChatModelJudge
from langchain_memory_context.testing import ScriptedChatModel
from memory_context import MemoryContext
from memory_context.conversation.recall.judge_records import (
    Question,
)
from memory_context.conversation.recall.limits_on_a_judge import BoundedJudge
from memory_context.conversation.recall.model_judge import JudgeAnswer, judge_prompt
from memory_context.model.item import MemoryItem
from memory_context.testing import ScriptedChatClient
from memory_context.text.index.term_hits import term_hits
from memory_context.text.relevance.chosen_records import best_lines
from memory_context.text.relevance.question_terms import asked_terms
from memory_context.text.relevance.recall_candidates_and_their_calls import (
    RecallCandidate,
    SearchedCandidates,
)
from memory_context.text.relevance.term_occurrences import FoundTerms, wanted_lexemes
from messages import LOG, call, results, user
from test_context import fill

NOTHING = '{"intent": "concrete", "expand": [], "search": null}'
FAILED = "deploy1 failed on disk space"


class Client(ScriptedChatClient):
    """A client that keeps its settings, and may refuse them."""

    refuses: Exception | None = None

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Return the script's next reply."""
        self.given: list[Mapping[str, Any]]
        self.given = [*getattr(self, "given", ()), options.get("extra_create_args") or {}]
        if self.given[-1] and self.refuses:
            raise self.refuses
        return await super().create(messages)


async def _context(client: ScriptedChatClient, outputs: int = 2) -> MemoryContext:
    context = MemoryContext("ann", store="sqlite://", model_client=client)
    for number in range(outputs):
        await fill(context, call("run", number=number), results(f"{LOG}\n{number}", number=number))
    return context


@pytest.mark.long
@for_each(
    "message",
    [
        "Thanks, that was great!",
        "Hello!",
        "What is the capital of Mongolia?",
        "What did worker-123 handle?",
        "Good morning, how are you today?",
    ],
)
async def test_no_call_where_nothing_is_to_be_decided(message: str) -> None:
    """A greeting, a question about the world, and a name that keyword matching finds need no model."""
    client = Client([])
    context = await _context(client)
    await fill(context, user(message))
    assert [] == client.prompts
    assert not context.decisions() or "lexical" == context.decisions()[-1].judge


async def test_the_last_turns_are_shown() -> None:
    """The model reads what "the one that failed" is, and the keys that were spoken of."""
    client = Client([NOTHING] * 9)
    context = await _context(client)
    key = next(iter(context.shown_keys()))
    await fill(context, user("first words"), user("How did the deploys go?"))
    await fill(context, user(f"{FAILED}, see [MemoryRef: {key}]", source="watcher"))
    await fill(context, user("show me the one that failed"))
    prompt = str(client.prompts[-1][-1].content)
    assert f"watcher: {FAILED}, see [MemoryRef: {key}]" in prompt
    assert prompt.endswith("Newest message: show me the one that failed")
    assert prompt.startswith("References")


@pytest.mark.long
async def test_most_of_a_request_is_the_same_from_call_to_call() -> None:
    """System message and references are a common prefix; new references come at the end of the list."""
    client = Client([NOTHING] * 9)
    context = await _context(client, 6)
    await fill(context, user("what about those?"))
    await fill(context, call("run", number=7), results(f"{LOG}\nlater", number=7))
    await fill(context, user("and what about the others?"))
    first, second = ("".join(str(one.content) for one in prompt) for prompt in client.prompts)
    same = next(place for place, letter in enumerate(first) if letter != second[place])
    assert same > 0.75 * len(first)


def test_the_best_line_of_a_candidate_is_shown() -> None:
    """What the index found stands below the turns."""
    item = MemoryItem(user_id="ann", memory_key="k", content=LOG)
    candidate = RecallCandidate(item, best_line="worker-5 handled job-9574")
    question = Question(
        "what about it?", "", (candidate,), has_memories=False, in_sight=lambda _: False
    )
    assert "\nk: worker-5 handled job-9574\n" in judge_prompt(question)


async def test_best_lines_come_from_the_index() -> None:
    """The line with most of the message, for each candidate that has one."""
    client = Client([NOTHING])
    await fill(await _context(client, 1), user("what about those that handled 222-of job?"))
    lines = str(client.prompts[0][-1].content).partition("Lines of references")[2]
    assert "handled job-" in lines


def test_the_first_line_of_a_text_is_the_best_one_as_a_whole() -> None:
    """A first line counts all of the message's words in it, and is shown from its beginning."""
    text = "Invoice 4711 was paid late by Kopirex.\nKopirex answers no calls.\n"
    item = MemoryItem(user_id="ann", memory_key="k", content=text)
    asked = asked_terms("Which one did Kopirex pay late?")
    hits = term_hits([item], list(map(wanted_lexemes, asked)), [(0, len(text))])
    texts = SearchedCandidates([RecallCandidate(item)], lambda _: False)
    found = FoundTerms(asked, hits, hits.places, texts)
    assert {"k": "Invoice 4711 was paid late by Kopirex."} == best_lines(found)


def test_the_schema_is_small_and_strict() -> None:
    """No text for developers, no defaults, every field required, nothing else allowed."""
    schema = json.dumps(JudgeAnswer.model_json_schema())
    assert "description" not in schema
    assert "default" not in schema
    assert 2 == schema.count('"additionalProperties": false')
    assert '"required": ["key", "query", "lines"]' in schema


@for_each(
    "refuses, calls",
    [
        (None, 2),
        (ValueError("Extra create args are invalid"), 3),
        (TypeError("unexpected keyword"), 3),
    ],
)
async def test_settings_where_the_client_takes_them(refuses: Exception | None, calls: int) -> None:
    """Temperature 0 and a limit; a client that refuses them is asked once more without, and so from then on."""
    client = Client([NOTHING] * 3)
    client.refuses = refuses
    context = await _context(client)
    await fill(context, user("what about it?"))
    await fill(context, user("what about those?"))
    assert "model:Client" == context.decisions()[-1].judge
    assert calls == len(client.given)
    assert {"temperature": 0, "max_tokens": 400} == client.given[0]
    assert bool(client.given[-1]) == (refuses is None)


class Limited(ScriptedChatModel):
    """A chat model with the usual settings."""

    temperature: float = 1.0
    max_tokens: int | None = None
    seen: list[tuple[float, int | None]] = Field(default_factory=list[tuple[float, int | None]])

    def with_structured_output(self, *_: Any, **__: Any) -> Runnable[Any, Any]:
        """Take no schema."""
        self.seen.append((self.temperature, self.max_tokens))
        raise NotImplementedError


async def test_settings_of_a_chat_model() -> None:
    """A LangChain model has them as fields; the caller's own model is left as it is."""
    model = Limited()
    model.script = [NOTHING]
    judge = ChatModelJudge(model)
    item = MemoryItem(user_id="ann", memory_key="k", content=LOG)
    question = Question(
        "what about it?",
        "",
        (RecallCandidate(item),),
        has_memories=False,
        in_sight=lambda _: False,
    )
    name, verdict = await BoundedJudge(judge).decide(question)
    assert ("model:Limited", ()) == (name, verdict.expand)
    assert [(0, 400)] == model.seen
    assert (1.0, None) == (model.temperature, model.max_tokens)
    assert isinstance(model.prompts[0][-1], HumanMessage)
