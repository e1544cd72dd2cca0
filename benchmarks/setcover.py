#!/usr/bin/env python3
"""Writes the linear relaxation of a random set covering problem as MPS: setcover.py ROWS COLUMNS DENSITY >FILE

Like sets E to H of Beasley's library: each column covers each row with probability DENSITY, costs are integers from 1 to 100, and each
row is covered by two columns at least."""

import random
import sys

rows, columns, density = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
draw = random.Random(1)
cover = [set(draw.sample(range(rows), sum(draw.random() < density for _ in range(rows)))) for _ in range(columns)]
for row in range(rows):
    for column in draw.sample(range(columns), 2):
        cover[column].add(row)
out = ["NAME setcover FREE", "ROWS", " N cost"] + [f" G r{row}" for row in range(rows)] + ["COLUMNS"]
for column, covered in enumerate(cover):
    out.append(f" c{column} cost {draw.randint(1, 100)}")
    out += [f" c{column} r{row} 1" for row in sorted(covered)]
out += ["RHS"] + [f" b r{row} 1" for row in range(rows)]
print("\n".join(out + ["BOUNDS"] + [f" UP u c{column} 1" for column in range(columns)] + ["ENDATA"]))
