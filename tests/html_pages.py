"""Reading HTML as a browser would: its texts, and everything in it that could run or load something."""

from __future__ import annotations

from html.parser import HTMLParser

from memory_context.model.registry_of_drawers import Displayed

HARMLESS = {
    *("div", "span", "pre", "code", "b", "i", "br", "mark", "style", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "img"),
}
VOID = {"br", "img"}


class Page(HTMLParser):
    """An HTML page, taken apart.

    Attributes:
        said: All text outside of the style.
        styles: The texts of its style elements.
        elements: The names of all elements, in order.
        attributes: Element, name and value of each attribute.
        marked: The texts that are highlighted.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.said, self.styles = "", list[str]()
        self.elements, self.attributes = list[str](), list[tuple[str, str, str]]()
        self.marked, self._open = list[str](), list[str]()
        self.feed(html)
        self.close()
        assert self._open == [], "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends where it should."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if self._open and self._open[-1] == "style":
            self.styles.append(data)
            return
        self.said += data
        if self._open and self._open[-1] == "mark":
            self.marked.append(data)

    def check(self) -> None:
        """Nothing in it can run, load or lead anywhere; every text keeps formulas out."""
        assert set(self.elements) <= HARMLESS
        for element, name, value in self.attributes:
            assert name in {"class", "open"} or (element == "img" and name in {"src", "alt"}), (
                element,
                name,
            )
            assert name != "src" or value.startswith(
                ("data:image/png;base64,", "data:image/jpeg;base64,")
            )
        assert not any("url(" in style or "@import" in style for style in self.styles)
        assert "mathjax_ignore" in self.attributes[0][2]


def shown(value: Displayed) -> Page:
    """What a notebook shows of a value; checked."""
    page = Page(bundle(value)["text/html"])
    page.check()
    return page


def bundle(value: Displayed) -> dict[str, str]:
    """What IPython gets of a value."""
    return value._repr_mimebundle_()
