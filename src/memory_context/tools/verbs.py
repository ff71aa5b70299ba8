"""A verb: one of the tools that a model calls, whichever framework brings the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from memory_context import wording_for_models as prompts
from memory_context.exceptions import (
    DeclinedError,
    InvalidArgumentError,
    InvalidKeyError,
    MemoryContextError,
    MemoryDeletedError,
    MemoryNotFoundError,
    StoreError,
)
from memory_context.model.tool_names import PAGE_TOKENS, RETRIEVE
from memory_context.text.read.paging import truncated
from memory_context.text.tokens.counter import TokenCounter

# A page needs its reference, what part it is and the next call: with less there is no room for
# text.
LEAST_ANSWER = 200
USUAL_ANSWER = 500
NAME_SHOWN = 80


class CountsTokens(Protocol):
    """What verbs work on: memories, notes or files."""

    @property
    def counter(self) -> TokenCounter:
        """Return what counts the tokens of answers."""
        ...


Memories = TypeVar("Memories", bound=CountsTokens)


class MemoryToolError(Exception):
    """What went wrong, in words for the model: what to do next."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a verb.

    Attributes:
        text: For the model.
        keys: The memories that it is about.
    """

    text: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verb(Generic[Memories]):
    """One of the tools on a user's memories.

    Attributes:
        name: The name that models call.
        description: What models are told about it.
        args: Its arguments.
        work: Gives the answer, within a number of tokens; from a `MemoryManager`, or what else the
            verb works on.
    """

    name: str
    description: str
    args: type[BaseModel]
    work: Callable[[Memories, Any, int], ToolAnswer]

    def called(
        self, memories: Memories, arguments: Mapping[str, Any], max_tokens: int
    ) -> ToolAnswer:
        """Return the answer to a call with these arguments, as a model writes them; see `answer`.

        Raises:
            MemoryToolError: What went wrong, and what to do next.
        """
        try:
            args = self.args.model_validate(arguments)
        except ValidationError as error:
            raise MemoryToolError(problem_with(error)) from None
        return self.answer(memories, args, max_tokens)

    def answer(self, memories: Memories, args: Any, max_tokens: int) -> ToolAnswer:  # noqa: ANN401 - each verb's own
        """Return the answer; it never takes more than `max_tokens`, or 200 if that is less.

        Raises:
            MemoryToolError: What went wrong, and what to do next.
        """
        most = max(max_tokens, LEAST_ANSWER)
        try:
            return self.work(memories, args, most)
        except MemoryContextError as error:
            told = advice(error, getattr(args, "key", ""))
            raise MemoryToolError(truncated(told, most, memories.counter.count)) from None


def answer_limit(verb: Verb[Any], max_tokens: int | None, page_tokens: int | None = None) -> int:
    """Return the most tokens of an answer of *verb*.

    A page of `retrieve_memory` takes *page_tokens*, the last one of a text up to half as much again.
    """
    most = max_tokens or USUAL_ANSWER
    if verb.name == RETRIEVE and (page_tokens or not max_tokens):
        most = (page_tokens or PAGE_TOKENS) * 3 // 2
    return max(most, LEAST_ANSWER)


def check_owner(owner: object, *kinds: type) -> None:
    """Refuse what tools cannot work on, such as a URL or a store: an agent would learn of it at its first call.

    Raises:
        InvalidArgumentError: It is of none of the *kinds*.
    """
    if not isinstance(owner, kinds):
        names = " or a ".join(kind.__name__ for kind in kinds)
        raise InvalidArgumentError(
            f"these tools take a {names}, not {type(owner).__name__}; "
            "MemoryManager(URL or store, user_id=…) and ScopedMemory(manager) make one"
        )


def advice(error: MemoryContextError, key: str) -> str:
    """Return what a model should do next, after `error`, which may be about `key`."""
    match error:
        case DeclinedError():
            return prompts.DECLINED
        case MemoryDeletedError():
            return prompts.DELETED.format(message=error)
        case MemoryNotFoundError():
            return prompts.NOT_FOUND.format(key=key)
        case InvalidKeyError():
            return prompts.BAD_KEY.format(message=error)
        case StoreError():
            return prompts.STORE_FAILED
        case _:
            return prompts.BAD_ARGUMENT.format(message=error)


def problem_with(error: ValidationError) -> str:
    """Return which argument is of no use, and why, in words for a model."""
    # One mistake at a time: a model mends it and calls again. A wrong name for an argument is one.
    first = error.errors()[0]
    name = _argument(first["loc"])
    unknown = [one for one in error.errors() if one["type"] == "extra_forbidden"]
    if first["type"] == "missing" and unknown:
        given = _argument(unknown[0]["loc"])[:NAME_SHOWN]
        return prompts.OTHER_ARGUMENT.format(given=given, name=name)
    if first["type"] == "extra_forbidden":
        return prompts.NO_SUCH_ARGUMENT.format(name=name[:NAME_SHOWN])
    return prompts.WRONG_ARGUMENT.format(name=name, problem=first["msg"])


def _argument(path: tuple[int | str, ...]) -> str:
    return ".".join(map(str, path)) or "arguments"
