"""Every tensor that a network computes: of ONNX, TensorFlow Lite, ncnn and PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    *(
        "constant",
        "constantofshape",
        "shape",
        "range",
        "flatten",
        "dequantize",
        "pack",
        "strided_slice",
        "input",
    ),
    *("dropout", "concat", "concatenation", "pad", "noop"),
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
    none, and the axis of its channels."""

    name: str
    operation: str
    numbers: NDArray[Any]
    number_type: str
    channels: int


def _tapped(name: str, operation: str, numbers: NDArray[Any], channels: int) -> Iterator[Tapped]:
    """The tensor, unless it is small or nothing was computed."""
    fresh = operation.lower() not in _NOTHING_NEW
    if fresh and numbers.dtype == np.float32 and numbers.nbytes >= LEAST_BYTES:
        yield Tapped(name, operation.lower(), np.ascontiguousarray(numbers), "float32", channels)


def onnx_tensors(path: Path, feeds: Mapping[str, NDArray[Any]]) -> Iterator[Tapped]:
    """What each node of an ONNX graph computes, channels first; the graph runs as it is, without optimisation."""
    onnx, runtime = require("onnx", "onnx"), require("onnxruntime", "onnxruntime")
    model = onnx.load(str(path))
    made_by = {name: node.op_type for node in model.graph.node for name in node.output if name}
    known = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made_by if name not in known)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for name, numbers in zip(names, session.run(names, dict(feeds)), strict=True):
        if isinstance(numbers, np.ndarray):
            yield from _tapped(name, made_by[name], numbers, 1)


def lite_tensors(path: Path, image: NDArray[np.float32]) -> Iterator[Tapped]:
    """What each operation of a TensorFlow Lite model computes, channels last."""
    lite = require("ai_edge_litert.interpreter", "ai-edge-litert")
    interpreter = lite.Interpreter(
        str(path),
        experimental_preserve_all_tensors=True,
        experimental_op_resolver_type=lite.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image)
    interpreter.invoke()
    names = {each["index"]: each["name"] for each in interpreter.get_tensor_details()}
    for operation in interpreter._get_ops_details():
        for index in operation["outputs"]:
            yield from _tapped(names[index], operation["op_name"], interpreter.get_tensor(index), -1)


def ncnn_tensors(path: Path, image: NDArray[np.float32], entry: str) -> Iterator[Tapped]:
    """What each layer of an ncnn network computes, channels first, from an ``image`` at the blob ``entry``."""
    ncnn = require("ncnn", "ncnn")
    net = ncnn.Net()
    # The numbers as they are in 32 bits, in the order of their shape.
    for option in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "packing_layout"):
        setattr(net.opt, f"use_{option}", False)
    net.load_param(str(path))
    net.load_model(str(path.with_suffix(".bin")))
    with net.create_extractor() as extractor:
        extractor.set_light_mode(False)
        extractor.input(entry, ncnn.Mat(np.ascontiguousarray(image)))
        for operation, _, inputs, outputs, *blobs in map(str.split, path.read_text().splitlines()[2:]):
            for blob in blobs[int(inputs) : int(inputs) + int(outputs)]:
                numbers = np.array(extractor.extract(blob)[1])
                yield from _tapped(blob, operation, numbers[np.newaxis], 1)


def torch_tensors(model: Any, *inputs: Any, channels: int = 1, **more: Any) -> Iterator[Tapped]:
    """What each module without modules in it computes."""
    torch = require("torch", "torch")
    found: list[Tapped] = []

    def tap(name: str) -> Any:
        def see(module: Any, given: Any, output: Any) -> None:
            if not isinstance(output, torch.Tensor) or not output.is_floating_point():
                return
            numbers, kind = output.detach(), str(output.dtype).removeprefix("torch.")
            if kind == "bfloat16":
                numbers = numbers.view(torch.int16)
            plain = np.ascontiguousarray(numbers.numpy())
            plain = plain.view(np.uint16) if kind == "bfloat16" else plain
            if plain.nbytes >= LEAST_BYTES:
                found.append(Tapped(name, type(module).__name__.lower(), plain, kind, channels))

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
