"""What goes wrong, as exceptions."""
from __future__ import annotations

import errno
import os
import re
from typing import Any, Literal, NamedTuple, Sequence, TypeVar

Severity = Literal["error", "warning", "note"]


class Diagnostic(NamedTuple):
    """One thing that is wrong, where it is, and what to do about it.

    Lines and columns count from 1; 0 means "not known". Columns count characters, `end_column` is one past the
    last one. `file` is empty where there is no text, as with a fault of a model.
    """

    severity: Severity
    #: "QR0102"; docs/errors.md lists them. Empty if there is none.
    code: str
    file: str
    line: int
    column: int
    end_column: int
    line_text: str
    message: str
    #: What to do: "did you mean `where`?". May be empty.
    hint: str
    notes: list[str]

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: " if self.file else ""
        code = f"[{self.code}]" if self.code else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.severity}{code}: {self.message}{hint}"


class Error(Exception):
    """The base of all that this package raises about models, rules and runs.

    The text is what the command prints: each diagnostic with its place, the line concerned and a hint.
    """

    #: "usage", "io", "invalid_model", "invalid_rules", "refused", "limit", "unsupported", "cancelled" or "callback".
    code: str = ""

    def __init__(self, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        #: All that is wrong, in the order of the file.
        self.diagnostics: list[Diagnostic] = list(diagnostics)

    @property
    def notes(self) -> list[str]:
        """The notes of all diagnostics: what came nearest, and why it did not do."""
        return [note for diagnostic in self.diagnostics for note in diagnostic.notes]

    def __reduce__(self) -> tuple[Any, ...]:  # with its diagnostics into another process
        return make, (self.code, [tuple(d) for d in self.diagnostics], str(self))


class UsageError(Error, ValueError):
    """A request that makes no sense: an unknown parameter, rule or value."""

    code = "usage"


_REASONS = {os.strerror(number): number for number in errno.errorcode} | dict.fromkeys(("it is a folder", "is a folder"), errno.EISDIR)
# As the library says it: "cannot read `x.onnx`: No such file or directory", also behind other words, "x.yaml: No such file or directory"
_OF_FILE = re.compile(r"cannot [A-Za-z ]+ `(.+?)`: (?:.*: )?([^:]+)$")
_OF_RULE_FILE = re.compile(r"([^`]+): ([^:]+)")
_NO_RULES = re.compile(r"there is no file `(.+?)` and no shipped rule set")


class FileError(Error, OSError):
    """A file cannot be read or written; `errno` and `filename` say why and which, where the system was asked; None otherwise."""

    code = "io"

    def __init__(self, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message, diagnostics)
        text = self.diagnostics[0].message if self.diagnostics else message
        if no_rules := _NO_RULES.match(text):
            self.errno, self.filename = errno.ENOENT, no_rules[1]
        elif (said := _OF_FILE.search(text) or _OF_RULE_FILE.fullmatch(text)) and (number := _REASONS.get(said[2])):
            # Of a name that is no plain text the message has an escaped form, which is no file.
            self.errno, self.filename = number, None if "\\" in said[1] else said[1]

    def __str__(self) -> str:  # not OSError's
        return Exception.__str__(self)


class InvalidModel(Error, ValueError):
    """The model is malformed."""

    code = "invalid_model"


class InvalidRules(Error, ValueError):
    """A rule file is wrong; `diagnostics` has everything that is."""

    code = "invalid_rules"


class Refused(Error):
    """A rule with ``refuse:`` fired, or ``strict=True`` and there were warnings."""

    code = "refused"


class LimitError(Error):
    """A budget was exceeded: endless rewriting, too many steps, more than 2 GB in one message."""

    code = "limit"


class Unsupported(Error):
    """Valid, but beyond what the library does, or outside the opset range of the rules."""

    code = "unsupported"


class Cancelled(Error):
    """An observer ended the run."""

    code = "cancelled"


class CallbackError(Error):
    """A function of yours raised; ``__cause__`` is what it raised."""

    code = "callback"


_CLASSES = {c.code: c for c in (UsageError, FileError, InvalidModel, InvalidRules, Refused, LimitError, Unsupported,
                                Cancelled, CallbackError)}


# What the library calls by the options of the command, as the arguments of this package.
_OPTIONS = [(re.compile(option), argument) for option, argument in (
    (r"--map FLOAT=QUANTIZED ", r"`map={FLOAT: QUANTIZED}` "),  # debug
    (r"--map A=B ", r"`names={A: B}` "),  # verify
    (r"--map (.+)=B ", r"`names={'\1': B}` "),
    (r"--units (.+)=SCALE,ZERO", r"`units={'\1': (SCALE, ZERO)}`"),
    (r"--shape (.+)=1x128\b", r"`shapes={'\1': [1, 128]}`"),
    (r"--shape (.+)=1x3x8x8\b", r"`shapes={'\1': [1, 3, 8, 8]}`"),
    (r"--runtime builtin\b", "`runtime='builtin'`"),
    (r"--ort PATH ", "`runtime=PATH` "),
    (r"--inputs\b", "`inputs`"),
    (r"--max-rewrites\b", "`max_rewrites`"),
)]


def _in_python(text: str) -> str:
    if "--" in text:
        for option, argument in _OPTIONS:
            text = option.sub(argument, text)
    return text


def make(code: str, diagnostics: Sequence[tuple[Any, ...]], message: str) -> Error:
    """The exception for what the library reports; called by the extension module."""
    told = [Diagnostic(*d) for d in diagnostics]
    told = [d._replace(message=_in_python(d.message), hint=_in_python(d.hint), notes=[_in_python(n) for n in d.notes]) for d in told]
    return _CLASSES.get(code, Error)(_in_python(message.removeprefix("error: ")), told)


_Kind = TypeVar("_Kind", bound=Error)


def usage(message: str) -> UsageError:
    return without_place(UsageError, message)


def io(message: str) -> FileError:
    return without_place(FileError, message)


def without_place(kind: type[_Kind], message: str) -> _Kind:
    """The exception for a fault that lies in no file."""
    return kind(message, [Diagnostic("error", "", "", 0, 0, 0, "", message, "", [])])
