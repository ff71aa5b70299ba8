"""The frame of every page: its head with links to the other pages, and its style."""

from __future__ import annotations

from memory_context.display.escaped_html import STYLE as DRAWN
from memory_context.display.escaped_html import Html, tag
from memory_context.display.html_page import document
from memory_context.ui.links_forms_and_tables import Visit, button, option

PAGES = {
    "": "Conversations",
    "memories": "Memories",
    "notes": "Notes",
    "query": "Query",
    "health": "Health",
    "audit": "Audit",
}
# The page in the head that is highlighted for a page that is not in the head.
BELOW = {"thread": "", "call": "", "memory": "memories"}
STYLE = """
body{font-size:15px}a{color:var(--k0)}a:focus-visible,button:focus-visible,summary:focus-visible,
input:focus-visible,select:focus-visible,textarea:focus-visible{outline:2px solid var(--k0);outline-offset:2px}
header{border-bottom:1px solid var(--rule)}
header>div{max-width:1160px;margin:0 auto;padding:8px 16px;display:flex;flex-wrap:wrap;gap:.3em 1.2em;align-items:center}
header a{text-decoration:none;color:var(--soft);padding:.3em 0}
header a[aria-current]{color:var(--ink);font-weight:600;border-bottom:2px solid var(--k0)}
header form{margin:0 0 0 auto}.skip{position:absolute;left:-99em}.skip:focus{position:static}
h1 code{overflow-wrap:anywhere;font-size:.9em}
main .mc{max-width:none;font:inherit;padding:0 3px}main .mc a .key{color:inherit}
main .mc table{font-variant-numeric:tabular-nums}
.mc.mc .listing td:last-child,main .head{overflow-wrap:anywhere}
.mc td.num,.mc time,.share{white-space:nowrap}
.figures{display:flex;flex-wrap:wrap;gap:.6em 2.4em;margin:.8em 0 1.2em}
.figures div{display:flex;flex-direction:column}.figures b{font-size:1.7rem;line-height:1.2;font-variant-numeric:tabular-nums}
.figures span{color:var(--soft)}figure{margin:1em 0;max-width:480px}svg{width:100%;height:auto;display:block}
figcaption{color:var(--soft)}.sent{color:var(--k0);font-weight:600}
form{display:flex;flex-wrap:wrap;gap:.5em 1em;align-items:end;margin:.8em 0}
label{display:flex;flex-direction:column;font-size:.85rem;color:var(--soft)}
input,select,textarea,button{font:inherit;color:var(--ink);background:var(--paper);border:1px solid var(--soft);
border-radius:4px;padding:.35em .5em;max-width:100%;min-height:2.3em}
textarea{width:min(44em,88vw);font-family:ui-monospace,Menlo,Consolas,monospace}
button{cursor:pointer}.danger{color:#d9483b;border-color:#d9483b}
.status.ok{color:#2e9d5b}.status.warning{color:#b57a14}.status.problem,p.error{color:#d9483b}
.mc .prompt{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:1em}
@media(max-width:640px){.listing thead{display:none}.listing table,.listing tbody{display:block}
.mc .listing tr{display:flex;flex-wrap:wrap;gap:.1em 1em;padding:.5em 0;border-bottom:1px solid var(--rule)}
.mc .listing td{border:0;padding:0;text-align:left}.mc .listing td:empty{display:none}
.mc .listing td div{display:inline}.mc .listing td:first-child{flex-basis:100%;font-weight:600}
.mc .listing td:not(:first-child)::before{content:attr(data-of) " ";color:var(--soft);font-size:.85em}
.mc .prompt{grid-template-columns:minmax(0,1fr)}}
"""


def page(visit: Visit, body: Html, title: str = "") -> str:
    """Return a page as HTML: the links to the other pages, and *body*."""
    links = list[Html]()
    for name, label in PAGES.items():
        current = {"aria-current": "page"} if name == BELOW.get(visit.page, visit.page) else {}
        links.append(tag("a", label, href=visit.address(name), **current))
    if len(visit.users) > 1:
        options = [option(name, visit.user) for name in visit.users]
        users = tag("select", *options, name="user", **{"aria-label": "user"})
        here = f"{visit.base}/{visit.page}"
        links.append(tag("form", users, button("Show"), method="get", action=here))
    skip = tag("a", "to the page", href="#page", cls="skip")
    head = tag("header", tag("div", skip, *links))
    # The same class as in notebooks: the same functions draw the contents.
    main = tag("main", tag("div", body, cls="mc"), id="page")
    named = title or PAGES.get(visit.page, visit.page)
    return document(f"{named} · memory-context", head, main, style=DRAWN + STYLE)


def message(text: str) -> str:
    """Return a page with one sentence and no links."""
    body = tag("main", tag("h1", "memory-context"), tag("p", text))
    return document("memory-context", body, style=STYLE)
