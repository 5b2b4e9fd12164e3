"""Rule files in pipelines of onnx_ir and onnxscript."""
import gc

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from conftest import RULES, parse
from onnx import helper, numpy_helper
from onnx_ir import passes
from onnx_ir.passes import common

import qrewrite
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
    core = to_core(model)
    assert value.const_value is before  # it was taken out for a moment only
    assert len(core.serialize_apart("data", 1024)[0]) < 1000
    assert np.shares_memory(qrewrite.Model(core).constants["w"].numpy(), weight)
    result = RewritePass(RULES)(model).model
    array = result.graph.initializers["w"].const_value.numpy()
    del result, core
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
    tensor = from_core(to_core(model)).graph.initializers["w"].const_value
    assert tensor.dtype == model.graph.initializers["w"].const_value.dtype and tuple(tensor.shape.numpy()) == (count,)
    assert np.array_equal(tensor.numpy().astype(np.float32), array.astype(np.float32))
    assert ir.to_proto(from_core(to_core(model))).graph.initializer[0].raw_data == numpy_helper.from_array(array, "w").raw_data


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
    with pytest.raises(qrewrite.CallbackError, match="w.bin"):
        qrewrite.rewrite(ir.load(tmp_path / "sub" / "m.onnx"), "optimize")


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
