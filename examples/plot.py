#!/usr/bin/env python3
"""Figures from the CSV files that the examples write.

    plot.py [--format svg] [--out .] FILE.csv ...

What a file holds is told by its first line: PageRank or singular values. Several files of singular values
become one histogram, with the exact multiplicities beside it. Needs matplotlib, no display.
"""
import argparse
import collections
import csv
import math
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def read(file):
    """The columns of a file as {name: numbers}; empty fields become NaN"""
    with open(file, newline="") as lines:
        rows = list(csv.reader(lines))
    columns = zip(*rows[1:])
    return {name: [float(v) if v else math.nan for v in column] for name, column in zip(rows[0], columns)}


def pagerank(data):
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left.loglog(data["rank"], data["probability"])
    left.set_xlabel("rank")
    left.set_ylabel("probability")
    left.grid(alpha=0.3)
    top = list(zip(data["page"], data["probability"]))[:15][::-1]
    right.barh([f"{page:.0f}" for page, _ in top], [p for _, p in top])
    right.set_xlabel("probability")
    right.set_ylabel("page")
    return fig


def spectrum(files):
    """Copies of every squared singular value: exact, and as each solver found them; values that are no integers share one bar"""
    counts = {}
    for file in files:
        data = read(file)
        exact = [v for v in data["exact_squared"] if not math.isnan(v)]
        if exact:
            counts["exact"] = collections.Counter(f"{v:.0f}" for v in exact)
        counts[pathlib.Path(file).stem] = collections.Counter(f"{v:.4f}".removesuffix(".0000") for v in data["sigma_squared"])
    levels = sorted(set().union(*counts.values()), key=float, reverse=True)
    fig, ax = plt.subplots(figsize=(max(6, 0.5 * len(levels)), 4), layout="constrained")
    width = 0.8 / len(counts)
    for s, (name, found) in enumerate(counts.items()):
        bars = ax.bar([p - 0.4 + (s + 0.5) * width for p in range(len(levels))], [found[level] for level in levels], width, label=name)
        ax.bar_label(bars, [str(found[level]) for level in levels], fontsize=7)
    ax.set_xticks(range(len(levels)), levels, rotation=60 if len(levels) > 12 else 0)
    ax.set_xlabel("squared singular value")
    ax.set_ylabel("copies")
    ax.legend()
    return fig


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+", help="written by an example")
    parser.add_argument("--format", default="svg", choices=["svg", "png", "pdf"])
    parser.add_argument("--out", default=".", type=pathlib.Path, help="folder for the figures")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    spectra, figures = [], {}
    for file in args.csv:
        stem, data = pathlib.Path(file).stem, read(file)
        if "sigma_squared" in data:
            spectra.append(file)
        elif "page" in data:
            figures[stem] = pagerank(data)
        else:
            parser.error(f"{file} is of no example: its columns are {', '.join(data)}")
    if spectra:
        figures["spectrum"] = spectrum(spectra)
    for name, fig in figures.items():
        fig.savefig(args.out / f"{name}.{args.format}")
        plt.close(fig)
        print(args.out / f"{name}.{args.format}")


if __name__ == "__main__":
    main()
