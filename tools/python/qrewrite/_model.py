"""Models: reading and writing them, and looking at what they consist of."""
from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping, NamedTuple, Sequence

from . import _arguments, _core
from ._frozen import FrozenDict, FrozenList
from ._tensors import NAMES, dtype_name, numpy_dtype, to_numpy

if TYPE_CHECKING:
    import numpy as np

    from ._core import Constant as CoreConstant

Path = str | PathLike[str]
Dim = int | str | None

_KINDS: tuple[Literal["main", "subgraph", "function"], ...] = ("main", "subgraph", "function")
_EXTERNAL = {"auto": 0, "never": 1, "always": 2}


class Stats(NamedTuple):
    """Sizes of a model. Nodes are counted in all subgraphs and functions."""

    ir_version: int
    #: Imports; "" is ai.onnx.
    opset: dict[str, int]
    #: Nodes by operator: {"Conv": 20, "com.microsoft.QGemm": 1}.
    ops: dict[str, int]
    nodes: int
    inputs: int
    outputs: int
    subgraphs: int
    functions: int
    initializers: int
    initializer_bytes: int
    #: As it was read, without external data.
    file_bytes: int
    external_data: bool


class _View:
    """What is to be looked at only: who assigns to it believes that the model changes."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"`{name}` of a {type(self).__name__} cannot be set: a Model is read-only, rules change it")

    def _hold(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setstate__(self, state: Any) -> None:
        for values in state if isinstance(state, tuple) else (state,):  # of what has slots, two
            self._hold(**values or {})


class Constant(_View):
    """A constant tensor, which may lie in a file, or be computed when it is read.

    ``numpy.asarray(constant)`` works, too.
    """

    __slots__ = ("_core", "name")
    _core: CoreConstant
    #: The name of the initializer; "" of other constants.
    name: str

    def __init__(self, core: CoreConstant, name: str = "") -> None:
        self._hold(_core=core, name=name)

    @property
    def dtype(self) -> str:
        """The element type as rules name it, in lower case: "float", "int8", "bfloat16"."""
        return dtype_name(self._core.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes; () is one number."""
        return self._core.dims

    @property
    def nbytes(self) -> int:
        """The size in bytes, of packed elements as they are packed; 0 for strings."""
        return self._core.nbytes

    def numpy(self) -> np.ndarray:
        """A read-only array of the constant's shape.

        What lies in memory or in a mapped file is not copied, and stays valid when the model is gone. Types that
        numpy does not have are those of ml_dtypes. Elements below 8 bit are unpacked, which copies; strings are
        objects. :class:`Unsupported`: numpy and ml_dtypes have no such type.
        """
        if self.dtype == "string":
            import numpy as np
            texts = np.empty(len(texts_ := self._core.read_strings()), object)
            texts[:] = [t.decode("utf-8", "surrogateescape") for t in texts_]
            return texts.reshape(self.shape)
        try:
            numpy_dtype(self._core.dtype)
        except TypeError as e:
            from ._errors import Unsupported
            raise Unsupported(f"{e}") from None
        return to_numpy(self._core.read())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"{array.dtype} is not {dtype}: that takes a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __reduce__(self) -> tuple[Any, ...]:  # what it holds, into another process
        texts = self._core.read_strings() if self.dtype == "string" else None
        return _constant, (None if texts is not None else self._core.read(), texts, self._core.dims, self.nbytes, self.name)

    def __repr__(self) -> str:
        return f"<qrewrite.Constant {self.name + ' ' if self.name else ''}{self.dtype}{list(self.shape)}>"


class Value(_View):
    """A value of a graph: an input, a result of a node, or an initializer. Read-only."""

    __slots__ = ("graph", "name", "_dtype", "shape")
    graph: Graph
    name: str
    _dtype: int
    #: What the file declares: a size is a number, a name, or None; None instead of all: not known.
    shape: tuple[Dim, ...] | None

    def __init__(self, graph: Graph, name: str, dtype: int, shape: tuple[Dim, ...] | None) -> None:
        self._hold(graph=graph, name=name, _dtype=dtype, shape=shape)

    @property
    def dtype(self) -> str | None:
        """The element type that the file declares: "float", "int8"; None if it is not known."""
        return dtype_name(self._dtype) if self._dtype else None

    @property
    def constant(self) -> Constant | None:
        """What an initializer holds."""
        return self.graph.constants.get(self.name)

    @property
    def producer(self) -> Node | None:
        """The node that makes it; None of inputs and initializers."""
        return self.graph._producers.get(self.name)

    @property
    def readers(self) -> list[Node]:
        """The nodes of this graph that read it, each once."""
        return self.graph._readers.get(self.name, [])

    @property
    def is_input(self) -> bool:
        """Whether its graph has it as an input, with an initial value or without."""
        return self.name in self.graph.inputs

    @property
    def is_output(self) -> bool:
        """Whether its graph has it as an output."""
        return self.name in self.graph.outputs

    def __repr__(self) -> str:
        shape = "" if self.shape is None else list(self.shape)
        return f"<qrewrite.Value {self.name} {self.dtype or '?'}{shape}>"


class Node(_View):
    """A node of a graph. Read-only: models are changed by rules."""

    __slots__ = ("graph", "op_type", "domain", "name", "inputs", "outputs", "attributes", "_graphs")
    graph: Graph
    op_type: str
    #: "" is ai.onnx.
    domain: str
    name: str
    #: Names of values; "" is an absent one.
    inputs: list[str]
    outputs: list[str]
    #: int, float, str, lists of these, or :class:`Constant`. Graphs are in `graphs`.
    attributes: dict[str, Any]
    _graphs: dict[str, list[int]]

    def __init__(self, graph: Graph, op_type: str, domain: str, name: str, inputs: list[str], outputs: list[str],
                 attributes: dict[str, Any], graphs: dict[str, list[int]]) -> None:
        self._hold(graph=graph, op_type=op_type, domain=domain, name=name, inputs=FrozenList(inputs), outputs=FrozenList(outputs),
                   attributes=FrozenDict({key: _wrap(value) for key, value in attributes.items()}), _graphs=graphs)

    @property
    def op(self) -> str:
        """Domain and operator: "Conv", "com.microsoft.QGemm"."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    @property
    def graphs(self) -> dict[str, list[Graph]]:
        """The attributes that are graphs: the branches of an If, the body of a Loop."""
        return {key: [self.graph._all[i] for i in positions] for key, positions in self._graphs.items()}

    def __repr__(self) -> str:
        return f"<qrewrite.Node {', '.join(self.outputs)} = {self.op}({', '.join(self.inputs)})>"


def _wrap(value: Any) -> Any:
    if isinstance(value, _core.Constant):
        return Constant(value)
    if isinstance(value, list):
        return FrozenList(Constant(v) if isinstance(v, _core.Constant) else v for v in value)
    return value


class Graph(_View):
    """The main graph of a model, a subgraph, or the body of a function. Read-only."""

    kind: Literal["main", "subgraph", "function"]
    name: str
    #: Names of values.
    inputs: list[str]
    outputs: list[str]
    #: The initializers by name.
    constants: dict[str, Constant]
    #: All values of this graph by name; those of the graphs around it are theirs.
    values: dict[str, Value]
    #: Producers before readers.
    nodes: list[Node]
    _all: list[Graph]

    def __init__(self, all_graphs: list[Graph], kind: int, name: str, inputs: list[str], outputs: list[str],
                 constants: dict[str, _core.Constant], values: list[tuple[Any, ...]], nodes: list[tuple[Any, ...]]) -> None:
        self._hold(_all=all_graphs, kind=_KINDS[kind], name=name, inputs=FrozenList(inputs), outputs=FrozenList(outputs),
                   constants=FrozenDict({key: Constant(c, key) for key, c in constants.items()}),
                   values=FrozenDict({v[0]: Value(self, *v) for v in values}), nodes=FrozenList(Node(self, *n) for n in nodes))

    @cached_property
    def _producers(self) -> dict[str, Node]:
        return {name: node for node in self.nodes for name in node.outputs if name}

    @cached_property
    def _readers(self) -> dict[str, list[Node]]:
        readers: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                readers.setdefault(name, []).append(node)
        return readers

    def __repr__(self) -> str:
        return f"<qrewrite.Graph {self.name or self.kind}: {len(self.nodes)} nodes>"


class Model:
    """An ONNX model in memory. It does not change: :func:`qrewrite.rewrite` makes a new one, which shares the weights.

        >>> model = qrewrite.Model.load("model.onnx")
        >>> model.stats.ops["Conv"], model.graph.inputs, model.constants["conv1.weight_quantized"].shape
        (2, ['x'], (8, 3, 3, 3))

    Any number of threads may use one model.
    """

    def __init__(self, core: _core.Model) -> None:
        if not isinstance(core, _core.Model):
            from ._errors import usage
            raise usage("a Model comes from Model.load() of a path, Model.parse() of bytes, or Model.of() of another model")
        self._core = core

    @classmethod
    def of(cls, model: Any, *, folder: Path = "") -> Model:
        """A model of any kind that :func:`qrewrite.rewrite` takes: an ``onnx.ModelProto``, an ``onnx_ir.Model``, bytes, a path.

            >>> qrewrite.Model.of(onnx.load("model.onnx")).stats.nodes
            26

        `folder`: where a message has its external data (tensors of an ``onnx_ir.Model`` know their own folder). Weights of an ``onnx_ir.Model`` are not copied, and must not change.
        """
        from ._kinds import read
        return model if isinstance(model, cls) else cls(read(model, folder)[0])

    @classmethod
    def load(cls, path: Path) -> Model:
        """Reads a file. Weights, also external ones, stay in the mapped files, which must not be written to meanwhile.

        :class:`FileError`: it cannot be read; :class:`InvalidModel`: it is no valid model.
        """
        return cls(_core.Model.load(_arguments.path("a model", path)))

    @classmethod
    def parse(cls, data: bytes | bytearray | memoryview, *, folder: Path = "",
              external: Mapping[str, Any] | None = None) -> Model:
        """Reads a serialized ModelProto; `bytes` are not copied.

        `external` has external data by location: objects with the buffer protocol, C-contiguous (bytes, numpy arrays), which
        are not copied and must not change. What is not in it is looked for in `folder`; without one there are no files.
        """
        from ._errors import CallbackError, usage
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise usage(f"Model.parse() takes bytes, not {type(data).__name__}; Model.of() takes models of other packages")
        outside = _arguments.mapping("`external`", external)
        try:
            return cls(_core.Model.parse(bytes(data), _arguments.path("`folder`", folder), outside.get if outside else None))
        except CallbackError as error:
            if not isinstance(error.__cause__, (TypeError, ValueError, BufferError)):  # of what is no such buffer
                raise
            raise usage(f"`external`: {error.__cause__}") from error.__cause__

    def save(self, path: Path, *, external: Literal["auto", "never", "always"] = "auto", threshold: int = 1024) -> list[str]:
        """Writes the model, and its data if that is external. Returns the paths of all files, the model's first.

        All files appear, complete and on the disk, or none. `external`: where tensors of at least `threshold` bytes go: "auto":
        beside the model if the source had external data or 2 GB are exceeded; "never": inside; "always": beside it.
        """
        return self._save(path, external, threshold, ())

    def _save(self, path: Path, external: str, threshold: int, files: Sequence[tuple[bytes, bytes, bool]]) -> list[str]:
        if not isinstance(external, str) or external not in _EXTERNAL:
            from ._errors import usage
            raise usage(f"external is auto, never or always, not {external!r}")
        return self._core.save(_arguments.path("`path`", path), _EXTERNAL[external], _arguments.count("`threshold`", threshold), files)

    def serialize(self) -> bytes:
        """The ModelProto with all data inside. :class:`LimitError` beyond 2 GB."""
        return self._core.serialize()

    def serialize_apart(self, location: str = "data", threshold: int = 1024) -> tuple[bytes, memoryview]:
        """The ModelProto without the data of tensors of at least `threshold` bytes, and that data.

        The data is the file that the model calls `location`: ``Model.parse(model, external={location: data})`` is the
        model again. There is no limit to its size.
        """
        model, parts = self._core.serialize_apart(_arguments.text("`location`", location), _arguments.count("`threshold`", threshold), [])
        return model, memoryview(parts[0][1] if parts else b"")

    def to_proto(self) -> Any:
        """As an ``onnx.ModelProto``, with all data inside."""
        import onnx
        return onnx.ModelProto.FromString(self.serialize())

    def text(self, *, max_elements: int = 16, types: bool = False, node_names: bool = False, node: str = "",
             around: str = "", distance: int = 2) -> str:
        """The model in the syntax of rules and tests, as ``qrewrite show`` prints it.

        `max_elements`: larger constants are elided. `types`: the type of every value that has one. `node`: a regular
        expression (RE2), only nodes in whose name or outputs it is found. `around`: the node of this name, or that makes the value of this name, and
        what is at most `distance` nodes away. :class:`UsageError`: a bad expression, no such node.
        """
        return self._core.text(_arguments.count("`max_elements`", max_elements), _arguments.flag("`types`", types),
                               _arguments.flag("`node_names`", node_names), *_part(node, around, distance))

    def dot(self, *, types: bool = False, node: str = "", around: str = "", distance: int = 2) -> str:
        """The model, or a part of it as of `text`, in the language of Graphviz. `types`: shapes at the edges."""
        return self._core.dot(_arguments.flag("`types`", types), *_part(node, around, distance))

    @property
    def stats(self) -> Stats:
        """How large it is, and of what operators."""
        return Stats(**self._core.stats())

    @cached_property
    def graphs(self) -> list[Graph]:
        """All graphs, the main one first: subgraphs and functions follow."""
        graphs: list[Graph] = []
        for contents in self._core.contents():
            graphs.append(Graph(graphs, *contents))
        return graphs

    @property
    def graph(self) -> Graph:
        """The main graph."""
        return self.graphs[0]

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the main graph, producers before readers."""
        return self.graph.nodes

    @property
    def values(self) -> dict[str, Value]:
        """The values of the main graph by name."""
        return self.graph.values

    @property
    def inputs(self) -> list[Value]:
        """The inputs of the main graph that have no initial value."""
        return [self.values[name] for name in self.graph.inputs if name not in self.graph.constants]

    @property
    def outputs(self) -> list[Value]:
        """The outputs of the main graph."""
        return [self.values[name] for name in self.graph.outputs]

    @cached_property
    def constants(self) -> dict[str, Constant]:
        """The initializers of the main graph by name."""
        return FrozenDict({name: Constant(constant, name) for name, constant in self._core.constants().items()})

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __reduce__(self) -> tuple[Any, ...]:
        model, data = self.serialize_apart()
        return _rebuild, (model, bytes(data))

    def __repr__(self) -> str:
        stats = self.stats
        opset = ", ".join(f"{domain or 'opset'} {version}" for domain, version in stats.opset.items())
        return f"<qrewrite.Model: {stats.nodes} nodes, {stats.initializers} initializers, {opset}>"


def _part(node: Any, around: Any, distance: Any) -> tuple[str, str, int]:
    return _arguments.text("`node`", node), _arguments.text("`around`", around), _arguments.count("`distance`", distance, 2**31)


def _constant(plain: Any, texts: list[bytes] | None, shape: tuple[int, ...], nbytes: int, name: str) -> Constant:
    from types import SimpleNamespace
    core: Any = SimpleNamespace(dtype=NAMES.index("string") if plain is None else plain[0], dims=shape, nbytes=nbytes,
                                read=lambda: plain, read_strings=lambda: texts)
    return Constant(core, name)


def _rebuild(model: bytes, data: bytes) -> Model:
    return Model.parse(model, external={"data": data})
