"""The report: one HTML file with everything in it, for a screen of any width, light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_context.replay.charts import Mark, lines, points, shown
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
.line{{fill:none;stroke-width:1.8;stroke-linejoin:round}}.label{{fill:var(--ink);font-size:10.5px}}
.end{{font-size:10.5px;font-weight:600}}.lead{{stroke:var(--soft);stroke-width:.6}}
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
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(summary: Summary) -> str:
    """The report as HTML. It loads nothing, runs nothing, and every text in it is escaped."""
    return "\n".join(
        (*_head(), *_table(summary), *_charts(summary), *_texts(), "</main></body></html>", "")
    )


def _marks(summary: Summary) -> list[Mark]:
    return [Mark(number, one.row.policy) for number, one in enumerate(summary.results.policies, 1)]


def _head() -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f"<title>memory-context replay</title><style>{STYLE}</style></head><body><main>"
    yield "<h1>What would it have cost, what would have been in sight?</h1>"


def _table(summary: Summary) -> Iterator[str]:
    yield f'<p class="name">{shown(", ".join(summary.files))}</p><p class="soft">{shown(summary.headline())}</p>'
    yield f"<table><thead><tr>{''.join(f'<th>{shown(name)}</th>' for name in COLUMNS)}</tr></thead><tbody>"
    for mark, one in zip(_marks(summary), summary.results.policies, strict=True):
        numbers = zip(COLUMNS[1:], cells(one.row)[1:], strict=True)
        rest = "".join(f'<td data-of="{shown(name)}">{shown(cell)}</td>' for name, cell in numbers)
        yield f'<tr><td class="name">{_named(mark)}</td>{rest}</tr>'
    yield "</tbody></table>"


def _named(mark: Mark) -> str:
    line = f'<line class="line {mark.style}" x1="0" x2="26" y1="4" y2="4"/>'
    return f'<svg class="swatch" viewBox="0 0 26 8" aria-hidden="true">{line}</svg>{mark.number} {_breakable(mark.name)}'


def _breakable(name: str) -> str:
    """A policy's name that may go on in the next line behind its colons and commas."""
    return re.sub("([:,])", r"\1<wbr>", shown(name))


def _charts(summary: Summary) -> Iterator[str]:
    yield '<div class="charts">'
    yield from _mean(summary)
    yield from _longest(summary)
    yield from _scatter(summary)
    yield "</div>"


def _mean(summary: Summary) -> Iterator[str]:
    results = summary.results
    enough = sum(runs * FEWEST >= results.runs for runs in results.reached)
    series = [
        (mark, one.mean[:enough])
        for mark, one in zip(_marks(summary), results.policies, strict=True)
    ]
    said = f"Over the runs that have the call, as far as one run in {FEWEST} has it"
    yield from _figure(
        "Tokens per call, mean", said, lines(series, said, "number of the call in its run"), summary
    )


def _longest(summary: Summary) -> Iterator[str]:
    series = [
        (mark, one.longest)
        for mark, one in zip(_marks(summary), summary.results.policies, strict=True)
    ]
    said = f"The run with the most model calls: {summary.results.longest or 'none'}"
    yield from _figure(
        "Tokens per call, longest run", said, lines(series, said, "number of the call"), summary
    )


def _scatter(summary: Summary) -> Iterator[str]:
    results = zip(_marks(summary), summary.results.policies, strict=True)
    series = [(mark, one.row.visible, one.row.cost) for mark, one in results]
    said = (
        "Further right is more in sight, further down is cheaper; the unbounded context is at 1, 1"
    )
    yield from _figure(
        "Cost against visible values", said, points(series, said, "visible", "cost"), summary
    )


def _figure(title: str, said: str, chart: str, summary: Summary) -> Iterator[str]:
    key = "".join(f'<li class="name">{_named(mark)}</li>' for mark in _marks(summary))
    yield f'<figure><h2>{title}</h2><figcaption class="name">{shown(said)}</figcaption>'
    yield f'{chart}<ul class="key">{key}</ul></figure>'


def _texts() -> Iterator[str]:
    for title, texts in (("Definitions", DEFINITIONS), ("Policies", POLICIES)):
        terms = "".join(f"<dt>{shown(term)}</dt><dd>{shown(text)}</dd>" for term, text in texts)
        yield f"<h2>{title}</h2><dl>{terms}</dl>"
