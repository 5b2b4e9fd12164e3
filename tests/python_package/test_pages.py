"""What differs between models, and pages: diff(), Report.html(), Model.dot()."""
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from conftest import RULES

import qrewrite


def whole(page):
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n") and "<script>" in page
    return page


def test_diff(chain):
    other, _ = qrewrite.rewrite(chain, RULES)
    diff = qrewrite.diff(chain, other)
    assert diff and not diff.equal and "nodes 5 -> 3" in str(diff) and repr(diff).startswith("<qrewrite.Diff: nodes 5 -> 3")
    assert diff.to_dict()["equal"] is False and "Identity" in whole(diff.html()) and "srcdoc" in diff._repr_html_()
    assert "more (" in diff.text(most=0) and "more (" not in str(diff)
    same = qrewrite.diff(chain, chain.SerializeToString())
    assert same.equal and not same and "equal" in str(same)
    renamed = onnx.ModelProto()
    renamed.CopyFrom(chain)
    renamed.graph.node[0].output[0] = renamed.graph.node[1].input[0] = "else"
    assert qrewrite.diff(chain, renamed) and not qrewrite.diff(chain, renamed, names=False)


def test_diff_is_that_of_the_command(chain):
    onnx.save(chain, "a.onnx")
    qrewrite.rewrite("a.onnx", RULES, output="b.onnx")
    command = [sys.executable, "-m", "qrewrite", "diff", "a.onnx", "b.onnx", "--html", "page.html"]
    done = subprocess.run(command, capture_output=True, text=True)
    diff = qrewrite.diff("a.onnx", "b.onnx")
    assert done.returncode == 1 and done.stdout.rstrip("\n") == str(diff)
    assert Path("page.html").read_text() == diff.html()


def test_page_of_a_run_is_that_of_the_command(chain):
    import json
    onnx.save(chain, "a.onnx")
    Path("tidy.json").write_text(json.dumps({"qrewrite": 1, **RULES}))
    command = [sys.executable, "-m", "qrewrite", "--rules", "./tidy.json", "a.onnx", "-o", "b.onnx", "--html", "page.html"]
    subprocess.run(command, check=True, capture_output=True)
    expected = Path("page.html").read_text()
    _, report = qrewrite.rewrite("a.onnx", "./tidy.json", output="b.onnx", html="mine.html")
    assert report.html() == Path("mine.html").read_text() == expected and report.written == ["b.onnx", "mine.html"]
    assert "neg-of-neg" in whole(expected)


def test_page_of_a_model_in_memory(chain):
    model, report = qrewrite.rewrite(chain, [RULES, RULES], html=Path("page.html"))
    assert report.written == ["page.html"] and Path("page.html").read_text() == report.html()
    again, recorded = qrewrite.rewrite(chain, RULES, html=True)
    assert again == model and recorded.written == [] and "relu-of-relu" in whole(recorded.html())
    assert "srcdoc" in recorded._repr_html_() and "srcdoc" not in qrewrite.rewrite(chain, RULES)[1]._repr_html_()
    with pytest.raises(qrewrite.UsageError, match="not recorded"):
        qrewrite.rewrite(chain, RULES)[1].html()


def test_a_page_goes_with_an_observer(chain):
    texts = []
    observe = lambda e: texts.append(e.before) if isinstance(e, qrewrite.FiringEvent) else None  # noqa: E731
    _, report = qrewrite.rewrite(chain, RULES, html=True, observer=observe)
    assert texts == ["", ""] and "neg-of-neg" in report.html()  # the texts are for the page alone
    qrewrite.rewrite(chain, RULES, html=True, observer=observe, firing_text=True)
    assert all("Neg" in text or "Relu" in text for text in texts[2:]) and len(texts) == 4


def test_a_page_never_replaces_what_was_read(chain):
    onnx.save(chain, "a.onnx")
    Path("tidy.yaml").write_text("qrewrite: 1\nname: tidy\nrules:\n  - {name: a, match: y = Relu(Relu(x)), replace: y = Relu(x)}\n")
    before = Path("a.onnx").read_bytes(), Path("tidy.yaml").read_bytes()
    for page in ("a.onnx", "tidy.yaml"):
        with pytest.raises(qrewrite.UsageError, match="`html` `.*` is"):
            qrewrite.rewrite("a.onnx", "tidy.yaml", html=page)
    with pytest.raises(qrewrite.UsageError):
        qrewrite.rewrite("a.onnx", "tidy.yaml", output="b.onnx", html="b.onnx")
    with pytest.raises(qrewrite.FileError):
        qrewrite.rewrite("a.onnx", "tidy.yaml", output="b.onnx", html="tidy.yaml/page.html")
    assert before == (Path("a.onnx").read_bytes(), Path("tidy.yaml").read_bytes())
    assert sorted(p.name for p in Path().iterdir()) == ["a.onnx", "tidy.yaml"]  # neither the model nor a page


def test_dot(chain):
    model = qrewrite.Model.parse(chain.SerializeToString())
    onnx.save(chain, "a.onnx")
    shown = subprocess.run([sys.executable, "-m", "qrewrite", "show", "a.onnx", "--dot"], capture_output=True, text=True, check=True).stdout
    assert model.dot() == shown and shown.startswith("digraph")
    assert "Mul" not in model.dot(around="a", distance=1) and "Mul" in model.dot(node="^c$")
    with pytest.raises(qrewrite.UsageError):
        model.dot(node="(")


def test_rules_that_have_to_fire(chain):
    never = {"rules": [{"name": "never", "match": "y = Mul(x, w)", "where": "size(w) == 5", "replace": "y = Abs(x)"}]}
    with pytest.raises(qrewrite.Refused, match="never"):
        qrewrite.rewrite(chain, never, require_hits=["never"])
    assert qrewrite.rewrite(chain, [RULES, never], require_hits=["neg-of-neg"])[1].rewrites == 2
    with pytest.raises(qrewrite.UsageError, match="no rule `nevr`; did you mean `never`?"):
        qrewrite.rewrite(chain, never, require_hits=["nevr"])


def test_profile(chain):
    assert "profile" not in qrewrite.rewrite(chain, RULES)[1].to_dict()
    rules = qrewrite.rewrite(chain, RULES, profile=True)[1].to_dict()["profile"]["rules"]
    assert {rule["rule"] for rule in rules} >= {"relu-of-relu", "neg-of-neg"}
