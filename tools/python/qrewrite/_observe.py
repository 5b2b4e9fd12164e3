"""Watching a run: events, observers, and runs that are iterated over."""
from __future__ import annotations

from typing import Any, Callable, Iterator, Literal, NamedTuple

from . import _arguments
from ._errors import usage

Answer = Literal["continue", "stop", "cancel"]
#: What an observer may return; None is CONTINUE.
CONTINUE: Answer = "continue"
#: The run ends here, without an error: ``report.stopped``.
STOP: Answer = "stop"
#: The run ends with :class:`Cancelled`.
CANCEL: Answer = "cancel"
_OBSERVER = "the observer"
_ANSWERS = {None: 0, "continue": 0, "stop": 1, "cancel": 2}


class NodeView(NamedTuple):
    """A node as it is, or was when a rule matched it."""

    #: "Conv", "com.microsoft.QGemm"
    op: str
    #: May be empty.
    name: str
    #: Names of values; "" is an absent one.
    inputs: list[str]
    outputs: list[str]


class PhaseEvent(NamedTuple):
    """A phase of a rule set begins or ends. Those of a rule set that a phase uses lie inside of it."""

    set: str
    phase: str
    ends: bool
    #: Of the run, so far.
    rewrites: int


class SweepEvent(NamedTuple):
    """A sweep over the nodes begins or ends. A phase of rules sweeps until a sweep fires nothing."""

    set: str
    phase: str
    #: In this phase, from 1.
    number: int
    ends: bool
    #: That it visits, without those that rules make meanwhile.
    nodes: int
    #: In this sweep, so far.
    fired: int


class ProgressEvent(NamedTuple):
    """Comes every 256 nodes of a phase that visits nodes."""

    set: str
    phase: str
    #: Nodes of this sweep.
    done: int
    total: int
    #: Of the run, so far.
    rewrites: int


class FiringEvent(NamedTuple):
    """A rule fired."""

    set: str
    rule: str
    #: Where the rule stands.
    file: str
    line: int
    #: Of the rewrites of the run, from 1; 0 of one that changed nothing.
    number: int
    #: As they were before, in the order of the search.
    matched: list[NodeView]
    #: Producers first; none: the rule warns or refuses, or equal nodes were there.
    created: list[NodeView]
    #: The matched nodes as text, and those that make their values from now on; "" unless `firing_text`.
    before: str
    after: str
    #: What the names of the match stood for, then those of `let`, in words; empty unless `firing_text`.
    bindings: dict[str, str]


#: What observers are called with.
Event = PhaseEvent | SweepEvent | ProgressEvent | FiringEvent


def answer_code(answer: Any, who: str = "an observer") -> int:
    try:
        return _ANSWERS[answer]
    except (KeyError, TypeError):
        raise TypeError(f"{who} returns None, 'continue', 'stop' or 'cancel', not {answer!r}") from None


class Adapter:
    """What the extension module calls; it says what it wants to hear."""

    def __init__(self, observer: Callable[[Event], Any] | None, firing_text: bool | Callable[[str], bool],
                 progress: Callable[[ProgressEvent], Any] | None) -> None:
        for what, call in (("`observer`", observer), ("`progress`", progress)):
            if call is not None and not callable(call):
                raise usage(f"{what} is a function, not {type(call).__name__}")
        self.phases = self.sweeps = self.firings = observer is not None
        self.progress = True
        #: What errors call the function that is asked now.
        self.asked = _OBSERVER
        self._observer = observer
        self._firing_text = firing_text if callable(firing_text) else _arguments.flag("`firing_text`", firing_text)
        self._progress = progress

    def on_phase(self, *event: Any) -> int:
        return answer_code(self._observer(PhaseEvent(*event)))  # type: ignore[misc]

    def on_sweep(self, *event: Any) -> int:
        return answer_code(self._observer(SweepEvent(*event)))  # type: ignore[misc]

    def on_progress(self, *event: Any) -> int:
        known = ProgressEvent(*event)
        answers = []
        if self._progress:
            self.asked = "the function for progress"
            answers.append(answer_code(self._progress(known), self.asked))
            self.asked = _OBSERVER
        if self._observer:
            answers.append(answer_code(self._observer(known)))
        return max(answers)

    def wants_text(self, rule: str) -> bool:
        if not callable(self._firing_text):
            return self._firing_text
        self.asked = "the function `firing_text`"
        wanted = bool(self._firing_text(rule))
        self.asked = _OBSERVER
        return wanted

    def on_firing(self, set: str, rule: str, file: str, line: int, number: int, matched: list[Any], created: list[Any],
                  before: str, after: str, bindings: dict[str, str]) -> int:
        event = FiringEvent(set, rule, file, line, number, [NodeView(*n) for n in matched],
                            [NodeView(*n) for n in created], before, after, bindings)
        return answer_code(self._observer(event))  # type: ignore[misc]


class Run:
    """A run that goes on while it is iterated over: the next event comes when it is asked for.

        >>> run = qrewrite.watch("model.onnx", "ezkl_dequant")
        >>> for event in run:
        ...     if isinstance(event, qrewrite.FiringEvent) and event.number > 12:
        ...         print(event.rule, event.number)
        plain-pair 13
        >>> model, report = run.result

    Leaving the loop cancels the run. What the run raises is raised by the loop. It works in a thread of its own.
    """

    def __init__(self, model: Any, rules: Any, options: dict[str, Any]) -> None:
        self._state = _State(model, rules, options)
        self._iterator: Iterator[Event] | None = None

    def stop(self) -> None:
        """Ends the run at the present event, without an error; the loop ends."""
        self._state.answer = STOP

    def cancel(self) -> None:
        """Ends the run at the present event; the loop raises :class:`Cancelled`."""
        self._state.answer = CANCEL

    @property
    def result(self) -> Any:
        """What :func:`rewrite` returns; :class:`UsageError` before the loop has ended. Iterates, if nobody did."""
        if self._iterator is None:
            for _ in self:
                pass
        if self._state.result is None:
            raise usage("the run has no result: it was not iterated to its end")
        return self._state.result

    def __iter__(self) -> Iterator[Event]:
        if self._iterator is None:
            self._iterator = _events(self._state)
        return self._iterator


class _State:
    """What a run and its iterator share: neither holds the other, so a run that nobody has any more ends at once."""

    def __init__(self, model: Any, rules: Any, options: dict[str, Any]) -> None:
        self.arguments = model, rules, options
        self.answer: Answer = CONTINUE
        self.result: Any = None


def _events(state: _State) -> Iterator[Event]:
    import atexit
    from queue import SimpleQueue
    from threading import Thread

    from ._rewrite import rewrite
    events: SimpleQueue[Any] = SimpleQueue()
    answers: SimpleQueue[Answer] = SimpleQueue()
    model, rules, options = state.arguments

    def observe(event: Event) -> Answer:
        events.put((event, None, None))
        return answers.get()

    def work() -> None:
        try:
            events.put((None, rewrite(model, rules, observer=observe, **options), None))
        except BaseException as error:
            events.put((None, None, error))

    def end() -> None:  # if the loop was left, or interrupted wherever it was: the next event ends the run
        answers.put(CANCEL)
        thread.join()

    thread = Thread(target=work, name="qrewrite", daemon=True)
    atexit.register(end)  # the program may end in the middle of the loop
    thread.start()
    try:
        while True:
            event, result, error = events.get()
            if error is not None:
                raise error
            if event is None:
                state.result = result
                return
            yield event
            answers.put(state.answer)
    finally:
        atexit.unregister(end)
        end()


def watch(model: Any, rules: Any, **options: Any) -> Run:
    """:func:`rewrite`, as something to iterate over; it takes the same options but `observer`."""
    if "observer" in options:
        raise usage("watch() gives the events itself; `observer` goes with rewrite()")
    return Run(model, rules, options)
