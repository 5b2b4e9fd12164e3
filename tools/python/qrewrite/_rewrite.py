"""rewrite(): rule sets applied to a model."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fsdecode, fspath, path as os_path
from re import Pattern
from typing import TYPE_CHECKING, Any, Callable, Sequence, TypeVar

from . import _arguments, _core
from ._errors import usage
from ._kinds import default_output, read
from ._report import Report
from ._rules import Rule, Rules

if TYPE_CHECKING:
    from ._observe import Event, ProgressEvent

M = TypeVar("M")
RuleSource = Rules | str | PathLike[str] | Mapping[str, Any]
_OPTIONS = ("output", "html", "params", "observer", "firing_text", "progress", "stop_after", "skip_rules", "require_hits", "keep_ops",
            "keep_nodes", "shapes", "allow_partial", "strict", "profile", "check_graph", "max_rewrites", "folder")


def rewrite(model: M, rules: RuleSource | Sequence[RuleSource], *, output: str | PathLike[str] | None = None,
            html: bool | str | PathLike[str] = False, params: Mapping[str, Any] | None = None,
            observer: Callable[[Event], Any] | None = None, firing_text: bool | Callable[[str], bool] = False,
            progress: Callable[[ProgressEvent], Any] | None = None, stop_after: int | None = None,
            skip_rules: Iterable[str] = (), require_hits: Iterable[str] = (), keep_ops: Iterable[str] = (),
            keep_nodes: Iterable[str] = (), shapes: Mapping[str, Sequence[int]] | None = None,
            allow_partial: bool = False, strict: bool = False, profile: bool = False,
            check_graph: bool = False, max_rewrites: int = 0, folder: str | PathLike[str] = "",
            **parameters: Any) -> tuple[M, Report]:
    """Applies rule sets to a model, one behind the other, until nothing changes any more.

    Returns the new model, of the kind that was given, and a :class:`Report`. What was given does not change, whatever
    happens; a run that fails writes nothing.

    model: a path, ``bytes``, an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a :class:`Model`. For a path the result is a path:
        `output`, or "model.RULESET.onnx" beside the model; `output` may be the model itself, which is replaced then. The file is
        mapped, and its external data: another process that writes to it or truncates it meanwhile may end this one.
    rules: the name of a shipped rule set, a path, a dict (:meth:`Rules.from_dict`), :class:`Rules`, or a list of these.
    parameters: of the rule sets, by name: each goes to every rule set that has it, and one must. `params` has those whose
        name is an option of this function as well. Lists are joined by commas; None is the default.

    html: a file for a page to walk through the run, with both graphs side by side; True: :meth:`Report.html` makes it.
    observer: is called with each event (:class:`PhaseEvent`, :class:`SweepEvent`, :class:`ProgressEvent`, :class:`FiringEvent`); it
        may return "stop", which ends the run without an error, or "cancel", which raises :class:`Cancelled`.
    firing_text: whether events of firings say in words what changed; or a function that says it of a rule.
    progress: is called with each ProgressEvent alone, every 256 nodes; it may return what an observer may.
    stop_after: ends the run, without an error, where the next rewrite would come after so many.
    skip_rules: rules that never fire.
    require_hits: rules that have to (:class:`Refused`, with what came nearest).
    keep_ops, keep_nodes: nodes that stay as they are: operators ("com.microsoft.*"), regular expressions (RE2) for names.
    shapes: by input: its sizes from now on. What the model leaves open becomes numbers, also where a name of a size stands elsewhere.
    allow_partial: what a rule refuses becomes a warning. strict: warnings are errors (:class:`Refused`).
    profile: ``report.to_dict()["profile"]`` says what each rule cost, and what stopped it how often; the run takes longer.
    check_graph: checks the graph after every rewrite; slow, for rule authors.
    max_rewrites: more of them in one phase are a :class:`LimitError`; 0: as many as the size of the model allows.
    folder: where a message in memory has its external data; tensors of an ``onnx_ir.Model`` know their own folder (``base_dir``).

    Raises an :class:`Error`: UsageError, FileError, InvalidModel, InvalidRules, Unsupported (the model is outside the opset range of
    the rules), Refused, LimitError (the rewriting does not end), Cancelled, CallbackError. Ctrl-C ends the run, too. The interpreter lock is
    released while rules are applied.

        >>> proto = onnx.load("model.onnx")
        >>> model, report = qrewrite.rewrite(proto, ["ezkl_dequant", "optimize"], saturation="clip")
        >>> report.changed, report.nodes
        (True, (26, 12))
    """
    sets = load_all(rules)
    settings = settings_of(sets, params, parameters)
    skipped = _arguments.names("`skip_rules`", skip_rules)
    required = _arguments.names("`require_hits`", require_hits)
    check_names(sets, skipped + required)
    flags = {"allow_partial": _arguments.flag("`allow_partial`", allow_partial), "strict": _arguments.flag("`strict`", strict),
             "check_graph": _arguments.flag("`check_graph`", check_graph), "profile": _arguments.flag("`profile`", profile),
             "max_rewrites": _arguments.count("`max_rewrites`", max_rewrites),
             "shapes": _arguments.shapes("`shapes`", shapes),
             "keep_ops": _arguments.names("`keep_ops`", keep_ops), "keep_nodes": _arguments.names("`keep_nodes`", keep_nodes)}
    if flags["strict"] and flags["allow_partial"]:
        raise usage("`strict` and `allow_partial` exclude each other")
    if stop_after is not None:
        stop_after = _arguments.count("`stop_after`", stop_after)
    if output is not None and not isinstance(model, (str, PathLike)):
        raise usage("`output` is for a model that is a path; others come back in memory")
    page = None if isinstance(html, bool) else _arguments.path("`html`", html)
    watcher = None
    if observer is not None or progress is not None:
        from ._observe import Adapter
        watcher = Adapter(observer, firing_text, progress)
    core, back = read(model, folder)
    target: str | PathLike[str] = ""
    if back is None:
        target = output if output is not None else default_output(model, [s.name for s in sets])  # type: ignore[arg-type]
        _check_target("the output", _arguments.path("`output`", target), sets)
    if page is not None:
        _check_target("`html`", page, sets, model if back is None else None)
    recording = _Recording(core, sets) if html is not False else None
    total = _run(core, sets, settings, (skipped, required), flags, stop_after, watcher, recording)
    report = Report(total, recording.page(core, total, model if back is None else None, target) if recording else None)
    pages = [] if page is None else [(page, report.html().encode("utf-8", "surrogateescape"), False)]
    if back is None:
        report.written = core.save(_arguments.path("`output`", target), 0, 1024, [*total.files(), *pages])
        return _like(target, model), report
    result = back(core)
    if pages:
        core.save_side_files(pages)
        report.written = [fsdecode(path) for path, _, _ in pages]
    return result, report


class _Recording:
    """What the page of a run needs: the model before it, and what happened."""

    def __init__(self, core: _core.Model, sets: list[Rules]) -> None:
        self.recorder = _core.Recorder()
        self._before = core.clone()
        self._sets = [rules._core for rules in sets]

    def page(self, after: _core.Model, total: _core.Report, model: Any, target: Any) -> Callable[[], str]:
        def name(path: Any, other: str) -> str:
            return fsdecode(path).encode("utf-8", "replace").decode() if path else other
        names = name(model, "before"), name(target, "rewritten")
        return lambda: _core.run_page(self._before, after, self.recorder, total, self._sets, *names)


def _run(core: _core.Model, sets: list[Rules], settings: dict[str, str], named: tuple[list[str], list[str]], flags: dict[str, Any],
         stop_after: int | None, watcher: Any, recording: _Recording | None) -> _core.Report:
    total = None
    for rules in sets:
        left = None if stop_after is None else stop_after - (total.rewrites if total else 0)
        own = {name: text for name, text in settings.items() if rules._core.has_param(name)}
        skipped, required = ([name for name in names if rules._core.has_rule(name)] for names in named)
        report = _core.rewrite(core, rules._core, own, {**flags, "skip_rules": skipped, "require_hits": required, "stop_after": left},
                               watcher, recording.recorder if recording else None)
        if total is None:
            total = report
        else:
            total.add(report)
        if total.stopped:
            break
    assert total is not None
    return total


def load_all(rules: RuleSource | Sequence[RuleSource], *, tests: bool = False) -> list[Rules]:
    sources: list[Any] = list(rules) if isinstance(rules, (list, tuple)) and not isinstance(rules, Rule) else [rules]
    for source in sources:
        if isinstance(source, Rule):
            raise usage(f"rule `{source.name}` says nothing without its rule set; find(model, rules, rule={source.name!r}) looks for it alone")
    if not sources:
        raise usage("there are no rules to apply")
    return [_load(source, tests) for source in sources]


def _load(source: RuleSource, tests: bool) -> Rules:
    if isinstance(source, Rules):
        return source
    if isinstance(source, Mapping):
        return Rules.from_dict(source)
    if isinstance(source, (str, PathLike)):
        if isinstance(source, str) and "\n" in source and not os_path.exists(source):
            raise usage("rules are a name or a path, not the text of a rule file: Rules.parse() takes that")
        return Rules.load(source, tests=tests)
    raise usage(f"rules are a name, a path, a dict, qrewrite.Rules, or a list of these, not {type(source).__name__}")


def text_of(name: str, value: Any) -> str:
    """A parameter as ``--set`` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)  # not that of an enumeration
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Pattern):
        return str(value.pattern)
    if isinstance(value, (str, PathLike)):
        return value if isinstance(value, str) else fsdecode(_arguments.path(f"parameter `{name}`", value))
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(name, v) for v in value)
    if hasattr(value, "tolist"):  # of numpy
        return text_of(name, value.tolist())
    raise usage(f"parameter `{name}` is {type(value).__name__}; it may be a bool, a number, a text, a path or a list of these")


def load_one(what: str, rules: RuleSource) -> Rules:
    if isinstance(rules, (list, tuple)) and not isinstance(rules, Rule) and len(rules) != 1:
        raise usage(f"{what}() takes one rule set, not {len(rules)}")
    return load_all(rules)[0]


def settings_of(sets: list[Rules], params: Any, parameters: Mapping[str, Any]) -> dict[str, str]:
    settings = {}
    if twice := sorted(set(_arguments.mapping("`params`", params)) & set(parameters)):
        raise usage(f"parameter `{twice[0]}` is given twice: by name, and in `params`")
    for name, value in {**_arguments.mapping("`params`", params), **parameters}.items():
        if not any(rules._core.has_param(name) for rules in sets):
            known = [p.name for rules in sets for p in rules.params]
            raise usage(f"{_owners(sets)} no parameter `{name}`{_nearest(name, [*known, *_OPTIONS])}")
        if value is not None:
            settings[name] = _arguments.text(f"parameter `{name}`", text_of(name, value))
    return settings


def check_options(sets: Sequence[Rules], options: Mapping[str, Any]) -> None:
    """Whether rewrite() knows these names; what they are set to, for parameters."""
    settings_of(list(sets), options.get("params"), {name: value for name, value in options.items() if name not in _OPTIONS})


def check_names(sets: list[Rules], names: list[str]) -> None:
    for name in names:
        if not any(rules._core.has_rule(name) for rules in sets):
            raise usage(f"{_owners(sets)} no rule `{name}`{_nearest(name, [r.name for rules in sets for r in rules.rules])}")


def _owners(sets: list[Rules]) -> str:
    return ", ".join(f"`{rules.name}`" for rules in sets) + (" has" if len(sets) == 1 else " have")


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches
    found = get_close_matches(name, known, 1)
    return f"; did you mean `{found[0]}`?" if found else ""


def _check_target(what: str, target: bytes, sets: list[Rules], model: Any = None) -> None:
    def same(file: Any) -> bool:
        return os_path.exists(file) and os_path.exists(target) and os_path.samefile(file, target)
    if any(same(file) for rules in sets for file in rules.files):
        raise usage(f"{what} `{fsdecode(target)}` is a rule file")
    if model is not None and same(model):
        raise usage(f"{what} `{fsdecode(target)}` is the model")


def _like(path: Any, model: Any) -> Any:
    """The path as a text if the model was one, else as a Path."""
    from pathlib import Path
    return fspath(path) if isinstance(model, str) else Path(path)
