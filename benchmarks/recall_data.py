"""Made data for `recall.py`: outputs of records in several forms, questions about them, and messages that need nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product


def _words(text: str) -> list[str]:
    return text.split()


FIRST_NAMES = _words(
    "Amara Bohdan Celia Dmitri Elif Farid Greta Hiroshi Ines Jakub Kalina Leandro Mirela Nadia Oskar Paloma Quentin "
    "Rosalie Sven Tomasz Ulla Viktor Wanda Ximena Yusuf Zofia Anouk Bastian Corinna Desmond"
)
LAST_PARTS = _words(
    "Lind Berg Okon Mar Kowal Tana Sver Hart Quint Dal Vos Rask Pere Zam Bel Fjord Novak Ibar Strand Gale"
)
LAST_ENDS = _words(
    "qvist mann kwo ski ström ides oglu eira son well wood hoff ec enko ez by ton ini ard"
)
LOGIN_PARTS = _words(
    "ash bram crow dusk elm fern gull hazel iris jay kite lark moss nettle opal pike quill reed sable teal umber "
    "vesper wren yarrow zephyr brook cinder drift ember flint"
)
CITIES = _words("Porto Graz Lyon Turku Gdynia Leeds Bergen Sibiu Malaga Ghent")
STATES = _words("open pending closed overdue active suspended")
PLANS = _words("basic standard premium trial enterprise")
TOPICS = (
    "invoice was sent late",
    "printer driver does not install",
    "delivery arrived damaged",
    "password reset mail never came",
    "exported report is empty",
    "payment was charged twice",
    "the mobile app logs out",
    "address cannot be changed",
)


@dataclass(frozen=True)
class Person:
    """A record that a question may name; `number` and `code` stand nowhere else."""

    number: int
    name: str
    login: str
    owner: str
    code: str
    city: str
    state: str
    plan: str
    topic: str
    day: str
    text: str = ""
    text_place: int = 0


@dataclass(frozen=True)
class RecordOutput:
    """An output of records.

    Attributes:
        form: How they are written.
        text: The output.
        people: Its records.
    """

    form: str
    text: str
    people: Sequence[Person]


@dataclass(frozen=True)
class RecordQuestion:
    """A question that names one record, or two.

    Attributes:
        text: The question.
        named: The records.
        forms: In which form each of them is written.
    """

    text: str
    named: Sequence[Person]
    forms: Sequence[str]


def people(chance: random.Random, count: int, first_number: int) -> list[Person]:
    """Records with names and logins of their own, each with the id of one of `count / 8` owners."""
    made = list[Person]()
    names, logins = set[str](), set[str]()
    number = first_number
    owner = ""
    while len(made) < count:
        name = f"{chance.choice(FIRST_NAMES)} {chance.choice(LAST_PARTS)}{chance.choice(LAST_ENDS)}"
        login = chance.choice(LOGIN_PARTS) + chance.choice(LOGIN_PARTS)
        if chance.random() < 0.4:
            login += str(chance.randint(2, 99))
        if name in names or login in logins:
            name = f"{name}-{chance.choice(LAST_PARTS)}{chance.choice(LAST_ENDS)}"
            login += chance.choice(LOGIN_PARTS)
        if name in names or login in logins:
            continue
        names.add(name)
        logins.add(login)
        number += chance.randint(1, 9)
        if len(made) % 8 == 0:
            owner = f"own_{chance.getrandbits(40):010x}"
        made.append(
            Person(
                number=number,
                name=name,
                login=login,
                owner=owner,
                code=f"{chance.getrandbits(36):09x}",
                city=chance.choice(CITIES),
                state=chance.choice(STATES),
                plan=chance.choice(PLANS),
                topic=chance.choice(TOPICS),
                day=f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
            )
        )
    return made


def _fields(person: Person) -> dict[str, object]:
    fields: dict[str, object] = {
        "id": person.number,
        "owner_id": person.owner,
        "name": person.name,
        "login": person.login,
        "code": person.code,
        "city": person.city,
        "status": person.state,
        "plan": person.plan,
        "last_request": person.topic,
        "updated_at": person.day,
    }
    if person.text:
        items = list(fields.items())
        items.insert(person.text_place, ("text", person.text))
        return dict(items)
    return fields


def _json_list(records: Sequence[Person]) -> str:
    return json.dumps([_fields(person) for person in records], ensure_ascii=False)


def _indented_json(records: Sequence[Person]) -> str:
    rows = [_fields(person) for person in records]
    return json.dumps({"total": len(rows), "items": rows}, indent=2, ensure_ascii=False)


def _python(records: Sequence[Person]) -> str:
    return repr([_fields(person) for person in records])


def _json_lines(records: Sequence[Person]) -> str:
    return "\n".join(json.dumps(_fields(person), ensure_ascii=False) for person in records)


def _csv(records: Sequence[Person]) -> str:
    header = ",".join(_fields(records[0]))
    return "\n".join(
        [header, *(",".join(map(str, _fields(person).values())) for person in records)]
    )


def _blocks(records: Sequence[Person]) -> str:
    blocks = list[str]()
    for person in records:
        lines = [f"{field}: {value}" for field, value in _fields(person).items()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _accounts(records: Sequence[Person]) -> list[dict[str, object]]:
    """Owners, each with the accounts that are theirs; an account does not say whose it is."""
    owners = list[dict[str, object]]()
    for person in records:
        account = _fields(person)
        owner = account.pop("owner_id")
        if not owners or owners[-1]["owner_id"] != owner:
            owners.append({"owner_id": owner, "since": person.day, "accounts": []})
        accounts = owners[-1]["accounts"]
        assert isinstance(accounts, list)
        accounts.append(account)
    return owners


def _nested_json(records: Sequence[Person]) -> str:
    return json.dumps({"owners": _accounts(records)}, ensure_ascii=False)


def _nested_yaml(records: Sequence[Person]) -> str:
    lines = ["owners:"]
    for owner in _accounts(records):
        lines += [
            f"  - owner_id: {owner['owner_id']}",
            f"    since: {owner['since']}",
            "    accounts:",
        ]
        accounts = owner["accounts"]
        assert isinstance(accounts, list)
        for account in accounts:
            for place, (field, value) in enumerate(account.items()):
                lines.append(f"      {'- ' if place == 0 else '  '}{field}: {value}")
    return "\n".join(lines)


def _log(records: Sequence[Person]) -> str:
    lines = list[str]()
    for person in records:
        seconds = person.number % 86_400
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        lines.append(
            f"{person.day}T{clock} INFO account owner={person.owner} id={person.number} login={person.login}"
            f' name="{person.name}" code={person.code} status={person.state} note="{person.topic}"'
        )
    return "\n".join(lines)


FORMS: dict[str, Callable[[Sequence[Person]], str]] = {
    "JSON list": _json_list,
    "JSON, indented": _indented_json,
    "Python repr": _python,
    "JSON lines": _json_lines,
    "CSV": _csv,
    "key: value": _blocks,
    "nested JSON": _nested_json,
    "nested YAML": _nested_yaml,
    "log": _log,
}

ASKED_OF_ONE = (
    (
        "Before the review call this afternoon I would like to know which owner id stands behind {0}, and what the current "
        "status and plan of that account are."
    ),
    (
        "We got a complaint on the phone this morning about {0}; could you please check which code the record has and to "
        "whom it belongs at the moment?"
    ),
    (
        "Please write a short and friendly mail for our colleagues in sales that explains the last request that we have on "
        "file for {0}, with owner and city."
    ),
    (
        "I am preparing the handover for next week and still need the owner and the code of {0}, because the old sheet that "
        "I was given is out of date."
    ),
    (
        "Somebody from the finance department wants to know why {0} was changed recently; what does our data say about the "
        "owner, the plan and the date?"
    ),
)
ASKED_OF_TWO = (
    (
        "Compare the two customers {0} and {1} for me, please: which owner do they belong to, what plan are they on and when "
        "were they last updated?"
    ),
    (
        "In the meeting it was said that {0} and {1} have the same owner; can you confirm from the exported data whether "
        "that is really true?"
    ),
)


def _called(chance: random.Random, person: Person) -> str:
    """A record by its name, its number or its login."""
    return chance.choice(
        [
            person.name,
            f"account {person.number}",
            f"number {person.number}",
            f"the login {person.login}",
            person.login,
        ]
    )


def record_outputs(chance: random.Random, size: int, count: int) -> list[RecordOutput]:
    """Outputs of `size` characters or a little more, each in another form, no record in two of them."""
    forms = list(FORMS.items())
    chance.shuffle(forms)
    made = list[RecordOutput]()
    records = people(chance, count * (size // 200 + 10), 10_000)
    per_output = len(records) // count
    for place in range(count):
        form, write = forms[place % len(forms)]
        mine = records[place * per_output : (place + 1) * per_output]
        share = min(1.0, size / len(write(mine)))
        mine = mine[: max(8, int(len(mine) * share))]
        made.append(RecordOutput(form, write(mine), mine))
    return made


def outputs_with_long_texts(chance: random.Random) -> list[RecordOutput]:
    """Outputs of forty records, each with a text of about 1,500 characters before, between or behind its other fields."""
    made = list[RecordOutput]()
    records = people(chance, 9 * 40, 500_000)
    forms = ("JSON list", "JSON, indented", "nested YAML")
    for number, (form, place) in enumerate(product(forms, (0, 5, 10))):
        mine = list[Person]()
        for person in records[number * 40 : (number + 1) * 40]:
            text = ". ".join(chance.choice(TOPICS) for _ in range(60))
            mine.append(replace(person, text=text, text_place=place))
        made.append(RecordOutput(form, FORMS[form](mine), mine))
    return made


def record_questions(
    chance: random.Random, outputs: Sequence[RecordOutput], count: int
) -> list[RecordQuestion]:
    """Long questions, of which one in three names two records."""
    made = list[RecordQuestion]()
    for place in range(count):
        template = chance.choice(ASKED_OF_TWO if place % 3 == 2 else ASKED_OF_ONE)
        chosen = [chance.choice(outputs) for _ in range(1 + ("{1}" in template))]
        named = [chance.choice(output.people) for output in chosen]
        called = [_called(chance, person) for person in named]
        made.append(
            RecordQuestion(template.format(*called), named, [output.form for output in chosen])
        )
    return made


@dataclass(frozen=True)
class ExactQuestion:
    """A question about a name or number that stands inside longer ones elsewhere, and the line that answers it."""

    text: str
    line: str


def exact_outputs(chance: random.Random) -> tuple[list[str], list[ExactQuestion]]:
    """Lists of 1,500 lines whose numbers and names hold one another, and questions about some lines."""
    orders = [
        f"order {number}: {chance.choice(FIRST_NAMES)} {chance.choice(LAST_PARTS)}{chance.choice(LAST_ENDS)},"
        f" {chance.randint(1, 60)} items, ref {chance.getrandbits(32):08x}"
        for number in range(1, 1501)
    ]
    workers = [
        f"worker-{number} queue={chance.choice(CITIES).lower()} ticket T-{(number * 7) % 1501}"
        f" token={chance.getrandbits(32):08x}"
        for number in range(1, 1501)
    ]
    disks = [
        f"/dev/sd{letter}{number} mounted at /srv/{letter}/{number} uuid {chance.getrandbits(32):08x}"
        for letter in "abcdefghijklmnopqrst"
        for number in range(1, 76)
    ]
    questions = list[ExactQuestion]()
    for number in chance.sample(range(1, 1500), 46):
        questions.append(
            ExactQuestion(f"Who is the customer of order {number}?", orders[number - 1])
        )
    for number in chance.sample(range(1, 1500), 23):
        questions.append(
            ExactQuestion(f"Which queue does worker-{number} serve?", workers[number - 1])
        )
    for number in chance.sample(range(1, 1500), 23):
        line = next(line for line in workers if f"T-{number} " in line)
        questions.append(ExactQuestion(f"Who works on ticket T-{number} today?", line))
    for line in chance.sample(disks, 23):
        disk = line.split()[0]
        questions.append(ExactQuestion(f"Where is {disk} mounted?", line))
    return ["\n".join(orders), "\n".join(workers), "\n".join(disks)], questions


NEEDS_NOTHING = """
Thanks, that is all.
Hello!
Good morning, how are you today?
Great work, thank you very much.
OK, sounds good to me.
Perfect, let's move on.
Can you wait a moment, please? I am on the phone.
Never mind, I found it myself.
Yes, please go ahead.
No, that will not be necessary.
What is the capital of Mongolia?
Who wrote The Magic Mountain?
How far is the moon from the earth?
Please translate "good evening" into Italian.
What does the word serendipity mean?
Write a haiku about the first snow.
Tell me a joke about penguins.
How do I reverse a list in Python?
What is the difference between TCP and UDP?
Explain photosynthesis to a child of six.
How many minutes are there in a week?
What is 17 times 23?
Give me a recipe for pancakes.
Which year did the Berlin Wall fall?
Can you recommend a good novel for the holidays?
I will be back after lunch.
Let us talk about something else.
Could you answer a bit shorter from now on?
Please use bullet points in your answers.
Why is the sky blue?
I am tired today.
See you tomorrow!
What can you do for me?
Are you a human being or a machine?
Please write in a more formal tone.
How do you say thank you in Japanese?
What is the boiling point of ethanol?
Who was the first person on Everest?
Sing me a song.
Wonderful, you have saved me a lot of time.
Sorry, I made a typing mistake.
Do you think that it will rain at the weekend?
What is a prime number?
How does a refrigerator work?
Suggest a name for a black cat.
What is your opinion about modern art?
Please congratulate the whole team from me.
Which language is spoken in Brazil?
Draft a polite refusal of an invitation to dinner.
How long does it take to boil an egg?
Is a tomato a fruit or a vegetable?
Convert 10 miles to kilometres.
What is the plural of the word mouse?
I do not understand, could you say that in other words?
Hm, interesting.
Fine, do that.
Stop here, please.
What is the meaning of life?
Who painted the Mona Lisa?
Let me think about it for a while.
""".strip().split("\n")
