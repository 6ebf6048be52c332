"""k-means by scikit-learn and faiss, for the comparison with ours. Each function returns the mean squared distance of the
first rows to the centers that it has found."""
import faiss
import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

import records
from worker import matrix, timed


def told(x, centers, judged):
    centers = np.asarray(centers, "float64")
    total = 0.0
    for i in range(0, min(judged, len(x)), 1000):
        rows = x[i : min(i + 1000, judged)].astype("float64")
        distances = (rows**2).sum(1)[:, None] - 2 * rows @ centers.T + (centers**2).sum(1)
        total += distances.min(1).sum()
    return total / min(judged, len(x))


def mini_batches(x, k, batch):
    # As many centers as there are asked for, none moved elsewhere: the same steps as ours.
    model = MiniBatchKMeans(k, init=x[:k].copy(), n_init=1, batch_size=batch, reassignment_ratio=0)
    for i in range(0, len(x), batch):
        model.partial_fit(x[i : i + batch])
    return model.cluster_centers_


def epoch(path, columns, k, batch, judged):
    x = matrix(path, columns)
    with timed():
        centers = mini_batches(x, k, batch)
    return told(x, centers, judged)


def lloyd(path, columns, k, iterations, judged):
    x = matrix(path, columns)
    with timed():
        model = KMeans(k, init=x[:k].copy(), n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(x)
    return told(x, model.cluster_centers_, judged)


def by_faiss(path, columns, k, iterations, judged):
    x = matrix(path, columns)
    with timed():
        model = faiss.Kmeans(columns, k, niter=iterations, max_points_per_centroid=len(x), min_points_per_centroid=1)
        model.train(x, init_centroids=x[:k].copy())
        model.index.search(x, 1)  # the labels, which the others have as well
    return told(x, model.centroids, judged)


def from_records(path, columns, k, batch, judged, reader):
    with timed():
        x, _ = getattr(records, reader)(path, columns)
        centers = mini_batches(x, k, batch)
    return told(x, centers, judged)
