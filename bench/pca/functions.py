"""PCA by scikit-learn and by numpy alone, for the comparison with ours."""
import numpy as np
from sklearn.decomposition import PCA, IncrementalPCA

import records
from worker import matrix, timed


def told(model):
    return {"singular": model.singular_values_.tolist(), "components": model.components_.tolist()}


def fit(path, columns, k, solver):
    x = matrix(path, columns)
    with timed():
        model = PCA(n_components=k, svd_solver=solver).fit(x)
    return told(model)


def incremental(path, columns, k, batch):
    x = matrix(path, columns)
    with timed():
        model = IncrementalPCA(n_components=k, batch_size=batch).fit(x)
    return told(model)


def from_records(path, columns, k, reader):
    with timed():
        x, _ = getattr(records, reader)(path, columns)
        model = PCA(n_components=k, svd_solver="covariance_eigh").fit(x)
    return told(model)


def exact(path, columns, k):
    """All in float64, about the mean: what the others are held to."""
    x = matrix(path, columns)
    mean = x.mean(axis=0, dtype="float64")
    scatter = np.zeros((columns, columns))
    for i in range(0, len(x), 8192):
        block = x[i : i + 8192] - mean
        scatter += block.T @ block
    values, vectors = np.linalg.eigh(scatter)
    return {"singular": np.sqrt(values[::-1][:k]).tolist(), "components": vectors.T[::-1][:k].tolist()}
