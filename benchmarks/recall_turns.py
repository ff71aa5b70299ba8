"""Turns of a long conversation, and plain questions about them that use other words."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """What a person and the assistant said once, and how it is asked for much later.

    Attributes:
        said: What the person said.
        answered: What the assistant answered.
        question: A plain question about it.
        needed: What must stand in the prompt to answer it.
    """

    said: str
    answered: str
    question: str
    needed: str


FACTS = (
    Fact(
        "Who brings the projector and the loudspeakers to the kickoff?",
        "Brightline Rentals does. I asked three firms for the AV equipment, and they were the cheapest.",
        "Which company rents us the AV equipment?",
        "Brightline",
    ),
    Fact(
        "Please note that the kickoff moved to the 14th of March.",
        "Noted: the kickoff is on 14 March, and the room is booked from nine.",
        "On what day is our kickoff?",
        "14",
    ),
    Fact(
        "My sister Ilse will look after the dog while I am in Lisbon.",
        "Good, then the kennel can be cancelled. I have drafted the mail.",
        "Who takes care of the dog?",
        "Ilse",
    ),
    Fact(
        "What does the caterer ask for forty people?",
        "Green Fork asks 1,260 euros for forty people, drinks not included.",
        "How much is the catering?",
        "1,260",
    ),
    Fact(
        "I can't eat hazelnuts, by the way.",
        "I shall keep hazelnuts out of every menu that I suggest.",
        "Which allergy do I have?",
        "hazelnut",
    ),
    Fact(
        "The staging server runs out of disk again.",
        "It was the journal of Kestrel: I set its retention to three days, and 41 GB are free now.",
        "Why did the staging server run out of disk?",
        "Kestrel",
    ),
    Fact(
        "Which plan did we choose for the database in the end?",
        "The one with two replicas in Frankfurt, because the auditors want the data in the EU.",
        "In which city do the database replicas stand?",
        "Frankfurt",
    ),
    Fact(
        "Let Mr Okafor know that the contract is signed.",
        "I have written to him; he will send the countersigned copy by courier.",
        "Whom did you tell about the signed contract?",
        "Okafor",
    ),
    Fact(
        "How did the survey of the newsletter readers end?",
        "412 of them answered, and most want it on Thursdays.",
        "On which weekday do readers want the newsletter?",
        "Thursday",
    ),
    Fact(
        "Book me a hotel near the fair in Hanover.",
        "I booked the Lindenhof, two stops from the fair, for three nights.",
        "What is the name of my hotel in Hanover?",
        "Lindenhof",
    ),
    Fact(
        "What was wrong with the invoice from the printers?",
        "They had charged the posters twice. Paperjay sends a corrected one.",
        "What was the mistake on the printers' invoice?",
        "twice",
    ),
    Fact(
        "Our password policy should be stricter.",
        "Then fourteen characters and no expiry, as the guideline of the regulator says.",
        "How many characters does the password policy ask for?",
        "fourteen",
    ),
    Fact(
        "Could you find a piano teacher for Jonas?",
        "Mrs Abernathy in Mill Lane has a place on Wednesday afternoons.",
        "Who could teach Jonas the piano?",
        "Abernathy",
    ),
    Fact(
        "The tram to the office is always late.",
        "Line 6 leaves from the same stop and needs nine minutes less.",
        "Which tram line gets me to the office faster?",
        "Line 6",
    ),
    Fact(
        "What do we give Priya when she leaves the team?",
        "Everybody was for the travel voucher; I collected 180 euros.",
        "What present does Priya get when she leaves?",
        "voucher",
    ),
)
TOPICS = (
    "the minutes of the board",
    "the garden shed",
    "the chapter on tides",
    "a recipe for lentils",
    "the tax return",
    "the school play",
    "an old camera",
    "the hiking map",
    "the reading list",
    "the new tyres",
)
VERBS = ("Shorten", "Rewrite", "Check", "Explain", "Summarise", "Translate")
WORDS = (
    *(
        "paragraph",
        "sentence",
        "version",
        "detail",
        "reason",
        "shape",
        "colour",
        "corner",
        "surface",
    ),
    *("margin", "pattern", "figure", "order", "edge", "line", "part", "weight", "step", "rest"),
    *("frame", "layer", "border", "centre", "sample", "section"),
)


def conversation(chance: random.Random, fillers: int) -> tuple[list[tuple[str, str]], list[Fact]]:
    """Return turns, five of them worth asking about near the beginning, and what can be asked."""
    facts = chance.sample(FACTS, 5)
    turns = [(fact.said, fact.answered) for fact in facts]
    for _ in range(fillers):
        topic = chance.choice(TOPICS)
        asked = f"{chance.choice(VERBS)} {topic}, please: {_prose(chance, 25)}"
        turns.append((asked, f"Here is {topic}: {_prose(chance, 60)}"))
    # Between the first turns, a filler each: no fact stands beside another.
    begun = turns[5:10]
    mixed = [turn for pair in zip(turns[:5], begun, strict=True) for turn in pair]
    return mixed + turns[10:], facts


def _prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words)) + "."
