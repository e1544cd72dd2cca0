"""What the programs of this folder wrote with -csv, for plot.py and tables.py; means and tables, for svdtable.py too."""
import collections
import csv
import math


def read(files):
    """Comments of the files, and what was measured: {matrix: {(what, K): row}}, in order of appearance. Wrong products are left out."""
    comments, matrices = [], collections.OrderedDict()
    for file in files:
        with open(file, newline="") as lines:
            data = []
            for line in lines:
                if line.startswith("#"):
                    comments.append(line[1:].strip())
                else:
                    data.append(line)
        for row in csv.DictReader(data):
            if row["error"] and not float(row["error"]) <= 1:
                continue
            rows, key = matrices.setdefault(row["matrix"], {}), (row["what"], int(row["K"]))
            if key in rows and rows[key].get("threads") != row.get("threads"):
                raise SystemExit(f"{file}: {row['matrix']} {key[0]} with {rows[key]['threads']} and {row['threads']} threads: one table holds one of them")
            rows[key] = row
    return comments, matrices


def best(rows, prefixes, k, column="microseconds"):
    """The least time at K among what begins with one of the prefixes, or at K = 0 is one of them; None if nothing was timed"""
    times = [
        float(row[column])
        for (what, K), row in rows.items()
        if K == k and row[column] and (what.startswith(tuple(prefixes)) if k else what in prefixes)
    ]
    return min(times, default=None)


def pair(rows, forward, transposed, k=1):
    """Time of a product with A and one with A^T together"""
    times = best(rows, [forward], k), best(rows, [transposed], k)
    return None if None in times else sum(times)


def ratio(baseline, ours):
    return baseline / ours if baseline and ours else None


def mean(values):
    """Geometric mean of those that are known; None if none is"""
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def table(head, lines):
    """A table of Markdown; all cells are text"""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])
