"""A run that ends at any moment, or whose disk is full: the old model with its data, or the new one."""
import contextlib
import errno
import itertools
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cli import PROGRAM, folder, listing, run  # noqa: F401

SIZE = 1 << 20  # floats
OLD = np.arange(SIZE, dtype=np.float32)


@pytest.fixture(autouse=True)
def model(folder, monkeypatch):  # noqa: F811
    """start/m.onnx: y = x + (w + w), with w in m.onnx.data."""
    for path in folder.iterdir():
        path.unlink()
    nodes = [helper.make_node("Add", ["w", "w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [SIZE]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [numpy_helper.from_array(OLD, "w")])
    (folder / "start").mkdir()
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]),
              "start/m.onnx", save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    monkeypatch.delenv("QREWRITE_RULES_DIR")


def begin(*args, **kwargs):
    shutil.rmtree("work", ignore_errors=True)
    shutil.copytree("start", "work")
    return subprocess.Popen([PROGRAM, "--rules", "optimize", "work/m.onnx", *args],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **kwargs)


def files():
    return sorted(os.listdir("work"))


def state(path="work/m.onnx"):
    """Which model is there; its data must be complete and its own."""
    loaded = onnx.load(path)
    (weights,) = [numpy_helper.to_array(t) for t in loaded.graph.initializer]
    new = len(loaded.graph.node) == 1
    np.testing.assert_array_equal(weights, OLD * 2 if new else OLD)
    return "new" if new else "old"


def duration():
    start = time.monotonic()
    assert begin("--in-place").wait() == 0
    return time.monotonic() - start


BEFORE = ["m.onnx", "m.onnx.data"]
AFTER = ["m.onnx", "m.onnx.2.data"]


def test_in_place_without_a_kill():
    assert begin("--in-place").wait() == 0
    assert (files(), state()) == (AFTER, "new")


def end(process, number, moment):
    """Sends a signal after `moment` seconds, or, if it is None, when the first file appears."""
    if moment is None:
        while process.poll() is None and len(files()) == 2:
            pass
    else:
        time.sleep(moment)
    process.send_signal(number)
    process.communicate()
    return process.returncode


def moments(count):
    longest = duration()
    dice = random.Random(1)
    return [dice.uniform(0, longest) if i % 2 else None for i in range(count)]


def test_killed():
    seen = set()
    for moment in moments(24):
        end(begin("--in-place", "--json=work/report.json"), signal.SIGKILL, moment)
        seen.add(state())
        if moment is None and files() != BEFORE:
            # What is left hinders nobody.
            run("--rules", "optimize", "work/m.onnx", "--in-place")
            assert state() == "new"
    assert "old" in seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_stop(number):
    for moment in moments(10):
        code = end(begin("--in-place"), number, moment)
        assert code in (0, -number)
        assert (files(), state()) in [(BEFORE, "old"), (AFTER, "new")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_bisect_asked_to_stop(number, tmp_path):
    """The folder of the states goes, with what the command made in it; a command that was interrupted is no verdict."""
    (tmp_path / "temporary").mkdir()
    command = "sh -c 'cp -r $TMPDIR seen; mkdir -p $(dirname {})/a/b; touch $(dirname {})/a/b/c seen/complete; exec sleep 60'"
    process = begin("--bisect", command, start_new_session=True,
                    env=os.environ | {"TMPDIR": str(tmp_path / "temporary")})
    while not Path("seen/complete").exists():
        assert process.poll() is None
        time.sleep(0.01)
    if number == signal.SIGTERM:
        process.send_signal(number)  # to the program alone
    else:
        os.killpg(process.pid, number)  # as a terminal does
    process.wait(timeout=30)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -number
    assert [p.name for p in Path("seen").rglob("*.onnx")] == ["model.onnx"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_bisect_a_shell_that_outlives_an_interrupted_command(tmp_path):
    process = begin("--bisect", "exit 130; : {}")
    process.wait(timeout=30)
    assert process.returncode == -signal.SIGINT


SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int Number(const char *name) {
  const char *text = getenv(name);
  return text ? atoi(text) : 0;
}

// Counts calls that change files into $CALLS. Call number $AT fails with $ERRNO, or the process gets $SIGNAL.
static int Fails(const char *name) {
  static int count = 0;
  if (getenv("CALLS")) {
    const int fd = syscall(SYS_openat, AT_FDCWD, getenv("CALLS"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    dprintf(fd, "%s\n", name);
    syscall(SYS_close, fd);
  }
  if (++count != Number("AT")) return 0;
  if (Number("SIGNAL")) kill(getpid(), Number("SIGNAL"));
  errno = Number("ERRNO");
  return errno != 0;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  if (fd > 2 && Fails("write")) return -1;
  return syscall(SYS_write, fd, bytes, size);
}
int fsync(int fd) { return Fails("fsync") ? -1 : syscall(SYS_fsync, fd); }
int rename(const char *a, const char *b) { return Fails("rename") ? -1 : syscall(SYS_rename, a, b); }
int renameat2(int x, const char *a, int y, const char *b, unsigned flags) {
  return Fails("renameat2") ? -1 : syscall(SYS_renameat2, x, a, y, b, flags);
}
int linkat(int x, const char *a, int y, const char *b, int flags) {
  return Fails("linkat") ? -1 : syscall(SYS_linkat, x, a, y, b, flags);
}
int link(const char *a, const char *b) { return Fails("link") ? -1 : syscall(SYS_link, a, b); }
int unlink(const char *path) { return Fails("unlink") ? -1 : syscall(SYS_unlink, path); }
int mkdir(const char *path, mode_t mode) { return Fails("mkdir") ? -1 : syscall(SYS_mkdir, path, mode); }
int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const int mode = va_arg(list, int);
  va_end(list);
  if ((flags & O_TMPFILE) == O_TMPFILE && getenv("ALL_HAVE_NAMES")) {
    errno = EOPNOTSUPP;
    return -1;
  }
  if ((flags & (O_WRONLY | O_RDWR)) && Fails("open")) return -1;
  return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
"""


@pytest.fixture
def shim(folder):  # noqa: F811
    """The environment of a process whose calls can fail."""
    Path("shim.c").write_text(SHIM)
    done = subprocess.run(["cc", "-shared", "-fPIC", "-o", "shim.so", "shim.c"], check=False)
    if done.returncode != 0:
        pytest.skip("no C compiler")
    return {**os.environ, "LD_PRELOAD": str(folder / "shim.so")}


@pytest.fixture
def no_unnamed_files(shim):
    """A file system without files that have no name."""
    return {**shim, "ALL_HAVE_NAMES": "1"}


def test_temporary_names(no_unnamed_files):
    env = no_unnamed_files
    assert begin("--in-place", env=env).wait() == 0
    assert (files(), state()) == (AFTER, "new")
    for _ in range(5):
        code = end(begin("--in-place", env=env), signal.SIGTERM, None)
        assert code in (0, -signal.SIGTERM)
        assert (files(), state()) in [(BEFORE, "old"), (AFTER, "new")]
    left = False
    for _ in range(5):
        end(begin("--in-place", env=env), signal.SIGKILL, None)
        state()
        left |= any(name.endswith(".tmp") for name in files())
        run("--rules", "optimize", "work/m.onnx", "--in-place")  # removes them
        assert not any(name.endswith(".tmp") for name in files())
        assert state() == "new"
    assert left


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE, SIZE))


@pytest.mark.parametrize("args", [["--in-place"], ["-o", "work/out.onnx"]])
def test_quota(args):
    process = begin(*args, preexec_fn=limited)
    _, err = process.communicate()
    assert process.returncode == 6
    assert b"cannot write" in err and b"too large" in err
    assert (files(), state()) == (BEFORE, "old")


def test_full_disk():
    """Files that fit, and files that do not, in a file system of 6 MB."""
    script = ("mount -t tmpfs -o size=6m none work && cp start/* work && "
              f'"{PROGRAM}" --rules optimize work/m.onnx --in-place; echo $?; ls work')
    Path("work").mkdir(exist_ok=True)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    if "6\n" not in done.stdout and "0\n" not in done.stdout:
        pytest.skip(f"no mount here: {done.stderr}")
    assert "No space left on device" in done.stderr
    assert done.stdout.split() == ["6", *BEFORE]


def test_input_that_is_cut_short():
    seen = set()
    for size, moment in itertools.product([0, 5000], [0, 0.01, 0.02, 0.04]):
        process = begin("-o", "work/out.onnx")
        time.sleep(moment)
        os.truncate("work/m.onnx.data", size)
        _, err = process.communicate()
        assert process.returncode in (0, 5, 6), err
        seen.add(process.returncode)
        if process.returncode == 0:
            assert state("work/out.onnx") == "new"
        else:
            assert files() == BEFORE
            assert b"error: " in err
    assert seen & {5, 6}  # at moment 0 nothing has been read


@pytest.mark.parametrize("names", [{}, {"ALL_HAVE_NAMES": "1"}])
def test_each_call(shim, names):
    """Every call that writes fails, or is where the process ends, once: all files are there, or none."""
    args = ["--in-place", "--json=work/new/report.json"]
    said = []

    def result(**env):
        process = begin(*args, env={**shim, **names, **env})
        _, err = process.communicate()
        assert process.returncode <= 0 or err
        found = [str(path.relative_to("work")) for path in Path("work").rglob("*") if path.is_file()]
        said.append(err)
        return process.returncode, sorted(found), state()

    whole = (0, sorted([*AFTER, "new/report.json"]), "new")
    assert result(CALLS="calls") == whole
    calls = Path("calls").read_text().split()
    assert {"open", "write", "fsync", "mkdir"} < set(calls)
    for at, call in enumerate(calls, 1):
        code, found, which = result(AT=str(at), ERRNO=str(errno.ENOSPC))
        what = f"{call}, call {at} of {len(calls)}"
        if code == 0:  # it was no error, or there is another way
            assert which == "new" and set(found) >= set(whole[1]), what
        elif call == "fsync" and which == "new":  # names that may not survive a loss of power
            assert (code, found) == (6, whole[1]) and b"all files are there" in said[-1], what
        else:
            assert (code, found, which) == (6, BEFORE, "old") and not Path("work/new").exists(), what
        code, found, which = result(AT=str(at), SIGNAL=str(int(signal.SIGTERM)))
        assert (code, found, which) in [whole, (-signal.SIGTERM, *whole[1:]), (-signal.SIGTERM, BEFORE, "old")], what
        code, found, which = result(AT=str(at), SIGNAL=str(int(signal.SIGKILL)))
        assert code == -signal.SIGKILL, what
        assert "new/report.json" not in found or which == "new", what
