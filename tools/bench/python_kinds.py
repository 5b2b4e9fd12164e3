#!/usr/bin/env python3
"""What qrewrite.rewrite costs for a model in memory, against the command on the model's file.

  PYTHONPATH=build/release/python PYTHON tools/bench/python_kinds.py [--command build/release/qrewrite] [--runs 7] [--at-most 1.3]

The command starts, reads, rewrites, and has its output on the disk when it ends. For each model and kind: wall time, and CPU time in
brackets, as multiples of the command's; both are the least of the runs, which take turns. What a call returns is released within its time. Rules are loaded once, as a converter does it,
but in the last column by each call, as the command does. With --at-most it ends with 1 if bytes cost more CPU time than so many times what the command does.
"""
import argparse
import os
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx_ir
from onnx import helper, numpy_helper

import qrewrite
from qrewrite.onnx_ir import RewritePass


def model(nodes, initializers, inputs, output, width):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, ["N", inputs])],
                              [helper.make_tensor_value_info(output, 1, ["N", width])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def quantized(layers, own=False):
    """5 nodes and 4 kB of int8 a layer; ezkl_dequant makes 2 nodes and 16 kB of them. `own`: each tensor has its scale and its zero point, as exporters write it."""
    random = np.random.default_rng(0)
    nodes, last = [], "x"
    initializers = []

    def quantizer(name, scale):
        name = name if own else ""
        if own or not initializers:
            initializers.extend([numpy_helper.from_array(np.float32(scale), "s" + name), numpy_helper.from_array(np.int8(0), "z" + name)])
        return ["s" + name, "z" + name]

    for i in range(layers):
        data, weights = quantizer(f"x{i}", 0.1), quantizer(f"w{i}", 0.1 + i * 1e-6)
        initializers.append(numpy_helper.from_array(random.integers(-127, 127, (64, 64)).astype(np.int8), f"w{i}"))
        nodes += [helper.make_node("QuantizeLinear", [last, *data], [f"q{i}"]), helper.make_node("DequantizeLinear", [f"q{i}", *data], [f"d{i}"]),
                  helper.make_node("DequantizeLinear", [f"w{i}", *weights], [f"f{i}"]), helper.make_node("MatMul", [f"d{i}", f"f{i}"], [f"m{i}"]),
                  helper.make_node("Relu", [f"m{i}"], [f"r{i}"])]
        last = f"r{i}"
    return model(nodes, initializers, 64, last, 64)


def floats(megabytes, parts, twice):
    """`parts` layers with the weights among them. `twice`: optimize removes something."""
    random = np.random.default_rng(0)
    rows = megabytes * 256 // parts
    nodes, initializers, last = [], [], "x"
    for i in range(parts):
        initializers.append(numpy_helper.from_array(random.standard_normal((1024, rows), np.float32), f"w{i}"))
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]), helper.make_node("ReduceMax", [f"m{i}"], [f"x{i}"], axes=[1]),
                  helper.make_node("Add", [last, f"x{i}"], [f"a{i}"])]
        last = f"a{i}"
    if twice:
        nodes += [helper.make_node("Relu", [last], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
        last = "y"
    return model(nodes, initializers, 1024, last, 1024)


def settled(data, rules):
    return qrewrite.rewrite(data, rules)[0]


def recorded(name):
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "models", name), "rb") as file:
        return file.read()


MODELS = {
    "6 kB, 26 nodes": (lambda: recorded("qdq_cnn.onnx"), "ezkl_dequant"),
    "1 MB, 1,200 nodes": (lambda: quantized(240), "ezkl_dequant"),
    "9 MB, 10,000 nodes": (lambda: quantized(2000), "ezkl_dequant"),
    "9 MB, 10,000 nodes, 10,000 tensors": (lambda: quantized(2000, own=True), "ezkl_dequant"),
    "9 MB, 10,000 nodes, 10,000 tensors, nothing to do": (lambda: quantized(2000, own=True), "inline"),
    "43 MB, 50,000 nodes": (lambda: quantized(10000), "ezkl_dequant"),
    "86 MB, 100,000 nodes": (lambda: quantized(20000), "ezkl_dequant"),
    "43 MB, 50,000 nodes that stay": (lambda: quantized(10000), "aidge_export_qdq"),
    "43 MB, 50,000 nodes, nothing to do": (lambda: settled(quantized(10000), "aidge_export_qdq"), "aidge_export_qdq"),
    "100 MB in 10 tensors": (lambda: floats(100, 10, True), "optimize"),
    "100 MB in 10 tensors, nothing to do": (lambda: floats(100, 10, False), "optimize"),
    "250 MB in one tensor": (lambda: floats(250, 1, True), "optimize"),
    "250 MB in one tensor, nothing to do": (lambda: floats(250, 1, False), "optimize"),
}


def cost_of_command(command, rules, path):
    begin = time.perf_counter()
    pid = os.posix_spawn(command, [command, "--rules", rules, path, "-o", path + ".out", "-q"], os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def cost_of(call, model, rules):
    wall, cpu = time.perf_counter(), time.process_time()
    call(model, rules)
    return time.perf_counter() - wall, time.process_time() - cpu


def in_place(model, rules):
    RewritePass(rules, in_place=True)(model)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--command", default="build/release/qrewrite")
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--at-most", type=float, default=float("inf"))
    options.add_argument("--only", default="", help="models whose name has this text")
    args = options.parse_args()
    kinds = ["bytes", "onnx.ModelProto", "onnx_ir.Model", "the same in place", "qrewrite.Model", "bytes, rules by name"]
    dear = []
    print(f"| model | command | {' | '.join(kinds)} |\n|---|---|{'---|' * len(kinds)}")
    for name, (make, rules) in MODELS.items():
        if args.only not in name:
            continue
        data = make()
        proto = onnx.ModelProto.FromString(data)
        held = {"bytes": data, "proto": proto, "ir": onnx_ir.from_proto(proto), "model": qrewrite.Model.parse(data)}
        compiled = qrewrite.Rules.load(rules, tests=False)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(data)
            runs = []
            for _ in range(args.runs):
                costs = [cost_of_command(args.command, rules, path)]
                costs += [cost_of(qrewrite.rewrite, held[kind], compiled) for kind in ("bytes", "proto", "ir")]
                costs.append(cost_of(in_place, held["ir"].clone(), compiled))
                costs.append(cost_of(qrewrite.rewrite, held["model"], compiled))
                runs.append([*costs, cost_of(qrewrite.rewrite, held["bytes"], rules)])
        (wall, cpu), *calls = [tuple(map(min, zip(*costs))) for costs in zip(*runs)]
        print(f"| {name} | {wall * 1e3:.0f} ms ({cpu * 1e3:.0f}) | {' | '.join(f'{w / wall:.2f} ({c / cpu:.2f})' for w, c in calls)} |", flush=True)
        if calls[0][1] > args.at_most * cpu:
            dear.append(name)
    return f"bytes cost more than {args.at_most} times the command: {', '.join(dear)}" if dear else 0


if __name__ == "__main__":
    sys.exit(main())
