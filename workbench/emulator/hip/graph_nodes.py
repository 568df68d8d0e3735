"""Nodes of HIP graphs: their work, and the order in which they run."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

Action = Callable[[], None]


class NodeKind(IntEnum):
    """HIP's `hipGraphNodeType`."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    HOST = 3
    GRAPH = 4
    EMPTY = 5
    WAIT_EVENT = 6
    EVENT_RECORD = 7
    MEM_ALLOC = 10
    MEM_FREE = 11


_handles = itertools.count(0x2000000, 0x10)


@dataclass(eq=False)
class Node:
    """One node of a graph.

    Attributes:
        kind: type of the node.
        action: function that does its work.
        dependencies: nodes that run before it.
        detail: parameters that the API can query.
    """

    kind: NodeKind
    action: Action
    dependencies: list[Node]
    detail: Any = None
    handle: int = field(default_factory=lambda: next(_handles))


@dataclass(eq=False)
class Graph:
    """Nodes in the order in which they were added; none depends on a later one unless an edge was added."""

    nodes: list[Node] = field(default_factory=list)
    handle: int = field(default_factory=lambda: next(_handles))

    def add(self, kind: NodeKind, action: Action, dependencies: Iterable[Node], detail: Any = None) -> Node:
        """Append a node that runs after the nodes it depends on, and return it."""
        node = Node(kind, action, list(dict.fromkeys(dependencies)), detail)
        self.nodes.append(node)
        return node

    def ordered(self) -> list[Node]:
        """The nodes, each after those that it depends on; if there is a choice, those added earlier come
        first.

        Raises:
            ValueError: nodes depend on each other in a cycle.
        """
        done: dict[Node, None] = {}
        left = list(self.nodes)
        while left:
            ready = next((n for n in left if all(d in done for d in n.dependencies)), None)
            if ready is None:
                raise ValueError("nodes of the graph depend on each other in a cycle")
            done[ready] = None
            left.remove(ready)
        return list(done)


@dataclass(eq=False)
class Capture:
    """A graph that is being captured from streams.

    Attributes:
        origin: handle of the stream that it began on.
        tails: by stream handle, the nodes that the stream's next work depends on.
        mode: hipStreamCaptureMode, which decides where calls that cannot be recorded end the capture.
        thread: identifier of the thread that began it.
        dependency_array: array of node handles that the program received.
        invalidated: True if such a call has ended it.
    """

    graph: Graph
    origin: int
    tails: dict[int, list[Node]]
    sequence: int
    mode: int = 0
    thread: int = field(default_factory=threading.get_ident)
    dependency_array: Any = None
    invalidated: bool = False

    def append(self, stream: int, kind: NodeKind, action: Action, detail: Any) -> None:
        """Record work that was sent to a stream."""
        self.tails[stream] = [self.graph.add(kind, action, self.tails[stream], detail)]
