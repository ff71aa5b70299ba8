"""Line charts as inline SVG, drawn here so that a page needs no script and no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memory_context.display.escaped_html import Html, tag

# All lengths are in the chart's own units; the browser scales the chart.
WIDTH = 360
HEIGHT = 250
LEFT = 42
RIGHT = 350
TOP = 12
BOTTOM = 214
# The chart is 360 units wide: more points than that could not be told apart.
MOST_POINTS = 300
# The number of colours in the page's style, c0 to c7. Further lines repeat them with dashes.
COLOURS = 8
TICKS = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """What a line of a chart shows: its number, its name, and whether it is this library's."""

    number: int
    name: str
    is_ours: bool = False

    @property
    def style(self) -> str:
        """Return the classes of its line: a colour, and a dash where colours run out."""
        index = self.number - 1
        ours = ""
        if self.is_ours:
            ours = " ours"
        return f"line c{index % COLOURS} d{index // COLOURS % 3}{ours}"


def line_chart(series: Sequence[tuple[Mark, Sequence[float]]], title: str, across: str) -> Html:
    """Draw a line for each of `series`; their first values are at 1 on the horizontal axis."""
    longest = 2
    highest = 1.0
    for _, values in series:
        longest = max(longest, len(values))
        highest = max([highest, *values])
    x_step = round_step(longest - 1)
    y_step = round_step(highest)
    top = math.ceil(highest / y_step) * y_step

    def x(number: int) -> float:
        share = (number - 1) / (longest - 1)
        return LEFT + share * (RIGHT - LEFT)

    def y(value: float) -> float:
        share = value / top
        return BOTTOM - share * (BOTTOM - TOP)

    middle = (LEFT + RIGHT) / 2
    parts = [_tick(middle, HEIGHT - 6, across, "middle")]
    numbers = range(x_step, longest + 1, x_step)
    parts += [_tick(x(number), BOTTOM + 14, short_number(number), "middle") for number in numbers]
    for value in range(0, top + 1, y_step):
        height = y(value)
        parts.append(tag("path", cls="grid", d=f"M{LEFT},{height:.1f}H{RIGHT}"))
        parts.append(_tick(LEFT - 4, height + 3.5, short_number(value), "end"))
    for mark, values in series:
        numbered = list(enumerate(values, 1))
        every = max(math.ceil(len(values) / MOST_POINTS), 1)
        # The last point is drawn even if the steps pass over it: the eye looks for the end of a line.
        drawn = [*numbered[::every], *numbered[-1:]]
        points = " ".join(f"{x(number):.1f},{y(value):.1f}" for number, value in drawn)
        # Browsers show the title of a line when the pointer is on it.
        name = tag("title", f"{mark.number} {mark.name}")
        parts.append(tag("polyline", name, cls=mark.style, points=points))
    box = f"0 0 {WIDTH} {HEIGHT}"
    return tag("svg", *parts, viewBox=box, role="img", **{"aria-label": title})


def round_step(span: float) -> int:
    """Return the smallest step of 1, 2 or 5 times a power of ten that divides *span* into five parts or fewer."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            step = power * factor
            if step * TICKS >= span:
                return step
        power *= 10


def _tick(x: float, y: float, text: str, anchor: str) -> Html:
    return tag("text", text, cls=f"tick {anchor}", x=f"{x:.1f}", y=f"{y:.1f}")


def short_number(value: float) -> str:
    """Return the label of an axis value: thousands as k, millions as M, with no more digits than it needs."""
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    if value >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:g}"
