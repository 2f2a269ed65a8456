"""Views of tensors as tiles, and the model of the engine that moves them: numpy says what must come."""

import random
from dataclasses import replace

import numpy as np
import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.shape import Dimension, Shape
from cdma.sim.codec.model import compress
from cdma.sim.codec.quantise import quantise
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, Status
from cdma.sim.engine.shaped import Tile, gathered, tile_of
from tests.support.c_driver_library import BAD_ARGUMENT, FULL
from tests.support.stream_bench import BACK, DEV, OUT, ModelBench

CONFIG = EngineConfig(
    Format(code_bits=2, values=(7, 0, 1)),
    ring_entries=16,
    dimensions=3,
    dev_data_bits=64,
    host_data_bits=64,
)
X = np.random.default_rng(5).integers(0, 5, (4, 6, 8, 2), dtype=np.uint32)
VIEWS = {
    "channel group": (X[:, 2:4], None),
    "halo": (X[1, 0:3, 0:5], [(1, 0), (1, 1), (0, 0)]),
    "transposed": (X[1].transpose(1, 0, 2), None),
    "reversed": (X[::-1, 1], None),
    "rows": (X[::2, 3, 1:7:2], None),
    "all": (X, None),
}


def padded(view: np.ndarray, padding: list | None, value: int = 0) -> np.ndarray:
    """The view as the codec sees it."""
    return np.ascontiguousarray(np.pad(view, padding or [(0, 0)] * view.ndim, constant_values=value))


@pytest.mark.parametrize("name", VIEWS)
def test_a_tile_has_the_bytes_of_its_view(name: str) -> None:
    view, padding = VIEWS[name]
    tile, raw = tile_of(view, X, DEV, padding), X.tobytes()

    def read(offset: int, count: int) -> bytes:
        start = tile.address - DEV + offset
        return raw[start : start + count]

    assert gathered(tile.shape, read, bytes(4)) == padded(view, padding).tobytes()


def test_a_torch_view_is_the_tile_of_the_numpy_view() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(X.view(np.int32).copy())
    view = tensor[1].permute(1, 0, 2)
    assert tile_of(view, tensor, DEV) == tile_of(X[1].transpose(1, 0, 2), X, DEV)


def test_rows_without_a_gap_are_one_row() -> None:
    assert tile_of(X, X, DEV) == Tile(DEV, Shape(X.nbytes))
    assert tile_of(X.transpose(), X, DEV, any_order=True) == tile_of(X, X, DEV)
    assert tile_of(X[1:3, :, 2:], X, DEV) == Tile(DEV + X.strides[0] + 16, Shape(48, (Dimension(12, 64),)))


def test_a_view_that_is_no_tile_says_why() -> None:
    with pytest.raises(ParameterError, match="the view has no elements"):
        tile_of(X[4:], X, DEV)
    with pytest.raises(ParameterError, match="padding is given for 1 axes; the view has 4"):
        tile_of(X, X, DEV, [(0, 0)])
    with pytest.raises(ParameterError, match="5 dimensions above its row"):
        tile_of(np.zeros((4, 4, 4, 4, 4, 4), np.uint32)[::2, ::2, ::2, ::2, ::2, ::2], np.zeros(1), DEV)


@pytest.mark.parametrize("driver", ["python", "c"])
@pytest.mark.parametrize("pushed", [False, True], ids=["ring", "push"])
@pytest.mark.parametrize("mode", Mode)
def test_the_model_moves_tiles_and_back(mode: Mode, pushed: bool, driver: str) -> None:
    bench = ModelBench(CONFIG, driver)
    form = CONFIG.format if mode is Mode.FVC else CONFIG.format.with_table((0,) * 3)
    bench.driver.offload.set_table(CONFIG.format.values)
    bench.driver.prefetch.set_table(CONFIG.format.values)
    if pushed:
        bench.driver.offload.start_direct()
        bench.driver.prefetch.start_direct()
    else:
        bench.start()
    bench.dev_bytes[: X.nbytes] = X.tobytes()
    for view, padding in VIEWS.values():
        tile = tile_of(view, X, DEV, padding)
        tensor = padded(view, padding, 7 if mode is Mode.FVC else 0)
        length = tile.shape.length
        out = bench.driver.offload.transfer(
            Descriptor(tile.address, OUT, length, 4096, mode, shape=tile.shape)
        )
        stream = tensor.tobytes() if mode is Mode.RAW else compress(tensor, form)
        assert (out.status, out.bytes_read, out.bytes_written) == (Status.OK, view.nbytes, len(stream))
        assert bench.peek(bench.host, OUT, len(stream)) == stream
        offset = BACK - DEV
        before = bytes(bench.dev_bytes[offset : offset + X.nbytes])
        back = bench.driver.prefetch.transfer(
            Descriptor(
                OUT,
                tile.address + offset,
                length,
                length,
                mode,
                0 if mode is Mode.RAW else len(stream),
                shape=tile.shape,
            )
        )
        assert (back.status, back.bytes_written) == (Status.OK, view.nbytes)
        wanted = np.frombuffer(before, np.uint32).reshape(X.shape).copy()
        place = (
            np.lib.stride_tricks.as_strided(
                wanted.reshape(-1)[(tile.address - DEV) // 4 :], view.shape, view.strides
            )
            if min(view.strides) > 0
            else wanted[::-1, 1]
        )
        place[...] = view
        assert bytes(bench.dev_bytes[offset : offset + X.nbytes]) == wanted.tobytes()


@pytest.mark.parametrize("driver", ["python", "c"])
@pytest.mark.parametrize("mode", Mode)
def test_the_model_moves_tiles_of_any_byte_and_back(mode: Mode, driver: str) -> None:
    """Rows of bytes, and halos of one. Zeros fill the last word of the stream. Padding has the bytes that lie there in
    a word of a table's first value."""
    bench = ModelBench(replace(CONFIG, alignment="byte"), driver)
    bench.driver.offload.set_table(CONFIG.format.values)
    bench.driver.prefetch.set_table(CONFIG.format.values)
    bench.start()
    pixels = np.random.default_rng(7).integers(0, 3, (3, 7, 13, 3), dtype=np.uint8)
    bench.dev_bytes[: pixels.nbytes] = pixels.tobytes()
    for view, padding in (
        (pixels[1, 2:5, 1:12], None),
        (pixels[:, 1:4, :5, 1:], [(0, 0), (1, 0), (0, 1), (0, 0)]),
        (pixels[2, ::-1, 3:8].transpose(1, 0, 2), [(0, 2), (1, 1), (0, 0)]),
    ):
        tile = tile_of(view, pixels, DEV, padding)
        length = tile.shape.length
        words = np.zeros(-(-length // 4), np.uint32)
        raw = words.view(np.uint8)[:length]
        raw[:] = np.pad(view, padding or [(0, 0)] * view.ndim, constant_values=0).reshape(-1)
        inside = np.pad(np.ones(view.shape, bool), padding or [(0, 0)] * view.ndim).reshape(-1)
        if mode is Mode.FVC:
            raw[~inside] = np.resize(np.array([7, 0, 0, 0], np.uint8), length)[~inside]
        form = CONFIG.format if mode is Mode.FVC else CONFIG.format.with_table((0,) * 3)
        stream = raw.tobytes() if mode is Mode.RAW else compress(words, form)
        out = bench.driver.offload.transfer(
            Descriptor(tile.address, OUT, length, 4096, mode, shape=tile.shape)
        )
        assert (out.status, out.bytes_read, out.bytes_written) == (Status.OK, view.nbytes, len(stream))
        assert bench.peek(bench.host, OUT, len(stream)) == stream
        bench.dev_bytes[: pixels.nbytes] = bytes([0xA5]) * pixels.nbytes
        packed = 0 if mode is Mode.RAW else len(stream)
        back = bench.driver.prefetch.transfer(
            Descriptor(OUT, tile.address, length, length, mode, packed, shape=tile.shape)
        )
        assert (back.status, back.bytes_written) == (Status.OK, view.nbytes)
        wanted = np.full_like(pixels, 0xA5)
        same = np.lib.stride_tricks.as_strided(
            wanted.reshape(-1)[tile_of(view, pixels, 0).address :], view.shape, view.strides
        )
        same[...] = view
        assert bytes(bench.dev_bytes[: pixels.nbytes]) == wanted.tobytes()
        bench.dev_bytes[: pixels.nbytes] = pixels.tobytes()


@pytest.mark.parametrize("mode", [Mode.ZVC, Mode.FVC])
def test_padding_of_numbers_is_the_number_0_whatever_the_table_has(mode: Mode) -> None:
    """The table is of integers. Where it has the integer 0 the padding costs no literal."""
    config = EngineConfig(
        format=Format(8, 32, 2, (7, 9, 0)), dev_data_bits=64, host_data_bits=64, lossy="fp32", dimensions=1
    )
    values = np.linspace(-1, 1, 40, dtype=np.float32)
    shape = Shape(160, (), 64, 96)
    form = config.quantisation
    assert form is not None
    step = form.step(-6)
    for table in ((7, 9, 0), (7, 9, 5)):
        bench = ModelBench(replace(config, ring_entries=16))
        bench.driver.offload.set_table(table)
        bench.start()
        bench.dev_bytes[:160] = values.tobytes()
        job = Descriptor(DEV, OUT, shape.length, 4096, mode, shape=shape, step=step)
        done = bench.driver.offload.transfer(job)
        numbers = np.pad(values, (16, 24)).view(np.uint32)
        integers = quantise(numbers, step - form.number_type.bias, form).integers
        assert not integers[:16].any()
        coded = config.format.with_table(table if mode is Mode.FVC else (0,) * 3)
        stream = compress(integers.view(np.uint8), coded)
        assert (done.status, bench.peek(bench.host, OUT, done.bytes_written)) == (Status.OK, stream)


@pytest.mark.parametrize(
    ("name", "shape", "status"),
    [
        ("prefetch", Shape(8, (Dimension(4, 8), Dimension(2, 16))), Status.SHAPE),
        ("offload", Shape(12, (Dimension(4, 8),)), Status.SHAPE),
        ("offload", Shape(8, (Dimension(2, 64),) * (CONFIG.dimensions + 1)), Status.SHAPE),
        ("offload", Shape(8, (Dimension(2, 1 << 32), Dimension(2, -(1 << 32)))), Status.SHAPE),
        ("offload", Shape(8, (Dimension(2, 1 << 30),)), Status.WINDOW),
        ("offload", Shape(8, (Dimension(2, -(1 << 29)),)), Status.WINDOW),
    ],
)
def test_the_model_refuses_a_shape_before_anything_moves(name: str, shape: Shape, status: Status) -> None:
    bench = ModelBench(CONFIG)
    bench.driver.set_window("dev", DEV, DEV + 0xFFFF)
    bench.start()
    channel = getattr(bench.driver, name)
    channel._check_options = lambda *_: None
    device, host = DEV + 4096, OUT
    source, destination = (device, host) if name == "offload" else (host, device)
    done = channel.transfer(Descriptor(source, destination, shape.length, 4096, Mode.RAW, shape=shape))
    assert done.status is status
    assert done.address == ((device + shape.lowest) % 2**64 if status is Status.WINDOW else 0)
    assert bench.dev_bytes == bytes([0xA5]) * len(bench.dev_bytes)


def test_the_c_driver_refuses_a_shape_that_the_engine_cannot_have() -> None:
    bench = ModelBench(CONFIG, "c")
    bench.start()
    shape = Shape(8, (Dimension(4, 16),))
    four = Shape(8, (Dimension(2, 16), Dimension(2, 64), Dimension(2, 256), Dimension(2, 1024)))
    plain = ModelBench(EngineConfig(ring_entries=16), "c")
    plain.start()
    for driver, length, each in (
        (bench.driver, shape.length + 8, shape),
        (bench.driver, four.length, four),
        (plain.driver, shape.length, shape),
    ):
        with pytest.raises(DriverError, match=f"returned {BAD_ARGUMENT}"):
            driver.offload.submit(Descriptor(DEV, OUT, length, 4096, Mode.RAW, shape=each))


def test_both_drivers_say_the_same_of_a_shape() -> None:
    rng = random.Random(6)
    for _ in range(30):
        shape = Shape(
            8 * rng.randint(1, 9),
            tuple(
                Dimension(rng.randint(1, 300), 8 * rng.randint(-(1 << 50), 1 << 50), rng.randint(0, 255), 3)
                for _ in range(rng.randint(0, 3))
            ),
            rng.choice((0, 8)),
            rng.choice((0, 65528)),
        )
        job = Descriptor(DEV, OUT, shape.length, 4096, Mode.RAW, shape=shape)
        written = []
        for name in ("python", "c"):
            bench = ModelBench(CONFIG, name)
            bench.driver.offload._check_options = lambda *_: None
            bench.start()
            bench.driver.offload.submit(job)
            written.append(bytes(bench.host_bytes[: 2 * RECORD_BYTES]))
        assert written[0] == written[1] == job.pack()


def test_a_driver_says_why_it_does_not_take_a_shape() -> None:
    bench = ModelBench(CONFIG)
    bench.start()
    tile = Shape(8, (Dimension(4, 8), Dimension(2, 16)))
    with pytest.raises(DriverError, match="the length is 8; the shape has 64 bytes, padding included"):
        bench.driver.offload.submit(Descriptor(DEV, OUT, 8, 64, shape=tile))
    with pytest.raises(DriverError, match="the shape cannot be moved: its rows overlap"):
        bench.driver.prefetch.submit(Descriptor(OUT, DEV, 64, 64, Mode.RAW, shape=tile))
    plain = ModelBench(EngineConfig(ring_entries=16))
    plain.start()
    with pytest.raises(DriverError, match=r"made without \(dimensions\)"):
        plain.driver.offload.submit(Descriptor(DEV, OUT, 64, 64, shape=tile))


@pytest.mark.parametrize("driver", ["python", "c"])
def test_a_descriptor_with_a_shape_takes_two_entries_of_the_ring(driver: str) -> None:
    bench = ModelBench(CONFIG, driver)
    bench.start(entries=4)
    shaped = Descriptor(DEV, OUT, 64, 64, Mode.RAW, shape=Shape(8, (Dimension(8, 16),)))
    plain = Descriptor(DEV, OUT, 64, 64, Mode.RAW)
    bench.driver.offload.submit(shaped, plain)
    assert bench.driver.offload.room == 1
    why = "of which those with a shape take two entries" if driver == "python" else f"returned {FULL}"
    with pytest.raises(DriverError, match=why):
        bench.driver.offload.submit(shaped)
    assert [done.status for done in bench.driver.offload.wait(2)] == [Status.OK] * 2
    assert bench.driver.offload.room == 4
