# What bench_test.go measures of algorithms/compute, with numpy's BLAS and scikit-learn: an iteration of
# Lloyd's algorithm is the difference of fits of six and of one, a sixth of their number less.
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans

warnings.filterwarnings('ignore')


def best(f, rounds=5):
    """The least time of the processor and of the clock, in seconds."""
    cpu, wall = [], []
    for _ in range(rounds):
        c, w = time.process_time(), time.perf_counter()
        f()
        cpu.append(time.process_time() - c)
        wall.append(time.perf_counter() - w)
    return np.array([min(cpu), min(wall)])


def report(name, flops, seconds):
    cpu, wall = flops / seconds / 1e9
    print(f'{name}: {seconds[1] * 1e3:.3f} ms, {cpu:.1f} GFLOP/cpu-s, {wall:.1f} GFLOP/s', flush=True)


def normal(n, d):
    return np.random.default_rng(1).standard_normal((n, d), dtype=np.float32)


for n, d in ((5000, 50), (100000, 50), (4000, 200), (4000, 784)):
    x = normal(n, d)
    report(f'numpy x.T@x {n}x{d}', n * d * (d + 1), best(lambda: x.T @ x))
for n, d, k in ((20000, 50, 10), (20000, 50, 100), (20000, 50, 500), (5000, 784, 10), (5000, 784, 100), (5000, 784, 500)):
    times = 10  # a fit has its own costs
    x = np.tile(normal(n, d), (times, 1))
    init = x[:k].copy()

    def fit(iterations):
        return best(lambda: KMeans(k, init=init, n_init=1, max_iter=iterations, tol=0, algorithm='lloyd').fit(x), 2)

    report(f'scikit-learn lloyd {n}x{d} k={k}', 2 * n * d * k, np.maximum(fit(6) - fit(1), 1e-9) / 5 / times)
for d in (20, 50, 784):
    x, w, g = normal(1000, d), normal(d, 32), normal(1000, 32)
    report(f'numpy x@w 1000x{d}x32', 2 * 1000 * d * 32, best(lambda: [x @ w for _ in range(100)]) / 100)
    report(f'numpy x.T@g 1000x{d}x32', 2 * 1000 * d * 32, best(lambda: [x.T @ g for _ in range(100)]) / 100)
