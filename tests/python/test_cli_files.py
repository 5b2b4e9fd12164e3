"""The command and files: what it reads and writes, and that nothing is lost or left."""
import contextlib
import json
import os
import stat
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from cli import GOLDEN, PROGRAM, folder, listing, ops, run, save  # noqa: F401


# --- where the result goes


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


def test_a_file_that_is_replaced_keeps_its_permissions():
    for args in [["chain.onnx", "--in-place"], ["plain.onnx", "-o", "chain.onnx"]]:
        for mode in [0o600, 0o664, 0o755]:
            Path("chain.onnx").chmod(mode)
            run("--rules", "tidy", *args)
            assert stat.S_IMODE(Path("chain.onnx").stat().st_mode) == mode


def test_data_file_that_would_be_the_input():
    Path("chain.onnx").rename("out.onnx.data")
    before = Path("out.onnx.data").read_bytes()
    big = numpy_helper.from_array(np.ones(1000, np.float32), "w")
    model = onnx.load("out.onnx.data")
    model.graph.initializer.append(big)
    model.graph.node[0].op_type = "Add"
    model.graph.node[0].input.append("w")
    onnx.save(model, "in.onnx", save_as_external_data=True, location="in.data", size_threshold=0)
    Path("in.onnx").rename("out.onnx.data")
    before = Path("out.onnx.data").read_bytes()
    run("--rules", "tidy", "out.onnx.data", "-o", "out.onnx")
    assert Path("out.onnx.data").read_bytes() == before
    assert Path("out.onnx.2.data").exists()
    onnx.checker.check_model("out.onnx")


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
    outer = Path("outer.yaml")
    outer.write_text("qrewrite: 1\nname: outer\ninclude: [my.yaml]\n")
    before = rules.read_bytes()
    for args in [["-o", "my.yaml"], ["--json=my.yaml"]]:
        _, err = run("--rules", outer, "chain.onnx", *args, code=2)
        assert "`my.yaml` is a rule file" in err
    assert rules.read_bytes() == before
    _, err = run("--rules", "tidy", "chain.onnx", "-o", "a.onnx", "--json=a.onnx", code=2)
    assert "one file" in err


def test_output_through_a_link_writes_its_target():
    Path("real.onnx").write_bytes(b"")
    Path("out.onnx").symlink_to("real.onnx")
    Path("dangling.onnx").symlink_to("new.onnx")
    for link, target in [("out.onnx", "real.onnx"), ("dangling.onnx", "new.onnx")]:
        run("--rules", "tidy", "chain.onnx", "-o", link)
        assert Path(link).is_symlink()
        assert ops(target) == ["Relu", "Sigmoid", "Identity"]


def external(path, location):
    big = numpy_helper.from_array(np.ones(1000, np.float32), "w")
    model = onnx.load("chain.onnx")
    model.graph.initializer.append(big)
    model.graph.node[3].op_type = "Add"
    model.graph.node[3].input.append("w")
    onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)


def contents():
    return {p: p.read_bytes() for p in Path(".").rglob("*") if p.is_file()}


def test_the_report_replaces_nothing_of_the_run():
    external("m.onnx", "weights.bin")
    before = contents()
    for args in [["--check", "--json=weights.bin"], ["-o", "out.onnx", "--json=weights.bin"],
                 ["-o", "weights.bin"], ["-o", "out.onnx", "--json=out.onnx.data"],
                 ["--in-place", "--json=m.onnx"]]:
        _, err = run("--rules", "tidy", "m.onnx", *args, code=2)
        assert "would replace" in err or "written twice" in err or "the model itself" in err
        assert contents() == before


def test_no_file_that_tells_of_a_run_replaces_what_was_read():
    external("m.onnx", "weights.bin")
    external("other.onnx", "others.bin")
    Path("my.yaml").write_text((GOLDEN / "tidy.yaml").read_text())
    before = contents()
    compare = ["debug", "--float", "m.onnx", "--quant", "other.onnx", "--runtime", "builtin"]
    for args in [
        *[["--rules", "./my.yaml", "m.onnx", "-o", "out.onnx", option, path]
          for option in ["--trace", "--html"] for path in ["m.onnx", "weights.bin", "my.yaml", "out.onnx"]],
        ["--rules", "./my.yaml", "m.onnx", "-o", "out.onnx", "--trace", "t", "--html", "t"],
        ["diff", "m.onnx", "other.onnx", "--html", "others.bin"],
        *[[*compare, option, path] for option in ["--html", "--output"]
          for path in ["m.onnx", "weights.bin", "other.onnx", "others.bin"]],
        ["test", "my.yaml", "--junit", "my.yaml"],
    ]:
        _, err = run(*args, code=2)
        assert "would replace" in err or "one file" in err or "itself" in err or "is a rule file" in err, args
        assert contents() == before, args


def test_a_model_does_not_choose_names_of_files():
    Path("home").mkdir()
    external("m.onnx", ".bashrc")
    for rules in ["tidy", "sidecar"]:  # changes it, does not
        out, _ = run("--rules", rules, "m.onnx", "-o", "home/out.onnx")
        assert "wrote home/out.onnx, home/out.onnx.data" in out or rules == "sidecar"
        assert sorted(os.listdir("home")) == ["out.onnx", "out.onnx.data"]
        assert len(onnx.load("home/out.onnx").graph.initializer[0].raw_data) == 4000


def test_in_place_leaves_shared_data_alone():
    external("m.onnx", "m.onnx.data")
    Path("twin.onnx").write_bytes(Path("m.onnx").read_bytes())
    double = """qrewrite: 1
name: double
rules:
  - {name: double, match: 'y = Add(x, w)', replace: 'y = Mul(x, w + w)'}
"""
    Path("double.yaml").write_text(double)
    run("--rules", "./double.yaml", "m.onnx", "--in-place")
    values = {p: numpy_helper.to_array(onnx.load(p).graph.initializer[-1])[0]
              for p in ["m.onnx", "twin.onnx"]}
    assert values == {"m.onnx": 2, "twin.onnx": 1}


# --- files that are not there, or cannot be


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


def test_a_report_that_cannot_be_written_leaves_no_model():
    before = listing()
    out, err = run("--rules", "tidy", "chain.onnx", "-o", "out.onnx", "--json=/dev/full", code=6)
    assert out == ""
    assert "/dev/full" in err
    assert listing() == before


def test_killed_while_writing():
    try:
        os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system has no files without names")
    outputs = [f"y{i}" for i in range(8)]
    fill = " ".join(f"{y} = ConstantOfShape(n)" for y in outputs)
    types = ", ".join(f"float[N] {y}" for y in outputs)
    save("m.onnx", f"big (float x) => ({types}) <int64[1] n = {{16000000}}> {{ {fill} }}")
    before = listing()
    process = subprocess.Popen([PROGRAM, "--rules", "optimize", "m.onnx", "-o", "out.onnx"],
                               env={k: v for k, v in os.environ.items() if "QREWRITE" not in k})

    def opened():
        for link in Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # it may be closed by now
                yield os.readlink(link)

    while not any("(deleted)" in path and os.getcwd() in path for path in opened()):
        assert process.poll() is None
    process.kill()
    process.wait()
    assert listing() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission():
    Path("folder").mkdir()
    Path("folder").chmod(stat.S_IRUSR | stat.S_IXUSR)
    _, err = run("--rules", "tidy", "chain.onnx", "-o", "folder/out.onnx", code=6)
    assert "ermission" in err


@pytest.mark.parametrize("report", [[], ["--json"]])
def test_nothing_is_written_if_the_report_cannot_be_told(report):
    before = listing()
    command = [PROGRAM, "--rules", "tidy", "chain.onnx", "-o", "out.onnx", *report]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 6
    assert done.stderr.count(b"cannot write to standard output") == 1
    assert listing() == before
    closed = subprocess.run(command, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert closed.returncode == 6
    assert listing() == before
    subprocess.run([*command, "-q"][:-1 - len(report)] + ["-q"], check=True,
                   preexec_fn=lambda: os.close(1))
    assert ops("out.onnx") == ["Relu", "Sigmoid", "Identity"]


def test_findings_that_cannot_be_told():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "--rules", "tidy", "chain.onnx", "--check"], stdout=full,
                              stderr=subprocess.PIPE)
    assert done.returncode == 6


def test_models_are_regular_files():
    os.mkfifo("fifo.onnx")
    for path in ["/dev/zero", "/dev/null", "fifo.onnx"]:
        for args in [["--rules", "tidy", path, "-o", "out.onnx"], ["show", path]]:
            _, err = run(*args, code=6)
            assert f"cannot read `{path}`: it is not a regular file" in err
    done = subprocess.run([PROGRAM, "show", "/dev/stdin"], stdin=open("chain.onnx", "rb"),
                          capture_output=True)
    assert done.returncode == 0


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


def test_texts_do_not_turn_the_direction_of_writing():
    Path("turned.yaml").write_text("qrewrite: 1\nname: turned\nsummary: \"a\u202eb\\tc\"\n"
                                   "rules: [{name: r, match: y = Neg(x), replace: y = Abs(x)}]\n")
    out, _ = run("rules", "./turned.yaml")
    assert "a\\u{202e}b\tc" in out
    assert "\u202e" not in out
    done = subprocess.run([PROGRAM, "show", b"no\xff.onnx"], capture_output=True)
    assert b"no\\xff.onnx" in done.stderr


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


def test_npz_arrays_go_to_the_inputs_of_their_names_in_any_order():
    save("q.onnx", QUANTIZED.replace("float[3] p", "float[2] p"))
    np.savez("in.npz", p=np.array([4.0, 6.0], np.float32), other=np.zeros(1), x=np.array([1.0, 2.0], np.float32))
    sidecar("in.npz")
    data = np.load("side/inputs.npz")
    assert data.files == ["p", "other", "x"]
    np.testing.assert_array_equal(data["x"], np.array([5, 7], np.int8))
    np.testing.assert_array_equal(data["p"], np.array([2, 3], np.int8))
    np.savez("in.npz", p=np.array([4.0, 6.0], np.float32), q=np.array([1.0, 2.0], np.float32))
    _, err = sidecar("in.npz", code=2)
    assert "array `p` stands where `x` is expected, of which none has the name" in err


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


def test_inputs_of_rules_are_not_replaced():
    save("q.onnx", QUANTIZED)
    np.savez("in.npz", x=np.ones(2, np.float32), p=np.ones(3, np.float32))
    before = contents()
    for args in [["-o", "in.npz"], ["-o", "out.onnx", "--json=in.npz"]]:
        _, err = run("--rules", "sidecar", "q.onnx", "--set", "sidecar=side", "--set",
                     "inputs_npz=in.npz", *args, code=2)
        assert "`in.npz` would replace a file that was read" in err
    assert contents() == before
    os.mkfifo("pipe.npz")
    _, err = sidecar("pipe.npz", code=6)
    assert "not a regular file" in err


def writing(*files, default=""):
    """A rule set that writes these files."""
    entries = "".join(f"  - {{file: '{file}', json: [t]}}\n" for file in files)
    param = f"params: {{p: {{type: path, default: '{default}', doc: a folder}}}}\n" if default else \
        "params: {p: {type: path, doc: a folder}}\n"
    Path("writing.yaml").write_text(f"""qrewrite: 1
name: writing
{param}phases:
  - {{name: all, rules: all}}
write:
{entries}rules:
  - {{name: r, match: y = Neg(x), replace: y = Abs(x), record: {{t: {{of: x}}}}}}
""")
    return "./writing.yaml"


def test_rule_files_write_where_the_user_said():
    Path("o").mkdir()
    Path("there").mkdir()
    before = contents()
    for file in ["/tmp/x.json", "../x.json", "a/../../x.json", "..", ".bashrc", "a/.b/x.json",
                 "{p}/../x.json", "{p}/.x.json"]:
        _, err = run("--rules", writing(file), "neg.onnx", "-o", "o/n.onnx", "--set", "p=there",
                     code=4)
        assert "is not in a folder that the user named" in err
        assert "writing.yaml:" in err
    for default in ["/tmp/there", "../there", ".ssh"]:
        rules = writing("{p}/x.json", default=default)
        _, err = run("--rules", rules, "neg.onnx", "-o", "o/n.onnx", code=4)
        assert "is not in a folder" in err
    Path("writing.yaml").unlink()
    assert contents() == before
    rules = writing("{p}/x.json", "a/y.json", "./z.json")
    args = ["--rules", rules, "neg.onnx", "-o", "o/n.onnx", "--json=r.json"]
    out, _ = run(*args, "--set", "p=../" + Path.cwd().name + "/there")
    there = "../" + Path.cwd().name + "/there/x.json"
    assert f"wrote o/n.onnx, {there}, o/a/y.json, o/./z.json, r.json" in out
    assert json.loads(Path("r.json").read_text())["files"] == [there, "o/a/y.json", "o/./z.json"]
    new = {str(p) for p in set(contents()) - set(before)}
    assert new == {"writing.yaml", "o/n.onnx", "r.json", "there/x.json", "o/a/y.json", "o/z.json"}


def test_two_side_files_of_one_name():
    before = contents()
    rules = writing("a.json", "./a.json")
    _, err = run("--rules", rules, "neg.onnx", "-o", "n.onnx", code=2)
    assert "is to be written twice" in err
    Path("writing.yaml").unlink()
    assert contents() == before


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
