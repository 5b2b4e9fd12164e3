"""onnx.ModelProto in and out: piece by piece, with the same result as for the message as bytes."""
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from conftest import RULES, parse
from onnx import TensorProto, helper, numpy_helper

import qrewrite

LARGE = np.arange(40000, dtype=np.float32)  # beyond what passes inside the message


def with_tensors(*tensors) -> onnx.ModelProto:
    """y = Relu(Relu(x)) + w0 + w1 ..."""
    proto = parse(f"g (float[40000] x) => (float[40000] y) {{ a = Relu(x)  b0 = Relu(a)  {' '.join(f'b{i + 1} = Add(b{i}, w{i})' for i in range(len(tensors)))}  y = Abs(b{len(tensors)}) }}")
    proto.graph.initializer.extend(tensors)
    for i, tensor in enumerate(proto.graph.initializer):
        tensor.name = f"w{i}"
    return proto


def same_as_bytes(proto, rules=RULES, **options):
    """What comes back, after it was compared with what comes back for the bytes."""
    before = proto.SerializeToString()
    from_bytes, told = qrewrite.rewrite(before, rules, **options)
    result, report = qrewrite.rewrite(proto, rules, **options)
    assert proto.SerializeToString() == before
    assert result is not proto and type(result) is type(proto)
    assert result == onnx.ModelProto.FromString(from_bytes)
    assert result.SerializeToString() == onnx.ModelProto.FromString(from_bytes).SerializeToString()
    assert report.to_dict() == told.to_dict()
    return result


def unknown(message, data=b"\xca\xf5\x04\x03abc"):
    """A field that no version of ONNX has."""
    message.MergeFromString(data)
    return message


def typed(name, kind, values):
    return helper.make_tensor(name, kind, [len(values)], values)


TENSORS = {
    "raw": lambda: numpy_helper.from_array(LARGE),
    "float_data": lambda: typed("w", TensorProto.FLOAT, LARGE),
    "both sizes": lambda: numpy_helper.from_array(LARGE[:1]),
    "doc string": lambda: TensorProto(dims=[40000], data_type=1, doc_string="d", raw_data=LARGE.tobytes()),
    "default location": lambda: TensorProto(dims=[40000], data_type=1, data_location=0, raw_data=LARGE.tobytes()),
    "unknown field": lambda: unknown(numpy_helper.from_array(LARGE)),
    "unknown group": lambda: unknown(numpy_helper.from_array(LARGE), b"\xc3\x3e\x08\x01\xc4\x3e"),
    "properties": lambda: TensorProto(dims=[40000], data_type=1, raw_data=LARGE.tobytes(),
                                      metadata_props=[onnx.StringStringEntryProto(key="k", value="v")]),
}


@pytest.mark.parametrize("form", TENSORS)
@pytest.mark.parametrize("rules", [RULES, {"rules": [{"name": "none", "match": "y = Selu(x)", "replace": "y = Relu(x)"}]}], ids=["fires", "stays"])
def test_a_tensor_of_any_form(form, rules):
    result = same_as_bytes(with_tensors(numpy_helper.from_array(-LARGE), TENSORS[form](), numpy_helper.from_array(LARGE + 1)), rules)
    onnx.checker.check_model(onnx.ModelProto.FromString(result.SerializeToString()))
    assert np.array_equal(numpy_helper.to_array(result.graph.initializer[1]), TENSORS[form]().float_data or numpy_helper.to_array(TENSORS[form]()))


@pytest.mark.parametrize("kind", [TensorProto.INT8, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT4, TensorProto.INT64, TensorProto.BOOL])
def test_an_element_type(kind):
    values = np.arange(200000) % 2
    proto = with_tensors(numpy_helper.from_array(LARGE))
    proto.graph.initializer.append(helper.make_tensor("other", kind, [200000], values))
    raw = TensorProto(name="raw", data_type=kind, dims=[400000], raw_data=bytes(400000 * {TensorProto.INT64: 8, TensorProto.FLOAT16: 2, TensorProto.BFLOAT16: 2}.get(kind, 1) // (2 if kind == TensorProto.INT4 else 1)))
    proto.graph.initializer.append(raw)
    proto.graph.output.extend([helper.make_tensor_value_info("other", kind, [200000]), helper.make_tensor_value_info("raw", kind, [400000])])
    same_as_bytes(proto)


def test_what_else_a_model_has():
    proto = parse("""g (float[1000] x, bool b) => (float[1000] y) {
      y = If (b) <then_branch = p () => (float[1000] z) { t = Relu(x)  u = Relu(t)  z = acme.f(u) },
                  else_branch = q () => (float[1000] z2) { z2 = Neg(x) }>
    }""")
    branch = proto.graph.node[0].attribute[0].g
    branch.initializer.append(numpy_helper.from_array(LARGE, "inside"))
    branch.node.append(helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(LARGE, "c")))
    branch.node[-1].doc_string = "in words"
    proto.functions.append(helper.make_function("acme", "f", ["v"], ["w"], [helper.make_node("Relu", ["v"], ["m"]), helper.make_node("Relu", ["m"], ["w"])],
                                                [helper.make_opsetid("", 17)]))
    values = numpy_helper.from_array(LARGE, "sparse")
    proto.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=numpy_helper.from_array(np.arange(40000), "i"), dims=[50000]))
    proto.graph.initializer.append(numpy_helper.from_array(LARGE, "w"))
    proto.graph.initializer.append(helper.make_tensor("s", TensorProto.STRING, [2], [b"a" * 70000, b"\xff"]))
    proto.graph.output.extend([helper.make_tensor_value_info("w", 1, [40000]), helper.make_tensor_value_info("s", 8, [2])])
    proto.graph.quantization_annotation.append(onnx.TensorAnnotation(tensor_name="x", quant_parameter_tensor_names=[onnx.StringStringEntryProto(key="SCALE_TENSOR", value="x")]))
    proto.graph.doc_string, proto.producer_name, proto.model_version = "graph \N{SNOWMAN}", "p", -3
    proto.metadata_props.append(onnx.StringStringEntryProto(key="k", value="v"))
    proto.training_info.append(onnx.TrainingInfoProto(initialization=parse("i () => (float y) { y = Identity(z) }").graph))
    unknown(branch.node[0])
    unknown(proto.graph.input[0])
    result = same_as_bytes(proto)
    assert len(result.functions[0].node) == 1
    for message in (proto.graph, proto):
        unknown(message)
        same_as_bytes(proto)
        unknown(message, b"\xc3\x3e\x08\x01\xc4\x3e")
        same_as_bytes(proto)


def test_tensors_that_change_go_and_come():
    proto = with_tensors(*(numpy_helper.from_array(LARGE + i) for i in range(4)))
    functions = qrewrite.Functions()
    functions.function(lambda w: w / 2, name="half")
    rules = qrewrite.Rules.from_dict({"rules": [
        {"name": "halve", "match": "y = Add(x, w)", "where": "w[1] == 2", "replace": "y = Sub(x, half(w))"},
        {"name": "drop", "match": "y = Add(x, w)", "where": "w[1] == 3", "replace": "y = Neg(x)"},
        {"name": "shape", "match": "y = Add(x, w)", "where": "w[1] == 4", "replace": "y = Max(x, -w, w)"},
    ]}, functions=functions)
    result = same_as_bytes(proto, rules)
    assert [n.op_type for n in result.graph.node] == ["Relu", "Relu", "Add", "Sub", "Neg", "Max", "Abs"]
    assert sorted(numpy_helper.to_array(t)[1] for t in result.graph.initializer) == [-4, 1, 1, 4]


def test_a_model_that_does_not_change_keeps_its_order():
    proto = with_tensors(numpy_helper.from_array(LARGE), numpy_helper.from_array(LARGE, "b"))
    proto.graph.node.extend([helper.make_node("Neg", ["x"], ["late"]), helper.make_node("Neg", ["b0"], ["later"])])
    proto.graph.output.insert(0, helper.make_tensor_value_info("later", 1, [40000]))
    proto.graph.output.append(helper.make_tensor_value_info("late", 1, [40000]))
    nothing = {"rules": [{"name": "none", "match": "y = Selu(x)", "replace": "y = Relu(x)"}]}
    assert same_as_bytes(proto, nothing) == proto
    same_as_bytes(proto)


def test_external_data_in_a_folder(tmp_path):
    proto = with_tensors(numpy_helper.from_array(LARGE), numpy_helper.from_array(LARGE))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="\N{SNOWMAN}0", size_threshold=0)
    outside = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    outside.graph.initializer[1].CopyFrom(proto.graph.initializer[1])
    nothing = {"rules": [{"name": "none", "match": "y = Selu(x)", "replace": "y = Relu(x)"}]}
    for rules in (RULES, nothing):
        same_as_bytes(outside, rules, folder=tmp_path)
    with pytest.raises(qrewrite.InvalidModel, match="a model without a folder has no data files"):
        qrewrite.rewrite(outside, RULES)


@pytest.mark.parametrize("damage", [
    lambda p: p.graph.initializer[0].ClearField("data_type"),
    lambda p: p.graph.initializer[0].dims.append(2),
    lambda p: p.graph.initializer[0].dims.append(-2),
    lambda p: p.graph.initializer[0].segment.SetInParent(),
    lambda p: p.graph.node.add(op_type="Relu", input=["y"], output=["y"]),
    lambda p: p.ClearField("graph"),
], ids=["no type", "too short", "negative", "segment", "twice", "no graph"])
def test_an_invalid_model_is_called_the_same(damage):
    proto = with_tensors(numpy_helper.from_array(LARGE))
    damage(proto)
    before = proto.SerializeToString()
    said = []
    for model in (proto, before):
        with pytest.raises(qrewrite.InvalidModel) as caught:
            qrewrite.rewrite(model, RULES)
        said.append(str(caught.value))
    assert said[0] == said[1] and proto.SerializeToString() == before


def test_a_message_that_a_function_changes_is_read_once():
    proto = with_tensors(*(numpy_helper.from_array(LARGE + i) for i in range(3)))
    functions = qrewrite.Functions()

    def hostile(w):
        proto.Clear()
        return w + 1

    functions.function(hostile, name="more")
    rules = qrewrite.Rules.from_dict({"rules": [{"name": "r", "match": "y = Add(x, w)", "replace": "y = Sub(x, more(w))"}]}, functions=functions)
    expected = qrewrite.rewrite(proto.SerializeToString(), rules)[0]
    proto.ParseFromString(with_tensors(*(numpy_helper.from_array(LARGE + i) for i in range(3))).SerializeToString())
    assert qrewrite.rewrite(proto, rules)[0] == onnx.ModelProto.FromString(expected)
    assert proto.ByteSize() == 0


def test_the_other_implementation_of_protobuf():
    code = ("from google.protobuf.internal import api_implementation as a\nassert a.Type() == 'python'\n"
            "import sys; sys.path.insert(0, sys.argv[1])\nimport test_protos as t\n"
            "for form in t.TENSORS: t.test_a_tensor_of_any_form(form, t.RULES)\nt.test_what_else_a_model_has()\nt.test_tensors_that_change_go_and_come()\n")
    done = subprocess.run([sys.executable, "-c", code, os.path.dirname(__file__)], capture_output=True, text=True,
                          env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


HUGE = """
import re, tracemalloc
import onnx
from qrewrite import _core

def pages(data):
    '''What the system was told of the memory in the middle of an object.'''
    place = id(data) + len(data) // 2
    for mapping in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", open("/proc/self/smaps").read()):
        begin, end = (int(part, 16) for part in re.match(r"([0-9a-f]+)-([0-9a-f]+)", mapping or "0-0").groups())
        if begin <= place < end:
            return re.search(r"(?m)^VmFlags:(.*)$", mapping)[1].split()

tensor = onnx.TensorProto(raw_data=bytes(range(256)) * (1 << 18))  # 64 MB
assert "hg" not in pages(tensor.raw_data)
"""


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="this system has no huge pages")
@pytest.mark.parametrize("environment", [{}, {"PYTHONMALLOC": "debug"}, {"PYTHONMALLOC": "malloc"}, {"PYTHONTRACEMALLOC": "2"}], ids=str)
def test_large_data_is_read_into_huge_pages(environment):
    """Page by page the memory costs more than the copy. Whatever Python allocates with, it has that again afterwards."""
    code = HUGE + ("for _ in range(3):\n"
                   "    data = _core.raw_data(tensor)\n"
                   "    assert 'hg' in pages(data) and data == tensor.raw_data\n"
                   "    assert 'hg' not in pages(tensor.raw_data)\n"
                   "assert not tracemalloc.is_tracing() or tracemalloc.get_traced_memory()[0] > 1 << 26\n"
                   "del data\n"
                   "assert not tracemalloc.is_tracing() or tracemalloc.get_traced_memory()[0] < 1 << 26\n")
    run_code(code, **environment)


def test_an_allocator_that_comes_meanwhile_stays():
    """A getter in Python, during which somebody else puts an allocator of his own around that of Python."""
    code = HUGE + ("class Slow:\n"
                   "    @property\n"
                   "    def raw_data(self):\n"
                   "        tracemalloc.stop() if tracemalloc.is_tracing() else tracemalloc.start()\n"
                   "        return tensor.raw_data\n"
                   "for _ in range(4):\n"
                   "    assert _core.raw_data(Slow()) == _core.raw_data(tensor) == tensor.raw_data\n"
                   "    [bytes(n) for n in range(1000)]\n"
                   "class Fails:\n"
                   "    raw_data = property(lambda self: 1 / 0)\n"
                   "try: _core.raw_data(Fails())\n"
                   "except ZeroDivisionError: print('done')\n")
    assert run_code(code) == "done\n"


def run_code(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
