"""Logs: those of programs, of package managers and builds, of shells, and what servers answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_context.text.describe.kind import Kind
from memory_context.text.describe.sample import Sample
from memory_context.text.describe.tracebacks import find_trace
from memory_context.text.describe.wording import counted, short, unique

COUNTED_AT_MOST = 60_000_000
_TIME = r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?|\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)"
_LINE = re.compile(
    rf"\S{{0,60}}[\[(]?{_TIME}|[\[(<]?{_LEVEL}[\])>]?\b[:\s|]|\S{{0,60}}\s\S{{0,60}}\s\S{{0,60}}\s?\[{_TIME}|.{{0,60}}\b{_LEVEL}\b|[IWEF]\d{{4}} \d\d:|\[ *\d+\.\d+\] |(?:level|lvl|ts|time)=\S+ ",
    0,
)
_ERROR_MARKS = (
    "ERROR",
    "FATAL",
    "CRITICAL",
    "SEVERE",
    "level=error",
    "level=fatal",
    " error: ",
    "ERR!",
    "[error]",
    "panic:",
)
_WARNING_MARKS = ("WARN", "level=warn", " warning: ", "[warn")
_DEBUG = re.compile(r"\b(?:TRACE|DEBUG)\b|level=debug")
_ERROR_LINE = re.compile(f"(?:{'|'.join(map(re.escape, _ERROR_MARKS))})[^\n]*")
_ACCESS = re.compile(
    r'\S+ \S+ \S+ \[[^\]\n]+\] "(?:GET|POST|PUT|DELETE|HEAD|PATCH|OPTIONS) [^"\n]*" (\d{3}) '
)
_ACCESS_FAILED = re.compile(r'" 5\d\d ')
_MESSAGE = re.compile(rf"^.*?\b(?:{_LEVEL}|level=\w+|ERR!|[Ee]rror:)[\])>:\s|-]*")

_TOOLS: tuple[tuple[str, str], ...] = (
    ("npm", r"npm (?:WARN|ERR!|warn|error|notice|http)|added \d+ packages?|up to date,? (?:audited )?|(?:removed|changed) \d+ packages?|found \d+ vulnerabilit"),
    ("yarn", r"yarn (?:install|add|run) v|\[\d/\d\] (?:Resolving|Fetching|Linking|Building)|➤ YN\d+|success Saved lockfile"),
    ("pnpm", r"Progress: resolved \d+|Packages: \+\d+|Lockfile is up to date, resolution"),
    ("pip", r"Collecting \S+|Requirement already satisfied|Successfully (?:installed|uninstalled) |(?:Downloading|Using cached) \S+\.(?:whl|tar\.gz)|Installing collected packages|ERROR: (?:Could not find a version|No matching distribution|pip's)|Would install "),
    ("uv", r"(?:Resolved|Prepared|Installed|Audited|Uninstalled) \d+ packages? in "),
    ("poetry", r"Package operations: \d+|  (?:-|•) (?:Installing|Updating|Removing) \S+ \("),
    ("conda", r"(?:Collecting package metadata|Solving environment|## Package Plan ##|Preparing transaction)"),
    ("apt", r"(?:Reading package lists|Building dependency tree|Get:\d+ http|Hit:\d+ http|Setting up \S+ \(|Unpacking \S+|Selecting previously unselected)"),
    ("apk", r"\(\d+/\d+\) (?:Installing|Upgrading) \S+|fetch https?://\S+/APKINDEX"),
    ("yum", r"(?:Loaded plugins:|Last metadata expiration check|Dependencies Resolved|Transaction Summary)"),
    ("brew", r"==> (?:Downloading|Installing|Pouring|Fetching|Caveats) "),
    ("gem", r"(?:Successfully installed \S+-[\d.]+|Fetching gem metadata|Bundle complete!|Using \w[\w-]* [\d.]+)"),
    ("composer", r"(?:Loading composer repositories|Lock file operations|Package operations:|  - Installing \S+/\S+ \()"),
    ("cargo", r"\s+(?:Compiling|Downloaded|Updating|Downloading|Finished|Checking|Locking|Fresh) (?:\S+ v[\d.]+|crates|\d+ packages|.*(?:profile|target)|crates\.io)"),
    ("go", r"go: (?:downloading|finding|extracting|added|upgraded) \S+"),
    ("docker build", r"(?:Step \d+/\d+ : |#\d+ (?:\[|DONE|CACHED|ERROR|sha256|extracting)|Sending build context|Successfully built )"),
    ("docker pull", r"(?:[0-9a-f]{12}: (?:Pull|Already|Download|Waiting|Verifying)|Digest: sha256:|Status: (?:Downloaded|Image))"),
    ("Maven", r"\[(?:INFO|WARNING|ERROR)\] (?:BUILD|Building|Scanning|---|--- |Downloading|Downloaded|Total time|Finished|\S|$)|Download(?:ing|ed) from "),
    ("Gradle", r"> Task :\S+|BUILD (?:SUCCESSFUL|FAILED) in |\d+ actionable tasks?"),
    ("make", r"make(?:\[\d+\])?: (?:\*\*\*|Entering|Leaving|Nothing)|(?:gcc|g\+\+|cc|clang|ar|ld) .*-[oc] |\s*(?:CC|LD|AR|CXX)\s+\S+\.[oa]$|\[ *\d+%\] (?:Building|Linking|Built)"),
    ("terraform", r"(?:Terraform will perform|\s*# \S+ will be|Plan: \d+ to add|Apply complete!)"),
)  # fmt: skip
_TOOL = tuple((name, re.compile(signs)) for name, signs in _TOOLS)
_ANY_TOOL = re.compile("|".join(signs for _, signs in _TOOLS))
_OUTCOME = re.compile(
    r"^(?:.*?(Successfully (?:installed|built|uninstalled) .*)|(added \d+ packages?.*)|(up to date.*)|(Successfully tagged .*)|.*?(BUILD (?:SUCCESS\w*|FAILED|FAILURE).*)"
    r"|(npm ERR! code \S+)|(ERROR: .*)|(E: .*)|(error: .*)|(Installed \d+ packages? in .*)|(\d+ upgraded, \d+ newly installed.*)|\s*(Finished .*)|(Plan: .*)|(make.*\*\*\* .*)|(Bundle complete!.*)|(Audited \d+ packages.*)|(Done in .*))$",
    re.MULTILINE,
)
_TOOL_ERROR = re.compile(
    r"^(?:npm (?:ERR!|error)|ERROR[: ]|E: |error(?:\[E\d+\])?: |\[ERROR\]|.*\*\*\* .*Error|fatal: |Err:\d+|×)[^\n]*",
    re.MULTILINE,
)
_TOOL_WARNING = re.compile(
    r"^(?:npm (?:WARN|warn)|WARNING|warning[: ]|\[WARNING\]|W: |DEPRECATION)[^\n]*", re.MULTILINE
)
_COMMANDS = {
    "npm": "npm install",
    "pip": "pip install",
    "apt": "apt install",
    "gem": "gem install",
    "cargo": "cargo build",
    "go": "go mod download",
    "yarn": "yarn install",
    "pnpm": "pnpm install",
    "composer": "composer install",
    "uv": "uv",
    "make": "make",
}
_RUNNERS = re.compile(
    r"(?:^|[;&|]\s*)((?:npm|yarn|pnpm|pip3?|python3? -m pip|uv|poetry|conda|apt(?:-get)?|brew|gem|bundle|cargo|go|docker|mvn|gradle|\./gradlew|make|cmake|terraform|composer)(?: [a-z][\w-]*)?)"
)

_PROMPT = re.compile(
    r"(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+[:~/\w.-]* ?[$#%]|\[[^\]\n]{1,60}\][$#]|[$%❯➜>]|bash-[\d.]+[$#]|root@\S+[#$]|PS [A-Z]:\\[^>\n]*>|[\w./~-]+\$) +(\S.*)$"
)
_TRACED = re.compile(r"\++ (\S.*)$")
_PYTHON_PROMPT = re.compile(r"(?:>>> |In \[\d+\]: )(\S.*)$")
_STATUS = re.compile(r"HTTP/[\d.]+ (\d{3})(?: ([^\n]{0,40}))?\n")
_TYPE = re.compile(r"^content-type:\s*([\w/+.-]+)", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Log(Kind):
    """A log: ``log, 512 lines, 3 errors: disk full``."""

    notation: str
    lines: int
    errors: int = 0
    warnings: int = 0
    first: str = ""

    @property
    def facts(self) -> str:
        """Lines, errors, warnings."""
        counts = [counted(self.lines, "line")]
        counts += [counted(self.errors, "error")] if self.errors else []
        counts += [counted(self.warnings, "warning")] if self.warnings and not self.errors else []
        return f"{self.notation}, {', '.join(counts)}"

    @property
    def details(self) -> tuple[str, ...]:
        """The last error, else what came out, else how it begins."""
        return (self.first,) if self.first else ()


@dataclass(frozen=True, slots=True)
class Transcript(Kind):
    """Commands and what they printed: ``shell transcript, 3 commands: git status, ls -l``."""

    notation: str
    commands: int
    names: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    inside: str = ""

    @property
    def facts(self) -> str:
        """How many commands; one of which the output is known is named."""
        inside = f", {self.inside}" if self.inside else ""
        return f"{self.notation}, {counted(self.commands, 'command')}{inside}"

    @property
    def details(self) -> tuple[str, ...]:
        """The commands."""
        return self.names


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an HTTP response.

    Attributes:
        status: ``200 OK``.
        media_type: What its header says.
        body: Where the body begins.
    """

    status: str
    media_type: str
    body: int


def http_answer(text: str) -> Answer | None:
    """The head of the HTTP response that a text begins with; of several, as curl shows redirects, the last."""
    answer, position = None, len(text) - len(text[:2000].lstrip())
    while match := _STATUS.match(text, position):
        end = text.find("\n\n", match.end() - 1, match.end() + 20_000)
        end = end if end >= 0 else len(text)
        media = _TYPE.search(text, match.end(), end)
        answer = Answer(
            " ".join(group for group in match.groups() if group).strip(),
            media[1] if media else "",
            min(end + 2, len(text)),
        )
        position = end + 2
    return answer


def recognise_install(sample: Sample) -> Log | None:
    """The output of a package manager or of a build."""
    lines = [*sample.filled[:200], *(sample.last[-60:] if len(sample.lines) > 199 else ())]
    signs = [line for line in lines if _ANY_TOOL.match(line)]
    least = max(1, 0.2 * min(len(lines), 60))
    if len(signs) < least:
        return None
    scores = [(sum(1 for line in signs if sign.match(line)), name) for name, sign in _TOOL]
    best, tool = max(scores, key=lambda score: score[0])
    if best < least or (best == 1 and len(lines) > 4 and tool not in ("npm", "uv")):
        return None
    text = sample.text[:COUNTED_AT_MOST]
    errors, warnings = len(_TOOL_ERROR.findall(text)), len(_TOOL_WARNING.findall(text))
    outcomes = [
        next(group for group in match.groups() if group) for match in _OUTCOME.finditer(sample.tail)
    ]
    failed = (
        next((one for one in outcomes if re.match(r"ERR|E:|npm ERR|error|make", one)), "")
        if errors
        else ""
    )
    return Log(
        f"{_command(sample, tool)} log",
        sample.line_count,
        errors,
        warnings,
        short(failed or (outcomes[-1] if outcomes else sample.first), 80),
    )


def _command(sample: Sample, tool: str) -> str:
    """What was run: as the call says it, else what that tool usually does."""
    said = _RUNNERS.findall(sample.hint.command)
    return said[-1] if said else _COMMANDS.get(tool, tool)


def level_of(line: str) -> str:
    """How serious a line of a log is: ``error``, ``warning``, ``debug``, or nothing where it is neither."""
    if any(mark in line for mark in _ERROR_MARKS) or _ACCESS_FAILED.search(line):
        return "error"
    if any(mark in line for mark in _WARNING_MARKS):
        return "warning"
    return "debug" if _DEBUG.search(line[:LONGEST_PIECE]) else ""


def recognise_log(sample: Sample) -> Log | None:
    """Lines of which most say when, or how serious it is."""
    lines = sample.filled[:60]
    if len(lines) < 2 and not (lines and re.match(_TIME, lines[0])):
        return None
    stamped = sum(1 for line in lines if _LINE.match(line))
    if not stamped or (stamped <= len(lines) // 2 and not _restarts(sample, stamped)):
        return None
    text = sample.text[:COUNTED_AT_MOST]
    if all(_ACCESS.match(line) for line in lines[:5]):
        failed = len(_ACCESS_FAILED.findall(text))
        request = re.search(r'"([^"\n]*)" (5\d\d)', sample.head) or re.search(
            r'"([^"\n]*)" (\d{3})', sample.head
        )
        return Log(
            "access log",
            sample.line_count,
            failed,
            0,
            f"{request[1]} {request[2]}" if request else "",
        )
    error = _ERROR_LINE.search(sample.head)
    count = _count(text, _ERROR_MARKS)
    warnings = _count(text, _WARNING_MARKS) if not count else 0
    trace = find_trace(sample) if "Traceback" in sample.head or "\tat " in sample.head else None
    first = (
        trace.facts
        if trace
        else _without_time(_line_with(sample, error[0]))
        if error
        else _without_time(lines[0])
    )
    return Log("log", sample.line_count, count, warnings, short(first, 100))


def _restarts(sample: Sample, stamped: int) -> bool:
    """Whether the other lines hang below those with a time: tracebacks do."""
    below = sum(
        1 for line in sample.filled[:60] if line.startswith((" ", "\t", "Traceback", "Caused by"))
    )
    return stamped >= 2 and stamped + below >= 0.8 * len(sample.filled[:60])


def _count(text: str, marks: tuple[str, ...]) -> int:
    """How many lines have one of those marks. What does not occur is found out fast, and not looked for any more."""
    found = [re.escape(mark) for mark in marks if mark in text]
    return sum(1 for _ in re.finditer(f"(?:{'|'.join(found)})[^\n]*", text)) if found else 0


def _line_with(sample: Sample, piece: str) -> str:
    return next((line for line in sample.lines if piece[:LONGEST_PIECE] in line), piece)


LONGEST_PIECE = 200


def _without_time(line: str) -> str:
    """What a line of a log says, without when and how loud."""
    bare = re.sub(
        rf"^[\s\[(]*{_TIME}[^\sA-Za-z]{{0,12}}(?:Z|[+-]\d\d:?\d\d)?[\s\])-]*", "", line.strip()
    )
    said = re.sub(rf"^[\[(<]?{_LEVEL}[\])>]?[\s:|-]+", "", bare)
    return said or line


def recognise_transcript(sample: Sample) -> Transcript | None:
    """What a terminal showed: prompts with commands, and their output."""
    lines = sample.filled
    for notation, prompt in (
        ("shell transcript", _PROMPT),
        ("Python session", _PYTHON_PROMPT),
        ("shell transcript", _TRACED),
    ):
        if not lines or not prompt.match(lines[0]):
            continue
        commands = [match[1] for line in lines if (match := prompt.match(line))]
        if (
            prompt is _PROMPT
            and lines[0].startswith((">", "#", "%"))
            and len(commands) > 0.5 * len(lines)
        ):
            continue  # a quotation
        if prompt is _TRACED and (len(commands) < 3 or len(commands) < 0.2 * len(lines)):
            continue
        names = unique(short(command, 50) for command in commands)
        return Transcript(notation, len(commands), names, _outputs(sample.lines, prompt))
    return None


def _outputs(lines: tuple[str, ...], prompt: re.Pattern[str]) -> tuple[str, ...]:
    """What stands between the prompts."""
    outputs: list[list[str]] = [[]]
    for line in lines:
        if prompt.match(line):
            outputs.append([])
        else:
            outputs[-1].append(line)
    return tuple("\n".join(output) for output in outputs if output)
