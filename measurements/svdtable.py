#!/usr/bin/env python3
"""Tables, and a figure, from the CSV files of benchmarks/svdsolvers, as benchmarks/svd.sh writes them.

    svdtable.py [--nsv 16] [--figure measurements/figures/triplets.svg] DIR/*.csv

Times are set-up and solve together, in ms: warm ones the median of all runs but the first, which holds what is done once; first ones
that first run. All files are read as one, but first.csv, whose runs are first solves with new matrices, and boards.csv, whose runs are starts of
their own. Ratios above one say that csrccuda is faster. The figure, from triplets.csv, needs matplotlib.
"""
import argparse
import collections
import csv
import pathlib
import statistics

from results import mean, table

PEERS = "trlanczos", "cross"
MODES = {"implicit": "one copy", "twocopies": "two copies", "default": "default"}


def read(files):
    """The rows of all files, with the name of their file, numbers as numbers"""
    rows = []
    for file in files:
        with open(file, newline="") as lines:
            for row in csv.DictReader(lines):
                for name in "nsv", "run", "iterations", "block", "steps", "vectors", "converged", "wrong":
                    row[name] = int(row[name])
                row["ms"] = float(row["setup_ms"]) + float(row["solve_ms"])
                row["piece"] = pathlib.Path(file).stem
                rows.append(row)
    return rows


def grouped(rows, *keys):
    """{values of the keys: rows} in order of appearance"""
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def warm(runs):
    """The median time of all runs but the first; of the only one, if there is but one"""
    return statistics.median([row["ms"] for row in runs if row["run"]] or [row["ms"] for row in runs])


def show(title, head, lines):
    if lines:
        print(f"\n{title}\n\n{table(head, lines)}")


def summary(what, ratios):
    if ratios:
        print(f"\n{what}: geometric mean {mean(ratios):.2f} of {len(ratios)}, least {min(ratios):.2f}")


def every_solve(rows):
    lines = []
    for (matrix, solver, kind, mode), runs in grouped(rows, "matrix", "solver", "type", "mode").items():
        row = runs[-1]
        lines.append(
            [
                matrix,
                f"{solver}, {kind}, {MODES[mode]}",
                f"{warm(runs):.1f}",
                str(row["iterations"]),
                f"{row['block']}, {row['steps']}" if row["block"] else "",
                str(row["converged"]),
                "" if row["wrong"] < 0 else str(row["wrong"]),
                row["error"],
            ]
        )
    show("Every solve, warm", ["matrix", "solver, type, copies", "ms", "iterations", "block, steps", "converged", "wrong", "worst residual"], lines)


def block_against_peers(rows):
    """blocklanczos against the fastest of the peers in each mode"""
    lines, ratios = [], {"implicit": [], "twocopies": []}
    for (matrix,), runs in grouped(rows, "matrix").items():
        solves = grouped(runs, "solver", "type", "mode")
        ours = [warm(r) for (solver, kind, mode), r in solves.items() if solver == "blocklanczos" and kind == "csrccuda" and mode != "twocopies"]
        if not ours:
            continue
        line = [matrix, f"{ours[0]:.1f}"]
        for mode in ratios:
            times = [(warm(r), solver) for (solver, kind, m), r in solves.items() if kind == "aijcusparse" and m == mode and solver in PEERS and all(row["converged"] >= row["nsv"] for row in r)]
            if times:
                ratios[mode].append(min(times)[0] / ours[0])
                line += [f"{min(times)[0]:.1f} ({min(times)[1]})", f"{ratios[mode][-1]:.2f}"]
            else:
                line += ["", ""]
        lines.append(line)
    show("blocklanczos with csrccuda against the faster of trlanczos and cross with aijcusparse, warm", ["matrix", "ms", "one copy", "ratio", "two copies", "ratio"], lines)
    for mode, values in ratios.items():
        summary(MODES[mode], values)


def type_against_type(rows, title, modes, time):
    """Each solver with csrccuda against itself with aijcusparse"""
    lines, ratios = [], collections.OrderedDict()
    for (matrix, solver), runs in grouped(rows, "matrix", "solver").items():
        solves = grouped(runs, "type", "mode")
        ours = [r for (kind, mode), r in solves.items() if kind == "csrccuda" and mode != "twocopies"]
        if not ours or solver.startswith("blocklanczos"):
            continue
        line, found = [matrix, solver, f"{time(ours[0]):.1f} ({ours[0][-1]['iterations']})"], False
        for mode in modes:
            other = solves.get(("aijcusparse", mode))
            if other:
                found = True
                ratio = time(other) / time(ours[0])
                ratios.setdefault((solver, mode), []).append(ratio)
                ratios.setdefault(("all", mode), []).append(ratio)
                line += [f"{time(other):.1f} ({other[-1]['iterations']})", f"{ratio:.2f}"]
            else:
                line += ["", ""]
        if found:
            lines.append(line)
    head = ["matrix", "solver", "csrccuda: ms (iterations)"]
    for mode in modes:
        head += [f"aijcusparse, {MODES[mode]}", "ratio"]
    show(title, head, lines)
    for (solver, mode), values in ratios.items():
        summary(f"{solver}, {MODES[mode]}", values)


def boards(rows):
    lines = []
    for (matrix, nsv, kind, solver), runs in grouped(rows, "matrix", "nsv", "type", "solver").items():
        bad = sum(1 for row in runs if row["wrong"] > 0 or row["converged"] < nsv)
        lines.append([matrix, f"{solver}, {kind}", str(nsv), str(len(runs)), str(bad), f"{statistics.median(row['ms'] for row in runs):.1f}", max(runs, key=lambda row: float(row["error"]))["error"]])
    show("Chessboards: starts, how many of them gave a wrong value or multiplicity", ["matrix", "solver, type", "values", "starts", "wrong", "median ms", "worst residual"], lines)


def figure(rows, file):
    """Left the time to n triplets, right how many of them are wrong"""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(10, 4))
    for (solver, kind), runs in grouped(rows, "solver", "type").items():
        points = [(nsv, warm(r), max(row["wrong"] for row in r)) for (nsv,), r in grouped(runs, "nsv").items()]
        style = {"marker": "o", "linestyle": "-" if kind == "csrccuda" else "--", "label": f"{solver}, {kind}"}
        axes[0].plot([p[0] for p in points], [p[1] for p in points], **style)
        axes[1].plot([p[0] for p in points], [p[2] for p in points], **style)
    axes[0].set_ylabel("ms")
    axes[0].set_yscale("log")
    axes[1].set_ylabel("triplets that are not the exact ones")
    for ax in axes:
        ax.set_xlabel("triplets")
        ax.set_xticks(sorted({row["nsv"] for row in rows}))
        ax.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    fig.suptitle(rows[0]["matrix"])
    fig.tight_layout()
    fig.savefig(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nsv", type=int, default=16)
    parser.add_argument("--figure")
    parser.add_argument("csv", nargs="+")
    arguments = parser.parse_args()
    rows = read(arguments.csv)
    first, several, starts = ([row for row in rows if row["piece"] == piece] for piece in ("first", "triplets", "boards"))
    rest = [row for row in rows if row["piece"] not in ("first", "triplets", "boards") and row["nsv"] == arguments.nsv]

    every_solve(rest)
    block_against_peers(rest)
    type_against_type(rest, "SLEPc's own solvers, warm", ("implicit", "twocopies"), warm)
    type_against_type(first, "First solves, each with a new matrix", ("default",), lambda runs: runs[0]["ms"])
    boards(starts)
    for (nsv,), runs in grouped(several, "nsv").items():
        every = grouped(runs, "solver", "type")
        show(f"{runs[0]['matrix']}, {nsv} triplets", ["solver, type", "ms", "wrong"], [[f"{solver}, {kind}", f"{warm(r):.1f}", str(max(row["wrong"] for row in r))] for (solver, kind), r in every.items()])
    if arguments.figure:
        figure(several, arguments.figure)


if __name__ == "__main__":
    main()
