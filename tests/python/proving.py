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


def with_test(tmp_path, name, rule, test):
    """A copy of a shipped file, in which the rule has one test more."""
    for path in RULES.glob("*.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    text = (RULES / f"{name}.yaml").read_text()
    at = text.index("    tests:\n", text.index(f"  - name: {rule}\n")) + len("    tests:\n")
    (tmp_path / f"{name}.yaml").write_text(text[:at] + test + text[at:])
    return f"{name}.yaml"
