"""The pure parts of ranking: BM25 over steps, the blend of two rankings, passages."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from memory_context.exceptions import InvalidArgumentError
from memory_context.model.item import MemoryItem
from memory_context.text.index.bm25 import (
    LENGTH_BITS,
    STEPS,
    Owner,
    Statistics,
    encoded,
    idf,
    length_at,
    postings,
    step_of,
)
from memory_context.text.index.chunks_and_metadata_cards import SIZE, ChunkStart, card_of, chunks_of
from memory_context.text.index.embedders import as_embedding_model
from memory_context.text.index.keyword_and_vector_scores import Chance, fused
from memory_context.text.index.lexemes_looked_up import MAX_TERMS, rarest

SCORES = st.dictionaries(st.integers(0, 30), st.floats(0.1, 1000), max_size=12)
COSINES = st.dictionaries(st.integers(0, 30), st.floats(-1, 1), max_size=12)
SHARE = st.floats(0, 1)
CHANCE = Chance(0.2, 0.1, 60)


def item(content: str | bytes, **values: object) -> MemoryItem:
    """A memory."""
    return MemoryItem(user_id="ann", memory_key="tool_1234", content=content, **values)  # type: ignore[arg-type] # fields


@given(st.integers(0, 1984))
def test_lengths_are_kept_in_steps(length: int) -> None:
    """A length comes back exact up to 32, at most 1 in 17 too low above, in the bits that a number spares."""
    step = step_of(length)
    kept = length_at(step)
    assert 0 <= step < 1 << LENGTH_BITS
    assert kept == length if length <= 32 else length * 16 / 17 <= kept <= length
    assert step_of(kept) == step


@given(st.integers(1, 500), st.integers(1, 400), st.integers(1, 400))
def test_score_is_bm25(often: int, length: int, holding: int) -> None:
    """A posting gives what BM25 gives for the step that the count lies in."""
    statistics = Statistics(owner=Owner(7), passages=500, length=100_000)
    step = next(
        place
        for place, text in enumerate(Owner(7).names_of("x"))
        if text == Owner(7).named(encoded({"x": often}))
    )
    counts = [holding if place == step else 0 for place in range(len(STEPS))]

    [posting] = postings({"x": counts}, statistics)

    tf = STEPS[step][1]
    expected = idf(holding, 500) * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / 200))
    assert math.isclose(expected, posting.weight / (posting.base + length))


def test_rarest_lexemes_are_searched_for() -> None:
    """Of a long query the rarest lexemes count, those that nobody holds not at all."""
    counts = {f"w{number}": [number, 0, 0, 0] for number in range(100)}

    found = {posting.name for posting in postings(counts, Statistics(Owner(1), 1000, 1000))}

    assert {f"1:w{number}" for number in range(1, MAX_TERMS + 1)} == found


@for_each("holding, chosen", [(1, 100), (2_500, 80), (50_000, MAX_TERMS)])
def test_more_lexemes_are_searched_for_while_it_is_cheap(holding: int, chosen: int) -> None:
    """More than 32 lexemes count only as long as the index has at most 200,000 entries of them."""
    counts = {f"w{number}": [holding, 0, 0, 0] for number in range(150)}

    assert chosen == len(rarest(counts, 100))


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_rare_is_worth_more(holding: int, passages: int) -> None:
    """The rarer a lexeme, the more it is worth; never less than nothing."""
    assert idf(holding, passages) > idf(holding + 1, passages) - 1e-12
    assert idf(holding, passages) >= 0


@given(SCORES, COSINES, SHARE)
def test_blend_lies_between(
    keyword: dict[int, float], semantic: dict[int, float], share: float
) -> None:
    """A blend knows every key of both, from 0 to 1 (ties apart), best first."""
    blend = fused(keyword, semantic, CHANCE, share)

    assert blend.keys() == keyword.keys() | semantic.keys()
    assert all(-1e-5 <= score <= 1 + 1e-5 for score in blend.values())
    assert all(first >= second for first, second in pairwise(blend.values()))


@given(SCORES, COSINES, SHARE, st.integers(1, 64))
def test_units_do_not_matter(
    keyword: dict[int, float], semantic: dict[int, float], share: float, unit: int
) -> None:
    """Scores in other units give the same blend."""
    scaled = fused({key: score * unit for key, score in keyword.items()}, semantic, CHANCE, share)

    assert scaled == pytest.approx(fused(keyword, semantic, CHANCE, share), abs=1e-6)


@given(SCORES, st.dictionaries(st.integers(0, 30), st.floats(-1, 0.4), max_size=12))
def test_what_does_not_stand_out_stays_behind(
    keyword: dict[int, float], semantic: dict[int, float]
) -> None:
    """Cosines as they come by chance leave the order of keyword matching; what only they find follows."""
    blend = fused(keyword, semantic, CHANCE)

    found = sorted(keyword, key=lambda key: -keyword[key])
    assert [key for key in blend if key in keyword] == found
    assert list(blend)[: len(found)] == found


@given(SCORES, COSINES, SHARE)
def test_better_in_both_is_better(
    keyword: dict[int, float], semantic: dict[int, float], share: float
) -> None:
    """What is at least as good in both rankings is not behind."""
    blend = fused(keyword, semantic, CHANCE, share)
    both = keyword.keys() & semantic.keys()

    for first in both:
        for second in both:
            if keyword[first] >= keyword[second] and semantic[first] >= semantic[second]:
                assert blend[first] >= blend[second] - 1e-9


def test_chance() -> None:
    """The more texts there are, the nearer one of them is by chance; equal cosines tell nothing."""
    few, many = Chance(0.2, 0.1, 10), Chance(0.2, 0.1, 100_000)

    assert few.standing_out(0.6) > many.standing_out(0.6) == 0
    assert 1 == few.standing_out(0.9)
    assert 0 == Chance(0.7, 0.0, 10).standing_out(0.7) == Chance(0.7, 0.0, 1).standing_out(0.9)


@given(st.text(st.sampled_from("ab \n\u4e2d"), max_size=3 * SIZE), st.integers(0, 5))
def test_passages_are_the_text(text: str, resumed: int) -> None:
    """Passages follow one another without a gap, know their lines, are bounded; from any of them on, the same."""
    found = list(chunks_of(item(text)))

    assert text == "".join(text[passage.start : passage.stop] for passage in found)
    assert all(passage.stop - passage.start <= SIZE for passage in found)
    assert [1 + text.count("\n", 0, passage.start) for passage in found] == [
        passage.line for passage in found
    ]
    if text and resumed < len(found):
        first = found[resumed]
        assert found[resumed:] == list(
            chunks_of(item(text), ChunkStart(first.ordinal, first.start, first.line))
        )


def test_card() -> None:
    """Key, description, category, tags and metadata are lexemes of every passage."""
    about = item(
        "x\n" * SIZE,
        summary="Nightly builds",
        category="ci/linux",
        tags=("red",),
        content_metadata={"a": ["make", 77]},
    )

    card = card_of(about)

    assert {"tool", "1234", "night", "build", "ci", "linux", "red", "make", "77"} <= {
        *card,
        "night",
    }
    assert all(set(card) <= set(passage.names.split()) for passage in chunks_of(about))


@pytest.mark.parametrize("hidden", [{"memory_type": "secret"}, {"tags": ("secret",)}])
def test_secrets_are_not_indexed(hidden: dict[str, object]) -> None:
    """Of a secret only the card is indexed; so of binary content."""
    [passage] = chunks_of(item("hunter2 " * SIZE, summary="the password", **hidden))
    [binary] = chunks_of(item(b"hunter2"))

    assert "hunter2" not in passage.names + binary.names
    assert "password" in passage.names


def test_embedders() -> None:
    """An embedder is an object in LangChain's shape or a callable; its model has a name of its own."""

    def tiny(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    assert [1.0, 3.0] == as_embedding_model(tiny).query("abc")
    assert (
        as_embedding_model(tiny).name
        != as_embedding_model(tiny, "Tiny").name
        != as_embedding_model(tiny, "tiny").name
    )
    with pytest.raises(InvalidArgumentError, match="embedding_model"):
        as_embedding_model(lambda texts: tiny(texts))  # noqa: PLW0108 - a callable without a name
    with pytest.raises(InvalidArgumentError, match="embed_documents"):
        as_embedding_model(object(), "x")  # type: ignore[arg-type] # what the test is about
