"""Answers calls of a comparing program: a line of JSON in, {"function", "args"}, and one out, {"seconds",
"cpu", "result"} or {"error"}. The functions are those of the module functions; what they do inside of
`with timed():` counts."""
import contextlib
import functools
import json
import os
import sys
import time
import traceback

sys.modules["worker"] = sys.modules["__main__"]  # the functions import what is here

import numpy as np

spent = {}


@contextlib.contextmanager
def timed():
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        spent["seconds"] = spent.get("seconds", 0) + time.perf_counter() - wall
        spent["cpu"] = spent.get("cpu", 0) + time.process_time() - cpu


@functools.cache
def matrix(path, columns, dtype="float32"):
    """A file of numbers, row by row, read into memory once."""
    return np.fromfile(path, dtype).reshape(-1, columns)


def about():
    import faiss
    import scipy
    import sklearn
    import threadpoolctl

    pools = [
        f"{os.path.basename(p['filepath']).split('-')[0]} {p.get('version') or ''} {p.get('architecture', '')} {p['num_threads']} threads"
        for p in threadpoolctl.threadpool_info()
    ]
    return (
        f"Python {sys.version.split()[0]}, scikit-learn {sklearn.__version__}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}, faiss {faiss.__version__}; " + "; ".join(" ".join(p.split()) for p in pools)
    )


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    import functions

    for line in sys.stdin:
        call = json.loads(line)
        spent.clear()
        try:
            function = about if call["function"] == "about" else getattr(functions, call["function"])
            answer = {"result": function(**(call["args"] or {})), **spent}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
