"""The charts of the report as inline SVG, drawn here so that the page needs no script and no network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

# All lengths are in the chart's own units; a browser scales the whole.
WIDTH = 360
HEIGHT = 250
LEFT = 42
RIGHT = 338
TOP = 12
BOTTOM = 214
NUMBER_HEIGHT = 9.5
# The chart is 360 units wide: more points than that could not be told apart.
MOST_POINTS = 300
# As many colours as the page's style has classes c0 to c7; behind them dashes tell lines apart.
COLOURS = 8
NARROWEST = 0.1
TICKS = 5
DOT = 4


@dataclass(frozen=True, slots=True)
class Mark:
    """A policy in a chart: the number and the name that it has in the table."""

    number: int
    name: str

    @property
    def style(self) -> str:
        """Return the classes of its lines and points: a colour, and a dash where colours run out."""
        index = self.number - 1
        return f"c{index % COLOURS} d{index // COLOURS % 3}"

    @property
    def title(self) -> str:
        """Return its name as an SVG title, which browsers show to those who point at it."""
        return f"<title>{self.number} {escaped(self.name)}</title>"


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values to positions in the chart: `low` is drawn at `start`, `high` at `end`."""

    low: float
    high: float
    step: float
    start: float
    end: float

    def position(self, value: float) -> float:
        """Return where `value` is drawn."""
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return the values that are written beside it."""
        # A billionth of tolerance: 0.3 / 0.1 is 2.9999999999999996.
        first = math.ceil(self.low / self.step - 1e-9)
        last = math.floor(self.high / self.step + 1e-9)
        return [number * self.step for number in range(first, last + 1)]


def axis(low: float, high: float, start: float, end: float, *, whole: bool = False) -> Axis:
    """Return an axis from `low` to `high` that begins and ends at round numbers, with about five of them."""
    # Equal values would make an axis of no length, and a step of 0.
    high = max(high, low + NARROWEST)
    step = _round_step((high - low) / TICKS)
    if whole:
        step = max(step, 1.0)
    first = math.floor(low / step + 1e-9) * step
    # At least one step, or a value on a tick would have an axis of one tick.
    last = max(math.ceil(high / step - 1e-9) * step, first + step)
    return Axis(first, last, step, start, end)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is `least` or more."""
    power = 10.0 ** math.floor(math.log10(least))
    for factor in (1, 2, 5):
        if power * factor >= least * (1 - 1e-9):
            return power * factor
    # Rounding of the logarithm may have left the power one too low.
    return power * 10


def escaped(text: str) -> str:
    """Return `text` as it may stand in HTML; characters that show nothing are replaced."""
    shown = ""
    for char in text:
        shown += char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
    return escape(shown)


def line_chart(series: Sequence[tuple[Mark, Sequence[float]]], title: str, across: str) -> str:
    """Draw a line for each of `series`, whose first value stands at 1."""
    longest = 2
    highest = 1.0
    for _, values in series:
        longest = max(longest, len(values))
        highest = max(highest, max(values, default=0.0))
    step = axis(1, longest, LEFT, RIGHT, whole=True).step
    x = Axis(1, longest, step, LEFT, RIGHT)
    y = axis(0, highest, BOTTOM, TOP)
    parts = list(_frame(x, y, across))
    ends = list[tuple[float, float, Mark]]()
    for mark, values in series:
        if values:
            parts.append(_line(mark, values, x, y))
            ends.append((y.position(values[-1]), x.position(len(values)), mark))
    return _svg(title, [*parts, *_end_numbers(ends)])


def _line(mark: Mark, values: Sequence[float], x: Axis, y: Axis) -> str:
    every = max(math.ceil(len(values) / MOST_POINTS), 1)
    last = len(values) - 1
    points = list[str]()
    for index, value in enumerate(values):
        # The last value is always drawn, because the number of the line stands behind it.
        if index % every == 0 or index == last:
            points.append(f"{x.position(index + 1):.1f},{y.position(value):.1f}")
    path = " ".join(points)
    return f'<polyline class="line {mark.style}" points="{path}">{mark.title}</polyline>'


def _end_numbers(ends: list[tuple[float, float, Mark]]) -> Iterator[str]:
    """Write the numbers of lines or points behind them, none on top of another."""
    ends = sorted(ends, key=lambda end: end[0])
    heights = [y for y, _, _ in ends]
    spread_heights = spread(heights, NUMBER_HEIGHT, BOTTOM)
    for y, (_, x, mark) in zip(spread_heights, ends, strict=True):
        place = f'x="{x + 4:.1f}" y="{y + 3.5:.1f}"'
        yield f'<text class="end {mark.style}" {place}>{mark.number}</text>'


def spread(positions: Sequence[float], gap: float, end: float) -> list[float]:
    """Move sorted `positions` so that each is `gap` or more behind the one before, and none behind `end`."""
    moved = list[float]()
    for position in positions:
        moved.append(max(position, moved[-1] + gap) if moved else position)
    # Downwards it may have grown past the end; from the end back there is room again.
    latest = end
    for index in range(len(moved) - 1, -1, -1):
        moved[index] = min(moved[index], latest)
        latest -= gap
    return moved


def point_chart(
    series: Sequence[tuple[Mark, float, float]], title: str, across: str, up: str
) -> str:
    """Draw a numbered point for each of `series`: a mark, a value from the left, and one from below."""
    xs = [point[1] for point in series] or [0.0]
    ys = [point[2] for point in series] or [0.0]
    lowest = min(ys)
    # Values near zero begin their axis there; others, such as costs of 0.6 to 0.9, would be pressed
    # together by it.
    if lowest < 2 * NARROWEST:
        lowest = min(lowest, 0.0)
    x = axis(min(xs), max(xs), LEFT, RIGHT)
    y = axis(lowest, max(ys), BOTTOM, TOP)
    parts = list(_frame(x, y, across, up))
    ends = list[tuple[float, float, Mark]]()
    for mark, value, height in series:
        cx = x.position(value)
        cy = y.position(height)
        place = f'cx="{cx:.1f}" cy="{cy:.1f}"'
        parts.append(f'<circle class="dot {mark.style}" {place} r="3.5">{mark.title}</circle>')
        ends.append((cy, cx + DOT, mark))
    return _svg(title, [*parts, *_end_numbers(ends)])


def _frame(x: Axis, y: Axis, across: str, up: str = "") -> Iterator[str]:
    """Draw the grid with its numbers, and name what they count."""
    for value in y.ticks():
        at = y.position(value)
        ends = f'x1="{LEFT}" x2="{RIGHT}" y1="{at:.1f}" y2="{at:.1f}"'
        yield f'<line class="grid" {ends}/>'
        yield _tick(LEFT - 4, at + 3.5, short_number(value), "end")
    for value in x.ticks():
        yield _tick(x.position(value), BOTTOM + 14, short_number(value), "middle")
    yield _tick((LEFT + RIGHT) / 2, HEIGHT - 6, escaped(across), "middle")
    if up:
        yield _tick(2, HEIGHT - 6, f"\N{UPWARDS ARROW} {escaped(up)}", "start")


def _tick(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="tick" text-anchor="{anchor}" x="{x:.1f}" y="{y:.1f}">{text}</text>'


def short_number(value: float) -> str:
    """Return a value of an axis: thousands as k, millions as M, no more digits than it needs."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    if abs(value) >= 1000:
        return f"{value / 1000:g}k"
    return f"{round(value, 6):g}"


def _svg(title: str, parts: Iterable[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escaped(title)}">'
    return "\n".join((head, *parts, "</svg>"))
