"""Every tensor that a network computes: of ONNX, TensorFlow Lite, ncnn and PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError, install_command

#: Tensors of fewer bytes, such as means of channels, are left out.
LEAST_BYTES = 4096

#: Operations that compute nothing: their outputs are tensors that were there before, or constants.
_NOTHING_NEW = {
    *(
        "reshape",
        "transpose",
        "squeeze",
        "unsqueeze",
        "slice",
        "split",
        "gather",
        "expand",
        "identity",
        "cast",
    ),
    *("constant", "constantofshape", "shape", "range", "flatten", "dequantize", "pack", "strided_slice"),
    *("input", "dropout", "concat", "concatenation", "pad", "noop"),
}


class MissingReal(CdmaError, ImportError):
    """Running a trained network needs the extra ``real``."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"collecting from trained networks needs the package {package}: {install_command('real')}"
        )


def require(module: str, package: str) -> Any:
    """Imports ``module``; raises :class:`MissingReal`, which names its ``package``, if that fails."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingReal(package) from None


class Tapped(NamedTuple):
    """A tensor of a network: its name, the operation that computed it, its numbers, the name of their type where numpy has
    none, and the axis of its channels.

    ``reads``: The tensors that the operation reads, by name, and :data:`INPUT`; None if that is not known.
    ``parameters``, ``macs``: Its parameters, if no operation before it reads them, and its multiplications.
    """

    name: str
    operation: str
    numbers: NDArray[Any]
    number_type: str
    channels: int
    reads: tuple[str, ...] | None = None
    parameters: int = 0
    macs: int = 0

    @property
    def fresh(self) -> bool:
        """Whether something is computed, and not little."""
        return self.operation not in _NOTHING_NEW and self.numbers.nbytes >= LEAST_BYTES


#: What an operation reads that reads the input of the network.
INPUT = ""
_JOINED = {"concat", "concatenation"}
#: Operations whose output does not depend on the numbers that they read.
_CONSTANT = {"constant", "constantofshape", "shape", "range", "size"}


class _Graph:
    """Follows the operations of a network from its input on: which of their inputs are computed, which are parameters."""

    def __init__(self, entries: Iterable[Any], size: Callable[[Any], int], channels: int) -> None:
        self._stands_for = dict.fromkeys(entries, INPUT)
        self._size, self._channels = size, channels
        self._counted: set[Any] = set()

    def tap(
        self,
        name: str,
        operation: str,
        numbers: Any,
        inputs: Iterable[Any],
        outputs: Sequence[Any],
        macs: int,
        parameters: int = 0,
    ) -> Iterator[Tapped]:
        """The first of the ``outputs`` of an operation, unless it only arranges or depends on parameters alone; it has
        ``parameters`` that are no inputs."""
        operation, inputs = operation.lower(), list(inputs)
        reads = tuple(dict.fromkeys(self._stands_for[each] for each in inputs if each in self._stands_for))
        if not reads or operation in _CONSTANT:
            return
        arranged = operation in _NOTHING_NEW and operation not in _JOINED
        computed = numbers.dtype == np.float32 and numbers.size > 0 and not arranged
        self._stands_for |= dict.fromkeys(outputs, name if computed else reads[0])
        if computed:
            own = {each for each in inputs if each not in self._stands_for} - self._counted
            self._counted |= own
            parameters += sum(map(self._size, own))
            plain = np.ascontiguousarray(numbers)
            yield Tapped(name, operation, plain, "float32", self._channels, reads, parameters, macs)


def onnx_tensors(path: Path, feeds: Mapping[str, NDArray[Any]]) -> Iterator[Tapped]:
    """What each node of an ONNX graph computes, channels first; the graph runs as it is, without optimisation."""
    onnx, runtime = require("onnx", "onnx"), require("onnxruntime", "onnxruntime")
    model = onnx.load(str(path))
    made = [name for node in model.graph.node for name in node.output if name]
    known = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in known)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = {**feeds, **dict(zip(names, session.run(names, dict(feeds)), strict=True))}
    values |= {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    graph = _Graph(feeds, lambda name: int(np.size(values[name])) if name in values else 0, 1)
    for node in model.graph.node:
        first = node.output[0]
        if isinstance(values.get(first), np.ndarray):
            read = [values[name] for name in node.input if name in values]
            macs = _multiplications(node.op_type.lower(), read, values[first])
            yield from graph.tap(first, node.op_type, values[first], node.input, node.output, macs)


def lite_tensors(path: Path, image: NDArray[np.float32]) -> Iterator[Tapped]:
    """What each operation of a TensorFlow Lite model computes, channels last."""
    lite = require("ai_edge_litert.interpreter", "ai-edge-litert")
    interpreter = lite.Interpreter(
        str(path),
        experimental_preserve_all_tensors=True,
        experimental_op_resolver_type=lite.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    entry = interpreter.get_input_details()[0]["index"]
    interpreter.set_tensor(entry, image)
    interpreter.invoke()
    names = {each["index"]: each["name"] for each in interpreter.get_tensor_details()}
    graph = _Graph([entry], lambda index: int(interpreter.get_tensor(index).size), -1)
    for operation in interpreter._get_ops_details():
        inputs, outputs = ([index for index in operation[key] if index >= 0] for key in ("inputs", "outputs"))
        numbers, name = interpreter.get_tensor(outputs[0]), operation["op_name"].lower()
        macs = _multiplications(name, [interpreter.get_tensor(index) for index in inputs], numbers)
        yield from graph.tap(names[outputs[0]], name, numbers, inputs, outputs, macs)


def _multiplications(operation: str, read: Sequence[NDArray[Any]], made: NDArray[Any]) -> int:
    """Multiplications with accumulation of an operation of ONNX or TensorFlow Lite."""
    if operation == "lstm":
        _, weights, recurrent, *_ = read
        return int(made.shape[0] * made.shape[2] * (weights.size + recurrent.size))
    if operation == "depthwise_conv_2d":
        return int(made.size * np.prod(read[1].shape[1:3]))
    if operation in ("conv", "conv_2d"):
        return int(made.size * np.prod(read[1].shape[1:]))
    if operation == "convtranspose":
        return int(read[0].size * np.prod(read[1].shape[1:]))
    if operation == "transpose_conv":
        return int(read[2].size * np.prod(read[1].shape[:3]))
    if operation in ("matmul", "gemm", "fully_connected"):
        return int(made.size * read[0].shape[-1])
    return 0


def ncnn_tensors(path: Path, image: NDArray[np.float32], entry: str) -> Iterator[Tapped]:
    """What each layer of an ncnn network computes, channels first, from an ``image`` at the blob ``entry``."""
    ncnn = require("ncnn", "ncnn")
    net = ncnn.Net()
    # The numbers as they are in 32 bits, in the order of their shape.
    for option in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "packing_layout"):
        setattr(net.opt, f"use_{option}", False)
    net.load_param(str(path))
    net.load_model(str(path.with_suffix(".bin")))
    graph = _Graph([entry], lambda blob: 0, 1)
    pixels = np.ascontiguousarray(image)  # A Mat refers to these numbers without holding them.
    with net.create_extractor() as extractor:
        extractor.set_light_mode(False)
        extractor.input(entry, ncnn.Mat(pixels))
        for operation, _, read, given, *rest in map(str.split, path.read_text().splitlines()[2:]):
            inputs, outputs = rest[: int(read)], rest[int(read) : int(read) + int(given)]
            if not inputs:
                continue
            settings = dict(part.split("=") for part in rest[int(read) + int(given) :])
            weights = int(settings.get("6", 0)) if operation.startswith("Convolution") else 0
            numbers = np.array(extractor.extract(outputs[0])[1])
            macs = weights * int(np.prod(numbers.shape[1:]))
            yield from graph.tap(outputs[0], operation, numbers[np.newaxis], inputs, outputs, macs, weights)


def torch_tensors(model: Any, *inputs: Any, channels: int = 1, **more: Any) -> Iterator[Tapped]:
    """What each module without modules in it computes."""
    torch = require("torch", "torch")
    found: list[Tapped] = []
    # Whose output lies where; the tensors are kept, so that no other one comes to lie there.
    kept = list(inputs)
    names = {each.data_ptr(): INPUT for each in inputs}

    def tap(name: str) -> Any:
        def see(module: Any, given: Any, output: Any) -> None:
            if not isinstance(output, torch.Tensor) or not output.is_floating_point():
                return
            numbers, kind = output.detach(), str(output.dtype).removeprefix("torch.")
            operation, sources = type(module).__name__.lower(), [names.get(each.data_ptr()) for each in given]
            known = tuple(source for source in sources if source is not None)
            kept.append(output)
            if operation.endswith("pad2d"):
                names[output.data_ptr()] = known[0]
                return
            names[output.data_ptr()] = name
            if kind == "bfloat16":
                numbers = numbers.view(torch.int16)
            plain = np.ascontiguousarray(numbers.numpy())
            plain = plain.view(np.uint16) if kind == "bfloat16" else plain
            multiplies = operation in ("conv2d", "linear")
            macs = plain.size * math.prod(module.weight.shape[1:]) if multiplies else 0
            reads = known if len(known) == len(sources) else None
            parameters = sum(each.numel() for each in module.parameters())
            found.append(Tapped(name, operation, plain, kind, channels, reads, parameters, macs))

        return see

    leaves = [(name, module) for name, module in model.named_modules() if not any(module.children())]
    handles = [module.register_forward_hook(tap(name)) for name, module in leaves]
    try:
        with torch.no_grad():
            model(*inputs, **more)
    finally:
        for handle in handles:
            handle.remove()
    yield from found
