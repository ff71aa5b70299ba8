"""A request for a page, and the parts that pages are made of: links, forms, buttons and tables.

The checks that keep strangers out are in `page_server`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from memory_context.display.escaped_html import Html, joined, key_name, soft, table, tag
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.manager import MemoryManager
from memory_context.model.audit_entries import AuditEntry
from memory_context.stores import SQLAuditTrail
from memory_context.stores.sql.listings_and_totals_of_memories import Catalog


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page.

    Attributes:
        memory: The memories of the chosen user.
        users: All users who have stored something, the one with most memories first.
        base: The path that all pages begin with: a slash and the token.
        page: The name of the requested page.
        asked: The query of a GET, or the fields of a form.
        url: The database's URL, for the health page; None for a store that was given as an object.
    """

    memory: MemoryManager
    users: tuple[str, ...]
    base: str
    page: str
    asked: Mapping[str, str]
    url: str | None

    @property
    def user(self) -> str:
        """Return the user whose memories are shown."""
        return self.memory.scope.user_id

    @property
    def catalog(self) -> Catalog:
        """Return the overviews of what the store holds."""
        return Catalog(self.memory.memory_store)

    def trail(self, **wanted: Any) -> Iterator[AuditEntry]:  # noqa: ANN401 - see `SQLAuditTrail.entries`
        """Return this user's entries of the audit trail, the newest first; none if the store is not a database."""
        try:
            trail = SQLAuditTrail(self.memory.memory_store)
        except InvalidArgumentError:
            # A folder's trail is in a database of its own, which only its owner can name.
            return iter(())
        return trail.entries(self.user, **wanted)

    def word(self, name: str) -> str:
        """Return a field of the request without white space around it; "" if it is missing."""
        return self.asked.get(name, "").strip()

    @property
    def start(self) -> int:
        """Return how many rows of a list are before the requested ones; 0 if the request gives no such number."""
        given = self.word("from")
        # No list is that long, and a database refuses an offset of more than 64 bits.
        is_number = given.isascii() and given.isdigit() and len(given) < 10
        return int(given) if is_number else 0

    def address(self, page: str, **asked: str | int | None) -> str:
        """Return the address of a page of this user; fields that are None or empty are left out."""
        given = {name: value for name, value in asked.items() if value not in (None, "")}
        if len(self.users) > 1:
            given["user"] = self.user
        query = ""
        if given:
            query = f"?{urlencode(given)}"
        return f"{self.base}/{page}{query}"

    def link(self, text: str, page: str, **asked: str | int | None) -> Html:
        """Return a link to a page of this user."""
        return tag("a", text, href=self.address(page, **asked))

    def key(self, key: str) -> Html:
        """Return a key as a link to its memory."""
        return self.link(key_name(key), "memory", key=key)

    def keys(self, keys: Sequence[str]) -> Html:
        """Return keys as links to their memories, separated by commas."""
        return Html(", ".join(map(self.key, keys)))

    def form(self, page: str, *fields: str, method: str = "get", **hidden: str) -> Html:
        """Return a form that is sent to a page of this user, with *hidden* fields."""
        if len(self.users) > 1:
            hidden["user"] = self.user
        unseen = [field("hidden", name, value) for name, value in hidden.items()]
        return tag("form", *unseen, *fields, method=method, action=f"{self.base}/{page}")

    def pages(self, shown: int, size: int, total: int, **asked: str) -> Html:
        """Draw which rows of a list are shown, with links to the pages before and after."""
        start = self.start
        end = start + shown
        rows = "none"
        if shown:
            rows = f"{start + 1:,}-{end:,} of {total:,}"
        parts = [soft(rows)]
        if start:
            asked["from"] = str(max(start - size, 0))
            parts.append(self.link("← before", self.page, **asked))
        if end < total:
            asked["from"] = str(start + size)
            parts.append(self.link("more →", self.page, **asked))
        return spaced(parts)


def spaced(parts: Sequence[str]) -> Html:
    """Return a paragraph of parts with a space after each."""
    return tag("p", *(joined(part, " ") for part in parts))


def remark(text: str) -> Html:
    """Return a paragraph in paler type."""
    return tag("p", text, cls="soft")


def listing(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> Html:
    """Return a table whose rows become blocks on a narrow screen."""
    drawn = table(columns, rows, numbers, labels=True)
    return tag("div", drawn, cls="listing")


def field(kind: str, name: str, value: str = "", **more: str) -> Html:
    """Return an input of a form."""
    drawn = tag("input", type=kind, name=name, value=value, **more)
    # HTML has no end tag for it.
    return Html(drawn.removesuffix("</input>"))


def labelled(label: str, *parts: str) -> Html:
    """Return a field under its label."""
    return tag("label", tag("span", label), *parts)


def choice(name: str, options: Sequence[str], chosen: str) -> Html:
    """Return a list to choose from; its first option is "any"."""
    no_choice = tag("option", "any", value="")
    choices = [option(one, chosen) for one in options]
    return tag("select", no_choice, *choices, name=name)


def option(name: str, chosen: str) -> Html:
    """Return an option of a list to choose from, which is selected if it is *chosen*."""
    state = {}
    if name == chosen:
        state = {"selected": ""}
    return tag("option", name, value=name, **state)


def button(text: str, cls: str = "") -> Html:
    """Return a button that sends a form."""
    return tag("button", text, cls=cls, type="submit")


def when(moment: datetime | None) -> Html:
    """Draw a moment in local time, to the second, with UTC as its tooltip; nothing for None."""
    if not moment:
        return Html("")
    utc = moment.astimezone(UTC)
    return tag(
        "time",
        f"{moment.astimezone():%Y-%m-%d %H:%M:%S}",
        datetime=utc.isoformat(),
        title=f"{utc:%Y-%m-%d %H:%M:%S} UTC",
    )
