#!/usr/bin/env python3
"""Tables of what benchmarks/operations and benchmarks/programs.sh measured: medians, and the second type over the first.

    programstable.py [operations.csv ...] [programs.csv ...]

Below the table of programs: which of them ended differently with the two types. Other numbers of iterations are no error, nor is another
result, which is for the reader to judge. The exit status is 1 if a case converged, or ran to its end, with one of the types only.
"""
import csv
import statistics
import sys

PHASES = ("KSPSolve", "SNESSolve", "EPSSolve", "SVDSolve", "PCSetUp")


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def cell(a, b, scale=1.0, digits=3):
    """The first type, the second, and their ratio; empty where one is missing."""
    if not a or not b:
        return "| | "
    return f"| {a * scale:.{digits}f} | {b * scale:.{digits}f} ({b / a:.2f}) "


def operations(rows):
    types = list(dict.fromkeys(r["type"] for r in rows))
    table = {}
    for r in rows:
        table.setdefault(r["operation"], {}).setdefault(r["type"], []).append(float(r["ms"]))
    print(f"| milliseconds | {types[0]} | {types[1]} |\n| --- | ---: | ---: |")
    for operation, ms in table.items():
        print(f"| {operation} " + cell(*(statistics.median(ms[t]) for t in types[:2])) + "|")


def converged(reasons):
    """Whether all solves of the outermost solver did, which is named first; a linear solve inside Newton's method may end by its limit"""
    parts = [part.split() for part in reasons.split("; ")]
    return all(part[1].startswith("CONVERGED") for part in parts if part[0] == parts[0][0])


def alike(a, b):
    """Results that differ by no more than solvers of one tolerance may: residuals by a factor of 10, errors and values by 1 %"""
    if a == b:
        return True
    a, b = a.split(), b.split()
    if not a or not b or a[0] != b[0] or len(a) != len(b):
        return False
    try:
        # values of the same size come in any order
        x, y = (sorted((complex(text.replace("i", "j")) for text in words[1:]), key=lambda z: (z.real, z.imag)) for words in (a, b))
    except ValueError:
        return False
    if a[0] == "residual":
        return all(abs(u) <= 10 * abs(v) and abs(v) <= 10 * abs(u) for u, v in zip(x, y))
    return all(abs(u - v) <= 0.01 * max(abs(u), abs(v)) for u, v in zip(x, y))


def endings(types, ended):
    """Prints which cases ended differently; returns whether some converged with one type only. ended: {case: {type: [row ...]}}"""
    compared, different, wrong = 0, [], []
    for case, by in ended.items():
        if not all(by.get(t) for t in types):
            continue
        compared += 1
        said = []
        for what in ("reasons", "iterations", "result"):
            first, second = (list(dict.fromkeys(r[what] for r in by[t])) for t in types)
            same = alike if what == "result" else str.__eq__
            if not all(any(same(a, b) for b in others) for these, others in ((first, second), (second, first)) for a in these):
                said.append(f"{what} {' or '.join(first)} and {' or '.join(second)}")
        if said:
            different.append(f"- {case}: {', '.join(said)}")
        yes = [all(converged(r["reasons"]) for r in by[t]) for t in types]
        if yes[0] != yes[1]:
            wrong.append(f"ERROR: {case} converged with {types[0 if yes[0] else 1]} and not with {types[1 if yes[0] else 0]}.")
    if not compared:
        print("\nNothing says how the solvers ended.")
    elif different:
        print(f"\nOf {compared} cases, {len(different)} ended differently with {types[0]} and {types[1]}:\n\n" + "\n".join(different))
    else:
        print(f"\n{compared} cases ended alike with {types[0]} and {types[1]}.")
    for line in wrong:
        print(f"\n{line}")
    return bool(wrong)


def programs(rows):
    """Returns whether a case converged, or ran to its end, with one type only"""
    types = list(dict.fromkeys(r["type"] for r in rows))
    table, ended, failed = {}, {}, set()
    for r in rows:
        if r["status"] != "0":
            failed.add((r["case"], r["type"]))
            continue
        if r.get("reasons"):
            ended.setdefault(r["case"], {}).setdefault(r["type"], []).append(r)
        case = table.setdefault(r["case"], {}).setdefault(r["type"], {})
        for what in ("total",) + PHASES:
            if number(r[what]):
                case.setdefault(what, []).append(number(r[what]))
    print(f"| seconds | whole run: {types[0]} | {types[1]} | solve: {types[0]} | {types[1]} |\n| --- | ---: | ---: | ---: | ---: |")
    for case, by in table.items():
        if not all(t in by for t in types[:2]):
            continue
        first, second = (by[t] for t in types[:2])
        median = lambda d, what: statistics.median(d[what]) if what in d else None
        phase = next((p for p in ("SNESSolve", "EPSSolve", "SVDSolve", "KSPSolve") if p in first and p in second), None)
        print(f"| {case} " + cell(median(first, "total"), median(second, "total")) + (cell(median(first, phase), median(second, phase), digits=4) if phase else "| | ") + "|")
    for case, name in sorted(failed):
        print(f"\n{case} failed with {name}.")
    wrong = len(types) > 1 and endings(types[:2], ended)
    for case in sorted({case for case, _ in failed}):
        of = [t for t in types[:2] if (case, t) in failed]
        if len(of) == 1 and len(types) > 1:
            print(f"\nERROR: {case} failed with {of[0]} only.")
            wrong = True
    return wrong


wrong = False
for path in sys.argv[1:]:
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{path} is empty")
    wrong = (operations if "operation" in rows[0] else programs)(rows) or wrong
    print()
sys.exit(1 if wrong else 0)
