// The examples of the language's own description, section by section: all of them load.
#include <doctest/doctest.h>

#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

struct Row {
  const char* what;
  const char* text;
};

const Row kExamples[] = {
    {"a family, with data", R"yaml(
sets:
  qlinear_unary:
    com.microsoft.QLinearSigmoid: {op: Sigmoid}
    com.microsoft.QLinearAveragePool: {op: AveragePool}
rules:
  - name: qlinear-unary
    match: y = n:@qlinear_unary<**a>(x, xs, xz?, ys, yz?)
    replace: y = QuantizeLinear(n.op<**a>(DequantizeLinear(x, xs, xz)), ys, yz ?? cast(0, dtype(y)))
)yaml"},
    {"repeating groups", R"yaml(
rules:
  - name: qlinear-concat
    match: y = com.microsoft.QLinearConcat<axis>(ys, yz, (x, s, z)...)
    replace: y = QuantizeLinear(Concat<axis=axis>(DequantizeLinear(x, s, z)...), ys, yz)
)yaml"},
    {"the same node again on another value", R"yaml(
sets: {moves: [Transpose, Split, Identity]}
define:
  moved_axis(t, axis):
    - t = Transpose<perm>(_) => perm[axis]
    - _..., t, _... = Split<axis=k, **_>(_, _...) => axis if axis % rank(t) != k % rank(t) else fail('split along channels')
    - t = Identity(_) => axis
rules:
  - name: lift-dequantize
    match: |
      _..., t, _... = n:@moves<**_>(q, _...)
      y = DequantizeLinear<axis>(t, s, z?)
    let:
      k: 1 if size(s) == 1 else $moved_axis(t, axis)
    replace: y = n(q -> DequantizeLinear<axis=k>(q, s, z))
)yaml"},
    {"templates, sub-patterns, facts", R"yaml(
params: {saturation: {default: auto, one_of: [identity, auto, clip]}}
define:
  range(x):
    - x = Sigmoid(_) => [0, 1]
  y = clip(x, lo, hi):
    - when opset >= 11 => Clip(x, cast(lo, dtype(x)), cast(hi, dtype(x)))
    - => Clip<min=lo, max=hi>(x)
  y = saturate(x, s, z, q):
    - let:
        lo: (qmin(q) - f32(z ?? 0)) * s
        hi: (qmax(q) - f32(z ?? 0)) * s
        edge: (z ?? 0) in [qmin(q), qmax(q)]
      cases:
        - when params.saturation == 'identity' or (params.saturation == 'auto' and not edge) => x
        - when sure($range(x)[0] >= lo and $range(x)[1] <= hi) => x
        - => $clip(x, lo, hi)
  f = data(q, s, z):
    - match: f = DequantizeLinear<axis=_>(q, s, z0?)
      when: const(s) and size(s) == 1 and dtype(q) in [INT8, UINT8]
      let: {z: "z0 ?? cast(0, dtype(q))"}
  y = nop(x):
    - y = Identity(x)
    - y = Mul(x, 1) when shape(y) == shape(x)
rules:
  - name: pair
    report: pairs
    match: |
      q = QuantizeLinear<axis>(x, s, z?)
      y = DequantizeLinear<axis=k>(q, s2, z2?)
    where:
      - s == s2 and (z ?? 0) == (z2 ?? 0)
      - size(s) == 1 or axis == k
    replace: y = $saturate(x, s, z, q)
  - {name: nop, match: y = $nop(x), replace: y = x}
  - {name: data, match: "y = Relu($data(q, s, z))", replace: "y = DequantizeLinear(Relu(q), s, z)"}
)yaml"},
    {"several readers, literals, normal forms", R"yaml(
sets:
  integer: {MatMulInteger: {op: MatMul, axis: -1}, ConvInteger: {op: Conv, axis: 0}}
signatures:
  qr.DQ: {inputs: [q, s, "z?"], attributes: {axis: 1}, outputs: {y: {shape: shape(q), dtype: dtype(s)}}}
  qr.Quantizer: {inputs: [x, s], attributes: {lo: int, hi: int}, outputs: [q]}
define:
  scale_of(v):
    - q, v, _ = DynamicQuantizeLinear(_) => v
rules:
  - name: integer-product
    match: |
      acc = n:@integer<**a>(x, w, xz?, wz?)
      y = Mul(Cast<to=t>(acc), Mul(xs, ws))
    where:
      - xs == ($scale_of(x) ?? xs)
      - ws == ($scale_of(w) ?? ws)
    replace: y = n.op<**a>(qr.DQ(x, cast(xs, t), xz), qr.DQ<axis=n.axis>(w, cast(ws, t), wz))
  - name: quantizer
    match: q = Clip(Add?(Round(Mul(Cast?<to=_>(x), s)), 0), lo, hi)
    where: const(s) and size(lo) == 1
    replace: q = qr.Quantizer<lo=i64(lo), hi=i64(hi)>(x, s)
  - name: erf-gelu
    opset: ">=20"
    match: |
      e = Erf(Div(x, 1.4142135 ~ 4ulp))
      y = Mul(Mul(x, Add(e, 1)), 0.5)
    replace: y = Gelu(x)
)yaml"},
    {"arithmetic that may fail, signatures", R"yaml(
define:
  shift(n, r, zd, zq, a):
    - let:
        mul: rint(r * 2.0 ** n)
        add: rint(f64(zq) * 2.0 ** n) - f64(zd) * mul
      cases:
        - when max(mul * a + Abs(add)) + 2.0 ** (n - 1) < 2.0 ** 31 => n
        - when n == 1 => fail('no shift fits int32')
        - => $shift(n - 1, r, zd, zq, a)
  absmax(v):
    - v = Conv<**_>(x, w, b?) => ReduceSum<keepdims=0>(Abs(w), Range(1, rank(w), 1)) * max(Abs($range(x))) + Abs(b ?? 0)
    - => max(Abs($range(v)))
  range(v):
    - v = PACTOps.RequantShift<n_levels_out=n, signed>(_, _, _) => [-n // 2, n // 2 - 1] if signed == 1 else [0, n - 1]
    - v = @layout|MaxPool<**_>(p, _...) => $range(p)
    - v = Add(a, b) => $range(a) + $range(b)
    - when const(v) => [min(v), max(v)]
    - v when is_input(v) => [qmin(v), qmax(v)]
sets: {layout: [Transpose, Reshape]}
signatures:
  qr.Quant: {inputs: [x, s, z], attributes: {lo: int, hi: int}, outputs: [q]}
  qr.Dequant: {inputs: [q, s, z], outputs: [y]}
  PACTOps.RequantShift:
    version: 1
    inputs: [x, mul, add]
    attributes: {div: tensor, n_levels_out: tensor, signed: tensor, channels_first: "int?"}
    outputs: {y: {shape: shape(x), dtype: INT8 if signed == 1 else UINT8}}
rules:
  - name: requant
    match: q = qr.Quant<lo, hi>(qr.Dequant(acc, sd, zd), sq, zq)
    let:
      r: f64(sd) / f64(sq)
      n: $shift(24, r, zd, zq, $absmax(acc))
      mul: i32(rint(r * 2.0 ** n))
      add: i32(rint(f64(zq) * 2.0 ** n) - f64(zd) * mul)
      levels: hi + 1 if lo >= 0 else 2 * (hi + 1)
    replace: |
      q = PACTOps.RequantShift<div=i32(2 ** n), n_levels_out=i32(levels), signed=i32(1 if lo < 0 else 0)>(acc, mul, add)
)yaml"},
    {"the interface of the graph, files to write", R"yaml(
types: unchecked
params: {sidecar: {type: path}, inputs_npz: {type: path}}
signatures:
  qr.Quant: {inputs: [x, s, z], attributes: {lo: int, hi: int}, outputs: [q]}
rules:
  - name: integer-input
    match: q = qr.Quant<lo, hi>(x, s, z)
    where: is_input(x) and uses(x) == 1
    replace: q = x
    retype: {x: UINT8 if lo >= 0 else INT8}
    record: {inputs: {of: x, scale: s, zero_point: z, lo: lo, hi: hi}}
write:
  - {when: present(params.sidecar), file: "{sidecar}/sidecar.json", json: [inputs]}
  - {when: present(params.inputs_npz), file: "{sidecar}/inputs.npz", from: params.inputs_npz, table: inputs,
     npz: "clip(rint(array / scale + zero_point), lo, hi)"}
)yaml"},
    {"opset upgrade", R"yaml(
params: {to: {default: 21}}
phases:
  - {name: to-13, to_opset: 13, when: params.to >= 13, rules: [axes-13, softmax-13]}
  - {name: target, to_opset: params.to}
rules:
  - name: axes-13
    match: y = n:ReduceSum|Squeeze|Unsqueeze<axes?, **a>(x)
    replace: y = n<**a>(x, i64(axes))
  - name: softmax-13
    match: y = n:Softmax|LogSoftmax|Hardmax<axis=k>(x)
    cases:
      - when sure(k == -1 or k == rank(x) - 1) => y = n<axis=-1>(x)
      - => y = Reshape(n<axis=-1>(Flatten<axis=k>(x)), Shape(x))
)yaml"},
    {"chains", R"yaml(
sets: {moves: [Transpose, Reshape]}
rules:
  - name: arg-of-integers
    match: |
      q = QuantizeLinear<**_>(x, s, z?)
      t = c:@moves*<**_>(q, _...)
      y = n:ArgMax|ArgMin<**_>(t)
    where: s > 0 and uses(inner(c)) == 1
    replace: y = n(t -> c(q -> x))
)yaml"},
    {"gates in the negative, bodies", R"yaml(
params: {skip: {type: regex, default: "^$"}}
sets: {integer: [MatMulInteger, ConvInteger]}
rules:
  - name: gates
    match: |
      a = n:MatMul(x, w)
      b = m:MatMul(x, v)
    where:
      - uses(a) == 1 and not is_output(a)
      - uses(b, @integer) == uses(b) or uses(b, @integer) > 0
      - name(x) =~ '/encoder/' and not (name(x) =~ params.skip)
      - op(n) == op(m)
    replace: |
      c = MatMul(x, Concat<axis=1>(w, v))
      a, b = Split<axis=-1, num_outputs=2>(c)
  - name: if-constant
    match: y... = If<then_branch=t, else_branch=e>(c)
    cases:
      - when c == true => y... = t()
      - when c == false => y... = e()
)yaml"},
    {"phases, refusals", R"yaml(
constants: {keep: [QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear], max_bytes: 64MiB}
sets: {deeploy: [Conv, Gemm], all: ["@deeploy", "com.microsoft.QLinear*"]}
phases:
  - {name: spell-out, rules: all}
  - {name: fold, fold: all}
  - {name: some, fold: [Conv, "@all"]}
  - {name: explicit, write_defaults: [Conv, MaxPool]}
  - {name: shapes, write_shapes: all}
  - {name: names, rename: A-Za-z0-9_}
  - {name: check, rules: [left-over]}
rules:
  - name: left-over
    match: _... = n:!@deeploy<**_>(_...)
    refuse: Deeploy has no integer form of this operator
  - name: warned
    match: y = Upsample<**_>(x, _...)
    warn: old
    replace: y = x
)yaml"},
    {"names of inputs", R"yaml(
rules:
  - name: named
    match: y = QLinearConv<**_>(x, x_scale=xs, w=w, _...)
    replace: y = QLinearMatMul(a=x, a_scale=xs, a_zero_point=0, b=w, b_scale=xs, b_zero_point=0, y_scale=xs, y_zero_point=0)
)yaml"},
};

}  // namespace

TEST_CASE("Language: every example loads") {
  for (const Row& row : kExamples) {
    CAPTURE(row.what);
    CHECK(test::Messages(test::File(row.text)) == "");
  }
}

TEST_CASE("Language: a version before the known ones is not one in their place") {
  const auto signature = [](const std::string& older) {
    return test::File("signatures:\n  LayerNormalization: {" + older +
                      "inputs: [x, s], outputs: [y]}\nrules: []\n");
  };
  const auto both = [&](const std::string& other) {
    return test::Messages(test::File("include: [a.yaml, b.yaml]\nrules:\n  - {name: r, match: 'y = "
                                     "LayerNormalization(x, s)', replace: y = x}\n"),
                          {{"a.yaml", signature("older: true, ")}, {"b.yaml", signature(other)}});
  };
  CHECK(both("older: true, ") == "");
  CHECK(both("").find("`LayerNormalization` means different things") != std::string::npos);
}

}  // namespace qrewrite
