"""Source code: its language, its file, and the names that it defines; and what git says of its changes."""

from __future__ import annotations

import re

from memory_context.text.describe.description import (
    Description,
    Kind,
    counted,
    short_path,
    unique_names,
)
from memory_context.text.describe.sample import (
    COUNTED_AT_MOST,
    Sample,
    count_lines_starting,
    matches_of,
)

LOOKED_AT = 120
_MODIFIERS = r"(?:(?:public|private|protected|internal|static|final|abstract|async|override) )+"
# For each language: its name, the suffixes of its files and what fences call it, and lines that only this language has.
# The groups are the names that it defines.
_LANGUAGES = (
    (
        "Python",
        "py pyi python",
        (
            r"class (\w+).*:$|(?:async )?def (\w+)|(?:from [\w.]+ )?import [\w., *()]+(?: as \w+)?$|@\w[\w.]*"
            r"|(?:if|elif|for|while|with|try|except|else)\b.*:$|self\.\w+ ="
        ),
    ),
    (
        "TypeScript",
        "ts tsx typescript",
        (
            r"(?:export )?(?:default )?(?:abstract )?(?:interface|type|enum|class) (\w+).*[{=]"
            r"|(?:export )?(?:async )?function (\w+)|import .* from ['\"]|.*: (?:string|number|boolean|void|Promise<)"
        ),
    ),
    (
        "JavaScript",
        "js mjs cjs jsx javascript",
        (
            r"(?:export )?(?:default )?class (\w+).*\{|(?:export )?(?:default )?(?:async )?function\*? (\w+)"
            r"|(?:export )?const (\w+) = (?:async )?(?:\([^)\n]*\)|\w+) =>|(?:const|let|var) .*[=;]|module\.exports"
            r"|import .* from ['\"]"
        ),
    ),
    (
        "Java",
        "java kt",
        (
            rf"{_MODIFIERS}(?:class|interface|enum|record) (\w+)|{_MODIFIERS}[\w<>\[\], ?]+ (\w+)\("
            r"|import (?:static )?[\w.]+\*?;|package [\w.]+;|@Override"
        ),
    ),
    (
        "Go",
        "go golang",
        r"type (\w+) (?:struct|interface)|func (?:\([^)\n]*\) )?(\w+)|package \w+$|import \(|.* := |if err != nil",
    ),
    (
        "Rust",
        "rs rust",
        (
            r"(?:pub(?:\(\w+\))? )?(?:struct|enum|trait) (\w+)|(?:pub(?:\(\w+\))? )?(?:async |unsafe )*fn (\w+)"
            r"|use [\w:{}, *]+;|let (?:mut )?\w+ ?[:=]|impl\b.*\{|#\["
        ),
    ),
    (
        "C",
        "c h cc cpp hpp cxx",
        (
            r"(?:typedef )?(?:struct|class) (\w+).*\{|(?:static |const |unsigned )*(?:int|void|char|double|bool|size_t)[ *]+"
            r"(\w+)\([^;\n]*$|#\s*(?:include|define|ifdef|ifndef|endif)\b|.*std::|using namespace"
        ),
    ),
    (
        "shell",
        "sh bash zsh shell",
        (
            r"(?:function )?(\w+) ?\(\) ?\{|#!.*\b(?:ba|z)?sh$|(?:if|elif|while) (?:\[|!|test)|fi$|done$|set -\w"
            r"|(?:export )?[A-Z_]+=\S*$|echo [\"'$]"
        ),
    ),
    (
        "SQL",
        "sql",
        (
            r"(?i:create (?:table|view|index) (?:if not exists )?[\"`]?(\w+)|insert into |select\b.* from |update \w+ set"
            r"|delete from |begin;|commit;|\w+ (?:integer|text|varchar)\b)"
        ),
    ),
)
_ENDS = (":", ")", '"""', "]", ";", "{", "}", ",", "(", "fi", "done", '"')
_NUMBERED_LINE = re.compile(r"[ \t]{0,8}\d{1,7}(?:\t|→|: ?| ?\| ?|$)(?P<code>.*)$", re.DOTALL)
_PATH_IN_LEAD = re.compile(r"[\w./~\\-]*\w\.\w{1,8}\b")
_GIT_FILE = re.compile(r"^diff --(?:git a/\S+ b/|cc |combined )(.+)$", re.MULTILINE)
_NEW_FILE = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+).*\n@@ -", re.MULTILINE)
_COMMIT = re.compile(r"^commit [0-9a-f]{7,40}\b", re.MULTILINE)
_SUBJECT = re.compile(r"^commit [0-9a-f]{7,40}\b(?:.*\n){1,6}?\n {4}(\S.*)", re.MULTILINE)


def describe_changes(sample: Sample) -> Description | None:
    """Describe a diff, by its files and its lines, or git's log, by the subjects of its commits."""
    text = sample.text
    start = sample.head[:4000]
    if _GIT_FILE.search(start) or _NEW_FILE.search(start):
        paths = unique_names(
            path.strip() for path in _GIT_FILE.findall(text) or _NEW_FILE.findall(text)
        )
        files = count_lines_starting(text, "diff --git ") or count_lines_starting(text, "+++ ")
        added = count_lines_starting(text, "+") - count_lines_starting(text, "+++ ")
        removed = count_lines_starting(text, "-") - count_lines_starting(text, "--- ")
        facts = f"diff: {counted(files, 'file')}, +{added:,} -{max(removed, 0):,}"
        return Description(Kind.DIFF, facts, paths)
    if _COMMIT.match(text):
        facts = f"git log: {counted(len(_COMMIT.findall(text)), 'commit')}"
        return Description(Kind.DIFF, facts, unique_names(_SUBJECT.findall(sample.head)))
    return None


def describe_source(sample: Sample, language: str = "") -> Description | None:
    """Describe code; `language` is what a fence calls it.

    It is in the language that a fence or the file's suffix names, if a few lines have its marks, or else in the one that
    most lines speak for.
    """
    path = sample.hint.path.partition("?")[0]
    suffix = language or path.rpartition(".")[2].lower()
    lines = sample.lines[:LOOKED_AT]
    best, best_signs, best_pattern = "", 0, ""
    is_named = False
    for name, suffixes, pattern in _LANGUAGES:
        sign = re.compile(rf"[ \t]*(?:{pattern})")
        signs = sum(1 for line in lines if sign.match(line))
        is_named = suffix in suffixes.split()
        if signs > best_signs or is_named:
            best, best_signs, best_pattern = name, signs, pattern
        if is_named:
            break
    if best_signs < (max(1, len(lines) // 25) if is_named else max(2, 0.2 * len(lines))):
        return None
    ended = sum(1 for line in lines if line.rstrip().endswith(_ENDS))
    if ended < 0.15 * len(lines) and not is_named:
        return None  # sentences that begin as code does
    matches = re.finditer(
        rf"^[ \t]*(?:{best_pattern})", sample.text[:COUNTED_AT_MOST], re.MULTILINE
    )
    names = unique_names(match[match.lastindex] for match in matches if match.lastindex)
    facts = f"{best} source"
    if is_named and not language:
        facts += f" {short_path(path)}"
    return Description(Kind.SOURCE, f"{facts}, {counted(sample.line_count, 'line')}", names)


def without_line_numbers(sample: Sample) -> tuple[str, str] | None:
    """Return a file without the numbers that a viewer puts before its lines, and its path; None for other texts.

    A line above them, as in ``Here's the result of running `cat -n` on app/models.py:``, may say the path.
    """
    lead, _, rest = sample.text[:COUNTED_AT_MOST].partition("\n")
    path = _PATH_IN_LEAD.search(lead[:500])
    lines = (
        rest.split("\n") if path and not _NUMBERED_LINE.match(lead) else [lead, *rest.split("\n")]
    )
    filled = [line for line in lines[:LOOKED_AT] if line.strip()]
    if len(filled) < 3 or not matches_of(_NUMBERED_LINE, filled, 0.9):
        return None
    code = [match["code"] for match in map(_NUMBERED_LINE.match, lines) if match]
    return "\n".join(code), path[0] if path and lines[0] != lead else ""
