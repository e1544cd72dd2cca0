#!/usr/bin/env python3
"""PageRank by itself, on lists: pagerank.py NETWORK.mtx[.gz] TABLE.csv TOLERANCE, the table being that of examples/pagerank"""
import csv
import gzip
import math
import sys

network, table = sys.argv[1:3]
tolerance = float(sys.argv[3])
with (gzip.open if network.endswith(".gz") else open)(network, "rt") as lines:
    rows = [line.split() for line in lines if not line.startswith("%")]
n = int(rows[0][0])
links = [[] for _ in range(n)]
for row in rows[1:]:
    links[int(row[0]) - 1].append(int(row[1]) - 1)

x = [1 / n] * n
for _ in range(200):
    y = [0.0] * n
    spread = 0.15
    for page, targets in enumerate(links):
        if targets:
            share = 0.85 * x[page] / len(targets)
            for target in targets:
                y[target] += share
        else:
            spread += 0.85 * x[page]
    y = [v + spread / n for v in y]
    moved = math.fsum(abs(a - b) for a, b in zip(x, y))
    x = y
    if moved < 1e-13:
        break

with open(table, newline="") as lines:
    found = {int(row["page"]) - 1: float(row["probability"]) for row in csv.DictReader(lines)}
assert len(found) == n, f"{len(found)} of {n} pages"
worst = max(abs(found[page] - x[page]) / x[page] for page in range(n))
order = list(found.values())
assert order == sorted(order, reverse=True), "the table is not in order"
print(f"{n} pages agree to {worst:.1e}" if worst < tolerance else f"{n} pages DIFFER by {worst:.1e}")
