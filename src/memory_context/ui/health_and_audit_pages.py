"""The pages of the store's health and of its audit trail."""

from __future__ import annotations

from itertools import islice

from memory_context.display.escaped_html import Html, joined, tag
from memory_context.memory.doctor_checks_and_advice import examined
from memory_context.ui.links_forms_and_tables import Visit, listing, remark, spaced, when

ROWS = 100


def health(visit: Visit) -> Html:
    """Draw what the checks of `memory-context doctor` find, and how much is stored."""
    checks = list[list[str]]()
    for check in examined(visit.url):
        status = tag("b", check.status, cls=f"status {check.status}")
        remedy = ""
        if check.remedy:
            remedy = tag("div", f"→ {check.remedy}")
        checks.append([status, check.name, joined(check.found, remedy)])
    parts = [tag("h1", "Health"), listing(("", "check", "found"), checks)]
    catalog = visit.catalog
    megabytes = catalog.size() / 1e6
    parts.append(tag("h2", f"Stored: {megabytes:,.1f} MB, all users together"))
    totals_by = {
        "type": catalog.totals("memory_type", visit.user),
        "tier": catalog.totals("tier", visit.user),
    }
    for name, totals in totals_by.items():
        rows = [
            [one.name, f"{one.memories:,}", f"{one.tokens:,}", when(one.newest)] for one in totals
        ]
        parts.append(listing((name, "memories", "tokens", "newest"), rows, (1, 2)))
    return joined(*parts)


def audit(visit: Visit) -> Html:
    """Draw the audit trail, the newest entries first."""
    start = visit.start
    # One more than is drawn shows that there is a page after this one.
    entries = visit.trail(limit=start + ROWS + 1)
    found = list(islice(entries, start, None))
    head = tag("h1", "Audit trail")
    if not found:
        return joined(head, remark("no entries: the trail is kept where audit=True is set"))
    rows = [
        [
            when(one.at),
            one.action,
            visit.key(one.memory_key),
            one.agent_id or "",
            one.thread_id or "",
        ]
        for one in found[:ROWS]
    ]
    links = list[Html]()
    if start:
        newer = max(start - ROWS, 0)
        links.append(visit.link("← newer", "audit", **{"from": newer}))
    if len(found) > ROWS:
        older = start + ROWS
        links.append(visit.link("older →", "audit", **{"from": older}))
    columns = ("at", "what", "key", "agent", "conversation")
    return joined(head, listing(columns, rows), spaced(links))
