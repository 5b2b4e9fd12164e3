"""--html: pages in a headless browser: what they show, clicks, keys, search; no error, no request, nothing executed from a model.

$QREWRITE_PICTURES names a folder for screenshots, in light and dark. The picture in docs/debug.md is taken here, too.
"""
import base64
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from browser import Browser
from onnx import TensorProto, helper, numpy_helper

PROGRAM = os.environ["QREWRITE"]
SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
PICTURES = os.environ.get("QREWRITE_PICTURES")


def run(folder, *args, code=0):
    done = subprocess.run([PROGRAM, *map(str, args)], cwd=folder, capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def save(path, nodes, weights=(), opset=17, inputs=(("x", [1, 4, 8, 8]),), outputs=None):
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs]
    made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs or [nodes[-1].output[0]]]
    graph = helper.make_graph(nodes, "g", info, made, [numpy_helper.from_array(v, n) for n, v in weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name=f"{op}_{output}", **attributes)


def residual(path, blocks=16):
    """Convolutions with their normalization and shortcuts, as residual networks have them."""
    rng = np.random.default_rng(3)
    nodes, weights, last = [], [("scale", np.ones(8, np.float32)), ("shift", np.zeros(8, np.float32))], "x"
    for i in range(blocks):
        weights.append((f"w{i}", rng.normal(size=(8, 8 if i else 4, 3, 3)).astype(np.float32)))
        nodes += [node("Conv", f"{last} w{i}", f"c{i}", pads=[1, 1, 1, 1]),
                  node("BatchNormalization", f"c{i} scale shift shift scale", f"n{i}"), node("Relu", f"n{i}", f"r{i}")]
        last = f"r{i}"
        if i:
            nodes.append(node("Add", f"r{i - 1} r{i}", f"a{i}"))
            last = f"a{i}"
    save(path, nodes + [node("GlobalAveragePool", last, "y")], weights)


def attention(path, layers=3):
    """Layers of attention, with the operators that exporters leave around them."""
    rng = np.random.default_rng(4)
    nodes, last = [], "x"
    weights = [("k", np.float32(8)), ("shape", np.array([0, 0, 2, 8], np.int64)), ("flat", np.array([0, 0, 16], np.int64))]
    for i in range(layers):
        for name in "qkvo":
            weights.append((f"{name}{i}", rng.normal(size=(16, 16)).astype(np.float32)))
        for name in "qkv":
            nodes += [node("MatMul", f"{last} {name}{i}", f"m{name}{i}"), node("Reshape", f"m{name}{i} shape", f"s{name}{i}"),
                      node("Transpose", f"s{name}{i}", f"t{name}{i}", perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])]
        nodes += [node("MatMul", f"tq{i} tk{i}", f"l{i}"), node("Div", f"l{i} k", f"d{i}"), node("Softmax", f"d{i}", f"p{i}", axis=-1),
                  node("MatMul", f"p{i} tv{i}", f"h{i}"), node("Transpose", f"h{i}", f"u{i}", perm=[0, 2, 1, 3]), node("Reshape", f"u{i} flat", f"f{i}"),
                  node("Identity", f"f{i}", f"i{i}"), node("MatMul", f"i{i} o{i}", f"o_{i}"), node("Add", f"{last} o_{i}", f"a{i}")]
        last = f"a{i}"
    save(path, nodes, weights, inputs=(("x", [1, 4, 16]),))


def long_chain(path, n=10000):
    ops = ["Conv", "Relu", "Identity", "Add", "Sigmoid", "Transpose", "Mul"]
    nodes, last = [], "x"
    for i in range(n):
        op = ops[i % len(ops)]
        operand = {"Conv": " w", "Add": " c", "Mul": " c"}.get(op, "")
        nodes.append(node(op, last + operand, f"v{i}", **({"perm": [0, 1, 2, 3]} if op == "Transpose" else {})))
        last = f"v{i}"
    save(path, nodes, [("w", np.ones((4, 4, 1, 1), np.float32)), ("c", np.float32(0.5))])


ODD = ["</script><script>hacked = 1</script>", "\"quote's\" & <b>", "\u202ertl", "節点/0", "x" * 3000, "tab\tnewline\n", "__proto__", "constructor", "",
       " ", "<!--", "<img src=x onerror=hacked=1>"]


def odd(path):
    nodes, last = [], "x"
    for i, name in enumerate(ODD):
        nodes.append(helper.make_node(["Identity", "Relu"][i % 2], [last], [f"{name}#{i}"], name=name))
        last = f"{name}#{i}"
    then = helper.make_graph([helper.make_node("Identity", [last], ["s"]), helper.make_node("Neg", ["s"], ["r"])], "then", [],
                             [helper.make_tensor_value_info("r", TensorProto.FLOAT, ["</script>"])])
    other = helper.make_graph([helper.make_node("Neg", [last], ["q"])], "else", [], [helper.make_tensor_value_info("q", TensorProto.FLOAT, None)])
    nodes.append(helper.make_node("If", ["c"], ["y"], name="toString", then_branch=then, else_branch=other))
    nodes.append(helper.make_node("Odd</script>", ["y"], ["z"], domain='a"b', **{'a"</script>': ODD[-1]}))
    graph = helper.make_graph(nodes, "</title>", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["</script>", 4]),
                                                  helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid('a"b', 1)], ir_version=8, producer_name="</script>")
    onnx.save(model, path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("page")
    (path / "cnn.onnx").write_bytes((SOURCE / "fixtures/models/qdq_cnn.onnx").read_bytes())
    residual(path / "residual.onnx")
    attention(path / "attention.onnx")
    long_chain(path / "long.onnx")
    odd(path / "odd.onnx")
    empty = helper.make_graph([], "g", [], [])
    onnx.save(helper.make_model(empty, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path / "empty.onnx")
    for name, rules in (("cnn", "ezkl_dequant"), ("residual", "optimize"), ("attention", "optimize"), ("long", "optimize"), ("odd", "optimize")):
        run(path, "--rules", rules, f"{name}.onnx", "-o", f"{name}.out.onnx", "--html", f"{name}.html", "-q")
    run(path, "diff", "residual.onnx", "residual.out.onnx", "--html", "diff.html", code=1)
    run(path, "diff", "empty.onnx", "empty.onnx", "--html", "empty.html")
    return path


@pytest.fixture(scope="module")
def shared_browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(shared_browser):
    """Whatever a test does, the page has said nothing on the console and asked for nothing but itself."""
    shared_browser.errors.clear()
    shared_browser.requests.clear()
    yield shared_browser
    shared_browser.js("1")  # what was on its way has come
    assert shared_browser.errors == []
    assert all(url.startswith("file:") and url.endswith(".html") for url in shared_browser.requests), shared_browser.requests


def test_overview(browser, folder):
    browser.open(folder / "cnn.html")
    assert browser.text(".figures").split() == "Nodes 26→9 Weights 1.0 KiB→3.5 KiB Rewrites 13 2 edits".split()
    assert "DequantizeLinear\n13 → 0" in browser.text(".bars") and "a pair of eight bits with one scale" in browser.text(".columns")
    browser.click(".rule-line", at=1)
    assert browser.text(".step-head h2") == "plain-weights"


def test_steps(browser, folder):
    browser.open(folder / "cnn.html")
    browser.click("nav button[data-sheet=steps]")
    assert "1 of 13" in browser.text(".walk")
    browser.key("j")
    browser.key("ArrowRight")
    browser.key("k")
    assert "2 of 13" in browser.text(".walk") and browser.js("location.hash") == "#steps/2"
    browser.click(".row[data-step='3']")
    assert browser.text(".step-head h2") == "plain-pair" and browser.text(".step-head .doc").startswith("a pair of eight bits")
    assert "match: |" in browser.text(".step") and "tests:" not in browser.text(".step")
    names = dict(row.split("\t", 1) for row in browser.text(".names").splitlines() if "\t" in row)
    assert "x" in names and names["x"].startswith("`"), names
    panes = browser.js("[...document.querySelectorAll('.pane')].map((p) => [...p.querySelectorAll('.node:not(.near) .op')].map((t) => t.textContent))")
    assert panes[0] == ["QuantizeLinear", "DequantizeLinear"] and "QuantizeLinear" not in panes[1]
    browser.js("(() => { const s = document.querySelector('.list select'); s.value = '1'; s.dispatchEvent(new Event('change')); })()")
    browser.settle()
    assert browser.text(".step-head h2") == "plain-weights" and "2 of 13" in browser.text(".walk")
    before = browser.text(".step-head .at")
    browser.key("j")
    assert browser.text(".step-head h2") == "plain-weights" and browser.text(".step-head .at") != before
    browser.js("history.back()")
    browser.settle()
    assert browser.text(".step-head .at") == before
    browser.click(".walk button[aria-label='Next step']")
    assert "3 of 13" in browser.text(".walk")


def test_every_step_has_a_picture(browser, folder):
    for name in ("cnn", "residual", "attention"):
        browser.open(folder / f"{name}.html")
        total = browser.js("JSON.parse(document.getElementById('data').textContent).steps.length")
        assert total >= 3
        for i in range(1, total + 1, max(1, total // 12)):
            browser.js(f"location.hash = '#steps/{i}'")
            browser.settle()
            assert browser.count(".pane svg") >= 1 and browser.count(".pane:first-child .node:not(.near)") >= 1, (name, i)


def test_details(browser, folder):
    browser.open(folder / "residual.html")
    browser.js("location.hash = '#changes'")
    browser.settle()
    browser.click(".pane:last-child .node.s3")
    words = browser.text("#details")
    assert words.startswith("Conv") and "pads" in words and "[1, 1, 1, 1]" in words and "KiB" in words and "float[8, 4, 3, 3]" in words
    browser.click("#details summary")
    assert browser.count("#details .histogram rect") == 32
    browser.click("#details .links button")
    assert browser.js("location.hash").startswith("#around/") and browser.count(".node.chosen") >= 1
    browser.key("Escape")
    assert not browser.js("document.querySelector('main').classList.contains('with-details')")


def test_search(browser, folder):
    browser.open(folder / "residual.html")
    browser.key("/")
    browser.type("conv c7")
    assert browser.text(".found").split()[:2] == ["Nodes", "Conv"] and browser.count(".found button") == 1
    browser.key("Enter")
    assert browser.text(".sheet h2").startswith("Around") and browser.text("#details h2") == "Conv"
    browser.key("/")
    browser.type("nothing like this")
    assert browser.text(".found") == "Nothing has this name."
    browser.key("Escape")
    browser.key("/")
    browser.type("w1")
    assert "CONSTANTS" in browser.text(".found").upper()
    browser.key("Escape")
    farther = browser.count(".node")
    browser.click(".walk button[aria-label='Farther']")
    assert browser.count(".node") > farther


def test_changes_fold_what_is_equal(browser, folder):
    browser.open(folder / "residual.html")
    browser.click("nav button[data-sheet=changes]")
    folded = browser.count(".folded")
    assert folded >= 3 and browser.count(".flow") == 0
    equal = int(browser.text(".folded").split()[0])
    browser.click(".folded")
    assert browser.count(".flow button") == equal
    browser.click(".flow button")
    assert browser.text("#details h2")
    browser.click(".folded")
    assert browser.count(".flow") == 0
    top = browser.js("document.getElementById('view').scrollTop")
    browser.key("j")
    browser.key("j")
    assert browser.js("document.getElementById('view').scrollTop") > top


def test_two_models(browser, folder):
    browser.open(folder / "diff.html")
    assert [browser.js(f"document.querySelectorAll('nav button')[{i}].dataset.sheet") for i in range(2)] == ["overview", "changes"]
    assert "16 removed" in browser.text(".figures")
    browser.open(folder / "empty.html")
    browser.click("nav button[data-sheet=changes]")
    assert "All 0 nodes are equal" in browser.text("#view")


def test_strange_names(browser, folder):
    browser.open(folder / "odd.html")
    for sheet in ("overview", "steps", "changes"):
        browser.click(f"nav button[data-sheet={sheet}]")
        browser.js("document.getElementById('view').scrollTop = 1e6")
        browser.settle()
    assert "then_branch of If `toString`" in browser.text("#view")
    assert browser.js("typeof hacked") == "undefined" and browser.count("img") == 0 and browser.count("body > script") == 4
    for i in range(1, browser.js("JSON.parse(document.getElementById('data').textContent).steps.length") + 1):
        browser.js(f"location.hash = '#steps/{i}'")
        browser.settle()
    browser.key("/")
    browser.type("quote's")
    assert "\"quote's\" & <b>" in browser.text(".found")
    browser.key("Escape")
    for i in range(browser.js("JSON.parse(document.getElementById('data').textContent).nodes.length")):
        browser.js(f"location.hash = '#around/{i}'")
        browser.settle()
        assert browser.text("#details h2")
    for text in ("\u202e", "\t"):
        assert text not in browser.js("document.querySelector('main').textContent")


def test_ten_thousand_nodes(browser, folder):
    browser.open(folder / "long.html")
    for key in "23":
        browser.key(key)
        assert browser.count("svg .node") > 0
    # Only what is in sight is laid out.
    assert browser.count(".row") < 60 and browser.count(".node") < 400 and browser.count("*") < 8000
    browser.key("2")
    browser.js("document.querySelector('.rows').scrollTop = 1e9")
    browser.settle()
    last = browser.js("JSON.parse(document.getElementById('data').textContent).steps.length")
    browser.click(".row:last-child")
    assert last == 4285 and f"{last:,} of {last:,}" in browser.text(".walk")
    browser.key("/")
    browser.type("v9989")
    browser.key("Enter")
    assert browser.text("#details h2") == "Conv"


def test_light_dark_and_narrow(browser, folder):
    grounds = []
    for dark in (False, True):
        browser.open(folder / "cnn.html", dark)
        grounds.append(browser.js("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]
    for width in (1360, 700):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=860, deviceScaleFactor=1, mobile=False)
        for sheet in ("overview", "steps/14", "changes", "around/3"):
            browser.js(f"location.hash = '#{sheet}'")
            browser.settle()
            assert browser.js("document.documentElement.scrollWidth <= innerWidth"), (width, sheet)
    browser.call("Emulation.setDeviceMetricsOverride", width=1360, height=860, deviceScaleFactor=1, mobile=False)


def test_page_of_debug(browser, tmp_path):
    from debug_models import pair
    pair(tmp_path, outlier=True)
    run(tmp_path, "debug", "--float", "float.onnx", "--quant", "quant.onnx", "--inputs", "inputs.npz", "--runtime", "builtin", "--html", "debug.html")
    browser.open(tmp_path / "debug.html")
    assert browser.count("svg circle") > 5 and "Where the quantized model loses precision" in browser.text("h1")
    light = browser.js("getComputedStyle(document.body).backgroundColor")
    browser.open(tmp_path / "debug.html", dark=True)
    assert browser.js("getComputedStyle(document.body).backgroundColor") != light
    if PICTURES:
        browser.picture(Path(PICTURES) / "debug_dark.png")


# A picture's size and its mean colours, on a grid of 40 dots a cell.
LOOK = """(async (base64) => {
  const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]));
  const [w, h] = [bitmap.width / 40 | 0, bitmap.height / 40 | 0];
  const canvas = new OffscreenCanvas(w, h).getContext('2d');
  canvas.imageSmoothingQuality = 'high';
  canvas.drawImage(bitmap, 0, 0, w, h);
  return [bitmap.width, bitmap.height, Array.from(canvas.getImageData(0, 0, w, h).data)];
})"""


def test_picture_in_the_docs(browser, tmp_path):
    """docs/debug.md shows the page of its own session as it is today; QREWRITE_UPDATE_GOLDEN=1 takes the picture anew."""
    from debug_models import QuantType, pair
    text = (SOURCE / "docs/debug.md").read_text()
    shown = SOURCE / "docs" / re.search(r"^!\[.+\]\((.+\.png)\)$", text, re.M)[1]
    command = re.search(r"^\$ qrewrite (debug .*)$", text, re.M)[1]
    pair(tmp_path, outlier=True, options={"activation_type": QuantType.QUInt16, "extra_options": {"UseQDQContribOps": True}})
    run(tmp_path, *shlex.split(command), "--html", "debug.html")
    browser.call("Emulation.setDeviceMetricsOverride", width=1000, height=1440, deviceScaleFactor=1, mobile=False)
    try:
        browser.open(tmp_path / "debug.html")
        assert "c2" in browser.text("main") and "originator" in browser.text("main") and browser.count("svg path") == 3
        taken = shown if os.environ.get("QREWRITE_UPDATE_GOLDEN") else tmp_path / "debug.png"
        browser.picture(taken)
        looks = [browser.js(f"{LOOK}('{base64.b64encode(path.read_bytes()).decode()}')") for path in (taken, shown)]
    finally:
        browser.call("Emulation.setDeviceMetricsOverride", width=1360, height=860, deviceScaleFactor=1, mobile=False)
    assert [look[:2] for look in looks] == [[1000, 1440]] * 2 and shown.stat().st_size < 300_000
    # Fonts differ from machine to machine (serifs: 0.14); a page without its suggestions is at 1.7, an empty one at 4.
    new, old = (np.array(look[2], float) for look in looks)
    assert np.abs(new - old).mean() < 1


@pytest.mark.skipif(not PICTURES, reason="no folder for pictures is named")
def test_pictures(browser, folder):
    for name in ("cnn", "residual", "attention", "long", "odd"):
        for dark in (False, True):
            browser.open(folder / f"{name}.html", dark)
            for i, sheet in enumerate(("overview", "steps/3", "changes", "around/5")):
                browser.js(f"location.hash = '#{sheet}'")
                browser.settle()
                browser.picture(Path(PICTURES) / f"{name}_{i}_{'dark' if dark else 'light'}.png")


# --- without a browser


def data_of(path):
    text = path.read_text()
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def test_the_page_is_the_same_each_time(folder):
    first = (folder / "cnn.html").read_bytes()
    run(folder, "--rules", "ezkl_dequant", "cnn.onnx", "-o", "cnn.out.onnx", "--html", "cnn.html", "-q")
    assert (folder / "cnn.html").read_bytes() == first
    assert b"http" not in first.replace(b"http://www.w3.org/2000/svg", b"").replace(b"http-equiv", b"").replace(
        b"https://openjsf.org/", b"").replace(b"http://underscorejs.org/", b"")


def test_steps_are_the_firings_of_the_trace(folder):
    run(folder, "--rules", "ezkl_dequant", "cnn.onnx", "-o", "cnn.out.onnx", "--html", "both.html", "--trace", "trace.jsonl", "-q")
    trace = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    data = data_of(folder / "both.html")
    steps = [(s["number"], data["strings"][data["rules"][s["rule"]]["name"]], s["before"], s["after"]) for s in data["steps"]]
    assert steps == [(t["number"], t["rule"], t["before"], t["after"]) for t in trace]


def test_check_and_errors(folder, tmp_path):
    model = folder / "cnn.onnx"
    run(tmp_path, "--rules", "ezkl_dequant", model, "--check", "--html", "page.html", code=1)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    run(tmp_path, "--rules", "ezkl_dequant", model, "-o", "out.onnx", "--html", "page.html/page.html", code=6)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(model.read_bytes())
    assert "is the model itself" in run(tmp_path, "--rules", "ezkl_dequant", copy, "-o", "out.onnx", "--html", copy, code=2)
    assert "would replace" in run(tmp_path, "diff", copy, model, "--html", copy, code=2)
    assert "would replace" in run(tmp_path, "diff", model, copy, "--html", copy, code=2)
    assert copy.read_bytes() == model.read_bytes()


def test_rules_of_a_set_that_a_phase_uses_say_what_they_do(tmp_path):
    weights = [("w", np.ones((2, 4, 2, 2), np.float32)), ("s", np.float32(0.5)), ("z", np.uint8(3))]
    save(tmp_path / "m.onnx", [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"),
                               node("Conv", "d w", "y", dilations=[2, 2])], weights)
    run(tmp_path, "--rules", SOURCE / "rules" / "ezkl_dequant.yaml", "m.onnx", "-o", "o.onnx", "--html", "p.html")
    assert "a dilated kernel is a larger one with zeros in between" in (tmp_path / "p.html").read_text()
