"""A visit of the web page, with whose memories and which page are meant; and parts of pages: forms, buttons, links.

What keeps strangers out is in `page_server`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from memory_context.display.escaped_html import Html, joined, soft, table, tag
from memory_context.exceptions import InvalidArgumentError
from memory_context.memory.manager import MemoryManager
from memory_context.model.audit import AuditEntry
from memory_context.stores import SQLAuditTrail


@dataclass(frozen=True, slots=True)
class Visit:
    """A request.

    Attributes:
        memory: The memories of the user that is looked at.
        users: Everybody who has stored something, the one with most memories first.
        base: Where pages begin: a slash and the token.
        page: The page that is asked for.
        asked: The query of a GET, or the fields of a form.
        url: The database's address, for its health; None if it is reached through an object only.
    """

    memory: MemoryManager
    users: tuple[str, ...]
    base: str
    page: str
    asked: Mapping[str, str]
    url: str | None

    @property
    def user(self) -> str:
        """Return whose memories are looked at."""
        return self.memory.scope.user_id

    def trail(self, **wanted: Any) -> Iterator[AuditEntry]:  # noqa: ANN401 - see `SQLAuditTrail.entries`
        """Yield this user's entries of the audit trail, the newest first; none where no database keeps it."""
        try:
            trail = SQLAuditTrail(self.memory.memory_store)
        except InvalidArgumentError:
            # A folder's trail is in a database of its own, which only its owner can name.
            return iter(())
        return trail.entries(self.user, **wanted)

    def word(self, name: str) -> str:
        """Return what was asked under a name, without the space around it; "" for nothing."""
        return self.asked.get(name, "").strip()

    def number(self, name: str) -> int:
        """Return a number of the query, 0 or more; 0 where it is none."""
        given = self.word(name)
        return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0

    def address(self, page: str, **asked: str | int | None) -> str:
        """Return where a page of this user stands; what is None or empty is left out."""
        given = {name: value for name, value in asked.items() if value not in (None, "")}
        if len(self.users) > 1:
            given["user"] = self.user
        query = f"?{urlencode(given)}" if given else ""
        return f"{self.base}/{page}{query}"

    def link(self, text: str, page: str, **asked: str | int | None) -> Html:
        """Return a link to a page of this user."""
        return tag("a", text, href=self.address(page, **asked))

    def key(self, key: str) -> Html:
        """Return a key that leads to its memory."""
        return self.link(tag("code", key, cls="key"), "memory", key=key)

    def keys(self, keys: Sequence[str]) -> Html:
        """Return keys that lead to their memories, with commas."""
        parts = list[Html]()
        for key in keys:
            if parts:
                parts.append(Html(", "))
            parts.append(self.key(key))
        return joined(parts)

    def form(self, page: str, *fields: str, method: str = "get", **hidden: str) -> Html:
        """Return a form to a page of this user; *hidden* fields go with it."""
        if len(self.users) > 1:
            hidden["user"] = self.user
        unseen = [field("hidden", name, value) for name, value in hidden.items()]
        return tag("form", *unseen, *fields, method=method, action=f"{self.base}/{page}")

    def pages(self, shown: int, size: int, total: int, **asked: str) -> Html:
        """Return which rows of a list are shown, and links to those before and after."""
        start = self.number("from")
        parts = [soft(f"{start + 1:,}-{start + shown:,} of {total:,}" if shown else "none")]
        if start:
            before = max(start - size, 0)
            parts.append(self.link("← before", self.page, **asked, **{"from": str(before)}))
        if start + shown < total:
            parts.append(self.link("more →", self.page, **asked, **{"from": str(start + size)}))
        return tag("p", *(joined((part, " ")) for part in parts))


def listing(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> Html:
    """Return a table whose rows become blocks on a phone."""
    return tag("div", table(columns, rows, numbers, labels=True), cls="listing")


def field(kind: str, name: str, value: str = "", **more: str) -> Html:
    """Return an input of a form."""
    return Html(tag("input", type=kind, name=name, value=value, **more).removesuffix("</input>"))


def labelled(label: str, *parts: str) -> Html:
    """Return a field under its label."""
    return tag("label", tag("span", label), *parts)


def choice(name: str, options: Sequence[str], chosen: str) -> Html:
    """Return a list to choose from; the first choice is any."""
    drawn = [tag("option", "any", value="")]
    for option in options:
        state = {"selected": ""} if option == chosen else {}
        drawn.append(tag("option", option, value=option, **state))
    return tag("select", *drawn, name=name)


def button(text: str, cls: str = "") -> Html:
    """Return what sends a form."""
    return tag("button", text, cls=cls, type="submit")


def when(moment: datetime | None) -> Html:
    """Return a moment in local time, to the second; those who point at it see it in UTC. Nothing for None."""
    if moment is None:
        return Html("")
    utc = moment.astimezone(UTC)
    return tag(
        "time",
        f"{moment.astimezone():%Y-%m-%d %H:%M:%S}",
        datetime=utc.isoformat(),
        title=f"{utc:%Y-%m-%d %H:%M:%S} UTC",
    )
