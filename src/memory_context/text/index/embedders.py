"""What turns texts into vectors: an embedder that the user brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, TypeAlias, runtime_checkable

from memory_context.exceptions import InvalidArgumentError

Vector: TypeAlias = Sequence[float]
LONGEST_NAME = 24


@runtime_checkable
class Embedder(Protocol):
    """LangChain's shape of an embedder. All vectors of one embedder have the same number of dimensions."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text, in their order."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        ...


AnyEmbedder: TypeAlias = Embedder | Callable[[list[str]], Sequence[Vector]]


@dataclass(frozen=True, slots=True)
class Model:
    """An embedder under the name that keeps its vectors apart from those of others.

    Attributes:
        name: ``[a-z0-9_]``, at most 33 characters.
        documents: Gives one vector for each text.
        query: Gives the vector of a question.
    """

    name: str
    documents: Callable[[list[str]], Sequence[Vector]]
    query: Callable[[str], Vector]


def as_model(embedder: AnyEmbedder, name: str | None = None) -> Model:
    """`embedder` as a `Model`.

    Args:
        embedder: An object with ``embed_documents`` and ``embed_query``, or a callable from texts to vectors.
        name: What the model is called. Without it, the embedder's ``model``, ``model_name`` or ``__name__``.

    Raises:
        InvalidArgumentError: It is neither, or a callable that has no name.
    """
    called = name or _name_of(embedder)
    if called in (None, "", "<lambda>"):
        message = "vectors are kept by the name of their model: give embedding_model=…"
        raise InvalidArgumentError(message)
    if isinstance(embedder, Embedder):
        return Model(_slug(str(called)), embedder.embed_documents, embedder.embed_query)
    if not callable(embedder):
        message = f"an embedder has embed_documents and embed_query, or is a callable, not {type(embedder).__name__}"
        raise InvalidArgumentError(message)
    documents = embedder
    return Model(_slug(str(called)), documents, lambda text: documents([text])[0])


def _name_of(embedder: Any) -> Any:  # noqa: ANN401 - whatever a caller brings
    """What an embedder calls its model; an object that does not say, by its class."""
    names = (getattr(embedder, name, None) for name in ("model", "model_name", "__name__"))
    own = next((name for name in names if isinstance(name, str)), None)
    return own or (type(embedder).__name__ if isinstance(embedder, Embedder) else None)


def _slug(name: str) -> str:
    """A part of a table's name, another one for every other name."""
    return (
        re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:LONGEST_NAME]
        + "_"
        + sha256(name.encode()).hexdigest()[:8]
    )
