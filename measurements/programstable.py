#!/usr/bin/env python3
"""Tables of what benchmarks/operations and benchmarks/programs.sh measured: medians, and the second type over the first.

    programstable.py [operations.csv ...] [programs.csv ...]
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


def programs(rows):
    types = list(dict.fromkeys(r["type"] for r in rows))
    table, failed = {}, set()
    for r in rows:
        if r["status"] != "0":
            failed.add((r["case"], r["type"]))
            continue
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


for path in sys.argv[1:]:
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{path} is empty")
    (operations if "operation" in rows[0] else programs)(rows)
    print()
