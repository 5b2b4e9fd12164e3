"""One model through EZKL: settings, circuit, witness; then the same sample through ONNX Runtime.

Run as a program, in a folder of its own, because EZKL may panic, hang or print what it likes:
    ezkl_child.py MODEL [SAMPLES.npz]
leaves result.json: {"rows", "error", "tolerance"}, or {"reason"} if EZKL refused. Samples are named
`in/<input>/<k>`; without a file noise of size 1 for each size that is not known.
"""
import json
import os
import sys
from pathlib import Path

import ezkl
import numpy as np
import onnx
import onnxruntime as ort

SCALE = 13             # fraction bits of inputs and weights: what EZKL's own calibration chooses for small models
TOLERANCE_STEPS = 128  # of 2^-SCALE, times max(1, max|y|); right circuits need less than two thirds of it


def real_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    initializers = {i.name for i in model.graph.initializer}
    return [v for v in model.graph.input if v.name not in initializers]


def sample_of(model: onnx.ModelProto, file: str | None) -> dict[str, np.ndarray]:
    arrays = np.load(file) if file else {}
    random = np.random.default_rng(0)
    sample = {}
    for value in real_inputs(model):
        if f"in/{value.name}/0" in arrays:
            sample[value.name] = arrays[f"in/{value.name}/0"]
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value or 1 for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        floats = np.issubdtype(dtype, np.floating)
        sample[value.name] = (random.normal(size=shape) if floats else random.integers(0, 2, shape)).astype(dtype)
    return sample


def run_args(model: onnx.ModelProto, sample: dict[str, np.ndarray]):
    """EZKL wants a value for every symbol, and calls a size without a name `batch_size`."""
    sizes = {"batch_size": 1}
    for value in real_inputs(model):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value"):
                sizes[dim.dim_param or "batch_size"] = sample[value.name].shape[axis]
    args = ezkl.PyRunArgs()
    args.variables = list(sizes.items())
    args.input_scale = args.param_scale = SCALE
    args.decomp_legs = 3  # the default of 2 ends at 2^28: squares (in norms) beyond 4 are a synthesis error
    return args


def outputs_of_onnxruntime(file: str, sample: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(file, options, providers=["CPUExecutionProvider"]).run(None, sample)


def witness_of(file: str, sample: dict[str, np.ndarray]) -> list[np.ndarray]:
    ezkl.compile_circuit(file, "circuit", "settings.json")
    data = {"input_data": [a.astype(float).ravel().tolist() for a in sample.values()]}
    Path("input.json").write_text(json.dumps(data))
    ezkl.gen_witness("input.json", "circuit", "witness.json")
    witness = json.loads(Path("witness.json").read_text())
    return [np.array(a, float) for a in witness["pretty_elements"]["rescaled_outputs"]]


def main() -> None:
    file, samples = sys.argv[1], (sys.argv[2:] or [None])[0]
    result = {}
    try:
        model = onnx.load(file)
        sample = sample_of(model, samples)
        ezkl.gen_settings(file, "settings.json", py_run_args=run_args(model, sample))
        result["rows"] = json.loads(Path("settings.json").read_text())["num_rows"]
        got, want = witness_of(file, sample), outputs_of_onnxruntime(file, sample)
        pairs = [(a, np.asarray(b, float).ravel()) for a, b in zip(got, want, strict=True)]
        result["error"] = max(float(np.abs(a - b).max(initial=0)) for a, b in pairs)
        top = max(float(np.abs(b).max(initial=0)) for _, b in pairs)
        result["tolerance"] = TOLERANCE_STEPS * 2.0**-SCALE * max(1.0, top)
    except BaseException as error:  # a panic of EZKL is no Exception
        result["reason"] = str(error) or type(error).__name__
    Path("result.json").write_text(json.dumps(result))
    os._exit(0)  # after a panic the interpreter may not come to an end by itself


if __name__ == "__main__":
    main()
