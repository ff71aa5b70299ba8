"""What is left: records of ``key: value`` lines, YAML, lists, prose, and text of no kind."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import LINES, Sample, most, starts
from memory_context.text.describe.wording import counted, plural, short, singular, unique

COUNTED_AT_MOST = 8_000_000
ERRORS_COUNTED_AT_MOST = 2_000_000
_YAML_KEY = re.compile(
    r"(?P<indent>[ ]*)(?P<dash>(?:- +)*)(?P<key>[\w.$/@\"'-][\w.$/@ \"'()-]{0,60}?): *(?P<value>(?:\s.*|\S.*)?)$"
)
_NAMING = re.compile(r"(?:\w*[_-])?(?:name|title|id)|\w+(?:Name|Title|Id)")
_YAML_ITEM = re.compile(r"[ ]*- +\S")
_YAML_LINE = re.compile(
    r"[ ]*(?:- *)*(?:[\"']?[\w.$/@][\w.$/@ -]{0,60}[\"']?:(?:\s|$)|- \S|#)|---\s*$|\.\.\.\s*$"
)
_PAIR = re.compile(
    r"[ \t]*(?:[-*•] +|\d{1,4}[.)] +)?\*{0,2}(?P<key>[A-Za-z][\w /()'-]{0,30}?)\*{0,2} ?:\*{0,2}(?:\s|$)"
)
_INI = re.compile(r"\[[\w .:\"-]{1,80}\]\s*$")
_SETTING = re.compile(r"(?:export )?([A-Za-z_][\w.-]{0,60}) ?= ?\S?.*$")
_NUMBERED = re.compile(r"^[ \t]{0,3}(?:#{0,4} ?)?\**\[?(\d{1,6})[.)\]:]\s+(\S[^\n]*)", re.MULTILINE)
_URL = re.compile(r"https?://[^\s\"'<>)\]]+")
_ADDRESS = re.compile(r"(?:URL|Link|href|Source|url|link)\**:\**\s*\S", 0)
_ERROR = re.compile(
    r"\s*(?:(?:an? )?(?:unexpected )?(?:\w+ )?(?:error|exception|failure)\b|error\b|failed\b|fatal:|cannot |could not |unable to |\w+(?:Error|Exception)\b|[^\n]{0,200}(?:command not found|: not found$|can't open file|No such file or directory|Permission denied))",
    re.IGNORECASE,
)
_ERROR_WORDS = ("error", "failed", "fatal", "exception")
_ERROR_LINE = re.compile(
    r"[ef](?<!\w[ef])(?:rror|xception|ailed|atal)\b[^\n]*"
)  # led by two letters, as a search for \b is slow
_USAGE = re.compile(r"\s*usage:\s*([^\n]+)", re.IGNORECASE)
LONGEST_WORD = 60
READ_AT_MOST = 8_000
_SENTENCE = re.compile(r"\w[.!?。！？](?:\s|$|[\"”'’)])")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?)+")
_HEXDUMP = re.compile(r"[0-9a-fA-F]{6,8}:? +(?:[0-9a-fA-F]{2,4} +){4}")


@dataclass(frozen=True, slots=True)
class Blank(Kind):
    """Nothing."""

    is_empty: bool

    @property
    def facts(self) -> str:
        """Whether there are at least blanks."""
        return "empty text" if self.is_empty else "blank text"


@dataclass(frozen=True, slots=True)
class Yaml(Kind):
    """Keys with values by indentation: ``YAML, 5 services: name, image``."""

    keys: tuple[str, ...]
    count: int = 0
    noun: str = ""
    documents: int = 1

    @property
    def facts(self) -> str:
        """How many entries of what, where most of it is a list."""
        if self.documents > 1:
            return f"YAML, {counted(self.documents, 'document')}"
        return f"YAML, {self.count:,} {self.noun}" if self.count else "YAML"

    @property
    def details(self) -> tuple[str, ...]:
        """The keys."""
        return self.keys


@dataclass(frozen=True, slots=True)
class Settings(Kind):
    """``NAME=value`` lines: ``settings, 24 values: HOME, PATH``."""

    count: int
    names: tuple[str, ...]
    notation: str = "settings"

    @property
    def facts(self) -> str:
        """How many."""
        return f"{self.notation}, {counted(self.count, 'value')}"

    @property
    def details(self) -> tuple[str, ...]:
        """Their names."""
        return self.names


@dataclass(frozen=True, slots=True)
class Records(Kind):
    """Blocks of ``key: value`` lines, or a numbered list: ``10 results with title, url: First …``."""

    notation: str
    count: int
    noun: str
    having: str
    keys: tuple[str, ...]
    first: str = ""

    @property
    def facts(self) -> str:
        """How many."""
        return f"{self.notation}{counted(self.count, self.noun)}{self.having}"

    @property
    def details(self) -> tuple[str, ...]:
        """What each has, or what the first is."""
        return self.keys or ((self.first,) if self.first else ())


@dataclass(frozen=True, slots=True)
class Encoded(Kind):
    """Letters that stand for bytes: ``base64, 12,000 characters of PNG image``."""

    notation: str
    size: int
    content: str = ""

    @property
    def facts(self) -> str:
        """How long, and of what."""
        return f"{self.notation}, {counted(self.size, 'character')}{f' of {self.content}' if self.content else ''}"


@dataclass(frozen=True, slots=True)
class Prose(Kind):
    """Sentences: ``prose, 1,204 words: It was …``."""

    words: int
    first: str

    @property
    def facts(self) -> str:
        """How many words."""
        return f"prose, {counted(self.words, 'word')}"

    @property
    def details(self) -> tuple[str, ...]:
        """How it begins."""
        return (self.first,)


@dataclass(frozen=True, slots=True)
class Plain(Kind):
    """A text of no other kind: ``text, 12 lines: Dear Ann``."""

    lines: int
    errors: int
    first: str
    is_error: bool = False
    inside: str = ""

    @property
    def facts(self) -> str:
        """Lines, and those that speak of errors."""
        if self.is_error:
            return (
                "error message"
                if self.lines <= 3
                else f"error message, {counted(self.lines, 'line')}"
            )
        errors = f", {counted(self.errors, 'line')} with errors" if self.errors else ""
        inside = f", with a {self.inside}" if self.inside else ""
        return f"text, {counted(self.lines, 'line')}{errors}{inside}"

    @property
    def details(self) -> tuple[str, ...]:
        """How it begins."""
        return (self.first,)


def recognise_yaml(sample: Sample) -> Yaml | None:
    """Lines that nearly all are keys, items, or hang below one."""
    lines = [line for line in sample.filled if not line.lstrip().startswith("#")]
    if (
        len(lines) < 3
        or lines[0].startswith((" ", "\t"))
        or any(line[:1] == "\t" for line in lines)
    ):
        return None
    if not _is_keyed(lines):
        return None
    matched = [match for line in lines if (match := _YAML_KEY.match(line))]
    top = [match for match in matched if not match["indent"] and not match["dash"]]
    if not any(not match["value"].strip() or match["dash"] for match in matched) or len(
        matched
    ) < 0.05 * len(lines):
        return None
    if any(match["key"].count(" ") > 2 for match in top):
        return None
    documents = (
        starts(sample.text.rstrip(), "---\n") + (0 if lines[0] == "---" else 1)
        if "\n---\n" in sample.text
        else 1
    )
    return _yaml(sample, lines, matched, top, documents)


def _is_keyed(lines: list[str]) -> bool:
    """Whether a key comes first, each line is one or hangs below one, and some do."""
    if not _YAML_KEY.match(lines[0].removeprefix("- ")) and lines[0] != "---":
        return False
    free = (
        line for line in lines if not line.startswith((" ", "-")) and line not in ("---", "...")
    )
    return all(_YAML_KEY.match(line) for line in free) and any(
        line.startswith((" ", "- ")) for line in lines
    )


def _yaml(
    sample: Sample,
    lines: list[str],
    matched: list[re.Match[str]],
    top: list[re.Match[str]],
    documents: int,
) -> Yaml:
    items = [match for match in matched if match["dash"]]
    indents = Counter(len(match["indent"]) for match in items)
    if items:
        indent = min(indents)
        listed = [match for match in items if len(match["indent"]) == indent]
        count = starts(sample.text, " " * indent + "- ")
        owner = _owner(lines, listed[0], indent)
        fields = _fields(matched, indent)
        if count > 1 and (owner is None or len(top) <= 4) and indent <= 4:
            noun = owner if owner and owner.endswith("s") else plural("item")
            noun = (singular(noun) or noun) if count == 1 else noun
            return Yaml(fields, count, noun.replace("_", " "), documents)
    keys = [short(match["key"].strip("\"'")) for match in (top or matched)]
    below = _below(lines, top[-1]["key"]) if 0 < len(top) <= 3 else ()
    if below:
        keys[-1] = f"{keys[-1]} ({', '.join(below[:4])}{', …' if len(below) > 4 else ''})"
    return Yaml(unique(keys), documents=documents)


def _owner(lines: list[str], first: re.Match[str], indent: int) -> str | None:
    """The key under which the list with that first item stands."""
    place = lines.index(first.string) if first.string in lines else 0
    for line in reversed(lines[:place]):
        match = _YAML_KEY.match(line)
        if (
            match
            and not match["dash"]
            and len(match["indent"]) <= indent
            and not match["value"].strip()
        ):
            return match["key"]
    return None


def _below(lines: list[str], key: str) -> tuple[str, ...]:
    """The keys directly below the last key of the first level."""
    start = next(
        (index for index, line in enumerate(lines) if line.startswith(f"{key}:")), len(lines)
    )
    inner = [
        match
        for line in lines[start + 1 :]
        if (match := _YAML_KEY.match(line)) and not match["dash"]
    ]
    depth = min((len(match["indent"]) for match in inner), default=0)
    return unique(
        short(match["key"].strip("\"'")) for match in inner if len(match["indent"]) == depth
    )


def _fields(matched: list[re.Match[str]], indent: int) -> tuple[str, ...]:
    """What a list's items are called, where they have names; else their keys."""
    inner = [
        match
        for match in matched
        if (match["dash"] and len(match["indent"]) == indent)
        or (not match["dash"] and len(match["indent"]) == indent + 2)
    ]
    for key in dict.fromkeys(match["key"] for match in reversed(inner)):
        values = [match["value"].strip(" \"'") for match in inner if match["key"] == key]
        if _NAMING.fullmatch(key) and all(values) and len(set(values)) == len(values) > 1:
            return unique(map(short, values))
    return unique(short(match["key"].strip("\"'")) for match in inner)


def recognise_settings(sample: Sample) -> Settings | Records | None:
    """``NAME=value`` lines, with or without sections; ``Name: value`` lines."""
    return _assigned(sample) or _told(sample)


def _told(sample: Sample) -> Settings | None:
    """``Name: value`` lines, each name once."""
    lines = sample.filled
    names = [match["key"].strip() for match in most(_PAIR, lines, 0.8)]
    if len(names) < 3 or len(set(names)) < 0.9 * len(names):
        return None
    return Settings(len(names), unique(names), "fields")


def _assigned(sample: Sample) -> Settings | Records | None:
    lines = [line for line in sample.filled if not line.lstrip().startswith(("#", ";"))]
    if sum(1 for line in lines if "=" in line or line[0] == "[") < 0.8 * len(lines):
        return None
    sections = [line.strip() for line in lines if _INI.match(line)]
    pairs = [match[1] for line in lines if (match := _SETTING.match(line.lstrip()))]
    if (
        len(pairs) < 2
        or len(pairs) + len(sections) < 0.8 * len(lines)
        or any(line.rstrip().endswith((";", "{", "(")) for line in lines[:20])
    ):
        return None
    if len(unique(pairs)) * 2 <= len(pairs):
        return Records("", pairs.count(pairs[0]), "record", "", unique(pairs))
    if sum(1 for line in lines if "==" in line) > 0.8 * len(lines):
        return Records("requirements, ", sample.line_count, "package", "", unique(pairs))
    if sections:
        return Settings(
            len(pairs), unique(section.strip("[]") for section in sections), "settings file"
        )
    return Settings(
        max(len(pairs), sample.line_count if len(sample.lines) >= LINES else 0), unique(pairs)
    )


def recognise_records(sample: Sample) -> Records | None:
    """Numbered entries, or blocks that each begin with the same key."""
    return _numbered(sample) or _blocks(sample)


def _numbered(sample: Sample) -> Records | None:
    if not _NUMBERED.search(sample.head[:1000]):
        return None
    entries = [
        (int(match[1]), match[2]) for match in _NUMBERED.finditer(sample.text[:COUNTED_AT_MOST])
    ]
    steps = sum(1 for one, other in pairwise(entries) if other[0] == one[0] + 1)
    if len(entries) < 2 or steps < 0.8 * (len(entries) - 1):
        return None
    keys = Counter(
        match["key"]
        for line in sample.filled
        if (match := _PAIR.match(line)) and not _NUMBERED.match(line)
    )
    common = tuple(
        short(key) for key, times in keys.items() if times >= 0.5 * min(len(entries), 10)
    )
    linked = len(_URL.findall(sample.head)) >= 0.8 * min(len(entries), 20)
    if not common and not linked and len(entries) < 0.3 * len(sample.filled):
        return None
    if linked:
        having = f" ({', '.join(common[:3])}{', …' if len(common) > 3 else ''})" if common else ""
        return Records("", len(entries), "numbered result", having, (), short(entries[0][1], 80))
    return Records("numbered list of ", len(entries), "item", "", (), short(entries[0][1], 80))


def _blocks(sample: Sample) -> Records | None:
    paired = [line for line in sample.filled if ":" in line]
    if len(paired) < 0.3 * len(sample.filled):
        return None
    found = [match["key"].strip() for line in paired if (match := _PAIR.match(line))]
    keys = Counter(found)
    repeated = [key for key, times in keys.items() if times > 1]
    if not repeated or len(found) < 0.3 * len(sample.filled):
        return None
    first = repeated[0]
    times = max(
        keys[first],
        len(
            re.findall(
                rf"^[ \t]*(?:[-*•] +|\d{{1,4}}[.)] +)?\*{{0,2}}{re.escape(first)}\*{{0,2}} ?:",
                sample.text[:COUNTED_AT_MOST],
                re.MULTILINE,
            )
        ),
    )
    common = [key for key in repeated if keys[key] >= 0.5 * keys[first]]
    if len(common) < 2:
        return None
    has_links = any(key.lower() in ("url", "link", "href") for key in common)
    noun = "result" if has_links and any(key.lower() == "title" for key in common) else "record"
    return Records("", times, noun, "", tuple(short(key) for key in common[:8]))


def recognise_encoded(sample: Sample) -> Encoded | None:
    """Base64, hexadecimal digits, or the data of a URL."""
    start = sample.head[:4096].strip()
    if start.startswith("data:") and ";base64," in start[:200]:
        return Encoded(
            "base64 data URL", len(sample.text.strip()), short(start[5 : start.index(";base64,")])
        )
    body = re.sub(r"\n", "", start)
    if len(sample.text) < 100 or " " in body.strip():
        return (
            Encoded("hex dump", len(sample.text))
            if len(sample.filled) > 1 and all(_HEXDUMP.match(line) for line in sample.filled[:5])
            else None
        )
    if _HEX.fullmatch(body):
        return Encoded("hexadecimal digits", len(sample.text.strip()))
    mixed = (
        any(c.isdigit() for c in body)
        and any(c.isupper() for c in body)
        and any(c.islower() for c in body)
    )
    if (
        mixed
        and _BASE64.fullmatch(body)
        and not re.search(r"[A-Z]{25}|[a-z]{25}", body)
        and body.count("/") + body.count("-") < len(body) / 15
    ):
        return Encoded("base64", len(sample.text.strip()), _content_of(body))
    return None


_MAGIC_64 = {
    "iVBORw0KGgo": "PNG image",
    "/9j/": "JPEG image",
    "R0lGOD": "GIF image",
    "JVBERi": "PDF",
    "UEsDB": "ZIP archive",
    "H4sI": "gzip data",
    "PD94bWw": "XML",
    "eyJ": "JSON",
}


def _content_of(body: str) -> str:
    return next((name for magic, name in _MAGIC_64.items() if body.startswith(magic)), "")


@dataclass(frozen=True, slots=True)
class Help(Kind):
    """How a command is used: ``help text, 40 lines: usage: pip install …``."""

    lines: int
    first: str

    @property
    def facts(self) -> str:
        """How long it is."""
        return f"help text, {counted(self.lines, 'line')}"

    @property
    def details(self) -> tuple[str, ...]:
        """What it is the help of."""
        return (self.first,)


def recognise_help(sample: Sample) -> Help | None:
    """A text that begins with how a command is used."""
    match = _USAGE.match(sample.head)
    return Help(sample.line_count, short(match[1], 80)) if match and sample.line_count > 3 else None


def _names_only(sample: Sample) -> Records | None:
    """One word in each line."""
    lines = sample.filled
    if len(lines) < 3 or any(" " in line.strip() or len(line) > LONGEST_WORD for line in lines):
        return None
    return Records(
        "list of ",
        max(len(lines), sample.line_count if len(sample.lines) >= LINES else 0),
        "name",
        "",
        unique(map(short, lines)),
    )


def plain(sample: Sample) -> Kind:
    """The kind of a text that is no other: prose, or just text."""
    text = sample.text
    first = short(sample.first, 100)
    lines = sample.line_count
    if lines <= 40 and _ERROR.match(sample.first):
        return Plain(lines, 0, first, is_error=True)
    if names := _names_only(sample):
        return names
    start = sample.head[:READ_AT_MOST]
    words = len(_WORD.findall(start))
    wide = 0 if start.isascii() else len(_WIDE.findall(start))
    if _are_sentences(start, words) or wide > 80:
        total = (
            (len(text.split()) if len(text) < COUNTED_AT_MOST else len(text) // 6)
            if wide < words * 5
            else 0
        )
        return Prose(total, first) if total else Plain(lines, 0, first)
    return Plain(lines, _error_lines(text[:ERRORS_COUNTED_AT_MOST].lower()), first)


def _are_sentences(text: str, words: int) -> bool:
    """Whether the words of a text stand in long lines, and most of them in sentences."""
    filled = sum(1 for line in text.split("\n") if line and not line.isspace())
    if words < 40 or words <= 6 * filled:
        return False
    sentences = len(_SENTENCE.findall(text))
    return sentences >= 2 and words / sentences < 80


def _error_lines(text: str) -> int:
    """How many lines of a text in small letters speak of errors."""
    return (
        sum(1 for _ in _ERROR_LINE.finditer(text))
        if any(word in text for word in _ERROR_WORDS)
        else 0
    )


def error_message(sample: Sample) -> Plain:
    """A text of which its wrapping says that it is an error."""
    return Plain(sample.line_count, 0, short(sample.first, 100), is_error=True)
