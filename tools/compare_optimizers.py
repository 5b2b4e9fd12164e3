"""Nodes and results of rules/optimize.yaml beside onnxsim and onnxslim, on folders of models.

    python3 tools/compare_optimizers.py --qrewrite build/release/qrewrite [--json FILE] NAME=FOLDER ...

Needs onnx, onnxruntime, onnxsim and onnxslim. For each folder (searched for *.onnx and *.onnx.gz) it prints one line of a table in
Markdown: how many models, how many nodes (those of bodies and functions too, Constant not counted) before and after each tool, how
often ours has more nodes than a peer's right result, and how often a result differs from the model in ONNX Runtime (optimizations
off, random inputs). Each model in which ours is worse or wrong is listed on stderr; then the exit status is 1. A peer that fails,
takes longer than a minute or makes something that computes other numbers is not compared with, nor is one that
brings operators of another domain, nor what is random.
"""
import argparse
import gzip
import json
import select
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

TOLERANCE = 1e-3  # of the largest element: batch norms that go into float16 weights round anew
SECONDS = 60  # that a peer may take
PEERS = {  # what to import, what to do from `a` to `b`
    "onnxsim": ("import onnx, onnxsim", "onnx.save(onnxsim.simplify(a)[0], b)"),
    "onnxslim": ("import onnxslim", "onnxslim.slim(a, b)"),
}
# A line "input<tab>output" in, a line out when it is done; what the peer prints goes to stderr.
WORKER = """
import os, sys
{imports}
answer = os.fdopen(os.dup(1), 'w')
os.dup2(2, 1)
for line in sys.stdin:
    a, b = line.rstrip('\\n').split('\\t')
    try:
        {action}
    except BaseException:
        pass
    print('done', file=answer, flush=True)
"""


def nodes(graph_nodes) -> int:
    count = 0
    for n in graph_nodes:
        count += n.op_type != "Constant"
        for a in n.attribute:
            for g in [a.g, *a.graphs] if a.type in (a.GRAPH, a.GRAPHS) else []:
                count += nodes(g.node)
    return count


def count_nodes(path: Path) -> int:
    model = onnx.load(path, load_external_data=False)
    return nodes(model.graph.node) + sum(nodes(f.node) for f in model.functions)


def domains(path: Path) -> set:
    model = onnx.load(path, load_external_data=False)
    return {o.domain for o in model.opset_import} - {"", "ai.onnx"}


def feeds(session: ort.InferenceSession) -> dict:
    """Random inputs; sizes that have no number are 2."""
    rng = np.random.default_rng(0)
    types = {"float": np.float32, "double": np.float64, "float16": np.float16}
    made = {}
    for i in [*session.get_inputs(), *session.get_overridable_initializers()]:
        shape = [d if isinstance(d, int) else 2 for d in i.shape]
        kind = i.type.removeprefix("tensor(").removesuffix(")")
        if kind in types:
            made[i.name] = rng.standard_normal(shape).astype(types[kind])
        elif kind == "bool":
            made[i.name] = rng.integers(0, 2, shape).astype(bool)
        elif kind.startswith(("int", "uint")):
            made[i.name] = rng.integers(0, 2, shape).astype(kind)
        else:
            raise ValueError(f"no numbers of {i.type}")
    return made


def session(path: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def agree(a, b) -> bool:
    if not isinstance(a, np.ndarray) or a.dtype.kind not in "fiub":
        return str(a) == str(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    finite = np.abs(x[np.isfinite(x)])
    with np.errstate(invalid="ignore"):
        return bool(np.all(same | (np.abs(x - y) <= TOLERANCE * (finite.max() if finite.size else 0))))


class Reference:
    """What a model computes; `runs` is False if ONNX Runtime does not run it, `random` if twice it computes two things."""

    def __init__(self, path: Path):
        self.runs = self.random = False
        try:
            first = session(path)
            self.feeds = feeds(first)
            self.want = first.run(None, self.feeds)
            self.random = not all(agree(a, b) for a, b in zip(self.want, first.run(None, self.feeds)))
            self.runs = True
        except Exception:  # whatever it cannot do
            pass

    def equal(self, path: Path) -> bool:
        if not self.runs or self.random:
            return True
        try:
            s = session(path)
            got = s.run(None, self.feeds)  # a caller may override what the model lets him
        except Exception:
            return False
        return len(got) == len(self.want) and all(agree(a, b) for a, b in zip(self.want, got))


class Peer:
    """A process that imports a peer once; it is started anew when it dies or takes too long."""

    def __init__(self, name: str):
        imports, action = PEERS[name]
        self.code = WORKER.format(imports=imports, action=action)
        self.process = None

    def run(self, model: Path, out: Path) -> None:
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen([sys.executable, "-c", self.code], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(f"{model}\t{out}\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        if not ready or not self.process.stdout.readline():
            self.close()

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def judge(model: Path, ours: list[str], peers: dict, folder: Path) -> dict:
    row = {"before": count_nodes(model)}
    reference = Reference(model)
    row |= {"runs": reference.runs, "random": reference.random}
    for tool in ["ours", *peers]:
        out = folder / f"{tool}.onnx"
        out.unlink(missing_ok=True)
        if tool == "ours":
            subprocess.run([*ours, str(model), "-q", "-o", str(out)], capture_output=True)
        else:
            peers[tool].run(model, out)
        if out.exists():
            row[tool] = count_nodes(out)
            row[f"{tool}_equal"] = reference.equal(out)
            row[f"{tool}_domains"] = not domains(out) <= domains(model)
    return row


def models(folder: Path, work: Path):
    for path in sorted(folder.rglob("*.onnx")) + sorted(folder.rglob("*.onnx.gz")):
        name = str(path.relative_to(folder))
        if path.suffix == ".gz":
            plain = work / "unpacked.onnx"
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            path = plain
        try:
            onnx.load(path, load_external_data=False)
        except Exception:  # no model: a hostile file of the corpus
            continue
        yield name, path


def line(name: str, rows: dict) -> str:
    tools = ["ours", *PEERS]
    done = [r for r in rows.values() if all(t in r for t in tools)]
    cells = [name, len(rows), len(done), sum(r["before"] for r in done)]
    cells += [sum(r[t] for r in done) for t in tools]
    cells += [sum(worse(r) for r in rows.values())]
    cells += [sum(not r.get(f"{t}_equal", True) for r in rows.values()) for t in tools]
    return "| " + " | ".join(map(str, cells)) + " |"


def worse(row: dict) -> bool:
    right = [row[p] for p in PEERS if p in row and row[f"{p}_equal"] and not row[f"{p}_domains"]]
    return "ours" in row and bool(right) and not row["random"] and row["ours"] > min(right)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qrewrite", required=True)
    parser.add_argument("--rules", default="optimize")
    parser.add_argument("--json")
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    options = parser.parse_args()
    ort.set_default_logger_severity(4)
    print("| models of | files | compared | nodes | qrewrite | onnxsim | onnxslim | ours has more | ours differs | onnxsim differs | onnxslim differs |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    everything, bad = {}, False
    peers = {name: Peer(name) for name in PEERS}
    ours = [options.qrewrite, "--rules", options.rules]
    with tempfile.TemporaryDirectory() as work:
        for spec in options.folders:
            name, _, folder = spec.partition("=")
            rows = {}
            for model, path in models(Path(folder), Path(work)):
                row = rows[model] = judge(path, ours, peers, Path(work))
                if worse(row) or not row.get("ours_equal", True):
                    bad = True
                    print(f"{name} {model}: {row}", file=sys.stderr, flush=True)
            everything[name] = rows
            print(line(name, rows), flush=True)
    for peer in peers.values():
        peer.close()
    if options.json:
        Path(options.json).write_text(json.dumps(everything, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
