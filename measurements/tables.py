#!/usr/bin/env python3
"""The tables of measurements/performance.md and measurements/matrices.md from the CSV files that benchmarks/measure.sh wrote to a folder.

    tables.py [--into measurements/performance.md] DIR

Each table is printed, or put in the file's place between the lines <!-- NAME --> and <!-- end -->. A table whose CSV file is not in
the folder stays as it is. Ratios are the baseline's time over ours, but where a title says otherwise; means are geometric.
"""
import argparse
import pathlib
import re
import sys

from results import best, mean, pair, ratio, read, table

OURS_N, OURS_T = "csrccuda_auto_N", "csrccuda_auto_T"
MKL_N = ["mkl_N_"]
MKL_T_ONE = ["mkl_T_nohint", "mkl_T_lean"]
MKL_T_ANY = ["mkl_T_", "mkl_stored_T_"]


def timed(matrices):
    """Those of which something was timed: without a GPU nothing is; files' matrices by the names they have elsewhere"""
    return {name.replace(".mtx", ""): rows for name, rows in matrices.items() if any(row["microseconds"] for row in rows.values())}


def number(value, digits):
    return f"{value:.{digits}f}" if value is not None else ""


def average(pairs, digits=2, worst=min):
    """Mean and worst, with its matrix, of (ratio, matrix)"""
    pairs = [p for p in pairs if p[0]]
    if not pairs:
        return ""
    value, where = worst(pairs)
    return f"{mean([p[0] for p in pairs]):.{digits}f}; {value:.{digits}f} ({where})"


def vectors(matrices):
    lines, one, two = [], [], []
    for name, rows in matrices.items():
        ours = pair(rows, OURS_N, OURS_T)
        if not ours:
            continue
        times = [best(rows, [what], 1) for what in ("csr_N", "csr_T", "stored_T", OURS_N, OURS_T)]
        one.append((ratio(pair(rows, "csr_N", "csr_T"), ours), name))
        two.append((ratio(pair(rows, "csr_N", "stored_T"), ours), name))
        text = [number(t, 1) for t in times]
        lines.append([name, ", ".join(text[:3]), ", ".join(text[3:]), number(one[-1][0], 2), number(two[-1][0], 2), number(float(rows[OURS_N, 1]["bytes per nonzero"]), 2)])
    lines.append(["geometric mean; least", "", "", average(one), average(two), ""])
    return table(["matrix", "cuSPARSE A x, A^T u, A^T u by a stored transpose", "csrccuda A x, A^T u", "CSR / ours", "CSR and stored transpose / ours", "bytes a nonzero"], lines)


def others(baselines, layout):
    """SELL of cuSPARSE, for which A^T u needs a second copy, and the layout csrc: {matrix: rows} of the run with all baselines and of that with this layout"""
    lines, sells, papers = [], [], []
    for name, rows in baselines.items():
        csrc = layout.get(name, {})
        ours, theirs = pair(rows, OURS_N, OURS_T), pair(csrc, "csrccuda_csrc_N", "csrccuda_csrc_T")
        two = [best(rows, what, 1) for what in (["csr_N", "sell_N"], ["stored_T", "sell_stored_T"])]
        if not ours or None in two:
            continue
        sells.append((ratio(sum(two), ours), name))
        papers.append((ratio(theirs, ours), name))
        cells = [", ".join(number(best(r, [w], 1), 1) or "-" for w in what) for r, what in ((rows, ("sell_N", "sell_stored_T")), (csrc, ("csrccuda_csrc_N", "csrccuda_csrc_T")), (rows, (OURS_N, OURS_T)))]
        lines.append([name, *cells, number(sells[-1][0], 2), number(papers[-1][0], 2)])
    lines.append(["geometric mean; least", "", "", "", average(sells), average(papers)])
    return table(["matrix", "SELL: A x, A^T u by a stored transpose", "layout csrc: A x, A^T u", "csrccuda", "best of CSR and SELL, both with a stored transpose / ours", "paper's / ours"], lines)


def columns_of(matrices):
    return sorted({k for rows in matrices.values() for (what, k) in rows if what == OURS_N and k > 1})


def dense(matrices):
    columns, lines = columns_of(matrices), []

    def both(rows, n, t, k):
        return ", ".join(number(best(rows, what, k), 0) for what in (n, t))

    for name, rows in matrices.items():
        cells = [" / ".join([both(rows, ["csr_N_col"], ["csr_T_col"], k), both(rows, ["csr_N"], ["csr_T", "stored_T"], k), both(rows, [OURS_N], [OURS_T], k)]) for k in columns]
        lines.append([name, *cells])
    return table(["matrix"] + [f"K = {k}" for k in columns], lines)


def densemeans(matrices):
    def over(baseline, ours):
        return lambda rows, k: ratio(best(rows, baseline, k), best(rows, [ours], k))

    kinds = [
        ("A X by columns", over(["csr_N_col"], OURS_N), min),
        ("A^T U by columns", over(["csr_T_col"], OURS_T), min),
        ("A X, best of all", over(["csr_N"], OURS_N), min),
        ("A^T U, best of all", over(["csr_T", "stored_T"], OURS_T), min),
        ("A X + A^T U, in times of A x + A^T u", lambda rows, k: ratio(pair(rows, OURS_N, OURS_T, k), pair(rows, OURS_N, OURS_T)), max),
    ]
    columns = columns_of(matrices)
    lines = [[what] + [average([(value(rows, k), name) for name, rows in matrices.items()], worst=worst) for k in columns] for what, value, worst in kinds]
    return table(["geometric mean; worst"] + [f"K = {k}" for k in columns], lines)


def many(matrices):
    """The best of cuSPARSE over csrccuda, A X and A^T U"""
    columns, lines, pairs = columns_of(matrices), [], {}
    baselines = [(["csr_N"], [OURS_N]), (["csr_T"], [OURS_T]), (["csr_T", "stored_T"], [OURS_T])]
    for name, rows in matrices.items():
        cells = []
        for k in columns:
            ratios = [ratio(best(rows, baseline, k), best(rows, ours, k)) for baseline, ours in baselines]
            for kind, value in enumerate(ratios):
                pairs.setdefault((kind, k), []).append((value, name))
            cells.append(", ".join(number(value, 2) for value in ratios))
        lines.append([name, *cells])
    for kind, title in enumerate(("A X", "A^T U, one copy", "A^T U, stored transpose too")):
        lines.append([f"{title}: geometric mean; least", *(average(pairs[kind, k]) for k in columns)])
    return table(["matrix", *(f"K = {k}" for k in columns)], lines)


def setup(matrices):
    lines, ratios, values, memory = [], [], [], []
    for name, rows in matrices.items():
        csr2csc, ours, new, copy = (best(rows, [what], 0) for what in ("setup_csr2csc", "setup_csrccuda", "newvalues_csrccuda", "newvalues_copy"))
        if not ours:
            continue
        work, result = (float(rows[what, 0]["bytes per nonzero"]) for what in ("setup_csrccuda_workspace", "setup_csrccuda"))
        paid = []
        for other, first in (("csr_T_", 0), ("stored_T_", csr2csc)):
            gain = pair(rows, "csr_N_", other) - pair(rows, "csrccuda_balanced_N", "csrccuda_balanced_T")
            paid.append(f"{max(ours - first, 0) / gain:.1f}" if gain > 0 else "never")
        ratios.append((ours / csr2csc, name))
        values.append((new / copy, name))
        memory.append(((work + result) / result, name))
        lines.append([name, number(csr2csc, 0), number(ours, 0), number(ratios[-1][0], 2), f"{new:.0f}, {values[-1][0]:.2f}", ", ".join(paid), number(memory[-1][0], 2)])
    lines.append(["geometric mean; most", "", "", average(ratios, worst=max), average(values, worst=max), "", average(memory, worst=max)])
    return table(["matrix", "csr2csc", "set-up", "ratio", "new values, in times of one copy of them", "paid back: CSR, stored transpose", "memory"], lines)


def cpu(matrices):
    lines = []
    for name, rows in matrices.items():
        n, t = (best(rows, [f"bccoo_simd_{op}"], 1) for op in "NT")
        if not n:
            continue
        lines.append(
            [
                name,
                number(ratio(best(rows, MKL_N, 1), n), 2),
                ", ".join(number(ratio(best(rows, what, 1), t), 2) for what in (MKL_T_ONE, MKL_T_ANY)),
                f"{n:.0f}, {t:.0f}",
                number(float(rows["bccoo_simd_setup", 0]["bytes per nonzero"]), 2),
                f"{best(rows, ['bccoo_simd_setup'], 0) / n:.0f}, {best(rows, ['bccoo_simd_values'], 0) / n:.1f}",
            ]
        )
    return table(["matrix", "A x: MKL / ours", "A^T u: MKL with one copy, any of MKL / ours", "us: A x, A^T u", "bytes a nonzero", "set-up, new values: times A x"], lines)


def cpumeans(sets):
    """sets: {matrix: rows} by title"""

    def over(baseline, ours, column="microseconds"):
        return lambda rows: ratio(best(rows, baseline, 1, column), best(rows, [ours], 1, column))

    kinds = [
        ("A x against the best of MKL's four ways", over(MKL_N, "bccoo_simd_N"), min),
        ("the same, cold caches", over(MKL_N, "bccoo_simd_N", "cold microseconds"), min),
        ("A^T u against MKL with one copy", over(MKL_T_ONE, "bccoo_simd_T"), min),
        ("A^T u against the best of MKL, second copies and stored transpose too", over(MKL_T_ANY, "bccoo_simd_T"), min),
        ("the same, cold caches", over(MKL_T_ANY, "bccoo_simd_T", "cold microseconds"), min),
        ("A^T u against OpenMP CSR of a stored transpose", over(["csr_stored_T"], "bccoo_simd_T"), min),
        ("bytes of CSR's, all that lives between products", lambda rows: float(rows["bccoo_simd_setup", 0]["bytes per nonzero"]) / (12 + 4 * (float(rows["bccoo_simd_N", 1]["rows"]) + 1) / float(rows["bccoo_simd_N", 1]["nonzeros"])), max),
        ("set-up, in times of A x", lambda rows: best(rows, ["bccoo_simd_setup"], 0) / best(rows, ["bccoo_simd_N"], 1), max),
        ("new values that do not change the table, in times of A x", lambda rows: best(rows, ["bccoo_simd_values"], 0) / best(rows, ["bccoo_simd_N"], 1), max),
    ]
    lines = [[what] + [average([(value(rows), name) for name, rows in matrices.items() if ("bccoo_simd_N", 1) in rows], worst=worst) for matrices in sets.values()] for what, value, worst in kinds]
    return table(["geometric mean; worst", *sets], [line for line in lines if any(line[1:])])


def ranks(many, one):
    """AIJ, AIJSELL and bccoo on many processes, bccoo on one with as many threads: {matrix: rows} of both runs"""
    lines, pairs = [], {}
    for name, rows in many.items():
        alone = one.get(name, {})
        cells = [[best(r, [f"{kind}_{op}"], 1) for op in "NT"] for r, kind in ((rows, "aij"), (rows, "aijsell"), (rows, "bccoo"), (alone, "bccoo"))]
        if None in sum(cells, []):
            continue
        for ours, r in ("many", rows), ("one", alone):
            for op in "NT":
                pairs.setdefault(ours + op, []).append((ratio(best(rows, [f"aij_{op}", f"aijsell_{op}"], 1), best(r, [f"bccoo_{op}"], 1)), name))
        lines.append([name] + [", ".join(number(t, 0) for t in cell) for cell in cells])
    lines.append(["the faster one of PETSc's over this column, geometric mean; least", "", ""] + [" / ".join(average(pairs[ours + op]) for op in "NT") for ours in ("many", "one")])
    return table(["matrix", "AIJ: A x, A^T u", "AIJSELL", "`bccoo`", "`bccoo`, one process of as many threads"], lines)


def cpudense(sets):
    lines = []
    for op, title in (("N", "A X"), ("T", "A^T U")):
        for k in sorted({k for matrices in sets.values() for rows in matrices.values() for (what, k) in rows if what == "bccoo_simd_N_" + str(k)}):
            line = [f"{title}, K = {k}"]
            for matrices in sets.values():
                for by in "columns", "rows":
                    line.append(average([(ratio(best(rows, [f"mkl_{op}_{by}_{hint}_{k}" for hint in ("nohint", "hint")], k), best(rows, [f"bccoo_simd_{op}_{k}"], k)), name) for name, rows in matrices.items()]))
            lines.append(line)
    return table(["geometric mean; least"] + [f"{title}: MKL by {by}" for title in sets for by in ("columns", "rows")], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=pathlib.Path, help="file whose tables are replaced")
    parser.add_argument("dir", type=pathlib.Path)
    arguments = parser.parse_args()
    data = {file.stem: timed(read([file])[1]) for file in arguments.dir.glob("*.csv")}
    made = {}

    def make(name, function, *pieces):
        if all(data.get(piece) for piece in pieces):
            made[name] = function(*(data[piece] for piece in pieces))

    for piece in "large", "wide", "small":
        make(f"vectors {piece}", vectors, piece)
    make("dense", dense, "large")
    make("dense means", densemeans, "large")
    make("many", many, "many")
    make("others", others, "large", "csrc")
    make("setup", setup, "setup")
    titles = {"cpu-generated": "8 generated matrices", "cpu-real": "19 real ones and the transposes of the wide ones", "cpu-others": "9 generated ones that nothing was chosen with"}
    make("cpu", lambda *sets: cpu({name: rows for matrices in sets for name, rows in matrices.items()}), *titles)
    make("cpu means", lambda *sets: cpumeans(dict(zip(titles.values(), sets))), *titles)
    make("cpu one", lambda matrices: cpumeans({"one core, generated matrices at 0.05 of their size": matrices}), "cpu-one")
    make("ranks", ranks, "ranks", "ranks-one")
    make("cpu dense", lambda *sets: cpudense(dict(zip(("generated", "real"), sets))), "cpu-dense-generated", "cpu-dense-real")
    if not made:
        sys.exit(f"tables.py: no CSV file of measure.sh in {arguments.dir}")

    if not arguments.into:
        for name, text in made.items():
            print(f"\n{name}\n\n{text}")
        return
    text = arguments.into.read_text()
    for name, new in made.items():
        text, count = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, new=new: f"{m[1]}{new}\n{m[2]}", text, flags=re.DOTALL)
        print(f"{name}: {'replaced' if count else 'no place for it'}")
    arguments.into.write_text(text)


if __name__ == "__main__":
    main()
