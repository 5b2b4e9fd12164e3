"""The VS Code extension: what its package holds, and its code against a stand-in for the editor (node, which `tools/dev
test` installs; missing, it is a failure)."""
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
import zipfile

from cli import SOURCE

FOLDER = SOURCE / "tools" / "vscode"
RULES = """qrewrite: 1
name: editor
rules:
  - name: pair
    match: |
      t = Softmax<axis>(x)
      y = Rleu(t)
    where: axis == 1
    replace: y = Abs(x)
    tests:
      - {name: one, given: "x: float[2, 3]\\ny = Relu(Softmax<axis=1>(x))", expect: "x: float[2, 3]\\ny = Abs(x)"}
"""


def test_extension(tmp_path):
    assert shutil.which("node"), "`tools/dev test` installs nodejs"
    (tmp_path / "a.yaml").write_text(RULES)
    done = subprocess.run(["node", SOURCE / "tests" / "python" / "vscode_editor.js", FOLDER, tmp_path / "a.yaml"],
                          capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["diagnostics"] == [{"line": 6, "severity": 0, "code": "QR0409",
                                   "message": "there is no operator `Rleu`\ndid you mean `Relu`?"}]
    assert "output: T = Softmax(input: T)" in out["hover"] and out["nothing"] is None
    line = RULES.splitlines()[5]
    begin = line.index("Softmax")
    assert out["item"] == {"kind": 6, "text": "Softmax", "range": {"start": {"line": 5, "character": begin},
                                                                   "end": {"line": 5, "character": begin + 5}}}
    assert "ai.onnx" in out["documentation"]
    assert out["definition"] == [{"start": {"line": 5, "character": line.index("axis")},
                                  "end": {"line": 5, "character": line.index("axis") + 4}}]
    assert out["references"] == 2
    assert out["symbols"] == [["pair", 11, 1]]
    assert (out["prepared"], sorted(out["renamed"])) == ("axis", ["axis=k", "k"])
    assert out["refused"] == "`rank` is a function"
    assert out["actions"] == [["Replace `Rleu` by `Relu`", ["Relu"]]]
    assert out["tokens"] == 0
    assert out["lenses"] == ["run 1 test", "run this test"]
    assert out["test"] is True and out["messages"] == [["Information", "1 passed"]]


def test_a_command_that_is_not_there(tmp_path):
    (tmp_path / "a.yaml").write_text(RULES)
    script = (SOURCE / "tests" / "python" / "vscode_editor.js").read_text()
    done = subprocess.run(["node", "-", FOLDER, tmp_path / "a.yaml"], capture_output=True, text=True, timeout=60,
                          input=script.replace("async function main() {", """async function main() {
  const extension = require(path.join(process.argv[2], 'extension.js'));
  await extension.activate({subscriptions: []});
  console.log(JSON.stringify(messages));
}
async function unused() {"""), env=dict(os.environ, QREWRITE="/nowhere/qrewrite"))
    (kind, text), = json.loads(done.stdout)
    assert kind == "Error" and "/nowhere/qrewrite lsp" in text and "qrewrite.path" in text


def test_package(tmp_path):
    path = tmp_path / "one.vsix"
    subprocess.run([sys.executable, FOLDER / "package.py", path], check=True, capture_output=True)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    package = json.loads(parts["extension/package.json"])
    manifest = xml.fromstring(parts["extension.vsixmanifest"])
    spaces = {"v": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
    identity = manifest.find("v:Metadata/v:Identity", spaces).attrib
    assert (identity["Id"], identity["Version"], identity["Publisher"]) == ("qrewrite", package["version"], "qrewrite")
    for asset in manifest.findall("v:Assets/v:Asset", spaces):
        assert asset.attrib["Path"] in parts
    types = xml.fromstring(parts["[Content_Types].xml"])
    endings = {one.attrib["Extension"] for one in types}
    assert {"." + name.rsplit(".", 1)[1] for name in parts if name != "[Content_Types].xml"} <= endings
    contributed = package["contributes"]
    named = [package["main"], *(g["path"] for g in contributed["grammars"]),
             *(c["configuration"] for c in contributed["languages"])]
    for name in named:
        assert "extension/" + name.removeprefix("./") in parts
    # What the code loads is packed, too.
    for script in ("extension.js", "rpc.js"):
        for name in re.findall(r"require\('\./(.*?)'\)", parts["extension/" + script]):
            assert "extension/" + name in parts
    subprocess.run([sys.executable, FOLDER / "package.py", tmp_path / "two.vsix"], check=True, capture_output=True)
    assert path.read_bytes() == (tmp_path / "two.vsix").read_bytes()


def test_grammar():
    """Each pattern of the language colours what it is for, in texts of the shipped rules."""
    grammar = json.loads((FOLDER / "syntaxes" / "qrewrite.tmLanguage.json").read_text())
    patterns = {p["name"].rsplit(".", 1)[0]: re.compile(p["match"], re.M) for p in grammar["repository"]["language"]["patterns"]}
    text = "\n".join(path.read_text() for path in sorted((SOURCE / "rules").glob("*.yaml")))
    assert all(pattern.search(text) for pattern in patterns.values()), [n for n, p in patterns.items() if not p.search(text)]
    line = "y = n:@moves<**_>(com.microsoft.QLinearConv<axis=1, k=-2>($data(x), INT8, 'a b')) when rank(x) >= 1.5e-3"
    found = {name: [m.group().strip() for m in pattern.finditer(line)] for name, pattern in patterns.items()}
    assert found["entity.name.class.operator"] == ["com.microsoft.QLinearConv"]
    assert found["entity.name.type.set"] == ["@moves"] and found["entity.name.label"] == ["n"]
    assert found["entity.name.function.definition"] == ["$data"] and found["support.type"] == ["INT8"]
    assert found["variable.other.property"] == ["axis", "k"] and found["string.quoted.single"] == ["'a b'"]
    assert found["constant.numeric"] == ["1", "-2", "1.5e-3"] and found["keyword.operator.word"] == ["when"]
    assert "rank" in found["support.function"]
