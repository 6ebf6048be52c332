"""Drives the API as users do: boto3 with its waiters, and the SageMaker Python SDK's Estimator with logs.
AWS_ENDPOINT_URL and the keys are in the environment."""

import io
import os
import sys
from contextlib import redirect_stdout

import boto3
import botocore.exceptions

session = boto3.Session(region_name="us-east-1")
sm, logs, sts = session.client("sagemaker"), session.client("logs"), session.client("sts")
assert sts.get_caller_identity()["Account"] == "000000000000"


def code(call, **kwargs):
    try:
        call(**kwargs)
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"], e.response["Error"]["Message"], e.response["ResponseMetadata"]["HTTPStatusCode"]
    return None


def request(name, **more):
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::000000000000:role/training",
        "AlgorithmSpecification": {"TrainingImage": "pca", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://data/models"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        **more,
    }


arn = sm.create_training_job(**request("first", Tags=[{"Key": "a", "Value": "b"}]))["TrainingJobArn"]
assert arn == "arn:aws:sagemaker:us-east-1:000000000000:training-job/first", arn
waiter = sm.get_waiter("training_job_completed_or_stopped")
waiter.wait(TrainingJobName="first", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
described = sm.describe_training_job(TrainingJobName="first")
assert described["TrainingJobStatus"] == "Completed", described
assert described["CreationTime"] <= described["TrainingEndTime"], described
assert [t["Status"] for t in described["SecondaryStatusTransitions"]] == ["Starting", "Training", "Uploading", "Completed"]
assert abs(described["FinalMetricDataList"][0]["Value"] - 0.25) < 1e-6
assert sm.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "a", "Value": "b"}]
assert len(sm.add_tags(ResourceArn=arn, Tags=[{"Key": "c", "Value": "d"}])["Tags"]) == 2
sm.delete_tags(ResourceArn=arn, TagKeys=["a"])
assert sm.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "c", "Value": "d"}]

sm.create_training_job(**request("forever"))
sm.stop_training_job(TrainingJobName="forever")
waiter.wait(TrainingJobName="forever", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
assert sm.describe_training_job(TrainingJobName="forever")["TrainingJobStatus"] == "Stopped"
sm.create_training_job(**request("fails"))
try:
    waiter.wait(TrainingJobName="fails", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    raise SystemExit("the waiter took a failed job")
except botocore.exceptions.WaiterError:
    pass
try:
    waiter.wait(TrainingJobName="unknown", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    raise SystemExit("the waiter took an unknown job")
except botocore.exceptions.WaiterError as e:
    assert "ValidationException" in str(e), e

assert code(sm.describe_training_job, TrainingJobName="unknown") == ("ValidationException", "Requested resource not found.", 400)
assert code(sm.stop_training_job, TrainingJobName="first") == (
    "ValidationException", "The request was rejected because the training job is in status Completed.", 400)
duplicate = code(sm.create_training_job, **request("first"))
assert duplicate[0] == "ResourceInUse" and arn in duplicate[1], duplicate
long = code(sm.create_training_job, **request("a" * 64))
assert long[0] == "ValidationException" and long[1].startswith(
    "2 validation errors detected: Value '" + "a" * 64 + "' at 'trainingJobName' failed to satisfy constraint: "
    "Member must have length less than or equal to 63; Value '"), long
bad = request("bad")
bad["ResourceConfig"]["InstanceType"] = "ml.m1.tiny"
message = code(sm.create_training_job, **bad)[1]
assert message.startswith(
    "1 validation error detected: Value 'ml.m1.tiny' at 'resourceConfig.instanceType' failed to satisfy constraint: "
    "Member must satisfy enum value set: ["), message

names = set()
for page in sm.get_paginator("list_training_jobs").paginate(PaginationConfig={"PageSize": 2}, SortBy="Name", SortOrder="Ascending"):
    names |= {j["TrainingJobName"] for j in page["TrainingJobSummaries"]}
assert names == {"first", "forever", "fails"}, names
sm.delete_training_job(TrainingJobName="first")
assert code(sm.describe_training_job, TrainingJobName="first")[0] == "ValidationException"

sm.create_algorithm(AlgorithmName="algo", TrainingSpecification={
    "TrainingImage": "pca", "SupportedTrainingInstanceTypes": ["ml.m5.large"],
    "SupportedHyperParameters": [{"Name": "k", "Type": "Integer", "IsRequired": True, "Range": {
        "IntegerParameterRangeSpecification": {"MinValue": "1", "MaxValue": "10"}}}],
    "TrainingChannels": [{"Name": "train", "SupportedContentTypes": ["text/csv"], "SupportedInputModes": ["File"]}],
})
assert sm.describe_algorithm(AlgorithmName="algo")["AlgorithmStatus"] == "Completed"
own = request("own", AlgorithmSpecification={"AlgorithmName": "algo", "TrainingInputMode": "File"}, HyperParameters={"k": "11"})
assert code(sm.create_training_job, **own) == ("ValidationException", "Hyperparameter k: 11 is greater than 10.", 400)
own["HyperParameters"]["k"] = "10"
sm.create_training_job(**own)
waiter.wait(TrainingJobName="own", WaiterConfig={"Delay": 1, "MaxAttempts": 30})

if len(sys.argv) > 1 and sys.argv[1] == "estimator":
    import sagemaker
    from sagemaker.estimator import Estimator

    sdk = sagemaker.Session(boto_session=session, default_bucket="data")
    estimator = Estimator("pca", "arn:aws:iam::000000000000:role/training", 1, "ml.m5.large",
                          output_path="s3://data/models", sagemaker_session=sdk, base_job_name="estimated")
    out = io.StringIO()
    with redirect_stdout(out):
        estimator.fit({"train": "s3://data/train"}, logs=True)
    assert "the algorithm's line" in out.getvalue(), out.getvalue()
    assert estimator.model_data.endswith("/output/model.tar.gz"), estimator.model_data
print("done")
