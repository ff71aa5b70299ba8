"""The protocol of embedders, which turn texts into vectors. The user provides one."""

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
    """An embedder as LangChain defines it. All vectors of one embedder must have the same number of dimensions."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in the same order."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        ...


AnyEmbedder: TypeAlias = Embedder | Callable[[list[str]], Sequence[Vector]]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedder, and the name by which its vectors are kept separate from those of others.

    Attributes:
        name: Characters of ``[a-z0-9_]``, at most 33.
        documents: Returns one vector for each text.
        query: Returns the vector of a question.
        distance: How its vectors are compared. Except with cosines, their lengths matter.
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
        name: The name of the model. By default the embedder's ``model``, ``model_name`` or ``__name__``.
        distance: How its vectors are compared. Vectors for different distances are kept separate.

    Raises:
        InvalidArgumentError: `embedder` is neither of these, or a callable without a name; or there is no such distance.
    """
    called = name or name_of(embedder)
    if not isinstance(called, str) or called in ("", "<lambda>"):
        raise InvalidArgumentError(
            "vectors are kept under the name of their model: give embedding_model=…"
        )
    if distance not in get_args(Distance):
        raise InvalidArgumentError(f"a distance is cosine, l2 or inner_product, not {distance!r}")
    if distance != "cosine":
        called = f"{distance} {called}"
    table_part = _slug(called)
    if isinstance(embedder, Embedder):
        return EmbeddingModel(table_part, embedder.embed_documents, embedder.embed_query, distance)
    if not callable(embedder):
        raise InvalidArgumentError(
            f"an embedder has embed_documents and embed_query, or is a callable, not {type(embedder).__name__}"
        )
    return EmbeddingModel(table_part, embedder, lambda text: embedder([text])[0], distance)


def name_of(embedder: object) -> str | None:
    """Return an embedder's name for its model; if it has none, the name of its class; None for other objects."""
    for attribute in ("model", "model_name", "__name__"):
        name = getattr(embedder, attribute, None)
        if isinstance(name, str) and name:
            return name
    if isinstance(embedder, Embedder):
        return type(embedder).__name__
    return None


def _slug(name: str) -> str:
    """Return a part of a table's name, different for each *name*."""
    readable = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:LONGEST_NAME]
    return f"{readable}_{sha256(name.encode()).hexdigest()[:8]}"
