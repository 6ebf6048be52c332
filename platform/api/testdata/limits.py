"""Writes limits.json: what the service's own model says of the members of the requests that package
api answers. The Go SDK has the shapes, but neither lengths nor patterns. Run it with a Python that
has botocore; limits.json names the version."""

import gzip
import json
import os

import botocore

OPERATIONS = """CreateTrainingJob DescribeTrainingJob ListTrainingJobs StopTrainingJob DeleteTrainingJob
UpdateTrainingJob AddTags ListTags DeleteTags
CreateAlgorithm DescribeAlgorithm DeleteAlgorithm ListAlgorithms""".split()

path = os.path.join(os.path.dirname(botocore.__file__), "data/sagemaker/2017-07-24/service-2.json.gz")
with gzip.open(path) as file:
    model = json.load(file)
shapes = model["shapes"]


def limit(name):
    shape = shapes[name]
    found = {k: shape[k] for k in ("min", "max", "pattern") if k in shape}
    if shape["type"] == "list":
        found["element"] = limit(shape["member"]["shape"])
    if shape["type"] == "map":
        found["key"] = limit(shape["key"]["shape"])
        found["element"] = limit(shape["value"]["shape"])
    return {k: v for k, v in found.items() if v != {}}


def walk(name, go, out):
    shape = shapes[name]
    if shape["type"] in ("list", "map"):
        walk(shape["member" if "member" in shape else "value"]["shape"], None, out)
    if shape["type"] != "structure" or (go or name) in out:
        return
    members = out.setdefault(go or name, {})
    for member, reference in shape["members"].items():
        found = limit(reference["shape"])
        if member in shape.get("required", []):
            found = {"required": True, **found}
        if found:
            members[member] = found
        walk(reference["shape"], None, out)
    if not members:
        del out[go or name]


out = {}
for operation in OPERATIONS:
    walk(model["operations"][operation]["input"]["shape"], operation + "Input", out)
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "limits.json"), "w") as file:
    lines = [f' "{name}": {{\n' + ",\n".join(f'  "{m}": {json.dumps(l)}' for m, l in members.items()) + "\n }" for name, members in out.items()]
    file.write(f'{{"source": "botocore {botocore.__version__}, sagemaker 2017-07-24", "shapes": {{\n' + ",\n".join(lines) + "\n}}\n")
