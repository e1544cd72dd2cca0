#!/usr/bin/env python3
"""Figures from the CSV of benchmarks/products: speed-up per matrix, share of copy bandwidth, curves over K, bytes per nonzero.

    plot.py [--layout auto] [--format svg] [--out measurements/figures] products.csv

Several CSV files are read as one. Products that were wrong are left out. Needs matplotlib, no display.
"""
import argparse
import pathlib
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from results import best, mean, pair, ratio, read


def bars(names, series, ylabel, title, line, file):
    """Groups of bars, one group a matrix; None is a gap"""
    fig, ax = plt.subplots(figsize=(max(5, 1.5 + 0.55 * len(names)), 4), layout="constrained")
    width = 0.8 / len(series)
    for s, (label, values) in enumerate(series.items()):
        at = [p - 0.4 + (s + 0.5) * width for p, v in enumerate(values) if v is not None]
        ax.bar(at, [v for v in values if v is not None], width, label=label)
    if line:
        ax.axhline(line, color="black", linewidth=0.8)
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right")
    ax.set_ylabel(ylabel)
    ax.set_title(title, fontsize=9)
    fig.legend(fontsize=8, loc="outside lower center")
    fig.savefig(file)
    plt.close(fig)
    print(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+", help="written by products -csv")
    parser.add_argument("--layout", default="auto", help="layout of csrccuda that is shown")
    parser.add_argument("--format", default="svg", choices=["svg", "png", "pdf"])
    parser.add_argument("--out", default="measurements/figures", type=pathlib.Path, help="folder for the figures")
    args = parser.parse_args()

    comments, matrices = read(args.csv)
    forward, transposed = f"csrccuda_{args.layout}_N", f"csrccuda_{args.layout}_T"
    matrices = {name: rows for name, rows in matrices.items() if (forward, 1) in rows}
    if not matrices:
        parser.error(f"no right products of layout {args.layout} in {' '.join(args.csv)}")
    names = list(matrices)
    gpu = next((c[4:].split(",")[0] for c in comments if c.startswith("GPU ")), "no GPU")
    args.out.mkdir(parents=True, exist_ok=True)

    def figure(name):
        return args.out / f"{name}.{args.format}"

    timed = [name for name in names if pair(matrices[name], forward, transposed)]
    if timed:
        ours = {name: pair(matrices[name], forward, transposed) for name in timed}
        series = {}
        for label, other in (("CSR alone", "csr_T"), ("CSR and a stored transpose", "stored_T")):
            values = [ratio(pair(matrices[name], "csr_N", other), ours[name]) for name in timed]
            if mean(values):
                series[f"against {label}, geometric mean {mean(values):.2f}"] = values
        if series:
            bars(timed, series, "speed-up", f"A x + A$^T$u, csrccuda ({args.layout}) against cuSPARSE, {gpu}", 1, figure("speedup"))

        # of several runs the best one: in another, something else may have used the memory
        copy = max((float(m[1]) for c in comments if (m := re.match(r"copy bandwidth ([0-9.]+) GB/s", c))), default=None)
        if copy:
            series = {}
            for label, what in (("A x", forward), ("A$^T$u", transposed)):
                series[label] = []
                for name in timed:
                    row = matrices[name][what, 1]
                    # the stored matrix once, the input vector once, the output vector once
                    traffic = float(row["bytes per nonzero"]) * float(row["nonzeros"]) + 8 * (float(row["rows"]) + float(row["columns"]))
                    series[label].append(100 * traffic / (1e3 * float(row["microseconds"])) / copy)
            bars(timed, series, "% of copy bandwidth", f"bytes that must move, over time; copy {copy:.0f} GB/s, {gpu}", None, figure("bandwidth"))

    columns = sorted({K for rows in matrices.values() for (what, K) in rows if what == forward and K > 1})
    curves = {
        "A X against CSR, operands by columns": (["csr_N_col"], forward),
        "A$^T$U against CSR, operands by columns": (["csr_T_col"], transposed),
        "A X against the best of cuSPARSE": (["csr_N"], forward),
        "A$^T$U against the best of cuSPARSE, two copies": (["csr_T", "stored_T"], transposed),
    }
    fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
    for label, (baseline, what) in curves.items():
        points = [(K, mean([ratio(best(rows, baseline, K), best(rows, [what], K)) for rows in matrices.values()])) for K in columns]
        points = [(K, value) for K, value in points if value]
        if points:
            ax.plot(*zip(*points), marker="o", label=label)
    if ax.lines:
        ax.set_xscale("log", base=2)
        ax.set_xticks(columns, [str(K) for K in columns])
        ax.axhline(1, color="black", linewidth=0.8)
        ax.set_xlabel("vectors K")
        ax.set_ylabel("speed-up, geometric mean")
        ax.set_title(f"csrccuda ({args.layout}) against cuSPARSE, {gpu}", fontsize=9)
        fig.legend(fontsize=8, loc="outside lower center")
        fig.savefig(figure("vectors"))
        print(figure("vectors"))
    plt.close(fig)

    def perentry(what):
        return [float(matrices[name][what, 1]["bytes per nonzero"]) if (what, 1) in matrices[name] else None for name in names]

    series = {f"csrccuda ({args.layout})": perentry(forward), "CSR": perentry("csr_N_alg1"), "CSR and its transpose": perentry("stored_T_alg1")}
    series = {label: values for label, values in series.items() if any(values)}
    bars(names, series, "bytes per nonzero", "device memory that stays between products", None, figure("memory"))


if __name__ == "__main__":
    main()
