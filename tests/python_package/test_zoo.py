"""examples/zoo.py on the recorded models, one of them broken, with two workers."""
import ast
import csv
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
from conftest import SOURCE, parse
from onnx import numpy_helper

import qrewrite


def zoo(*args, python=sys.executable):
    done = subprocess.run([python, SOURCE / "examples" / "zoo.py", *args], capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr


def csv_rows():
    with open("out/zoo.csv", newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def test_a_folder_of_models_one_of_them_broken():
    Path("zoo/deep").mkdir(parents=True)
    shutil.copy(SOURCE / "fixtures/models/qdq_cnn.onnx", "zoo/cnn.onnx")
    shutil.copy(SOURCE / "fixtures/models/dynamic_mlp.onnx", "zoo/deep/mlp.onnx")
    Path("zoo/broken.onnx").write_bytes(Path("zoo/cnn.onnx").read_bytes()[:1000])
    outside = parse("g (float[1000] x) => (float[1000] y) { a = Relu(x)  b = Relu(a)  y = Add(b, w) }")
    outside.graph.initializer.append(numpy_helper.from_array(np.arange(1000, dtype=np.float32), "w"))
    onnx.save(outside, "zoo/outside.onnx", save_as_external_data=True, location="outside.bin", size_threshold=0)
    Path("rules").mkdir()
    Path("rules/tidy.yaml").write_text("qrewrite: 1\nname: tidy\ninclude: [part.yaml]\n")
    Path("rules/part.yaml").write_text("qrewrite: 1\nname: part\nrules:\n  - {name: twice, match: y = Relu(Relu(x)), replace: y = Relu(x)}\n")
    arguments = "zoo", "--rules", "ezkl_dequant", "--rules", "rules/tidy.yaml", "--set", "saturation=clip", "--output", "out", "--workers", "2"

    code, said, errors = zoo(*arguments)
    assert code == 1 and "3 done, 1 failed" in said and "broken.onnx" in errors and "/in/" not in errors, said + errors
    table = csv_rows()
    assert table["broken.onnx"]["error"] == "invalid_model" and table["broken.onnx"]["message"]
    assert not Path("out/broken.onnx").exists()
    assert table["cnn.onnx"]["nodes_before"] == "26" and float(table["cnn.onnx"]["seconds"]) > 0
    expected, report = qrewrite.rewrite("zoo/cnn.onnx", ["ezkl_dequant", "rules/tidy.yaml"], output="expected.onnx", saturation="clip")
    assert Path("out/cnn.onnx").read_bytes() == Path(expected).read_bytes()
    assert int(table["cnn.onnx"]["rewrites"]) == report.rewrites and Path("out/deep/mlp.onnx").exists()
    assert table["outside.onnx"]["nodes_after"] == "2"
    assert np.array_equal(qrewrite.Model.load("out/outside.onnx").constants["w"], np.arange(1000))

    # The broken one is mended; the others are not done again.
    before = {name: Path("out", name).stat().st_mtime_ns for name in ("cnn.onnx", "deep/mlp.onnx")}
    shutil.copy("zoo/cnn.onnx", "zoo/broken.onnx")
    code, said, errors = zoo(*arguments)
    assert code == 0 and "4 done, 0 failed" in said, said + errors
    assert before == {name: Path("out", name).stat().st_mtime_ns for name in before}
    assert csv_rows()["cnn.onnx"] == table["cnn.onnx"] and Path("out/broken.onnx").exists()


def test_a_table_in_parquet(users_python):
    """Numbers are numbers there; what is done is known from it, too."""
    Path("zoo").mkdir()
    shutil.copy(SOURCE / "fixtures/models/qdq_cnn.onnx", "zoo/cnn.onnx")
    Path("zoo/broken.onnx").write_bytes(b"no model")
    arguments = "zoo", "--rules", "ezkl_dequant", "--output", "out", "--table", "out/report.parquet", "--workers", "1"
    code, said, errors = zoo(*arguments, python=users_python)
    assert code == 1 and "1 done, 1 failed; out/report.parquet" in said, said + errors
    read = "import pyarrow.parquet as p; print(p.read_table('out/report.parquet').to_pylist())"
    table = ast.literal_eval(subprocess.run([users_python, "-c", read], capture_output=True, text=True, check=True).stdout)
    assert [(row["model"], row["status"], row["error"], row["nodes_before"]) for row in table] == [
        ("broken.onnx", "failed", "invalid_model", None), ("cnn.onnx", "done", None, 26)]
    before = Path("out/cnn.onnx").stat().st_mtime_ns
    assert zoo(*arguments, python=users_python)[0] == 1 and Path("out/cnn.onnx").stat().st_mtime_ns == before


def test_what_was_lost_is_made_again_and_what_was_made_is_no_model():
    """The rewritten models may lie among the models."""
    Path("zoo").mkdir()
    for name in ("a.onnx", "b.onnx"):
        shutil.copy(SOURCE / "fixtures/models/qdq_cnn.onnx", f"zoo/{name}")
    arguments = "zoo", "--rules", "ezkl_dequant", "--output", "zoo/out", "--workers", "1"
    assert "2 done, 0 failed" in zoo(*arguments)[1]
    Path("zoo/out/a.onnx").unlink()
    before = Path("zoo/out/b.onnx").stat().st_mtime_ns
    assert "2 done, 0 failed" in zoo(*arguments)[1]
    assert Path("zoo/out/a.onnx").exists() and Path("zoo/out/b.onnx").stat().st_mtime_ns == before and not Path("zoo/out/out").exists()


def test_a_run_that_is_interrupted_goes_on_where_it_was():
    Path("zoo").mkdir()
    for i in range(200):
        shutil.copy(SOURCE / "fixtures/models/qdq_cnn.onnx", f"zoo/{i}.onnx")
    arguments = "zoo", "--rules", "ezkl_dequant", "--output", "out", "--workers", "1"
    running = subprocess.Popen([sys.executable, SOURCE / "examples" / "zoo.py", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while len(list(Path("out").glob("*.onnx"))) < 100 and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=240)
    done = {name for name, row in csv_rows().items() if row["status"] == "done"}
    assert 10 < len(done) < 200        # what was made last is not in the table yet
    before = {name: Path("out", name).stat().st_mtime_ns for name in done}
    assert "200 done, 0 failed" in zoo(*arguments)[1]
    assert before == {name: Path("out", name).stat().st_mtime_ns for name in before}


def test_a_bucket():
    """URLs of fsspec: models are read, listed and written by it, the table too; here a folder that only a URL names."""
    Path("zoo/deep").mkdir(parents=True)
    shutil.copy(SOURCE / "fixtures/models/qdq_cnn.onnx", "zoo/deep/cnn.onnx")
    here = Path.cwd().as_uri()
    arguments = f"{here}/zoo", "--rules", "ezkl_dequant", "--output", f"{here}/out", "--workers", "1"
    code, said, errors = zoo(*arguments)
    assert code == 0 and f"1 done, 0 failed; {here}/out/zoo.csv" in said, said + errors
    assert csv_rows()["deep/cnn.onnx"]["output"] == f"{here}/out/deep/cnn.onnx"
    before = Path("out/deep/cnn.onnx").stat().st_mtime_ns
    assert zoo(*arguments)[0] == 0 and Path("out/deep/cnn.onnx").stat().st_mtime_ns == before
    assert sorted(path.name for path in Path().iterdir()) == ["out", "zoo"]  # nothing is called "file:"


def test_arguments_that_make_no_sense():
    code, _, errors = zoo("zoo", "--rules", "optimize", "--output", "./zoo")
    assert code == 2 and "--output is the folder of the models" in errors
    code, _, errors = zoo("zoo", "--rules", "optimize", "--output", "out", "--set", "saturation")
    assert code == 2 and "--set takes NAME=VALUE, not saturation" in errors
