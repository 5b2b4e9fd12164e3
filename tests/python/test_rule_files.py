"""The shipped rule files are plain YAML: other readers than ours (Python's own, editors, tools of users) take them, and read the same rules."""
import os
import pathlib
import re
import subprocess

import pytest
import yaml

from cli import PROGRAM, SOURCE

RULES = sorted((pathlib.Path(os.environ["QREWRITE_SOURCE_DIR"]) / "rules").glob("*.yaml"))


@pytest.mark.parametrize("file", RULES, ids=lambda file: file.stem)
def test_other_readers(file):
    content = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)     # the one in Python, which is stricter than libyaml
    assert content["name"] == file.stem
    listed = subprocess.run([os.environ["QREWRITE"], "rules", str(file)], capture_output=True, text=True, check=True).stdout
    own = [rule["name"] for rule in content.get("rules") or []]
    _, _, rules = listed.partition("\nrules\n")
    names = re.findall(r"^  ([^ ].*?)(?:  \(.*)?$", rules.split("\n\n")[0], flags=re.M)    # those of included files too
    assert [name for name in names if name in own] == own


def test_a_shipped_set_is_included_by_its_name(tmp_path):
    """From a folder of its own; what lies beside the file comes first."""
    mine = tmp_path / "mine.yaml"
    mine.write_text("qrewrite: 1\nname: mine\ninclude: [optimize]\nphases: [{name: all, use: optimize}]\n"
                    "tests:\n  - {name: nothing, given: \"x: float[2]\\ny = Relu(Identity(x))\", expect: \"x: float[2]\\ny = Relu(x)\"}\n")
    done = subprocess.run([PROGRAM, "test", mine], capture_output=True, text=True, env={**os.environ, "QREWRITE_RULES_DIR": str(SOURCE / "rules")})
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    (tmp_path / "optimize").write_text("no rule file")
    done = subprocess.run([PROGRAM, "test", mine], capture_output=True, text=True, env={**os.environ, "QREWRITE_RULES_DIR": str(SOURCE / "rules")})
    assert done.returncode == 4 and "1 rule file not loaded" in done.stdout, done.stdout + done.stderr
