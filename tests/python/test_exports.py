"""What the shared library shows: tests/golden/exports.txt; QREWRITE_UPDATE_GOLDEN=1 writes it anew."""
import os
import subprocess
from pathlib import Path

LIBRARY = Path(os.environ["QREWRITE"]).parent / "libqrewrite.so"
GOLDEN = Path(os.environ["QREWRITE_SOURCE_DIR"]) / "tests" / "golden" / "exports.txt"


def output(*args):
    return subprocess.run([*map(str, args)], check=True, capture_output=True, text=True).stdout


def test_exports_are_the_public_functions():
    lines = output("nm", "-D", "--defined-only", "-C", LIBRARY).splitlines()
    names = sorted({line.split(maxsplit=2)[2].split("@@")[0] for line in lines})
    names.remove("QREWRITE_0")  # the version itself
    assert all("qrewrite::" in name and "::Impl::" not in name for name in names)
    text = "\n".join(names) + "\n"
    if os.environ.get("QREWRITE_UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def needs(program):
    dynamic = output("readelf", "-d", program)
    return dynamic, {line.split("[")[1].rstrip("]\n") for line in dynamic.splitlines() if "(NEEDED)" in line}


def test_name_and_needs():
    dynamic, needed = needs(LIBRARY)
    assert "Library soname: [libqrewrite.so.0]" in dynamic
    assert not any("onnx" in name for name in needed)  # it is inside
    assert LIBRARY.resolve().name.startswith("libqrewrite.so.0.")


def test_command_has_each_library_once():
    # Two protobufs in one process end it; tools/cmake/Archives.cmake takes the archive for all or for none.
    command = os.environ["QREWRITE"]
    _, needed = needs(command)
    defined = output("nm", "-C", "--defined-only", command)
    for library, symbol in {"libprotobuf": "google::protobuf::DescriptorPool::generated_pool()",
                            "libre2": "re2::RE2::RE2(char const*)", "libyaml": " yaml_parser_parse"}.items():
        inside = any(line.endswith(symbol) for line in defined.splitlines())
        outside = any(name.startswith(library) for name in needed)
        assert inside != outside, library


def test_one_header_has_all():
    headers = GOLDEN.parents[2] / "include" / "qrewrite"
    whole = (headers / "qrewrite.h").read_text()
    missing = {h.name for h in headers.glob("*.h") if f'#include "qrewrite/{h.name}"' not in whole}
    assert missing == {"onnx.h"}  # onnx.h needs the headers of onnx
