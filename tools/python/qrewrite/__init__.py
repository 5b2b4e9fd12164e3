"""qrewrite: rewrites ONNX models by rules that are data.

    >>> import qrewrite
    >>> model, report = qrewrite.rewrite("model.onnx", "optimize")
    >>> print(report)

A model is a path, bytes, an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a :class:`Model`, and the same
kind comes back. Rules are the name of a shipped rule set, a rule file, or a :class:`Rules`. What goes
wrong is raised as :class:`Error`, with a code and diagnostics that name file, line and column.

docs/python.md is the tutorial, docs/rules.md the language of rules.

Importing this package loads nothing else; what is needed comes with its first use.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._errors import (CallbackError, Cancelled, Diagnostic, Error, FileError, InvalidModel, InvalidRules,
                          LimitError, Refused, Severity, Unsupported, UsageError)
    from ._explain import Explanation, explain
    from ._find import Binding, Condition, Match, Matches, find
    from ._hooks import Functions, function, operator, predicate
    from ._model import Constant, Graph, Model, Node, Stats, Value
    from ._observe import (CANCEL, CONTINUE, STOP, FiringEvent, NodeView, PhaseEvent, ProgressEvent, Run,
                           SweepEvent, watch)
    from ._report import Report, RuleCount, Warning
    from ._rewrite import rewrite
    from ._rules import LintFinding, Param, Rule, Rules, TestReport, TestResult, shipped
    from ._verify import DebugReport, VerifyReport, debug, run, verify
    from ._versions import versions

    __version__: str

_HOMES = {
    "_errors": ("CallbackError", "Cancelled", "Diagnostic", "Error", "FileError", "InvalidModel", "InvalidRules",
                "LimitError", "Refused", "Severity", "Unsupported", "UsageError"),
    "_explain": ("Explanation", "explain"),
    "_find": ("Binding", "Condition", "Match", "Matches", "find"),
    "_hooks": ("Functions", "function", "operator", "predicate"),
    "_model": ("Constant", "Graph", "Model", "Node", "Stats", "Value"),
    "_observe": ("CANCEL", "CONTINUE", "STOP", "FiringEvent", "NodeView", "PhaseEvent", "ProgressEvent", "Run",
                 "SweepEvent", "watch"),
    "_report": ("Report", "RuleCount", "Warning"),
    "_rewrite": ("rewrite",),
    "_rules": ("LintFinding", "Param", "Rule", "Rules", "TestReport", "TestResult", "shipped"),
    "_verify": ("DebugReport", "VerifyReport", "debug", "run", "verify"),
    "_versions": ("versions",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._core import version
        value: Any = version()
    elif name in _HOME_OF:
        from importlib import import_module
        value = getattr(import_module("." + _HOME_OF[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "__version__"])
