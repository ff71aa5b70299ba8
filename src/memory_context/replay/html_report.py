"""Write the report: one HTML file with everything in it, for a screen of any width, light or dark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_context.display.escaped_html import Html, escaped, joined, tag
from memory_context.replay.charts import Mark, line_chart
from memory_context.replay.definitions import DEFINITIONS, POLICIES
from memory_context.replay.summary import Summary, is_ours
from memory_context.replay.terminal_report import COLUMNS, cells

FEWEST = 10
"""The mean over runs is drawn as far as one in so many of them goes: the few longest say little about a mean."""

STYLE = """
:root{color-scheme:light dark;--ink:#1c1c1e;--soft:#5f6368;--rule:#d9dce0;--paper:#fff;
--k0:#0063b1;--k1:#c84c00;--k2:#00805a;--k3:#b0478a;--k4:#a87400;--k5:#2f8fc4;--k6:#7a4fd0;--k7:#6b6b6b;}
@media(prefers-color-scheme:dark){:root{--ink:#ececee;--soft:#a0a4ab;--rule:#3a3d42;--paper:#17181a;
--k0:#5aa9f0;--k1:#ff8a4a;--k2:#3ecf9d;--k3:#ee8fc9;--k4:#e6b23c;--k5:#8fd3ff;--k6:#b79bff;--k7:#b5b5b5;}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1160px;margin:0 auto;padding:16px}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.6em 0 .5em}
p{margin:.3em 0}.soft,figcaption{color:var(--soft)}.name,dt{overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.3em .6em;text-align:right;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left;padding-left:0}th{color:var(--soft);font-weight:600}
.lead{font-size:1.15rem;max-width:46em;margin:.6em 0 1em}
figure{margin:0;max-width:600px}figcaption{font-size:.9rem;margin-bottom:.3em}svg{width:100%;height:auto;display:block}
.grid{stroke:var(--rule);stroke-width:.6}.tick{fill:var(--soft);font-size:10.5px}
.middle{text-anchor:middle}.end{text-anchor:end}
.line{fill:none;stroke-width:1.2;stroke-linejoin:round;opacity:.75}.ours{stroke-width:3;opacity:1}
.d1{stroke-dasharray:5 2.5}.d2{stroke-dasharray:1.5 2}
.key{list-style:none;display:flex;flex-wrap:wrap;gap:.1em 1em;margin:.4em 0 0;padding:0;font-size:.85rem}
.swatch{display:inline-block;width:26px;height:8px;margin-right:.4em;vertical-align:middle}
dt{font-weight:600}dd{margin:0 0 .5em}
@media(min-width:760px){dl{display:grid;grid-template-columns:7.5em 1fr;gap:.1em 1em}}
@media(max-width:759px){thead{display:none}table,tbody{display:block}
tr{display:grid;grid-template-columns:repeat(3,1fr);gap:.1em .8em;padding:.6em 0;border-bottom:1px solid var(--rule)}
td{border:0;padding:0;text-align:left}td:first-child{grid-column:1/-1;font-weight:600}
td:not(:first-child)::before{content:attr(data-of) " ";color:var(--soft);font-size:.85rem}}
.c0{stroke:var(--k0)}.c1{stroke:var(--k1)}.c2{stroke:var(--k2)}.c3{stroke:var(--k3)}
.c4{stroke:var(--k4)}.c5{stroke:var(--k5)}.c6{stroke:var(--k6)}.c7{stroke:var(--k7)}
"""
_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(summary: Summary) -> str:
    """Return the report as HTML. It loads nothing, runs nothing, and every text in it is escaped."""
    policies = summary.results.policies
    marks = list[Mark]()
    for number, result in enumerate(policies, 1):
        name = result.row.policy
        marks.append(Mark(number, name, is_ours(name)))
    main = tag(
        "main",
        tag("h1", "What would it have cost, what would have been in sight?"),
        tag("p", summary.conclusion(), cls="lead"),
        _mean_chart(summary, marks),
        tag("h2", "Details"),
        tag("p", ", ".join(summary.files), cls="name"),
        tag("p", summary.headline(), cls="soft"),
        _table(summary, marks),
        _longest_chart(summary, marks),
        *_explanations(),
    )
    head = (
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width,initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">'),
        tag("title", "memory-context replay"),
        tag("style", Html(STYLE)),
    )
    document = tag("html", tag("head", *head), tag("body", main), lang="en")
    return f"<!doctype html>\n{document}\n"


def _table(summary: Summary, marks: Sequence[Mark]) -> Html:
    rows = list[Html]()
    for mark, result in zip(marks, summary.results.policies, strict=True):
        row = [tag("td", _named(mark), cls="name")]
        for column, cell in zip(COLUMNS[1:], cells(result.row)[1:], strict=True):
            row.append(tag("td", cell, **{"data-of": column}))
        rows.append(tag("tr", *row))
    titles = tag("tr", *(tag("th", column) for column in COLUMNS))
    return tag("table", tag("thead", titles), tag("tbody", *rows))


def _named(mark: Mark) -> Html:
    """Return a policy's line, number and name; the name may break behind its colons and commas."""
    line = tag("path", cls=mark.style, d="M0,4H26")
    swatch = tag("svg", line, cls="swatch", viewBox="0 0 26 8", **{"aria-hidden": "true"})
    name = re.sub("([:,])", r"\1<wbr>", escaped(mark.name))
    return joined((swatch, f"{mark.number} ", Html(name)))


def _mean_chart(summary: Summary, marks: Sequence[Mark]) -> Html:
    results = summary.results
    enough = sum(runs * FEWEST >= results.runs for runs in results.reached)
    means = [result.mean[:enough] for result in results.policies]
    caption = f"Over the runs that have the call, as far as one run in {FEWEST} has it"
    return _figure("Tokens per call, mean", caption, marks, means)


def _longest_chart(summary: Summary, marks: Sequence[Mark]) -> Html:
    results = summary.results
    caption = f"The run with the most model calls: {results.longest or 'none'}"
    longest = [result.longest for result in results.policies]
    return _figure("Tokens per call, longest run", caption, marks, longest)


def _figure(
    title: str, caption: str, marks: Sequence[Mark], values: Sequence[Sequence[float]]
) -> Html:
    chart = line_chart(list(zip(marks, values, strict=True)), caption, "number of the call")
    key = tag("ul", *(tag("li", _named(mark), cls="name") for mark in marks), cls="key")
    explained = tag("figcaption", caption, cls="name")
    return tag("figure", tag("h2", title), explained, chart, key)


def _explanations() -> list[Html]:
    parts = list[Html]()
    for title, texts in (("Definitions", DEFINITIONS), ("Policies", POLICIES)):
        terms = [joined((tag("dt", term), tag("dd", text))) for term, text in texts]
        parts += [tag("h2", title), tag("dl", *terms)]
    return parts
