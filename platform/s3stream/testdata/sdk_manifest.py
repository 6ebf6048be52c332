"""Writes sdk-12-shards.amazon.manifest with the SageMaker Python SDK (2.257.6), for a bucket in memory."""
import numpy as np
from sagemaker.amazon.amazon_estimator import upload_numpy_to_s3_shards


class S3:
    objects = {}

    def Object(self, bucket, key):
        class Object:
            def put(self, Body, **kwargs):
                S3.objects[key] = Body if isinstance(Body, bytes) else Body.read()

        return Object()


prefix = "sagemaker/KMeans-2026-01-01-00-00-00-000/"
uri = upload_numpy_to_s3_shards(12, S3(), "data", prefix, np.ones((25, 3), "float32"))
with open("sdk-12-shards.amazon.manifest", "wb") as f:
    f.write(S3.objects[uri.removeprefix("s3://data/")])
