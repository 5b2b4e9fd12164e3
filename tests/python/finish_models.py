"""Float models with what `ezkl_finish` rewrites; each is run before and after, at several opsets.

BATCH is a size that is not known. `ezkl` says what EZKL answers to the model as it is: a part of its
message, or "wrong" for numbers that are. None: it reads the model, or there is no telling.
"""
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser


@dataclass
class FloatModel:
    name: str
    text: str
    ezkl: str | None
    opsets: tuple[int, ...] = (11, 13, 17, 18, 21)
    tolerance: float = 1e-5  # times max(1, max|y|), against ONNX Runtime before
    half: bool = False       # initializers become float16
    flags: tuple[str, ...] = ()


def tensor(name: str, shape: tuple[int, ...]) -> str:
    random = np.random.default_rng(list(name.encode()))
    values = ", ".join(f"{v:.3f}" for v in random.normal(size=shape).ravel())
    return f"float{list(shape)} {name} = {{{values}}}"


MODELS = [
    FloatModel("strides", f"""g (float[BATCH, 2, 8, 8] x) => (float[BATCH, 4, p, q] y) <{tensor("w", (4, 2, 3, 3))}> {{
        c = Conv <pads = [1, 1, 1, 1]> (x, w)
        m = MaxPool <kernel_shape = [2, 2]> (c)
        y = AveragePool <kernel_shape = [2, 2]> (m) }}""", "missing required params: stride"),
    FloatModel("same_upper", f"""g (float[BATCH, 2, 8, 8] x) => (float[BATCH, 4, 8, 8] y) <{tensor("w", (4, 2, 3, 3))}> {{
        y = Conv <auto_pad = "SAME_UPPER"> (x, w) }}""", "missing required params: stride"),
    FloatModel("transposed", f"""g (float[BATCH, 2, 4, 4] x) => (float[BATCH, 3, p, q] y) <{tensor("w", (2, 3, 3, 3))}> {{
        y = ConvTranspose <dilations = [2, 1]> (x, w) }}""", "non unit dilations not supported"),
    FloatModel("output_padding", f"""g (float[BATCH, 2, 4, 4] x) => (float[BATCH, 3, p, q] y) <{tensor("w", (2, 3, 3, 3))}, {tensor("b", (3,))}> {{
        y = ConvTranspose <strides = [2, 2], output_padding = [1, 1]> (x, w, b) }}""", "dims[i] > indices[i]"),
    FloatModel("depthwise_transposed", f"""g (float[BATCH, 4, 4, 4] x) => (float[BATCH, 4, p, q] y) <{tensor("w", (4, 1, 3, 3))}> {{
        y = ConvTranspose <strides = [2, 2], group = 4, pads = [1, 1, 1, 1]> (x, w) }}""", "General synthesis error"),
    FloatModel("pad_value", """g (float[1, 2, 3, 4] x) => (float[1, 2, p, q] y) <int64[8] pads = {0, 0, 1, 0, 0, 0, 0, 2}, float v = {0.25}> {
        r = Relu (x)
        y = Pad (r, pads, v) }""", "pad mode or pad type"),
    FloatModel("dilated", f"""g (float[BATCH, 2, 9, 9] x) => (float[BATCH, 4, p, q] y)
        <{tensor("w", (4, 1, 3, 3))}, {tensor("b", (4,))}> {{
        y = Conv <dilations = [2, 3], group = 2, kernel_shape = [3, 3], pads = [2, 1, 2, 3], strides = [1, 2]> (x, w, b)
        }}""", "non unit dilations not supported"),
    FloatModel("dilated_1d", f"""g (float[BATCH, 2, 12] x) => (float[BATCH, 3, p] y) <{tensor("w", (3, 2, 2))}> {{
        y = Conv <dilations = [4], strides = [1], pads = [3, 0]> (x, w) }}""", "non unit dilations not supported"),
    FloatModel("float_cnn", f"""g (float[BATCH, 1, 9, 9] x) => (float[BATCH, 4, p, q] y)
        <{tensor("w", (4, 1, 3, 3))}, {tensor("b", (4,))}> {{
        c = Conv <dilations = [1, 2], pads = [1, 1, 1, 1]> (x, w, b)
        r = Relu(c)
        y = MaxPool <kernel_shape = [2, 2]> (r) }}""", "non unit dilations not supported"),
    FloatModel("pointwise", f"""g (float[BATCH, 3, 6, 6] x) => (float[BATCH, 3, 6, 6] y)
        <{tensor("u", (4, 3, 1, 1))}, {tensor("v", (4, 1, 3, 3))}, {tensor("w", (3, 4, 1, 1))}, {tensor("b", (3,))}> {{
        a = Conv (x, u)  s = Sigmoid (a)  t = Mul (a, s)
        d = Conv <group = 4, pads = [1, 1, 1, 1], kernel_shape = [3, 3]> (t, v)  r = Sigmoid (d)  q = Mul (d, r)
        p = Conv <kernel_shape = [1, 1], strides = [1, 1]> (q, w, b)  y = Add (x, p) }}""", ""),
    FloatModel("pointwise_1d", f"""g (float[BATCH, 3, 8] x) => (float[BATCH, 3, 8] y)
        <{tensor("u", (4, 3, 1))}, {tensor("v", (4, 4, 3))}, {tensor("w", (3, 4, 1))}> {{
        a = Conv <strides = [1]> (x, u)  d = Conv <pads = [1, 1], strides = [1]> (a, v)
        y = Conv <auto_pad = "SAME_LOWER", strides = [1]> (d, w) }}""", "wrong", opsets=(11, 13, 17, 21)),
    FloatModel("bottleneck_head", f"""g (float[BATCH, 3, 6, 6] x) => (float[BATCH, 2] y)
        <{tensor("u", (4, 3, 1, 1))}, {tensor("v", (4, 4, 3, 3))}, {tensor("w", (4, 2))}> {{
        a = Conv (x, u)  s = Sigmoid (a)  d = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (s, v)
        p = GlobalAveragePool (d)  f = Flatten (p)  y = Gemm (f, w) }}""", ""),
    FloatModel("point_with_strides", f"""g (float[BATCH, 3, 9, 9] x) => (float[BATCH, 2] y)
        <{tensor("u", (2, 3, 1, 1))}, {tensor("v", (2, 2, 3, 3))}, {tensor("w", (18, 2))}> {{
        a = Conv <strides = [2, 2]> (x, u)  d = Conv <strides = [1, 1]> (a, v)  f = Flatten (d)  y = Gemm (f, w) }}""", ""),
    FloatModel("same_pads", f"""g (float[BATCH, 2, 7, 8] x) => (float[BATCH, 1, 2, 4] y)
        <{tensor("u", (2, 2, 2, 2))}, {tensor("w", (1, 2, 1, 1))}> {{
        a = Conv <auto_pad = "SAME_LOWER", strides = [2, 2]> (x, u)  y = Conv <strides = [2, 1]> (a, w) }}""", "wrong"),
    FloatModel("generator", f"""g (float[BATCH, 3] x) => (float[BATCH, 1, 4, 4] y)
        <{tensor("u", (3, 32))}, int64[4] to = {{-1, 2, 4, 4}}, {tensor("v", (2, 2, 3, 3))}, {tensor("w", (1, 2, 1, 1))}> {{
        a = Gemm (x, u)  r = Reshape (a, to)  d = Conv <pads = [1, 1, 1, 1]> (r, v)  s = Tanh (d)  y = Conv (s, w) }}""", ""),
    FloatModel("channels_last", f"""g (float[BATCH, 4, 4, 3] x) => (float[BATCH, 4, 4, 2] y)
        <{tensor("u", (3, 3))}, {tensor("v", (3, 1, 3, 3))}, {tensor("t", (3, 1, 1, 1))}, {tensor("w", (3, 2))}> {{
        a = MatMul (x, u)  f = Transpose <perm = [0, 3, 1, 2]> (a)  d = Conv <group = 3, pads = [1, 1, 1, 1]> (f, v)
        r = Sigmoid (d)  e = Conv <group = 3> (r, t)  l = Transpose <perm = [0, 2, 3, 1]> (e)  y = MatMul (l, w) }}""", ""),
    FloatModel("groups_of_points", f"""g (float[BATCH, 3, 4, 4] x) => (float[BATCH, 2, 4, 4] y)
        <{tensor("u", (3, 3, 1, 1))}, {tensor("v", (3, 1, 1, 1))}, {tensor("w", (2, 3, 1, 1))}> {{
        a = Conv <strides = [1, 1]> (x, u)  s = Sigmoid (a)  d = Conv <group = 3, strides = [1, 1]> (s, v)  r = Sigmoid (d)
        y = Conv <strides = [1, 1]> (r, w) }}""", "wrong", opsets=(11, 13, 17)),
    FloatModel("pool_edges", """g (float[BATCH, 2, 7, 6] x) => (float[BATCH, 2, p, q] y, float[BATCH, 2, r, s] z, float[BATCH, 2, t, u] v) {
        y = AveragePool <kernel_shape = [3, 2], pads = [1, 0, 2, 1], strides = [2, 1]> (x)
        z = AveragePool <kernel_shape = [3, 4], auto_pad = "SAME_UPPER", strides = [2, 3]> (x)
        v = AveragePool <kernel_shape = [2, 4], auto_pad = "SAME_LOWER", strides = [1, 3]> (x) }""", "wrong"),
    FloatModel("group_norm", f"""g (float[BATCH, 4, 3, 3] x) => (float[BATCH, 4, 3, 3] y) <{tensor("s", (4,))}, {tensor("b", (4,))}> {{
        y = GroupNormalization <num_groups = 2, epsilon = 0.001> (x, s, b) }}""", "Unimplemented(GroupNormalization)", opsets=(21, 23)),
    FloatModel("lstm", f"""g (float[4, 2, 3] x) => (float[4, 2, 2, 2] y, float[2, 2, 2] h, float[2, 2, 2] c)
        <{tensor("w", (2, 8, 3))}, {tensor("r", (2, 8, 2))}, {tensor("b", (2, 16))}> {{
        y, h, c = LSTM <hidden_size = 2, direction = "bidirectional"> (x, w, r, b) }}""", "", opsets=(11, 13, 17)),
    FloatModel("lstm_reverse", f"""g (float[4, 2, 3] x) => (float[4, 1, 2, 2] y)
        <{tensor("w", (1, 8, 3))}, {tensor("r", (1, 8, 2))}, {tensor("b", (1, 16))}> {{
        y = LSTM <hidden_size = 2, direction = "reverse"> (x, w, r, b) }}""", "wrong", opsets=(11, 13, 17)),
    FloatModel("lstm_states", f"""g (float[4, 2, 3] x) => (float[4, 2, 2, 2] y, float[2, 2, 2] h)
        <{tensor("w", (2, 8, 3))}, {tensor("r", (2, 8, 2))}> {{
        y, h = LSTM <hidden_size = 2, direction = "bidirectional"> (x, w, r) }}""", "", opsets=(11, 13, 17)),
    FloatModel("lstm_last", f"""g (float[4, 2, 3] x) => (float[4, 1, 2, 2] y, float[1, 2, 2] h)
        <{tensor("w", (1, 8, 3))}, {tensor("r", (1, 8, 2))}> {{
        y, h = LSTM <hidden_size = 2> (x, w, r) }}""", "wrong", opsets=(11, 13, 17)),
    FloatModel("gru", f"""g (float[4, 2, 3] x) => (float[4, 2, 2, 2] y, float[2, 2, 2] h)
        <{tensor("w", (2, 6, 3))}, {tensor("r", (2, 6, 2))}, {tensor("b", (2, 12))}> {{
        y, h = GRU <hidden_size = 2, direction = "bidirectional", linear_before_reset = 1> (x, w, r, b) }}""", "", opsets=(11, 13, 17)),
    FloatModel("reshape", """g (float[1, 6, 8] x) => (float[1, 6, 8] y) <int64[4] s = {0, 0, 2, 4}, int64[3] t = {0, 0, 8}> {
        a = Reshape(x, s)
        b = Transpose <perm = [0, 2, 1, 3]> (a)
        c = Transpose <perm = [0, 2, 1, 3]> (b)
        y = Reshape(c, t) }""", ""),
    FloatModel("reshape_batch", """g (float[BATCH, 6, 8] x) => (float[BATCH, 6, 8] y)
        <int64[4] s = {0, 0, 2, 4}, int64[3] t = {0, -1, 8}> {
        a = Reshape(x, s)
        b = Relu(a)
        y = Reshape(b, t) }""", None),
    FloatModel("constants", """g (float[2, 4] x) => (float[4, 2] y) {
        s = Constant <value_ints = [4, 2]> ()
        a = Reshape(x, s)
        y = Relu(a) }""", "Translating proto model", opsets=(12, 13, 17, 18, 21)),
    FloatModel("weight_scale", f"""g (float[BATCH, 5, 6] x) => (float[BATCH, 5, 4] y)
        <{tensor("w", (6, 4))}, {tensor("s", (4,))}, float h = {{0.25}}> {{
        a = MatMul(x, w)
        b = Mul(s, a)
        v = MatMul(x, w)
        u = Mul(v, h)
        y = Add(u, b) }}""", None),
    FloatModel("gelu", """g (float[BATCH, 6] x) => (float[BATCH, 6] y) {
        a = Gelu(x)
        y = Gelu <approximate = "tanh"> (a) }""", "Unimplemented(Gelu)", opsets=(20, 21)),
    FloatModel("gelu_microsoft", """g (float[BATCH, 6] x) => (float[BATCH, 6] y) {
        y = com.microsoft.Gelu(x) }""", "Unimplemented(Gelu)"),
    FloatModel("fused_matmul", f"""g (float[BATCH, 3, 6] x, float[BATCH, 4, 6] z) => (float[BATCH, 3, 5] y)
        <{tensor("w", (5, 4))}> {{
        a = com.microsoft.FusedMatMul <alpha = 0.5, transB = 1> (x, z)
        y = com.microsoft.FusedMatMul <alpha = 2.0, transB = 1> (a, w) }}""", "Unimplemented(FusedMatMul)"),
    FloatModel("fused_matmul_batches", """g (float[3, 2, 6] x, float[4, 2, 6] z) => (float[2, 3, 4] y) {
        y = com.microsoft.FusedMatMul <transBatchA = 1, transBatchB = 1, transB = 1> (x, z) }""", "Unimplemented(FusedMatMul)"),
    FloatModel("fused_conv", f"""g (float[BATCH, 2, 6, 6] x, float[BATCH, 2, 6, 6] z) => (float[BATCH, 2, 6, 6] y)
        <{tensor("w", (2, 2, 3, 3))}, {tensor("b", (2,))}> {{
        a = com.microsoft.FusedConv <activation = "Relu", pads = [1, 1, 1, 1]> (x, w, b, z)
        y = com.microsoft.FusedConv <activation = "Clip", activation_params = [-0.5, 0.75], pads = [1, 1, 1, 1]> (a, w, b)
        }}""", "Unimplemented(FusedConv)"),
    FloatModel("fused_gemm", f"""g (float[BATCH, 6] x) => (float[BATCH, 4] y) <{tensor("w", (4, 6))}, {tensor("b", (4,))}> {{
        y = com.microsoft.FusedGemm <activation = "LeakyRelu", activation_alpha = 0.2, transB = 1, beta = 0.5> (x, w, b)
        }}""", "Unimplemented(FusedGemm)"),
    FloatModel("activations", f"""g (float[BATCH, 6] x) => (float[BATCH, 6] y) <{tensor("b", (6,))}> {{
        s = com.microsoft.BiasGelu(x, b)
        t = com.microsoft.FastGelu(x, b)
        u = com.microsoft.FastGelu(t)
        v = com.microsoft.QuickGelu(x)
        w = com.microsoft.QuickGelu <alpha = 1.0> (v)
        a = Add(s, u)
        y = Add(a, w) }}""", "Unimplemented(BiasGelu)"),
    FloatModel("mish", """g (float[BATCH, 6] x) => (float[BATCH, 6] y) {
        y = Mish(x) }""", "Unimplemented(Mish)", opsets=(18, 21)),
    FloatModel("norms", f"""g (float[BATCH, 5, 8] x, float[BATCH, 5, 8] z) => (float[BATCH, 5, 8] y, float[BATCH, 5, 8] t)
        <{tensor("g", (8,))}, {tensor("b", (8,))}, {tensor("bias", (8,))}> {{
        a = com.microsoft.SkipLayerNormalization <epsilon = 0.001> (x, z, g, b)
        y, _1, _2, t = com.microsoft.SkipLayerNormalization <epsilon = 0.001> (a, x, g, "", bias) }}""", "Unimplemented(SkipLayerNormalization)"),
    FloatModel("rms_norms", f"""g (float[BATCH, 5, 8] x, float[BATCH, 5, 8] z) => (float[BATCH, 5, 8] y)
        <{tensor("g", (8,))}, {tensor("bias", (8,))}> {{
        a = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.001> (x, z, g, bias)
        y = SimplifiedLayerNormalization <epsilon = 0.001> (a, g) }}""", "Unimplemented(SkipSimplifiedLayerNormalization)"),
    FloatModel("mask_added", f"""g (float[BATCH, 4, 8] x) => (float[BATCH, 4, 4] y)
            <float[4, 4] m = {{0, -1e9, -1e9, -1e9, 0, 0, -1e9, -1e9, 0, 0, 0, -1e9, 0, 0, 0, 0}}> {{
        t = Transpose <perm = [0, 2, 1]> (x)
        s = MatMul (x, t)
        a = Add (s, m)
        y = Softmax <axis = 2> (a) }}""", "General synthesis error"),
    FloatModel("mask_filled", f"""g (float[BATCH, 4, 8] x, bool[BATCH, 1, 4] c) => (float[BATCH, 4, 4] y)
            <float[1] low = {{-3.4028235e38}}, float[1] none = {{0}}> {{
        t = Transpose <perm = [0, 2, 1]> (x)
        s = MatMul (x, t)
        m = Where (c, low, none)
        a = Add (s, m)
        y = Softmax <axis = -1> (a) }}""", None, opsets=(13, 17, 18, 21)),
    FloatModel("mask_product", f"""g (float[BATCH, 4, 8] x, int64[BATCH, 4] n) => (float[BATCH, 4, 4] y)
            <float[1] low = {{-3.4028235e38}}, float[1] one = {{1}}, int64[3] by = {{-1, 1, 4}}> {{
        t = Transpose <perm = [0, 2, 1]> (x)
        s = MatMul (x, t)
        r = Reshape (n, by)
        f = Cast <to = 1> (r)
        v = Sub (one, f)
        m = Mul (v, low)
        a = Add (s, m)
        y = Softmax <axis = -1> (a) }}""", "significant bit truncation", opsets=(13, 17, 18, 21)),
    FloatModel("cut_numbers", """g (float[BATCH, 8] x) => (float[BATCH, 8] y) {
        i = Cast <to = 7> (x)
        y = Cast <to = 1> (i) }""", "wrong", opsets=(13, 18)),
    FloatModel("number_flags", """g (float[BATCH, 8] x) => (float[BATCH, 8] y) {
        b = Cast <to = 9> (x)
        y = Cast <to = 1> (b) }""", "wrong", opsets=(13, 18)),
    FloatModel("equal_floats", """g (float[BATCH, 8] x) => (float[BATCH, 8] y) {
        f = Floor (x)
        r = Relu (f)
        e = Equal (f, r)
        y = Cast <to = 1> (e) }""", "wrong", opsets=(13, 18)),
    FloatModel("instances", f"""g (float[2, 3, 5] x) => (float[2, 3, 5] y, float[2, 6, 5] z) <{tensor("s", (3,))}, {tensor("b", (3,))}, float[6] t = {{1, 2, 3, 4, 5, 6}}> {{
        y = InstanceNormalization (x, s, b)
        c = Concat <axis = 1> (x, y)
        z = InstanceNormalization (c, t, t) }}""", "wrong", opsets=(13, 18), tolerance=1e-4),
    FloatModel("group_norm_batch", """g (float[2, 4, 5] x) => (float[2, 4, 5] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 0, 1}> {
        y = GroupNormalization <num_groups = 2> (x, s, b) }""", "Unimplemented(GroupNormalization", opsets=(21,), tolerance=1e-4),
    FloatModel("celu_trilu", """g (float[4, 4] x) => (float[4, 4] y) {
        c = Celu <alpha = 2.0> (x)
        y = Trilu <upper = 0> (c) }""", "wrong", opsets=(14, 18)),
    FloatModel("expanded", """g (float[3, 1] x) => (float[2, 3, 4] y) <int64[3] s = {2, 3, 4}> {
        y = Expand (x, s) }""", "wrong", opsets=(13, 18)),
    FloatModel("index_from_end", """g (float[BATCH, 5] x) => (float[BATCH, 2] y) <int64[2] i = {1, -2}> {
        y = Gather <axis = 1> (x, i) }""", "wrong", opsets=(11, 13, 18)),
    FloatModel("mask_chosen", f"""g (float[BATCH, 4, 8] x, bool[BATCH, 1, 4] c) => (float[BATCH, 4, 4] y) <float[1] low = {{-1e9}}> {{
        t = Transpose <perm = [0, 2, 1]> (x)
        s = MatMul (x, t)
        a = Where (c, s, low)
        y = Softmax <axis = -1> (a) }}""", None, opsets=(13, 17, 18, 21)),
    FloatModel("attention", f"""g (float[BATCH, 4, 8] x) => (float[BATCH, 4, 8] y) <{tensor("w", (8, 24))}, {tensor("b", (24,))}> {{
        a = com.microsoft.Attention <num_heads = 2> (x, w, b)
        y = com.microsoft.Attention <num_heads = 4, scale = 0.5> (a, w, b) }}""", ""),
    FloatModel("attention_mask", f"""g (float[BATCH, 4, 8] x, int32[BATCH, 4] mask) => (float[BATCH, 4, 8] y)
        <{tensor("w", (8, 24))}, {tensor("b", (24,))}> {{
        y = com.microsoft.Attention <num_heads = 2> (x, w, b, mask) }}""", ""),
    FloatModel("embedding", f"""g (int32[BATCH, 4] ids, int32[BATCH, 4] seg, int32[BATCH, 4] mask) => (float[BATCH, 4, 8] y)
        <{tensor("we", (2, 8))}, {tensor("pe", (6, 8))}, {tensor("se", (2, 8))}, {tensor("g", (8,))}, {tensor("b", (8,))},
         {tensor("w", (8, 24))}, {tensor("c", (24,))}> {{
        e, n = com.microsoft.EmbedLayerNormalization <epsilon = 0.001> (ids, seg, we, pe, se, g, b, mask)
        y = com.microsoft.Attention <num_heads = 2> (e, w, c, n) }}""", "Unimplemented(EmbedLayerNormalization)"),
    FloatModel("max_edges", """g (float[BATCH, 2, 7, 8] x) => (float[BATCH, 2, 4, 4] y, float[BATCH, 2, 7, 8] z)
        <float c = {3.0}> {
        a = Sub(x, c)
        y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (a)
        z = MaxPool <kernel_shape = [2, 3], strides = [1, 1], auto_pad = "SAME_LOWER"> (a) }""", "wrong"),
    FloatModel("max_ceil", """g (float[BATCH, 2, 7, 8] x) => (float[BATCH, 2, 3, 4] y) {
        a = Relu(x)
        y = MaxPool <kernel_shape = [3, 3], pads = [0, 1, 0, 0], strides = [2, 2], ceil_mode = 1> (a) }""", None),
    FloatModel("mirror_pad", """g (float[BATCH, 2, 4, 5] x) => (float[BATCH, 2, 6, 8] y, float[BATCH, 2, 4, 7] z)
        <int64[8] p = {0, 0, 1, 2, 0, 0, 1, 1}, int64[8] q = {0, 0, 0, 2, 0, 0, 0, 0}> {
        y = Pad <mode = "reflect"> (x, p)
        z = Pad <mode = "edge"> (x, q) }""", "pad mode or pad type"),
    FloatModel("resize_linear", """g (float[2, 2, 3, 4] x) => (float[2, 2, 6, 6] y) <float[0] none = {}, float[4] scales = {1, 1, 2, 1.5}> {
        y = Resize <mode = "linear"> (x, none, scales) }""", "only nearest neighbor interpolation"),
    FloatModel("resize_torch", """g (float[2, 2, 3, 4] x) => (float[2, 2, 6, 6] y) <float[0] none = {}, float[4] scales = {1, 1, 2, 1.5}> {
        y = Resize <mode = "linear", nearest_mode = "floor", cubic_coeff_a = -0.75> (x, none, scales) }""", "Cannot reshape tensor"),
    FloatModel("resize_corners", """g (float[2, 2, 3, 4] x) => (float[2, 2, 5, 2] y) <float[0] none = {}, int64[4] sizes = {2, 2, 5, 2}> {
        y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, none, none, sizes) }""", "only nearest neighbor interpolation"),
    FloatModel("resize_nearest", """g (float[BATCH, 2, 4, 6] x) => (float[BATCH, 2, 8, 12] y, float[BATCH, 2, 2, 9] z)
        <float[0] none = {}, float[4] twice = {1, 1, 2, 2}, float[4] parts = {1, 1, 0.5, 1.5}> {
        y = Resize <mode = "nearest", nearest_mode = "floor"> (x, none, twice)
        z = Resize <mode = "nearest"> (x, none, parts) }""", "Cannot reshape tensor"),
    FloatModel("resize_cubic", """g (float[2, 2, 3, 4] x) => (float[2, 2, 6, 6] y) <float[0] none = {}, float[4] scales = {1, 1, 2, 1.5}> {
        y = Resize <mode = "cubic", cubic_coeff_a = -0.5> (x, none, scales) }""", "Translating proto model"),
    FloatModel("branches", """g (float[2, 4] x, bool c) => (float[2, 4] y, float[2, 4] z) {
        y = If (c) <then_branch = t () => (float[2, 4] a) { a = Relu(x) }, else_branch = e () => (float[2, 4] b) { b = Neg(x) }>
        z = Add(y, x) }""", "General synthesis error", flags=("--set", "branches=both")),
    FloatModel("lrn", """g (float[BATCH, 6, 3, 4] x) => (float[BATCH, 6, 3, 4] y) {
        y = LRN <size = 5, alpha = 0.3, beta = 0.6, bias = 1.5> (x) }""", "General synthesis error"),
    FloatModel("resize_sizes", """g (float[2, 2, 3, 4] x) => (float[2, 2, 6, 12] y) <float[0] none = {}, int64[4] sizes = {2, 2, 6, 12}> {
        y = Resize <mode = "nearest"> (x, none, none, sizes) }""", "unsupported method"),
    FloatModel("tile", """g (float[BATCH, 2, 3] x) => (float[BATCH, 4, 9] y) <int64[3] n = {1, 2, 3}> {
        a = Tile (x, n)  y = Sigmoid (a) }""", "General synthesis error"),
    FloatModel("twin_output", """g (float[BATCH, 4] x) => (float[BATCH, 4] y, float[BATCH, 4] z) {
        y = Relu(x)
        z = Identity(y) }""", "General synthesis error"),
    FloatModel("half_gemm", f"""g (float16[BATCH, 6] x) => (float[BATCH, 4] y, float16[BATCH, 4] z)
        <{tensor("w", (4, 6))}, {tensor("b", (4,))}> {{
        a = Gemm <transB = 1, alpha = 0.5> (x, w, b)
        y = Cast <to = 1> (a)
        z = Gemm <transB = 1, beta = 2.0> (x, w, b) }}""", "Gemm ToTypedTranslator", tolerance=4e-3, half=True),
]


def build(model: FloatModel, opset: int, batch: int | str) -> onnx.ModelProto:
    head = f'<ir_version: 8, opset_import: ["": {opset}, "com.microsoft": 1]> '
    made = onnx.parser.parse_model(head + model.text.replace("BATCH", str(batch)))
    if "com.microsoft" not in model.text:
        del made.opset_import[1]
    if model.half:
        for i, old in enumerate(made.graph.initializer):
            array = onnx.numpy_helper.to_array(old).astype(np.float16)
            made.graph.initializer[i].CopyFrom(onnx.numpy_helper.from_array(array, old.name))
    return made
