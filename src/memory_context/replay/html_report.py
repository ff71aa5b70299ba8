"""Write the report: one HTML file with everything in it, for a screen of any width, light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_context.replay.charts import Mark, escaped, line_chart, point_chart
from memory_context.replay.definitions import DEFINITIONS, POLICIES
from memory_context.replay.summary import Summary
from memory_context.replay.terminal_report import COLUMNS, cells

FEWEST = 10
"""The mean over runs is drawn as far as one in so many of them goes: the few longest say little about a mean."""

_LIGHT = ("#0063b1", "#c84c00", "#00805a", "#b0478a", "#a87400", "#2f8fc4", "#7a4fd0", "#6b6b6b")
_DARK = ("#5aa9f0", "#ff8a4a", "#3ecf9d", "#ee8fc9", "#e6b23c", "#8fd3ff", "#b79bff", "#b5b5b5")


def _colours(values: Sequence[str]) -> str:
    return "".join(f"--k{index}:{value};" for index, value in enumerate(values))


STYLE = f"""
:root{{color-scheme:light dark;--ink:#1c1c1e;--soft:#5f6368;--rule:#d9dce0;--paper:#fff;{_colours(_LIGHT)}}}
@media(prefers-color-scheme:dark){{:root{{--ink:#ececee;--soft:#a0a4ab;--rule:#3a3d42;--paper:#17181a;{_colours(_DARK)}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}}
main{{max-width:1160px;margin:0 auto;padding:16px}}
h1{{font-size:1.5rem;margin:.2em 0}}h2{{font-size:1.15rem;margin:1.6em 0 .5em}}
p{{margin:.3em 0}}.soft,figcaption{{color:var(--soft)}}.name,dt{{overflow-wrap:anywhere}}
table{{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}}
th,td{{padding:.3em .6em;text-align:right;border-bottom:1px solid var(--rule)}}
th:first-child,td:first-child{{text-align:left;padding-left:0}}th{{color:var(--soft);font-weight:600}}
.charts{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,440px),1fr));gap:24px}}
figure{{margin:0}}figcaption{{font-size:.9rem;margin-bottom:.3em}}svg{{width:100%;height:auto;display:block}}
.grid{{stroke:var(--rule);stroke-width:.6}}.tick{{fill:var(--soft);font-size:10.5px}}
.line{{fill:none;stroke-width:1.8;stroke-linejoin:round}}
.end{{font-size:10.5px;font-weight:600}}
.d1{{stroke-dasharray:5 2.5}}.d2{{stroke-dasharray:1.5 2}}
.key{{list-style:none;display:flex;flex-wrap:wrap;gap:.1em 1em;margin:.4em 0 0;padding:0;font-size:.85rem}}
.swatch{{display:inline-block;width:26px;height:8px;margin-right:.4em;vertical-align:middle}}
dt{{font-weight:600}}dd{{margin:0 0 .5em}}
@media(min-width:760px){{dl{{display:grid;grid-template-columns:7.5em 1fr;gap:.1em 1em}}}}
@media(max-width:759px){{thead{{display:none}}table,tbody{{display:block}}
tr{{display:grid;grid-template-columns:repeat(3,1fr);gap:.1em .8em;padding:.6em 0;border-bottom:1px solid var(--rule)}}
td{{border:0;padding:0;text-align:left}}td:first-child{{grid-column:1/-1;font-weight:600}}
td:not(:first-child)::before{{content:attr(data-of) " ";color:var(--soft);font-size:.85rem}}}}
""" + "".join(
    f".line.c{index}{{stroke:var(--k{index})}}.end.c{index},.dot.c{index}{{fill:var(--k{index})}}"
    for index in range(len(_LIGHT))
)
_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(summary: Summary) -> str:
    """Return the report as HTML. It loads nothing, runs nothing, and every text in it is escaped."""
    parts = [*_head(), *_table(summary), *_charts(summary), *_explanations()]
    return "\n".join((*parts, "</main></body></html>", ""))


def _marks(summary: Summary) -> list[Mark]:
    policies = summary.results.policies
    return [Mark(number, result.row.policy) for number, result in enumerate(policies, 1)]


def _head() -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">'
    yield f"<title>memory-context replay</title><style>{STYLE}</style></head><body><main>"
    yield "<h1>What would it have cost, what would have been in sight?</h1>"


def _table(summary: Summary) -> Iterator[str]:
    yield f'<p class="name">{escaped(", ".join(summary.files))}</p>'
    yield f'<p class="soft">{escaped(summary.headline())}</p>'
    titles = "".join(f"<th>{escaped(column)}</th>" for column in COLUMNS)
    yield f"<table><thead><tr>{titles}</tr></thead><tbody>"
    for mark, result in zip(_marks(summary), summary.results.policies, strict=True):
        yield f'<tr><td class="name">{_named(mark)}</td>'
        for column, cell in zip(COLUMNS[1:], cells(result.row)[1:], strict=True):
            yield f'<td data-of="{escaped(column)}">{escaped(cell)}</td>'
        yield "</tr>"
    yield "</tbody></table>"


def _named(mark: Mark) -> str:
    """Return a policy's line, number and name; the name may break behind its colons and commas."""
    line = f'<line class="line {mark.style}" x1="0" x2="26" y1="4" y2="4"/>'
    swatch = f'<svg class="swatch" viewBox="0 0 26 8" aria-hidden="true">{line}</svg>'
    name = re.sub("([:,])", r"\1<wbr>", escaped(mark.name))
    return f"{swatch}{mark.number} {name}"


def _charts(summary: Summary) -> Iterator[str]:
    marks, results = _marks(summary), summary.results
    yield '<div class="charts">'

    enough = sum(runs * FEWEST >= results.runs for runs in results.reached)
    means = [result.mean[:enough] for result in results.policies]
    caption = f"Over the runs that have the call, as far as one run in {FEWEST} has it"
    chart = line_chart(
        list(zip(marks, means, strict=True)), caption, "number of the call in its run"
    )
    yield from _figure("Tokens per call, mean", caption, chart, marks)

    longest = [result.longest for result in results.policies]
    caption = f"The run with the most model calls: {results.longest or 'none'}"
    chart = line_chart(list(zip(marks, longest, strict=True)), caption, "number of the call")
    yield from _figure("Tokens per call, longest run", caption, chart, marks)

    points = [
        (mark, result.row.visible, result.row.cost)
        for mark, result in zip(marks, results.policies, strict=True)
    ]
    caption = (
        "Further right is more in sight, further down is cheaper; the unbounded context is at 1, 1"
    )
    chart = point_chart(points, caption, "visible", "cost")
    yield from _figure("Cost against visible values", caption, chart, marks)
    yield "</div>"


def _figure(title: str, caption: str, chart: str, marks: Sequence[Mark]) -> Iterator[str]:
    key = "".join(f'<li class="name">{_named(mark)}</li>' for mark in marks)
    yield f'<figure><h2>{title}</h2><figcaption class="name">{escaped(caption)}</figcaption>'
    yield f'{chart}<ul class="key">{key}</ul></figure>'


def _explanations() -> Iterator[str]:
    for title, texts in (("Definitions", DEFINITIONS), ("Policies", POLICIES)):
        yield f"<h2>{title}</h2><dl>"
        for term, text in texts:
            yield f"<dt>{escaped(term)}</dt><dd>{escaped(text)}</dd>"
        yield "</dl>"
