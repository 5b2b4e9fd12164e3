"""rewrite(): rule sets applied to a model."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fsdecode, fspath, path as os_path
from re import Pattern
from typing import TYPE_CHECKING, Any, Callable, Sequence, TypeVar

from . import _core
from ._errors import usage
from ._kinds import default_output, read
from ._report import Report
from ._rules import Rules

if TYPE_CHECKING:
    from ._observe import Event, ProgressEvent

M = TypeVar("M")
RuleSource = Rules | str | PathLike[str] | Mapping[str, Any]
_OPTIONS = ("output", "params", "observer", "firing_text", "progress", "stop_after", "skip_rules", "keep_ops",
            "keep_nodes", "allow_partial", "strict", "check_graph", "max_rewrites", "folder")


def rewrite(model: M, rules: RuleSource | Sequence[RuleSource], *, output: str | PathLike[str] | None = None,
            params: Mapping[str, Any] | None = None, observer: Callable[[Event], Any] | None = None,
            firing_text: bool | Callable[[str], bool] = False, progress: Callable[[ProgressEvent], Any] | None = None,
            stop_after: int | None = None, skip_rules: Iterable[str] = (), keep_ops: Iterable[str] = (),
            keep_nodes: Iterable[str] = (), allow_partial: bool = False, strict: bool = False, check_graph: bool = False,
            max_rewrites: int = 0, folder: str | PathLike[str] = "", **parameters: Any) -> tuple[M, Report]:
    """Applies rule sets to a model, one behind the other, until nothing changes any more.

    Returns the new model, of the kind that was given, and a :class:`Report`. What was given does not change, whatever
    happens; a run that fails writes nothing.

    model: a path, ``bytes``, an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a :class:`Model`. For a path the result is a path:
        `output`, or "model.RULESET.onnx" beside the model; `output` may be the model itself, which is replaced then.
    rules: the name of a shipped rule set, a path, a dict (:meth:`Rules.from_dict`), :class:`Rules`, or a list of these.
    parameters: of the rule sets, by name: each goes to every rule set that has it, and one must. `params` has those whose
        name is an option of this function as well. Lists are joined by commas; None is the default.

    observer: is called with each event (:class:`PhaseEvent`, :class:`SweepEvent`, :class:`ProgressEvent`, :class:`FiringEvent`); it
        may return "stop", which ends the run without an error, or "cancel", which raises :class:`Cancelled`.
    firing_text: whether events of firings say in words what changed; or a function that says it of a rule.
    progress: is called with each ProgressEvent alone, every 256 nodes.
    stop_after: ends the run, without an error, where the next rewrite would come after so many.
    skip_rules: rules that never fire.
    keep_ops, keep_nodes: nodes that stay as they are: operators ("com.microsoft.*"), regular expressions (RE2) for names.
    allow_partial: what a rule refuses becomes a warning. strict: warnings are errors (:class:`Refused`).
    check_graph: checks the graph after every rewrite; slow, for rule authors.
    max_rewrites: of one phase; 0: chosen by the size of the model.
    folder: where a model in memory has its external data.

    Raises an :class:`Error`: UsageError, FileError, InvalidModel, InvalidRules, Unsupported (the model is outside the opset range of
    the rules), Refused, LimitError (the rewriting does not end), Cancelled, CallbackError. Ctrl-C ends the run, too. The interpreter lock is
    released while rules are applied.

        >>> model, report = qrewrite.rewrite(proto, ["ezkl_dequant", "optimize"], saturation="clip")
        >>> report.changed, report.nodes
        (True, (13, 5))
    """
    sets = load_all(rules)
    settings = _settings(sets, {**(params or {}), **parameters})
    skipped = _named("skip_rules", skip_rules)
    _check_skipped(sets, skipped)
    flags = {"allow_partial": bool(allow_partial), "strict": bool(strict), "check_graph": bool(check_graph),
             "max_rewrites": count("max_rewrites", max_rewrites), "keep_ops": _named("keep_ops", keep_ops),
             "keep_nodes": _named("keep_nodes", keep_nodes)}
    if stop_after is not None:
        count("stop_after", stop_after)
    if output is not None and not isinstance(model, (str, PathLike)):
        raise usage("`output` is for a model that is a path; others come back in memory")
    watcher = None
    if observer is not None or progress is not None:
        from ._observe import Adapter
        watcher = Adapter(observer, firing_text, progress)
    core, back = read(model, folder)
    target: str | PathLike[str] = ""
    if back is None:
        target = output if output is not None else default_output(model, [s.name for s in sets])  # type: ignore[arg-type]
        _check_target(target, sets)
    total = _run(core, sets, settings, skipped, flags, stop_after, watcher)
    if back is None:
        written = core.save(_encoded(target), 0, 1024, total.files())
        return _like(target, model), Report(total, written)  # type: ignore[return-value]
    return back(core), Report(total)


def _run(core: _core.Model, sets: list[Rules], settings: dict[str, str], skipped: list[str], flags: dict[str, Any],
         stop_after: int | None, watcher: Any) -> _core.Report:
    total = None
    for rules in sets:
        left = None if stop_after is None else stop_after - (total.rewrites if total else 0)
        own = {name: text for name, text in settings.items() if rules._core.has_param(name)}
        skip = [name for name in skipped if rules._core.has_rule(name)]
        report = _core.rewrite(core, rules._core, own, {**flags, "skip_rules": skip, "stop_after": left}, watcher)
        if total is None:
            total = report
        else:
            total.add(report)
        if total.stopped:
            break
    assert total is not None
    return total


def load_all(rules: RuleSource | Sequence[RuleSource]) -> list[Rules]:
    sources: list[Any] = list(rules) if isinstance(rules, (list, tuple)) else [rules]
    if not sources:
        raise usage("there are no rules to apply")
    return [_load(source) for source in sources]


def _load(source: RuleSource) -> Rules:
    if isinstance(source, Rules):
        return source
    if isinstance(source, Mapping):
        return Rules.from_dict(source)
    if isinstance(source, (str, PathLike)):
        return Rules.load(source, tests=False)
    raise usage(f"rules are a name, a path, a dict or qrewrite.Rules, not {type(source).__name__}")


def text_of(name: str, value: Any) -> str:
    """A parameter as ``--set`` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Pattern):
        return value.pattern
    if isinstance(value, (str, PathLike)):
        return fsdecode(fspath(value))
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(name, v) for v in value)
    if hasattr(value, "item"):  # a numpy scalar
        return text_of(name, value.item())
    raise usage(f"parameter `{name}` is {type(value).__name__}; it may be a bool, a number, a text, a path or a list of these")


def _settings(sets: list[Rules], parameters: Mapping[str, Any]) -> dict[str, str]:
    settings = {}
    for name, value in parameters.items():
        if not any(rules._core.has_param(name) for rules in sets):
            known = [p.name for rules in sets for p in rules.params]
            raise usage(f"{_owners(sets)} no parameter `{name}`{_nearest(name, [*known, *_OPTIONS])}")
        if value is not None:
            settings[name] = _plain(f"parameter `{name}`", text_of(name, value))
    return settings


def _check_skipped(sets: list[Rules], skipped: list[str]) -> None:
    for name in skipped:
        if not any(rules._core.has_rule(name) for rules in sets):
            raise usage(f"{_owners(sets)} no rule `{name}`{_nearest(name, [r.name for rules in sets for r in rules.rules])}")


def _owners(sets: list[Rules]) -> str:
    return ", ".join(f"`{rules.name}`" for rules in sets) + (" has" if len(sets) == 1 else " have")


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches
    found = get_close_matches(name, known, 1)
    return f"; did you mean `{found[0]}`?" if found else ""


def _named(option: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise usage(f"`{option}` is a list of names, not {'one text' if isinstance(names, str) else type(names).__name__}")
    return [_plain(f"`{option}`", name) for name in names]


def _plain(what: str, text: Any) -> str:
    if not isinstance(text, str):
        raise usage(f"{what}: {text!r} is no text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise usage(f"{what}: {text!r} is no valid Unicode") from None
    return text


def count(option: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value.__index__() < 2**62:
        raise usage(f"`{option}` is a count, not {value!r}")
    return value.__index__()


def _check_target(target: str | PathLike[str], sets: list[Rules]) -> None:
    for file in (file for rules in sets for file in rules.files):
        if os_path.exists(file) and os_path.exists(target) and os_path.samefile(file, target):
            raise usage(f"the output `{fspath(target)}` is a rule file")


def _encoded(path: str | PathLike[str]) -> bytes:
    from os import fsencode
    return fsencode(path)


def _like(path: Any, model: Any) -> Any:
    """The path as a text if the model was one, else as a Path."""
    from pathlib import Path
    return fspath(path) if isinstance(model, str) else Path(path)
