"""versions(): of what is inside."""
from __future__ import annotations

from . import _core


def versions() -> dict[str, str]:
    """The versions of the package and of the libraries that it was built with, by name.

        >>> sorted(qrewrite.versions())
        ['boost', 'eigen', 'fmt', 'libyaml', 'nlohmann_json', 'onnx', 'protobuf', 'qrewrite', 'zlib']

    ``qrewrite --version`` prints them.
    """
    return {"qrewrite": _core.version(), **_core.components()}
