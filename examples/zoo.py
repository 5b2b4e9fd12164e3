#!/usr/bin/env python3
"""Rewrites a folder, or a bucket, of models with Dask; one table tells of all of them.

  zoo.py MODELS --rules optimize --rules mine.yaml --output REWRITTEN [--workers 4 | --scheduler ADDRESS]

MODELS and REWRITTEN are folders or URLs of fsspec ("s3://bucket/models"). Models keep their names and their external data. A
model that fails is a row of the table, and no reason to stop. A second run does what the first one did not: models that are
done, with the same rules and since then unchanged, are left out if what was made of them is there; --again does all of them. REWRITTEN may lie
inside of MODELS.

The table, REWRITTEN/zoo.csv, or --table with a name that ends in .parquet (pyarrow writes it, with types): model, output, status, error,
message, rewrites, folded, nodes_before, nodes_after, bytes_before, bytes_after, seconds, key.
"""
from __future__ import annotations

import argparse
import csv
import hashlib
import importlib.util
import io
import os
import posixpath
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec
from dask.distributed import Client, LocalCluster, as_completed

if TYPE_CHECKING:
    import qrewrite

FIELDS = {"model": str, "output": str, "status": str, "error": str, "message": str, "rewrites": int, "folded": int, "nodes_before": int,
          "nodes_after": int, "bytes_before": int, "bytes_after": int, "seconds": float, "key": str}


def rewrite_one(source: str, target: str, name: str, rules: list[dict[str, str]], params: dict[str, str], row: dict) -> dict:
    """Runs on a worker: reads a model from `source`, writes it to `target`. Errors are part of the row that it returns."""
    import qrewrite
    begin = time.perf_counter()
    folder = ""
    try:
        with tempfile.TemporaryDirectory() as folder:
            sets = [load_rules(files, Path(folder, f"rules{i}")) for i, files in enumerate(rules)]
            local = fetch(source, name, Path(folder, "in"))
            Path(folder, "out").mkdir()
            _, report = qrewrite.rewrite(local, sets, output=Path(folder, "out", posixpath.basename(name)), params=params)
            store(report.written, target, posixpath.dirname(name))
        row |= {"status": "done", "rewrites": report.rewrites, "folded": report.folded,
                "nodes_before": report.nodes[0], "nodes_after": report.nodes[1],
                "bytes_before": report.bytes[0], "bytes_after": report.bytes[1]}
    except qrewrite.Error as error:
        message = str(error).replace(f"{folder}/in/", "")  # where the model was copied to, which is gone
        row |= {"status": "failed", "error": error.code, "message": message}
    except Exception as error:  # of the storage
        row |= {"status": "failed", "error": type(error).__name__, "message": str(error)}
    return row | {"seconds": round(time.perf_counter() - begin, 3)}


def fetch(source: str, name: str, folder: Path) -> Path:
    """The model and its external data, on this machine."""
    import qrewrite
    filesystem, root = fsspec.url_to_fs(source)
    local = folder / posixpath.basename(name)
    folder.mkdir()
    filesystem.get_file(posixpath.join(root, name), str(local))
    while True:  # each location that is missing is named by the error
        try:
            qrewrite.Model.load(local)
            return local
        except qrewrite.FileError:
            missing = [location for location in external_locations(local) if not (folder / location).exists()]
            if not missing:
                raise
            for location in missing:
                (folder / location).parent.mkdir(parents=True, exist_ok=True)
                filesystem.get_file(posixpath.join(root, posixpath.dirname(name), location), str(folder / location))


def external_locations(model: Path) -> list[str]:
    import onnx
    from onnx.external_data_helper import ExternalDataInfo, _get_all_tensors, uses_external_data
    proto = onnx.load(model, load_external_data=False)
    locations = {ExternalDataInfo(tensor).location for tensor in _get_all_tensors(proto) if uses_external_data(tensor)}
    return sorted(location for location in locations if not posixpath.isabs(location) and ".." not in location.split("/"))


def store(files: list[str], target: str, folder: str) -> None:
    filesystem, root = fsspec.url_to_fs(target)
    where = posixpath.join(root, folder)
    filesystem.makedirs(where, exist_ok=True)
    for file in reversed(files):  # the model last: a model that is there is whole
        filesystem.put_file(file, posixpath.join(where, posixpath.basename(file)))


def read_rules(names: list[str]) -> list[dict[str, str]]:
    """The files of each rule set, the main one first; workers need not have them. Those of shipped sets they have."""
    import qrewrite
    shipped = {Path(path).parent.resolve() for path in qrewrite.shipped().values()}
    read = []
    for name in names:
        rules = qrewrite.Rules.load(name, tests=False)
        files = [Path(file).resolve() for file in rules.files]
        if files[0].parent in shipped:
            read.append({files[0].stem: ""})
            continue
        own = [file for file in files if not shipped & set(file.parents)]
        root = Path(os.path.commonpath([file.parent for file in own]))
        read.append({str(file.relative_to(root)): file.read_text() for file in own})
    return read


def load_rules(files: dict[str, str], folder: Path) -> qrewrite.Rules:
    import qrewrite
    main = next(iter(files))
    if not files[main]:
        return qrewrite.Rules.load(main, tests=False)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return qrewrite.Rules.load(folder / main, tests=False)


def is_within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def list_models(source: str, target: str) -> dict[str, str]:
    """Names of the models, with what changes when one does. What lies in `target` is no model but what was made of one."""
    filesystem, root = fsspec.url_to_fs(source)
    others, made = fsspec.url_to_fs(target)
    nested = type(filesystem) is type(others) and is_within(made, root)
    models = {}
    for path, info in sorted(filesystem.find(root, detail=True).items()):
        if path.endswith(".onnx") and not (nested and is_within(path, made)):
            mark = info.get("ETag") or info.get("mtime") or info.get("created") or ""
            models[posixpath.relpath(path, root)] = f"{info['size']} {mark}"
    return models


def list_rewritten(target: str) -> set[str]:
    filesystem, root = fsspec.url_to_fs(target)
    return {posixpath.relpath(path, root) for path in filesystem.find(root)} if filesystem.exists(root) else set()


def read_table(url: str) -> list[dict]:
    filesystem, path = fsspec.url_to_fs(url)
    if not filesystem.exists(path):
        return []
    data = filesystem.cat_file(path)
    if url.endswith(".parquet"):
        import pyarrow.parquet
        return pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    rows = csv.DictReader(io.StringIO(data.decode(), newline=""))
    return [{name: kind(row[name]) if row.get(name) else None for name, kind in FIELDS.items()} for row in rows]


def write_table(url: str, rows: list[dict]) -> None:
    filesystem, path = fsspec.url_to_fs(url)
    rows = sorted(rows, key=lambda row: row["model"])
    filesystem.makedirs(posixpath.dirname(path), exist_ok=True)
    filesystem.pipe_file(path + ".part", parquet_of(rows) if url.endswith(".parquet") else csv_of(rows))
    filesystem.mv(path + ".part", path)


def csv_of(rows: list[dict]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(FIELDS), restval="", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet_of(rows: list[dict]) -> bytes:
    import pyarrow
    import pyarrow.parquet
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in FIELDS.items()])
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{name: row.get(name) for name in FIELDS} for row in rows], schema), file)
    return file.getvalue()


def rewrite_all(client: Client, source: str, target: str, rules: list[dict[str, str]], params: dict[str, str],
                table: str, again: bool = False) -> list[dict]:
    """Rewrites what is not done yet, and returns the rows of the table, which is written every few seconds, and however the run ends."""
    if fsspec.url_to_fs(source) == fsspec.url_to_fs(target):
        raise ValueError("the rewritten models would take the place of the models")
    how = repr((rules, sorted(params.items())))
    todo, rows = {}, []
    rewritten = list_rewritten(target)
    known = {row["model"]: row for row in read_table(table) if row["status"] == "done" and row["model"] in rewritten and not again}
    for name, mark in list_models(source, target).items():
        key = hashlib.sha256(f"{mark} {how}".encode()).hexdigest()[:16]
        if name in known and known[name]["key"] == key:
            rows.append(known[name])
        else:
            todo[name] = {"model": name, "output": posixpath.join(target, name), "key": key}
    futures = {client.submit(rewrite_one, source, target, name, rules, params, row, pure=False): row for name, row in todo.items()}
    written, took = time.monotonic(), 0.0
    try:
        for future in as_completed(futures):
            if future.status == "finished":
                rows.append(future.result())
            else:  # the worker died: of memory, mostly
                rows.append(futures[future] | {"status": "failed", "error": "worker", "message": str(future.exception())})
            if (now := time.monotonic()) - written > max(1, 50 * took):  # a long table takes its time
                write_table(table, rows)
                written, took = time.monotonic(), time.monotonic() - now
    finally:
        write_table(table, rows)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", help="a folder or URL")
    parser.add_argument("--rules", action="append", required=True, help="a rule file or a shipped rule set; may be repeated")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the rule sets")
    parser.add_argument("--output", required=True, help="a folder or URL")
    parser.add_argument("--table", help="the report, .csv or .parquet; default: OUTPUT/zoo.csv")
    parser.add_argument("--workers", type=int, default=2, help="processes on this machine")
    parser.add_argument("--scheduler", help="a Dask scheduler that runs already")
    parser.add_argument("--again", action="store_true", help="also what is done")
    args = parser.parse_args()
    if wrong := [text for text in args.set if "=" not in text]:
        parser.error(f"--set takes NAME=VALUE, not {wrong[0]}")
    params = dict(text.split("=", 1) for text in args.set)
    table = args.table or posixpath.join(args.output, "zoo.csv")
    if table.endswith(".parquet") and importlib.util.find_spec("pyarrow") is None:
        parser.error("a .parquet table needs pyarrow")
    if fsspec.url_to_fs(args.models) == fsspec.url_to_fs(args.output):
        parser.error("--output is the folder of the models, whose place the rewritten ones would take")
    cluster = args.scheduler or LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        rows = rewrite_all(client, args.models, args.output, read_rules(args.rules), params, table, args.again)
    if not args.scheduler:
        cluster.close()
    failed = [row for row in rows if row["status"] != "done"]
    for row in failed:
        said = (row["message"] or row["error"]).splitlines()[0]
        print(f"{row['model']}: {said.removeprefix(posixpath.basename(row['model']) + ': ')}", file=sys.stderr)
    print(f"{len(rows) - len(failed)} done, {len(failed)} failed; {table}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
