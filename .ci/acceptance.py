"""What .ci/acceptance runs: acceptance.py WORK SHARED PYTHON AWS. WORK/algospec is the command."""

import atexit
import gzip
import io
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tarfile
import threading
import time
import urllib.request

import boto3
import numpy

WORK, SHARED = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PYTHON, AWS = sys.argv[3], sys.argv[4]
ALGOSPEC = str(WORK / "algospec")
ROLE = "arn:aws:iam::123456789012:role/training"
GRACE = 60  # seconds, of the platform's configuration
FINAL = ("Completed", "Failed", "Stopped")

CONFIG = f"""
images:
  sleeper: {{command: [sh, {WORK}/sleeper.sh]}}
grace: {GRACE}s
"""
SLEEPER = """
trap 'echo stopping; echo half >"$SAGEMAKER_BASE_DIR/model/half"; exit 0' TERM
echo sleeping
while :; do sleep 0.1; done
"""


def step(text):
    print(f"--- {text} ({time.monotonic() - BEGAN:.0f} s)", flush=True)


def check(ok, *what):
    if not ok:
        raise AssertionError(" ".join(str(w) for w in what))


def run(*command, **kwargs):
    """Runs a program to its end and returns what it printed."""
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, timeout=300, **kwargs)
    check(done.returncode == 0, command, "exited with", done.returncode, "\n", done.stdout, done.stderr)
    return done.stdout


class Platform:
    """An `algospec platform` that runs, and its clients."""

    def __init__(self, directory):
        file = WORK / "environment.sh"
        self.process = subprocess.Popen(
            [ALGOSPEC, "platform", "--dir", directory, "--listen", "127.0.0.1:0", "--config", WORK / "platform.yaml", "--env-file", file],
            stdout=subprocess.DEVNULL)
        atexit.register(self.process.kill)  # should a check fail
        while not file.exists():
            check(self.process.poll() is None, "the platform ended with", self.process.returncode)
            time.sleep(0.01)
        # As a user's shell reads it.
        text = run("sh", "-c", f". {file} && env -0")
        os.environ.update(dict(v.split("=", 1) for v in text.split("\0") if v))
        self.sagemaker, self.s3, self.logs = boto3.client("sagemaker"), boto3.client("s3"), boto3.client("logs")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        check(self.process.wait(120) == 0, "the platform ended with", self.process.returncode)

    def describe(self, name):
        return self.sagemaker.describe_training_job(TrainingJobName=name)

    def await_end(self, name, limit=300):
        """Polls until the job has ended; returns the last answer and the statuses seen."""
        seen, until = [], time.monotonic() + limit
        while time.monotonic() < until:
            job = self.describe(name)
            if not seen or seen[-1] != (job["TrainingJobStatus"], job["SecondaryStatus"]):
                seen.append((job["TrainingJobStatus"], job["SecondaryStatus"]))
            if job["TrainingJobStatus"] in FINAL:
                return job, seen
            time.sleep(0.01)
        raise AssertionError(f"{name} has not ended: {seen}")

    def log(self, name):
        """Returns the lines of each host."""
        group, lines = "/aws/sagemaker/TrainingJobs", {}
        for stream in self.logs.describe_log_streams(logGroupName=group, logStreamNamePrefix=name + "/")["logStreams"]:
            host, token = stream["logStreamName"].split("/")[1].rsplit("-", 1)[0], None
            lines[host] = []
            while True:
                more = {"nextToken": token} if token else {}
                page = self.logs.get_log_events(logGroupName=group, logStreamName=stream["logStreamName"], startFromHead=True, **more)
                lines[host] += [event["message"] for event in page["events"]]
                if page["nextForwardToken"] == token:
                    break
                token = page["nextForwardToken"]
        return lines

    def model(self, uri):
        """Returns the files of a model.tar.gz in S3."""
        bucket, key = uri.removeprefix("s3://").split("/", 1)
        body = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        with tarfile.open(fileobj=io.BytesIO(body), mode="r:gz") as archive:
            return {m.name.removeprefix("./"): archive.extractfile(m).read() for m in archive if m.isfile()}


def ndarrays(data):
    """Reads dense float32 arrays of an MXNet NDArray file."""
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    check(take("QQ") == (0x112, 0), "no NDArray file")
    arrays = []
    for _ in range(take("Q")[0]):
        magic, storage, dimensions = take("IiI")
        check((magic, storage) == (0xF993FAC9, 0), "an array of another form", hex(magic), storage)
        shape = take(f"{dimensions}q")
        check(take("iii")[2] == 0, "not float32")
        count = int(numpy.prod(shape))
        arrays.append(numpy.array(take(f"{count}f")).reshape(shape))
    names = [bytes(take(f"{take('Q')[0]}s")[0]).decode() for _ in range(take("Q")[0])]
    return dict(zip(names, arrays))


def check_pca(files, rows):
    """Compares a PCA model with numpy's singular values and directions."""
    model = ndarrays(files["model_algo-1"])
    centred = rows - rows.mean(axis=0)
    values, vectors = numpy.linalg.eigh(centred.T @ centred)
    numpy.testing.assert_allclose(model["s"], numpy.sqrt(values[-10:]), rtol=1e-4)
    numpy.testing.assert_allclose(numpy.abs(numpy.sum(model["v"] * vectors[:, -10:], axis=0)), 1, rtol=1e-4)
    return model


def programs():
    """Cuts the document's programs out of it and fills in the placeholders, with sed alone."""
    document = SHARED / "seeds" / "000_c2a7e898a0f05cf0.txt"
    fill = {
        "<YOUR_AWS_ROLE_ARN>": ROLE, "<YOUR_TRAINING_DATASET>": "s3://data/train", "<YOUR_TEST_DATASET>": "s3://data/test",
        "<OUTPUT_PATH_FOR_MODEL_ARTIFACTS>": "s3://data/models", "<FEATURE_DIMENSION_OF_YOUR_DATASET>": "50",
        "<PREFERRED_EC2_INSTANCE_TYPE>": "ml.c4.xlarge",
    }
    edits = [word for placeholder, value in fill.items() for word in ("-e", f"s|{placeholder}|{value}|")]
    for name, first, last in (
        ("boto3", "^import boto3$", "^sm_client.create_training_job("),
        ("sdk", "^from sagemaker.amazon.pca import PCA$", "^pca_estimator.fit("),
    ):
        cut = run("sed", "-n", f"/{first}/,/{last}/p", document)
        text = run("sed", *edits, input=cut)
        check("<" not in text and text.count("\n") > 10, f"the {name} program of the document:\n{text}")
        (WORK / f"program_{name}.py").write_text(text)


def data():
    """Makes the training data in the form of the document, and returns the rows."""
    source = SHARED / "data" / "nyc_taxi_50.csv.gz"
    run(ALGOSPEC, "records", "convert", source, WORK / "rows.pbr")
    run(ALGOSPEC, "records", "shard", "-n", "4", "--out", WORK / "shards", WORK / "rows.pbr")
    with gzip.open(source, "rt") as file:
        return numpy.loadtxt(file, delimiter=",")


def upload(platform):
    platform.s3.create_bucket(Bucket="data")
    shards = sorted(p for p in (WORK / "shards").iterdir() if "manifest" not in p.name)
    check(len(shards) == 4, shards)
    for shard in shards:
        platform.s3.upload_file(str(shard), "data", f"train/{shard.name}")
    platform.s3.upload_file(str(shards[0]), "data", "test/rows")


def boto3_program(platform, rows):
    name = "pca-pipe-mode-test"
    waited = threading.Thread(target=lambda: waits.append(platform.sagemaker.get_waiter(
        "training_job_completed_or_stopped").wait(TrainingJobName=name, WaiterConfig={"Delay": 1})))
    waits = []
    program = subprocess.Popen([PYTHON, WORK / "program_boto3.py"])
    while not platform.sagemaker.list_training_jobs(NameContains=name)["TrainingJobSummaries"]:
        check(program.poll() in (None, 0), "the program exited with", program.returncode)
    waited.start()
    job, seen = platform.await_end(name)
    check(program.wait(60) == 0, "the program exited with", program.returncode)
    check(seen[-1] == ("Completed", "Completed"), seen, job.get("FailureReason"))
    walk = ["Starting", "Training", "Uploading", "Completed"]
    places = [walk.index(secondary) for _, secondary in seen]
    check(places == sorted(places) and "Training" in [s for _, s in seen], "statuses seen:", seen)
    check(all(status == "InProgress" for status, _ in seen[:-1]), "statuses seen:", seen)
    transitions = job["SecondaryStatusTransitions"]
    check([t["Status"] for t in transitions] == walk, transitions)
    check(all(t["EndTime"] >= t["StartTime"] and t["StatusMessage"] for t in transitions), transitions)
    waited.join(30)
    check(len(waits) == 1, "the waiter has not returned")

    uri = job["ModelArtifacts"]["S3ModelArtifacts"]
    check(uri == f"s3://data/models/{name}/output/model.tar.gz", uri)
    model = check_pca(platform.model(uri), rows)
    lines = platform.log(name)
    check(list(lines) == ["algo-1"], list(lines))
    check(any("#quality_metric: host=algo-1, test mse <loss>=" in line for line in lines["algo-1"]), lines)
    check(job["AlgorithmSpecification"]["TrainingImage"].endswith("/pca:latest"), job)
    metrics = [d["Name"] for d in job["AlgorithmSpecification"]["MetricDefinitions"]]
    check({"train:explained_variance", "test:mse", "train:throughput"} <= set(metrics), metrics)
    final = {m["MetricName"]: m["Value"] for m in job["FinalMetricDataList"]}
    check(0 < final["train:explained_variance"] <= 1 and "test:mse" in final, final)
    return model


def sdk_program(platform, rows):
    shown = run(PYTHON, WORK / "program_sdk.py")
    check("#quality_metric: host=algo-1, train explained_variance" in shown, "logs=True shows no log:", shown)
    check("Training seconds: " in shown, shown)
    summary = platform.sagemaker.list_training_jobs(SortBy="CreationTime", SortOrder="Descending")["TrainingJobSummaries"][0]
    job = platform.describe(summary["TrainingJobName"])
    check(job["TrainingJobStatus"] == "Completed" and job["TrainingJobName"].startswith("pca-"), job)
    uri = job["ModelArtifacts"]["S3ModelArtifacts"]
    check(uri.startswith("s3://sagemaker-us-east-1-000000000000/pca-"), uri)
    check_pca(platform.model(uri), rows)


def request(name, image, **members):
    return {
        "TrainingJobName": name, "RoleArn": ROLE,
        "AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "Pipe"},
        "HyperParameters": {"num_components": "10", "feature_dim": "50", "mini_batch_size": "1000"},
        "InputDataConfig": [{"ChannelName": "train", "ContentType": "application/x-recordio-protobuf", "DataSource": {"S3DataSource": {
            "S3DataType": "S3Prefix", "S3Uri": "s3://data/train", "S3DataDistributionType": "ShardedByS3Key"}}}],
        "OutputDataConfig": {"S3OutputPath": "s3://data/models"},
        "ResourceConfig": {"InstanceType": "ml.c4.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    } | members


def aws_cli(platform, rows):
    def sagemaker(*words):
        return run(AWS, "sagemaker", *words)

    def create(name, image):
        file = WORK / f"{name}.json"
        file.write_text(json.dumps(request(name, image)))
        arn = json.loads(sagemaker("create-training-job", "--cli-input-json", f"file://{file}"))["TrainingJobArn"]
        check(arn == f"arn:aws:sagemaker:us-east-1:000000000000:training-job/{name}", arn)

    def wait(name):  # for the job's end, as the CLI looks again only after two minutes
        platform.await_end(name)
        sagemaker("wait", "training-job-completed-or-stopped", "--training-job-name", name)
        return json.loads(sagemaker("describe-training-job", "--training-job-name", name))

    create("cli-pca", "registry.example/pca:1")
    job = wait("cli-pca")
    check(job["TrainingJobStatus"] == "Completed", job)
    check_pca(platform.model(job["ModelArtifacts"]["S3ModelArtifacts"]), rows)

    create("cli-stopped", "registry.example/team/sleeper:2")
    while not any("sleeping" in lines for lines in platform.log("cli-stopped").values()):
        time.sleep(0.05)
    sagemaker("stop-training-job", "--training-job-name", "cli-stopped")
    job = wait("cli-stopped")
    check((job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Stopped", "Stopped"), job)
    check(platform.model(job["ModelArtifacts"]["S3ModelArtifacts"]) == {"half": b"half\n"}, job)


def three_hosts(platform, one):
    platform.sagemaker.create_training_job(**request("three-hosts", "pca:1", ResourceConfig={
        "InstanceType": "ml.c4.xlarge", "InstanceCount": 3, "VolumeSizeInGB": 1}))
    job, seen = platform.await_end("three-hosts")
    check(job["TrainingJobStatus"] == "Completed", seen, job.get("FailureReason"))
    model = ndarrays(platform.model(job["ModelArtifacts"]["S3ModelArtifacts"])["model_algo-1"])
    for name in one:
        numpy.testing.assert_allclose(model[name], one[name], rtol=1e-4, atol=1e-5)
    lines = platform.log("three-hosts")
    check(sorted(lines) == ["algo-1", "algo-2", "algo-3"] and all(lines.values()), {h: len(l) for h, l in lines.items()})


def host_processes(job):
    """Returns the processes of a job's containers by host."""
    found = {}
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = dict(v.split("=", 1) for v in (directory / "environ").read_text().split("\0") if "=" in v)
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        if environment.get("TRAINING_JOB_NAME") == job:
            for part in pathlib.Path(environment["SAGEMAKER_BASE_DIR"]).parts:
                if part.startswith("algo-"):
                    found[part] = int(directory.name)
    return found


def killed_host(platform):
    name = "host-killed"
    platform.sagemaker.create_training_job(**request(name, "pca:1", ResourceConfig={
        "InstanceType": "ml.c4.xlarge", "InstanceCount": 3, "VolumeSizeInGB": 1}))
    until = time.monotonic() + 120
    while "algo-2" not in (processes := host_processes(name)):
        check(time.monotonic() < until, "no process of algo-2:", processes)
    os.kill(processes["algo-2"], signal.SIGSTOP)  # so that the others wait for it
    while sorted(host_processes(name)) != ["algo-1", "algo-2", "algo-3"]:
        check(time.monotonic() < until, "not all hosts have come", host_processes(name))
    os.kill(processes["algo-2"], signal.SIGKILL)
    killed = time.monotonic()
    job, seen = platform.await_end(name)
    took = time.monotonic() - killed
    check(seen[-1] == ("Failed", "Failed"), seen)
    check(took < GRACE, f"failed after {took:.1f} s")
    check("algo-2" in job["FailureReason"] and "exit code: 137" in job["FailureReason"], job["FailureReason"])
    check(not host_processes(name), "processes are left:", host_processes(name))
    print(f"{took:.1f} s: {job['FailureReason']}")


def page():
    with urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL_SAGEMAKER"] + "/jobs/pca-pipe-mode-test") as answer:
        text = answer.read().decode()
    check("pca-pipe-mode-test" in text and "Completed" in text, text)
    picture = "/jobs/pca-pipe-mode-test/pictures/explained-variance.svg"
    check(f'<img src="{picture}"' in text, text)
    with urllib.request.urlopen(os.environ["AWS_ENDPOINT_URL_SAGEMAKER"] + picture) as answer:
        check(b"Variance explained" in answer.read() and answer.headers["Content-Type"] == "image/svg+xml", answer.headers)


def jobs_command():
    table = run(ALGOSPEC, "jobs", "list")
    check(["cli-stopped", "Stopped"] in [line.split()[:2] for line in table.splitlines()], table)
    shown = run(ALGOSPEC, "jobs", "show", "pca-pipe-mode-test")
    check("s3://data/models/pca-pipe-mode-test/output/model.tar.gz" in shown, shown)
    check("explained_variance" in run(ALGOSPEC, "jobs", "logs", "-f", "pca-pipe-mode-test"), "no log")
    check("algo-3 | " in run(ALGOSPEC, "jobs", "logs", "three-hosts"), "no log of algo-3")


def one_command():
    """A command of the user with the platform around it."""
    program = "import boto3, sys; sys.exit(7 if boto3.client('sts').get_caller_identity()['Account'] == '000000000000' else 1)"
    done = subprocess.run([ALGOSPEC, "platform", "--dir", WORK / "other", "--", PYTHON, "-c", program], timeout=300)
    check(done.returncode == 7, "the command's status became", done.returncode)


def main():
    (WORK / "platform.yaml").write_text(CONFIG)
    (WORK / "sleeper.sh").write_text(SLEEPER)
    programs()
    rows = data()
    platform = Platform(WORK / "data")
    upload(platform)
    step("the boto3 program of the document")
    model = boto3_program(platform, rows)
    step("the SageMaker Python SDK's program of the document")
    sdk_program(platform, rows)
    step("the AWS CLI")
    aws_cli(platform, rows)
    step("three hosts")
    three_hosts(platform, model)
    step("a host that is killed")
    killed_host(platform)
    step("the page, and algospec jobs")
    page()
    jobs_command()

    step("a restart")
    before = platform.sagemaker.list_training_jobs()["TrainingJobSummaries"]
    check(len(before) == 6, before)
    log = platform.log("three-hosts")
    platform.stop()
    again = Platform(WORK / "data")
    check(again.sagemaker.list_training_jobs()["TrainingJobSummaries"] == before, "other jobs after a restart")
    check(again.log("three-hosts") == log, "another log after a restart")
    check_pca(again.model("s3://data/models/cli-pca/output/model.tar.gz"), rows)
    again.stop()
    step("a command with a platform around it")
    one_command()
    step("acceptance: ok")


BEGAN = time.monotonic()
main()
