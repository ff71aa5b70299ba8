"""Embedders, which turn texts into vectors: the user brings one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

from memory_context.exceptions import InvalidArgumentError

Vector: TypeAlias = Sequence[float]
Distance: TypeAlias = Literal["cosine", "l2", "inner_product"]
LONGEST_NAME = 24


@runtime_checkable
class Embedder(Protocol):
    """LangChain's shape of an embedder. All vectors of one embedder have the same number of dimensions."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in their order."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        ...


AnyEmbedder: TypeAlias = Embedder | Callable[[list[str]], Sequence[Vector]]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedder under the name that keeps its vectors apart from those of others.

    Attributes:
        name: ``[a-z0-9_]``, at most 33 characters.
        documents: Gives one vector for each text.
        query: Gives the vector of a question.
        distance: How its vectors are compared; but for cosines, their lengths count.
    """

    name: str
    documents: Callable[[list[str]], Sequence[Vector]]
    query: Callable[[str], Vector]
    distance: Distance = "cosine"


def as_embedding_model(
    embedder: AnyEmbedder, name: str | None = None, distance: Distance = "cosine"
) -> EmbeddingModel:
    """Return `embedder` as an `EmbeddingModel`.

    Args:
        embedder: An object with ``embed_documents`` and ``embed_query``, or a callable from texts to vectors.
        name: What the model is called. Without it, the embedder's ``model``, ``model_name`` or ``__name__``.
        distance: How its vectors are compared. Those for another distance are kept apart.

    Raises:
        InvalidArgumentError: It is neither, or a callable that has no name; or there is no such distance.
    """
    called = name or name_of(embedder)
    if not called or called == "<lambda>":
        raise InvalidArgumentError(
            "vectors are kept under the name of their model: give embedding_model=…"
        )
    if distance not in get_args(Distance):
        raise InvalidArgumentError(f"a distance is cosine, l2 or inner_product, not {distance!r}")
    own = _slug(called if distance == "cosine" else f"{distance} {called}")
    if isinstance(embedder, Embedder):
        return EmbeddingModel(own, embedder.embed_documents, embedder.embed_query, distance)
    if not callable(embedder):
        raise InvalidArgumentError(
            f"an embedder has embed_documents and embed_query, or is a callable, not {type(embedder).__name__}"
        )
    return EmbeddingModel(own, embedder, lambda text: embedder([text])[0], distance)


def name_of(embedder: object) -> str | None:
    """Return what an embedder calls its model; the class of an object that does not say."""
    for attribute in ("model", "model_name", "__name__"):
        name = getattr(embedder, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(embedder).__name__ if isinstance(embedder, Embedder) else None


def _slug(name: str) -> str:
    """Return a part of a table's name, another one for every other name."""
    readable = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:LONGEST_NAME]
    return f"{readable}_{sha256(name.encode()).hexdigest()[:8]}"
