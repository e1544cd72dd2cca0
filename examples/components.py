#!/usr/bin/env python3
"""Principal components of counts, in Python: reads a matrix, removes the means of its columns, plots two components.

    components.py counts.mtx [components.png]

Rows of the matrix are samples, such as cells, and columns are features, such as genes. Each row is divided by its sum, and logarithms of
the counts are taken; both keep zeros, so that the matrix stays sparse. Removing means would not: it is done in the products. The program needs the
package petsccsrc (docs/python.md), SciPy and Matplotlib.
"""
import sys

import numpy as np
import scipy.io
import scipy.sparse as sp

from petsccsrc.decomposition import PCA

counts = sp.csr_matrix(scipy.io.mmread(sys.argv[1]), dtype=float)
sums = np.asarray(counts.sum(axis=1)).ravel()
X = sp.diags(np.median(sums) / np.maximum(sums, 1)) @ counts
X.data = np.log1p(X.data)

pca = PCA(n_components=2)
scores = pca.fit_transform(X)
print(f"{X.shape[0]} samples of {X.shape[1]} features, {X.nnz} nonzeros")
for component, (part, values) in enumerate(zip(pca.explained_variance_ratio_, pca.components_), start=1):
    print(f"component {component}: {part:.2%} of the variance; largest features {np.argsort(-np.abs(values))[:5].tolist()}")
print(f"no component with a larger singular value than {pca.certificate_.bound:.6g} was missed, but with a chance of {pca.certificate_.chance:.0e}")

if len(sys.argv) > 2:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(layout="constrained")
    ax.scatter(*scores.T, s=4)
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2")
    fig.savefig(sys.argv[2])
