#!/usr/bin/env python3
"""Tables, and a figure, from the CSV of benchmarks/parallel.sh: times on one GPU and on several, speed-ups, efficiencies, beside the model.

    scaling.py [--figure measurements/figures/scaling.svg] DIR/parallel.csv

The model is that of docs/parallel.md: its numbers hold for H200s of one host. The figure needs matplotlib, no display.
"""
import argparse
import collections
import csv

OPERATIONS = [("N", "1", "A x"), ("T", "1", "A^T u"), ("NK", "8", "A X, 8"), ("TK", "8", "A^T U, 8"), ("NK", "32", "A X, 32"), ("TK", "32", "A^T U, 32"), ("svd:blocklanczos", "0", "blocklanczos, ms")]

# The model, in microseconds and bytes per microsecond
START = 4
LATENCY = {"N": 2, "T": 5}
FURTHER = 0.3
BANDWIDTH = 150e3
LISTS = 6


def model(matrix, columns, what, ranks, one):
    """Predicted time of a product with one vector; `one`: that on one GPU, of as many nonzeros as all together for strong scaling"""
    if what not in LATENCY:
        return None
    alone = (one if matrix.startswith("weak") else START + (one - START) / ranks) + LATENCY[what]
    if "stencil" in matrix:
        neighbours = min(ranks - 1, 2)
        points = columns / ranks if matrix.startswith("weak") else columns
        return alone + LISTS + FURTHER * (neighbours - 1) + 8 * round(points ** (1 / 3)) ** 2 * neighbours / BANDWIDTH
    return alone + FURTHER * (ranks - 2) + 8 * columns * (ranks - 1) / ranks / BANDWIDTH


def read(file):
    """{(matrix, exchange, scale): {(what, K): {ranks: (microseconds, columns)}}} for csrccuda; what was wrong is left out"""
    data = collections.OrderedDict()
    with open(file, newline="") as lines:
        for row in csv.DictReader(lines):
            if row["type"] == "csrccuda":
                if not float(row["error"]) <= (1e-7 if row["what"].startswith("svd") else 1):
                    print(f"Wrong: {row['matrix']}, {row['what']}, K = {row['K']}, {row['ranks']} processes, error {row['error']}")
                    continue
                key = row["matrix"], row["exchange"], row["scale"]
                data.setdefault(key, {}).setdefault((row["what"], row["K"]), {})[int(row["ranks"])] = float(row["us"]), int(row["columns"])
    return data


def speedup(matrix, one, several, ranks):
    return one * (ranks if matrix.startswith("weak") else 1) / several


def table(data, ranks):
    """A table for each exchange: one -> ranks (speed-up, and the model's)"""
    for exchange in sorted({key[1] for key in data}):
        print(f"\nexchange {exchange}, 1 -> {ranks} GPUs, us (speed-up; model)\n")
        print("| matrix | " + " | ".join(label for _, _, label in OPERATIONS) + " |")
        print("| --- |" + " ---: |" * len(OPERATIONS))
        for (matrix, how, scale), rows in data.items():
            if how != exchange:
                continue
            cells = []
            for what, k, _ in OPERATIONS:
                times = rows.get((what, k), {})
                one = times.get(1) or data.get((matrix, "auto", scale), {}).get((what, k), {}).get(1)
                if not one or ranks not in times:
                    cells.append("")
                    continue
                unit = 1e-3 if what.startswith("svd") else 1
                guess = model(matrix, times[ranks][1], what, ranks, one[0])
                beside = f"; {speedup(matrix, one[0], guess, ranks):.2f}" if guess else ""
                cells.append(f"{one[0] * unit:.4g} → {times[ranks][0] * unit:.4g} ({speedup(matrix, one[0], times[ranks][0], ranks):.2f}{beside})")
            name = matrix if float(scale) == 1 else f"{matrix}, scale {scale}"
            print(f"| {name} | " + " | ".join(cells) + " |")


def figure(data, file):
    """Speed-up of A x over the number of GPUs, with the model's as dashed lines"""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for (matrix, exchange, scale), rows in data.items():
        times = rows.get(("N", "1"), {})
        if exchange != "auto" or 1 not in times or len(times) < 2:
            continue
        ranks = sorted(times)
        line = ax.plot(ranks, [speedup(matrix, times[1][0], times[p][0], p) for p in ranks], marker="o", label=matrix if float(scale) == 1 else f"{matrix}, {scale}")[0]
        ax.plot(ranks, [1 if p == 1 else speedup(matrix, times[1][0], model(matrix, times[p][1], "N", p, times[1][0]), p) for p in ranks], color=line.get_color(), linestyle="--", linewidth=0.8)
    ax.set_xlabel("GPUs")
    ax.set_ylabel("speed-up of A x; dashed: model")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ticks = sorted({p for rows in data.values() for times in rows.values() for p in times})
    ax.set_xticks(ticks, [str(p) for p in ticks])
    ax.set_yticks(ticks, [str(p) for p in ticks])
    ax.legend(fontsize=7)
    fig.savefig(file)
    print(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", help="written by parallel -csv")
    parser.add_argument("--figure", help="draw the speed-up of A x")
    args = parser.parse_args()
    data = read(args.csv)
    for ranks in sorted({p for rows in data.values() for times in rows.values() for p in times if p > 1}):
        table(data, ranks)
    if args.figure:
        figure(data, args.figure)


if __name__ == "__main__":
    main()
