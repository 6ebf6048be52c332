"""Linear models by scikit-learn, for the comparison with ours. Each function returns what the model is worth on the
training data: {"loss", "accuracy"}, or {"loss"} of a regression."""
import functools
import os
import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

import records
from worker import matrix, timed

warnings.filterwarnings("ignore", category=UserWarning)  # of iterations that end before convergence, as asked for


@functools.cache
def table(path, columns):
    """The features, dense or sparse, and the labels of a directory."""
    y = np.fromfile(os.path.join(path, "y"), "float32")
    if not os.path.exists(os.path.join(path, "indptr")):
        return matrix(os.path.join(path, "x"), columns), y
    parts = [np.fromfile(os.path.join(path, name), dtype) for name, dtype in (("x", "float32"), ("indices", "int32"), ("indptr", "int32"))]
    return scipy.sparse.csr_matrix(tuple(parts), shape=(len(y), columns)), y


def told(model, x, y):
    if isinstance(model, SGDRegressor):
        return {"loss": float(np.mean((model.predict(x).astype("float64") - y) ** 2))}
    z = model.decision_function(x).astype("float64")
    return {
        "loss": float(np.mean(np.logaddexp(0, np.where(y > 0, -z, z)))),
        "accuracy": float(np.mean((z > 0) == (y > 0))),
    }


def pass_over(x, y, regression):
    # In the order of the rows, as ours, and once.
    if regression:
        return SGDRegressor(shuffle=False).partial_fit(x, y)
    return SGDClassifier(loss="log_loss", shuffle=False).partial_fit(x, y, classes=[0, 1])


def epoch(path, columns, regression=False):
    x, y = table(path, columns)
    with timed():
        model = pass_over(x, y, regression)
    return told(model, x, y)


def converged(path, columns):
    """The least loss there is, next to without regularization."""
    x, y = table(path, columns)
    return told(LogisticRegression(C=1e6, tol=1e-8, max_iter=1000).fit(x, y), x, y)


def saga(path, columns, epochs):
    x, y = table(path, columns)
    with timed():
        model = LogisticRegression(C=1e6, solver="saga", tol=0, max_iter=epochs).fit(x, y)
    return told(model, x, y)


def from_records(path, columns, reader):
    with timed():
        x, y = getattr(records, reader)(path, columns)
        x = StandardScaler(copy=False).fit_transform(x)
        model = pass_over(x, y, False)
        accuracy = float(model.score(x, y))  # ours scores its model, too
    return {"accuracy": accuracy}
