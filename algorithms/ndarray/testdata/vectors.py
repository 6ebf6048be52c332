"""Writes the vectors of this folder. Made with mxnet 1.9.1 and numpy 1.23.5 on Python 3.11:

    pip install --no-deps mxnet==1.9.1 && pip install numpy==1.23.5 requests 'graphviz<0.9'
    python vectors.py
"""
import mxnet as mx
import numpy as np

rows = mx.nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 3]), shape=(5, 2))
csr = mx.nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))

mx.nd.save('row-sparse.nd', {'rows': rows})
mx.nd.save('csr-with-empty-row.nd', {'csr': csr})
mx.nd.save('row-sparse-zeros.nd', [mx.nd.sparse.zeros('row_sparse', (2, 3))])
mx.nd.save('csr-zeros.nd', [mx.nd.sparse.zeros('csr', (2, 3))])
mx.nd.save('three-storages.nd', {'rows': rows, 'csr': csr, 'dense': mx.nd.array([[1, 2, 3]])})
mx.nd.save('eight-dtypes.nd', {t: mx.nd.array(np.array([0, 1]), dtype=t) for t in
                               'float32 float64 float16 uint8 int32 int8 int64 bool'.split()})
mx.nd.save('empty-list.nd', [])
mx.nd.save('empty-name.nd', {'': mx.nd.array([1])})
