"""What the handler of a signal raises ends a call, and comes out of it as it is: time limits, say."""
import signal
import time

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
    assert time.monotonic() - begin < 30
