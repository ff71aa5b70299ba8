"""Verbs, which are the tools that a model calls, independent of the framework; their answers, errors and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from memory_context import sentences_models_read as prompts
from memory_context.exceptions import (
    DeclinedError,
    MemoryContextError,
    MemoryDeletedError,
    MemoryNotFoundError,
    StoreError,
)
from memory_context.model.checked_arguments import check_arguments
from memory_context.model.tool_names import PAGE_TOKENS, PAGED_TOOLS
from memory_context.text.read.paging import truncated
from memory_context.text.tokens.counter import TokenCounter

# In tokens. A page contains its reference, its position and the next call; with fewer tokens, there would be no room for
# text.
LEAST_ANSWER = 200
USUAL_ANSWER = 500
NAME_SHOWN = 80


class CountsTokens(Protocol):
    """The objects that verbs work on: memories, notes or files."""

    @property
    def counter(self) -> TokenCounter:
        """Return the token counter for answers."""
        ...


Memories = TypeVar("Memories", bound=CountsTokens)


class MemoryToolError(Exception):
    """A tool call failed. The message is for the model, and says what to do next."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a verb.

    Attributes:
        text: The text for the model.
        keys: The keys of the memories that the text is about.
    """

    text: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verb(Generic[Memories]):
    """One of the tools on a user's memories.

    Attributes:
        name: The name by which models call it.
        description: Its description for models.
        args: The class of its arguments.
        work: Returns the answer, given the object that the verb works on (such as a `MemoryManager`), the arguments, and
            the most tokens that the answer may have.
    """

    name: str
    description: str
    args: type[BaseModel]
    work: Callable[[Memories, Any, int], ToolAnswer]

    def called(
        self, memories: Memories, arguments: Mapping[str, Any], max_tokens: int
    ) -> ToolAnswer:
        """Return the answer to a call with arguments as a model wrote them; see `answer`.

        Raises:
            MemoryToolError: The call failed; the message says what to do next.
        """
        try:
            args = self.args.model_validate(arguments)
        except ValidationError as error:
            raise MemoryToolError(problem_with(error, self.args)) from None
        return self.answer(memories, args, max_tokens)

    def answer(self, memories: Memories, args: Any, max_tokens: int) -> ToolAnswer:  # noqa: ANN401 - each verb's own
        """Return the answer. It has at most `max_tokens` tokens, or 200 if that is more.

        Raises:
            MemoryToolError: The call failed; the message says what to do next.
        """
        limit = max(max_tokens, LEAST_ANSWER)
        try:
            return self.work(memories, args, limit)
        except MemoryContextError as error:
            message = advice(error, getattr(args, "key", ""))
            raise MemoryToolError(truncated(message, limit, memories.counter.count)) from None


def answer_limit(verb: Verb[Any], max_tokens: int | None, page_tokens: int | None = None) -> int:
    """Return the most tokens of an answer of *verb*: *max_tokens*, or 500 by default, but never fewer than 200.

    A page of `retrieve_memory` has *page_tokens*; the last page has up to half as many more. An answer of `query_memory`
    that fits such a page is whole.

    Raises:
        InvalidArgumentError: A limit is not a number of tokens.
    """
    check_arguments(max_tokens=max_tokens, page_tokens=page_tokens)
    limit = max_tokens or USUAL_ANSWER
    if verb.name in PAGED_TOOLS and (page_tokens or not max_tokens):
        limit = (page_tokens or PAGE_TOKENS) * 3 // 2
    return max(limit, LEAST_ANSWER)


def advice(error: MemoryContextError, key: str) -> str:
    """Return the message that tells a model what to do after *error*, which may be about *key*."""
    match error:
        case DeclinedError():
            return prompts.DECLINED
        case MemoryDeletedError():
            return prompts.DELETED.format(message=error)
        case MemoryNotFoundError():
            return prompts.NOT_FOUND.format(key=key)
        case StoreError():
            return prompts.STORE_FAILED
        case _:
            return prompts.BAD_ARGUMENT.format(message=error)


def problem_with(error: ValidationError, args: type[BaseModel]) -> str:
    """Return the message that tells a model which of a tool's arguments is wrong, and why."""
    # Only the first mistake is reported: the model corrects it and calls again. An argument under a wrong name is a single
    # mistake, although pydantic reports it twice, as unknown and as missing.
    first, *others = error.errors()
    name = _argument(first["loc"])
    match first["type"]:
        case "extra_forbidden":
            names = ", ".join(args.model_fields) or "none"
            return prompts.NO_SUCH_ARGUMENT.format(name=name[:NAME_SHOWN], names=names)
        case "missing":
            for other in others:
                if other["type"] == "extra_forbidden":
                    given = _argument(other["loc"])[:NAME_SHOWN]
                    return prompts.OTHER_ARGUMENT.format(given=given, name=name)
            return prompts.MISSING_ARGUMENT.format(name=name)
        case _:
            return prompts.WRONG_ARGUMENT.format(
                name=name, problem=first["msg"].removeprefix("Value error, ")
            )


def _argument(path: tuple[int | str, ...]) -> str:
    # The rest of the path consists of pydantic's names of types.
    return str(path[0]) if path else "arguments"
