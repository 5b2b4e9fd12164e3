"""A page for each shipped rule set, made of its file: what it is for, parameters, phases, and each rule with its promise and an example."""
import re
from pathlib import Path

import yaml


def page(path: Path) -> str:
    rule_set = yaml.safe_load(path.read_text())
    out = [f"# {rule_set['name']}", "", plain(rule_set["summary"]), ""]
    if "doc" in rule_set:
        out += [plain(rule_set["doc"]), ""]
    out += [f"    qrewrite --rules {rule_set['name']} model.onnx", ""]
    out += parameters(rule_set) + phases(rule_set)
    if "tests" in rule_set:
        out += ["## The whole set", "", *example(rule_set["tests"])]
    if "rules" in rule_set:
        out += ["## Rules", ""]
        for rule in rule_set["rules"]:
            out += section(rule)
    return "\n".join(out) + "\n"


def parameters(rule_set: dict) -> list[str]:
    params = rule_set.get("params", {})
    if not params:
        return []
    out = ["## Parameters", "", "| `--set` | default | |", "|---|---|---|"]
    for name, said in params.items():
        values = f" One of {', '.join(f'`{value}`' for value in said['one_of'])}." if "one_of" in said else ""
        default = f"`{said['default']}`" if "default" in said else ""
        out.append(f"| `{name}` | {default} | {cell(plain(said.get('doc', '')))}.{values} |")
    return out + [""]


def phases(rule_set: dict) -> list[str]:
    if "phases" not in rule_set:
        return []
    out = ["## Phases", "", "One behind the other, each until nothing fires.", "", "| phase | when | what |", "|---|---|---|"]
    for phase in rule_set["phases"]:
        what = [f"{key}: {', '.join(listed(phase[key]))}" for key in ("rules", "fold", "use", "inline", "freeze_inputs") if key in phase]
        when = f"`{cell(str(phase['when']))}`" if "when" in phase else ""
        out.append(f"| {phase['name']} | {when} | {cell('; '.join(what))} |")
    return out + [""]


def section(rule: dict) -> list[str]:
    facts = [f"Promise: `{rule['equivalence']}`."]
    if "opset" in rule:
        facts.append(f"Opset `{rule['opset']}`.")
    for key, words in (("refuse", "Refuses the model"), ("warn", "Warns")):
        if key in rule:
            facts.append(f"{words}: {said(rule[key])}.")
    return [f"### {rule['name']}", "", plain(rule["doc"].strip()), "", " ".join(facts), "", *example(rule.get("tests", []))]


def example(tests: list[dict]) -> list[str]:
    """The first test in which a graph becomes another, the shortest of those without parameters if there is one."""
    changing = [test for test in tests if isinstance(test["expect"], str) and test["expect"].strip() != "unchanged"]
    if not changing:
        return []
    test = min(changing, key=lambda test: ("set" in test, len(test["given"])))
    given = [f"opset {test['opset']}"] if "opset" in test else []
    given += [f"`--set {key}={value}`" for key, value in test.get("set", {}).items()]
    where = f" ({', '.join(given)})" if given else ""
    return [f"For example{where}:", "", *code(test["given"]), "becomes", "", *code(test["expect"])]


def code(graph: str) -> list[str]:
    return [f"    {line}" for line in graph.rstrip().splitlines()] + [""]


def said(text) -> str:
    return f"`{' '.join(str(text).split())}`" if isinstance(text, str) else ", ".join(f"`{part}`" for part in listed(text))


def listed(value) -> list[str]:
    return [str(part) for part in (value if isinstance(value, list) else [value])]


def plain(text: str) -> str:
    """Markdown of text that was written for no markup: its backticks alone are some."""
    return re.sub(r"(`[^`]*`)|[<*_]", lambda match: match[1] or "\\" + match[0], text)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
