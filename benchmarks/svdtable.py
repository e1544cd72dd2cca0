#!/usr/bin/env python3
"""Tables from the CSV of benchmarks/svdsolvers: every solver's warm time, and how much faster blocklanczos is.

    svdtable.py [--nsv 16] svd.csv ...

Times are medians of set-up and solve together, of all runs but the first one, which holds what is done once. Several CSV files are read as
one: rows of one matrix are compared whatever file they come from. Ratios above one say that blocklanczos with csrccuda is faster.
"""
import argparse
import collections
import csv
import math
import statistics


def read(files, nsv):
    """{matrix: {(solver, type, mode): [runs]}} in order of appearance"""
    matrices = collections.OrderedDict()
    for file in files:
        with open(file, newline="") as lines:
            for row in csv.DictReader(lines):
                if int(row["nsv"]) == nsv:
                    key = row["solver"], row["type"], row["mode"]
                    matrices.setdefault(row["matrix"], collections.OrderedDict()).setdefault(key, []).append(row)
    return matrices


def warm(runs):
    """The median time in ms of all runs but the first; of the only one, if there is but one"""
    later = [row for row in runs if int(row["run"])] or runs
    return statistics.median(float(row["setup_ms"]) + float(row["solve_ms"]) for row in later)


def fastest(solvers, mode):
    """The name and time of the fastest of trlanczos and cross with aijcusparse in a mode"""
    times = [(warm(runs), solver) for (solver, kind, m), runs in solvers.items() if kind == "aijcusparse" and m == mode and solver in ("trlanczos", "cross")]
    return min(times) if times else (math.nan, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nsv", type=int, default=16)
    parser.add_argument("csv", nargs="+")
    arguments = parser.parse_args()
    matrices = read(arguments.csv, arguments.nsv)

    print("| matrix | solver, type, mode | ms | iterations | block, steps | converged | wrong multiplicities | worst residual |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for matrix, solvers in matrices.items():
        for (solver, kind, mode), runs in solvers.items():
            row = runs[-1]
            block = f"{row['block']}, {row['steps']}" if int(row["block"]) else ""
            wrong = "" if int(row["wrong"]) < 0 else row["wrong"]
            print(f"| {matrix} | {solver}, {kind}, {mode} | {warm(runs):.1f} | {row['iterations']} | {block} | {row['converged']} | {wrong} | {row['error']} |")

    print()
    print("| matrix | blocklanczos, csrccuda: ms | aijcusparse, one copy: ms | ratio | two copies: ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    ratios = {"implicit": [], "twocopies": []}
    for matrix, solvers in matrices.items():
        ours = [warm(runs) for (solver, kind, mode), runs in solvers.items() if solver == "blocklanczos" and kind == "csrccuda" and mode == "implicit"]
        if not ours:
            continue
        cells = []
        for mode in ratios:
            time, solver = fastest(solvers, mode)
            if not math.isnan(time):
                ratios[mode].append(time / ours[0])
            cells.append(f"{time:.1f} ({solver}) | {time / ours[0]:.2f}")
        print(f"| {matrix} | {ours[0]:.1f} | {' | '.join(cells)} |")
    for mode, values in ratios.items():
        if values:
            print(f"{mode}: geometric mean {math.exp(statistics.mean(map(math.log, values))):.2f} of {len(values)} matrices, worst {min(values):.2f}")

    own = collections.OrderedDict()
    for solvers in matrices.values():
        for (solver, kind, mode), runs in solvers.items():
            other = solvers.get((solver, "aijcusparse", mode))
            if kind == "csrccuda" and other and not solver.startswith("blocklanczos"):
                own.setdefault((solver, mode), []).append(warm(other) / warm(runs))
    for (solver, mode), values in own.items():
        print(f"{solver}, {mode}: csrccuda against aijcusparse in geometric mean {math.exp(statistics.mean(map(math.log, values))):.2f} of {len(values)}, worst {min(values):.2f}")


if __name__ == "__main__":
    main()
