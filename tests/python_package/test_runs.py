"""Runs: observers, progress, iterating, interrupts, threads, speed."""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import onnx.parser
import pytest
from conftest import RULES, parse
from onnx import helper, numpy_helper

import qrewrite

NEG = {"rules": [{"name": "neg", "match": "y = Neg(x)", "replace": "y = Abs(x)"}]}


def long_chain(n, op="Neg"):
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], f"n{i}") for i in range(n)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("v0", 1, [4])],
                              [helper.make_tensor_value_info(f"v{n}", 1, [4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def test_events(chain):
    events = []
    qrewrite.rewrite(chain, RULES, observer=events.append, firing_text=lambda rule: rule == "neg-of-neg")
    firings = [e for e in events if isinstance(e, qrewrite.FiringEvent)]
    assert [(e.rule, e.number) for e in firings] == [("relu-of-relu", 1), ("neg-of-neg", 2)]
    assert firings[0].before == "" and "Neg" in firings[1].before and "Identity" in firings[1].after
    assert firings[0].bindings == {} and firings[1].bindings["x"].startswith("`c`") and "y" in firings[1].bindings
    assert [n.op for n in firings[0].matched] == ["Relu", "Relu"] and firings[0].created == []  # an equal node was there
    assert [n.op for n in firings[1].created] == ["Identity"]
    phases = [e for e in events if isinstance(e, qrewrite.PhaseEvent)]
    assert [e.ends for e in phases][0] is False and [e.ends for e in phases][-1] is True
    assert any(isinstance(e, qrewrite.SweepEvent) and e.fired == 2 for e in events)


def test_progress():
    seen = []
    qrewrite.rewrite(long_chain(1000), NEG, progress=seen.append)
    assert seen and all(isinstance(e, qrewrite.ProgressEvent) for e in seen)
    assert any(e.done >= 256 and e.total >= 1000 for e in seen)


def test_an_observer_ends_a_run(chain):
    def observe(answer):
        return lambda e: answer if isinstance(e, qrewrite.FiringEvent) else None
    model, report = qrewrite.rewrite(chain, RULES, observer=observe(qrewrite.STOP))
    assert report.stopped and report.rewrites == 1 and len(model.graph.node) == 4
    with pytest.raises(qrewrite.Cancelled):
        qrewrite.rewrite(chain, RULES, observer=observe("cancel"))
    with pytest.raises(qrewrite.CallbackError, match="an observer returns") as raised:
        qrewrite.rewrite(chain, RULES, observer=observe(3))
    assert isinstance(raised.value.__cause__, TypeError)

    def fail(event):
        raise LookupError("lost")
    with pytest.raises(qrewrite.CallbackError, match="the observer threw an exception: LookupError: lost") as raised:
        qrewrite.rewrite(chain, RULES, observer=fail)
    assert isinstance(raised.value.__cause__, LookupError)
    with pytest.raises(qrewrite.UsageError, match="`observer` is a function"):
        qrewrite.rewrite(chain, RULES, observer=3)
    with pytest.raises(qrewrite.UsageError, match="`firing_text` is true or false"):
        qrewrite.rewrite(chain, RULES, observer=print, firing_text=np.zeros(2))


@pytest.mark.parametrize("options,said", [
    ({"progress": lambda e: 1 / 0}, "the function for progress threw an exception: ZeroDivisionError"),
    ({"progress": lambda e: 1 / 0, "observer": lambda e: None}, "the function for progress threw an exception: ZeroDivisionError"),
    ({"progress": lambda e: 7}, "the function for progress returns None, 'continue', 'stop' or 'cancel', not 7"),
    ({"progress": lambda e: None, "observer": lambda e: 1 / 0 if isinstance(e, qrewrite.ProgressEvent) else None}, "the observer threw an exception: Zero"),
    ({"observer": lambda e: None, "firing_text": lambda rule: 1 / 0}, "the function `firing_text` threw an exception: ZeroDivisionError"),
    ({"observer": lambda e: 1 / 0 if isinstance(e, qrewrite.FiringEvent) else None, "firing_text": lambda rule: True}, "the observer threw an exception: Zero"),
])
def test_what_raises_is_called_by_its_name(options, said):
    names = ["x", *(f"a{i}" for i in range(600)), "y"]
    model = parse("g (float[2] x) => (float[2] y) {" + " ".join(f"{b} = Neg({a})" for a, b in zip(names, names[1:])) + "}")
    with pytest.raises(qrewrite.CallbackError) as raised:
        qrewrite.rewrite(model, RULES, **options)
    assert said in str(raised.value)


def test_stop_after(chain):
    states = [qrewrite.rewrite(chain, RULES, stop_after=n)[1].rewrites for n in range(4)]
    assert states == [0, 1, 2, 2]
    two = [RULES, {"rules": [{"name": "id", "match": "y = Identity(x)", "replace": "y = Abs(x)"}]}]
    assert [qrewrite.rewrite(chain, two, stop_after=n)[1].rewrites for n in range(5)] == [0, 1, 2, 3, 3]


def test_a_run_is_iterated_over(chain):
    run = qrewrite.watch(chain, RULES)
    rules = [e.rule for e in run if isinstance(e, qrewrite.FiringEvent)]
    model, report = run.result
    assert rules == ["relu-of-relu", "neg-of-neg"] and report.rewrites == 2 and len(model.graph.node) == 3
    assert qrewrite.watch(chain, RULES).result[1].rewrites == 2

    run = qrewrite.watch(chain, RULES)
    for event in run:
        if isinstance(event, qrewrite.FiringEvent):
            run.stop()
    assert run.result[1].stopped and run.result[1].rewrites == 1

    run = qrewrite.watch(chain, RULES)
    for event in run:
        break
    del event
    run._iterator.close()
    with pytest.raises(qrewrite.UsageError, match="was not iterated to its end"):
        run.result
    assert not [t for t in threading.enumerate() if t.name == "qrewrite"]

    run = qrewrite.watch(chain, RULES)
    with pytest.raises(qrewrite.Cancelled):
        for event in run:
            run.cancel()
    with pytest.raises(qrewrite.FileError):
        list(qrewrite.watch("missing.onnx", RULES))


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy, qrewrite
data = open("long.onnx", "rb").read()
model = qrewrite.Model.parse(data)
# A rule that undoes itself: the run would end at its limit, in minutes.
rules = {"rules": [{"name": "flip", "match": "y = Neg(x)", "replace": "y = Abs(x)"},
                   {"name": "flop", "match": "y = Abs(x)", "replace": "y = Neg(x)"}]}
products = qrewrite.Model.load("products.onnx") if os.path.exists("products.onnx") else None
x = numpy.ones((1000, 1000), numpy.float32)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    CALL
except KeyboardInterrupt:
    assert model.serialize() == data
    print("interrupted", time.monotonic() - begin)
"""

@pytest.mark.parametrize("call, nodes, times", [
    pytest.param("qrewrite.rewrite(model, rules, max_rewrites=10**9)", 2000, 1, id="rewrite"),
    # Wherever it comes: in the loop, or while it waits for the next event.
    pytest.param("for event in qrewrite.watch(model, rules, max_rewrites=10**9): pass", 2000, 3, id="watch"),
    pytest.param("qrewrite.verify(model, model, runtime='builtin', samples=10**6)", 100, 1, id="verify"),
    # In the middle of one run of a model.
    pytest.param("qrewrite.run(products, {'x': x}, runtime='builtin')", 2, 1, id="run"),
    pytest.param("qrewrite.verify(products, products, runtime='builtin', inputs=[{'x': x}])", 2, 1, id="verify within a run"),
    pytest.param("qrewrite.run(products, {'x': x}, runtime='ort')", 2, 1, id="run in ONNX Runtime"),
    pytest.param("qrewrite.verify(products, products, runtime='ort', inputs=[{'x': x}])", 2, 1, id="verify within a run of ONNX Runtime"),
])
def test_ctrl_c_ends_what_runs(call, nodes, times):
    open("long.onnx", "wb").write(long_chain(nodes))
    if "products" in call:  # for minutes
        steps = "".join(f" v{i} = MatMul({f'v{i - 1}' if i else 'x'}, x)" for i in range(1000))
        onnx.save(parse("g (float[1000, 1000] x) => (float[1000, 1000] y) {" + steps + " y = Identity(v999) }"), "products.onnx")
    for _ in range(times):
        done = subprocess.run([sys.executable, "-c", INTERRUPTED.replace("CALL", call)], capture_output=True, text=True, timeout=60)
        word, seconds = done.stdout.split()
        assert word == "interrupted" and float(seconds) < 5, done.stderr


def test_threads_scale():
    """Four models in four threads take less time than one after the other, on two cores and more; the machine may be busy."""
    models = [long_chain(20000 + i) for i in range(4)]
    rules = qrewrite.Rules.from_dict(NEG)
    results = [b""] * 4

    def work(i):
        results[i] = qrewrite.rewrite(models[i], rules)[0]

    def together():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def measured(call, clock):
        begin = clock()
        call()
        return clock() - begin, results[:]

    ratios = []
    for _ in range(10):
        alone, expected = measured(lambda: [work(i) for i in range(4)], time.perf_counter)
        both, got = measured(together, time.perf_counter)
        assert got == expected
        ratios.append(both / alone)
        if len(os.sched_getaffinity(0)) > 1 and both < 0.8 * alone:
            break
    else:
        assert len(os.sched_getaffinity(0)) == 1 or os.getloadavg()[0] > len(os.sched_getaffinity(0)), ratios
    used_alone, _ = measured(lambda: [work(i) for i in range(4)], time.process_time)
    assert measured(together, time.process_time)[0] < 2 * used_alone  # nobody waits in a loop


def test_threads_work_at_once(recorded):
    """Four models in four threads: the results are those of one thread, and Python goes on meanwhile."""
    models = [recorded.read_bytes(), long_chain(3000), long_chain(2000, "Relu"), long_chain(1000)]
    rules = [qrewrite.Rules.load("ezkl_dequant"), qrewrite.Rules.from_dict(NEG), qrewrite.Rules.from_dict(RULES),
             qrewrite.Rules.from_dict(NEG)]
    expected = [qrewrite.rewrite(m, r)[0] for m, r in zip(models, rules)]
    results = [None] * 4

    def work(i):
        for _ in range(5):
            results[i] = qrewrite.rewrite(models[i], rules[i])[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == expected


def test_one_rule_set_and_one_model_in_many_threads(recorded):
    model, rules = qrewrite.Model.load(recorded), qrewrite.Rules.load("ezkl_dequant")
    expected = qrewrite.rewrite(model, rules)[0].serialize()
    results = []
    threads = [threading.Thread(target=lambda: results.append(qrewrite.rewrite(model, rules)[0].serialize())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_the_lock_is_released():
    """While one thread rewrites, this one runs: it counts on in less time than the switch interval would give it."""
    data = long_chain(60000)
    rules = qrewrite.Rules.from_dict(NEG)
    model = qrewrite.Model.parse(data)
    ended = threading.Event()
    thread = threading.Thread(target=lambda: (qrewrite.rewrite(model, rules), ended.set()))
    thread.start()
    longest, last = 0.0, time.monotonic()
    while not ended.is_set():
        time.sleep(0.0005)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    thread.join()
    begin = time.monotonic()
    qrewrite.rewrite(model, rules)
    alone = time.monotonic() - begin
    assert longest < max(0.1, alone / 2), (longest, alone)


def test_hooks_in_threads():
    weight = np.arange(8, dtype=np.float32)
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [8])],
                              [helper.make_tensor_value_info("y", 1, [8])], [numpy_helper.from_array(weight, "w")])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    rules = qrewrite.Rules.from_dict(
        {"rules": [{"name": "r", "match": "y = Mul(x, w)", "let": {"v": "plus_one(w)"}, "replace": "y = Add(x, v)"}]},
        functions={"plus_one": lambda w: w + 1})
    results = []

    def work():
        for _ in range(20):
            new, _ = qrewrite.rewrite(data, rules)
            results.append(numpy_helper.to_array(onnx.ModelProto.FromString(new).graph.initializer[0]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80 and all(np.array_equal(r, weight + 1) for r in results)


def test_signals_are_looked_for_in_the_main_thread_only():
    """A run in another thread goes on when Ctrl-C is pressed; Python delivers it to the main thread."""
    caught = []
    previous = signal.signal(signal.SIGINT, lambda *_: caught.append(1))
    try:
        thread = threading.Thread(target=lambda: qrewrite.rewrite(long_chain(5000), NEG))
        thread.start()
        os.kill(os.getpid(), signal.SIGINT)
        thread.join()
        assert caught == [1]
    finally:
        signal.signal(signal.SIGINT, previous)


ENDINGS = {
    "a loop that is suspended": "it = iter(qrewrite.watch(model, rules)); next(it)",
    "one in a circle": "it = iter(qrewrite.watch(model, rules)); next(it); circle = [it]; circle.append(circle); del it, circle",
    "one that is left": "for event in (run := qrewrite.watch(model, rules)): break",
    "one of another thread": "held = []\ndef work():\n    held.append(iter(qrewrite.watch(model, rules)))\n    next(held[0])\nt = threading.Thread(target=work); t.start(); t.join()",
    "threads that wait in a callback": "for _ in range(3): threading.Thread(target=lambda: qrewrite.rewrite(model, rules, observer=lambda e: time.sleep(0.05)), daemon=True).start()\n"
                                       "time.sleep(0.1)",
    "threads that rewrite": "def work():\n    while True: qrewrite.rewrite(model, rules)\n"
                            "for _ in range(3): threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.3)",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_program_may_end_in_the_middle(ending, recorded):
    program = f"import threading, time, onnx, qrewrite\nmodel, rules = onnx.load({str(recorded)!r}), qrewrite.Rules.load('optimize')\n{ending}\nprint('the end')\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the end\n", "")


def test_a_loop_that_is_left_ends_its_run(chain):
    for _ in qrewrite.watch(chain, RULES):
        break
    assert not [thread for thread in threading.enumerate() if thread.name == "qrewrite"]


def test_a_network_of_integers_is_compared_with_the_model_that_it_was_made_of():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float[2, 4] x) => (float[2, 3] y)
      <float s = {0.03}, float t = {0.01}, float u = {0.02}, int8 z = {0}, int8[4, 3] w = {50, -7, 100, 3, 9, -80, 120, 60, -33, 20, -110, 71}> {
        q = QuantizeLinear(x, s, z)  a = DequantizeLinear(q, s, z)  d = DequantizeLinear(w, t, z)  c = MatMul(a, d)
        p = QuantizeLinear(c, u, z)  y = DequantizeLinear(p, u, z) }""")
    network, report = qrewrite.rewrite(model, "deeploy")
    assert set(report.units) == {"x", "y"} and report.units["x"].scale == [pytest.approx(0.03)] and report.units["x"].hi == 127
    same = qrewrite.verify(model, network, rules="deeploy", units=report.units, tolerance="sqnr:30", runtime="builtin")
    assert same.verdict == "EXACT" and "steps of 0.02 from 0" in str(same)
    assert qrewrite.verify(model, network, rules=["deeploy"], units={"x": (0.03, 0), "y": ([0.02], np.zeros(1))}, tolerance="sqnr:30")
    wrong = {**report.units, "y": report.units["y"]._replace(scale=[0.04])}
    assert qrewrite.verify(model, network, rules="deeploy", units=wrong, tolerance="sqnr:30", runtime="builtin").verdict == "DIVERGED"
    with pytest.raises(qrewrite.UsageError, match="`units` has a scale and a zero point for a name, not 1"):
        qrewrite.verify(model, network, units={"x": [1]})
    with pytest.raises(qrewrite.UsageError, match="scales above 0"):
        qrewrite.verify(model, network, rules="deeploy", units={"x": (-1, 0)}, runtime="builtin")
