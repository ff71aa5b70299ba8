"""Who decides what comes back: words, a model, somebody else's judge; within limits, on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import CreateResult, FunctionExecutionResultMessage, LLMMessage, ModelInfo
from pydantic import BaseModel

from for_each import first_quick, for_each
from memory_context import MemoryContext, MemoryRef, RecallPolicy, exceptions
from memory_context.autogen import LLMJudge
from memory_context.conversation.recall.judge_records import (
    Question,
    Verdict,
)
from memory_context.conversation.recall.limits_on_a_judge import JudgeLimits, LexicalJudge
from memory_context.conversation.recall.model_judge import JudgeAnswer, parse_answer
from memory_context.testing import ScriptedChatClient, check_prompt
from memory_context.text.relevance.reasons_for_records import Expansion
from messages import LOG, call, results, user
from test_context import fill, shown

# Words of it are met, but nothing is named: keyword matching has an answer, and is not sure.
SPOKEN = LOG.replace("worker-200 handled", "they said that the mirror refused another lease")
ABOUT_LEASES = "What was said of the mirror and its lease?"


class Model(ScriptedChatClient):
    """A scripted judge's model that can do what is said, and remembers how it was asked."""

    def __init__(self, script: Sequence[Any], **abilities: bool) -> None:
        super().__init__(script)
        self.abilities, self.asked_for, self.delay = abilities, list[object](), 0.0

    @property
    def model_info(self) -> ModelInfo:
        """The abilities that the test gave it."""
        return cast("ModelInfo", {**super().model_info, **self.abilities})

    async def create(self, messages: Sequence[LLMMessage], **settings: Any) -> CreateResult:
        """The scripted answer, after a while."""
        self.asked_for.append(settings.get("json_output"))
        await asyncio.sleep(self.delay)
        return await super().create(messages)


def answer(*expand: dict[str, str], intent: str = "concrete", search: str | None = None) -> str:
    """A judge's answer."""
    return json.dumps({"intent": intent, "expand": expand, "search": search})


async def folded(context: MemoryContext, text: str = LOG) -> str:
    """Fold a text; gives its key."""
    messages = await fill(context, call("run"), results(text))
    return MemoryRef.find_all(shown(messages[-1]))[0].key


class TestModel:
    """A lightweight model decides."""

    async def test_opens_what_it_asks_for(self) -> None:
        """The lines that the model asks for come back, and the decision is on record with its cost."""
        keys = list[str]()
        model = Model([lambda _: answer({"key": keys[0], "lines": "70-71"})])
        context = MemoryContext("ann", store="sqlite://", model_client=model)
        key = await folded(context)
        keys.append(key)

        messages = await fill(context, user("what about the seventieth?"))

        assert "\n".join(LOG.split("\n")[69:71]) in shown(messages[-2])
        [decision] = context.decisions()
        assert ("model:Model", (key,), (key,), "concrete") == (
            decision.judge,
            decision.offered,
            decision.opened,
            decision.intent,
        )
        assert decision.tokens > 0
        assert decision.seconds > 0
        check_prompt(messages)

    async def test_one_decision_for_one_message(self) -> None:
        """The model is asked once, however often the messages are asked for, and not for results or answers."""
        model = Model([answer()])
        context = MemoryContext("ann", store="sqlite://", model_client=model)
        await folded(context)

        await fill(context, user("what about the second one?"))
        await fill(context, call("run", number=2), results("small", number=2))
        await context.get_messages()

        assert 1 == len(model.prompts)

    @pytest.mark.long
    @for_each(
        "message, calls",
        [
            ("why?", 1),
            ("And which one?", 1),
            ("which one failed?", 1),
            ("Did anything crash?", 1),
            ("Thanks!", 0),
            ("How are you?", 0),
            ("What is the capital of Peru?", 0),
        ],
    )
    async def test_asked_where_words_are_not_enough(self, message: str, calls: int) -> None:
        """It is asked about what was just spoken of, and about words that stand out of sight, not about the world."""
        model = Model([answer()])
        context = MemoryContext("ann", store="sqlite://", model_client=model)
        await folded(context)
        await fill(context, user(message))
        assert calls == len(model.prompts)

    async def test_nothing_to_decide(self) -> None:
        """Without references and other memories there is no call."""
        model = Model([])
        context = MemoryContext("ann", store="sqlite://", model_client=model)

        await fill(context, user("hello"), user("connect to the DB"))

        assert ([], []) == (model.prompts, context.decisions())

    @for_each(
        "abilities, expected",
        [
            ({"structured_output": True, "json_output": True}, JudgeAnswer),
            ({"structured_output": False, "json_output": True}, True),
            ({"structured_output": False, "json_output": False}, None),
        ],
    )
    async def test_asked_for_what_it_can(
        self, abilities: dict[str, bool], expected: type[BaseModel] | bool | None
    ) -> None:
        """Structured output, JSON mode or plain text, by what the model says that it can."""
        model = Model([answer()], **abilities)
        context = MemoryContext("ann", store="sqlite://", model_client=model)
        await folded(context)

        await fill(context, user("what about it?"))

        assert [expected] == model.asked_for

    @pytest.mark.long
    async def test_prompt_is_bounded(self) -> None:
        """The prompt names the message, the task and at most 30 references, whatever their number and size."""
        model = Model([answer()])
        context = MemoryContext("ann", store="sqlite://", model_client=model)
        await context.add_message(user("x" * 30_000))
        for number in range(40):
            await context.add_message(results(f"{number} {LOG}", number=number))
        await fill(context, user("What about those? " + "handle it " * 3000))

        text = str(model.prompts[0][-1].content)
        assert len(text) < 14_000
        assert 30 == text.count(" tokens, 401 lines")

    async def test_is_told_of_other_memories(self) -> None:
        """Whether there is more to search is said, and a search is made when the model asks for it."""
        model = Model([answer(intent="ambiguous", search="database login")])
        context = MemoryContext("ann", store="sqlite://", model_client=model)
        await context.store("host db-7, user eve", "database login")

        messages = await fill(context, user("connect to the database"))

        assert "which can be searched" in str(model.prompts[0][-1].content)
        assert "host db-7, user eve" in shown(messages[0])
        assert "database login" == context.decisions()[0].searched

    @pytest.mark.long
    @for_each(
        "reply",
        [
            "no idea",
            "",
            "[]",
            '{"intent": "maybe"}',
            '{"expand": "all"}',
            "{" * 50_000,
            lambda _: 1 / 0,
            [],
        ],
    )
    async def test_nonsense(self, reply: Any) -> None:
        """A model that fails or talks nonsense is replaced by the words for that message."""
        context = MemoryContext("ann", store="sqlite://", model_client=Model([reply]))
        await folded(context, SPOKEN)

        messages = await fill(context, user(ABOUT_LEASES))

        assert "the mirror refused" in shown(messages[-2])
        assert "lexical" == context.decisions()[0].judge
        assert "failed" in context.decisions()[0].why

    async def test_too_late(self) -> None:
        """A model that is late is not waited for."""
        model = Model([answer()])
        model.delay = 3600
        context = MemoryContext(
            "ann",
            store="sqlite://",
            model_client=model,
            recall=RecallPolicy(judge_limits=JudgeLimits(seconds=0.05)),
        )
        await folded(context, SPOKEN)

        messages = await asyncio.wait_for(fill(context, user(ABOUT_LEASES)), 300)

        assert "the mirror refused" in shown(messages[-2])
        assert context.decisions()[-1].tokens > 200  # what was sent is paid for

    async def test_asks_for_other_keys(self) -> None:
        """Keys that were not offered are not opened, whoever's they are, and not more than ten at once."""
        made_up = [{"key": f"k{i}", "query": "x"} for i in range(10_000)]
        context = MemoryContext("ann", store="sqlite://", model_client=Model([answer(*made_up)]))
        await folded(context)
        store = context.manager.memory_store
        await MemoryContext("bob", store=store).store("bob's", key="k7")

        assert 3 == len(await fill(context, user("open them all")))
        assert () == context.decisions()[0].opened

    @pytest.mark.parametrize("limits", first_quick([JudgeLimits(calls=0), JudgeLimits(tokens=0)]))
    async def test_budget_of_zero(self, limits: JudgeLimits) -> None:
        """Without a budget the model is never asked; the words decide."""
        model = Model([])
        context = MemoryContext(
            "ann", store="sqlite://", model_client=model, recall=RecallPolicy(judge_limits=limits)
        )
        await folded(context)

        await fill(context, user("What did worker-123 handle?"))

        assert ([], "lexical", 1) == (
            model.asked_for,
            context.decisions()[0].judge,
            context.stats().recalls,
        )

    async def test_circuit_breaker(self) -> None:
        """After some failures in a row the model is left alone for a while, and asked again afterwards."""
        model = Model([lambda _: 1 / 0, lambda _: 1 / 0, answer(), answer()])
        limits = JudgeLimits(failures=2, pause=60)
        context = MemoryContext(
            "ann", store="sqlite://", model_client=model, recall=RecallPolicy(judge_limits=limits)
        )
        time = [0.0]
        context._conversation.cache.bounded_judge.breaker.clock = lambda: time[0]  # noqa: SLF001 - nobody wants to wait a minute
        await folded(context)

        for _ in range(5):
            await fill(context, user("what about that one?"))
        assert 2 == len(model.prompts)
        time[0] = 61
        await fill(context, user("what about that one?"))
        assert 3 == len(model.prompts)

    async def test_component(self, sqlite_url: str) -> None:
        """A context with a model that judges is dumped and loaded with it."""
        context = MemoryContext(
            "ann", store=sqlite_url, model_client=ScriptedChatClient([answer()])
        )

        loaded = ChatCompletionContext.load_component(
            json.loads(context.dump_component().model_dump_json())
        )

        assert context.dump_component() == loaded.dump_component()
        assert isinstance(loaded, MemoryContext)
        await folded(loaded)
        await fill(loaded, user("what about it?"))
        assert "model:ScriptedChatClient" == loaded.decisions()[0].judge


@for_each(
    "text",
    [
        answer(),
        f"Sure! {answer()} Anything else?",
        f"```json\n{answer()}\n```",
        '{} {"intent": "concrete"}',
    ],
)
def test_answers_are_found_in_other_words(text: str) -> None:
    """A JSON object is found in a fence or between sentences."""
    assert JudgeAnswer() == parse_answer(text)


def test_a_line_as_a_number() -> None:
    """A line that a model writes as a number is read."""
    [opening] = parse_answer('{"expand": [{"key": "log_1", "lines": 78}]}').expand
    assert "78" == opening.lines


async def test_named_ones_are_on_record() -> None:
    """A reference that a person names is opened without a judge, and that is on record too."""
    context = MemoryContext("ann", store="sqlite://")
    key = await folded(context)
    await fill(context, user(f"open [MemoryRef: {key}]"))

    assert ("nobody", (key,)) == (context.decisions()[0].judge, context.decisions()[0].opened)


async def test_results_by_setting() -> None:
    """A tool's result brings back what it names, before its call, if the setting says so."""
    for setting, expected in ((True, 1), (False, 0)):
        context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(results=setting))
        await folded(context)
        messages = await fill(context, call("look", number=2), results("see worker-123", number=2))
        assert expected == context.stats().recalls
        check_prompt(messages)
        assert isinstance(messages[-1], FunctionExecutionResultMessage)
        assert not setting or LOG.split("\n")[123] in shown(messages[-3])


class TestIntent:
    """Concrete messages are left alone; vague ones are resolved from what the user has."""

    async def memories(self) -> MemoryContext:
        """A new conversation of a user with some memories."""
        old = MemoryContext("ann", store="sqlite://")
        await old.store("postgresql://db-7.internal/shop, user eve", "DB of the shop")
        await old.store("use tabs", "style of code")
        await old.store("hunter2", "DB password", "secret")
        return MemoryContext("ann", store=old.manager.memory_store)

    async def test_ambiguous(self) -> None:
        """A message about something that stands nowhere brings the memories that may be meant, secrets by name only."""
        context = await self.memories()

        messages = await fill(context, user("Please connect to the DB."))

        assert "DB of the shop" in shown(messages[0])
        assert "DB password" in shown(messages[0])
        assert "hunter2" not in shown(messages[0])
        assert "style of code" not in shown(messages[0])
        [decision] = context.decisions()
        assert ("ambiguous", 2) == (decision.intent, len(decision.found))
        assert "DB" in decision.why

    async def test_one_is_clearly_meant(self) -> None:
        """If only one memory fits, its text comes along."""
        context = await self.memories()

        assert "use tabs" in shown((await fill(context, user("What is my style of code?")))[0])

    async def test_concrete(self) -> None:
        """A message that says all that it takes brings nothing."""
        context = await self.memories()

        messages = await fill(context, user("Write hello world in Python"))

        assert 1 == len(messages)
        assert "concrete" == context.decisions()[0].intent

    async def test_last_time(self) -> None:
        """A message like "the same as last time" brings what was used last."""
        context = await self.memories()
        [style] = await context.search("style of code", limit=1)
        await context.retrieve(style.memory_key)

        messages = await fill(context, user("the same as last time, please"))

        assert style.memory_key == MemoryRef.find_all(shown(messages[0]))[0].key

    async def test_in_sight(self) -> None:
        """What the conversation holds already is not searched for."""
        context = await self.memories()
        await fill(context, user("The DB is sqlite:///x.db", source="colleague"))

        await fill(context, user("Connect to the DB."))

        assert "concrete" == context.decisions()[-1].intent


class TestOwnJudge:
    """Any object of the protocol decides."""

    async def test_decides(self) -> None:
        """Its verdict is carried out, and it is given what it needs."""
        asked: list[Question] = []

        class Mine:
            name = "mine"

            async def decide(self, question: Question) -> Verdict:
                asked.append(question)
                return Verdict(
                    expand=(Expansion(question.candidates[0].item.memory_key, "worker-9"),)
                )

        context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(judge=Mine()))
        await fill(context, user("do it"))
        await folded(context)

        messages = await fill(context, user("whatever this is"))

        assert "worker-9 handled" in shown(messages[-2])
        assert "whatever this is" == asked[0].message
        assert asked[0].turns.startswith("user: do it\nrun: [MemoryRef: run_")
        assert "mine" == context.decisions()[0].judge

    async def test_opens_what_was_offered(self) -> None:
        """Beside what was offered, a memory of the user's that was not stays closed."""

        class Curious:
            name = "curious"

            async def decide(self, question: Question) -> Verdict:
                offered = question.candidates[0].item.memory_key
                return Verdict(
                    expand=(Expansion("diary", "secrets"), Expansion(offered, "worker-9"))
                )

        context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(judge=Curious()))
        await context.store("a page of the diary", key="diary")
        key = await folded(context)

        messages = await fill(context, user("whatever this is"))

        assert "worker-9 handled" in shown(messages[-2])
        assert "diary" not in shown(messages[-2])
        assert (key,) == context.decisions()[0].opened

    @for_each(
        "answer",
        [
            None,
            Verdict(tokens=None),  # type: ignore[arg-type]
            Verdict(why=None),  # type: ignore[arg-type]
            Verdict(expand=None),  # type: ignore[arg-type]
        ],
    )
    async def test_not_a_verdict(self, answer: Any) -> None:
        """A judge that answers something else, or with a field of a wrong type, is replaced by the words."""

        class Wrong:
            name = "wrong"

            async def decide(self, question: Question) -> Verdict:
                del question
                return answer  # type: ignore[no-any-return]

        context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(judge=Wrong()))
        await folded(context)
        await fill(context, user("what about worker-123?"))

        assert ("lexical", 1) == (context.decisions()[0].judge, context.stats().recalls)

    async def test_fails_with_an_error_of_its_own(self) -> None:
        """A judge is replaced by the words whatever its error carries, even tokens that are not a number."""

        class LimitError(Exception):
            tokens = "too many"

        class Failing:
            name = "failing"

            async def decide(self, question: Question) -> Verdict:
                raise LimitError(question.message)

        context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(judge=Failing()))
        await folded(context)
        await fill(context, user("what about worker-123?"))

        assert ("lexical", 1) == (context.decisions()[0].judge, context.stats().recalls)

    async def test_refines_keyword_matching(self) -> None:
        """A subclass of the lexical judge that decides for itself is asked."""

        class Refined(LexicalJudge):
            name = "refined"

            async def decide(self, question: Question) -> Verdict:
                return Verdict(expand=(await super().decide(question)).expand)

        context = MemoryContext("ann", store="sqlite://", recall=RecallPolicy(judge=Refined()))
        await folded(context)
        await fill(context, user("what about worker-123?"))

        assert ("refined", 1) == (context.decisions()[0].judge, context.stats().recalls)

    def test_refused(self) -> None:
        """What is not a judge or not a model client, and two judges at once, are refused."""
        with pytest.raises(exceptions.InvalidArgumentError, match="judge="):
            RecallPolicy(judge=5)  # type: ignore[arg-type] # bad on purpose
        with pytest.raises(exceptions.InvalidArgumentError, match="model_client="):
            MemoryContext("ann", store="sqlite://", model_client="gpt")  # type: ignore[arg-type] # bad on purpose
        with pytest.raises(exceptions.InvalidArgumentError, match="give model_client= or judge="):
            MemoryContext(
                "ann",
                store="sqlite://",
                model_client=ScriptedChatClient([]),
                recall=RecallPolicy(judge=LexicalJudge()),
            )

    def test_cannot_be_dumped(self, sqlite_url: str) -> None:
        """A judge of one's own says that it cannot be dumped; the lexical one needs no word."""

        class Mine(LexicalJudge):
            async def decide(self, question: Question) -> Verdict:
                return Verdict(why=question.message)

        class Other:
            name = "other"

            async def decide(self, question: Question) -> Verdict:
                return Verdict(why=question.message)

        assert (
            MemoryContext("ann", store=sqlite_url, recall=RecallPolicy(judge=LexicalJudge()))
            .dump_component()
            .config
        )
        for judge in (Mine(), Other()):
            with pytest.raises(exceptions.NotSerializableError, match="cannot be dumped"):
                MemoryContext(
                    "ann", store=sqlite_url, recall=RecallPolicy(judge=judge)
                ).dump_component()
        with pytest.raises(exceptions.InvalidArgumentError):
            JudgeLimits(seconds=-1)
        assert LLMJudge(ScriptedChatClient([])).dump_component().config
