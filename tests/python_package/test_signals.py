"""What the handler of a signal raises ends a call, and comes out of it as it is: time limits, say."""
import gc
import signal
import time

import onnx_ir
import pytest
from conftest import parse

import qrewrite


class TimeLimit(Exception):
    pass


@pytest.fixture
def limit():
    """A time limit of half a second."""
    def over(*_):
        raise TimeLimit("over")
    previous = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)


ENDLESS = {"rules": [{"name": "r", "match": "y = Relu(x)", "replace": "y = Relu(Neg(Neg(x)))", "share": False}]}


@pytest.mark.parametrize("call", [
    lambda: qrewrite.Rules.load("optimize").prove(budget=60, runtime="builtin"),
    lambda: qrewrite.Rules.load("optimize").prove(budget=60, runtime="builtin", progress=lambda _: None),
    lambda: qrewrite.rewrite(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }"), ENDLESS, max_rewrites=10**9),
    lambda: qrewrite.rewrite(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }"), ENDLESS, max_rewrites=10**9, progress=lambda _: None),
], ids=["prove", "prove with progress", "rewrite", "rewrite with progress"])
def test_what_a_handler_raises(call, limit):
    begin = time.monotonic()
    with pytest.raises(TimeLimit, match="over"):
        call()
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("step", ["disable", "get_freeze_count", "get_count", "freeze", "get_stats", "unfreeze"])
def test_an_interrupt_leaves_the_garbage_collector_as_it_was(monkeypatch, step):
    model = onnx_ir.from_proto(parse("g (float[2] x) => (float[2] y) { a = Neg(x)  y = Neg(a) }"))
    rules = {"rules": [{"name": "two", "match": "y = Neg(Neg(x))", "replace": "y = Identity(x)"}]}
    original = getattr(gc, step)

    def interrupted(*arguments):
        original(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(gc, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            qrewrite.rewrite(model, rules)
    assert gc.isenabled() and gc.get_freeze_count() == 0
    assert qrewrite.rewrite(model, rules)[1].rewrites == 1
