"""versions(): of what is inside."""
from __future__ import annotations

from . import _core


def versions() -> dict[str, str]:
    """The versions of the package and of the libraries that it was built with: {"qrewrite": "0.1.0", "onnx": "1.23.2", ...}."""
    return {"qrewrite": _core.version(), **_core.components()}
