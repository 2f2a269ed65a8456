"""What to do with a network on a machine, in one line, and how far that holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .model import NO_ALGORITHM, Model, moments, usable
from .policies import COMPRESSING

#: The algorithms that this project's engine has.
_BUILT = ("zv", "fields")

#: What to do if nothing fits.
NOTHING_FITS = "smaller batch or more memory"

#: From the policies among which a verdict chooses to what they mean. The oracle's link does not exist.
ACTIONS = {
    "none": "do not offload",
    "vdnn_all": "offload without compression",
    "vdnn_conv": "offload without compression",
    "lms": "offload without compression",
    "vdnn++": "offload, compress in the host",
    "cdma": "offload, compress in the engine",
    "cdma_conv": "offload, compress in the engine",
    "cdma_select": "offload, compress in the engine",
    "static": "offload, compress with kernels",
    "cswap": "offload, compress with kernels",
}

#: Steps are equally long if they differ by this part: by how sums were rounded.
_EQUAL = 1e-9
#: Whole numbers of these are searched.
_MEMORY_GRAIN = 2**30 / 100
_LINK_GRAIN = 1e7


@dataclass(frozen=True)
class Fastest:
    """A policy, and the length and the memory peak of its step."""

    policy: str
    algorithm: str
    step_s: float
    peak_bytes: float


@dataclass(frozen=True)
class Change:
    """The nearest value of a parameter at which the action is another one."""

    value: float
    action: str
    policy: str | None


@dataclass(frozen=True)
class Verdict:
    """What to do: the policy with the least step time among those that fit."""

    network: str
    machine: str
    batch: int
    action: str
    #: None if nothing fits.
    policy: str | None
    algorithm: str | None
    reason: str
    #: The present values of ``batch``, ``memory_GiB`` and ``link_GBps``, the link's peak rate to the host.
    present: dict[str, float]
    #: By the same names; None if the action is the same from 1/64 to 64 times of the present value.
    changes_at: dict[str, Change | None]

    def __str__(self) -> str:
        changes = [
            _spoken(name, self.present[name], change) for name, change in self.changes_at.items() if change
        ]
        fixed = [name for name, change in self.changes_at.items() if change is None]
        if fixed:
            named = " and no ".join(name.partition("_")[0] for name in fixed)
            changes.append(f"no {named} from 1/{REACH} to {REACH} times as large changes it")
        return (
            f"{self.network} on {self.machine}, batch {self.batch}: {self.action}: {self.reason}; "
            f"{'; '.join(changes)}."
        )


def verdict(
    model: Model, policies: Sequence[str] = tuple(ACTIONS), algorithms: Sequence[str] = ("zv",)
) -> Verdict:
    """Says what to do, and from which batch, memory and link on that is something else.

    It chooses among ``policies`` and not to offload, with those of ``algorithms`` that this project's engine has, if there
    is one. Of policies that are equally fast it takes the earlier one.
    """
    candidates = _candidates(policies, algorithms)
    choice = fastest(model, candidates)
    action = _action(choice)
    gpu, link = model.machine.gpu, model.machine.link

    # Whether one still need not offload is quick to say, and the others are needed only where one must.
    quick = candidates[:1] if choice and choice.policy == "none" else candidates

    def nearest(present: int, grain: float, changed: Callable[[int], Model]) -> Change | None:
        found = nearest_change(present, lambda count: _action(fastest(changed(count), quick)) != action)
        if found is None:
            return None
        there = fastest(changed(found), candidates)
        value = found if grain == 1 else round(found * grain, 2)
        return Change(value, _action(there), there.policy if there else None)

    changes = {
        "batch": nearest(model.network.batch, 1, model.with_batch),
        "memory_GiB": nearest(
            round(gpu.memory_bytes / _MEMORY_GRAIN),
            0.01,
            lambda count: model.on(
                replace(model.machine, gpu=replace(gpu, memory_bytes=count * _MEMORY_GRAIN))
            ),
        ),
        # A step without transfers is the same over every link.
        "link_GBps": None
        if choice and choice.policy == "none"
        else nearest(
            round(link.d2h_bytes_per_s / _LINK_GRAIN),
            0.01,
            lambda count: model.on(replace(model.machine, link=link.at(count * _LINK_GRAIN))),
        ),
    }
    return Verdict(
        model.network.name,
        model.machine.name,
        model.network.batch,
        action,
        choice.policy if choice else None,
        choice.algorithm if choice else None,
        _reason(model, choice),
        {
            "batch": model.network.batch,
            "memory_GiB": gpu.memory_bytes / 2**30,
            "link_GBps": link.d2h_bytes_per_s / 1e9,
        },
        changes,
    )


def fastest(model: Model, candidates: Sequence[tuple[str, str]]) -> Fastest | None:
    """Returns the fastest of those pairs of policy and algorithm that fit, or None; nothing is faster than ``none``."""
    best: Fastest | None = None
    for policy, algorithm in candidates:
        choice = _run(model, policy, algorithm, best.step_s * (1 - _EQUAL) if best else float("inf"))
        if choice is not None:
            best = choice
            if policy == "none":
                break
    return best


def _candidates(policies: Sequence[str], algorithms: Sequence[str]) -> list[tuple[str, str]]:
    asked = [policy for policy in ACTIONS if policy == "none" or policy in policies]
    chosen = [name for name in _BUILT if name in algorithms] or list(algorithms)
    return [
        pair
        for policy in asked
        if policy not in COMPRESSING or set(COMPRESSING[policy]) & set(chosen)
        for pair in usable([policy], chosen)
    ]


def _run(model: Model, policy: str, algorithm: str, limit: float) -> Fastest | None:
    """Returns a policy's step if it fits and is shorter than ``limit``; stops as soon as it cannot be."""
    count = model.planner.assumptions.training.moments if policy in COMPRESSING else 1
    least = model.compute_seconds
    seconds: list[float] = []
    peak = 0.0
    for progress in moments(count):
        step = model.step(policy, algorithm, progress)
        seconds.append(step.seconds)
        peak = max(peak, step.peak_bytes)
        if peak > model.machine.gpu.memory_bytes:
            return None
        if sum(seconds) + (count - len(seconds)) * least >= limit * count:
            return None
    return Fastest(policy, algorithm if policy in COMPRESSING else NO_ALGORITHM, sum(seconds) / count, peak)


def _action(choice: Fastest | None) -> str:
    return ACTIONS[choice.policy] if choice else NOTHING_FITS


def _reason(model: Model, choice: Fastest | None) -> str:
    memory = model.machine.gpu.memory_bytes
    alone = model.step("none", "zv", 0.5)
    if choice is None:
        return f"no policy fits into {_gib(memory)}, and all of it would take {_gib(alone.peak_bytes)}"
    step = f"{1e3 * choice.step_s:.4g} ms a step"
    if choice.policy == "none":
        return (
            f"it fits, {_gib(choice.peak_bytes)} of {_gib(memory)}, and no policy is faster than {step}, "
            "computation alone"
        )
    return (
        f"{choice.policy}, {step}, is the fastest of those that fit ({_gib(choice.peak_bytes)} of {_gib(memory)}); "
        f"without offloading it takes {_gib(alone.peak_bytes)}"
    )


def _gib(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


def _spoken(name: str, present: float, change: Change) -> str:
    amount = {
        "batch": f"batch {change.value}",
        "memory_GiB": f"{change.value:.2f} GiB of memory",
        "link_GBps": f"a link of {change.value:.2f} GB/s",
    }[name]
    beyond = "more" if change.value > present else "less"
    what = change.action + (f" ({change.policy})" if change.policy and change.policy != "none" else "")
    return f"with {amount} or {beyond}: {what}"


#: Values are looked at from the present one divided by this to it multiplied by that.
REACH = 64


def nearest_change(present: int, other: Callable[[int], bool], reach: int = REACH) -> int | None:
    """Returns the whole number nearest to ``present``, by their ratio, for which ``other`` is true, within ``reach``.

    It doubles and halves until one is found and then bisects, so that next to it, towards ``present``, it is false.
    """
    inside = {1: present, -1: present}
    for doubling in range(1, reach.bit_length()):
        found = []
        for direction, same in list(inside.items()):
            value = present << doubling if direction == 1 else max(present >> doubling, 1)
            if value != same and other(value):
                found.append(_bisect(same, value, other))
            inside[direction] = value
        if found:
            return min(found, key=lambda value: max(value / present, present / value))
    return None


def _bisect(same: int, changed: int, other: Callable[[int], bool]) -> int:
    while abs(changed - same) > 1:
        middle = (same + changed) // 2
        if other(middle):
            changed = middle
        else:
            same = middle
    return changed
