"""A judge that asks a model: one small call, for one message."""

from __future__ import annotations

import json
from typing import Any, Literal, Self

from autogen_core import Component, ComponentBase, ComponentModel
from autogen_core.models import ChatCompletionClient, CreateResult, LLMMessage, SystemMessage, UserMessage
from pydantic import BaseModel, Field

from memory_context import _prompts
from memory_context._judge import Candidate, Expansion, Question, Verdict
from memory_context._refs import one_line
from memory_context._tokens import default_counter
from memory_context.exceptions import InvalidArgumentError, JudgeError
from memory_context.judges import Judge

MAX_CANDIDATES = 30
MAX_TEXT = 4000
MAX_ANSWER = 20_000


class Opening(BaseModel):
    """A reference to open."""

    key: str
    query: str | None = None
    lines: str | None = None


class Answer(BaseModel):
    """What the model answers."""

    intent: Literal["concrete", "ambiguous"] = "concrete"
    expand: list[Opening] = Field(default_factory=list[Opening])
    search: str | None = None


class StrictOpening(BaseModel):
    """A reference to open, every field said: strict schemas take no defaults."""

    key: str
    query: str | None
    lines: str | None


class StrictAnswer(BaseModel):
    """The form that structured output is asked for in; strict schemas take no defaults."""

    intent: Literal["concrete", "ambiguous"]
    expand: list[StrictOpening]
    search: str | None


class LLMJudgeConfig(BaseModel):
    """A dumped judge."""

    model_client: ComponentModel


class LLMJudge(ComponentBase[LLMJudgeConfig], Component[LLMJudgeConfig]):
    """Asks a model through AutoGen's `ChatCompletionClient` what the next step needs.

    The prompt is bounded: the message and the task (4,000 characters of each at most), one line for each of at most 30
    references. The answer is asked for as structured output, as JSON or as text, by what `model_info` says that the
    model can.

    Args:
        model_client: A lightweight model.
    """

    component_type = "judge"
    component_config_schema = LLMJudgeConfig
    component_provider_override = "memory_context.autogen.LLMJudge"

    def __init__(self, model_client: ChatCompletionClient) -> None:
        self.model_client = model_client
        self.name = f"model:{type(model_client).__name__}"

    async def decide(self, question: Question) -> Verdict:
        """The model's verdict.

        Raises:
            JudgeError: The model's answer is none.
        """
        messages: list[LLMMessage] = [
            SystemMessage(content=_prompts.JUDGE_SYSTEM),
            UserMessage(content=_asked(question), source="user"),
        ]
        result = await self.model_client.create(messages, json_output=self._output())
        tokens = _tokens(messages, result)
        try:
            answer = parse_answer(result.content)
        except JudgeError as error:
            raise JudgeError(str(error), tokens=tokens) from error
        expand = tuple(Expansion(one.key, one.query, one.lines, "the model asked for it") for one in answer.expand)
        search = answer.search if question.has_memories else None
        return Verdict(answer.intent, expand, search or None, "the model decided", tokens)

    def _output(self) -> bool | type[BaseModel] | None:
        info = self.model_client.model_info
        if info.get("structured_output"):
            return StrictAnswer
        return True if info.get("json_output") else None

    def _to_config(self) -> LLMJudgeConfig:
        return LLMJudgeConfig(model_client=self.model_client.dump_component())

    @classmethod
    def _from_config(cls, config: LLMJudgeConfig) -> Self:
        return cls(ChatCompletionClient.load_component(config.model_client))


def one_judge(judge: Judge | None, model_client: ChatCompletionClient | None) -> Judge | None:
    """The judge that is given, or the one that asks the model that is given; None for neither.

    Raises:
        InvalidArgumentError: Both are given, or the judge is none.
    """
    if judge is not None and (model_client is not None or not isinstance(judge, Judge)):
        message = "judge= takes one object with a name and decide(); model_client= is short for LLMJudge(…): give one"
        raise InvalidArgumentError(message)
    if model_client is not None and not isinstance(model_client, ChatCompletionClient):
        message = f"model_client= takes a ChatCompletionClient of AutoGen's, not {type(model_client).__name__}"
        raise InvalidArgumentError(message)
    return LLMJudge(model_client) if model_client else judge


def _asked(question: Question) -> str:
    lines = "\n".join(_line(candidate) for candidate in question.candidates[:MAX_CANDIDATES])
    return _prompts.JUDGE_QUESTION.format(
        task=question.task[:MAX_TEXT],
        message=question.message[:MAX_TEXT],
        references=lines or "-",
        memories=_prompts.JUDGE_HAS_MEMORIES if question.has_memories else _prompts.JUDGE_NO_MEMORIES,
    )


def _line(candidate: Candidate) -> str:
    item = candidate.item
    seen = ", ".join(f"{first}-{last}" for first, last in candidate.seen[:5]) or "none"
    description = one_line(item.summary)
    return f"{item.memory_key} - {description} - {item.token_count} tokens, {item.line_count} lines, in sight: {seen}"


def parse_answer(content: Any) -> Answer:  # noqa: ANN401 - whatever a model's client gives
    """The answer in a model's words: JSON, also inside other text or a fence.

    Raises:
        JudgeError: There is none.
    """
    if isinstance(content, str):
        content = content[:MAX_ANSWER]
        start = content.find("{")
        while start >= 0:
            answer = _answer_at(content, start)
            if answer is not None:
                return answer
            start = content.find("{", start + 1)
    message = f"the model's answer is no JSON object as asked for: {content!r:.80}"
    raise JudgeError(message)


def _answer_at(content: str, start: int) -> Answer | None:
    try:
        value, _ = json.JSONDecoder().raw_decode(content, start)
        return Answer.model_validate(value) if Answer.model_fields.keys() & value else None
    except (ValueError, RecursionError):
        return None


def _tokens(messages: list[LLMMessage], result: CreateResult) -> int:
    """What the call cost; counted here where the client does not say."""
    told = result.usage.prompt_tokens + result.usage.completion_tokens
    count = default_counter().count
    return told or sum(count(str(message.content)) for message in messages) + count(str(result.content))
