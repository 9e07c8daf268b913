# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster as it is: instances, hosts with their ranks and ports, and who talks to whom.

Each kind of traffic is a bus: one vertical wire between two columns, with a tap to every service that takes part. So
the drawing grows by rows only, and nothing lies on anything else, however many hosts there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.ascend.sglang.plugins.plugin_utils.report.canvas import Canvas, width_of

# Sizes in pixels.
_BOX, _HEAD, _ROW, _PAD, _GAP = 270.0, 44.0, 18.0, 12.0, 22.0
_LANE, _BETWEEN, _MARGIN, _GUTTER = 16.0, 46.0, 8.0, 26.0
_SMALL, _NORMAL = 11.0, 13.0
# Characters: an IPv4 address, and most IPv6 ones as people write them.
_LONGEST_ADDRESS = 20

# Kind of traffic -> what the legend says.
KINDS = {
    "requests": "requests: HTTP of clients and router",
    "bootstrap": "bootstrap: decode asks prefill",
    "hand-over": "hand-over of the cache, both ways, ports 15000-25000",
    "store": "store: all of the PD group",
    "ranks": "ranks of an instance: rendezvous, HCCL",
}


@dataclass
class _Row:
    """A line in a box. side: where its tap is; kind: which bus it is on; into: whether the others come to it."""

    text: str
    side: str = ""
    kind: str = ""
    into: bool = False
    y: float = 0.0


@dataclass
class _Box:
    """A service, or the clients."""

    title: str
    subtitle: str
    rows: list[_Row]
    address: str = ""
    x: float = 0.0
    y: float = 0.0

    @property
    def height(self) -> float:
        return _HEAD + len(self.rows) * _ROW + (_PAD / 2 if self.rows else 0)

    def edge(self, side: str) -> float:
        return self.x + (_BOX if side == "right" else 0.0)


@dataclass
class _Group:
    """An instance: its boxes by rank. gutter: the side on which its ranks are wired together."""

    title: str
    boxes: list[_Box]
    gutter: str = ""
    x: float = 0.0
    y: float = 0.0

    @property
    def height(self) -> float:
        return _PAD * 2 + _NORMAL + sum(box.height for box in self.boxes) + _PAD * (len(self.boxes) - 1)


@dataclass
class _Column:
    """Groups, one under the other."""

    groups: list[_Group]
    x: float = 0.0

    @property
    def boxes(self) -> list[_Box]:
        return [box for group in self.groups for box in group.boxes]


@dataclass
class _Gap:
    """The room between two columns: which bus runs in it, and where."""

    kinds: list[str] = field(default_factory=list)
    x: float = 0.0

    def lane(self, kind: str) -> float:
        return self.x + _BETWEEN / 2 + _LANE * self.kinds.index(kind)

    @property
    def width(self) -> float:
        return _BETWEEN + _LANE * max(len(self.kinds) - 1, 0)


def draw(plan: Mapping[str, Any]) -> str:
    """The drawing of a plan, as SVG. Raises CompileError where the drawing library is not installed."""
    columns, gaps = _layout(plan)
    canvas = Canvas()
    x, top = _MARGIN, _legend(canvas, columns) + _GAP * 2
    for column, gap in zip(columns, [*gaps, _Gap()], strict=True):
        column.x, y = x, top
        for group in column.groups:
            group.x, group.y = x, y
            y = _place(group) + _GAP
        gap.x = x + _BOX + _PAD * 2 + _GUTTER
        x = gap.x + gap.width
    for index, gap in enumerate(gaps):
        # What comes over the prefill column is wired with that.
        over = ("requests", *(("store",) if "store" in gaps[0].kinds else ())) if index else ()
        _wires(canvas, columns[index], gap, columns[index + 1], [kind for kind in gap.kinds if kind not in over])
    _through(canvas, columns, gaps, top - _GAP / 2)
    _entry(canvas, columns[0])
    for column in columns:
        for group in column.groups:
            _draw_group(canvas, group)
    return canvas.render(f"The cluster of {plan['profile']}", list(KINDS))


def _place(group: _Group) -> float:
    """Give the boxes of a group their places; where the group ends."""
    y = group.y + _PAD + _NORMAL + _PAD / 2
    for box in group.boxes:
        box.x, box.y = group.x + _PAD + (_GUTTER if group.gutter == "left" else 0.0), y
        for number, row in enumerate(box.rows):
            row.y = y + _HEAD + number * _ROW + _ROW / 2
        y += box.height + _PAD
    return group.y + group.height


# What is in the boxes


def _layout(plan: Mapping[str, Any]) -> tuple[list[_Column], list[_Gap]]:
    """The columns and what runs between them."""
    services = plan["services"]
    front = _Column([_clients(plan)])
    front.groups += [_Group("router", [_router(one)]) for one in services if one["role"] == "router"]
    front.groups += [_Group("store", [_store(one)]) for one in services if one["role"] == "store"]
    # Who holds the store: nobody where the transfer backend needs none.
    held = next((one["role"] for one in services if "store" in one["ports"]), "")
    roles = [role for role in ("prefill", "decode", "mixed") if any(one["role"] == role for one in services)]
    columns = [front]
    for role in roles:
        groups = []
        for instance in (one for one in plan["instances"] if one["role"] == role):
            ranks = [one for one in services if (one["role"], one["instance"]) == (role, instance["instance"])]
            gutter = ("left" if role == "prefill" else "right") if len(ranks) > 1 else ""
            groups.append(_Group(_title(instance, ranks), [_engine(one, gutter, held) for one in ranks], gutter))
        columns.append(_Column(groups))
    # Requests for decode pass over prefill; a dedicated store is behind prefill too.
    first = ["requests"] + (["store"] if held == "store" else [])
    gaps = [_Gap(first)]
    if len(columns) > 2:
        gaps.append(_Gap([*(["store"] if held else []), "bootstrap", "hand-over", "requests"]))
    return columns, gaps


def _title(instance: Mapping[str, Any], ranks: Sequence[Mapping[str, Any]]) -> str:
    nodes = len(ranks)
    return f"{instance['name']} · {nodes} node{'s' * (nodes != 1)}"


def _clients(plan: Mapping[str, Any]) -> _Group:
    rows = [
        _Row(f"ask {urlsplit(one['url']).netloc}", "top" if _of(plan, one) == "router" else "right", "requests")
        for one in plan["entrances"]
    ]
    benchmark = plan.get("benchmark")
    rows += [_Row(f"benchmark runs on {benchmark['host']}")] if benchmark else []
    return _Group("clients", [_Box("clients", "", rows)])


def _of(plan: Mapping[str, Any], entrance: Mapping[str, Any]) -> str:
    found = (one for one in plan["services"] if (one["host"], one["unit"]) == (entrance["host"], entrance["unit"]))
    return str(next(found)["role"])


def _router(one: Mapping[str, Any]) -> _Box:
    monitoring = [_Row(f"prometheus {one['ports']['prometheus']}")] if "prometheus" in one["ports"] else []
    rows = [
        _Row(f"http {one['ports']['http']}", "top", "requests", into=True),
        _Row("→ its workers", "right", "requests"),
    ]
    return _Box(one["host"], one["unit"], [*rows, *monitoring], _address(one))


def _store(one: Mapping[str, Any]) -> _Box:
    rows = [_Row(f"store {one['ports']['store']}", "right", "store", into=True)]
    return _Box(one["host"], one["unit"], [*rows, *_guard(one)], _address(one))


def _engine(one: Mapping[str, Any], gutter: str, held: str) -> _Box:
    """A rank of prefill, decode or mixed: its ports, and what it calls."""
    ports, role = one["ports"], one["role"]
    inner = "right" if role == "prefill" else "left"
    npus = f" · NPU {one['npus'][0]}-{one['npus'][1]}" if one["npus"] else ""
    rows = []
    if one["rank"] == 0:
        rows.append(_Row(f"http {ports['http']}", "left", "requests", into=True))
    if "store" in ports:
        rows.append(_Row(f"store {ports['store']}", inner, "store", into=True))
    elif held and role in ("prefill", "decode"):
        rows.append(_Row("→ store", "left" if held == "store" and role == "prefill" else inner, "store"))
    if "bootstrap" in ports:
        rows.append(_Row(f"bootstrap {ports['bootstrap']}", inner, "bootstrap", into=True))
    if role == "decode":
        rows.append(_Row("→ bootstrap", inner, "bootstrap"))
    if role in ("prefill", "decode"):
        rows.append(_Row("⇄ hand-over", inner, "hand-over", into=True))
    if gutter:
        head = f"dist-init {ports['dist_init']}" if "dist_init" in ports else "→ rank 0"
        hccl = one["port_ranges"].get("hccl")
        rows.append(
            _Row(head + (f", HCCL {hccl[0]}-{hccl[1]}" if hccl else ""), gutter, "ranks", into=one["rank"] == 0)
        )
    if "zbal" in ports:
        rows.append(_Row(f"zbal {ports['zbal']}"))
    about = f"{one['unit']} · rank {one['rank']}{npus}"
    return _Box(one["host"], about, [*rows, *_guard(one)], _address(one))


def _address(one: Mapping[str, Any]) -> str:
    """Where it listens; a long name would leave its host's none."""
    address = urlsplit(one["url"]).hostname or ""
    return address if len(address) <= _LONGEST_ADDRESS else ""


def _guard(one: Mapping[str, Any]) -> list[_Row]:
    return [_Row(f"guard {one['ports']['guard']}")] if "guard" in one["ports"] else []


# Wires


def _wires(canvas: Canvas, left: _Column, gap: _Gap, right: _Column, kinds: Sequence[str]) -> None:
    """The buses between two columns."""
    for kind in kinds:
        taps = [
            (box, row, "right") for box in left.boxes for row in box.rows if (row.kind, row.side) == (kind, "right")
        ]
        taps += [
            (box, row, "left") for box in right.boxes for row in box.rows if (row.kind, row.side) == (kind, "left")
        ]
        if len(taps) < 2:
            continue
        lane = gap.lane(kind)
        ys = [row.y for _box, row, _side in taps]
        canvas.path([(lane, min(ys)), (lane, max(ys))], kind, tip=KINDS[kind])
        for box, row, side in taps:
            _tap(canvas, lane, box, row, side)


def _tap(canvas: Canvas, lane: float, box: _Box, row: _Row, side: str) -> None:
    edge = box.edge(side)
    arrow = f"arrow-{row.kind}" if row.into else ""
    canvas.path([(lane, row.y), (edge, row.y)], row.kind, arrow=arrow, tip=f"{box.title}: {row.text}")
    canvas.dot(lane, row.y, row.kind)


def _through(canvas: Canvas, columns: Sequence[_Column], gaps: Sequence[_Gap], y: float) -> None:
    """What passes over a column: requests for decode, and decode's way to a dedicated store."""
    if len(gaps) < 2:
        return
    first, second = gaps[0], gaps[1]
    heads = [(box, row) for box in columns[2].boxes for row in box.rows if (row.kind, row.side) == ("requests", "left")]
    source = next(row for box in columns[0].boxes for row in box.rows if (row.kind, row.side) == ("requests", "right"))
    lane = second.lane("requests")
    canvas.path([(first.lane("requests"), source.y), (first.lane("requests"), y), (lane, y)], "requests")
    canvas.path([(lane, y), (lane, max(row.y for _box, row in heads))], "requests")
    for box, row in heads:
        _tap(canvas, lane, box, row, "left")
    if "store" in first.kinds:
        holder = next(row for box in columns[0].boxes for row in box.rows if row.kind == "store")
        users = [(box, row) for box in columns[2].boxes for row in box.rows if row.kind == "store"]
        lane, over = second.lane("store"), y - _LANE / 2
        canvas.path([(first.lane("store"), holder.y), (first.lane("store"), over), (lane, over)], "store")
        canvas.path([(lane, over), (lane, max(row.y for _box, row in users))], "store")
        for box, row in users:
            _tap(canvas, lane, box, row, "left")


def _entry(canvas: Canvas, front: _Column) -> None:
    """From the clients down to the router."""
    rows = [(box, row) for box in front.boxes for row in box.rows if row.side == "top"]
    if len(rows) == 2:
        (above, start), (below, end) = rows
        x = below.x - _PAD / 2
        points = [(above.x, start.y), (x, start.y), (x, end.y), (below.x, end.y)]
        canvas.path(points, "requests", arrow="arrow-requests", tip=KINDS["requests"])


def _draw_group(canvas: Canvas, group: _Group) -> None:
    if group.title == "clients":
        _draw_box(canvas, group.boxes[0])
        return
    width = _BOX + _PAD * 2 + (_GUTTER if group.gutter else 0.0)
    canvas.text(group.x + _PAD, group.y + _PAD + 3, group.title, _NORMAL, "group", room=width - _PAD * 2)
    canvas.box(group.x, group.y, width, group.height, "instance")
    ranks = [(box, row) for box in group.boxes for row in box.rows if row.kind == "ranks"]
    if len(ranks) > 1:
        side = group.gutter
        lane = ranks[0][0].edge(side) + (_GUTTER * 0.6 if side == "right" else -_GUTTER * 0.6)
        canvas.path([(lane, ranks[0][1].y), (lane, ranks[-1][1].y)], "ranks", tip=KINDS["ranks"])
        for box, row in ranks:
            _tap(canvas, lane, box, row, side)
    for box in group.boxes:
        _draw_box(canvas, box)


def _draw_box(canvas: Canvas, box: _Box) -> None:
    canvas.box(box.x, box.y, _BOX, box.height, "service")
    room = _BOX - _PAD * 2
    beside = width_of(box.address, _SMALL) + _PAD if box.address else 0.0
    canvas.text(box.x + _PAD, box.y + 18, box.title, _NORMAL, "host", room=room - beside)
    if box.address:
        canvas.text(box.x + _BOX - _PAD, box.y + 18, box.address, _SMALL, "about", right=True)
    if box.subtitle:
        canvas.text(box.x + _PAD, box.y + 34, box.subtitle, _SMALL, "about", room=room)
    for row in box.rows:
        right = row.side == "right"
        x = box.x + (_BOX - _PAD if right else _PAD)
        canvas.text(x, row.y + 4, row.text, _SMALL, "port", *([row.kind] if row.kind else []), room=room, right=right)


def _legend(canvas: Canvas, columns: Sequence[_Column]) -> float:
    """Which wire is what, as far as they are there; where it ends."""
    there = {row.kind for column in columns for box in column.boxes for row in box.rows}
    shown = [kind for kind in KINDS if kind in there]
    for number, kind in enumerate(shown):
        y = _MARGIN + number * _ROW + _ROW / 2
        canvas.path([(_MARGIN, y), (_MARGIN + 28, y)], kind)
        canvas.text(_MARGIN + 36, y + 4, KINDS[kind], _SMALL, "port", room=width_of(KINDS[kind], _SMALL) + 20)
    return _MARGIN + len(shown) * _ROW
