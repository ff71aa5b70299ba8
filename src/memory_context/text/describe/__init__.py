"""What a text is, in one line: its kind, its numbers, its names. Deterministic, without a model.

First what it is wrapped in is taken off (a tool's result as JSON or as a repr, an exit code, a fence), then the kinds are
tried, those with the surest marks first; `docs/descriptions.md` has the order and its reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from memory_context.model.item import Content
from memory_context.text.describe.binary import Binary, recognise_bytes
from memory_context.text.describe.diagnostics import recognise_diagnostics
from memory_context.text.describe.git import recognise_git
from memory_context.text.describe.json_shapes import Object, recognise_json
from memory_context.text.describe.kind import Kind
from memory_context.text.describe.listings import recognise_listing, recognise_matches
from memory_context.text.describe.logs import (
    Transcript,
    http_answer,
    recognise_install,
    recognise_log,
    recognise_transcript,
)
from memory_context.text.describe.markup import Markdown, recognise_markdown, recognise_markup
from memory_context.text.describe.parsed import parsed
from memory_context.text.describe.plain import (
    Blank,
    Plain,
    Prose,
    Records,
    Settings,
    error_message,
    plain,
    recognise_encoded,
    recognise_help,
    recognise_records,
    recognise_settings,
    recognise_yaml,
)
from memory_context.text.describe.sample import Hint, Sample, hint_of, sample_of
from memory_context.text.describe.source_code import Source, recognise_source, viewed
from memory_context.text.describe.table_shapes import recognise_table
from memory_context.text.describe.test_runs import recognise_tests
from memory_context.text.describe.tracebacks import recognise_trace
from memory_context.text.describe.wording import tail_of_path
from memory_context.text.describe.wrappings import unwrapped

__all__ = ["Kind", "describe", "parsed", "recognise"]

_STRUCTURE = ("[", "{", "<", "|", "+-", "┌", "Traceback", "diff --git", "$ ", "HTTP/")
LONGEST_WITH_LEAD = 1_000_000
LONGEST_LEAD = 400
_LEAD_END = re.compile(
    r"[^\n]{1,300}(?::|\.\.\.|…)[ \t]*\n+|[^\n]{1,300}\n\n+|(?:#+|=+|-+) [^\n]{1,200}\n+"
)
_UTF8_MARK = "\ufeff"

_ORDER: tuple[Callable[[Sample], Kind | None], ...] = (
    recognise_json,
    recognise_encoded,
    recognise_help,
    recognise_markup,
    recognise_git,
    recognise_tests,
    recognise_diagnostics,
    recognise_transcript,
    recognise_install,
    recognise_log,
    recognise_trace,
    recognise_listing,
    recognise_table,
    recognise_matches,
    recognise_yaml,
    recognise_source,
)
_SAY_LITTLE = (Plain, Prose, Markdown, Records, Settings)
_WEAK: tuple[Callable[[Sample], Kind | None], ...] = (
    recognise_settings,
    recognise_records,
    recognise_markdown,
)


@dataclass(frozen=True, slots=True)
class HttpAnswer(Kind):
    """What a server answered: ``HTTP 200 OK: JSON list of 3 orders``."""

    status: str
    media_type: str
    body: Kind | None

    @property
    def facts(self) -> str:
        """The status."""
        return f"HTTP {self.status}"

    @property
    def details(self) -> tuple[str, ...]:
        """What the body is."""
        return (self.body.line(),) if self.body else (self.media_type or "no body",)


@dataclass(frozen=True, slots=True)
class Inside(Kind):
    """A text in a file or under a key: ``README.md: Markdown "Install", 40 lines``."""

    place: str
    content: Kind

    @property
    def facts(self) -> str:
        """Where it is."""
        return tail_of_path(self.place)

    @property
    def details(self) -> tuple[str, ...]:
        """What it holds."""
        return (self.content.line(),)


def describe(content: Content, *, source: str = "", arguments: str | None = None) -> str:
    """One line on `content`, as in ``JSON list of 81 packages: name, version``; at most 80 characters, no brackets.

    Args:
        content: Text or bytes; whatever they are, there is a line.
        source: The name of the tool that gave them.
        arguments: What it was called with, as JSON: a command, a path or a query there makes the line more telling.
    """
    hint = hint_of(source, arguments)
    if isinstance(content, bytes):
        return _bytes(content, hint)
    wrapped = unwrapped(content)
    kind = recognise(wrapped.text, hint, language=wrapped.language)
    if wrapped.is_error and isinstance(kind, _SAY_LITTLE):
        kind = error_message(sample_of(wrapped.text))
    code = wrapped.exit_code
    return replace(kind, cut=kind.cut or wrapped.cut).line(
        f"exit {code}" if code is not None else ""
    )


def recognise(text: str, hint: Hint | None = None, *, language: str = "") -> Kind:
    """The kind of `text`, which is wrapped in nothing; `language` is what a fence calls it."""
    if not text.strip():
        return Blank(is_empty=not text)
    sample = sample_of(text.removeprefix(_UTF8_MARK), hint)
    kind = (
        _answer(sample)
        or _shown(sample, language)
        or _sure(sample)
        or _behind_lead(sample)
        or _weak(sample)
    )
    return _looked_into(kind, sample) or kind or plain(sample)


def _bytes(content: bytes, hint: Hint) -> str:
    """The line for bytes: those of a text are described as one."""
    if not content:
        return "binary content, 0 bytes"
    known = recognise_bytes(content)
    if known:
        return known.line()
    if b"\0" not in content[:4096]:
        with suppress(UnicodeDecodeError):
            return recognise(content.decode(), hint).line()
    return Binary("binary content", len(content)).line()


def _sure(sample: Sample) -> Kind | None:
    """The first kind whose marks are sure."""
    return next((kind for recognise_one in _ORDER if (kind := recognise_one(sample))), None)


def _weak(sample: Sample) -> Kind | None:
    """The first kind whose marks stand in many texts."""
    return next((kind for recognise_one in _WEAK if (kind := recognise_one(sample))), None)


def _looked_into(kind: Kind | None, sample: Sample) -> Kind | None:
    """What the one long text in an object is, or the output of the one command in a transcript, if it is of a sure kind."""
    if isinstance(kind, Object) and kind.text[0] and not kind.error:
        inner = _sure(sample_of(kind.text[1], sample.hint))
        return Inside(f"{kind.facts}, {kind.text[0]}", inner, cut=kind.cut) if inner else None
    if isinstance(kind, Transcript):
        return _with_outputs(kind, sample)
    return None


def _with_outputs(kind: Transcript, sample: Sample) -> Kind:
    """A transcript with what its commands printed: of one command only that, of several the first table."""
    if kind.commands == 1:
        rest = sample_of(
            sample.text.lstrip().partition("\n")[2], replace(sample.hint, command=kind.names[0])
        )
        return (_sure(rest) if rest.text.strip() else None) or kind
    table = next(
        (table for text in kind.outputs if (table := recognise_table(sample_of(text)))), None
    )
    return replace(kind, inside=f"with a {table.facts}" if table else "")


def _answer(sample: Sample) -> Kind | None:
    """What a server answered: the status, and the kind of the body."""
    answer = http_answer(sample.text) if sample.head.lstrip().startswith("HTTP/") else None
    if answer is None:
        return None
    body = sample.text[answer.body :]
    return HttpAnswer(
        answer.status, answer.media_type, recognise(body, sample.hint) if body.strip() else None
    )


def _shown(sample: Sample, language: str) -> Kind | None:
    """A file as a viewer shows it, by what the file holds; or what a fence or a path calls code."""
    shown = viewed(sample.text)
    if shown is None:
        return (
            recognise_source(sample, None, language) if language or _is_code(sample.hint) else None
        )
    inner = sample_of(shown.text, replace(sample.hint, path=shown.path or sample.hint.path))
    if not shown.text.strip():
        return None
    kind = recognise_source(inner, shown, language) or _sure(inner) or plain(inner)
    return kind if shown.path == "" or isinstance(kind, Source) else Inside(shown.path, kind)


def _is_code(hint: Hint) -> bool:
    """Whether the call names a file of code, and nothing else ran it."""
    return bool(hint.path) and (
        not hint.command or hint.command.split()[0] in ("cat", "head", "tail", "sed", "nl", "bat")
    )


def _behind_lead(sample: Sample) -> Kind | None:
    """The kind of what stands behind an introduction of a line or a few: ``Found 3 items:``."""
    position = 0
    for _ in range(4 if len(sample.text) < LONGEST_WITH_LEAD else 1):
        match = _LEAD_END.match(sample.text, position)
        if match is None or match.end() > LONGEST_LEAD + 600:
            return None
        position = match.end()
        rest = sample.text[position:]
        if not match[0].rstrip().endswith((":", "...", "…")) and not rest.startswith(_STRUCTURE):
            continue  # what an ordinary line stands before is looked at only if it can be told from text at once
        kind = _sure(sample_of(rest, sample.hint))
        if kind is not None:
            return kind
    return None
