"""What networks learn: images with classes, and the networks that fit them (needs the ``torch`` extra).

Fractals are images that a program draws: categories of iterated functions, after FractalDB, which has trained real features
with such. A category is a system of affine maps. A point that goes through maps at random draws its attractor (the chaos
game). In an image of a category the maps are a little changed. It is mirrored at random, and each point has a pattern of
3 x 3 pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from cdma.hdl.spec.settings import check_range

from .digits import CLASSES, TRAINING_IMAGES, digits
from .networks import BUILDERS, FULL_SIZE, FULL_SIZE_SHAPE

_LEAST_MAPS, _MOST_MAPS = 2, 8
#: Points that draw an image together, steps in which they draw nothing yet, and how often each pixel is drawn on average.
_POINTS, _BEFORE, _DRAWN = 256, 20, 2
#: The part of the pixels that an attractor must fill to be a category, on a small image.
_FILLED, _TRIED = 0.2, 32
#: The most that a map keeps of a distance, before it is changed.
_LARGEST = 0.8
#: By how much a number of a map differs from image to image.
_CHANGE = 0.2
#: Images that are drawn at once.
_AT_ONCE = 64


@dataclass(frozen=True)
class Fractals:
    """What is drawn: as many images of each category, square and grey.

    ``device``: Where they are drawn. The same seed draws the same on the same kind of device.
    """

    categories: int = 100
    images: int = 100
    side: int = 224
    seed: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_range("categories", self.categories, 2, 1000, "kinds of fractals")
        check_range("images", self.images, 2, 10000, "images of each kind")
        check_range("side", self.side, 16, 1024, "pixels of a side")

    def draw(self) -> tuple[Tensor, Tensor]:
        """The images, (images, 1, side, side) bytes, and their categories, both in a random order."""
        generator = torch.Generator(self.device).manual_seed(self.seed)
        maps, shares = self._systems(generator)
        which = torch.arange(self.categories, device=self.device).repeat(self.images)
        which = which[torch.randperm(len(which), generator=generator, device=self.device)]
        parts = []
        for begin in range(0, len(which), _AT_ONCE):
            category = which[begin : begin + _AT_ONCE]
            changed = maps[category]
            changed = changed * (1 + _CHANGE * (2 * self._random(changed.shape, generator) - 1))
            drawn = _drawn(changed, shares[category], self.side, generator)
            mirrored = self._random((2, len(category), 1, 1), generator) < 0.5
            drawn = torch.where(mirrored[0], drawn.flip(1), drawn)
            parts.append(torch.where(mirrored[1], drawn.flip(2), drawn))
        return torch.cat(parts)[:, None], which

    def _systems(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The maps of each category, (categories, maps, 6), and the running sums of how often each is taken."""
        found: list[Tensor] = []
        while len(found) < self.categories:
            maps = 2 * self._random((_AT_ONCE, _MOST_MAPS, 6), generator) - 1
            # A map that enlarged would lead points away.
            size = maps[..., :4].norm(dim=-1, keepdim=True)
            maps[..., :4] *= (_LARGEST / size).clamp_max(1)
            count = torch.randint(
                _LEAST_MAPS, _MOST_MAPS + 1, (_AT_ONCE, 1), generator=generator, device=self.device
            )
            # A map that is not there has no area, and is never taken.
            maps *= (torch.arange(_MOST_MAPS, device=self.device) < count)[..., None]
            small = _drawn(maps, _shares(maps), _TRIED, generator)
            filled = (small > 0).float().mean((1, 2))
            found += [one for one, part in zip(maps, filled.tolist(), strict=True) if part >= _FILLED]
        systems = torch.stack(found[: self.categories])
        return systems, _shares(systems)

    def _random(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return torch.rand(shape, generator=generator, device=self.device)


def _shares(maps: Tensor) -> Tensor:
    """Running sums of how often each map is taken: in proportion to the area that it keeps."""
    area = (maps[..., 0] * maps[..., 3] - maps[..., 1] * maps[..., 2]).abs()
    area += 1e-3 * (maps != 0).any(-1)
    return (area / area.sum(-1, keepdim=True)).cumsum(-1)


def _drawn(maps: Tensor, shares: Tensor, side: int, generator: torch.Generator) -> Tensor:
    """The images of systems, (systems, side, side) bytes: how dense the points are, with patterns around them."""
    count, device = len(maps), maps.device
    at = torch.zeros(count, _POINTS, 2, device=device)
    seen = []
    for step in range(_BEFORE + _DRAWN * side * side // _POINTS):
        chance = torch.rand(count, _POINTS, generator=generator, device=device)
        taken = torch.searchsorted(shares, chance).clamp_(max=maps.shape[1] - 1)
        map = maps.gather(1, taken[..., None].expand(-1, -1, 6))
        at = (map[..., :4].unflatten(-1, (2, 2)) @ at[..., None]).squeeze(-1) + map[..., 4:]
        if step >= _BEFORE:
            seen.append(at)
    points = torch.cat(seen, 1)
    least, most = points.amin(1, keepdim=True), points.amax(1, keepdim=True)
    places = ((points - least) / (most - least).clamp_min(1e-6) * (side - 3)).long() + 1
    image = torch.zeros(count, side * side, device=device)
    pattern = torch.randint(0, 2, (count, 9), generator=generator, device=device)
    for number in range(9):
        down, right = divmod(number, 3)
        index = (places[..., 0] + down - 1) * side + places[..., 1] + right - 1
        image.scatter_add_(1, index, pattern[:, number : number + 1].float().expand_as(index))
    shade = image.sqrt()
    return (255 * shade / shade.amax(1, keepdim=True).clamp_min(1)).byte().view(count, side, side)


#: One of so many fractals is kept from training.
_KEPT_OF = 10
#: Images whose shades are those of all.
_SHADES = 1000


@dataclass(frozen=True)
class Task:
    """Images, the classes of these, and what builds a network by its name.

    ``about``: What the images are, for a record.
    ``training``: How many images are for training; the others measure the accuracy.
    ``mean``, ``deviation``: Of the images. What a network gets has the mean 0 and the deviation 1.
    ``channels``: How often a network gets the grey values.
    """

    about: str
    images: Tensor
    classes: Tensor
    training: int
    networks: Mapping[str, Callable[[], nn.Module]]
    mean: float = 0.0
    deviation: float = 1.0
    channels: int = 1

    def inputs(self, which: Tensor | slice) -> Tensor:
        """The images as a network gets them."""
        grey = self.images[which].float().sub_(self.mean).div_(self.deviation)
        return grey.expand(-1, self.channels, -1, -1)


def digits_task() -> Task:
    """Digits of 32 x 32 pixels, for the small networks."""
    images, classes = (torch.from_numpy(array) for array in digits())
    about = f"scikit-learn's digits, {TRAINING_IMAGES} training images of 32 x 32"
    networks = _small(CLASSES)
    return Task(about, images, classes, TRAINING_IMAGES, networks)


def fractals_task(fractals: Fractals) -> Task:
    """Fractals: for the networks in their own size where they are large enough, and else for the small ones."""
    images, classes = fractals.draw()
    training = len(images) - len(images) // _KEPT_OF
    about = (
        f"fractals of {fractals.categories} kinds, {training} training images of {fractals.side} x {fractals.side}, "
        f"seed {fractals.seed}"
    )
    full = fractals.side == FULL_SIZE_SHAPE[-1]
    shades = images[:_SHADES].float()
    mean, deviation = float(shades.mean()), float(shades.std())
    networks = FULL_SIZE if full else _small(fractals.categories)
    return Task(
        about, images, classes, training, networks, mean, deviation, FULL_SIZE_SHAPE[0] if full else 1
    )


def _small(classes: int) -> Mapping[str, Callable[[], nn.Module]]:
    return {name: partial(build, classes) for name, build in BUILDERS.items()}
