"""The command: what it prints, what it writes, how it exits.

Outputs are compared with tests/golden/cli/*.txt; QREWRITE_UPDATE_GOLDEN=1 writes them anew.
"""
import json
import os
import re
import stat
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

PROGRAM = os.environ["QREWRITE"]
SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
GOLDEN = SOURCE / "tests" / "golden" / "cli"

CHAIN = """chain (float[N] x) => (float[N] y) {
  a = Relu(x)  b = Relu(a)  c = Relu(b)  d = Sigmoid(c)  y = Identity(d)
}"""
PLAIN = "plain (float[N] x) => (float[N] y) { y = Relu(x) }"
NEG = "neg (float[N] x) => (float[N] y) { a = Relu(x)  y = Neg(a) }"


def save(path, graph):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{graph}')
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    onnx.save(model, path)
    return path


def ops(path):
    return [node.op_type for node in onnx.load(path).graph.node]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Every test runs in an empty folder with the models below; rule files by short names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("QREWRITE_RULES_DIR", str(GOLDEN))
    save("chain.onnx", CHAIN)
    save("plain.onnx", PLAIN)
    save("neg.onnx", NEG)
    return tmp_path


def run(*args, code=0, **kwargs):
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, timeout=60, **kwargs)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.decode(), done.stderr.decode()


def golden(name, text):
    path = GOLDEN / name
    text = text.replace(str(GOLDEN), "GOLDEN")
    if os.environ.get("QREWRITE_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def listing():
    return sorted(p.name for p in Path(".").iterdir())


# --- help and usage


@pytest.mark.parametrize("command", ["", "show", "test", "lint", "rules", "schema", "version"])
def test_help(command):
    out, err = run(*command.split(), "--help")
    assert err == ""
    golden(f"help_{command or 'rewrite'}.txt", out)


@pytest.mark.parametrize("args, message", [
    ([], "qrewrite --rules RULES"),
    (["--rulse", "tidy", "chain.onnx"], "unknown option `--rulse`; did you mean `--rules`?"),
    (["chain.onnx"], "--rules is needed"),
    (["tset"], "did you mean `test`?"),
    (["--rules", "tidy"], "a model is needed"),
    (["--rules", "tidy", "chain.onnx", "plain.onnx"], "unexpected argument `plain.onnx`"),
    (["--rules", "tidy", "chain.onnx", "--set", "mode"], "--set takes NAME=VALUE, not `mode`"),
    (["--rules", "tidy", "chain.onnx", "--set", "mdoe=never"],
     "`tidy` has no parameter `mdoe`; did you mean `mode`?"),
    (["--rules", "tidy", "chain.onnx", "--set", "mode=x"], "`x` is none of auto, never"),
    (["--rules", "tidy", "chain.onnx", "--set", "mode=auto", "--set", "mode=never"], "given twice"),
    (["--rules", "tidy", "chain.onnx", "-o", "a", "--in-place"], "exclude each other"),
    (["--rules", "tidy", "chain.onnx", "-o", "a", "--check"], "--check writes no model"),
    (["--rules", "tidy", "chain.onnx", "--strict", "--allow-partial"], "exclude each other"),
    (["--rules", "tidy", "chain.onnx", "--max-rewrites", "-1"], "`-1` is no count"),
    (["show"], "a model is needed"),
    (["show", "chain.onnx", "--typse"], "did you mean `--types`?"),
    (["show", "chain.onnx", "--node", "("], "is no regular expression"),
    (["show", "chain.onnx", "--around", "zz"], "`zz`"),
    (["test"], "a rule file is needed"),
    (["lint"], "a rule file is needed"),
])
def test_usage_errors(args, message):
    before = listing()
    out, err = run(*args, code=2)
    assert out == ""
    assert message in err
    assert listing() == before


# --- rewriting


def test_rewrites_beside_the_input():
    before = Path("chain.onnx").read_bytes()
    out, err = run("--rules", "tidy", "chain.onnx")
    assert err == ""
    golden("report.txt", out)
    assert ops("chain.tidy.onnx") == ["Relu", "Sigmoid", "Identity"]
    onnx.checker.check_model("chain.tidy.onnx", full_check=True)
    assert Path("chain.onnx").read_bytes() == before


def test_unchanged_model_is_a_copy():
    out, _ = run("--rules", GOLDEN / "tidy.yaml", "plain.onnx", "-o", "out.onnx")
    assert out == "0 rewrites, nothing changed; wrote out.onnx\n"
    assert Path("out.onnx").read_bytes() == Path("plain.onnx").read_bytes()
    run("--rules", "tidy", "chain.onnx", "-o", "once.onnx")
    out, _ = run("--rules", "tidy", "once.onnx", "-o", "twice.onnx")
    assert out.startswith("0 rewrites")
    assert Path("once.onnx").read_bytes() == Path("twice.onnx").read_bytes()


def test_check():
    before = listing()
    out, _ = run("--rules", "tidy", "chain.onnx", "--check", code=1)
    assert out.endswith("; would change\n")
    out, _ = run("--rules", "tidy", "plain.onnx", "--check")
    assert out == "0 rewrites, nothing changed\n"
    assert listing() == before


def test_several_rule_sets_in_order():
    out, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--set", "mode=auto")
    golden("report_two_sets.txt", err + out)
    assert ops("chain.tidy.net.onnx") == ["Relu", "Sigmoid", "Identity"]
    # A parameter that one of them declares goes to that one.
    out, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--set", "active=false")
    assert err == ""
    _, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--set", "no=1", code=2)
    assert "`tidy`, `net` have no parameter `no`" in err


def test_quiet():
    out, err = run("--rules", "net", "chain.onnx", "--quiet")
    assert out == ""
    assert err == "warning: Sigmoid `n_d`: Sigmoid is slow (rule `slow`)\n"


def test_json():
    out, _ = run("--rules", "tidy", "--json", "chain.onnx")
    report = json.loads(out)
    assert report["input"] == "chain.onnx"
    assert report["output"] == "chain.tidy.onnx"
    assert report["changed"] is True
    assert report["counts"] == {"relus": 2}
    assert report["nodes"] == {"before": 5, "after": 3}
    assert report["rules"] == [
        {"set": "tidy", "rule": "double-relu", "count": 2, "counters": {"relus": 2}}]
    assert sorted(report) == ["bytes", "changed", "counts", "edits", "files", "folded", "input",
                              "kept", "nodes", "output", "qrewrite", "removed", "rewrites",
                              "rules", "sets", "warnings"]
    out, _ = run("--rules", "net", "--json=report.json", "chain.onnx", "-o", "o.onnx")
    assert out.startswith("0 rewrites, 1 warning")
    report = json.loads(Path("report.json").read_text())
    assert report["warnings"] == [{"set": "net", "rule": "slow", "text": "Sigmoid is slow",
                                   "op": "Sigmoid", "node": "n_d", "output": "d",
                                   "notes": []}]
    out, _ = run("--rules", "tidy", "--json", "chain.onnx", "--check", code=1)
    assert "output" not in json.loads(out)


def test_errors_as_json():
    out, err = run("--rules", "net", "--json", "neg.onnx", code=3)
    assert json.loads(out) == {
        "qrewrite": json.loads(out)["qrewrite"], "input": "neg.onnx", "error": "refused",
        "exit_code": 3,
        "errors": [{"message": "Neg `n_y`: Neg is not wanted (rule `unwanted`)"}]}
    assert err.startswith("error: Neg `n_y`")
    out, _ = run("--rules", "broken", "--json", "chain.onnx", code=4)
    report = json.loads(out)
    assert report["error"] == "invalid_rules"
    assert report["errors"][0]["file"].endswith("broken.yaml")
    assert report["errors"][0]["line"] > 0
    run("--rules", "net", "--json=report.json", "neg.onnx", code=3)
    assert not Path("report.json").exists()


def test_opt_outs():
    run("--rules", "tidy", "chain.onnx", "-o", "o.onnx", "--skip-rule", "double-relu")
    assert ops("o.onnx") == ops("chain.onnx")
    out, _ = run("--rules", "tidy", "chain.onnx", "-o", "o.onnx", "--keep-node", "n_b$")
    assert ops("o.onnx") == ops("chain.onnx")
    assert out == "0 rewrites, 1 node kept, nothing changed; wrote o.onnx\n"
    out, err = run("--rules", "net", "neg.onnx", "-o", "o.onnx", "--keep-op", "N*", "--keep-op", "Q")
    assert err == "warning: no node is a `Q`, which was to be kept\n"
    # Of several rule sets one must have the rule.
    run("--rules", "tidy", "--rules", "net", "chain.onnx", "-o", "o.onnx", "--skip-rule", "slow")
    _, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--skip-rule", "slw", code=2)
    assert err == "error: `tidy`, `net` have no rule `slw`; did you mean `slow`?\n"


def test_model_to_standard_output():
    for output in ["-", "/dev/stdout"]:
        done = subprocess.run([PROGRAM, "--rules", "tidy", "chain.onnx", "-o", output],
                              capture_output=True, check=True)
        assert [n.op_type for n in onnx.load_from_string(done.stdout).graph.node] == [
            "Relu", "Sigmoid", "Identity"]
        assert b"2 rewrites" in done.stderr


# --- the input is safe


def test_in_place():
    run("--rules", "tidy", "chain.onnx", "--in-place")
    assert ops("chain.onnx") == ["Relu", "Sigmoid", "Identity"]
    before = Path("plain.onnx").read_bytes()
    run("--rules", "tidy", "plain.onnx", "--in-place")
    assert Path("plain.onnx").read_bytes() == before


def test_in_place_through_a_link_keeps_the_link():
    Path("link.onnx").symlink_to("chain.onnx")
    run("--rules", "tidy", "link.onnx", "--in-place")
    assert Path("link.onnx").is_symlink()
    assert ops("chain.onnx") == ["Relu", "Sigmoid", "Identity"]


def test_output_that_is_the_input_by_another_name(folder):
    before = Path("chain.onnx").read_bytes()
    os.link("chain.onnx", "hard.onnx")
    Path("sym.onnx").symlink_to("chain.onnx")
    Path("dir").mkdir()
    for output in ["chain.onnx", "./chain.onnx", "dir/../chain.onnx", folder / "chain.onnx",
                   "hard.onnx", "sym.onnx"]:
        _, err = run("--rules", "tidy", "chain.onnx", "-o", output, code=2)
        assert "is the model itself; --in-place replaces it" in err
    _, err = run("--rules", "tidy", "chain.onnx", "--json=sym.onnx", code=2)
    assert "is the model itself" in err
    assert Path("chain.onnx").read_bytes() == before
    rules = Path("my.yaml")
    rules.write_text((GOLDEN / "tidy.yaml").read_text())
    _, err = run("--rules", rules, "chain.onnx", "-o", "my.yaml", code=2)
    assert "is a rule file" in err
    _, err = run("--rules", "tidy", "chain.onnx", "-o", "a.onnx", "--json=a.onnx", code=2)
    assert "one file" in err


def test_output_through_a_link_writes_its_target():
    Path("real.onnx").write_bytes(b"")
    Path("out.onnx").symlink_to("real.onnx")
    run("--rules", "tidy", "chain.onnx", "-o", "out.onnx")
    assert Path("out.onnx").is_symlink()
    assert ops("real.onnx") == ["Relu", "Sigmoid", "Identity"]


# --- errors


def test_refused_by_a_rule():
    before = listing()
    out, err = run("--rules", "net", "neg.onnx", code=3)
    assert out == ""
    assert err.startswith("error: Neg `n_y`: Neg is not wanted (rule `unwanted`)\n")
    assert listing() == before
    out, err = run("--rules", "net", "neg.onnx", "--allow-partial")
    assert err == "warning: Neg `n_y`: Neg is not wanted (rule `unwanted`)\n"
    assert out == "0 rewrites, 1 warning, nothing changed; wrote neg.net.onnx\n"


def test_strict():
    before = listing()
    _, err = run("--rules", "net", "chain.onnx", "--strict", code=3)
    assert err == "error: Sigmoid `n_d`: Sigmoid is slow (rule `slow`)\n"
    assert listing() == before


def test_bad_rule_file():
    _, err = run("--rules", "broken", "chain.onnx", code=4)
    golden("broken_rules.txt", err)


def test_bad_model():
    Path("empty.onnx").write_bytes(b"")
    Path("text.onnx").write_text("hello, world\n")
    for model in ["empty.onnx", "text.onnx"]:
        for args in [["--rules", "tidy", model], ["show", model]]:
            out, err = run(*args, code=5)
            assert out == ""
            assert model in err


def test_files_that_cannot_be_read():
    Path("folder").mkdir()
    for path in ["missing.onnx", "folder", "chain.onnx/x"]:
        for args in [["--rules", "tidy", path], ["show", path]]:
            _, err = run(*args, code=6)
            assert path in err
    for rules in ["./missing.yaml", "folder/", "folder", "nosuchset"]:
        for args in [["--rules", rules, "chain.onnx"], ["test", rules], ["lint", rules],
                     ["rules", rules]]:
            _, err = run(*args, code=6)
            assert rules.strip("/") in err
    _, err = run("--rules", "tidi", "chain.onnx", code=6)
    assert "did you mean `tidy`?" in err


def test_outputs_that_cannot_be_written():
    Path("folder").mkdir()
    before = listing()
    for output in ["folder", "missing/out.onnx", "chain.onnx/out.onnx"]:
        out, err = run("--rules", "tidy", "chain.onnx", "-o", output, code=6)
        assert out == ""
        assert output in err
    run("--rules", "tidy", "chain.onnx", "--json=missing/folder/\0x".replace("\0", "/"), "-o",
        "folder", code=6)
    assert listing() == before
    assert list(Path("folder").iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission():
    Path("folder").mkdir()
    Path("folder").chmod(stat.S_IRUSR | stat.S_IXUSR)
    _, err = run("--rules", "tidy", "chain.onnx", "-o", "folder/out.onnx", code=6)
    assert "ermission" in err


def test_limits():
    before = listing()
    _, err = run("--rules", "loop", "neg.onnx", code=7)
    assert "`there`" in err and "`back`" in err
    assert listing() == before


def test_standard_output_that_cannot_be_written():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "schema"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 6
    assert b"cannot write to standard output" in done.stderr
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([PROGRAM, "schema"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert done.returncode == 6
    assert done.stderr == b""


def test_names_of_a_model_are_printed_without_control_characters():
    model = onnx.load("neg.onnx")
    for node in model.graph.node:
        node.name = "\x1b[31m\r\n" + node.name
    onnx.save(model, "hostile.onnx")
    for args in [["--rules", "net", "hostile.onnx"], ["--rules", "net", "--json", "hostile.onnx"],
                 ["--rules", "net", "hostile.onnx", "--allow-partial", "--json"],
                 ["show", "hostile.onnx", "--names"]]:
        done = subprocess.run([PROGRAM, *args], capture_output=True)
        assert done.returncode in (0, 3)
        assert not set(done.stdout + done.stderr) & (set(range(32)) - {10} | {127})


def test_texts_of_rule_files_are_printed_without_control_characters():
    text = (GOLDEN / "net.yaml").read_text()
    Path("evil.yaml").write_text(text.replace("is not wanted", r"\e[31mis not wanted"))
    _, err = run("--rules", "evil.yaml", "neg.onnx", code=3)
    assert r"Neg \x1b[31mis not wanted" in err


# --- other commands


def test_show():
    golden("show.txt", run("show", "chain.onnx")[0])
    golden("show_stats.txt", run("show", "chain.onnx", "--stats")[0])
    out, _ = run("show", "chain.onnx", "--node", "^n_[bc]$")
    assert out == "b = Relu(a)\nc = Relu(b)\n"
    out, _ = run("show", "chain.onnx", "--around", "n_d", "--distance", "1")
    assert out == "c = Relu(b)\nd = Sigmoid(c)\ny = Identity(d)\n"


def test_rule_tests():
    out, _ = run("test", "tidy")
    assert out == "2 passed, 0 failed\n"
    out, _ = run("test", "-v", "tidy", "failing", code=1)
    golden("test_failures.txt", out)
    out, err = run("test", "tidy", "broken", code=4)
    assert out == "2 passed, 0 failed; 1 rule file not loaded\n"
    assert "mtach" in err


def test_lint():
    out, err = run("lint", "tidy", "net")
    golden("lint.txt", err + out)
    run("lint", "net", "--strict", code=1)
    out, err = run("lint", "broken", "tidy", code=1)
    assert "mtach" in err


def test_rules():
    out, err = run("rules", "tidy", "net")
    golden("rules_described.txt", out)
    out, err = run("rules", code=4)  # `broken` is among them
    assert re.search(r"^tidy +Relu twice is Relu once\.$", out, re.M)
    assert "mtach" in err


def test_schema_and_version():
    schema = json.loads(run("schema")[0])
    assert "rules" in schema["properties"]
    out, _ = run("version")
    project = (SOURCE / "CMakeLists.txt").read_text()
    assert f"project(qrewrite VERSION {out.split()[1]} " in project


# --- files beside the model

QUANTIZED = """q (float[2] x, float[3] p) => (int8[2] y, int8[3] r)
  <float s = {0.5}, int8 z = {3}, float s2 = {2.0}, int8 z2 = {0}> {
  a = QuantizeLinear(x, s, z)  y = Identity(a)
  b = QuantizeLinear(p, s2, z2)  r = Identity(b)
}"""


def sidecar(npz, code=0):
    return run("--rules", "sidecar", "q.onnx", "--set", "sidecar=side", "--set",
               f"inputs_npz={npz}", "-o", "out.onnx", code=code)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_npz(write):
    save("q.onnx", QUANTIZED)
    first = np.array([[0.26, -1.0], [100.0, 3.0]], dtype=np.float64)
    second = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    write("in.npz", second_name=first, a=second)
    sidecar("in.npz")
    data = np.load("side/inputs.npz")
    assert data.files == ["second_name", "a"]
    assert data["second_name"].dtype == np.int8
    np.testing.assert_array_equal(data["second_name"], [[4, 1], [127, 9]])
    np.testing.assert_array_equal(data["a"], np.rint(np.arange(6).reshape(2, 3) / 2))
    assert zipfile.ZipFile("side/inputs.npz").testzip() is None
    rows = json.loads(Path("side/sidecar.json").read_text())["inputs"]
    assert rows == [{"name": "x", "scale": 0.5, "zero_point": 3, "dtype": "int8"},
                    {"name": "p", "scale": 2.0, "zero_point": 0, "dtype": "int8"}]
    assert [i.type.tensor_type.elem_type for i in onnx.load("out.onnx").graph.input] == [3, 3]


def test_npz_arrays_of_inputs_without_a_row_stay():
    save("q.onnx", QUANTIZED.replace("b = QuantizeLinear(p, s2, z2)", "b = Cast<to=3>(p)"))
    np.savez("in.npz", x=np.array([1.0, 2.0], np.float32), p=np.array([1.5] * 3, np.float32))
    sidecar("in.npz")
    data = np.load("side/inputs.npz")
    np.testing.assert_array_equal(data["x"], np.array([5, 7], np.int8))
    np.testing.assert_array_equal(data["p"], np.array([1.5] * 3, np.float32))
    assert data["p"].dtype == np.float32


def damaged(good):
    """Archives that are wrong in one way each, and a part of the message."""
    yield b"", "no .npz archive"
    yield b"PK\x05\x06", "no .npz archive"
    yield good[:-30], "no .npz archive"
    flipped = bytearray(good)
    flipped[len(good) // 3] ^= 0xff
    yield bytes(flipped), "checksum"
    yield good[:10] + good[40:], "in.npz"


def test_damaged_npz():
    save("q.onnx", QUANTIZED)
    before = listing()
    np.savez("good.npz", x=np.arange(1000, dtype=np.float32), p=np.ones(3, np.float32))
    good = Path("good.npz").read_bytes()
    Path("good.npz").unlink()
    for data, message in damaged(good):
        Path("in.npz").write_bytes(data)
        _, err = sidecar("in.npz", code=2)
        assert message in err
    np.savez("in.npz", x=np.ones(2, np.float32))
    _, err = sidecar("in.npz", code=2)
    assert "1 arrays, but the rules recorded 2 rows" in err
    np.savez("in.npz", x=np.array(["text"]), p=np.ones(3, np.float32))
    _, err = sidecar("in.npz", code=2)
    assert "`x.npy`: its type `<U4` is not supported" in err
    np.savez("in.npz", x=np.array([np.nan, 1], np.float32), p=np.ones(3, np.float32))
    _, err = sidecar("in.npz", code=2)
    assert "array `x`" in err
    Path("in.npz").unlink()
    _, err = sidecar("missing.npz", code=6)
    assert "missing.npz" in err
    sidecar(".", code=6)
    assert listing() == before


def test_npz_is_not_replaced():
    save("q.onnx", QUANTIZED)
    Path("side").mkdir()
    np.savez("side/inputs.npz", x=np.ones(2, np.float32), p=np.ones(3, np.float32))
    before = Path("side/inputs.npz").read_bytes()
    _, err = sidecar("side/inputs.npz", code=2)
    assert "would be replaced" in err
    assert Path("side/inputs.npz").read_bytes() == before
    assert not Path("out.onnx").exists()


def test_side_files_are_not_written_without_the_model():
    save("q.onnx", QUANTIZED)
    np.savez("in.npz", x=np.ones(2, np.float32), p=np.ones(3, np.float32))
    run("--rules", "sidecar", "q.onnx", "--set", "sidecar=side", "-o", "missing/out.onnx", code=6)
    run("--rules", "sidecar", "q.onnx", "--set", "sidecar=side", "--check", code=1)
    assert not Path("side").exists()
    _, err = run("--rules", "sidecar", "q.onnx", "--set", "inputs_npz=in.npz", code=2)
    assert "needs a value for parameter `sidecar`" in err
