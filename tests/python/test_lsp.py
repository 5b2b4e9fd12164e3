"""The language server as a program: a whole session, damaged input, files of the disk."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from cli import SOURCE
from lsp_client import PROGRAM, Server, framed, position

RULES = SOURCE / "rules"


@pytest.fixture
def server():
    one = Server()
    yield one
    one.process.kill()
    one.process.wait()


def test_session(server, tmp_path):
    uri = (tmp_path / "a b.yaml").as_uri()
    text = ("qrewrite: 1\nname: a\nrules:\n  - name: größer\n    doc: 'größer 😀'\n"
            "    match: y = Rleu(x)\n    replace: y = Abs(x)\n")
    server.open(uri, text)
    faults = {d["code"]: d for d in server.diagnostics(uri)}
    assert faults["QR0409"]["message"] == "there is no operator `Rleu`\ndid you mean `Relu`?"
    assert faults["QR0409"]["range"]["start"] == position(text, "Rleu")
    assert "QR0113" in faults
    hover = server.at("hover", uri, position(text, "Abs", behind=1))
    assert "output: T = Abs(input: T)" in hover["contents"]["value"].replace("Y:", "output:").replace("X:", "input:")
    assert server.end() == 0


def test_included_from_disk(server, tmp_path):
    """A file that is included is read from the disk until an editor opens it."""
    (tmp_path / "part.yaml").write_text("qrewrite: 1\nname: part\nsets: {s: [Relu]}\n")
    main, part = (tmp_path / name for name in ("main.yaml", "part.yaml"))
    text = ("qrewrite: 1\nname: main\ninclude: [part.yaml]\nrules:\n  - name: r\n    match: y = @s(x)\n"
            "    replace: y = Abs(x)\n")
    server.open(main.as_uri(), text)
    assert [d["code"] for d in server.diagnostics(main.as_uri())] == ["QR0502"]
    part.write_text("qrewrite: 1\nname: part\nsets: {t: [Relu]}\n")
    server.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": part.as_uri(), "type": 2}]})
    assert [d["code"] for d in server.diagnostics(main.as_uri())] == ["QR0401"]
    server.open(part.as_uri(), "qrewrite: 1\nname: part\nsets: {s: [Relu]}\n")
    assert [d["code"] for d in server.diagnostics(main.as_uri())] == ["QR0502"]
    assert server.end() == 0


def test_messages_in_pieces(server, tmp_path):
    data = framed({"jsonrpc": "2.0", "id": 50, "method": "nothing"})
    for byte in data:
        server.send(bytes([byte]))
    assert server.answer(50)["error"]["code"] == -32601
    server.send(b"Content-Length: 3\r\n\r\n{,}" + b"nonsense: 1\r\n\r\n" + data)
    assert [server.next()["error"]["code"] for _ in range(3)] == [-32700, -32700, -32601]
    assert server.end() == 0


@pytest.mark.parametrize("data", [b"", b"Content-Length: 50\r\n\r\n{", b"\0" * 1000, framed(b"{}")])
def test_end_of_input(data):
    """Without `shutdown` and `exit` the end of the input is an end that nobody wanted."""
    done = subprocess.run([PROGRAM, "lsp", "--stdio"], input=data, capture_output=True, timeout=20)
    assert done.returncode == 1


def test_exit_while_much_is_to_be_done(server):
    text = (RULES / "deeploy.yaml").read_text()
    for n in range(20):
        server.open(f"file:///x/{n}.yaml", text)
    numbers = [server.start("textDocument/hover", {"textDocument": {"uri": "file:///x/1.yaml"},
                                                   "position": {"line": n, "character": 8}}) for n in range(200)]
    for number in numbers:
        assert "result" in server.answer(number)
    assert server.end() == 0


def cpu_seconds(server):
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_typing_stays_quick(server):
    """Each letter typed into a large file is followed by a request, as editors do. Time of the processor, because others
    may have it, too."""
    path = RULES / "deeploy.yaml"
    text = path.read_text()
    server.open(path.as_uri(), text)
    assert server.diagnostics(path.as_uri()) == []
    where = position(text, "match: y = Slice(", behind=len("match: y = S"))
    letters = "abcdefghijklmnopqrst"
    before = cpu_seconds(server)
    for version, letter in enumerate(letters, 2):
        server.tell("textDocument/didChange", {
            "textDocument": {"uri": path.as_uri(), "version": version},
            "contentChanges": [{"range": {"start": where, "end": where}, "text": letter}]})
        server.at("hover", path.as_uri(), where)
        server.at("completion", path.as_uri(), where)
    # About 40 ms a letter, with all checks; a tenth of a second is what people notice.
    assert (cpu_seconds(server) - before) / len(letters) < 0.2
    assert any(d["code"] == "QR0409" for d in server.diagnostics(path.as_uri()))
    assert server.end() == 0


def test_a_file_of_one_line(server):
    """A large JSON file without a line end: places in it are found without walking along the line."""
    rules = [{"name": f"r{n}", "match": f"y = n:Softmax<axis>(Relu(x{n}))", "where": "rank(y) == 2",
              "replace": f"y = Abs(x{n})"} for n in range(3000)]
    text = json.dumps({"qrewrite": 1, "name": "a", "rules": rules})
    uri = "file:///x/a.json"
    server.open(uri, text)
    found = server.diagnostics(uri)
    assert len(found) == 501 and found[-1]["message"].endswith(" more")
    before = cpu_seconds(server)
    tokens = server.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})["data"]
    assert len(tokens) > 5 * 20_000
    assert cpu_seconds(server) - before < 5
    memory = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{server.process.pid}/status").read_text())
    assert int(memory[1]) < 400_000
    assert server.end() == 0


def test_shipped_rules_have_no_findings_but_those_of_lint(server):
    for path in sorted(RULES.glob("*.yaml")):
        lint = subprocess.run([PROGRAM, "lint", path], capture_output=True, text=True, timeout=60)
        server.open(path.as_uri(), path.read_text())
        found = server.diagnostics(path.as_uri())
        assert f"0 errors, {len(found)} warning" in lint.stdout, path
    assert server.end() == 0


def test_broken_files_say_what_lint_says(server):
    """All the wrong files of the documentation: same codes, same places, same order."""
    folder = SOURCE / "tests" / "docs_rules"
    for path in sorted(folder.glob("*.yaml")):
        lint = subprocess.run([PROGRAM, "lint", path.name], capture_output=True, text=True, timeout=60, cwd=folder)
        server.open(path.as_uri(), path.read_text())
        said = [f"{path.name}:{d['range']['start']['line'] + 1}:{d['range']['start']['character'] + 1}: "
                f"{['', 'error', 'warning', 'note'][d['severity']]}[{d['code']}]: "
                f"{d['message'].splitlines()[0]}" for d in server.diagnostics(path.as_uri())]
        expected = [line for line in lint.stderr.splitlines() if line.startswith(path.name)]
        assert said == expected
    assert server.end() == 0
