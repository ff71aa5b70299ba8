"""HTML in which every text is escaped by construction: a string that is not `Html` is text, and is escaped.

The HTML loads and runs nothing: it holds no script, no link and no address. Its colours suit light and dark pages, and
its sizes follow the page's. Where the style is removed, as code hosts do, the rest can still be read in order.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

import regex

BAR_WIDTH = 16
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Control and format characters, unassigned ones, and Unicode's line separators, except line breaks, tabs, and the joiners
# that some scripts need.
_UNSEEN = regex.compile(
    r"[^\P{C}\n\t\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}]|[\p{Zl}\p{Zp}]"
)
# ASCII's control characters, except line breaks and tabs.
_CONTROLS = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")
# MathJax would take texts with dollar signs for formulas; both versions that Jupyter uses ignore these classes.
_ROOT = "mc tex2jax_ignore mathjax_ignore"
STYLE = """
.mc{font:13px/1.45 system-ui,sans-serif;overflow-x:auto;max-width:1100px}
.mc pre,.mc code{font:12px/1.45 ui-monospace,Menlo,Consolas,monospace;
background:none;color:inherit;padding:0;border:0}
.mc pre{margin:.2em 0;white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal}
.mc .head{margin:.2em 0 .5em}.mc .soft,.mc .n{opacity:.65}.mc .n{user-select:none}
.mc .key{font-weight:600;color:#2f7fd6}
.mc .bar{color:#2f7fd6;font:11px/1 monospace;white-space:pre}.mc .bar i{font-style:normal;opacity:.4}
.mc table{border-collapse:collapse;border:0;margin:.3em 0;font:inherit}
.mc th,.mc td{text-align:left;vertical-align:top;padding:.2em .7em .2em 0;border:0;background:none;
border-bottom:1px solid rgba(128,128,128,.28);max-width:60em;white-space:normal;overflow-wrap:break-word}
.mc th{opacity:.65;font-weight:600;white-space:nowrap}
.mc .num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.mc td.who{border-left:3px solid #8a8f98;padding-left:.6em;white-space:nowrap;font-weight:600}
.mc td.what{width:100%}.mc td.user{border-left-color:#2f7fd6}.mc td.assistant{border-left-color:#2e9d5b}
.mc td.memory{border-left-color:#9a63d6}
.mc .error,.mc .minus{color:#d9483b}.mc .warning,.mc .number{color:#b57a14}.mc .debug{opacity:.65}
.mc .plus,.mc .string{color:#2e9d5b}.mc .hunk,.mc .name{color:#2f7fd6}
.mc summary{cursor:pointer}.mc details details,.mc .leaf{margin-left:1.1em}
.mc mark{background:rgba(255,196,0,.42);color:inherit;border-radius:2px}
.mc img{max-width:100%;max-height:360px}
""".replace("\n", "").replace(
    ".mc ", ".mc.mc "
)  # doubled to take precedence over Jupyter's style of tables


# The markup that ends a line of text; all other tags are inside a line.
_END_OF_LINE = re.compile("</(div|pre|summary|tr)>|<br>|(?<=</span>)(?=<details)")
_TAG = re.compile("<[^>]*>")


class Html(str):
    """Markup whose texts have been escaped."""

    __slots__ = ()


def visible(text: str) -> str:
    """Replace characters of `text` that are invisible or change the writing direction; joiners of letters stay."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def escaped(text: str) -> Html:
    """Escape `text` for markup; return markup as it is."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(visible(text)))


def sent_back(text: str) -> Html:
    """Escape `text`, which has no NUL and no lone surrogate, for a form's field of several lines.

    Browsers send it back as it is.
    """
    written = _CONTROLS.sub(lambda found: f"&#{ord(found[0])};", html.escape(text))
    # A browser drops the first line break in the field.
    return Html(f"\n{written}")


def joined(*parts: str) -> Html:
    """Join texts and markup into one piece of markup."""
    return Html("".join(map(escaped, parts)))


def tag(name: str, /, *parts: str, cls: str = "", **attributes: str) -> Html:
    """Return an element with texts and markup in it."""
    given = attributes
    if cls:
        given = {"class": cls, **attributes}
    written = ""
    for key, value in given.items():
        written += f' {key}="{html.escape(visible(value))}"'
    return Html(f"<{name}{written}>{joined(*parts)}</{name}>")


def image(data_url: str) -> Html:
    """Return a picture that is embedded in the page."""
    return Html(f'<img alt="" src="{html.escape(data_url)}">')


def folded(summary: str, *parts: str, is_open: bool = False) -> Html:
    """Return a summary that opens to show the parts."""
    start = Html("<details>")
    if is_open:
        start = Html("<details open>")
    return joined(start, tag("summary", summary), *parts, Html("</details>"))


def soft(text: str) -> Html:
    """Return a remark in paler type."""
    return tag("span", text, cls="soft")


def and_more(drawn: Html, left_out: int) -> Html:
    """Return the first entries of a list, *drawn*, and below them how many more there are, if any."""
    if left_out <= 0:
        return drawn
    return joined(drawn, soft(f"⋯ {left_out:,} more"))


def key_name(key: str) -> Html:
    """Return the key of a memory in the type of keys."""
    return tag("code", key, cls="key")


def table(
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    numbers: Iterable[int] = (),
    *,
    labels: bool = False,
) -> Html:
    """Return a table; the columns with the indices `numbers`, from 0, are aligned to the right.

    With `labels` each cell carries the name of its column, for a style that shows a row as several lines.
    """
    right = frozenset(numbers)
    names = list(columns)

    def row_of(cell: str, texts: Iterable[str]) -> Html:
        """Return a row of the table."""
        cells = list[Html]()
        for index, text in enumerate(texts):
            of = {}
            if labels and cell == "td" and text:
                of = {"data-of": names[index]}
            cls = ""
            if index in right:
                cls = "num"
            cells.append(tag(cell, text, cls=cls, **of))
        return tag("tr", *cells)

    body = tag("tbody", *(row_of("td", row) for row in rows))
    if any(names):
        return tag("table", tag("thead", row_of("th", names)), body)
    return tag("table", body)


def bar(part: float) -> Html:
    """Return a bar for a share from 0 to 1, to an eighth of a character; any share above 0 is visible."""
    share = min(max(part, 0.0), 1.0)
    eighths = round(share * BAR_WIDTH * 8)
    if part > 0:
        eighths = max(eighths, 1)
    whole, rest = divmod(eighths, 8)
    return tag("span", "█" * whole + _EIGHTHS[rest].strip(), cls="bar")


def as_text(markup: Html) -> str:
    """Return the text of markup for a terminal, with each row and block on its own line."""
    lines = _END_OF_LINE.sub("\n", markup.replace("</td>", "  ").replace("</th>", "  "))
    texts = html.unescape(_TAG.sub("", lines)).split("\n")
    return "\n".join(line.rstrip() for line in texts if line.strip())


def page(*parts: str) -> str:
    """Return HTML for a notebook: the style and the parts."""
    return str(tag("div", tag("style", Html(STYLE)), *parts, cls=_ROOT))
