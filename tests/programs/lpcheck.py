#!/usr/bin/env python3
"""Checks a solution that examples/lp wrote, from the MPS file alone: lpcheck.py FILE SOLUTION TOLERANCE

Reads MPS by itself, whose names must not have blanks. Prints what the solution claims, the objective, the three residuals or the radius
of the certificate, and "holds" or "does NOT hold"."""

import bz2
import gzip
import math
import sys

INFINITE = 1e20


def read_mps(name):
    opener = gzip.open if name.endswith(".gz") else bz2.open if name.endswith(".bz2") else open
    senses, objective, rows, columns, rhs, ranges, bounds, marked = {}, None, [], {}, {}, {}, {}, set()
    section, maximize, integer = "", False, False
    with opener(name, "rt") as lines:
        for line in lines:
            words = line.split()
            if not words or line[0] == "*":
                continue
            if not line[0].isspace():
                section = words[0].upper()
                words = words[1:] if section == "OBJSENSE" else []
                if section == "ENDATA":
                    break
            if section == "OBJSENSE":
                for word in words:
                    maximize = word.upper().startswith("MAX")
            elif section == "ROWS" and words:
                if words[0] != "N":
                    rows.append(words[1])
                elif objective is None:
                    objective = words[1]
                senses[words[1]] = words[0]
            elif section == "COLUMNS" and words:
                if "'MARKER'" in words:
                    integer = "'INTORG'" in words
                    continue
                column = columns.setdefault(words[0], {})
                if words[0] not in bounds:
                    bounds[words[0]] = [0.0, math.inf]
                    if integer:
                        marked.add(words[0])
                column.update((row, float(value)) for row, value in zip(words[1::2], words[2::2]))
            elif section in ("RHS", "RANGES"):
                table = rhs if section == "RHS" else ranges
                words = words[len(words) % 2 :]
                table.update((row, float(value)) for row, value in zip(words[::2], words[1::2]))
            elif section == "BOUNDS" and words:
                kind, value = words[0], None
                if kind in ("FR", "MI", "PL", "BV"):
                    column = words[-1]
                else:
                    column, value = words[-2], float(words[-1])
                bound = bounds[column]
                marked.discard(column)
                if kind in ("UP", "UI"):
                    bound[1] = value
                    if value < 0 and bound[0] == 0:
                        bound[0] = -math.inf
                elif kind in ("LO", "LI"):
                    bound[0] = value
                elif kind == "FX":
                    bound[:] = [value, value]
                elif kind == "FR":
                    bound[:] = [-math.inf, math.inf]
                elif kind == "MI":
                    bound[0] = -math.inf
                elif kind == "BV":
                    bound[:] = [0.0, 1.0]
                elif kind == "PL":
                    bound[1] = math.inf
                else:
                    sys.exit(f"{name}: bounds of kind {kind} are unknown")
    # an integer column of which no bound is said is 0 or 1
    for column in marked:
        bounds[column][1] = 1.0
    limits = []
    for row in rows:
        sense, b, width = senses[row], rhs.get(row, 0.0), ranges.get(row)
        if sense == "E":
            low, high = (b, b) if width is None else (b + min(width, 0), b + max(width, 0))
        elif sense == "L":
            low, high = (-math.inf if width is None else b - abs(width)), b
        else:
            low, high = b, (math.inf if width is None else b + abs(width))
        limits.append((low, high))
    none = lambda pair: tuple(math.copysign(math.inf, v) if abs(v) >= INFINITE else v for v in pair)
    index = {row: i for i, row in enumerate(rows)}
    names = list(columns)
    cost = [columns[n].get(objective, 0.0) for n in names]
    entries = [[(index[r], v) for r, v in columns[n].items() if r in index] for n in names]
    return rows, names, cost, -rhs.get(objective, 0.0), entries, [none(p) for p in limits], [none(bounds[n]) for n in names], maximize


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))


def finite(v):
    return v if math.isfinite(v) else 0.0


def least(multipliers, limits):
    """the least value of multipliers^T z with z within limits, and the multipliers for which that is minus infinity"""
    terms, free = [], []
    for r, (low, high) in zip(multipliers, limits):
        bound = low if r > 0 else high
        if r and math.isfinite(bound):
            terms.append(r * bound)
        elif r:
            free.append(r)
    return math.fsum(terms), free


file, solution, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
rows, names, cost, offset, entries, limits, bounds, maximize = read_mps(file)
x, y = {}, {}
with open(solution, encoding="ascii") as lines:
    claim = next(lines)[2:].split(":")[0].strip()
    for line in lines:
        words = line.split()
        if words[0] != "#":
            (x if words[0] == "column" else y)[words[1]] = float(words[2])
x, y = [x[n] for n in names], [y[r] for r in rows]
if maximize:
    cost, y = [-c for c in cost], [-v for v in y]

ax, aty = [[] for _ in rows], []
for j, column in enumerate(entries):
    for i, v in column:
        ax[i].append(v * x[j])
    aty.append(math.fsum(v * y[i] for i, v in column))
ax = [math.fsum(terms) for terms in ax]
outside = lambda v, pair: max(pair[0] - v, v - pair[1], 0.0)

if claim in ("optimal", "not solved"):
    primal = norm([outside(v, p) for v, p in zip(ax, limits)] + [outside(v, p) for v, p in zip(x, bounds)])
    primal /= 1 + norm([max(abs(finite(low)), abs(finite(high))) for low, high in limits])
    value = math.fsum(c * v for c, v in zip(cost, x))
    reduced = [c - v for c, v in zip(cost, aty)]
    rowbound, rowfree = least(y, limits)
    choices = []
    # a reduced cost may count at its bound, or, where x is not there, as a violation
    for strict in (False, True):
        # CoinUtils may read the last digit of a bound otherwise
        slack = [r if not strict or math.isclose(v, p[0] if r > 0 else p[1], rel_tol=1e-15) else 0.0 for r, v, p in zip(reduced, x, bounds)]
        bound, free = least(slack, bounds)
        dual = norm(rowfree + free + [r - s for r, s in zip(reduced, slack)]) / (1 + norm(cost))
        gap = abs(value - rowbound - bound) / (1 + abs(value) + abs(rowbound + bound))
        choices.append((max(dual, gap), dual, gap))
    _, dual, gap = min(choices)
    holds = max(primal, dual, gap) <= 1.001 * tolerance and claim == "optimal"
    print(f"{claim}: objective {(-1 if maximize else 1) * (value + offset):.12g}, primal {primal:.2e}, dual {dual:.2e}, gap {gap:.2e}: {'holds' if holds else 'does NOT hold'}")
else:
    if claim == "infeasible":
        rowbound, rowfree = least(y, limits)
        bound, free = least([-v for v in aty], bounds)
        distance, violation = rowbound + bound, max([abs(v) for v in rowfree + free], default=0.0)
    else:
        escape = lambda v, p: v and math.isfinite(p[0] if v < 0 else p[1])
        distance = -math.fsum(c * v for c, v in zip(cost, x))
        violation = max([abs(v) for v, p in list(zip(ax, limits)) + list(zip(x, bounds)) if escape(v, p)], default=0.0)
    holds = distance > 0 and violation <= tolerance * distance
    print(f"{claim}: {violation:.2e} is violated, {distance:.6g} is the distance: {'holds' if holds else 'does NOT hold'}")
sys.exit(not holds)
