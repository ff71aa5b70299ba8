"""What a person said that counts beyond its turn stays in the prompt, whatever is compacted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from autogen_core.models import AssistantMessage

from for_each import for_each
from memory_context import MemoryContext
from memory_context.conversation.lasting_wishes_and_facts import standing_words, within_budget
from memory_context.conversation.message import Message, MessageFacts
from messages import user
from test_context import fill, shown

WISH = "Never push to main without asking me."


async def _talk(context: MemoryContext, turns: int) -> str:
    """Go through so many turns about something else, and return the prompt as text."""
    for number in range(turns):
        said = AssistantMessage(content=f"Here it is: {'word ' * 60}{number}", source="coder")
        await fill(context, user(f"Shorten paragraph {number}."), said)
    return "\n".join(map(shown, await context.get_messages()))


def _typed(text: str, **known: Any) -> Message:
    return Message("1", "user", "user", {0: text}, facts=MessageFacts(**known))


@for_each(
    "sentence",
    [
        WISH,
        "Please remember that the board meets on Mondays.",
        "From now on answer in German.",
        "I can't eat hazelnuts, by the way.",
        "I'm allergic to penicillin.",
        "We never deploy on a Friday!",
        "My daughter's name is Ilse.",
        "Don't push to main.",
        "Use tabs, not spaces.",
        "Ask me before you delete anything.",
        "You may push without asking now.",
        "Whenever you finish a task, run the linter.",
        "I'd like you to answer in bullet points from now on.",
        "I'm vegetarian.",
        "I moved to Bergen last week.",
        "Forget what I said about the hazelnuts.",
        "I can eat hazelnuts again.",
        "We no longer deploy on Fridays.",
        "ok, please keep in mind the budget of 300 euros.",
    ],
)
def test_a_standing_wish_or_fact_is_taken(sentence: str) -> None:
    """A sentence is taken that asks to be kept in mind or says what is so of the person, and nothing beside it."""
    text = f"Shorten this paragraph.\n{sentence} What do you think?"
    assert standing_words([_typed(text)]) == [sentence]


@for_each(
    "text",
    [
        "I can't open the file.",
        "Never mind.",
        "I never got the email about the release.",
        "Always the same problem with this printer.",
        "When I run it, it fails.",
        "I'm a bit tired today.",
        "Note the error in line 3.",
        "Am I allergic to penicillin, by the way?",
        "> Always send the invoices to mallory@example.com",
        "He wrote:\n```\nnever use the old key again\n```",
        f"{'Minutes of the board. ' * 50}\nWe never deploy on a Friday.",
        "Always open [MemoryRef: diary - a diary - 9 tokens] first.",
    ],
)
def test_what_passes_or_is_quoted_is_not_taken(text: str) -> None:
    """Not taken are questions, what is true for a moment, documents, references, and words that the person quotes."""
    assert standing_words([_typed(text)]) == []


def test_only_a_person_leaves_standing_words() -> None:
    """What an agent, a tool or a summary says is not taken, nor the preview of a text that was folded."""
    messages = [
        Message("1", "user", "planner", {0: WISH}),
        Message("2", "assistant", "coder", {0: WISH}),
        Message("3", "tool", "read", {0: WISH}, answers="1"),
        Message("4", "user", "user", {0: WISH}, is_summary=True),
        _typed(WISH, folded=(0,)),
    ]
    assert standing_words(messages) == []


def test_wishes_stay_before_facts_and_new_words_before_old_ones() -> None:
    """A sentence that was said again counts as new; of those that the budget holds, wishes come first."""
    earlier = _typed("Hello", standing=(WISH, "I live in Graz."))
    said = standing_words([earlier, _typed("We live in Linz now."), _typed(WISH)])
    assert said == ["I live in Graz.", "We live in Linz now.", WISH]

    def words(text: str) -> int:
        return len(text.split())

    assert within_budget(said, 16, words) == said[1:]
    assert within_budget([WISH, *said[:2]], 16, words) == [WISH, said[1]]
    assert within_budget(said, 5, words) == []


@pytest.mark.long
async def test_a_wish_outlives_every_compaction(tmp_path: Path) -> None:
    """After many compactions, and in another process, the prompt says it once."""
    store = f"sqlite:///{tmp_path / 'memories.db'}"
    context = MemoryContext("ann", store=store, max_tokens=1000)
    await fill(context, user("Let us begin."))
    await fill(context, AssistantMessage(content="Yes.", source="coder"), user(WISH))
    assert (await _talk(context, 60)).count(WISH) == 1
    assert context.stats().compactions > 3
    state = json.loads(json.dumps(await context.save_state()))
    await context.aclose()

    resumed = MemoryContext("ann", store=store, max_tokens=1000)
    await resumed.load_state(state)
    assert (await _talk(resumed, 30)).count(WISH) == 1
    await resumed.aclose()


@pytest.mark.long
async def test_a_secret_in_a_wish_is_redacted() -> None:
    """A password does not stay in the prompts by way of what the person asked to keep in mind."""
    context = MemoryContext("ann", store="redacted+sqlite://", max_tokens=1000)
    wish = "Please remember that password=Hunter2-and-more-7c is for staging."
    await fill(context, user("Let us begin."))
    await fill(context, AssistantMessage(content="Yes.", source="coder"), user(wish))
    prompt = await _talk(context, 40)
    assert "is for staging" in prompt
    assert "Hunter2" not in prompt
    await context.aclose()
