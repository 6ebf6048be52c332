"""Reads or writes RecordIO-protobuf with the SageMaker Python SDK (2.257.6; numpy, scipy).

sdk.py read FILE   prints the rows of a file as JSON
sdk.py write DIR   writes files of rows, and prints what they hold by file name
"""
import io
import json
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import scipy.sparse
from sagemaker.amazon.common import (
    read_records,
    write_numpy_to_dense_tensor,
    write_spmatrix_to_sparse_tensor,
)


def read(path):
    rows = []
    with open(path, "rb") as f:
        for record in read_records(f):
            value = record.features["values"]
            kind = value.WhichOneof("value")
            tensor = getattr(value, kind)
            label = []
            if "values" in record.label:
                label = list(record.label["values"].float32_tensor.values)
            rows.append({
                "Type": kind, "Values": list(tensor.values), "Keys": list(tensor.keys),
                "Shape": list(tensor.shape), "Label": label,
            })
    json.dump(rows, sys.stdout)


def write(folder):
    random = np.random.RandomState(7)
    described = {}

    def put(name, matrix, labels):
        b = io.BytesIO()
        rows = []
        if scipy.sparse.issparse(matrix):
            write_spmatrix_to_sparse_tensor(b, matrix, labels)
            for i in range(matrix.shape[0]):
                row = matrix.getrow(i)
                rows.append({
                    "Keys": [int(k) for k in row.indices], "Values": [float(x) for x in row.data],
                    "Shape": [matrix.shape[1]],
                })
        else:
            write_numpy_to_dense_tensor(b, matrix, labels)
            rows = [{"Keys": None, "Values": [float(x) for x in row]} for row in matrix]
        for i, row in enumerate(rows):
            row["Label"] = [] if labels is None else [float(labels[i])]
        with open(folder + "/" + name, "wb") as f:
            f.write(b.getvalue())
        described[name] = rows

    dense = random.randn(20, 7)
    sparse = scipy.sparse.random(20, 100, 0.1, "csr", random_state=random)
    sparse[3] = 0
    sparse.eliminate_zeros()
    put("f32-dense", dense.astype("float32"), None)
    put("f32-dense-labels", dense.astype("float32"), random.randn(20).astype("float32"))
    put("f32-sparse-labels", sparse.astype("float32"), random.randn(20).astype("float32"))
    # float32 numbers, written as doubles, with integer labels
    put("f64-dense-labels", dense.astype("float32").astype("float64"), random.randint(0, 5, 20))
    json.dump(described, sys.stdout)


{"read": read, "write": write}[sys.argv[1]](sys.argv[2])
