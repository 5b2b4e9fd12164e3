"""The Debian package: unpacked into an empty tree, all that it has is tried there."""
import gzip
import shutil
from pathlib import Path

import pytest
from conftest import SOURCE, run_installed as run

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no Debian")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    run(SOURCE / "tools" / "dev", "deb", folder)
    built, = folder.glob("*.deb")
    return built


@pytest.fixture(scope="module")
def tree(package, tmp_path_factory):
    """As dpkg installs it, with a database of its own; what it depends on is not asked for in an empty tree."""
    root = tmp_path_factory.mktemp("tree")
    for folder in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    force = ["--force-depends", "--force-not-root", "--force-bad-path"]
    run("dpkg", *force, f"--instdir={root}", f"--admindir={root}/var/lib/dpkg", f"--log={root}/log", "-i", package)
    assert "install ok installed" in run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-s", "qrewrite")
    return root / "usr"


def test_what_it_depends_on(package):
    depends = run("dpkg-deb", "-f", package, "Depends")
    assert all(library in depends for library in ("libc6", "libprotobuf", "libre2", "libyaml", "libfmt")), depends


def test_what_the_policy_wants(tree, package, tmp_path):
    doc = tree / "share/doc/qrewrite"
    assert "Apache-2.0" in (doc / "copyright").read_text() and gzip.decompress((doc / "NEWS.gz").read_bytes()).startswith(b"# Changelog")
    assert gzip.decompress((doc / "changelog.gz").read_bytes()).startswith(b"qrewrite (")
    assert [page.name for page in (tree / "share/man/man1").iterdir()] == ["qrewrite.1.gz"]
    run("dpkg-deb", "-e", package, tmp_path / "control")
    assert (tmp_path / "control/shlibs").read_text().startswith("libqrewrite 0 qrewrite")
    assert not [folder for folder in tree.rglob("*") if folder.is_dir() and not any(folder.iterdir())]


def test_the_command(tree, recorded):
    program = tree / "bin" / "qrewrite"
    assert run(program, "--rules", "ezkl_dequant", recorded, "-o", "out.onnx").startswith("  7  plain-pair")
    assert str(tree / "share/qrewrite/rules/optimize.yaml") in run(program, "rules", "optimize")
    assert run(program, "--version").startswith("qrewrite ")


def test_the_manual_page_and_completions(tree):
    program = tree / "bin" / "qrewrite"
    page, = (tree / "share/man/man1").iterdir()
    text = gzip.decompress(page.read_bytes()).decode() if page.suffix == ".gz" else page.read_text()
    assert text == run(program, "man") and text.startswith(".TH")
    for shell, path in (("bash", "bash-completion/completions/qrewrite"), ("zsh", "zsh/vendor-completions/_qrewrite"),
                        ("fish", "fish/vendor_completions.d/qrewrite.fish")):
        assert (tree / "share" / path).read_text() == run(program, "completion", shell)


PROGRAM = """#include <cstdio>
#include "qrewrite/qrewrite.h"
int main(int, char** argv) {
  qrewrite::Result<qrewrite::Model> model = qrewrite::Model::Load(argv[1]);
  qrewrite::Result<qrewrite::Rules> rules = qrewrite::Rules::Load("optimize");
  if (!model.ok() || !rules.ok()) return 1;
  const qrewrite::Result<qrewrite::Report> report = qrewrite::Rewrite(*model, *rules);
  if (report.ok()) std::puts(report->Text().c_str());
  return report.ok() ? 0 : 1;
}
"""


def test_a_program_with_pkg_config(tree, recorded):
    Path("main.cc").write_text(PROGRAM)
    where = next(tree.rglob("qrewrite.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", "qrewrite", PKG_CONFIG_PATH=str(where)).split()
    run("c++", "-std=c++20", "main.cc", "-o", "main", *flags)
    assert "0 rewrites" in run("./main", recorded, LD_LIBRARY_PATH=str(where.parent))


def test_a_program_with_cmake(tree, recorded):
    """The shared library alone: nothing else has to be there."""
    Path("main.cc").write_text(PROGRAM)
    Path("CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nadd_executable(main main.cc)\n"
                                      "find_package(qrewrite 0.1 REQUIRED COMPONENTS shared)\ntarget_link_libraries(main PRIVATE qrewrite::shared)\n")
    run("cmake", "-G", "Ninja", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={tree}", "-DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON")
    run("cmake", "--build", "b")
    assert "0 rewrites" in run("b/main", recorded)
