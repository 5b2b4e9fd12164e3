"""qrewrite: rewrites ONNX models by rules that are data.

    >>> import qrewrite
    >>> model, report = qrewrite.rewrite("model.onnx", "ezkl_dequant")
    >>> print(report)
      7  plain-pair     pairs 7, activations 3
      6  plain-weights  weights
    pairs 7, activations 3, weights 6
    13 rewrites, 2 edits; nodes 26 -> 9, weights 1.0 KiB -> 3.5 KiB

A model is a path, bytes, an ``onnx.ModelProto``, an ``onnx_ir.Model`` or a :class:`Model`, and the same
kind comes back. Rules are the name of a shipped rule set, a rule file, or a :class:`Rules`. What goes
wrong is raised as :class:`Error`, with a code and diagnostics that name file, line and column.

docs/python.md is the tutorial, docs/rules.md the language of rules.

Importing this package loads nothing else; what is needed comes with its first use.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as" says to type checkers that a name is public
    from ._errors import (CallbackError as CallbackError, Cancelled as Cancelled, Diagnostic as Diagnostic,
                          Error as Error, FileError as FileError, InvalidModel as InvalidModel,
                          InvalidRules as InvalidRules, LimitError as LimitError, Refused as Refused,
                          Severity as Severity, Unsupported as Unsupported, UsageError as UsageError)
    from ._diff import Diff as Diff, diff as diff
    from ._explain import Explanation as Explanation, explain as explain
    from ._find import Binding as Binding, Condition as Condition, Match as Match, Matches as Matches, find as find
    from ._hooks import Functions as Functions, function as function, operator as operator, predicate as predicate
    from ._model import (Constant as Constant, Graph as Graph, Model as Model, Node as Node, Stats as Stats,
                         Value as Value)
    from ._observe import (CANCEL as CANCEL, CONTINUE as CONTINUE, STOP as STOP, Event as Event, FiringEvent as FiringEvent,
                           NodeView as NodeView, PhaseEvent as PhaseEvent, ProgressEvent as ProgressEvent, Run as Run,
                           SweepEvent as SweepEvent, watch as watch)
    from ._prove import ProveProgress as ProveProgress, ProveReport as ProveReport
    from ._report import Report as Report, RuleCount as RuleCount, RewriteWarning as RewriteWarning, Unit as Unit
    from ._rewrite import RuleSource as RuleSource, rewrite as rewrite
    from ._rules import (LintFinding as LintFinding, Param as Param, Rule as Rule, Rules as Rules,
                         TestReport as TestReport, TestResult as TestResult, shipped as shipped)
    from ._verify import (DebugReport as DebugReport, VerifyReport as VerifyReport, debug as debug, run as run,
                          verify as verify)
    from ._versions import versions as versions

    __version__: str

_HOMES = {
    "_errors": ("CallbackError", "Cancelled", "Diagnostic", "Error", "FileError", "InvalidModel", "InvalidRules",
                "LimitError", "Refused", "Severity", "Unsupported", "UsageError"),
    "_diff": ("Diff", "diff"),
    "_explain": ("Explanation", "explain"),
    "_find": ("Binding", "Condition", "Match", "Matches", "find"),
    "_hooks": ("Functions", "function", "operator", "predicate"),
    "_model": ("Constant", "Graph", "Model", "Node", "Stats", "Value"),
    "_observe": ("CANCEL", "CONTINUE", "STOP", "Event", "FiringEvent", "NodeView", "PhaseEvent", "ProgressEvent", "Run",
                 "SweepEvent", "watch"),
    "_prove": ("ProveProgress", "ProveReport"),
    "_report": ("Report", "RuleCount", "RewriteWarning", "Unit"),
    "_rewrite": ("RuleSource", "rewrite"),
    "_rules": ("LintFinding", "Param", "Rule", "Rules", "TestReport", "TestResult", "shipped"),
    "_verify": ("DebugReport", "VerifyReport", "debug", "run", "verify"),
    "_versions": ("versions",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


if not TYPE_CHECKING:  # they would believe that there is any name
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
