"""Models of all kinds in and out, and what one sees of them."""
import errno
import os
import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx_ir
import pytest
from conftest import RULES, parse
from onnx import TensorProto, helper, numpy_helper

import qrewrite


def ops(model):
    if isinstance(model, (str, Path)):
        return [n.op_type for n in onnx.load(model).graph.node]
    if isinstance(model, (bytes, bytearray)):
        return [n.op_type for n in onnx.ModelProto.FromString(bytes(model)).graph.node]
    if isinstance(model, onnx.ModelProto):
        return [n.op_type for n in model.graph.node]
    return [n.op_type for n in (model.graph if isinstance(model, onnx_ir.Model) else model)]


def test_the_kind_that_is_given_comes_back(chain):
    data = chain.SerializeToString()
    onnx.save(chain, "chain.onnx")
    for model in ("chain.onnx", Path("chain.onnx"), data, bytearray(data), chain, onnx_ir.from_proto(chain),
                  qrewrite.Model.parse(data)):
        before = ops(model)
        new, report = qrewrite.rewrite(model, RULES)
        assert type(new) is type(model)
        assert ops(new) == ["Relu", "Mul", "Identity"], type(model)
        assert ops(model) == before == ["Relu", "Relu", "Mul", "Neg", "Neg"]
        assert report.rewrites == 2 and report.changed
    assert str(new) and new.text().count("Relu") == 1


def test_a_path_gives_what_the_command_writes(chain):
    onnx.save(chain, "chain.onnx")
    new, report = qrewrite.rewrite("chain.onnx", [RULES, {"name": "more", "rules": RULES["rules"]}])
    assert new == "chain.tidy.more.onnx" and report.written == [new]
    assert report.sets == ["tidy", "more"]
    new, _ = qrewrite.rewrite("chain.onnx", RULES, output=Path("other.onnx"))
    assert new == "other.onnx" and ops(new) == ["Relu", "Mul", "Identity"]
    new, _ = qrewrite.rewrite("chain.onnx", RULES, output="chain.onnx")
    assert ops("chain.onnx") == ["Relu", "Mul", "Identity"]


def test_a_model_of_any_kind(chain, tmp_path):
    onnx.save(chain, tmp_path / "model.onnx")
    kinds = (chain, chain.SerializeToString(), tmp_path / "model.onnx", onnx_ir.from_proto(chain))
    texts = {qrewrite.Model.of(model).text() for model in kinds}
    assert texts == {qrewrite.Model.parse(chain.SerializeToString()).text()}
    model = qrewrite.Model.of(chain)
    assert qrewrite.Model.of(model) is model
    for wrong in (lambda: qrewrite.Model(chain), lambda: qrewrite.Model.parse(chain)):
        with pytest.raises(qrewrite.UsageError, match=r"Model\.of\(\)"):
            wrong()
    with pytest.raises(qrewrite.UsageError, match=r"rules come from Rules\.load\(\)"):
        qrewrite.Rules("optimize")


def test_what_is_no_model_is_said():
    with pytest.raises(qrewrite.UsageError, match="a model is a path, .* not int"):
        qrewrite.rewrite(3, RULES)
    with pytest.raises(qrewrite.FileError, match="missing.onnx") as raised:
        qrewrite.rewrite("missing.onnx", RULES)
    assert raised.value.code == "io" and isinstance(raised.value, OSError)
    assert (raised.value.errno, raised.value.filename) == (errno.ENOENT, "missing.onnx") and "missing.onnx" in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.errno, again.filename, str(again)) == (errno.ENOENT, "missing.onnx", str(raised.value))
    for load, number, name in ((lambda: qrewrite.rewrite("/", RULES), errno.EISDIR, "/"), (lambda: qrewrite.Rules.load("none.yaml"), errno.ENOENT, "none.yaml"),
                               (lambda: qrewrite.Rules.load("no_set"), errno.ENOENT, "no_set"), (lambda: qrewrite.Rules.load("/"), errno.EISDIR, "/")):
        with pytest.raises(qrewrite.FileError) as raised:
            load()
        assert (raised.value.errno, raised.value.filename) == (number, name)
    proto = parse("g (float[2] x) => (float[2] y) { y = Mul(x, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.float32([1, 2]), "w"))
    onnx.save(proto, "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0, convert_attribute=False)
    os.unlink("m.data")
    # Of a name that is no plain text the message has another form, which is no file.
    for load, name in ((lambda: qrewrite.rewrite("m.onnx", "optimize"), "./m.data"), (lambda: qrewrite.run(parse("g (float[2] x) => (float[2] y) { y = Abs(x) }"), {}, runtime="./nope.so"), "./nope.so"),
                       (lambda: qrewrite.rewrite("a`b`.onnx", RULES), None)):
        with pytest.raises(qrewrite.FileError) as raised:
            load()
        assert (raised.value.errno, raised.value.filename) == (errno.ENOENT, name), str(raised.value)
    with pytest.raises(qrewrite.InvalidModel):
        qrewrite.rewrite(b"\xff\xff\xff", RULES)
    with pytest.raises(qrewrite.UsageError, match="`output` is for a model that is a path"):
        qrewrite.rewrite(b"", RULES, output="x.onnx")


def test_nodes_and_values(chain):
    model = qrewrite.Model.parse(chain.SerializeToString())
    assert [v.name for v in model.inputs] == ["x"] and [v.name for v in model.outputs] == ["y"]
    x = model.values["x"]
    assert x.dtype == "float" and x.shape == ("N", 4) and x.is_input and not x.is_output and x.producer is None
    assert [n.op for n in x.readers] == ["Relu"]
    mul = model.values["c"].producer
    assert mul.inputs == ["b", "w"] and mul.outputs == ["c"] and mul.graph is model.graph
    assert np.array_equal(model.values["w"].constant, [1, 2, 3, 4])
    assert len(model) == 5 and [n.op_type for n in model] == ops(chain)
    assert model.stats.ops == {"Relu": 2, "Mul": 1, "Neg": 2} and model.stats.opset == {"": 17, "acme": 1}


def test_attributes_and_subgraphs():
    model = parse("""g (float[4] x, bool b) => (float[4] y) {
      t = acme.Thing <i = 3, f = 0.5, s = "text", is = [1, 2], t = float[2] {1.5, 2.5}> (x)
      y = If (b) <then_branch = p () => (float[4] z) { z = Neg(t) }, else_branch = q () => (float[4] z2) { z2 = Abs(x) }>
    }""")
    read = qrewrite.Model.parse(model.SerializeToString())
    thing, branch = read.nodes
    assert thing.op == "acme.Thing" and thing.domain == "acme"
    attributes = dict(thing.attributes)
    tensor = attributes.pop("t")
    assert attributes == {"i": 3, "f": 0.5, "s": "text", "is": [1, 2]}
    assert np.array_equal(tensor.numpy(), np.float32([1.5, 2.5]))
    assert branch.graphs["then_branch"][0].nodes[0].op == "Neg"
    assert [g.kind for g in read.graphs] == ["main", "subgraph", "subgraph"]


def test_names_that_are_no_utf8():
    proto = parse("g (float[4] x) => (float[4] y) { t = Relu(x)  y = Neg(t) }")
    data = proto.SerializeToString().replace(b"\x01t", b"\x01\xff")
    read = qrewrite.Model.parse(data)
    assert read.nodes[0].outputs == ["\udcff"] and "\udcff" in read.values
    assert b"\x01\xff" in read.serialize()


@pytest.mark.parametrize("number", [n for n in TensorProto.DataType.values() if n not in (
    TensorProto.UNDEFINED, TensorProto.STRING)])
def test_constants_of_every_type(number):
    name = TensorProto.DataType.Name(number)
    dtype = helper.tensor_dtype_to_np_dtype(number)
    values = np.array([[0, 1, 1], [0, 1, 1], [1, 0, 1]], np.float32).astype(dtype)
    tensor = numpy_helper.from_array(values, "w")
    assert tensor.data_type == number
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", number, [3, 3])], [tensor])
    read = qrewrite.Model.parse(helper.make_model(graph, ir_version=13).SerializeToString())
    constant = read.constants["w"]
    assert constant.dtype == name.lower() and constant.shape == (3, 3)
    array = constant.numpy()
    assert array.dtype == dtype and array.tobytes() == values.tobytes() and not array.flags.writeable


@pytest.mark.parametrize("number,values", [(TensorProto.INT4, [-8, 7, -1]), (TensorProto.UINT4, [15, 0, 9]),
                                           (TensorProto.INT2, [-2, 1, -1]), (TensorProto.UINT2, [3, 0, 1]),
                                           (TensorProto.FLOAT4E2M1, [-6, 0.5, 3])])
def test_packed_constants(number, values):
    array = np.array(values, np.float32).astype(helper.tensor_dtype_to_np_dtype(number))
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", number, [3])], [numpy_helper.from_array(array, "w")])
    read = qrewrite.Model.parse(helper.make_model(graph, ir_version=13).SerializeToString())
    assert read.constants["w"].numpy().astype(np.float32).tolist() == values


def test_weights_are_not_copied():
    weight = np.arange(1 << 20, dtype=np.float32)
    proto = parse("g (float[1048576] x) => (float[1048576] y) { a = Relu(x)  b = Relu(a)  y = Add(b, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    onnx.save(proto, "large.onnx", save_as_external_data=True, location="large.data")
    model = qrewrite.Model.load("large.onnx")
    array, again = model.constants["w"].numpy(), model.constants["w"].numpy()
    assert np.shares_memory(array, again)
    rewritten, report = qrewrite.rewrite(model, RULES)
    assert report.changed and np.shares_memory(rewritten.constants["w"].numpy(), array)
    del model, rewritten, again
    assert np.array_equal(array, weight)  # it lives as long as it is used
    with pytest.raises(ValueError):
        array[0] = 1


def test_constants_in_functions_of_numpy(chain):
    constant = qrewrite.Model.parse(chain.SerializeToString()).constants["w"]
    assert np.asarray(constant).base is not None and not np.asarray(constant).flags.writeable
    assert np.array(constant).flags.writeable and np.asarray(constant, np.float64).dtype == np.float64
    assert (np.multiply(constant, 2) == [2, 4, 6, 8]).all()
    with pytest.raises(ValueError, match="takes a copy"):
        np.asarray(constant, np.int8, copy=False)


def test_a_model_that_does_not_change_comes_back_as_it_was(chain):
    nothing = {"rules": [{"name": "n", "match": "y = Sin(x)", "replace": "y = Cos(x)"}]}
    model = onnx_ir.from_proto(chain)
    model.graph[0].meta["mine"] = "no file has this"
    same, report = qrewrite.rewrite(model, nothing)
    assert not report.changed and same is not model and same.graph is not model.graph
    assert same.graph[0].meta["mine"] == "no file has this" and onnx_ir.to_proto(same) == onnx_ir.to_proto(model)
    assert qrewrite.rewrite(chain, nothing)[0] == chain and qrewrite.rewrite(chain, nothing)[0] is not chain


def test_strings():
    tensor = helper.make_tensor("w", TensorProto.STRING, [2], [b"a", b"\xff"])
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, [2])], [tensor])
    read = qrewrite.Model.parse(helper.make_model(graph).SerializeToString())
    assert read.constants["w"].numpy().tolist() == ["a", "\udcff"]


def test_external_data_in_memory_and_in_files(chain):
    weight = np.arange(4, dtype=np.float32)
    outside = chain.graph.initializer[0]
    outside.CopyFrom(numpy_helper.from_array(weight, "w"))
    onnx.external_data_helper.set_external_data(outside, "w.bin")
    outside.ClearField("raw_data")
    data = chain.SerializeToString()
    with pytest.raises(qrewrite.Error):
        qrewrite.Model.parse(data)
    for wrong, said in (("text", "a bytes-like object is required, not 'str'"), (np.zeros((4, 8), np.float32)[:, 1], "not C-contiguous")):
        with pytest.raises(qrewrite.UsageError, match=f"`external`: .*{said}"):
            qrewrite.Model.parse(data, external={"w.bin": wrong})
    assert np.array_equal(qrewrite.Model.parse(data, external={"w.bin": weight.view(ml_dtypes.bfloat16)}).constants["w"], weight)  # a type that memoryview has not
    model = qrewrite.Model.parse(data, external={"w.bin": weight})
    assert np.array_equal(model.constants["w"], weight)
    Path("w.bin").write_bytes(weight.tobytes())
    rewritten, _ = qrewrite.rewrite(data, RULES, folder=".")
    assert np.array_equal(qrewrite.Model.parse(rewritten).constants["w"], weight)
    message, outside = model.serialize_apart("there", 1)
    assert bytes(outside[:16]) == weight.tobytes() and b"there" in message
    assert np.array_equal(qrewrite.Model.parse(message, external={"there": outside}).constants["w"], weight)
    assert model.save("out.onnx", external="always", threshold=1) == ["out.onnx", "out.onnx.data"]
    assert np.array_equal(qrewrite.Model.load("out.onnx").constants["w"], weight)


def test_external_data_in_memory_is_not_copied():
    weight = np.arange(4096, dtype=np.float32)
    proto = parse("g (float[4096] x) => (float[4096] y) { y = Add(x, w) }")
    outside = proto.graph.initializer.add()
    outside.CopyFrom(numpy_helper.from_array(weight, "w"))
    onnx.external_data_helper.set_external_data(outside, "w.bin")
    outside.ClearField("raw_data")
    model = qrewrite.Model.parse(proto.SerializeToString(), external={"w.bin": weight})
    assert np.shares_memory(model.constants["w"].numpy(), weight)


def test_models_go_to_other_processes(chain):
    model = qrewrite.Model.parse(chain.SerializeToString())
    assert pickle.loads(pickle.dumps(model)).text() == model.text()


def test_proto_and_text(chain):
    model = qrewrite.Model.parse(chain.SerializeToString())
    assert model.to_proto() == chain and model.serialize() == chain.SerializeToString()
    assert "c = Mul(b, float[4] [1, 2, 3, 4])" in model.text() and "Relu" not in model.text(node="^c$")
    with pytest.raises(qrewrite.UsageError):
        model.text(node="(")
    with pytest.raises(qrewrite.UsageError, match="external is auto, never or always"):
        model.save("x.onnx", external="sometimes")


def test_what_is_looked_at_cannot_be_set(chain):
    model = qrewrite.Model.parse(chain.SerializeToString())
    things = ((model.nodes[0], ("name", "op_type", "inputs", "other")), (model.values["a"], ("name", "shape")), (model.graph, ("name", "nodes")),
              (model.constants["w"], ("name",)))
    for thing, names in things:
        for name in names:
            with pytest.raises(AttributeError, match=f"`{name}` of a {type(thing).__name__} cannot be set: a Model is read-only"):
                setattr(thing, name, "x")
    for change in (lambda: model.nodes[0].inputs.append("x"), lambda: model.nodes[0].attributes.update(axis=1), lambda: model.graph.nodes.clear(),
                   lambda: model.graph.outputs.__setitem__(0, "x"), lambda: model.constants.pop("w")):
        with pytest.raises(TypeError, match="a Model is read-only"):
            change()
    node = pickle.loads(pickle.dumps(model.nodes[2]))
    assert node.inputs == model.nodes[2].inputs == ["b", "w"] and node.graph.outputs == ["y"]


def test_sizes_of_inputs_are_fixed_in_every_kind_of_model():
    proto = parse("g (float[N, 3, H] x) => (float[N, 3, H] y) { a = Neg(x)  b = Neg(a)  y = Relu(b) }")
    rules = {"rules": [{"name": "neg-of-neg", "match": "y = Neg(Neg(x))", "replace": "y = x"}]}
    sizes = lambda m: [[d.dim_value for d in v.type.tensor_type.shape.dim] for v in (m.graph.input[0], m.graph.output[0])]  # noqa: E731
    result, report = qrewrite.rewrite(proto, rules, shapes={"x": (2, 3, 4)})
    assert sizes(result) == [[2, 3, 4], [2, 3, 4]] and report.changed
    assert sizes(proto) == [[0, 3, 0], [0, 3, 0]]
    data = qrewrite.rewrite(proto.SerializeToString(), rules, shapes={"x": [2, 3, 4]})[0]
    assert sizes(onnx.load_from_string(data)) == [[2, 3, 4], [2, 3, 4]]
    model = qrewrite.rewrite(onnx_ir.from_proto(proto), rules, shapes={"x": [2, 3, 4]})[0]
    assert list(model.graph.inputs[0].shape) == [2, 3, 4] and list(model.graph.outputs[0].shape) == [2, 3, 4]
    with pytest.raises(qrewrite.UsageError, match="size 1 of input `x` is 3, not 4"):
        qrewrite.rewrite(proto, rules, shapes={"x": [2, 4, 4]})
    with pytest.raises(qrewrite.UsageError, match="did you mean `x`|no input `xx`"):
        qrewrite.rewrite(proto, rules, shapes={"xx": [2, 4, 4]})
