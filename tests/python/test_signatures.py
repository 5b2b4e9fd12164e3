"""The checked-in signature tables equal what tools/gen_signatures.py makes of the registries."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator():
    # No importorskip: without onnx and ONNX Runtime this test fails, it is not skipped.
    spec = importlib.util.spec_from_file_location(
        "gen_signatures", ROOT / "tools" / "gen_signatures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rendered(generator):
    return generator.render()


@pytest.mark.parametrize(
    "name", ["signatures_onnx.inc", "signatures_onnx_ml.inc", "signatures_microsoft.inc"])
def test_checked_in_table_is_current(rendered, name):
    checked_in = (ROOT / "engine" / "ops" / name).read_text(encoding="utf-8").splitlines()
    # Lists, so that a failure names the lines that differ.
    assert checked_in == rendered[name].splitlines(), "run tools/gen_signatures.py"


def test_no_table_is_forgotten(rendered):
    assert set(rendered) == {path.name for path in (ROOT / "engine" / "ops").glob("signatures_*")}


def test_every_schema_has_a_line(generator, rendered):
    lines = {tuple(line.removeprefix('R"~(').split(" ", 2)[:2])
             for text in rendered.values() for line in text.splitlines()}
    missing = [
        (schema.name, schema.since_version)
        for schema in generator.onnx.defs.get_all_schemas_with_history()
        if (generator.qualified_name(schema), str(schema.since_version)) not in lines
    ]
    assert not missing
