"""The tables and figures of briskstream-rlas section 6 as text, ours beside what the paper's text says. Nothing is measured here.

A title says whether ours is by the model, simulated on a model of the paper's servers, or measured on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.paper_apps import TABLE_4, TABLE_4_ESTIMATED

Medians = Mapping[str, float]
APPS = ("wc", "fd", "sd", "lr")
TABLE_3 = {
    1: ((1666.5, 1991.1), (611.4, 665.2)),
    3: ((1708.2, 1994.9), (623.1, 665.9)),
    4: ((2050.6, 2923.7), (889.9, 837.9)),
    7: ((2371.3, 3196.4), (870.2, 888.4)),
}
"""Socket -> nanoseconds per tuple from S0, measured and estimated by the paper, of the splitter and of the counter."""
TABLE_5 = {"wc": 21.9, "fd": 12.5, "sd": 13.5, "lr": 204.8}
"""Milliseconds."""
TABLE_7 = {
    1: (10140.2, 93.4),
    3: (10079.5, 48.3),
    5: (96390.8, 23.0),
    10: (84955.9, 46.5),
    15: (77773.6, 45.3),
}
"""Compression ratio -> throughput in K events/s and seconds, as printed; the first two seem to have lost a digit."""
AIR = 269e6
"""Events/s of YSB* on 8 nodes of 28 cores."""


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table with columns as wide as they must be; the last line is empty."""
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in [head, *rows]]
    return [title, *(f"  {line}" for line in lines), ""]


def millions(value: float) -> str:
    return f"{value / 1e6:.2f} M"


def on_servers(
    letters: Sequence[str], found: Medians, ratios: Sequence[int], sockets: Sequence[int]
) -> list[str]:
    """Tables 3, 4, 6 and 7, figures 8, 9, 10, 12, 13 and 14. `letters`: of servers. `ratios`: of compression."""
    lines = table(
        "Table 3, by the model: ns a tuple from S0 to another socket",
        ("", "splitter", "paper's estimate", "measured", "counter", "paper's estimate", "measured"),
        [
            (
                f"S0-S{there}",
                *(
                    text
                    for n, name in enumerate(("splitter", "counter"))
                    for text in (
                        f"{found[f'table-3-{name}-s0-s{there}']:,.1f}",
                        f"{paper[n][1]:,.1f}",
                        f"{paper[n][0]:,.1f}",
                    )
                ),
            )
            for there, paper in TABLE_3.items()
        ],
    )
    for letter in letters:
        lines += _of_server(letter, found)
    lines += table(
        "Figure 8, by the model: WC beside its producers and as far from them as can be (paper: up to 9.4 times)",
        ("operator", "local ns", "remote ns", "times"),
        [
            (
                name,
                f"{found[f'figure-8-{name}-local']:,.0f}",
                f"{found[f'figure-8-{name}-remote']:,.0f}",
                f"{found[f'figure-8-{name}-remote'] / found[f'figure-8-{name}-local']:.1f}",
            )
            for name in ("parser", "splitter", "counter", "sink")
        ],
    )
    lines += table(
        "Figure 9, simulated: throughput on the first sockets of Server A, relative to one (paper: almost linear up to 4)",
        ("app", *map(str, sockets)),
        [
            (
                name,
                *(
                    f"{found[f'server-a-{name}-sockets-{n}-simulated'] / found[f'server-a-{name}-sockets-1-simulated']:.2f}"
                    for n in sockets
                ),
            )
            for name in APPS
        ],
    )
    lines += table(
        "Figure 10, Server A by the model: share of eight times one socket (simulated) without remote memory and with it (paper: "
        "0.89 to 0.95 without)",
        ("app", "without", "with"),
        [
            (
                name,
                *(
                    f"{found[f'server-a-{name}-{case}-model'] / (8 * found[f'server-a-{name}-sockets-1-simulated']):.2f}"
                    for case in ("without-rma", "rlas")
                ),
            )
            for name in APPS
        ],
    )
    return lines + table(
        "Table 7, simulated: WC on Server A by compression ratio (the paper's first two throughputs as printed)",
        ("r", "throughput", "seconds", "paper's K events/s", "seconds"),
        [
            (
                str(ratio),
                millions(found[f"table-7-r{ratio}-simulated"]),
                f"{found[f'table-7-r{ratio}-planning']:.1f}",
                *(f"{each:,.1f}" for each in TABLE_7[ratio]),
            )
            for ratio in ratios
        ],
    )


def _of_server(letter: str, found: Medians) -> list[str]:
    server = f"Server {letter.upper()}"
    heads = {name: f"server-{letter}-{name}" for name in APPS}
    paper = "" if letter == "b" else "; the paper's are measured and estimated"
    lines = table(
        f"Table 4, {server}: throughput by the model and simulated{paper}",
        (
            "app",
            "model",
            "simulated",
            "error",
            *(("measured", "estimated", "error") if letter == "a" else ()),
        ),
        [
            (
                name,
                millions(found[f"{head}-rlas-model"]),
                millions(found[f"{head}-rlas-simulated"]),
                f"{found[f'{head}-error']:.1f} %",
                *(_paper_errors(name.upper()) if letter == "a" else ()),
            )
            for name, head in heads.items()
        ],
    )
    for title, others in (
        (
            f"Figure 12, {server}: fixed fetch costs relative to RLAS, model / simulated (paper: fix-l 0.72 to 0.84, fix-u 0.18 "
            "to 0.46)",
            ("fix-l", "fix-u"),
        ),
        (
            f"Table 6 and figure 13, {server}: RLAS's replicas placed otherwise, relative to RLAS, model / simulated (first-fit: "
            "in topological order, as near as there is room; round-robin: in turn over the sockets)",
            ("first-fit", "round-robin"),
        ),
    ):
        lines += table(
            title,
            ("app", *others),
            [
                (
                    name,
                    *(
                        " / ".join(
                            f"{found[f'{head}-{other}-{by}'] / found[f'{head}-rlas-{by}']:.2f}"
                            for by in ("model", "simulated")
                        )
                        for other in others
                    ),
                )
                for name, head in heads.items()
            ],
        )
    return lines + table(
        f"Figure 14, {server}: 1,000 random plans relative to RLAS (paper: none is better)",
        ("app", "median, model", "best, model", "best, simulated"),
        [
            (
                name,
                f"{found[f'{head}-random-median-model'] / found[f'{head}-rlas-model']:.2f}",
                f"{found[f'{head}-random-best-model'] / found[f'{head}-rlas-model']:.2f}",
                f"{found[f'{head}-random-best-simulated'] / found[f'{head}-rlas-simulated']:.2f}",
            )
            for name, head in heads.items()
        ],
    )


def _paper_errors(name: str) -> tuple[str, str, str]:
    measured, estimated = TABLE_4[name], TABLE_4_ESTIMATED[name]
    return millions(measured), millions(estimated), f"{abs(measured - estimated) / measured:.0%}"


def on_this_machine(names: Sequence[str], plans: Sequence[str], found: Medians) -> list[str]:
    """The model against runs, figures 6, 7, 11 and 16, and table 5, all measured here but for what the model predicts."""
    lines = table(
        "Model against runs, measured here: rows of the source a second, predicted / measured; by how much the prediction is "
        "above the runs of its round, and by how much the runs on one side of its profile are above those on the other",
        ("app", *plans),
        [
            (
                name,
                *(
                    f"{millions(found[f'here-{name}-{plan}-predicted'])} / {millions(found[f'here-{name}-{plan}-measured'])}"
                    f" ({found[f'here-{name}-{plan}-error']:+.0f} %, {found[f'here-{name}-{plan}-repeat']:.0f} %)"
                    for plan in plans
                ),
            )
            for name in names
        ],
    )
    if all(f"figure-6-{name}" in found for name in names):
        lines += table(
            "Figure 6, measured here: throughput of rlas relative to WindFlow's recorded one, and to the deployment made by hand",
            ("app", "WindFlow", "by hand"),
            [
                (
                    name,
                    f"{found[f'figure-6-{name}']:.1f}",
                    f"{found[f'here-{name}-rlas'] / found[f'here-{name}-by-hand']:.2f}",
                )
                for name in names
            ],
        )
    if "table-5-wc-p99" in found:
        lines += table(
            "Table 5, measured here at half of the throughput: p99 latency in ms (the paper's: eight sockets at full load)",
            ("app", "ours", "BriskStream"),
            [(name, f"{found[f'table-5-{name}-p99']:.1f}", f"{TABLE_5[name]:.1f}") for name in names],
        )
        parts = [name for name in found if name.startswith("figure-7-")]
        lines += table(
            "Figure 7, measured here: latency of WC in ms at half of its throughput",
            [name.removeprefix("figure-7-wc-") for name in parts],
            [[f"{found[name]:.2f}" for name in parts]],
        )
        lines += table(
            "Figure 11, measured here: WC by cores (StreamBox is not here)",
            ("1 core", "2 cores"),
            [[millions(found[f"figure-11-wc-{count}"]) for count in (1, 2)]],
        )
    steps = {name: None for name in found if name.startswith("figure-16-")}
    if steps:
        apps = list(dict.fromkeys(name.split("-")[2] for name in steps))
        labels = list(dict.fromkeys(name.split("-", 3)[3] for name in steps))
        lines += table(
            "Figure 16, measured here: rows of the source a second, each step with those before it",
            ("app", *labels),
            [(name, *(f"{found[f'figure-16-{name}-{label}']:,.0f}" for label in labels)) for name in apps],
        )
    if "air-star-8x28-model" in found:
        lines += table(
            "YSB* on 8 nodes of 28 cores (AIR section 5.4), one event's cost measured here: million events/s",
            ("counts leave a batch: model", "simulated", "events leave: simulated", "AIR, measured"),
            [
                [
                    f"{found[name] / 1e6:,.0f}"
                    for name in (
                        "air-star-8x28-model",
                        "air-star-8x28-simulated",
                        "air-star-8x28-exchanged-simulated",
                    )
                ]
                + [f"{AIR / 1e6:,.0f}"]
            ],
        )
    return lines
