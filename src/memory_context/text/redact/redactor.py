"""The redactor: it finds secrets by rules, and puts markers in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from memory_context.exceptions import InvalidArgumentError
from memory_context.model.checked_arguments import check_arguments
from memory_context.runtime import log_events
from memory_context.text.html_pages import words_of_html
from memory_context.text.redact.assigned_secrets import ASSIGNED
from memory_context.text.redact.command_passwords import IN_COMMANDS
from memory_context.text.redact.keys_near_names import NEAR
from memory_context.text.redact.kinds_of_rules import Rule, Runs, SecretSpan, joint
from memory_context.text.redact.known_secrets_cut_off import Secret, without_pieces
from memory_context.text.redact.kubernetes_secrets import KUBERNETES
from memory_context.text.redact.markers import (
    MARKER,
    merged,
    outside_markers,
    whole_json_values,
    without_spans,
)
from memory_context.text.redact.private_keys import BLOCKS
from memory_context.text.redact.private_keys_in_prefixed_lines import PREFIXED_KEYS
from memory_context.text.redact.record_texts import PASSES
from memory_context.text.redact.secret_columns import COLUMNS
from memory_context.text.redact.url_and_header_secrets import CARRIED
from memory_context.text.redact.user_patterns import (
    Finder,
    RedactionPattern,
    deadline_for,
    own_finder,
)
from memory_context.text.redact.vendor_keys import VENDOR_RULES, KeyRule
from memory_context.text.terminal_output import without_colours

Rules: TypeAlias = Literal["all", "known", "own"]
"""Which rules to apply: the library's (``known``), a user's (``own``), or both (``all``)."""

RULES: tuple[Rule, ...] = (
    *BLOCKS,
    *VENDOR_RULES,
    *PREFIXED_KEYS,
    *CARRIED,
    *IN_COMMANDS,
    *ASSIGNED,
    *NEAR,
    *KUBERNETES,
    *COLUMNS,
)
KINDS = tuple(dict.fromkeys(rule.kind for rule in RULES))


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets.

    Attributes:
        text: The text, with ``[redacted <kind>]`` in the place of each secret.
        counts: How many secrets of each kind were taken out. Nothing else of them is kept.
    """

    text: str
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


class Redactor:
    """Takes secrets out of texts: keys and tokens of many vendors, passwords, private keys, JWTs, and your own.

    Args:
        patterns: What else to redact, by the kind that its marker shows: a regular expression, a `RedactionPattern`, or
            a function that returns the start and end of each secret in a text.
        without: Kinds that are not redacted; ``Redactor().kinds`` lists all of them.
        on_hit: Called with a kind and the number of secrets of this kind that were taken out of a record, on the thread
            that stores the record. Errors that it raises are logged, and change nothing.

    Attributes:
        is_default: Whether it has no settings, so that another process can create an equal one.
        kinds: All kinds that this redactor takes out, with the user's own last.

    Raises:
        InvalidArgumentError: A name is invalid or already used; a pattern is not a regular expression, matches an empty
            text, or recurses endlessly; or a kind in `without` does not exist.
    """

    # Used by `Redaction`, whose module must not import modules that compile patterns.
    deadline_for = staticmethod(deadline_for)
    without_pieces = staticmethod(without_pieces)

    def __init__(
        self,
        patterns: Mapping[str, str | RedactionPattern | Finder] | None = None,
        *,
        without: Iterable[str] = (),
        on_hit: Callable[[str, int], object] | None = None,
    ) -> None:
        check_arguments(patterns=patterns, without=without, on_hit=on_hit)
        left_out = frozenset(without)
        if unknown := left_out - set(KINDS):
            raise InvalidArgumentError(
                f"no kind {min(unknown)!r}; the kinds are {', '.join(KINDS)}"
            )
        known = [rule for rule in RULES if rule.kind not in left_out]
        self._known: list[Rule] = [rule for rule in known if isinstance(rule, KeyRule)]
        self._known += joint(rule for rule in known if not isinstance(rule, KeyRule))
        self._own = {kind: own_finder(kind, own, KINDS) for kind, own in (patterns or {}).items()}
        self.on_hit = on_hit
        self.is_default = not (patterns or left_out or on_hit)
        self.kinds = (*(kind for kind in KINDS if kind not in left_out), *self._own)
        # Of overlapping secrets, the kind with the lowest rank is shown: the user's own kinds come first.
        self._ranks = {kind: rank for rank, kind in enumerate((*self._own, *KINDS))}

    def redact(self, text: str) -> Redacted:
        """Return *text* without its secrets. Line breaks stay, JSON stays JSON, and a second call changes nothing.

        Raises:
            RedactionTimeoutError: A user's pattern took more than 5 seconds plus one second per megabyte.
        """
        check_arguments(text=text)
        return self.cleared(text)[0]

    @property
    def has_own(self) -> bool:
        """Return whether it has patterns from a user."""
        return bool(self._own)

    def tell(self, counts: Mapping[str, int]) -> None:
        """Call `on_hit` with the number of secrets of each kind in a record; log an error that it raises."""
        if self.on_hit is None:
            return
        try:
            for kind, count in counts.items():
                self.on_hit(kind, count)
        except Exception as error:  # noqa: BLE001 - the caller's function; the record is already stored
            log_events.HIT_NOT_TOLD.log(error)

    def words(self, text: str) -> str:
        """Return the words of *text* for a search: without secrets, and without markers in their place."""
        redacted = self.redact(text)
        if not redacted.counts:
            return text
        return MARKER.sub(" ", redacted.text).strip()

    def cleared(
        self, text: str, rules: Rules = "all", *, until: float | None = None
    ) -> tuple[Redacted, tuple[Secret, ...]]:
        """Return the result of `redact`, and the secrets that were taken out.

        The secrets are for `without_pieces`, and must not be kept after that.

        Args:
            text: The text.
            rules: The rules to apply.
            until: The moment of the monotonic clock until which a user's patterns may run; None for `deadline_for` *text*.
        """
        secrets = list[Secret]()
        # Once a secret is gone, the text next to it may be recognised as another one.
        for _ in range(PASSES):
            spans = self._spans(text, rules, until)
            if not spans:
                # A colour or a tag may divide a secret, or part it from its name. Where that hides one, all of them go.
                for seen in _as_seen(text):
                    spans = self._spans(seen, rules, until)
                    if spans:
                        text = seen
                        break
            if not spans:
                break
            secrets += (Secret(span.kind, text[span.start : span.end]) for span in spans)
            text = without_spans(text, spans)
        counts = Counter(secret.kind for secret in secrets)
        return Redacted(text, dict(counts)), tuple(secrets)

    def _spans(self, text: str, rules: Rules, until: float | None) -> list[SecretSpan]:
        """Return the spans to replace in *text*: none overlaps another or a marker, and JSON stays JSON."""
        found = list[SecretSpan]()
        if rules != "own":
            # One byte for each character, so that offsets are the same in both.
            flat = text.encode("ascii", "replace").lower()
            runs = Runs.of(flat)
            for rule in self._known:
                if rule.may_find(runs):
                    found += rule.find_all(text, flat)
        if rules != "known":
            deadline = deadline_for(text) if until is None else until
            for kind, find in self._own.items():
                spans = find(text, deadline)
                found += (SecretSpan(start, end, kind) for start, end in spans if start < end)
        if not found:
            return []
        outside = outside_markers(merged(found, self._ranks), text)
        return whole_json_values(outside, text) if self._own else outside


def _as_seen(text: str) -> Iterator[str]:
    """Yield *text* as a person sees it, if that is something else: without colours, and an HTML page by its words."""
    plain = without_colours(text)
    if plain != text:
        yield plain
    page = words_of_html(text, least=0)
    if page:
        yield page.text
