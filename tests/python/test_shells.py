"""What surrounds the command: completion, the manual page, the versions inside, the Debian package."""
import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cli import SOURCE, folder, run  # noqa: F401

COMMANDS = ["show", "find", "explain", "test", "lint", "rules", "debug", "verify", "diff", "schema", "completion", "man", "version"]


def options(command):
    out, _ = run(*command.split(), "--help")
    lines = re.findall(r"^  +(-.*)$", re.split(r"^options:$", out, flags=re.M | re.I)[1], re.M)
    found = {name for line in lines for name in re.findall(r"(?:^|, *)(--[a-z][\w-]*|-[a-z])(?=[ ,\[]|$)", line[:30])}
    assert "--help" in found, out
    return found


def complete(script, *words):
    """What bash offers for the last of `words`."""
    code = f"""source {script}; COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_qrewrite; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


def test_bash_completes(monkeypatch):
    monkeypatch.setenv("QREWRITE_RULES_DIR", str(SOURCE / "rules"))
    Path("q.bash").write_text(run("completion", "bash")[0])
    assert complete("q.bash", "qrewrite", "sho") == ["show"]
    assert complete("q.bash", "qrewrite", "--stop") == ["--stop-after"]
    assert set(complete("q.bash", "qrewrite", "show", "--")) == {o for o in options("show") if o.startswith("--")}
    assert complete("q.bash", "qrewrite", "--rules", "ezkl_d") == ["ezkl_dequant"]
    assert complete("q.bash", "qrewrite", "rules", "optim") == ["optimize"]
    assert complete("q.bash", "qrewrite", "chai") == ["chain.onnx"]
    assert set(complete("q.bash", "qrewrite", "")) >= {*COMMANDS, "chain.onnx"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_all_options(shell):
    out, _ = run("completion", shell)
    if program := shutil.which(shell):
        Path("script").write_text(out)
        assert subprocess.run([program, "-n", "script"], capture_output=True).returncode == 0
    for command in ["", *COMMANDS]:
        for option in options(command):
            assert re.search(rf"(?<![\w-]){option}\b" if shell != "fish" else rf" -[ls] {option.lstrip('-')} ", out), option
    assert "bash, zsh or fish" in run("completion", "tcsh", code=2)[1]


def test_manual_page():
    page, _ = run("man")
    plain = re.sub(r"\\f.", "", page).replace("\\-", "-")
    for command in COMMANDS:
        assert f"\n.SS qrewrite {command}\n" in plain
        for option in options(command):
            assert option in plain, (command, option)
    assert page.startswith(".TH QREWRITE 1 ") and not re.search(r"^\.(?!TH|SH|SS|TP|B |br)", page, re.M)
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr


def test_version_tells_what_is_inside():
    out, _ = run("--version")
    assert out == run("version")[0]
    first, second = out.splitlines()
    assert re.fullmatch(r"qrewrite \d+\.\d+\.\d+", first)
    assert re.fullmatch(r"with onnx 1\.\d+\.\d+, protobuf \d+(\.\d+)+, .*fmt \d.*", second)


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="this is no Debian")
def test_debian_package(tmp_path):
    done = subprocess.run([SOURCE / "tools" / "dev", "deb", tmp_path / "deb"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    package, = (tmp_path / "deb").glob("qrewrite_*.deb")
    fields = subprocess.run(["dpkg-deb", "-f", package], capture_output=True, text=True, check=True).stdout
    depends = re.search(r"^Depends: (.*)$", fields, re.M)[1]
    assert "libprotobuf" in depends and "libc6" in depends and "Package: qrewrite\n" in fields
    subprocess.run(["dpkg-deb", "-x", package, "root"], check=True)
    program = Path("root/usr/bin/qrewrite").resolve()
    assert subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout == run("--version")[0]
    listed = subprocess.run([program, "rules"], capture_output=True, text=True, check=True, env={}).stdout
    assert "optimize" in listed
    manual = gzip.decompress(Path("root/usr/share/man/man1/qrewrite.1.gz").read_bytes())
    assert manual.decode() == run("man")[0]
    assert "Apache" in Path("root/usr/share/doc/qrewrite/copyright").read_text()
    assert Path("root/usr/share/bash-completion/completions/qrewrite").stat().st_size > 500
    assert Path("root/usr/include/qrewrite/qrewrite.h").exists()
    # Whether Debian would install it here, as far as that can be said without doing it.
    if shutil.which("apt-get"):
        done = subprocess.run(["apt-get", "install", "-s", "-q", package], capture_output=True, text=True)
        assert done.returncode == 0 and "Inst qrewrite" in done.stdout, done.stdout + done.stderr
