"""Source code: its language, its file, and what it defines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import Hint, Sample
from memory_context.text.describe.wording import counted, short, tail_of_path, unique

COUNTED_AT_MOST = 8_000_000
LOOKED_AT = 120
FIRST = 40
_NUMBERED = re.compile(
    r"[ \t]{0,8}(\d{1,7})(?:\t|→|[ \t]?\| ?|: ?|[ ]{2}(?=\S| ))(.*)$|[ \t]{0,8}(\d{1,7})$"
)
_SUFFIXES = {
    "py": "Python", "pyi": "Python", "js": "JavaScript", "mjs": "JavaScript", "cjs": "JavaScript", "jsx": "JavaScript",
    "ts": "TypeScript", "tsx": "TypeScript", "java": "Java", "kt": "Kotlin", "c": "C", "h": "C", "cc": "C++",
    "cpp": "C++", "hpp": "C++", "cxx": "C++", "go": "Go", "rs": "Rust", "rb": "Ruby", "sh": "shell", "bash": "shell",
    "sql": "SQL", "php": "PHP", "cs": "C#", "css": "CSS", "scss": "CSS", "swift": "Swift", "lua": "Lua", "r": "R",
    "scala": "Scala",
}  # fmt: skip
_NAMES = {
    "python": "Python",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "rust": "Rust",
    "ruby": "Ruby",
    "golang": "Go",
    "csharp": "C#",
}
# Lines that only this language has: counted to tell them apart. Definitions: what a person would count.
# Behind ``.*`` stands a plain character, which the search back through a line can skip to; word boundaries come after it.
_SIGNS: dict[str, str] = {
    "Python": r"(?:async )?def \w+\(.*|class \w+(?:\([^)]*\))?:|(?:from [\w.]+ )?import [\w., *()]+(?: as \w+)?$|@\w[\w.]*(?:\(.*)?$|(?:if|elif|for|while|with|try|except|else|finally)\b.*:$|\"\"\"|return\b[^;]*$|self\.\w+ = |raise \w+",
    "JavaScript": r"(?:export )?(?:default )?(?:async )?function\b|(?:const|let|var) .*(?:=|;)|import .* from ['\"]|(?:module\.)?exports|.*=> ?[{(]|\}\)?;?$|require\(",
    "TypeScript": r"(?:export )?(?:interface|type|enum|declare|abstract class) \w+.*[{=]|.*: (?<=\w: )(?:string|number|boolean|void|Promise<|any|unknown)\b|import type|(?:private|public|readonly) \w+[:(]|export (?:const|class|function|async)|import .* from ['\"]",
    "Java": r"(?:public|private|protected)(?: static| final| abstract| synchronized)* [\w<>\[\], ?]+ \w+|import (?:static )?[\w.]+\*?;|package [\w.]+;|@Override|.*n(?<!\wn)ew \w+.*;$|System\.out",
    "C#": r"using [\w.]+;|namespace [\w.]+|(?:public|private|internal|protected)(?: \w+)* (?:class|interface|record|struct|async|override|void) ?.*|.*\{ get;",
    "C": r"#\s*(?:include|define|ifdef|ifndef|endif|if)\b|(?:static |const |unsigned |struct |inline )*(?:int|void|char|float|double|long|size_t|bool|u?int\d+_t)\b[ *]+\w+.*[;{(,]$|typedef |struct \w+|.*->\w+",
    "C++": r"#include <\w+>$|using namespace|.*std::|template ?<|namespace \w+|class \w+.*\{?$|(?:public|private|protected):$",
    "Go": r"package \w+$|func (?:\(.*?\) )?\w+.*\{$|import \(|.* := .*|type \w+ (?:struct|interface)|if err != nil",
    "Rust": r"(?:pub(?:\(\w+\))? )?(?:async )?fn \w+|use [\w:{}, *]+;|let (?:mut )?\w+|impl\b.*\{|(?:pub )?(?:struct|enum|trait|mod) \w+|#\[|.*m(?<!\wm)atch .*\{$|.*unwrap\(\)|.*println!",
    "Ruby": r"require(?:_relative)? ['\"]|def \w+[?!]?(?:\(.*\))?$|(?:class|module) [A-Z]\w*(?: < .*)?$|end$|attr_\w+ |.* do(?: \|.*\|)?$|puts ",
    "PHP": r"<\?php|\$\w+(?:->|\s*=)|(?:public|private|protected)? ?(?:static )?function \w+|use [\w\\]+;|namespace [\w\\]+;|echo ",
    "shell": r"#!.*\b(?:ba|z|k)?sh$|(?:if|elif|while) (?:\[|!|test|command)|fi$|done$|esac$|(?:export )?[A-Z_]+=\S*$|echo [\"'$]|set -\w|\w+\(\) ?\{|for \w+ in .*(?:do)?$|then$",
    "SQL": r"(?i:(?:create|alter|drop) (?:or replace )?(?:table|index|view|unique|database|function|trigger)\b|insert into|select\b.*|update \w+ set|delete from|begin;|commit;|primary key|(?:from|where|left join|join|group by|order by) \S+|\w+ (?:integer|text|varchar|timestamp|serial|numeric|bigint|boolean)\b.*)",
    "CSS": r"[.#]?[\w-]+(?:[ ,>:.#][\w .#:>,-]*)? \{$|[a-z-]+: [^;{]+;$|@media|\}$",
}  # fmt: skip
_SIGN = {language: re.compile(rf"[ \t]*(?:{signs})") for language, signs in _SIGNS.items()}
_CLASSES: dict[str, str] = {
    "Python": r"[ \t]*class (\w+)", "JavaScript": r"[ \t]*(?:export )?(?:default )?class (\w+)",
    "TypeScript": r"[ \t]*(?:export )?(?:default )?(?:abstract )?(?:class|interface|enum) (\w+)",
    "Java": r"[ \t]*(?:(?:public|private|protected|static|final|abstract|sealed) )*(?:class|interface|enum|record) (\w+)",
    "C#": r"[ \t]*(?:(?:public|private|internal|protected|static|sealed|abstract|partial) )*(?:class|interface|struct|record|enum) (\w+)",
    "C": r"(?:typedef )?struct (\w+)", "C++": r"(?:class|struct) (\w+)", "Go": r"type (\w+) (?:struct|interface)",
    "Rust": r"(?:pub(?:\(\w+\))? )?(?:struct|enum|trait) (\w+)", "Ruby": r"[ \t]*(?:class|module) (\w+)",
    "PHP": r"(?:final |abstract )?(?:class|interface|trait) (\w+)", "SQL": r"(?i:create table (?:if not exists )?[\"`]?(\w+))",
}  # fmt: skip
_FUNCTIONS: dict[str, str] = {
    "Python": r"[ \t]*(?:async )?def (\w+)",
    "JavaScript": r"[ \t]*(?:(?:export )?(?:default )?(?:async )?function\*? ?(\w+)|(?:export )?(?:const|let) (\w+) = (?:async )?(?:\([^)\n]*\)|\w+) =>)",
    "Java": r"[ \t]+(?:(?:public|private|protected|static|final|synchronized|abstract|default) )+[\w<>\[\], ?]+ (\w+)\(",
    "C#": r"[ \t]+(?:(?:public|private|protected|internal|static|override|virtual|async) )+[\w<>\[\]?]+ (\w+)\(",
    "C": r"(?:[a-z_]\w*[ *]+){1,4}(\w+)\([^;\n]*$", "Go": r"func (?:\([^)\n]*\) )?(\w+)", "Rust": r"[ \t]*(?:pub(?:\(\w+\))? )?(?:async |const |unsafe )*fn (\w+)",
    "Ruby": r"[ \t]*def (?:self\.)?(\w+)", "PHP": r"[ \t]*(?:(?:public|private|protected|static|final|abstract) )*function (\w+)",
    "shell": r"(?:function )?(\w+) ?\(\)",
}  # fmt: skip
_FUNCTIONS["TypeScript"] = _FUNCTIONS["JavaScript"]
_FUNCTIONS["C++"] = r"(?:[\w:<>~&*]+[ *&]+){1,4}([\w:~]+)\([^;\n]*$"
_ENDS = (":", ")", '"""', "]", "end", "|", "fi", "done", "then", "}", '"', ";", ",", "(", "{")
_FLOW = {"if", "for", "while", "switch", "return", "else", "catch", "sizeof", "main"}
_VIEWERS = (
    re.compile(r"\[File: (?P<path>[^\n(]+?)(?: \((?P<lines>[\d,]+) lines total\))?\]\s*\n"),
    re.compile(
        r"(?:OBSERVATION:\s*)?Here's the result of running `cat -n` on (?:a snippet of )?(?P<path>\S+?)`?:?\s*\n"
    ),
    re.compile(
        r"(?:The file )?(?P<path>/\S+) has been (?:edited|created|updated)[^\n]*\n(?:[^\n]*`cat -n`[^\n]*\n)?"
    ),
    re.compile(r"==> (?P<path>\S+) <==\n"),
    re.compile(
        r"(?:File|Path|Contents of|Content of|Reading|# file|### File)(?: (?:contents? of|path))?:? [`'\"]?(?P<path>[\w./~\\-]+\.\w{1,8})[`'\"]?:?\s*\n"
    ),
    re.compile(r"(?P<path>[\w./~-]+\.\w{1,8}):\n(?=\s*(?:1[\t:|→ ]|```))"),
)


@dataclass(frozen=True, slots=True)
class Viewed:
    """A file as a viewer shows it, without the viewer's header and line numbers.

    Attributes:
        text: What the file says.
        path: Where it is, if that is said.
        first: The number of the first line shown; 1 where there are no numbers.
        total: How many lines the file has, if that is said.
    """

    text: str
    path: str = ""
    first: int = 1
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Source(Kind):
    """Code: ``Python source app/models.py, 2 classes, 14 functions: User, …``."""

    language: str
    path: str
    lines: str
    classes: int
    functions: int
    names: tuple[str, ...] = ()

    @property
    def facts(self) -> str:
        """The language, the file, how much it defines; how many lines it has where it defines nothing."""
        noun = (
            "table"
            if self.language == "SQL"
            else "type"
            if self.language in ("C", "Go", "Rust")
            else "class"
        )
        counts = [
            counted(number, word)
            for number, word in ((self.classes, noun), (self.functions, "function"))
            if number
        ]
        facts = self.lines if self.lines.startswith("lines") or not counts else ", ".join(counts)
        return f"{self.language} source{f' {self.path}' if self.path else ''}{f', {facts}' if facts else ''}"

    @property
    def details(self) -> tuple[str, ...]:
        """What it defines."""
        return self.names


def viewed(text: str) -> Viewed | None:
    """What a viewer of files shows; None for a text without header and line numbers."""
    path, total, body = "", None, text
    start = text[:2000].lstrip()
    match = next((match for viewer in _VIEWERS if (match := viewer.match(start))), None)
    if match:
        path = match["path"].strip()
        said = match.groupdict().get("lines")
        total = int(said.replace(",", "")) if said else None
        body = text.lstrip()[match.end() :]
    numbered = _without_numbers(body)
    if numbered:
        return Viewed(numbered[0], path, numbered[1], total)
    return Viewed(body, path, 1, total) if match and body.strip() else None


def _without_numbers(text: str) -> tuple[str, int] | None:
    """The lines of a text without the growing numbers before them, and the first number."""
    if not _NUMBERED.match(text[:2000].lstrip("\n").partition("\n")[0]) and text[:2000].strip():
        return None
    lines = text[:200_000].split("\n")
    found = [
        (int(match[1] or match[3]), match[2] or "")
        for line in lines[:LOOKED_AT]
        if (match := _NUMBERED.match(line))
    ]
    filled = sum(1 for line in lines[:LOOKED_AT] if line.strip())
    steps = sum(1 for one, other in pairwise(found) if other[0] == one[0] + 1)
    first = next((line for line in lines if line.strip()), "")
    if (
        len(found) < 3
        or not _NUMBERED.match(first)
        or len(found) < 0.9 * filled
        or steps < 0.9 * (len(found) - 1)
    ):
        return None
    bare = (match[2] or "" for line in lines if (match := _NUMBERED.match(line)))
    return "\n".join(bare), found[0][0]


def recognise_source(
    sample: Sample, shown: Viewed | None = None, language: str = ""
) -> Source | None:
    """The code that a text is; `language` is what a fence calls it."""
    path = (shown.path if shown else "") or _path(sample.hint)
    named = (
        _NAMES.get(language)
        or _SUFFIXES.get(language)
        or _SUFFIXES.get(path.rsplit(".", 1)[-1].lower(), "")
    )
    language = _language(sample, named)
    if not language:
        return None
    text = sample.text[:COUNTED_AT_MOST]
    classes, functions = _defined(_CLASSES, language, text), _defined(_FUNCTIONS, language, text)
    names = unique(short(name) for name in (*classes, *functions))
    path = path if _SUFFIXES.get(path.rsplit(".", 1)[-1].lower()) else ""
    return Source(
        language, tail_of_path(path), _extent(sample, shown), len(classes), len(functions), names
    )


def _path(hint: Hint) -> str:
    return hint.path.split("?", 1)[0]


def _extent(sample: Sample, shown: Viewed | None) -> str:
    lines = sample.line_count
    if shown and (shown.first > 1 or (shown.total and shown.total > lines)):
        of = f" of {shown.total:,}" if shown.total else ""
        return f"lines {shown.first:,}-{shown.first + lines - 1:,}{of}"
    return counted(lines, "line")


def _language(sample: Sample, named: str) -> str:
    """The language of which the most lines are signs; the named one needs few of them."""
    lines = sample.filled[:LOOKED_AT]
    if named and named in _SIGN:
        signs = _signs(_SIGN[named], lines)
        return named if signs >= max(1, len(lines) // 25) else ""
    if named:
        return (
            named
            if sum(1 for line in lines if line.rstrip().endswith(("{", "}", ";", ")")))
            > len(lines) // 4
            else ""
        )
    if sum(1 for line in lines if line.rstrip().endswith(_ENDS)) < 0.15 * len(lines):
        return ""
    scores = _scores(lines)
    if scores["C++"] > 1:
        scores["C++"] += scores["C"]
    if scores["TypeScript"] > 2:
        scores["TypeScript"] += scores["JavaScript"] // 2
    best = max(scores, key=lambda language: scores[language])
    return best if scores[best] >= max(2, 0.15 * len(lines)) and _has_syntax(lines, best) else ""


def _scores(lines: list[str]) -> dict[str, int]:
    """How many lines are signs of each language; beyond the first only of those that they speak for."""
    scores = {language: _signs(sign, lines[:FIRST]) for language, sign in _SIGN.items()}
    likely = max(scores.values()) // 4
    rest = lines[FIRST:]
    return {
        name: score + (_signs(_SIGN[name], rest) if score >= likely else 0)
        for name, score in scores.items()
    }


def _signs(sign: re.Pattern[str], lines: list[str]) -> int:
    return sum(1 for line in lines if sign.match(line))


def _has_syntax(lines: list[str], language: str) -> bool:
    """Whether marks of syntax stand in the lines, and not only words that also begin sentences."""
    ends = {
        "Python": (":", ")", '"""', "]"),
        "Ruby": ("end", "|", ")"),
        "shell": ("fi", "done", "then", "}", '"'),
        "SQL": (";", ",", ")", "("),
        "CSS": (";", "{", "}"),
    }
    marks = ends.get(language, (";", "{", "}", ")", ","))
    marked = sum(1 for line in lines if line.rstrip().endswith(marks))
    strict = ("SQL", "CSS", "shell", "Ruby")
    return marked >= max(1, (0.3 if language in strict else 0.15) * len(lines)) and (
        language != "SQL" or ";" in "".join(lines) or len(lines) < 40
    )


def _defined(patterns: dict[str, str], language: str, text: str) -> list[str]:
    if language not in patterns:
        return []
    found = re.finditer(rf"^(?:{patterns[language]})", text, re.MULTILINE)
    names = [next((group for group in match.groups() if group), "") for match in found]
    return [name for name in names if name and (name not in _FLOW or name == "main")]
