"""Describe source code: its language, its file, and the names that it defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memory_context.text.describe.description import (
    Description,
    Kind,
    counted,
    shortened,
    unique_names,
)
from memory_context.text.describe.sample_for_describers import (
    COUNTED_AT_MOST,
    HEAD,
    LONGEST_LINE,
    Sample,
    sample_of,
)
from memory_context.text.lines import line_spans
from memory_context.text.spans import Span

LOOKED_AT = 120
# The ends of the names of source files, of the languages below and of others.
_SOURCE_FILE = re.compile(
    r"\.(?:py[iwx]?|[cm]?[jt]sx?|vue|svelte|java|kts?|scala|groovy|cs|fs|go|rs|p[lm]|php|rb|lua|dart|swift"
    r"|[ch](?:c|h|pp|xx|\+\+)?|mm?|cu|zig|nim|jl|exs?|erl|hs|cljs?)$",
    re.IGNORECASE,
)
_MODIFIERS = r"(?:(?:public|private|protected|internal|static|final|abstract|async|override) )++"
# For each language, a pattern for the beginnings of its lines; its groups are the names that a line defines. If two
# languages match equally many lines, the first one wins, so the later one of two that are alike needs lines that only it
# has: TypeScript those with types. The same holds for C# after Java, and for Perl after Rust.
_SIGNS = {
    "Python": (
        r"class (\w+).*:$|(?:async )?def (\w+)|(?:from [\w.]+ )?import [\w., *()]+(?: as \w+)?$"
        r"|@\w[\w.]*|(?:if|elif|for|while|with|try|except|else)\b.*:$|self\.\w+ ="
    ),
    "JavaScript": (
        r"(?:export )?(?:default )?class (\w+).*\{|(?:export )?(?:async )?function\*? (\w+)"
        r"|const (\w+) = (?:async )?(?:\([^)\n]*\)|\w+) =>|(?:const|let|var) .*[=;]|module\.exports"
        r"|import .* from ['\"]"
    ),
    "TypeScript": (
        r"(?:export )?(?:abstract )?(?:interface|type|enum|class) (\w+).*[{=]"
        r"|(?:export )?(?:async )?function (\w+)|import .* from ['\"]|.*: (?:string|number|boolean)"
    ),
    "Java": (
        rf"{_MODIFIERS}(?:class|interface|enum|record) (\w+)|(?!static (?:inline|.*;$)){_MODIFIERS}[\w<>\[\], ?]+ (\w+)\("
        r"|import (?:static )?[\w.]+\*?;|package [\w.]+;|@Override"
    ),
    "C#": (
        rf"{_MODIFIERS}(?:partial |sealed )?(?:class|interface|enum|record|struct) (\w+)"
        rf"|(?!static (?:inline|.*;$)){_MODIFIERS}[\w<>\[\], ?]+ (\w+)\(|using [\w.]+;|namespace [\w.]+[;{{ ]*$"
        r"|.*\{ get;|class (\w+)(?: : [\w<>, ]+)?$|static (?:async )?\w+ (Main)\("
    ),
    "Go": (
        r"type (\w+) (?:struct|interface)|func (?:\([^)\n]*\) )?(\w+)|package \w+$|import \("
        r"|.* := |if err != nil"
    ),
    "Rust": (
        r"(?:pub )?(?:struct|enum|trait) (\w+)|(?:pub )?(?:async |unsafe )*fn (\w+)"
        r"|use [\w:{}, *]+;|let (?:mut )?\w+ ?[:=]|impl\b.*\{|#\["
    ),
    "Perl": (
        r"package [\w:]+;|(?:use|require) \w+(?:::\w+)*(?: .*)?;$|sub (\w+)|(?:my|our|local) [$@%(]|\$self->"
    ),
    "PHP": (
        r"<\?php|(?:abstract |final )?(?:class|interface|trait) (\w+)[^:]*$|return \$|\$this->"
        rf"|(?:{_MODIFIERS})?function (\w+)\(|namespace [\w\\]+;|use \w+\\[\w\\]+;"
    ),
    "C": (
        r"(?:typedef )?struct (\w+)[^=\n]*\{"
        r"|(?:static |const |inline |unsigned )*(?:int|void|char|double|float|bool|long|\w+_t|\w+ ?\*)[ *]*\b"
        r"(\w+) ?\([^;\n]*$|#\s*(?:include|define|ifdef|ifndef|endif)\b|#(?:pragma|if|else)\b|.*std::|using namespace"
        r"|template ?<|namespace [\w:]+ ?\{|(?:public|private|protected):|class (\w+)(?:[^;]*\{|$)"
        r"|(?:virtual|explicit|friend|inline|extern(?! crate)) .*|.*\) const\b"
        r"|.*= (?:default|delete);|[\w:<>&*]+ [*&]?\w+::~?\w+\([^;\n]*$"
    ),
}
# Without these, many lines of PHP look like those of other languages.
_OF_PHP = re.compile(r"<\?php|\$this->")
_SHELL = re.compile(r"#!.*\b(?:ba|da|k|z)?sh\b")
_SHELL_FUNCTION = re.compile(r"^(?:function +)?(\w+) *\(\)", re.MULTILINE)
# Before the code of a line: an indentation, and a line number as `cat -n` and file viewers write it.
_BEFORE_CODE = r"[ \t]{0,200}(?:\d{1,7}(?:\t|→|: ?| ?\| ?)[ \t]*)?"
# Parts of Python that do not show the language: strings in triple quotes, and comments.
_TEXT = re.compile(r'"""(?:(?!""").)*+"""|\'\'\'(?:(?!\'\'\').)*+\'\'\'', re.DOTALL)
_COMMENT = re.compile(rf"^{_BEFORE_CODE}#.*", re.MULTILINE)
_C_COMMENT = re.compile(
    rf"^{_BEFORE_CODE}(?://|/\*(?s:.*?)(?:\*/|\Z)).*|(?<=\S)[ \t]{{1,80}}/\*.{{0,1000}}\*/$",
    re.MULTILINE,
)
_FENCE = "```"
_ENDS = (":", ")", '"""', "]", ";", "{", "}", ",", "(", '"')


def describe_source(sample: Sample) -> Description | None:
    """Describe code by the language whose signs most of its lines have; a shell script by its first line."""
    if _SHELL.match(sample.head):
        functions = unique_names(_SHELL_FUNCTION.findall(sample.text[:COUNTED_AT_MOST]))
        facts = f"shell script, {counted(sample.line_count, 'line')}"
        return Description(Kind.SOURCE, facts, functions)
    language = _language_in(sample)
    if not language:
        return None
    text = sample.text
    defined = _names_defined(text, language, (0, min(len(text), COUNTED_AT_MOST)))
    names = unique_names(text[start:stop] for start, stop in defined)
    # The path of a source file tells its language, which a part of the file may show less well.
    facts = "source" if _SOURCE_FILE.search(sample.path) else f"{language} source"
    if sample.path:
        facts += f" {shortened(sample.path)}"
    return Description(Kind.SOURCE, f"{facts}, {counted(sample.line_count, 'line')}", names)


def names_defined(text: str, regions: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans of the names that these *regions* of source code define: functions, classes; none for other texts."""
    language = _language_in(sample_of(text[:HEAD], path=""))
    if language:
        for region in regions:
            yield from _names_defined(text, language, region)


def _names_defined(text: str, language: str, region: Span) -> Iterator[Span]:
    sign = re.compile(f"{_BEFORE_CODE}(?:{_SIGNS[language]})")
    for begin, end in line_spans(text, *region):
        line = text[begin : min(end, begin + LONGEST_LINE)].rstrip()
        match = sign.match(line)
        if match and match.lastindex:
            start, stop = match.span(match.lastindex)
            yield begin + start, begin + stop


def _language_in(sample: Sample) -> str:
    """Return the language of the code in a sample, also below documentation or comments; empty if it is not code."""
    languages = [*_SIGNS]
    if not _OF_PHP.search(sample.head):
        languages.remove("PHP")
    language = _language_of(sample.lines[:LOOKED_AT], languages)
    if not language and _FENCE not in sample.head:
        # A Python module may begin with more documentation than statements.
        undocumented = _TEXT.sub('""""""', sample.head)
        code = _lines_of_code(_COMMENT.sub("", undocumented))
        language = _language_of(code, ["Python"])
    if not language and _C_COMMENT.search(sample.head):
        # Most of a file may be a licence, or the documentation of its members.
        code = _lines_of_code(_C_COMMENT.sub("", sample.head))
        if not any(_FENCE in line for line in code):
            # Python, the first language, has no such comments.
            language = _language_of(code, languages[1:])
    return language


def _lines_of_code(text: str) -> list[str]:
    return [line[:LONGEST_LINE] for line in text.split("\n") if line.strip()]


def _language_of(lines: list[str], languages: list[str]) -> str:
    """Return the language whose signs most lines have; empty if too few lines have any."""
    language = ""
    found = list[re.Match[str]]()
    for name in languages:
        sign = re.compile(_BEFORE_CODE + f"(?:{_SIGNS[name]})")
        matches = list(filter(None, map(sign.match, lines)))
        if len(matches) > len(found):
            language = name
            found = matches
    # Lines of prose may begin like code, but do not end like it. If most lines end like code, and one defines a name, few
    # signs of a language are enough.
    ended = sum(1 for line in lines if line.rstrip().endswith(_ENDS))
    is_dense = ended >= 0.7 * len(lines) and any(match.lastindex for match in found)
    least = 0.05 if is_dense else 0.2
    if len(found) >= max(2, least * len(lines)) and ended >= 0.15 * len(lines):
        return language
    return ""
