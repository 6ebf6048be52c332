"""Readers of a RecordIO-protobuf file of dense float32 rows into an n×d matrix and n labels (None without).

sdk    the SageMaker Python SDK's reader, and a number at a time from its messages: what its users have;
rows   numpy.frombuffer on each record, after one look at where the values are in the first;
whole  one strided view of the whole file, which only works where all records are laid out as the first:
       what an expert can get from numpy, with no check of the framing but that of the size.
"""
import logging
import os
import struct
import sys

import numpy as np

if "BENCH_SDK" in os.environ:  # the site-packages of a Python that has it
    logging.getLogger("sagemaker").setLevel(logging.ERROR)
    logging.getLogger("sagemaker.config").setLevel(logging.ERROR)
    sys.path.append(os.environ["BENCH_SDK"])
    from sagemaker.amazon.common import read_recordio
    from sagemaker.amazon.record_pb2 import Record


def sdk(path, columns):
    rows, labels, record = [], [], Record()
    with open(path, "rb") as f:
        for payload in read_recordio(f):
            record.ParseFromString(payload)
            rows.append(np.array(record.features["values"].float32_tensor.values, "float32"))
            labels.extend(record.label["values"].float32_tensor.values)
    return np.stack(rows), np.array(labels, "float32") if labels else None


def layout(data, columns):
    """Where the values and the label begin in the first record, and where the next record begins."""
    magic, size = struct.unpack_from("<II", data)
    if magic != 0xCED7230A or size >= 1 << 29:
        raise ValueError("no whole record")
    first = bytes(data[8 : 8 + size])
    values, label = packed(first, columns), packed(first, 1)
    return 8 + values, 8 + label if label > 0 else None, 8 + (size + 3) // 4 * 4


def packed(record, count):
    """Where that many packed floats begin in a record: they fill a Float32Tensor, field 2 of a Value."""
    head = b"\x0a" + varint(4 * count)
    head = b"\x12" + varint(len(head) + 4 * count) + head
    at = record.find(head)
    return at + len(head) if at >= 0 else -1


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def rows(path, columns):
    with open(path, "rb") as f:
        data = f.read()
    values, label, step = layout(data, columns)
    x = np.empty((len(data) // step, columns), "float32")
    y = np.empty(len(x), "float32") if label is not None else None
    at = row = 0
    while at < len(data):
        magic, size = struct.unpack_from("<II", data, at)
        if magic != 0xCED7230A or 8 + (size + 3) // 4 * 4 != step:
            raise ValueError(f"record {row}")
        x[row] = np.frombuffer(data, "<f4", columns, at + values)
        if y is not None:
            (y[row],) = struct.unpack_from("<f", data, at + label)
        at += step
        row += 1
    return x, y


def whole(path, columns):
    data = np.fromfile(path, "uint8")
    values, label, step = layout(data, columns)
    if len(data) % step:
        raise ValueError("records of several sizes")
    table = data.reshape(-1, step)
    x = np.ascontiguousarray(table[:, values : values + 4 * columns]).view("<f4")
    y = np.ascontiguousarray(table[:, label : label + 4]).view("<f4")[:, 0] if label is not None else None
    return x, y
