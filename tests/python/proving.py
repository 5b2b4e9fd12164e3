"""`qrewrite prove` on shipped rule files and on copies of them."""
import os
import subprocess

from cli import PROGRAM, SOURCE

RULES = SOURCE / "rules"


def prove(*args, runtime="builtin", cwd=None):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(RULES)}
    done = subprocess.run([PROGRAM, "prove", "--runtime", runtime, *map(str, args)], cwd=cwd, capture_output=True,
                          text=True, timeout=300, env=environment)
    return done.returncode, done.stdout, done.stderr


def copy_with(tmp_path, name, text):
    """Copies of the shipped files, of which one has another text."""
    for path in RULES.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / f"{name}.yaml").write_text(text)
    return f"{name}.yaml"


def with_fault(tmp_path, name, line, fault, only=False):
    """A copy of a shipped file, in which a line is another one: the first one like it, or the only one."""
    text = (RULES / f"{name}.yaml").read_text()
    assert text.count(line) == 1 or not only and line in text
    return copy_with(tmp_path, name, text.replace(line, fault, 1))


def with_test(tmp_path, name, rule, test):
    """A copy of a shipped file, in which the rule has one test more."""
    text = (RULES / f"{name}.yaml").read_text()
    at = text.index("    tests:\n", text.index(f"  - name: {rule}\n")) + len("    tests:\n")
    return copy_with(tmp_path, name, text[:at] + test + text[at:])
