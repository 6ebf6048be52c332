"""Writes the files beside this script and vectors.json, which says what they hold.

Made with Python 3.11.7, numpy 2.4.6, scipy 1.17.1 and sagemaker 2.257.1 (serializer_utils and
amazon_estimator are used as they are published). Run it in this folder.
"""
import importlib.util
import io
import json
import os
import sys
import types

import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(7)
cases = []


def expect(name, rows, labels=None, **options):
    """Rows are lists, or for sparse rows [keys, values, columns]."""
    cases.append({"file": name, "rows": rows, "labels": labels, "options": options})


def floats(a):
    return np.asarray(a).astype(np.float32).astype(float).tolist()


dense = rng.normal(size=(4, 3)).astype(np.float32)
np.save("float32.npy", dense)
expect("float32.npy", floats(dense))
wide = rng.normal(size=(3, 5))
np.save("float64-fortran.npy", np.asfortranarray(wide))
expect("float64-fortran.npy", floats(wide))
np.save("float64-big-endian.npy", wide.astype(">f8"))
expect("float64-big-endian.npy", floats(wide))
np.save("float32-big-endian-fortran.npy", np.asfortranarray(dense.astype(">f4")))
expect("float32-big-endian-fortran.npy", floats(dense))
for kind in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", ">i2", ">u8"]:
    a = np.array([[0, 1, 2], [100, 50, 1]]).astype(kind)
    if np.issubdtype(a.dtype, np.signedinteger):
        a[1] = -a[1]
    name = kind.replace(">", "big-endian-") + ".npy"
    np.save(name, a)
    expect(name, floats(a))
np.save("vector.npy", np.arange(4.0))
expect("vector.npy", [[0.0], [1.0], [2.0], [3.0]])
np.save("no-rows.npy", np.zeros((0, 3)))
expect("no-rows.npy", [])
np.save("one-row-fortran.npy", np.asfortranarray(dense[:1]))
expect("one-row-fortran.npy", floats(dense[:1]))
for version in [(2, 0), (3, 0)]:
    name = "version-%d.npy" % version[0]
    with open(name, "wb") as f:
        np.lib.format.write_array(f, dense, version)
    expect(name, floats(dense))
np.save("labels-first.npy", dense)
expect("labels-first.npy", floats(dense[:, 1:]), floats(dense[:, :1]), LabelSize=1)

labels = np.array([1, 0, 1, 2])
np.savez("only-one.npz", x=dense)
expect("only-one.npz", floats(dense))
np.savez("positional.npz", dense, labels)
expect("positional.npz", floats(dense), [[float(x)] for x in labels], LabelArray="arr_1")
np.savez_compressed("named.npz", x_train=dense, y_train=labels)
expect("named.npz", floats(dense), [[float(x)] for x in labels], Array="x_train", LabelArray="y_train")


def sparse_rows(m):
    return [[m.indices[a:b].tolist(), floats(m.data[a:b]), m.shape[1]] for a, b in zip(m.indptr, m.indptr[1:])]


m = sp.random(6, 40, density=0.1, format="csr", dtype=np.float32, random_state=3)
m[2] = 0
m.eliminate_zeros()
sp.save_npz("csr.npz", m)
expect("csr.npz", sparse_rows(m))
sp.save_npz("csr-stored.npz", m, compressed=False)
expect("csr-stored.npz", sparse_rows(m))
u = sp.csr_matrix((np.array([1.5, 2, 3]), np.array([5, 0, 2]), np.array([0, 2, 2, 3])), shape=(3, 9))
u.indices = u.indices.astype(np.int64)
u.indptr = u.indptr.astype(np.int64)
sp.save_npz("csr-unsorted-int64.npz", u)
expect("csr-unsorted-int64.npz", sparse_rows(u))
sp.save_npz("csr-array.npz", sp.csr_array(m))
expect("csr-array.npz", sparse_rows(m))
sp.save_npz("csc.npz", m.tocsc())
expect("csc.npz", None)
duplicate = sp.csr_matrix((np.array([1.0, 2]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
sp.save_npz("csr-duplicate.npz", duplicate)
expect("csr-duplicate.npz", None)
np.save("three-dimensions.npy", np.zeros((2, 2, 2)))
expect("three-dimensions.npy", None)
np.save("too-large.npy", np.array([[1e39]]))
expect("too-large.npy", None)
np.save("complex.npy", np.array([[1j]]))
expect("complex.npy", None)
np.save("structured.npy", np.zeros(2, dtype=[("a", "f4")]))
expect("structured.npy", None)


def sdk(module):
    """Loads a module of the SDK without its dependencies, which are large."""
    root = importlib.util.find_spec("sagemaker").submodule_search_locations[0]
    for package in ["sagemaker", "sagemaker.amazon"]:
        stub = types.ModuleType(package)
        stub.__path__ = [os.path.join(root, *package.split(".")[1:])]
        sys.modules.setdefault(package, stub)
    utils = types.ModuleType("sagemaker.utils")
    utils.DeferredError = Exception
    sys.modules.setdefault("sagemaker.utils", utils)
    return importlib.import_module(module)


write = sdk("sagemaker.serializer_utils")
y = labels.astype(np.float32)
for name, call in {
    "float32.pbr": lambda f: write.write_numpy_to_dense_tensor(f, dense),
    "float32-labelled.pbr": lambda f: write.write_numpy_to_dense_tensor(f, dense, y),
    "csr.pbr": lambda f: write.write_spmatrix_to_sparse_tensor(f, m),
    "csr-labelled.pbr": lambda f: write.write_spmatrix_to_sparse_tensor(f, m, np.arange(6, dtype=np.float32)),
}.items():
    out = io.BytesIO()
    call(out)
    with open(name, "wb") as f:
        f.write(out.getvalue())
expect("float32.pbr", floats(dense))
expect("float32-labelled.pbr", floats(dense), [[float(x)] for x in labels])
expect("csr.pbr", sparse_rows(m))
expect("csr-labelled.pbr", sparse_rows(m), [[float(i)] for i in range(6)])

with open("vectors.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
