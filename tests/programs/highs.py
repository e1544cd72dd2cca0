#!/usr/bin/env python3
"""The linear program of examples/linearprogram by HiGHS: highs.py PROBLEM.csv VALUE TOLERANCE; needs numpy and highspy"""
import csv
import math
import sys

import highspy
import numpy

problem = sys.argv[1]
value, tolerance = map(float, sys.argv[2:])
with open(problem, newline="") as lines:
    table = list(csv.reader(lines))[1:]
b, c, entries = ([line[1:] for line in table if line[0] == kind] for kind in ("row", "column", "entry"))
m, n = len(b), len(c)

program = highspy.HighsLp()
program.num_row_, program.num_col_ = m, n
program.row_lower_ = numpy.array([float(line[0]) for line in b])
program.row_upper_ = numpy.array([float(line[0]) if line[1] == "1" else math.inf for line in b])
program.col_cost_ = numpy.array([float(line[0]) for line in c])
program.col_lower_ = numpy.zeros(n)
program.col_upper_ = numpy.array([float(line[1]) for line in c])
entries = sorted((int(j), int(i), float(v)) for i, j, v in entries)
program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
program.a_matrix_.start_ = numpy.searchsorted([e[0] for e in entries], numpy.arange(n + 1))
program.a_matrix_.index_ = numpy.array([e[1] for e in entries])
program.a_matrix_.value_ = numpy.array([e[2] for e in entries])
highs = highspy.Highs()
highs.silent()
highs.passModel(program)
highs.run()
assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal, highs.getModelStatus()
optimum = highs.getInfo().objective_function_value
difference = abs(value - optimum) / (1 + abs(optimum))
print(f"HiGHS: {optimum:.10g}, {'which agrees' if difference < tolerance else 'which DIFFERS'} to {difference:.1e}")
