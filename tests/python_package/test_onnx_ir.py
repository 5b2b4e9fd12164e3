"""Rule files in pipelines of onnx_ir and onnxscript."""
import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from conftest import RULES, parse
from onnx import TensorProto, helper, numpy_helper
from onnx_ir import passes
from onnx_ir.passes import common

import qrewrite
from qrewrite._ir import Clonable, Message, Unusual
from qrewrite.onnx_ir import RewritePass, from_core, to_core


def ops(model):
    return [node.op_type for node in model.graph]


def test_a_pass_among_others(chain):
    model = ir.from_proto(chain)
    tidy = RewritePass(RULES)
    result = passes.Sequential(common.RemoveUnusedNodesPass(), tidy, common.IdentityEliminationPass())(model)
    assert result.modified and ops(result.model) == ["Relu", "Mul"] and tidy.report.rewrites == 2
    assert ops(model) == ["Relu", "Relu", "Mul", "Neg", "Neg"]  # what was given stays
    again = RewritePass(RULES)(result.model)
    assert not again.modified and ops(again.model) == ["Relu", "Mul"]


def test_parameters_and_errors(recorded):
    model = ir.load(recorded)
    assert ops(RewritePass("ezkl_dequant", saturation="clip")(model).model).count("Clip") == 6
    with pytest.raises(qrewrite.InvalidRules):
        RewritePass({"rules": [{"name": "x"}]})
    refuse = RewritePass({"rules": [{"name": "no", "match": "y = Conv<**a>(x, w, b?)", "refuse": "none here"}]})
    with pytest.raises(passes.PassError) as raised:
        passes.Sequential(refuse)(model)
    assert isinstance(raised.value.__cause__, qrewrite.Refused)
    with pytest.raises(qrewrite.Refused, match="none here"):
        refuse(model)


@pytest.mark.parametrize("in_place", [False, True])
def test_what_a_pass_is_given(chain, in_place):
    """Names are told when the pipeline is made, not when it runs; a model of a class of one's own is one, too."""
    with pytest.raises(qrewrite.UsageError, match="`tidy` has no parameter `mots`; did you mean `most`"):
        RewritePass(RULES, in_place=in_place, mots=3)
    with pytest.raises(qrewrite.UsageError, match="`most` is given twice"):
        RewritePass(RULES, in_place=in_place, most=3, params={"most": 4})
    rewriting = RewritePass(RULES, in_place=in_place, params={"most": 4}, stop_after=1)
    for model in (chain, chain.SerializeToString(), "model.onnx", None):
        with pytest.raises(qrewrite.UsageError, match=f"a RewritePass takes an onnx_ir.Model, not {type(model).__name__}"):
            rewriting(model)

    class Own(ir.Model):
        pass
    model = Own(ir.from_proto(chain).graph, ir_version=8)
    result = rewriting(model)
    assert result.modified and rewriting.report.rewrites == 1 and (result.model is model) == in_place
    assert isinstance(qrewrite.rewrite(model, RULES)[0], ir.Model)


def test_the_result_is_that_of_the_command(recorded):
    proto, _ = qrewrite.rewrite(onnx.load(recorded), "ezkl_dequant")
    via_ir = ir.to_proto(RewritePass("ezkl_dequant")(ir.load(recorded)).model)
    onnx.checker.check_model(via_ir, full_check=True)
    assert qrewrite.verify(proto, via_ir, tolerance="exact")


def test_weights_pass_beside_the_message():
    weight = np.arange(1 << 18, dtype=np.float32)
    model = ir.from_proto(parse("g (float[262144] x) => (float[262144] y) { a = Relu(x)  b = Relu(a)  y = Add(b, w) }"))
    value = ir.Value(name="w", const_value=ir.Tensor(weight, name="w"), type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(weight.shape))
    model.graph.register_initializer(value)
    model.graph[-1].replace_input_with(1, value)
    before = value.const_value
    core, originals = to_core(model)
    assert value.const_value is before and originals[0][0] is before
    assert len(core.serialize_apart("data", 1024, [])[0]) < 1000
    assert np.shares_memory(qrewrite.Model(core).constants["w"].numpy(), weight)
    result = RewritePass(RULES)(model).model
    assert result.graph.initializers["w"].const_value is before
    array = from_core(core).graph.initializers["w"].const_value.numpy()
    del result, core, model, value, before, originals
    gc.collect()
    assert np.array_equal(array, weight) and array.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4,
                                   ml_dtypes.uint4, ml_dtypes.float4_e2m1fn])
@pytest.mark.parametrize("count", [5, 5001])  # inside the message, and beside it
def test_tensors_of_all_types_come_back(dtype, count):
    array = (np.arange(count) % 2).astype(dtype)
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [count])],
                              [numpy_helper.from_array(array, "w")])
    model = ir.from_proto(helper.make_model(graph, ir_version=13))
    tensor = from_core(*to_core(model)).graph.initializers["w"].const_value
    assert tensor.dtype == model.graph.initializers["w"].const_value.dtype and tuple(tensor.shape.numpy()) == (count,)
    assert np.array_equal(tensor.numpy().astype(np.float32), array.astype(np.float32))
    assert ir.to_proto(from_core(*to_core(model))).graph.initializer[0].raw_data == numpy_helper.from_array(array, "w").raw_data


def test_external_data_and_subgraphs(tmp_path):
    weight = np.arange(1000, dtype=np.float32)
    proto = parse("""g (float[1000] x, bool b) => (float[1000] y) {
      y = If (b) <then_branch = p () => (float[1000] z) { t = Relu(x)  u = Relu(t)  z = Add(u, w) },
                  else_branch = q () => (float[1000] z2) { z2 = Neg(x) }>
    }""")
    proto.graph.node[0].attribute[0].g.initializer.append(numpy_helper.from_array(weight, "w"))
    model = ir.from_proto(proto)
    result = RewritePass(RULES)(model)
    onnx.checker.check_model(ir.to_proto(result.model), full_check=True)
    branch = result.model.graph[0].attributes["then_branch"].value
    assert [n.op_type for n in branch] == ["Relu", "Add"]
    assert np.array_equal(branch.initializers["w"].const_value.numpy(), weight)

    outside = parse("g (float[1000] x) => (float[1000] y) { y = Add(x, w) }")
    outside.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    onnx.save(outside, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    loaded = RewritePass("optimize")(ir.load(tmp_path / "m.onnx")).model
    assert np.array_equal(loaded.graph.initializers["w"].const_value.numpy(), weight)


def test_small_external_data_and_that_of_attributes(tmp_path):
    """What stays in the message as a reference: onnx_ir alone knows the folder."""
    proto = parse("""g (float[3] x, bool b) => (float[3] y) {
      k = Constant<value = float[3] {4, 5, 6}> ()
      y = If (b) <then_branch = p () => (float[3] z) { t = Add(x, k)  z = Add(t, w) }, else_branch = q () => (float[3] z2) { z2 = Neg(x) }>
    }""")
    proto.graph.node[1].attribute[0].g.initializer.append(numpy_helper.from_array(np.arange(3, dtype=np.float32), "w"))
    proto.graph.initializer.append(numpy_helper.from_array(np.arange(3, dtype=np.float32), "v"))
    proto.graph.node.append(helper.make_node("Sub", ["x", "v"], ["u"]))
    proto.graph.output.append(helper.make_tensor_value_info("u", 1, [3]))
    (tmp_path / "sub").mkdir()
    outside = onnx.ModelProto.FromString(proto.SerializeToString())  # save() changes what it is given
    onnx.save(outside, tmp_path / "sub" / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0, convert_attribute=True)
    model = ir.load(tmp_path / "sub" / "m.onnx")
    assert isinstance(model.graph.initializers["v"].const_value, ir.ExternalTensor)
    result, _ = qrewrite.rewrite(model, "optimize")
    assert qrewrite.verify(proto, result, tolerance="exact")
    assert np.array_equal(result.graph.initializers["v"].const_value.numpy(), [0, 1, 2])
    (tmp_path / "sub" / "w.bin").unlink()
    with pytest.raises(qrewrite.FileError, match="w.bin"):
        qrewrite.rewrite(ir.load(tmp_path / "sub" / "m.onnx"), "optimize")


def test_tensors_that_cannot_be_read(tmp_path):
    """The error is that of the same model in a file, unless a function of the caller raised."""
    def lost():
        raise LookupError("lost")

    proto = parse("g (float[4096] x) => (float[4096] y) { y = Add(x, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(4096, np.float32), "w"))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").write_bytes(bytes(100))
    with pytest.raises(qrewrite.InvalidModel, match="^tensor `w` cannot be read: ValueError: "):
        qrewrite.rewrite(ir.load(tmp_path / "m.onnx"), RULES)
    model = ir.load(tmp_path / "m.onnx")
    model.graph.initializers["w"].const_value = ir.LazyTensor(lost, dtype=ir.DataType.FLOAT, shape=ir.Shape([4096]), name="w")
    with pytest.raises(qrewrite.CallbackError) as raised:
        qrewrite.rewrite(model, RULES)
    assert type(raised.value.__cause__) is LookupError


def test_together_with_rules_of_onnxscript(recorded):
    from onnxscript.rewriter import RewritePass as ScriptPass
    from onnxscript.rewriter import pattern

    def clip_pattern(op, x, least, most):
        return op.Clip(x, least, most)

    def clip_replacement(op, x, least, most):
        return op.Min(op.Max(x, least), most)

    script = ScriptPass([pattern.RewriteRule(clip_pattern, clip_replacement)])
    back = {"rules": [{"name": "clip", "match": "y = Min(Max(x, a), b)", "replace": "y = Clip(x, a, b)", "equivalence": "exact"}]}
    pipeline = passes.Sequential(RewritePass("ezkl_dequant", saturation="clip"), script, RewritePass(back))
    floats = RewritePass("ezkl_dequant", saturation="clip")(ir.load(recorded)).model
    result = pipeline(ir.load(recorded)).model
    assert sorted(ops(result)) == sorted(ops(floats))
    assert qrewrite.verify(floats, result, tolerance="exact")


NOTHING = {"rules": [{"name": "none", "match": "y = Selu(x)", "replace": "y = Relu(x)"}]}


def test_in_place(chain):
    model = ir.from_proto(chain)
    tensor, graph = model.graph.initializers["w"].const_value, model.graph
    nothing, tidy = RewritePass(NOTHING, in_place=True), RewritePass(RULES, in_place=True)
    result = nothing(model)
    assert result.model is model and model.graph is graph and not result.modified
    result = passes.Sequential(nothing, tidy, common.IdentityEliminationPass())(model)
    assert result.model is model and result.modified and ops(model) == ["Relu", "Mul"]
    assert np.array_equal(model.graph.initializers["w"].const_value.numpy(), tensor.numpy())
    refuse = RewritePass({"rules": [{"name": "no", "match": "y = Relu(x)", "refuse": "none here"}]}, in_place=True)
    before = ir.to_proto(model)
    with pytest.raises(qrewrite.Refused):
        refuse(model)
    assert ir.to_proto(model) == before


def test_in_place_what_else_a_model_has():
    proto = parse("g (float[2] x) => (float[2] y) { a = acme.f(x)  b = acme.f(a)  c = Relu(b)  y = Relu(c) }")
    proto.functions.append(helper.make_function("acme", "f", ["v"], ["w"], [helper.make_node("Relu", ["v"], ["m"]), helper.make_node("Relu", ["m"], ["w"])],
                                                [helper.make_opsetid("", 17)]))
    proto.metadata_props.append(onnx.StringStringEntryProto(key="k", value="v"))
    expected, _ = qrewrite.rewrite(ir.from_proto(proto), RULES)
    model = ir.from_proto(proto)
    model.meta["mine"] = 1
    RewritePass(RULES, in_place=True)(model)
    assert ir.to_proto(model) == ir.to_proto(expected) and model.meta["mine"] == 1
    assert len(next(iter(model.functions.values()))) == 1


@pytest.mark.parametrize("in_place", [False, True])
def test_large_tensors_in_functions_and_in_lists(in_place):
    """Of functions that change, and that do not; also behind a rewritten graph."""
    proto = parse("g (float[600] x) => (float[600] y) { a = Relu(x)  b = Relu(a)  c = acme.f(b)  d = acme.h(c)  e = acme.many(d)  y = Add(d, e) }")
    large = [numpy_helper.from_array(np.arange(600, dtype=np.float32) + i, f"t{i}") for i in range(4)]
    for name, ops, tensor in (("f", ["Relu", "Relu"], large[0]), ("h", ["Neg", "Abs"], large[1])):
        nodes = [helper.make_node("Constant", [], ["k"], value=tensor), helper.make_node(ops[0], ["v"], ["m"]), helper.make_node(ops[1], ["m"], ["n"]),
                 helper.make_node("Add", ["n", "k"], ["w"])]
        proto.functions.append(helper.make_function("acme", name, ["v"], ["w"], nodes, [helper.make_opsetid("", 17)]))
    proto.graph.node[4].attribute.append(helper.make_attribute("tensors", large[2:]))
    proto.graph.node[4].attribute.append(helper.make_attribute("one", large[3]))
    model = ir.from_proto(proto)
    rules = {**RULES, "rules": [*RULES["rules"], {"name": "more", "match": "y = Add(x, k)", "where": "const(k) and k[0] == 0", "replace": "y = Add(x, k + 9)"}]}
    result = RewritePass(rules, in_place=in_place)(model).model
    written = ir.to_proto(result)
    expected, _ = qrewrite.rewrite(proto, rules)
    assert numpy_helper.to_array(next(node for f in written.functions if f.name == "f" for node in f.node if node.op_type == "Constant").attribute[0].t)[1] == 10
    assert len(written.graph.node) == len(proto.graph.node) - 1 and {len(f.node) for f in written.functions} == {3, 4}
    assert inside(written.SerializeToString(), {}) == inside(ir.to_proto(ir.from_proto(expected)).SerializeToString(), {})
    assert [t.raw_data for t in written.graph.node[3].attribute[0].tensors] == [t.raw_data for t in large[2:]]


def test_nodes_before_their_producers():
    proto = parse("g (float[2] x) => (float[2] y) { a = Neg(x)  y = Abs(a) }")
    proto.graph.node.reverse()
    model = ir.from_proto(proto)
    model.graph[0].meta["mine"] = 1
    result, report = qrewrite.rewrite(model, NOTHING)
    assert not report.changed and ir.to_proto(result) == ir.to_proto(model) and result.graph[0].meta["mine"] == 1 and result.graph[0] is not model.graph[0]
    result, report = qrewrite.rewrite(model, {"rules": [{"name": "r", "match": "y = Abs(x)", "replace": "y = Relu(x)"}]})
    assert report.changed and ops(result) == ["Neg", "Relu"]


def everything():
    """One of each thing that a graph can have."""
    random = np.random.default_rng(0)
    proto = parse("""g (float[N, M] x, bool b, float[4] given) => (float[N, M] y, seq(float[N]) s) <float[?, 3] t> {
      t = Relu(x)
      y = If (b) <then_branch = p () => (float[N, M] z) { u = Relu(t)  z = acme.f(u) }, else_branch = q () => (float[N, M] z2) { z2 = Neg(x) }>
      s = SequenceConstruct(t)
      k = Constant<value = float[3] {4, 5, 6}> ()
      o, , last = acme.many<i = -7, f = 1.5, s = "text", ints = [1, -2], floats = [0.1, 2.0], strings = ["a", "b"], none : ints = []> (x, , k)
      v = acme.typed(last)
    }""")
    graph = proto.graph
    branch = graph.node[1].attribute[0].g
    branch.initializer.append(numpy_helper.from_array(random.standard_normal(1000).astype(np.float32), "inside"))
    branch.node[0].attribute.append(helper.make_attribute("large", numpy_helper.from_array(np.arange(2000.0))))
    branch.node[0].input[0] = "x"
    graph.node[4].attribute.append(helper.make_attribute("bytes", b"\xff\xfe"))
    graph.node[4].attribute.append(helper.make_attribute("tensors", [numpy_helper.from_array(np.arange(3)), numpy_helper.from_array(np.arange(300.0))]))
    graph.node[4].attribute.append(helper.make_attribute("graphs", [parse("i () => (float m) { m = Neg(x) }").graph]))
    graph.node[4].attribute.append(helper.make_attribute("type", helper.make_tensor_type_proto(1, [1, "N", None])))
    graph.node[4].doc_string, graph.node[4].name, graph.node[4].overload = "a node \N{SNOWMAN}", "many", "second"
    for key in ("z", "a", "\N{SNOWMAN}"):
        graph.node[4].metadata_props.append(onnx.StringStringEntryProto(key=key, value="of " + key))
        graph.value_info[0].metadata_props.append(onnx.StringStringEntryProto(key=key, value="v"))
    graph.value_info[0].doc_string = "a value"
    graph.value_info[0].type.denotation = "IMAGE"
    graph.value_info[0].type.tensor_type.shape.dim[1].denotation = "CHANNEL"
    graph.value_info.append(helper.make_value_info("v", helper.make_optional_type_proto(helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2])))))
    graph.value_info.append(helper.make_tensor_value_info("o", TensorProto.INT4, None))
    for tensor in (numpy_helper.from_array(np.arange(4, dtype=np.float32), "given"), numpy_helper.from_array(np.arange(1000), "large"),
                   helper.make_tensor("strings", TensorProto.STRING, [600], [b"a\xff"] * 600), numpy_helper.from_array(random.integers(0, 2, 4001).astype(ml_dtypes.int4), "narrow"),
                   helper.make_tensor("typed", TensorProto.FLOAT, [500], np.arange(500.0)), numpy_helper.from_array(np.zeros((0, 3), np.float32), "empty")):
        graph.initializer.append(tensor)
    graph.initializer[1].metadata_props.append(onnx.StringStringEntryProto(key="k", value="v"))
    graph.initializer[3].doc_string = "a tensor"
    graph.value_info.append(helper.make_tensor_value_info("large", TensorProto.INT64, [1000], "declared"))
    for name in ("x", "large", "t", "y"):
        graph.quantization_annotation.append(onnx.TensorAnnotation(tensor_name=name, quant_parameter_tensor_names=[
            onnx.StringStringEntryProto(key="SCALE_TENSOR", value=name), onnx.StringStringEntryProto(key="A", value="B")]))
    graph.metadata_props.append(onnx.StringStringEntryProto(key="g", value="v"))
    graph.doc_string = "a graph"
    function = helper.make_function("acme", "f", ["v"], ["w"], [helper.make_node("Relu", ["v"], ["m"], name="in f"), helper.make_node("Elu", ["m"], ["w"])],
                                    [helper.make_opsetid("", 17)], ["alpha"])
    function.node[1].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT))
    function.value_info.append(helper.make_tensor_value_info("m", 1, ["N", "M"]))
    proto.functions.append(function)
    proto.metadata_props.append(onnx.StringStringEntryProto(key="m", value="v"))
    proto.ir_version, proto.producer_name, proto.doc_string, proto.model_version = 10, "p", "a model", 3
    return proto


def inside(message, tensors):
    """The message as onnx_ir writes it: with all data in it, and the same form for it."""
    proto = onnx.ModelProto.FromString(bytes(memoryview(message)))

    def fill(graph):
        graph.quantization_annotation.sort(key=lambda annotation: annotation.tensor_name)
        for tensor in graph.initializer:
            location = tensor.external_data[0].value if len(tensor.external_data) else None
            if location in tensors:
                given, data = tensors[location]
                tensor.ClearField("external_data")
                tensor.ClearField("data_location")
                tensor.raw_data = given.tobytes() if data is None else bytes(memoryview(data))
            elif len(tensor.float_data):
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
            del tensor.metadata_props[1:]  # onnx_ir writes those of a TensorProtoTensor twice
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    fill(attribute.g)
                for body in attribute.graphs:
                    fill(body)

    fill(proto.graph)
    return proto


@pytest.mark.parametrize("own", [False, True], ids=["tensors of messages", "own tensors"])
def test_the_message_is_that_of_onnx_ir(own):
    model = ir.from_proto(everything())
    if own:
        for value in model.graph.initializers.values():
            if value.dtype not in (ir.DataType.STRING, ir.DataType.INT4):
                value.const_value = ir.Tensor(value.const_value.numpy(), name=value.name, doc_string=value.const_value.doc_string,
                                              metadata_props=value.const_value.metadata_props)
    writer = Message(model.ir_version)
    message = writer.model(model)
    expected = inside(ir.to_proto(model).SerializeToString(), {})
    assert inside(message, writer.tensors) == expected
    assert len(writer.tensors) == 4 and len(expected.graph.node[4].attribute) == 11
    assert inside(ir.to_proto(model).SerializeToString(), {}) == expected  # it is what it was


def test_a_changed_model_keeps_what_it_has():
    proto = everything()
    proto.graph.node.extend([helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Relu", ["r"], ["rr"]), helper.make_node("Gather", ["large", "large"], ["w"])])
    proto.graph.output.extend([helper.make_tensor_value_info("rr", 1, ["N", "M"]), helper.make_tensor_value_info("w", 7, [1000])])
    model = ir.from_proto(proto)
    tensor = model.graph.initializers["large"].const_value
    result, report = qrewrite.rewrite(model, RULES)
    expected, _ = qrewrite.rewrite(ir.to_proto(model), RULES)
    assert report.changed and result.graph.initializers["large"].const_value is tensor
    assert inside(ir.to_proto(result).SerializeToString(), {}) == inside(ir.to_proto(ir.from_proto(expected)).SerializeToString(), {})


def graphs_of(graph):
    yield graph
    for node in graph:
        for attribute in node.attributes.values():
            if attribute.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS) and not attribute.is_ref():
                for inner in [attribute.value] if attribute.type == ir.AttributeType.GRAPH else attribute.value:
                    yield from graphs_of(inner)


def said_of(graph):
    """All that objects have and messages do not; and which constants they hold."""
    def meta(thing):
        return dict(thing.meta), [key for key in thing.meta if not thing.meta.is_valid(key)], dict(thing.metadata_props)

    def value(v):
        return (v.name, repr(v.type), repr(v.shape), v.doc_string, id(v.const_value), meta(v), [(use.node.name, use.idx) for use in v.uses()],
                v.is_initializer(), v.is_graph_input(), v.is_graph_output(), v.index())

    for inner in graphs_of(graph):
        yield inner.name, inner.doc_string, dict(inner.opset_imports), meta(inner), [*map(value, [*inner.inputs, *inner.outputs, *inner.initializers.values()])]
        for node in inner:
            assert node.graph is inner and all(output.producer() is node for output in node.outputs)
            yield node.name, node.op_type, node.domain, node.overload, node.version, meta(node), list(node.attributes), [*map(value, node.outputs)]


def test_the_clone_is_that_of_onnx_ir():
    model = ir.from_proto(everything())
    many = model.graph[4]
    many.meta.update(a=1, b=[2])
    many.meta.invalidate("b")
    many.version = 12
    many.outputs[0].meta["c"] = many.outputs[0].metadata_props["d"] = "of a value"
    model.graph.meta["e"] = 3
    expected, clone = model.clone(), ir.Model.clone(Clonable(model))
    assert list(said_of(clone.graph)) == list(said_of(expected.graph)) and len(list(graphs_of(clone.graph))) == 4
    assert ir.to_proto(clone) == ir.to_proto(expected)
    values = [{id(v) for g in graphs_of(m.graph) for v in [*g.inputs, *g.initializers.values(), *(o for n in g for o in n.outputs)]} for m in (model, clone)]
    assert not values[0] & values[1] and len(values[0]) == len(values[1])
    clone.graph[4].metadata_props["a"] = clone.graph[4].outputs[0].metadata_props["d"] = "of the clone"
    clone.graph[0].outputs[0].shape[0] = 5
    assert list(said_of(model.graph)) == list(said_of(expected.graph))


def test_what_is_not_cloned_here_is_cloned_by_onnx_ir():
    model = ir.from_proto(parse("g (float[2] x) => (float[2] y) { y = Neg(x) }"))
    model.graph[0].meta["kept"] = True
    model.graph[0].device_configurations = (ir.NodeDeviceConfiguration(ir.ModelConfiguration("c", 2)),)
    with pytest.raises(Unusual):
        ir.Model.clone(Clonable(model))
    result, _ = qrewrite.rewrite(model, NOTHING)
    assert result.graph[0].meta == {"kept": True} and ir.to_proto(result) == ir.to_proto(model)


def test_a_model_is_rewritten_in_threads(chain):
    """Nothing of it changes for a moment: onnx_ir's serializer sees it at any time as it is."""
    chain.graph.initializer.append(numpy_helper.from_array(np.arange(1000), "large"))
    chain.graph.node.append(helper.make_node("Gather", ["large", "large"], ["g"]))
    model = ir.from_proto(chain)
    expected = ir.to_proto(qrewrite.rewrite(model, RULES)[0])
    before = ir.to_proto(model)
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(lambda: ir.to_proto(qrewrite.rewrite(model, RULES)[0])) for _ in range(60)]
        seen = [ir.to_proto(model) for _ in range(200)]
    assert all(job.result() == expected for job in jobs) and all(proto == before for proto in seen)


def test_data_outside_of_the_folder_is_not_read(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_bytes(bytes(4000))
    for count in (3, 1000):
        outside = TensorProto(name="w", data_type=1, dims=[count], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": "../secret", "length": str(4 * count)}.items():
            outside.external_data.add(key=key, value=value)
        main = parse(f"g (float[{count}] x) => (float[{count}] y) {{ a = Relu(x)  b = Relu(a)  y = Add(b, w) }}")
        main.graph.initializer.append(outside)
        attribute = parse(f"g (float[{count}] x) => (float[{count}] y) {{ a = Relu(x)  b = Relu(a)  y = Add(b, w)  w = Constant() }}")
        attribute.graph.node[3].attribute.append(onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR, t=outside))
        function = parse(f"g (float[{count}] x) => (float[{count}] y) {{ a = Relu(x)  b = Relu(a)  y = acme.f(b) }}")
        function.functions.append(helper.make_function("acme", "f", ["v"], ["u"], [attribute.graph.node[3], helper.make_node("Add", ["v", "w"], ["u"])],
                                                       [helper.make_opsetid("", 17)]))
        for i, proto in enumerate((main, attribute, function)):
            onnx.save(proto, tmp_path / "model" / f"{i}.onnx")
            with pytest.raises(qrewrite.InvalidModel, match="cannot be read: .*outside the base directory"):
                qrewrite.rewrite(ir.load(str(tmp_path / "model" / f"{i}.onnx")), RULES)


@pytest.mark.parametrize("in_place", [False, True])
def test_what_is_said_of_a_functions_inputs_stays(in_place):
    """onnx_ir writes it, and does not read it."""
    proto = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 20, "acme": 1]> g (float[2] x) => (float[2] y) { y = acme.F(x) }\n'
                                    '<opset_import: ["": 20], domain: "acme"> F (a) => (b) { c = Relu(a) b = Relu(c) }')
    model = ir.from_proto(proto)
    for value in model.functions["acme", "F", ""].inputs:
        value.type, value.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape([2])
    rewritten = RewritePass(RULES, in_place=in_place)(model).model
    function, = rewritten.functions.values()
    assert [node.op_type for node in function] == ["Relu"]
    assert function.inputs[0].dtype == ir.DataType.FLOAT and function.inputs[0].shape == [2]


@pytest.mark.parametrize("in_place", [False, True])
def test_an_initializer_without_data(chain, in_place):
    """As of a model that was exported with its shapes alone: what reads it cannot be written. One that nothing reads is left alone."""
    model = ir.from_proto(chain)
    model.graph.initializers.add(ir.Value(name="u", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([2])))
    assert ops(RewritePass(RULES, in_place=in_place)(model).model) == ["Relu", "Mul", "Identity"]
    model = ir.from_proto(chain)
    model.graph.initializers.add(weight := ir.Value(name="u", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([2])))
    last = model.graph[-1]
    last.replace_input_with(0, weight)
    with pytest.raises(qrewrite.InvalidModel) as raised:
        RewritePass(RULES, in_place=in_place)(model)
    assert "reads `u`, which nothing produces: it is an initializer without data" in str(raised.value)
    assert last.inputs[0] is weight and len(model.graph) == 5


LOOP = """
import gc
import onnx, onnx_ir, qrewrite
from onnx import helper
nodes = [helper.make_node("Abs", [f"v{i}"], [f"v{i + 1}"]) for i in range(500)]
info = helper.make_tensor_value_info
graph = helper.make_graph(nodes, "g", [info("v0", 1, [4])], [info("v500", 1, [4])])
model = onnx_ir.from_proto(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]))
rules = qrewrite.Rules.from_dict({"rules": [{"name": "a", "match": "y = OP(x)", "replace": "y = Neg(x)"}]})
SETTING
for _ in range(120):
    assert qrewrite.rewrite(model, rules)[1].changed == ("OP" == "Abs")
print(sum(type(thing) is onnx_ir.Node for thing in gc.get_objects()), gc.isenabled())
"""


@pytest.mark.parametrize("op", ["Abs", "Relu"])
@pytest.mark.parametrize("setting,collects", [("", True), ("gc.disable()", False), ("gc.set_threshold(0)", False)], ids=["on", "off", "no threshold"])
def test_models_that_nobody_has_any_more_are_collected(op, setting, collects):
    """Their nodes and values hold each other: it takes Python's collector, which never was told of them."""
    code = LOOP.replace("OP", op).replace("SETTING", setting)
    nodes, enabled = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout.split()
    assert (int(nodes) < 30000) == collects and enabled == str(setting != "gc.disable()")
