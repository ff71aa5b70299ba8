"""Redaction of JSON that this library wrote: value by value, so that no pattern of a user's can break it.

A form says which values nobody wrote: the moment of a turn, ids, roles. A user's patterns do not see them: one for
dates or numbers would find them in every record, which could not be read again. The library's own rules look at the
whole text, because a password may be told by the name beside it only; they leave JSON as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from memory_context.text.redact.redactor import PASSES, Redacted, Redactor
from memory_context.text.redact.secret_pieces import Secret
from memory_context.text.redact.user_patterns import deadline_for

Path: TypeAlias = tuple[str, ...]
EACH = "*"


@dataclass(frozen=True, slots=True)
class Form:
    """What a JSON value consists of, as the library writes it.

    Attributes:
        kept: The paths of what nobody wrote; ``*`` is each member of a list.
        named: The paths of objects whose names are the form's.
        needed: The names that an object of this form has.
    """

    kept: frozenset[Path] = frozenset()
    named: frozenset[Path] = frozenset()
    needed: frozenset[str] = frozenset()


@dataclass(slots=True)
class Leaves:
    """Takes secrets out of the texts in JSON values.

    Attributes:
        redactor: What finds them.
        form: What a user's patterns do not see.
        scalars: Whether a user's patterns see numbers, true, false and null too; a text comes in their place.
        until: See `Redactor.cleared`.
        counts: How many were taken out, by kind.
        secrets: What was taken out.
    """

    redactor: Redactor
    form: Form = field(default_factory=Form)
    scalars: bool = False
    until: float | None = None
    counts: Counter[str] = field(default_factory=Counter[str])
    secrets: list[Secret] = field(default_factory=list[Secret])

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self._noted(*self.redactor.cleared(text, until=self.until))

    def value(self, value: Any, path: Path = (), name: str | None = None) -> Any:  # noqa: ANN401 - whatever JSON holds
        """`value` without secrets: what stands at `path`, under a `name` that somebody gave it."""
        if path in self.form.kept:
            return self._kept(value)
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value), path)
        if isinstance(value, list):
            return [self.value(one, (*path, EACH), name) for one in cast("Iterable[Any]", value)]
        if isinstance(value, str):
            text = self.text(value)
            return text if name is None else self._named(text, name)
        return self._named(value, name or "") if self.scalars else value

    def _object(self, values: Mapping[str, Any], path: Path) -> dict[str, Any]:
        cleared = dict[str, Any]()
        is_named = path in self.form.named
        for key, value in values.items():
            below = (*path, key)
            name = key if is_named or below in self.form.kept else self.text(key)
            cleared[_free(name, cleared)] = self.value(value, below, None if is_named else key)
        return cleared

    def _kept(self, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        """A value that is no business of a user's patterns."""
        inner = Leaves(
            self.redactor.known, until=self.until, counts=self.counts, secrets=self.secrets
        )
        return inner.value(value)

    def _named(self, value: Any, name: str) -> Any:  # noqa: ANN401 - a text or a number
        """A value that may be a secret because of its name only."""
        redacted, secrets = self.redactor.cleared(
            json.dumps({name: value}, ensure_ascii=False), until=self.until
        )
        if not redacted.counts:
            return value
        try:
            [changed] = json.loads(redacted.text).values()
        except (ValueError, AttributeError):  # a user's pattern took a quote
            return value
        if changed == value:
            return value
        self._noted(redacted, secrets)
        return changed if isinstance(changed, str) else str(changed)

    def _noted(self, redacted: Redacted, secrets: Iterable[Secret]) -> str:
        self.counts.update(redacted.counts)
        self.secrets += secrets
        return redacted.text


def cleared_json(
    redactor: Redactor, text: str, form: Form
) -> tuple[Redacted, tuple[Secret, ...]] | None:
    """`text` without secrets, and what they were; None if it is not JSON of this form as the library writes it."""
    if not _is_of(form, text):
        return None
    leaves = Leaves(redactor.own, form, scalars=True, until=deadline_for(text))
    for _ in range(PASSES):  # what stood beside a secret may be one, too, once that is gone
        before = text
        text = _cleared_once(redactor, text, leaves)
        if text == before:
            break
    return Redacted(text, dict(leaves.counts)), tuple(leaves.secrets)


def _cleared_once(redactor: Redactor, text: str, leaves: Leaves) -> str:
    known, secrets = redactor.known.cleared(text)
    value = _loaded(known.text)
    if value is None:
        value, leaves.redactor = _loaded(text), redactor
    else:
        leaves.counts.update(known.counts)
        leaves.secrets += secrets
        text = known.text
    changed = leaves.value(value[0]) if value else None
    return text if value is None or changed == value[0] else json.dumps(changed, ensure_ascii=False)


def _is_of(form: Form, text: str) -> bool:
    """Whether it is written as the library writes it, so that it can be written again."""
    found = _loaded(text)
    if found is None or json.dumps(found[0], ensure_ascii=False) != text:
        return False
    return not form.needed or (isinstance(found[0], dict) and form.needed <= found[0].keys())  # pyright: ignore[reportUnknownMemberType] # JSON


def is_json(text: str) -> bool:
    """Whether it can be read as JSON."""
    return _loaded(text) is not None


def _loaded(text: str) -> tuple[Any] | None:
    """The value of a JSON text, in a tuple, because it may be null."""
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """`name`, with a number if another one became the same."""
    return next(
        one
        for one in (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
        if one not in taken
    )
