"""Write the report: a self-contained HTML file, for a screen of any width, light or dark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_context.display.escaped_html import Html, escaped, folded, joined, table, tag
from memory_context.display.html_page import document
from memory_context.display.line_charts import Mark, line_chart
from memory_context.replay.figure_definitions import EXPLANATIONS
from memory_context.replay.policies_by_name import is_ours
from memory_context.replay.terminal_report import COLUMNS, cells
from memory_context.replay.verdict_and_json import Summary, verdict

FEWEST = 10
"""The chart ends where fewer than one run in this many has the call: a mean over the few longest runs means little."""

CALL_COLUMNS = ("call", "in full", "sent", "needed", "out of sight", "lost")

STYLE = """
p{margin:.3em 0}.soft,figcaption{color:var(--soft)}.name,dt,td:first-child{overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.3em .6em;text-align:right;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left;padding-left:0}th{color:var(--soft);font-weight:600}
.lead{font-size:1.15rem;max-width:46em;margin:.6em 0 1em}
figure{margin:0;max-width:600px}figcaption{font-size:.9rem;margin-bottom:.3em}svg{width:100%;height:auto;display:block}
.key{list-style:none;display:flex;flex-wrap:wrap;gap:.1em 1em;margin:.4em 0 0;padding:0;font-size:.85rem}
.swatch{display:inline-block;width:26px;height:8px;margin-right:.4em;vertical-align:middle}
dt{font-weight:600}dd{margin:0 0 .5em}
@media(min-width:760px){dl{display:grid;grid-template-columns:7.5em 1fr;gap:.1em 1em}}
@media(max-width:759px){thead{display:none}table,tbody{display:block}
tr{display:grid;grid-template-columns:repeat(3,1fr);gap:.1em .8em;padding:.6em 0;border-bottom:1px solid var(--rule)}
td{border:0;padding:0;text-align:left}td:first-child{grid-column:1/-1;font-weight:600}
td:not(:first-child)::before{content:attr(data-of) " ";color:var(--soft);font-size:.85rem}}
"""


def page(summary: Summary) -> str:
    """Return the report as HTML. It loads nothing, runs nothing, and every text in it is escaped."""
    names = [result.policy for result in summary.results.policies]
    marks = [Mark(number, name, is_ours(name)) for number, name in enumerate(names, 1)]
    pairs = zip(marks, summary.results.policies, strict=True)
    rows = [[_named(mark), *cells(result)[1:]] for mark, result in pairs]
    parts = [
        tag("h1", "What would it have cost, what would have been in sight?"),
        tag("p", summary.conclusion(), cls="lead"),
        _chart(summary, marks),
        tag("h2", "Details"),
        tag("p", ", ".join(summary.files), cls="name"),
        tag("p", summary.headline(), cls="soft"),
        *(tag("p", f"damaged, left out: {problem}", cls="name") for problem in summary.damaged),
        table(COLUMNS, rows, labels=True),
        *_worst(summary),
    ]
    for title, texts in EXPLANATIONS.items():
        terms = [joined(tag("dt", term), tag("dd", text)) for term, text in texts]
        parts += [tag("h2", title), tag("dl", *terms)]
    return document("memory-context replay", tag("main", *parts), style=STYLE)


def _named(mark: Mark) -> Html:
    """Return a policy's line, number and name; the name may break after its colons and commas."""
    line = tag("path", cls=mark.style, d="M0,4H26")
    swatch = tag("svg", line, cls="swatch", viewBox="0 0 26 8", **{"aria-hidden": "true"})
    name = re.sub("([:,])", r"\1<wbr>", escaped(mark.name))
    return joined(swatch, f"{mark.number} ", Html(name))


def _chart(summary: Summary, marks: Sequence[Mark]) -> Html:
    results = summary.results
    # Fewer and fewer runs have a further call.
    enough = [runs for runs in results.reached if runs * FEWEST >= results.runs]
    means = [result.mean[: len(enough)] for result in results.policies]
    lines = list(zip(marks, means, strict=True))
    caption = f"Over the runs that have the call, as far as one run in {FEWEST} has it"
    names = [tag("li", _named(mark), cls="name") for mark in marks]
    return tag(
        "figure",
        tag("h2", "Tokens per call, mean"),
        tag("figcaption", caption, cls="name"),
        line_chart(lines, caption, "number of the call"),
        tag("ul", *names, cls="key"),
    )


def _worst(summary: Summary) -> list[Html]:
    """Return the worst runs, each with its calls."""
    if not summary.results.worst:
        return []
    parts = [tag("h2", "Worst runs")]
    for run in summary.results.worst:
        rows = list[list[str]]()
        calls = zip(run.unbounded, run.ours, strict=True)
        for number, (before, after) in enumerate(calls, 1):
            out_of_sight = after.needed - after.visible
            figures = (before.tokens, after.tokens, after.needed, out_of_sight, after.lost)
            rows.append([str(number), *(f"{figure:,}" for figure in figures)])
        numbers = range(len(CALL_COLUMNS))
        shown = table(CALL_COLUMNS, rows, numbers, labels=True)
        parts.append(folded(f"{run.id}: {verdict(run)}", shown))
    look = "memory-context replay FILE --run NAME --call NUMBER"
    parts.append(tag("p", f"What a prompt looked like: {look}", cls="soft"))
    return parts
