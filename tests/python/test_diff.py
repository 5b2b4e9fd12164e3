"""qrewrite diff: what differs, which node is which, exit codes, JSON."""
import json
import os
import random
import subprocess

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli import PROGRAM, SOURCE, golden

NET = """net (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y, float[1, 3, 8, 8] z) <float[1] half = {0.5}, float[3, 1, 1] w = {1, 2, 3}> {
  a = Mul(x, half)  b = Relu(a)  c = Add(b, w)  y = Transpose<perm = [0, 1, 2, 3]>(c)  n = Neg(c)  z = Relu(n)
}"""


def parse(text=NET, opset=17):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]>\n{text}')
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    return model


@pytest.fixture
def diff(tmp_path):
    def run(a, b, *args, code=1):
        for name, model in (("a.onnx", a), ("b.onnx", b)):
            onnx.save(model, tmp_path / name)
        done = subprocess.run([PROGRAM, "diff", "a.onnx", "b.onnx", *args], cwd=tmp_path, capture_output=True, text=True,
                              timeout=60, env={**os.environ, "NO_COLOR": "1"})
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout) if "--json" in args else done.stdout
    return run


@pytest.mark.parametrize("args", [(), ("--ignore-names",)])
@pytest.mark.parametrize("how", ["value", "value_floats"])
def test_constants_as_nodes(diff, how, args):
    spelt = parse()
    half = spelt.graph.initializer[0]
    value = {"value": half} if how == "value" else {"value_floats": [0.5]}
    spelt.graph.node.insert(0, helper.make_node("Constant", [], ["half"], name="n_half", **value))
    del spelt.graph.initializer[0]
    assert diff(parse(), spelt, *args, code=0) == "the models are equal: 6 nodes\n"
    assert diff(spelt, parse(), *args, code=0) == "the models are equal: 6 nodes\n"
    other = parse(NET.replace("{0.5}", "{0.25}"))
    assert "half" in diff(other, spelt) and "Constant" not in diff(other, spelt)


def test_equal(diff):
    assert diff(parse(), parse(), code=0) == "the models are equal: 6 nodes\n"
    shuffled = parse()
    nodes = list(shuffled.graph.node)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend([nodes[i] for i in (0, 1, 2, 4, 5, 3)])
    shuffled.graph.initializer.reverse()
    assert diff(parse(), shuffled, code=0) == "the models are equal: 6 nodes\n"


def changed():
    """Of each kind of change one."""
    model = parse(opset=18)
    graph = model.graph
    model.producer_name = "me"
    model.metadata_props.add(key="who", value="me")
    graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array([[[1]], [[2]], [[4]]], np.float32), "w"))
    graph.node[3].attribute[0].ints[:] = [0, 1, 3, 2]
    graph.node[4].op_type = "Abs"
    graph.node.remove(graph.node[1])
    graph.node[1].input[0] = "a"
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    graph.node.append(helper.make_node("Sqrt", ["c"], ["new"], name="n_new"))
    graph.output.append(helper.make_tensor_value_info("new", TensorProto.FLOAT, None))
    return model


def test_sparse_initializers(diff):
    def sparse(*numbers):
        model = parse()
        w = next(i for i in model.graph.initializer if i.name == "w")
        model.graph.initializer.remove(w)
        values = helper.make_tensor("w", TensorProto.FLOAT, [len(numbers)], numbers)
        indices = helper.make_tensor("", TensorProto.INT64, [len(numbers)], range(len(numbers)))
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3, 1, 1]))
        return model
    assert diff(sparse(1, 2), sparse(1, 2), code=0) == "the models are equal: 6 nodes\n"
    assert "input 1: other data of w" in diff(sparse(1, 2), sparse(1, 3))
    assert diff(sparse(1, 2), sparse(1, 3), "--json")["graphs"][0]["nodes"][0]["changes"] == [
        {"what": "input 1: other data of w", "before": "", "after": ""}]


def test_changes(diff):
    text = diff(parse(), changed())
    data = diff(parse(), changed(), "--json")
    golden("diff.txt", text)
    golden("diff.json", json.dumps(data, indent=2) + "\n")
    assert data["graphs"][0]["same"] == 2  # Mul, and the Relu behind the operator that is another one


def test_back_and_forth(diff):
    there, back = diff(parse(), changed(), "--json"), diff(changed(), parse(), "--json")
    kinds = {"removed": "added", "added": "removed", "changed": "changed"}
    for key in ("nodes", "constants", "inputs", "outputs"):
        assert sorted((kinds[n["kind"]], n["after"], n["before"]) for n in there["graphs"][0][key]) == \
               sorted((n["kind"], n["before"], n["after"]) for n in back["graphs"][0][key])


def test_other_names(diff):
    """Exporters number values anew: with their names they differ, as structures they are equal."""
    numbered = parse()
    names = {"a": "7", "b": "a", "c": "9", "n": "b", "half": "c", "w": "n"}
    for node in numbered.graph.node:
        node.name = ""
        for values in (node.input, node.output):
            values[:] = [names.get(v, v) for v in values]
    for tensor in numbered.graph.initializer:
        tensor.name = names[tensor.name]
    assert diff(parse(), numbered, "--ignore-names", code=0) == "the models are equal: 6 nodes\n"
    diff(parse(), numbered)
    renamed = parse(NET.replace("a = Mul(x", "q = Mul(x").replace("Relu(a)", "Relu(q)"))
    changes = {n["name"]: [c["what"] for c in n["changes"]] for n in diff(parse(), renamed, "--json")["graphs"][0]["nodes"]}
    assert changes == {"n_a": ["name", "output 0"]}


def test_structure_is_not_confused_by_swapped_operands(diff):
    swapped = parse(NET.replace("c = Add(b, w)", "c = Add(w, b)"))
    found = diff(parse(), swapped, "--ignore-names", "--json")["graphs"][0]["nodes"]
    assert [(n["kind"], n["name"], [c["what"] for c in n["changes"]]) for n in found] == [("changed", "n_c", ["input 0", "input 1"])]


def subgraphs(inner, function="Neg"):
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["": 17, "own": 1]>
      g (bool c, float[2] x) => (float[2] y, float[2] z) {{
        y = If(c) <then_branch = t () => (float[2] r) {{ r = {inner}(x) }}, else_branch = e () => (float[2] s) {{ s = Neg(x) }}>
        z = own.Flip(x)
      }}
      <domain: "own", opset_import: ["": 17]> Flip (v) => (u) {{ u = {function}(v) }}""")
    model.graph.node[0].name = "choose"
    return model


def test_subgraphs_and_functions(diff):
    data = diff(subgraphs("Relu"), subgraphs("Abs", "Sin"), "--json")
    places = {g["graph"]: [(n["kind"], n["op"]) for n in g["nodes"]] for g in data["graphs"]}
    assert places == {"": [], "then_branch of If `choose`": [("removed", "Relu"), ("added", "Abs")],
                      "function own.Flip": [("removed", "Neg"), ("added", "Sin")]}
    assert "\nnodes removed in then_branch of If `choose`\n" in diff(subgraphs("Relu"), subgraphs("Abs", "Sin"))
    without = subgraphs("Relu")
    del without.functions[:]
    assert [c["what"] for c in diff(subgraphs("Relu"), without, "--json")["model"]] == ["function own.Flip"]


def test_numbers(diff):
    def const(values, dtype=np.float32):
        model = parse()
        model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array(values, dtype).reshape(3, 1, 1), "w"))
        return model

    def change(a, b):
        return diff(a, b, "--json")["graphs"][0]["constants"][0]["changes"][0]

    assert change(const([1, 2, 3]), const([1, 2.5, 1]))["what"] == "data: 2 of 3 elements, by at most 2"
    assert change(const([1, 0.0, 3]), const([1, -0.0, 3]))["what"] == "data: signs of zeros, or bits of NaNs"
    assert change(const([1, np.nan, 3]), const([1, 2, 3]))["what"] == "data: 1 of 3 elements, by at most inf"
    assert change(const([1, 2, 3]), const([1, 2, 3], np.float16)) == {"what": "type", "before": "float[3, 1, 1]", "after": "float16[3, 1, 1]"}


def test_random_edits_are_found(diff):
    """A chain of equal operators, from which nodes are taken: what is removed is found, and nothing else."""
    rng = random.Random(5)
    names = [f"v{i}" for i in range(400)]
    gone = set(rng.sample(range(1, 399), 20))

    def chain(kept):
        nodes, last = [], "x"
        for i in kept:
            nodes.append(helper.make_node(["Relu", "Neg", "Abs"][i % 3], [last], [names[i]], name=names[i]))
            last = names[i]
        value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in ("x", last)]
        return helper.make_model(helper.make_graph(nodes, "g", value[:1], value[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    found = diff(chain(range(400)), chain([i for i in range(400) if i not in gone]), "--json")["graphs"][0]
    assert {int(n["name"][1:]) for n in found["nodes"] if n["kind"] == "removed"} == gone
    assert all(n["kind"] != "added" and {c["what"] for c in n["changes"]} <= {"input 0"} for n in found["nodes"])


def test_strange_names(diff):
    odd = parse()
    odd.graph.node[0].name = "\x1b[31m</script>\u202e" + "long" * 500
    text = diff(parse(), odd)
    assert "\x1b" not in text and "\u202e" not in text and max(map(len, text.splitlines())) < 1000
    assert diff(odd, odd, code=0)


def test_what_files_say_beside_their_graphs(diff):
    a, b = parse(), parse()
    b.graph.node[0].doc_string = "the first"
    b.graph.node[1].metadata_props.add(key="who", value="me")
    b.graph.input[0].doc_string = "a picture"
    note = b.graph.quantization_annotation.add(tensor_name="w")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="half")
    values = numpy_helper.from_array(np.array([1.5], np.float32), "rare")
    b.graph.sparse_initializer.add(values=values, indices=numpy_helper.from_array(np.array([3], np.int64), "i"), dims=[8])
    b.training_info.add().initialization.name = "t"
    for i in range(5):
        b.graph.node[i].doc_string += f" {i}"
    report = diff(a, b, "--json")
    changes = {change["what"]: (change["before"], change["after"]) for change in report["model"]}
    assert changes.pop("doc string of node `a`") == ("", "the first 0")
    assert changes.pop("doc string of node: others") == ("", "2 more differ")
    assert changes.pop("metadata of node `b`") == ("", "who=me")
    assert changes.pop("doc string of value `x`") == ("", "a picture")
    assert changes.pop("quantization annotation `w`") == ("", "SCALE_TENSOR=half")
    assert changes.pop("sparse initializer `rare`")[1].endswith(tuple("0123456789abcdef"))
    assert changes.pop("training information")[0] == ""
    assert all(what.startswith("doc string of node `") for what in changes) and len(changes) == 2
    # Two that are there, and differ; and what a node took along with it.
    b.graph.sparse_initializer[0].values.raw_data = np.array([2.5], np.float32).tobytes()
    c = onnx.ModelProto()
    c.CopyFrom(b)
    c.graph.sparse_initializer[0].dims[0] = 9
    assert [change["what"] for change in diff(b, c, "--json")["model"]] == ["sparse initializer `rare`"]
    d = onnx.ModelProto()
    d.CopyFrom(b)
    gone = d.graph.node.pop(0)
    d.graph.node[0].input[0] = gone.input[0]
    assert diff(b, d, "--json")["model"] == []
    assert diff(b, b, code=0) == "the models are equal: 6 nodes\n"


def test_empty(diff):
    empty = helper.make_model(helper.make_graph([], "g", [], []), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert diff(empty, empty, code=0) == "the models are equal: 0 nodes\n"
    assert "6 removed" not in diff(empty, parse()) and "6 removed" in diff(parse(), empty)


def test_a_value_that_is_returned_several_times(diff):
    def returned(*names):
        model = parse()
        outputs = {o.name: o for o in [*model.graph.input, *model.graph.output]}
        del model.graph.output[:]
        model.graph.output.extend(outputs[name] for name in names)
        return model
    twice = returned("y", "x", "y", "z", "x")
    assert diff(twice, twice, code=0) == "the models are equal: 6 nodes\n"
    assert "- y: float[1, 3, 8, 8]" in diff(twice, returned("y", "x", "z", "x"))
    assert "+ y: float[1, 3, 8, 8]" in diff(twice, returned("y", "x", "y", "z", "x", "y"))


def test_recorded_model_against_itself_in_other_states(diff):
    model = onnx.load(SOURCE / "fixtures/models/qdq_cnn.onnx")
    assert diff(model, model, code=0) == "the models are equal: 26 nodes\n"


@pytest.mark.parametrize("args,code,message", [
    ([], 2, "two models are needed"), (["a.onnx"], 2, "two models are needed"),
    (["none.onnx", "none.onnx"], 6, "none.onnx"), (["bad.onnx", "bad.onnx"], 5, "bad.onnx")])
def test_errors(tmp_path, args, code, message):
    (tmp_path / "bad.onnx").write_bytes(b"\xff\xff\xff")
    done = subprocess.run([PROGRAM, "diff", *args], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == code and message in done.stderr
