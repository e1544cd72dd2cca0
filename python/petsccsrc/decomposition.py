"""TruncatedSVD and PCA of sparse matrices, with the interface of scikit-learn, which need not be installed."""
import numpy as np

from ._svds import svds

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:

    class BaseEstimator:
        pass

    class TransformerMixin:
        pass


class TruncatedSVD(TransformerMixin, BaseEstimator):
    """The leading singular vectors of a sparse matrix, whose rows are samples, as features"""

    _center = False

    def __init__(self, n_components=2, *, tol=0, random_state=None):
        self.n_components = n_components
        self.tol = tol
        self.random_state = random_state

    def fit(self, X, y=None):
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        D = X.astype(float, copy=False)  # squares of integers could overflow
        self.mean_ = np.asarray(D.mean(axis=0)).ravel()
        squares = np.asarray((D.multiply(D) if hasattr(D, "multiply") else D * D).mean(axis=0)).ravel()
        del D
        total = np.sum(squares - self.mean_**2)
        if self._center and total <= 100 * np.finfo(float).eps * np.sum(squares):
            raise ValueError(f"all {X.shape[0]} samples are equal, up to rounding: there are no components")
        result = svds(X, k=self.n_components, tol=self.tol, rng=self.random_state, center=self._center)
        # the largest entry of each component is positive, so that signs do not depend on the start
        signs = np.sign(np.take_along_axis(result.vt, np.abs(result.vt).argmax(axis=1)[:, None], axis=1))
        self.components_, self.singular_values_, self.certificate_ = result.vt * signs, result.s, result.certificate
        self.n_features_in_ = X.shape[1]
        scores = result.u * result.s * signs.T
        self.explained_variance_ = scores.var(axis=0)
        self.explained_variance_ratio_ = self.explained_variance_ / total
        return scores

    def transform(self, X):
        return X @ self.components_.T

    def inverse_transform(self, X):
        return X @ self.components_


class PCA(TruncatedSVD):
    """Principal components of a sparse matrix, whose rows are samples; the matrix stays sparse, although its means are removed"""

    _center = True

    def fit_transform(self, X, y=None):
        scores = super().fit_transform(X)
        self.explained_variance_ = self.singular_values_**2 / (X.shape[0] - 1)
        return scores

    def transform(self, X):
        return X @ self.components_.T - self.mean_ @ self.components_.T

    def inverse_transform(self, X):
        return X @ self.components_ + self.mean_
