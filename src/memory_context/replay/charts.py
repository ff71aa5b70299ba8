"""The charts of the report, as inline SVG: made here, so that the page needs no script and no network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 42, 22, 12, 36
MOST_POINTS = 300
COLOURS = 8
NARROWEST = 0.1
LABEL, LINE = 6.0, 11.0
"""The width of a character and the height of a line of a label, in the chart's own units."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A policy in a chart: the number and the name that it has in the table."""

    number: int
    name: str

    @property
    def style(self) -> str:
        """The classes of its lines and points."""
        return f"c{(self.number - 1) % COLOURS} d{(self.number - 1) // COLOURS % 3}"

    @property
    def title(self) -> str:
        """Its name as an SVG title, which browsers show to those who point at it."""
        return f"<title>{self.number} {shown(self.name)}</title>"


@dataclass(frozen=True, slots=True)
class Axis:
    """Values on a line of the chart: `low` is drawn at `start`, `high` at `end`."""

    low: float
    high: float
    step: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where `value` is drawn."""
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self) -> list[float]:
        """The values that are written beside it."""
        first, last = (
            math.ceil(self.low / self.step - 1e-9),
            math.floor(self.high / self.step + 1e-9),
        )
        return [number * self.step for number in range(first, last + 1)]


def axis(low: float, high: float, start: float, end: float, *, whole: bool = False) -> Axis:
    """An axis for values from `low` to `high` that begins and ends at round numbers, with about five of them."""
    high = max(high, low + NARROWEST)
    rough = (high - low) / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first = math.floor(low / step + 1e-9) * step
    last = max(math.ceil(high / step - 1e-9) * step, first + step)
    return Axis(first, last, step, start, end)


def shown(text: str) -> str:
    """`text` as it may stand in HTML; characters that show nothing are replaced."""
    return escape(
        "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    )


def lines(series: Sequence[tuple[Mark, Sequence[float]]], title: str, across: str) -> str:
    """A line for each series; the first value stands at 1."""
    count = max((len(values) for _, values in series), default=0)
    top = max((value for _, values in series for value in values), default=0.0)
    x = axis(1, max(count, 2), LEFT, WIDTH - RIGHT, whole=True)
    x = Axis(1, max(count, 2), x.step, LEFT, WIDTH - RIGHT)
    y = axis(0, max(top, 1), HEIGHT - BOTTOM, TOP)
    drawn = [_line(mark, values, x, y) for mark, values in series if values]
    ends = _ends(
        [(y.place(values[-1]), mark, x.place(len(values))) for mark, values in series if values]
    )
    return _svg(title, [*_frame(x, y, across), *drawn, *ends])


def _line(mark: Mark, values: Sequence[float], x: Axis, y: Axis) -> str:
    every = max(math.ceil(len(values) / MOST_POINTS), 1)
    numbers = sorted({*range(0, len(values), every), len(values) - 1})
    points = " ".join(
        f"{x.place(number + 1):.1f},{y.place(values[number]):.1f}" for number in numbers
    )
    return f'<polyline class="line {mark.style}" points="{points}">{mark.title}</polyline>'


def _ends(ends: Iterable[tuple[float, Mark, float]]) -> Iterator[str]:
    """The numbers of lines behind their ends, none on top of another."""
    ordered = sorted(ends, key=lambda one: one[0])
    for y, (_, mark, x) in zip(
        spread([one[0] for one in ordered], LINE - 1.5, HEIGHT - BOTTOM), ordered, strict=True
    ):
        yield f'<text class="end {mark.style}" x="{x + 4:.1f}" y="{y + 3.5:.1f}">{mark.number}</text>'


def spread(places: Sequence[float], gap: float, end: float) -> list[float]:
    """`places`, which are sorted, moved so that each is `gap` or more behind the one before, and none behind `end`."""
    moved = list(accumulate(places, lambda before, place: max(place, before + gap)))
    latest = (end - gap * count for count in range(len(moved) - 1, -1, -1))
    return [min(place, last) for place, last in zip(moved, latest, strict=True)]


def points(series: Sequence[tuple[Mark, float, float]], title: str, across: str, up: str) -> str:
    """A labelled point for each of `series`, at its first value from the left and its second from below."""
    xs, ys = [one[1] for one in series] or [0.0], [one[2] for one in series] or [0.0]
    x = axis(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y = axis(min(0.0, *ys) if min(ys) < 0.2 else min(ys), max(ys), HEIGHT - BOTTOM, TOP)
    places = [(x.place(across_), y.place(up_)) for _, across_, up_ in series]
    dots = [
        f'<circle class="dot {mark.style}" cx="{px:.1f}" cy="{py:.1f}" r="3.5">{mark.title}</circle>'
        for (mark, _, _), (px, py) in zip(series, places, strict=True)
    ]
    labels = _labels([mark for mark, _, _ in series], places)
    return _svg(title, [*_frame(x, y, across, up), *labels, *dots])


def _labels(marks: Sequence[Mark], places: Sequence[tuple[float, float]]) -> Iterator[str]:
    """The number and the kind of each point near it, where nothing else stands, and a thin line to it."""
    taken = [(px - 4, py - 4, px + 4, py + 4) for px, py in places]
    for mark, (px, py) in zip(marks, places, strict=True):
        text = f"{mark.number} {mark.name.partition(':')[0]}"[:18]
        box = next(
            (
                box
                for box in _boxes(px, py, len(text) * LABEL)
                if not any(_meet(box, one) for one in taken)
            ),
            None,
        )
        if box is None:
            continue  # the number stands in the table and in the list below the chart all the same
        taken.append(box)
        end = min(max(px, box[0]), box[2]), min(max(py, box[1]), box[3])
        yield f'<line class="lead" x1="{px:.1f}" y1="{py:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
        yield f'<text class="label" x="{box[0]:.1f}" y="{box[3] - 2.5:.1f}">{shown(text)}</text>'


def _boxes(px: float, py: float, width: float) -> Iterator[tuple[float, float, float, float]]:
    """Places for a label around a point, near ones first, all of them inside of the frame."""
    for distance in (6, 14, 24, 36, 50, 66, 84, 104, 126):
        for angle in (0, 180, 45, -45, 135, -135, 90, -90, 20, -20, 160, -160):
            cx = px + distance * math.cos(math.radians(angle))
            cy = py - distance * math.sin(math.radians(angle))
            left = cx if abs(angle) < 90 else cx - width if abs(angle) > 90 else cx - width / 2
            box = (left, cy - LINE / 2, left + width, cy + LINE / 2)
            if box[0] >= LEFT and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT - BOTTOM:
                yield box


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _frame(x: Axis, y: Axis, across: str, up: str = "") -> Iterator[str]:
    """The grid with its numbers, and what they count."""
    for value in y.ticks():
        place = y.place(value)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>'
        yield f'<text class="tick" text-anchor="end" x="{LEFT - 4}" y="{place + 3.5:.1f}">{number(value)}</text>'
    for value in x.ticks():
        head = f'<text class="tick" text-anchor="middle" x="{x.place(value):.1f}" y="{HEIGHT - BOTTOM + 14}">'
        yield f"{head}{number(value)}</text>"
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text class="tick" text-anchor="middle" x="{middle}" y="{HEIGHT - 6}">{shown(across)}</text>'
    if up:
        yield f'<text class="tick" x="2" y="{HEIGHT - 6}">\N{UPWARDS ARROW} {shown(up)}</text>'


def number(value: float) -> str:
    """A value of an axis: thousands as k, no more digits than it needs."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{round(value, 6):g}"


def _svg(title: str, parts: Iterable[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{shown(title)}">'
    return "\n".join((head, *parts, "</svg>"))
