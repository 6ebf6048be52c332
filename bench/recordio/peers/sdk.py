"""Reads a RecordIO-protobuf file with the SageMaker Python SDK's own reader into a numpy batch.

Prints the best and the median seconds of several passes over the file.
"""
import io
import sys
import time
import warnings

warnings.filterwarnings("ignore")

import numpy as np
from sagemaker.amazon.common import read_recordio
from sagemaker.amazon.record_pb2 import Record

path, columns, passes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, "rb") as f:
    data = f.read()
batch = np.zeros((1000, columns), "float32")
seconds = []
for _ in range(passes):
    began = time.perf_counter()
    record = Record()
    for row, payload in enumerate(read_recordio(io.BytesIO(data))):
        record.ParseFromString(payload)
        batch[row % 1000] = record.features["values"].float32_tensor.values
    seconds.append(time.perf_counter() - began)
seconds.sort()
print(f"{len(data)} bytes {seconds[0]:.6f} min {seconds[len(seconds) // 2]:.6f} median {seconds[-1]:.6f} max")
