"""Redact one record: take the secrets out of all of its texts, and count them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from memory_context.model.json_object import JsonObject
from memory_context.text.python_literals import is_list, is_object

if TYPE_CHECKING:
    from memory_context.text.redact.known_secrets_cut_off import Secret
    from memory_context.text.redact.redactor import Redactor, Rules

PASSES = 8


class JsonForm(NamedTuple):
    """The parts of JSON that a program wrote, not a person or a model: ids, types, dates.

    A user's patterns are not applied to them: a pattern for numbers would match in every record.

    Attributes:
        kept: The names of the values that a program wrote.
        nested: The names of the values that have this same form; all others were written by people and models.
        shows_names: Whether the patterns are applied to the names themselves.
    """

    kept: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    shows_names: bool = True


NO_FORM = JsonForm()


@dataclass(slots=True)
class Redaction:
    """Takes the secrets out of the texts of one record, and counts them.

    Attributes:
        redactor: The redactor; without one every text stays as it is.
        counts: How many secrets were taken out, by kind.
        secrets: The secrets that were taken out; they must not outlive this object.
    """

    redactor: Redactor | None
    counts: Counter[str] = field(default_factory=Counter[str])
    secrets: list[Secret] = field(default_factory=list["Secret"])
    _until: float | None = None

    def text(self, text: str) -> str:
        """Return *text* without secrets.

        Raises:
            RedactionTimeoutError: A user's pattern took too long.
        """
        return self._without(text, "all")

    def line(self, text: str) -> str:
        """Return *text*, made from the texts redacted so far, without secrets and without pieces of their secrets."""
        if self.redactor is None:
            return text
        return self.redactor.without_pieces(self.text(text), self.secrets)

    def value(self, value: Any, form: JsonForm = NO_FORM) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Return a value that JSON can express, without its secrets (see `json`)."""
        if self.redactor is None:
            return value
        text = self.json(json.dumps(value, ensure_ascii=False), form)
        # Two names may be equal once their secrets are gone.
        return json.loads(text, object_pairs_hook=_with_free_names)

    def json(self, text: str, form: JsonForm = NO_FORM) -> str:
        """Return a JSON text without secrets, which is JSON of the same shape.

        The library's own rules are applied to the whole text, because a name may show that its value is a secret; they
        keep JSON valid. A user's patterns may break it, so they are applied to each string, each number, and each pair of
        a name and its value separately.

        Raises:
            ValueError: The text is not JSON.
            RedactionTimeoutError: A user's pattern took too long.
        """
        if self.redactor is None or not self.redactor.has_own:
            return self.text(text)
        self._until = self.redactor.deadline_for(text)
        # Once a secret is gone, the text next to it may be recognised as another one.
        for _ in range(PASSES):
            before = text
            text = self._without(text, "known")
            value = json.loads(text, object_pairs_hook=_with_free_names)
            changed = self._leaves(value, form)
            if changed != value:
                text = json.dumps(changed, ensure_ascii=False)
            if text == before:
                break
        self._until = None
        return text

    def _leaves(self, value: Any, form: JsonForm, name: str = "") -> Any:  # noqa: ANN401 - JSON
        """Return the value of *name* without the secrets that a user's patterns find in it."""
        if is_object(value):
            return _with_free_names(self._members(value, form))
        if is_list(value):
            return [self._leaves(member, form, name) for member in value]
        if isinstance(value, str):
            value = self._without(value, "own")
        return self._without_by_name(name, value)

    def _members(self, values: Mapping[str, Any], form: JsonForm) -> Iterator[tuple[str, Any]]:
        for name, value in values.items():
            if name in form.kept:
                yield name, value
                continue
            shown = self._without(name, "own") if form.shows_names else name
            inner = form if name in form.nested else NO_FORM
            yield shown, self._leaves(value, inner, name)

    def _without_by_name(self, name: str, value: Any) -> Any:  # noqa: ANN401 - a text or a number
        """Return a value without the secrets that a user's patterns find in ``{name: value}``; a number becomes a text."""
        if self.redactor is None:
            return value
        pair = json.dumps({name: value}, ensure_ascii=False)
        redacted, secrets = self.redactor.cleared(pair, "own", until=self._until)
        try:
            [changed] = json.loads(redacted.text).values()
        except (ValueError, AttributeError):  # the pattern took a quote
            return value
        if changed == value:
            return value
        self.counts.update(redacted.counts)
        self.secrets += secrets
        return str(changed)

    def _without(self, text: str, rules: Rules) -> str:
        if self.redactor is None:
            return text
        redacted, secrets = self.redactor.cleared(text, rules, until=self._until)
        self.counts.update(redacted.counts)
        self.secrets += secrets
        return redacted.text


def _with_free_names(pairs: Iterable[tuple[str, Any]]) -> JsonObject:
    """Return the pairs as an object; a name that occurs again gets a number."""
    values = JsonObject()
    for name, value in pairs:
        free = name
        number = 1
        while free in values:
            number += 1
            free = f"{name} {number}"
        values[free] = value
    return values
