"""Rule sets as the last step of torch's exporter.

    program = torch.onnx.export(module, args, dynamo=True)     # an ONNXProgram
    report = finish(program, ["optimize", "rules/mine.yaml"])
    program.save("model.onnx")

The exporter keeps its model as an onnx_ir.Model in `program.model`; weights are not copied on the way. Nothing of torch is needed here: any object
with such an attribute will do.
"""
from __future__ import annotations

from typing import Any

import qrewrite
from qrewrite.onnx_ir import RewritePass


def finish(program: Any, rules: Any, **options: Any) -> qrewrite.Report:
    """Puts the rewritten model in the place of the program's. If a rule refuses, the program stays as it was."""
    rewriting = RewritePass(rules, **options)
    result = rewriting(program.model)
    if result.modified:
        program.model = result.model
    assert rewriting.report is not None
    return rewriting.report
