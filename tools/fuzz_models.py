#!/usr/bin/env python3
"""Damages models and looks for crashes, hangs and partial output of `qrewrite`.

  tools/fuzz_models.py --qrewrite build/asan/qrewrite [--rounds 2000] [--seed 1] [--keep FOLDER] [--models FOLDER]

A round takes a recorded model, changes one to four of its fields (any field of any message of the format) or a few
bytes, and rewrites it. It fails if the program ends otherwise than documented, says nothing about an error, leaves a
file behind after one, writes a model that it cannot read itself, or makes of a valid model one that is not. The model
of a failed round is kept, and the exit code is 1. Needs the package onnx.
"""
import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from google.protobuf.descriptor import FieldDescriptor as F

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 60           # seconds; a run that takes longer hangs
CODES = {0, 1, 2, 3, 5, 6, 7}
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "exitcode=99:detect_leaks=1:allocator_may_return_null=1",
               "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99"}
RULES = ["ezkl_dequant", "ezkl_dequant", "ezkl_finish", "optimize", "opset_upgrade", "qdq_to_qop", "qop_to_qdq", "deeploy",
         "aidge_export_qdq", "aidge_export_qop"]
DIALECTS = {"deeploy"}  # write what onnx's checker does not know: Pad of opset 2
INTEGERS = [0, 1, -1, 2, 3, 7, 16, 127, 255, 65536, 2**31 - 1, -2**31, 2**31, 2**40, 2**62, 2**63 - 1, -2**63]
FLOATS = [0.0, -0.0, 1.0, -1.0, float("inf"), float("nan"), 1e38, 1e-45]


def seeds(folders):
    for folder in folders:
        for path in sorted(Path(folder).rglob("model.onnx*")) + sorted(Path(folder).glob("*.onnx")):
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            try:
                model = onnx.load_from_string(data)
            except Exception:  # noqa: BLE001  a model that is broken already has its own test
                continue
            if len(data) < 300_000 and model.graph.node:
                yield path, model


def messages(message):
    """All messages of the tree; those of tensors' payloads are as likely as any other."""
    yield message
    for field, value in message.ListFields():
        if field.type == F.TYPE_MESSAGE:
            for child in value if field.is_repeated else [value]:
                yield from messages(child)


def names(model):
    found = {""}
    for node in model.graph.node:
        found.update([*node.input, *node.output, node.op_type, node.domain, node.name])
    return sorted(found)


def scalar(field, old, words, pick):
    if field.cpp_type in (F.CPPTYPE_INT32, F.CPPTYPE_INT64, F.CPPTYPE_UINT64, F.CPPTYPE_UINT32):
        value = pick.choice([*INTEGERS, (old or 0) + 1, (old or 0) - 1])
        low, high = {F.CPPTYPE_INT32: (-2**31, 2**31 - 1), F.CPPTYPE_INT64: (-2**63, 2**63 - 1),
                     F.CPPTYPE_UINT32: (0, 2**32 - 1), F.CPPTYPE_UINT64: (0, 2**64 - 1)}[field.cpp_type]
        return min(max(value, low), high)
    if field.cpp_type in (F.CPPTYPE_FLOAT, F.CPPTYPE_DOUBLE):
        return pick.choice(FLOATS)
    if field.cpp_type == F.CPPTYPE_ENUM:
        return pick.choice(field.enum_type.values).number
    if field.type == F.TYPE_BYTES:
        data = bytearray(old or b"")
        action = pick.randrange(3)
        if action == 0 or not data:
            return bytes(data[: pick.randrange(len(data) + 1)])
        if action == 1:
            return bytes(data) + bytes(pick.randrange(1, 9))
        data[pick.randrange(len(data))] = pick.randrange(256)
        return bytes(data)
    return pick.choice(words)


def change_field(message, words, pick):
    field = pick.choice(message.DESCRIPTOR.fields)
    if pick.random() < 0.8 and message.ListFields():
        field = pick.choice(message.ListFields())[0]  # mostly what is there
    if field.is_repeated:
        items = getattr(message, field.name)
        action = pick.randrange(4)
        if action == 0 and len(items):
            del items[pick.randrange(len(items))]
        elif action == 1 and len(items):
            if field.type == F.TYPE_MESSAGE:
                items.add().CopyFrom(pick.choice(items))
            else:
                items.append(pick.choice(items))
        elif field.type == F.TYPE_MESSAGE:
            if len(items) > 1:
                a, b = pick.sample(range(len(items)), 2)
                items[a].CopyFrom(items[b])
            else:
                items.add()
        elif len(items) and action == 2:
            at = pick.randrange(len(items))
            items[at] = scalar(field, items[at], words, pick)
        else:
            items.append(scalar(field, None, words, pick))
    elif field.type == F.TYPE_MESSAGE:
        if message.HasField(field.name):
            message.ClearField(field.name)
        else:
            getattr(message, field.name).SetInParent()
    elif pick.random() < 0.2:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, scalar(field, getattr(message, field.name), words, pick))


def damaged(model, pick):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    words = names(model)
    for _ in range(pick.randint(1, 4)):
        part = pick.choice([copy, *copy.graph.node, *copy.graph.node, *copy.graph.initializer, copy.graph])
        change_field(pick.choice(list(messages(part))[:2000]), words, pick)
    data = bytearray(copy.SerializeToString())
    if pick.random() < 0.1 and data:
        for _ in range(pick.randint(1, 8)):
            data[pick.randrange(len(data))] = pick.randrange(256)
    return bytes(data)


def valid(data):
    try:
        model = onnx.load_from_string(data)
        if any(a.ref_attr_name for node in model.graph.node for a in node.attribute):
            return False  # for functions only, but the checker is silent
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        return True
    except Exception:  # noqa: BLE001  whatever the checker raises
        return False


def run(command, cwd):
    """Exit code and standard error; -1 for a hang."""
    with open(cwd / "stderr", "wb") as err:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, cwd=cwd, env=ENVIRONMENT)
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return -1, ""
    return process.returncode, (cwd / "stderr").read_text(errors="replace")


def fault(program, rules, data, folder):
    """What is wrong with this run, or None."""
    source, out = folder / "model.onnx", folder / "out.onnx"
    source.write_bytes(data)
    out.unlink(missing_ok=True)
    code, err = run([program, "--rules", str(ROOT / "rules" / f"{rules}.yaml"), str(source), "-o", str(out)], folder)
    if code == -1:
        return "hangs"
    if code not in CODES or "Sanitizer" in err or "runtime error:" in err:
        return f"exit code {code}: {err[-1500:]}"
    left = [p.name for p in folder.iterdir() if p.name not in ("model.onnx", "out.onnx", "stderr")]
    if left:
        return f"leaves {left}"
    if source.read_bytes() != data:
        return "the input changed"
    if code != 0:
        if out.exists():
            return f"exit code {code}, but there is an output"
        return None if err.strip() else f"exit code {code} and no message"
    if run([program, "show", str(out)], folder)[0] != 0:
        return "writes a model that it cannot read: " + (folder / "stderr").read_text(errors="replace")[-500:]
    if rules not in DIALECTS and valid(data) and not valid(out.read_bytes()):
        return "a valid model became invalid"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qrewrite", required=True)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz_models_failed"))
    parser.add_argument("--models", action="append", default=[], help="more models to damage (model.onnx or model.onnx.gz below)")
    options = parser.parse_args()
    program = str(Path(options.qrewrite).resolve())
    pick = random.Random(options.seed)
    models = list(seeds([ROOT / "fixtures", *options.models]))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for number in range(options.rounds):
            path, model = pick.choice(models)
            rules = pick.choice(RULES)
            data = damaged(model, pick)
            found = fault(program, rules, data, folder)
            if found is None:
                continue
            failed += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            kept = options.keep / f"{options.seed}_{number}_{rules}.onnx"
            kept.write_bytes(data)
            print(f"{kept} (from {path}): {found}", flush=True)
            for rest in folder.iterdir():
                rest.unlink()
    print(f"{options.rounds} rounds, {len(models)} models, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
