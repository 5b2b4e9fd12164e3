"""The shipped rule files are plain YAML: other readers than ours (Python's own, editors, tools of users) take them, and read the same rules."""
import os
import pathlib
import re
import subprocess

import pytest
import yaml

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
