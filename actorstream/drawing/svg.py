"""A picture as SVG: dark text on white, boxes in layers from left to right, a lane for each worker. No dependencies."""

from __future__ import annotations

from html import escape

import msgspec

from actorstream.drawing.layers import Layering, layered
from actorstream.drawing.picture import Arrow, Box, Picture

FONT = "ui-sans-serif, -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
INK, GREY, PAPER, LANE = "#1b1f24", "#57606a", "#ffffff", "#f3f5f7"
FILLS = {"source": "#dceefb", "operator": "#fff4d6", "sink": "#dff3e0"}
LINES = {"source": "#2b6cb0", "operator": "#a66f00", "sink": "#2f7d32"}
CHAR, LINE, PAD, MARGIN, GAP = 7.0, 17, 12, 24, 18
"""Width of a character at 12.5 px, height of a line, paddings: pixels."""


class _Rect(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def svg(picture: Picture) -> str:
    """The whole SVG document, as text."""
    return _lanes(picture) if picture.lanes else _layers(picture)


def _layers(picture: Picture) -> str:
    arrows = [(arrow.producer, arrow.consumer) for arrow in picture.arrows]
    layout = layered([box.id for box in picture.boxes], arrows)
    boxes = {box.id: box for box in picture.boxes}
    height = max((_height(box) for box in picture.boxes), default=LINE)
    row = height + GAP * 1.6
    top = MARGIN + 2 * LINE
    rects: dict[object, _Rect] = {}
    x = float(MARGIN)
    for number, column in enumerate(layout.columns):
        own = [boxes[place] for place in column if isinstance(place, str)]
        width = max((_width(box) for box in own), default=60.0)
        for place in column:
            y = top + layout.height[place] * row
            rects[place] = _Rect(x, y, width, height)
        x += width + _gap_after(number, layout, picture.arrows)
    lines = []
    for arrow, path in zip(picture.arrows, layout.paths):
        if path:
            lines.append(_curve([rects[place] for place in path], arrow))
    drawn = [_box(box, rects[box.id]) for box in picture.boxes]
    labels = [
        _label(arrow, rects, path)
        for arrow, path in zip(picture.arrows, layout.paths)
        if path and arrow.label
    ]
    width = max((rect.x + rect.width for rect in rects.values()), default=200.0) + MARGIN
    return _document(picture.title, width, top + layout.rows * row, [*lines, *drawn, *labels])


def _gap_after(column: int, layout: Layering, arrows: list[Arrow]) -> float:
    """Room for the widest label of the arrows that leave a column."""
    labels = [
        arrow.label for arrow, path in zip(arrows, layout.paths) if path and path[0] in layout.columns[column]
    ]
    return max((len(label) * CHAR * 0.9 + 44 for label in labels), default=50.0)


def _lanes(picture: Picture) -> str:
    columns = list(dict.fromkeys(box.column for box in picture.boxes))
    known = {box.id: box.column for box in picture.boxes}
    arrows = [(known[arrow.producer], known[arrow.consumer]) for arrow in picture.arrows]
    layout = layered(columns, list(dict.fromkeys(arrows)))
    layer = {name: number for number, column in enumerate(layout.columns) for name in column}
    widths = [0.0] * len(layout.columns)
    for box in picture.boxes:
        widths[layer[box.column]] = max(widths[layer[box.column]], _width(box))
    lefts = [MARGIN + PAD + sum(widths[:number]) + 70 * number for number in range(len(widths))]
    right = (lefts[-1] + widths[-1] if widths else 200) + PAD + MARGIN
    right = max(right, MARGIN * 2 + max(len(lane) for lane in picture.lanes) * CHAR)
    parts: list[str] = []
    rects: dict[str, _Rect] = {}
    y = float(MARGIN + 2 * LINE)
    for number, lane in enumerate(picture.lanes):
        filled = [0.0] * len(widths)
        for box in (box for box in picture.boxes if box.lane == number):
            column = layer[box.column]
            own = y + LINE + PAD + filled[column]
            rects[box.id] = _Rect(lefts[column], own, widths[column], _height(box))
            filled[column] += _height(box) + PAD
        tall = LINE + PAD + max([LINE + 2 * PAD, *filled])
        parts.append(
            f'<rect x="{MARGIN}" y="{y:.1f}" width="{right - 2 * MARGIN:.1f}" height="{tall:.1f}" rx="6" '
            f'fill="{LANE}"/>'
            f'<text x="{MARGIN + PAD}" y="{y + LINE:.1f}" fill="{GREY}">{escape(lane)}</text>'
        )
        y += tall + GAP
    parts += [_curve([rects[arrow.producer], rects[arrow.consumer]], arrow) for arrow in picture.arrows]
    parts += [_box(box, rects[box.id]) for box in picture.boxes]
    return _document(picture.title, right, y, parts)


def _width(box: Box) -> float:
    return max(len(text) for text in (box.title, *box.lines)) * CHAR + 2 * PAD


def _height(box: Box) -> float:
    return (1 + len(box.lines)) * LINE + PAD


def _box(box: Box, rect: _Rect) -> str:
    fill, line = FILLS.get(box.role, PAPER), LINES.get(box.role, GREY)
    middle = rect.x + rect.width / 2
    text = (
        f'<text x="{middle:.1f}" y="{rect.y + LINE:.1f}" text-anchor="middle" fill="{INK}" font-weight="600">'
    )
    text += f"{escape(box.title)}</text>"
    for number, each in enumerate(box.lines, 2):
        y = rect.y + LINE * number
        text += f'<text x="{middle:.1f}" y="{y:.1f}" text-anchor="middle" fill="{GREY}">{escape(each)}</text>'
    return (
        f'<rect x="{rect.x:.1f}" y="{rect.y:.1f}" width="{rect.width:.1f}" height="{rect.height:.1f}" rx="6" '
        f'fill="{fill}" stroke="{line}"/>{text}'
    )


def _curve(rects: list[_Rect], arrow: Arrow) -> str:
    """A line from the right of the first to the left of the last; through the others at their middle, straight."""
    first = rects[0]
    path = f"M {first.x + first.width:.1f} {first.middle:.1f}"
    x, y = first.x + first.width, first.middle
    for number, rect in enumerate(rects[1:], 1):
        last = number == len(rects) - 1
        to_x, to_y = rect.x - (6 if last else 0), rect.middle
        bend = (to_x - x) / 2 if to_x > x else 40
        path += f" C {x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        if not last:
            path += f" L {rect.x + rect.width:.1f} {to_y:.1f}"
        x, y = rect.x + rect.width, to_y
    style = f'stroke="{INK}" stroke-width="2.4"' if arrow.direct else f'stroke="{GREY}" stroke-width="1.3"'
    return f'<path d="{path}" fill="none" {style} marker-end="url(#tip)"/>'


def _label(arrow: Arrow, rects: dict[object, _Rect], path: list[object]) -> str:
    """The label near the start of the line, where lines have not come together yet."""
    first, second = rects[path[0]], rects[path[1]]
    x = (first.x + first.width + second.x) / 2
    y = (first.middle + second.middle) / 2 - 5
    at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="11"'
    text = escape(arrow.label)
    halo = f'<text {at} stroke="{PAPER}" stroke-width="4" fill="{PAPER}">{text}</text>'
    return f'{halo}<text {at} fill="{INK}">{text}</text>'


def _document(title: str, width: float, height: float, parts: list[str]) -> str:
    width = max(width, 2 * MARGIN + len(title) * CHAR * 1.15)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{FONT}" font-size="12.5">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="7" markerHeight="7" orient="auto" '
        f'markerUnits="userSpaceOnUse"><path d="M 0 0 L 8 4 L 0 8 z" fill="{GREY}"/></marker></defs>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>'
        f'<text x="{MARGIN}" y="{MARGIN + 4}" font-size="14" font-weight="600" fill="{INK}">{escape(title)}</text>'
    )
    return "\n".join([head, *parts, "</svg>", ""])
