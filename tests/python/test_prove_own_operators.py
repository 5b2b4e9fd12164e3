"""qrewrite prove: operators that the rule file says the meaning of; its options."""
import pytest
from proving import RULES, prove


def test_an_attribute_that_is_called_like_a_function(tmp_path):
    (tmp_path / "r.yaml").write_text("""qrewrite: 1
name: r
signatures:
  npu.Clip:
    inputs: [x, low]
    attributes: {min: 0.0, max: 6.0, in: 1.0, low: 2.0, params: int?}
    outputs: {y: {shape: shape(x), dtype: dtype(x)}}
    computes: y = Clip(Mul(Mul(x, in_), low_), min_, max_)
rules:
  - name: clip
    equivalence: exact
    match: y = Clip(x, lo, hi)
    where: const(lo) and const(hi) and dtype(x) == FLOAT
    replace: y = npu.Clip<min=f64(lo), max=f64(hi), low=1.0>(x, x)
    tests:
      - {name: two, given: "x: float[4]\\ny = Clip(x, 1.0, 2.0)", expect: "x: float[4]\\ny = npu.Clip<min=1.0, max=2.0, low=1.0>(x, x)"}
      - {name: one is none, given: "x: float[2]\\ny = Relu(x)", expect: unchanged}
""")
    code, out, err = prove(tmp_path / "r.yaml", "--quick", "--graphs", 200)
    assert code == 0 and "1 held" in out, out + err


@pytest.mark.parametrize("budget", ["0", "-1", "-1s", "nan", "inf", "s", "abc", "1e999"])
def test_a_budget_is_a_time(budget):
    code, _, err = prove(RULES / "quark.yaml", f"--budget={budget}")
    assert code == 2 and "is no time" in err, err
