"""The messages of AutoGen's saved states, as messages of OpenAI's chat form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from memory_context.exceptions import InvalidArgumentError
from memory_context.replay.content_parts import RecordedMessage


class _Said(BaseModel):
    type: Literal["SystemMessage", "UserMessage"]
    content: str | list[str | dict[str, Any]]
    source: str = ""

    def chat(self) -> Iterator[RecordedMessage]:
        # What is no text is an image.
        pieces = [self.content] if isinstance(self.content, str) else self.content
        parts = [piece if isinstance(piece, str) else {"type": "image"} for piece in pieces]
        role = "system" if self.type == "SystemMessage" else "user"
        yield {"role": role, "source": self.source, "content": parts}


class _Call(BaseModel):
    id: str
    name: str
    arguments: str


class _Reply(BaseModel):
    type: Literal["AssistantMessage"]
    content: str | list[_Call]
    thought: str | None = None

    def chat(self) -> Iterator[RecordedMessage]:
        words, calls = (self.content, []) if isinstance(self.content, str) else ("", self.content)
        functions = [call.model_dump() for call in calls]
        yield {
            "role": "assistant",
            # What a model says beside its calls AutoGen keeps as a thought.
            "content": [text for text in (self.thought, words) if text],
            "tool_calls": [{"id": one["id"], "function": one} for one in functions],
        }


class _Result(BaseModel):
    content: str
    name: str = ""
    call_id: str
    is_error: bool | None = None


class _Results(BaseModel):
    type: Literal["FunctionExecutionResultMessage"]
    content: list[_Result]

    def chat(self) -> Iterator[RecordedMessage]:
        for result in self.content:
            yield {
                "role": "tool",
                "tool_call_id": result.call_id,
                "name": result.name,
                "content": result.content,
                "status": "error" if result.is_error else "success",
            }


_Form: TypeAlias = Annotated[_Said | _Reply | _Results, Field(discriminator="type")]
_FORMS: TypeAdapter[list[_Form]] = TypeAdapter(list[_Form])
_TYPES = ("SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage")


def is_autogens(message: Mapping[str, Any]) -> bool:
    """Return whether a message has the type of one of AutoGen's."""
    return message.get("type") in _TYPES


def chat_of_autogen(messages: Sequence[Mapping[str, Any]]) -> Iterator[RecordedMessage]:
    """Yield messages of OpenAI's chat form for AutoGen's.

    Raises:
        InvalidArgumentError: One of them is none of AutoGen's; says which.
    """
    try:
        forms = _FORMS.validate_python(messages)
    except ValidationError as error:
        first = error.errors()[0]
        number = int(first["loc"][0]) + 1
        raise InvalidArgumentError(
            f"message {number} is not one of AutoGen's: {first['msg']}"
        ) from error
    for form in forms:
        yield from form.chat()
