"""A complete HTML page and its style, for any width, light or dark; it loads nothing and runs nothing."""

from __future__ import annotations

from memory_context.display.escaped_html import Html, tag

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
:root{color-scheme:light dark;--ink:#1c1c1e;--soft:#5f6368;--rule:#d9dce0;--paper:#fff;
--k0:#0063b1;--k1:#c84c00;--k2:#00805a;--k3:#b0478a;--k4:#a87400;--k5:#2f8fc4;--k6:#7a4fd0;--k7:#6b6b6b;}
@media(prefers-color-scheme:dark){:root{--ink:#ececee;--soft:#a0a4ab;--rule:#3a3d42;--paper:#17181a;
--k0:#5aa9f0;--k1:#ff8a4a;--k2:#3ecf9d;--k3:#ee8fc9;--k4:#e6b23c;--k5:#8fd3ff;--k6:#b79bff;--k7:#b5b5b5;}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1160px;margin:0 auto;padding:16px}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.6em 0 .5em}
.grid{stroke:var(--rule);stroke-width:.6}.tick{fill:var(--soft);font-size:10.5px}
.middle{text-anchor:middle}.end{text-anchor:end}
.line{fill:none;stroke-width:1.2;stroke-linejoin:round;opacity:.75}.ours{stroke-width:3;opacity:1}
.d1{stroke-dasharray:5 2.5}.d2{stroke-dasharray:1.5 2}
.c0{stroke:var(--k0)}.c1{stroke:var(--k1)}.c2{stroke:var(--k2)}.c3{stroke:var(--k3)}
.c4{stroke:var(--k4)}.c5{stroke:var(--k5)}.c6{stroke:var(--k6)}.c7{stroke:var(--k7)}
"""


def document(title: str, *parts: str, style: str) -> str:
    """Return a page with a title and parts; *style* is added to the style of all pages."""
    head = (
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width,initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'),
        tag("title", title),
        tag("style", Html(STYLE + style)),
    )
    markup = tag("html", tag("head", *head), tag("body", *parts), lang="en")
    return f"<!doctype html>\n{markup}\n"
