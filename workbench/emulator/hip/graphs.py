"""HIP calls about graphs: built from nodes or recorded from streams, instantiated, replayed in order.

A graph that is launched runs its nodes one after another, each after those that it depends on.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from workbench.emulator.hip import streams, structures
from workbench.emulator.hip.calls import HANDLE, INT, POINTER, SIZE, U64, UINT, HipError, call, launch_failed
from workbench.emulator.hip.graph_memory import GraphAllocation
from workbench.emulator.hip.graph_nodes import Action, Graph, Node, NodeKind
from workbench.emulator.hip.launches import KernelWork, kernel_work
from workbench.emulator.hip.memory import copy, copy_3d, fill, free, memcpy_3d_at
from workbench.emulator.hip.programs import symbol_range

# hipMemAllocationType, hipMemLocationType, hipGraphInstantiateFlags
_PINNED, _ON_DEVICE, _AUTO_FREE = 1, 1, 1
_UPDATE_SUCCESS, _TOPOLOGY_CHANGED, _NODE_TYPE_CHANGED = 0, 2, 3


@dataclass(eq=False)
class _Step:
    """One node of an instantiated graph; `node` is the one that it was made from."""

    node: int
    kind: NodeKind
    action: Action
    enabled: bool = True


_executables: dict[int, list[_Step]] = {}


def _graph(handle: int) -> Graph:
    if handle not in streams.graphs:
        raise HipError(structures.INVALID_VALUE)
    return streams.graphs[handle]


def _node(handle: int) -> Node:
    for graph in streams.graphs.values():
        for node in graph.nodes:
            if node.handle == handle:
                return node
    raise HipError(structures.INVALID_VALUE)


def _executable(handle: int) -> list[_Step]:
    if handle not in _executables:
        raise HipError(structures.INVALID_VALUE)
    return _executables[handle]


def _handles_at(address: int, count: int) -> list[int]:
    if not count:
        return []
    if not address:
        raise HipError(structures.INVALID_VALUE)
    return list((HANDLE * count).from_address(address))


def _add(
    result: int,
    graph: int,
    dependencies: int,
    count: int,
    kind: NodeKind,
    action: Action,
    detail: object = None,
) -> None:
    owner = _graph(graph)
    by_handle = {node.handle: node for node in owner.nodes}
    before = []
    for handle in _handles_at(dependencies, count):
        if handle not in by_handle:
            raise HipError(structures.INVALID_VALUE)
        before.append(by_handle[handle])
    structures.store(result, HANDLE, 0)
    structures.store(result, HANDLE, owner.add(kind, action, before, detail).handle)


def _nothing() -> None:
    return None


@call("hipGraphCreate", arguments=(POINTER, UINT))
def _create(result: int, flags: int) -> None:
    if flags:
        raise HipError(structures.INVALID_VALUE)
    graph = Graph()
    structures.store(result, HANDLE, graph.handle)
    streams.graphs[graph.handle] = graph


@call("hipGraphDestroy", arguments=(HANDLE,))
def _destroy(handle: int) -> None:
    if handle not in streams.graphs:
        raise HipError(structures.ILLEGAL_STATE if handle else structures.INVALID_VALUE)
    del streams.graphs[handle]


@call("hipGraphClone", arguments=(POINTER, HANDLE))
def _clone(result: int, handle: int) -> None:
    original, clone = _graph(handle), Graph()
    if any(node.kind in (NodeKind.MEM_ALLOC, NodeKind.MEM_FREE) for node in original.nodes):
        # Two graphs would allocate at the same address.
        raise HipError(structures.NOT_SUPPORTED)
    copies: dict[Node, Node] = {}
    for node in original.ordered():
        before = [copies[other] for other in node.dependencies]
        copies[node] = clone.add(node.kind, node.action, before, node.detail)
    structures.store(result, HANDLE, clone.handle)
    streams.graphs[clone.handle] = clone


# Nodes

_NEW = (POINTER, HANDLE, POINTER, SIZE)


@call("hipGraphAddKernelNode", arguments=(*_NEW, POINTER))
def _add_kernel(result: int, graph: int, dependencies: int, count: int, parameters: int) -> None:
    work = kernel_work(_kernel_parameters(parameters))
    _add(result, graph, dependencies, count, NodeKind.KERNEL, work.run, work)


def _kernel_parameters(address: int) -> structures.KernelNodeParams:
    if not address:
        raise HipError(structures.INVALID_VALUE)
    return structures.KernelNodeParams.from_address(address)


@call("hipGraphAddMemcpyNode", arguments=(*_NEW, POINTER))
def _add_memcpy(result: int, graph: int, dependencies: int, count: int, parameters: int) -> None:
    record = memcpy_3d_at(parameters)
    _add(result, graph, dependencies, count, NodeKind.MEMCPY, lambda: copy_3d(record), record)


@call("hipGraphAddMemcpyNode1D", arguments=(*_NEW, POINTER, POINTER, SIZE, INT))
def _add_memcpy_1d(
    result: int, graph: int, dependencies: int, count: int, target: int, source: int, size: int, kind: int
) -> None:
    def action() -> None:
        copy(target, source, size, kind)

    _add(result, graph, dependencies, count, NodeKind.MEMCPY, action)


@call("hipGraphAddMemsetNode", arguments=(*_NEW, POINTER))
def _add_memset(result: int, graph: int, dependencies: int, count: int, parameters: int) -> None:
    action, record = _memset_action(parameters)
    _add(result, graph, dependencies, count, NodeKind.MEMSET, action, record)


def _memset_action(parameters: int) -> tuple[Action, structures.MemsetParams]:
    """The fill that a hipMemsetParams describes, and a copy of that."""
    if not parameters:
        raise HipError(structures.INVALID_VALUE)
    record = structures.MemsetParams.from_buffer_copy(structures.MemsetParams.from_address(parameters))
    size = int(record.elementSize)
    if size not in (1, 2, 4):
        raise HipError(structures.INVALID_VALUE)
    pattern = (record.value & (256**size - 1)).to_bytes(size, "little")

    def action() -> None:
        for row in range(max(1, record.height)):
            fill(record.dst + row * record.pitch, pattern, record.width)

    return action, record


@call("hipGraphAddHostNode", arguments=(*_NEW, POINTER))
def _add_host(result: int, graph: int, dependencies: int, count: int, parameters: int) -> None:
    action, detail = _host_action(parameters)
    _add(result, graph, dependencies, count, NodeKind.HOST, action, detail)


def _host_action(parameters: int) -> tuple[Action, tuple[int, int]]:
    """The call that a hipHostNodeParams describes, and its function and data."""
    if not parameters:
        raise HipError(structures.INVALID_VALUE)
    record = structures.HostNodeParams.from_address(parameters)
    return streams.host_call(record.fn, record.userData), (record.fn, record.userData)


@call("hipGraphAddEmptyNode", arguments=_NEW)
def _add_empty(result: int, graph: int, dependencies: int, count: int) -> None:
    _add(result, graph, dependencies, count, NodeKind.EMPTY, _nothing)


@call("hipGraphAddChildGraphNode", arguments=(*_NEW, HANDLE))
def _add_child(result: int, graph: int, dependencies: int, count: int, child: int) -> None:
    actions = [node.action for node in _graph(child).ordered()]

    def action() -> None:
        for step in actions:
            step()

    _add(result, graph, dependencies, count, NodeKind.GRAPH, action, child)


@call("hipGraphAddEventRecordNode", arguments=(*_NEW, HANDLE))
def _add_event_record(result: int, graph: int, dependencies: int, count: int, event: int) -> None:
    _add(result, graph, dependencies, count, NodeKind.EVENT_RECORD, lambda: streams.record(event))


@call("hipGraphAddEventWaitNode", arguments=(*_NEW, HANDLE))
def _add_event_wait(result: int, graph: int, dependencies: int, count: int, event: int) -> None:
    _add(result, graph, dependencies, count, NodeKind.WAIT_EVENT, _nothing)


@call("hipGraphAddMemAllocNode", arguments=(*_NEW, POINTER))
def _add_allocation(result: int, graph: int, dependencies: int, count: int, parameters: int) -> None:
    if not parameters:
        raise HipError(structures.INVALID_VALUE)
    record = structures.MemAllocNodeParams.from_address(parameters)
    where = record.poolProps.location
    if record.poolProps.allocType != _PINNED or where.type != _ON_DEVICE or record.poolProps.handleTypes:
        raise HipError(structures.INVALID_VALUE)
    allocation = GraphAllocation.reserved(record.bytesize, where.id)
    _add(result, graph, dependencies, count, NodeKind.MEM_ALLOC, allocation.run, allocation)
    record.dptr = allocation.address


@call("hipGraphAddMemFreeNode", arguments=(*_NEW, POINTER))
def _add_free(result: int, graph: int, dependencies: int, count: int, address: int) -> None:
    if not address:
        raise HipError(structures.INVALID_VALUE)
    _add(result, graph, dependencies, count, NodeKind.MEM_FREE, lambda: free(address), address)


@call("hipGraphMemAllocNodeGetParams", arguments=(HANDLE, POINTER))
def _allocation_parameters(node: int, result: int) -> None:
    allocation: GraphAllocation = _node_of(node, NodeKind.MEM_ALLOC).detail
    location = structures.MemLocation(_ON_DEVICE, allocation.device)
    properties = structures.MemPoolProps(allocType=_PINNED, location=location)
    record = structures.MemAllocNodeParams(
        poolProps=properties, bytesize=allocation.size, dptr=allocation.address
    )
    _give_back(record, structures.MemAllocNodeParams, result)


@call("hipGraphMemFreeNodeGetParams", arguments=(HANDLE, POINTER))
def _free_parameters(node: int, result: int) -> None:
    structures.store(result, POINTER, _node_of(node, NodeKind.MEM_FREE).detail)


_TO_SYMBOL = (POINTER, POINTER, SIZE, SIZE, INT)


def _symbol_action(symbol: int, other: int, size: int, offset: int, kind: int, *, to: bool) -> Action:
    """The copy of a node to or from a variable of a program."""
    inside = symbol_range(symbol, size, offset)
    return (lambda: copy(inside, other, size, kind)) if to else (lambda: copy(other, inside, size, kind))


@call("hipGraphAddMemcpyNodeToSymbol", arguments=(*_NEW, *_TO_SYMBOL))
def _add_to_symbol(
    result: int, graph: int, dependencies: int, count: int,
    symbol: int, source: int, size: int, offset: int, kind: int,
) -> None:  # fmt: skip
    action = _symbol_action(symbol, source, size, offset, kind, to=True)
    _add(result, graph, dependencies, count, NodeKind.MEMCPY, action)


@call("hipGraphAddMemcpyNodeFromSymbol", arguments=(*_NEW, *_TO_SYMBOL))
def _add_from_symbol(
    result: int, graph: int, dependencies: int, count: int,
    target: int, symbol: int, size: int, offset: int, kind: int,
) -> None:  # fmt: skip
    action = _symbol_action(symbol, target, size, offset, kind, to=False)
    _add(result, graph, dependencies, count, NodeKind.MEMCPY, action)


@call("hipGraphMemcpyNodeSetParamsToSymbol", arguments=(HANDLE, *_TO_SYMBOL))
def _set_to_symbol(node: int, symbol: int, source: int, size: int, offset: int, kind: int) -> None:
    graph_node = _node_of(node, NodeKind.MEMCPY)
    graph_node.action, graph_node.detail = _symbol_action(symbol, source, size, offset, kind, to=True), None


@call("hipGraphMemcpyNodeSetParamsFromSymbol", arguments=(HANDLE, *_TO_SYMBOL))
def _set_from_symbol(node: int, target: int, symbol: int, size: int, offset: int, kind: int) -> None:
    graph_node = _node_of(node, NodeKind.MEMCPY)
    graph_node.action, graph_node.detail = _symbol_action(symbol, target, size, offset, kind, to=False), None


@call("hipGraphExecMemcpyNodeSetParamsToSymbol", arguments=(HANDLE, HANDLE, *_TO_SYMBOL))
def _set_executable_to_symbol(
    handle: int, node: int, symbol: int, source: int, size: int, offset: int, kind: int
) -> None:
    step = _step(handle, node, NodeKind.MEMCPY)
    step.action = _symbol_action(symbol, source, size, offset, kind, to=True)


@call("hipGraphExecMemcpyNodeSetParamsFromSymbol", arguments=(HANDLE, HANDLE, *_TO_SYMBOL))
def _set_executable_from_symbol(
    handle: int, node: int, target: int, symbol: int, size: int, offset: int, kind: int
) -> None:
    step = _step(handle, node, NodeKind.MEMCPY)
    step.action = _symbol_action(symbol, target, size, offset, kind, to=False)


@call("hipGraphAddDependencies", arguments=(HANDLE, POINTER, POINTER, SIZE))
def _add_dependencies(graph: int, sources: int, targets: int, count: int) -> None:
    by_handle = {node.handle: node for node in _graph(graph).nodes}
    pairs = list(zip(_handles_at(sources, count), _handles_at(targets, count), strict=True))
    if any(handle not in by_handle for pair in pairs for handle in pair):
        raise HipError(structures.INVALID_VALUE)
    edges = [(by_handle[source], by_handle[target]) for source, target in pairs]
    if any(source in target.dependencies for source, target in edges):
        raise HipError(structures.INVALID_VALUE)
    for source, target in edges:
        target.dependencies.append(source)


def _store_list(values: list[int], address: int, count: int) -> None:
    """The convention of this API: without an array it returns the count, else it writes as many as fit."""
    if not address:
        structures.store(count, SIZE, len(values))
        return
    room = SIZE.from_address(count).value
    for index in range(room):
        HANDLE.from_address(address + 8 * index).value = values[index] if index < len(values) else 0
    structures.store(count, SIZE, min(room, len(values)))


@call("hipGraphRemoveDependencies", arguments=(HANDLE, POINTER, POINTER, SIZE))
def _remove_dependencies(graph: int, sources: int, targets: int, count: int) -> None:
    by_handle = {node.handle: node for node in _graph(graph).nodes}
    pairs = list(zip(_handles_at(sources, count), _handles_at(targets, count), strict=True))
    for source, target in pairs:
        if source not in by_handle or by_handle[source] not in by_handle[target].dependencies:
            raise HipError(structures.INVALID_VALUE)
    for source, target in pairs:
        by_handle[target].dependencies.remove(by_handle[source])


@call("hipGraphDestroyNode", arguments=(HANDLE,))
def _destroy_node(handle: int) -> None:
    node = _node(handle)
    for graph in streams.graphs.values():
        if node in graph.nodes:
            graph.nodes.remove(node)
            for other in graph.nodes:
                if node in other.dependencies:
                    other.dependencies.remove(node)


@call("hipGraphNodeGetDependentNodes", arguments=(HANDLE, POINTER, POINTER))
def _dependent_nodes(handle: int, nodes: int, count: int) -> None:
    node = _node(handle)
    owner = next(graph for graph in streams.graphs.values() if node in graph.nodes)
    _store_list([other.handle for other in owner.nodes if node in other.dependencies], nodes, count)


@call("hipGraphGetNodes", arguments=(HANDLE, POINTER, POINTER))
def _get_nodes(graph: int, nodes: int, count: int) -> None:
    _store_list([node.handle for node in _graph(graph).nodes], nodes, count)


@call("hipGraphGetRootNodes", arguments=(HANDLE, POINTER, POINTER))
def _get_roots(graph: int, nodes: int, count: int) -> None:
    _store_list([node.handle for node in _graph(graph).nodes if not node.dependencies], nodes, count)


@call("hipGraphGetEdges", arguments=(HANDLE, POINTER, POINTER, POINTER))
def _get_edges(graph: int, sources: int, targets: int, count: int) -> None:
    edges = [(d.handle, node.handle) for node in _graph(graph).nodes for d in node.dependencies]
    room = SIZE.from_address(count).value
    for column, address in enumerate((sources, targets)):
        if address:
            SIZE.from_address(count).value = room
        _store_list([edge[column] for edge in edges], address, count)


@call("hipGraphNodeGetType", arguments=(HANDLE, POINTER))
def _node_type(node: int, result: int) -> None:
    structures.store(result, INT, int(_node(node).kind))


@call("hipGraphNodeGetDependencies", arguments=(HANDLE, POINTER, POINTER))
def _node_dependencies(node: int, nodes: int, count: int) -> None:
    _store_list([other.handle for other in _node(node).dependencies], nodes, count)


_argument_arrays: dict[KernelWork, tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_void_p]]] = {}


@call("hipGraphKernelNodeGetParams", arguments=(HANDLE, POINTER))
def _kernel_node_parameters(node: int, result: int) -> None:
    work = _node(node).detail
    if not isinstance(work, KernelWork) or not result:
        raise HipError(structures.INVALID_VALUE)
    if work not in _argument_arrays:
        content = ctypes.create_string_buffer(work.arguments, max(1, len(work.arguments)))
        explicit = [arg for arg in work.function.kernel.args if not arg.hidden]
        pointers = (ctypes.c_void_p * max(1, len(explicit)))(
            *(ctypes.addressof(content) + a.offset for a in explicit)
        )
        _argument_arrays[work] = content, pointers
    record = _kernel_parameters(result)
    for target, dims in ((record.blockDim, work.geometry.block), (record.gridDim, work.geometry.groups)):
        target.x, target.y, target.z = dims
    record.extra, record.func = 0, work.handle
    record.kernelParams = ctypes.addressof(_argument_arrays[work][1])
    record.sharedMemBytes = work.dynamic_shared


@call("hipGraphKernelNodeSetParams", arguments=(HANDLE, POINTER))
def _set_kernel_node(node: int, parameters: int) -> None:
    graph_node = _node(node)
    if graph_node.kind is not NodeKind.KERNEL:
        raise HipError(structures.INVALID_VALUE)
    work = kernel_work(_kernel_parameters(parameters), _is_cooperative(graph_node))
    graph_node.action, graph_node.detail = work.run, work


def _is_cooperative(node: Node) -> bool:
    """True if a kernel node makes a cooperative launch; new parameters do not change that."""
    return isinstance(node.detail, KernelWork) and node.detail.cooperative


def _node_of(handle: int, kind: NodeKind) -> Node:
    graph_node = _node(handle)
    if graph_node.kind is not kind:
        raise HipError(structures.INVALID_VALUE)
    return graph_node


@call("hipGraphMemsetNodeSetParams", arguments=(HANDLE, POINTER))
def _set_memset_node(node: int, parameters: int) -> None:
    graph_node = _node_of(node, NodeKind.MEMSET)
    graph_node.action, graph_node.detail = _memset_action(parameters)


@call("hipGraphMemcpyNodeSetParams", arguments=(HANDLE, POINTER))
def _set_memcpy_node(node: int, parameters: int) -> None:
    graph_node, record = _node_of(node, NodeKind.MEMCPY), memcpy_3d_at(parameters)
    graph_node.action, graph_node.detail = lambda: copy_3d(record), record


@call("hipGraphMemcpyNodeSetParams1D", arguments=(HANDLE, POINTER, POINTER, SIZE, INT))
def _set_memcpy_node_1d(node: int, target: int, source: int, size: int, kind: int) -> None:
    graph_node = _node_of(node, NodeKind.MEMCPY)
    graph_node.action, graph_node.detail = lambda: copy(target, source, size, kind), None


@call("hipGraphHostNodeSetParams", arguments=(HANDLE, POINTER))
def _set_host_node(node: int, parameters: int) -> None:
    graph_node = _node_of(node, NodeKind.HOST)
    graph_node.action, graph_node.detail = _host_action(parameters)


@call("hipGraphMemsetNodeGetParams", arguments=(HANDLE, POINTER))
def _memset_node_parameters(node: int, result: int) -> None:
    _give_back(_node_of(node, NodeKind.MEMSET).detail, structures.MemsetParams, result)


@call("hipGraphMemcpyNodeGetParams", arguments=(HANDLE, POINTER))
def _memcpy_node_parameters(node: int, result: int) -> None:
    _give_back(_node_of(node, NodeKind.MEMCPY).detail, structures.Memcpy3D, result)


@call("hipGraphHostNodeGetParams", arguments=(HANDLE, POINTER))
def _host_node_parameters(node: int, result: int) -> None:
    function, data = _node_of(node, NodeKind.HOST).detail
    _give_back(structures.HostNodeParams(function, data), structures.HostNodeParams, result)


def _give_back(record: object, type_: type[ctypes.Structure], result: int) -> None:
    """A node's parameters, if it was made from such a structure."""
    if not isinstance(record, type_) or not result:
        raise HipError(structures.INVALID_VALUE)
    ctypes.memmove(result, ctypes.addressof(record), ctypes.sizeof(type_))


@call("hipGraphChildGraphNodeGetGraph", arguments=(HANDLE, POINTER))
def _child_graph(node: int, result: int) -> None:
    structures.store(result, HANDLE, _node_of(node, NodeKind.GRAPH).detail)


# Execution


def _instantiate(result: int, graph: int, flags: int = 0) -> None:
    steps = []
    for node in _graph(graph).ordered():
        action = node.action
        if isinstance(node.detail, GraphAllocation) and flags & _AUTO_FREE:
            action = node.detail.run_anew
        steps.append(_Step(node.handle, node.kind, action))
    # An executable graph has its own handle, from the same sequence.
    handle = Graph().handle
    structures.store(result, HANDLE, handle)
    _executables[handle] = steps


@call("hipGraphInstantiate", arguments=(POINTER, HANDLE, POINTER, POINTER, SIZE))
def _instantiate_log(result: int, graph: int, failed: int, log: int, size: int) -> None:
    _instantiate(result, graph)


@call("hipGraphInstantiateWithFlags", arguments=(POINTER, HANDLE, U64))
def _instantiate_flags(result: int, graph: int, flags: int) -> None:
    _instantiate(result, graph, flags)


@call("hipGraphUpload", arguments=(HANDLE, HANDLE))
def _upload(handle: int, stream: int) -> None:
    _executable(handle)
    streams.stream(stream)


@call("hipGraphLaunch", "hipGraphLaunch_spt", arguments=(HANDLE, HANDLE))
def _launch(handle: int, stream: int) -> None:
    steps = list(_executable(handle))

    def action() -> None:
        for step in steps:
            if step.enabled:
                step.action()

    try:
        streams.submit(stream, NodeKind.GRAPH, action)
    except BaseException as error:
        if not isinstance(error, HipError):
            launch_failed(error)
        raise


@call("hipGraphExecDestroy", arguments=(HANDLE,))
def _destroy_executable(handle: int) -> None:
    _executable(handle)
    del _executables[handle]


@call("hipGraphExecKernelNodeSetParams", arguments=(HANDLE, HANDLE, POINTER))
def _set_executable_kernel(handle: int, node: int, parameters: int) -> None:
    step = _step(handle, node, NodeKind.KERNEL)
    step.action = kernel_work(_kernel_parameters(parameters), _is_cooperative(_node(node))).run


@call("hipGraphExecMemcpyNodeSetParams1D", arguments=(HANDLE, HANDLE, POINTER, POINTER, SIZE, INT))
def _set_executable_memcpy(handle: int, node: int, target: int, source: int, size: int, kind: int) -> None:
    _step(handle, node, NodeKind.MEMCPY).action = lambda: copy(target, source, size, kind)


@call("hipGraphExecMemcpyNodeSetParams", arguments=(HANDLE, HANDLE, POINTER))
def _set_executable_memcpy_3d(handle: int, node: int, parameters: int) -> None:
    record = memcpy_3d_at(parameters)
    _step(handle, node, NodeKind.MEMCPY).action = lambda: copy_3d(record)


@call("hipGraphExecMemsetNodeSetParams", arguments=(HANDLE, HANDLE, POINTER))
def _set_executable_memset(handle: int, node: int, parameters: int) -> None:
    _step(handle, node, NodeKind.MEMSET).action = _memset_action(parameters)[0]


@call("hipGraphExecHostNodeSetParams", arguments=(HANDLE, HANDLE, POINTER))
def _set_executable_host(handle: int, node: int, parameters: int) -> None:
    _step(handle, node, NodeKind.HOST).action = _host_action(parameters)[0]


@call("hipGraphNodeSetEnabled", arguments=(HANDLE, HANDLE, UINT))
def _set_enabled(handle: int, node: int, enabled: int) -> None:
    _switchable(handle, node).enabled = bool(enabled)


@call("hipGraphNodeGetEnabled", arguments=(HANDLE, HANDLE, POINTER))
def _get_enabled(handle: int, node: int, result: int) -> None:
    structures.store(result, UINT, _switchable(handle, node).enabled)


def _switchable(handle: int, node: int) -> _Step:
    """A step that can be left out: kernels, copies and fills."""
    for step in _executable(handle):
        if step.node == node and step.kind in (NodeKind.KERNEL, NodeKind.MEMCPY, NodeKind.MEMSET):
            return step
    raise HipError(structures.INVALID_VALUE)


def _step(handle: int, node: int, kind: NodeKind) -> _Step:
    for step in _executable(handle):
        if step.node == node and step.kind is kind:
            return step
    raise HipError(structures.INVALID_VALUE)


@call("hipGraphExecUpdate", arguments=(HANDLE, HANDLE, POINTER, POINTER))
def _update(handle: int, graph: int, failed: int, result: int) -> int | None:
    steps, nodes = _executable(handle), _graph(graph).ordered()
    outcome = _UPDATE_SUCCESS
    if len(steps) != len(nodes):
        outcome = _TOPOLOGY_CHANGED
    elif any(step.kind is not node.kind for step, node in zip(steps, nodes, strict=True)):
        outcome = _NODE_TYPE_CHANGED
    structures.store_if(failed, HANDLE, 0)
    structures.store_if(result, INT, outcome)
    if outcome != _UPDATE_SUCCESS:
        return structures.GRAPH_EXEC_UPDATE_FAILURE
    for step, node in zip(steps, nodes, strict=True):
        step.action = node.action
    return None
