"""Many sums of bits modulo 2, with shared parts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import cache

from amaranth.hdl import C, Cat, Module, Signal, Value

__all__ = ["xor_network"]

#: The most gates in a row that make a part that sums share: a deeper one saves few gates and delays its sums.
_DEEPEST = 4


def xor_network(m: Module, inputs: Value, columns: Sequence[int], size: int) -> Value:
    """``size`` sums, of those ``inputs`` whose column has the sum's bit. Combinational.

    This is Paar's greedy method: two inputs that most sums have in common become one, again and again. What is left is
    summed in trees, the shallowest first. CRC-32C of 256 bits takes 1,578 gates instead of 4,124, eight in a row.
    """
    pairs, sums = _share(tuple(columns), size)
    nodes: list[Value] = list(inputs)
    for first, second in pairs:
        node = Signal(name="shared")
        m.d.comb += node.eq(nodes[first] ^ nodes[second])
        nodes.append(node)
    return Cat(C(0, 1) if tree is None else _sum(nodes, tree) for tree in sums)


#: A sum as a tree: a node, or the sum of two trees.
_Tree = int | tuple["_Tree", "_Tree"]


def _sum(nodes: Sequence[Value], tree: _Tree) -> Value:
    return nodes[tree] if isinstance(tree, int) else _sum(nodes, tree[0]) ^ _sum(nodes, tree[1])


@cache
def _share(columns: tuple[int, ...], size: int) -> tuple[list[tuple[int, int]], list[_Tree | None]]:
    """The pairs of nodes that become a node each, and every sum."""
    left, depths, pairs = list(columns), [0] * len(columns), []
    # The best pair is on top. A count may be outdated, and then it was too high.
    heap: list[tuple[int, int, int, int]] = []

    def offer(first: int, second: int) -> None:
        depth = max(depths[first], depths[second]) + 1
        count = (left[first] & left[second]).bit_count()
        if count > 1 and depth <= _DEEPEST:
            heapq.heappush(heap, (-count, depth, first, second))

    for second in range(len(left)):
        for first in range(second):
            offer(first, second)
    while heap:
        count, depth, first, second = heapq.heappop(heap)
        common = left[first] & left[second]
        if common.bit_count() != -count:
            offer(first, second)
            continue
        left[first] &= ~common
        left[second] &= ~common
        left.append(common)
        depths.append(depth)
        pairs.append((first, second))
        for other in range(len(left) - 1):
            offer(other, len(left) - 1)
    return pairs, [_tree(left, depths, bit) for bit in range(size)]


def _tree(left: Sequence[int], depths: Sequence[int], bit: int) -> _Tree | None:
    """The sum of the nodes that have a bit, the shallowest first; None without any."""
    heap: list[tuple[int, int, _Tree]] = [
        (depths[node], node, node) for node, column in enumerate(left) if column >> bit & 1
    ]
    heapq.heapify(heap)
    number = len(left)
    while len(heap) > 1:
        (depth, _, one), (deeper, _, other) = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (max(depth, deeper) + 1, number, (one, other)))
        number += 1
    return heap[0][2] if heap else None
