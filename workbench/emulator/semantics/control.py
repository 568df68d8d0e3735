"""Program flow: branches, calls, barriers, the end, traps, waits and hints, hardware registers."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Control
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import OpFields
from workbench.emulator.semantics.executed import CHANGED
from workbench.emulator.semantics.registry import ends_block, nothing, straight
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import I32, I64, Value
from workbench.emulator.translate.options import VSKIP, Mode, Unsupported
from workbench.targets import target as target_record

# In-order execution satisfies every wait, and hints have no effect: there are no caches, no priorities.
nothing(
    "s_nop s_waitcnt s_setprio s_sendmsg s_sendmsghalt s_incperflevel s_decperflevel "
    "s_ttracedata s_dcache_inv s_dcache_wb s_dcache_inv_vol s_dcache_wb_vol s_icache_inv "
    "s_code_end v_nop v_clrexcp buffer_wbinvl1 buffer_wbinvl1_vol buffer_wbl2 buffer_invl2 "
    "s_dcache_discard s_dcache_discard_x2 s_atc_probe s_atc_probe_buffer s_setkill ds_nop "
    "buffer_inv s_wakeup"
)
# The same of later targets, where a counter has its own wait.
nothing(
    f"{CHANGED}s_waitcnt s_waitcnt_depctr s_set_inst_prefetch_distance s_gl1_inv buffer_gl0_inv "
    "buffer_gl1_inv "
    "s_wait_loadcnt s_wait_storecnt s_wait_samplecnt s_wait_bvhcnt s_wait_expcnt s_wait_dscnt s_wait_kmcnt "
    "s_wait_loadcnt_dscnt s_wait_storecnt_dscnt s_wait_idle s_wait_alu s_delay_alu s_clause s_version "
    "s_set_vgpr_msb "
    "s_wait_asynccnt s_wait_tensorcnt s_wait_xcnt s_setprio_inc_wg global_prefetch_b8 flat_prefetch_b8 "
    "s_prefetch_inst s_prefetch_inst_pc_rel s_prefetch_data s_buffer_prefetch_data s_prefetch_data_pc_rel "
    f"global_wbinv v_pipeflush {CHANGED}s_sendmsg "
    f"{CHANGED}s_sendmsghalt s_wait_event s_ttracedata_imm"
)


@straight("s_waitcnt_vmcnt s_waitcnt_expcnt s_waitcnt_lgkmcnt s_waitcnt_vscnt")
def wait_for_one(block: BlockTranslator, instruction: Instruction) -> None:
    """Nothing, as other waits; a register other than null adds to the count in the instruction."""
    if not block.is_null(instruction.src[0].index):
        raise Unsupported("a count from a register")


def target_of(instruction: Instruction) -> int:
    """Address that a direct branch goes to."""
    for operand in (*instruction.src, *instruction.dst):
        if operand.kind == "label":
            return int(operand.value or 0)
    raise Unsupported("a branch without a target")


@ends_block("s_branch")
def branch(block: BlockTranslator, instruction: Instruction) -> None:
    block.finish(block.index_of(target_of(instruction)))


def _branch_if(block: BlockTranslator, instruction: Instruction, condition: Value) -> None:
    taken, following = block.entered(block.index_of(target_of(instruction))), block.entered(block.next_index)
    result = condition.select(taken, following, I32)
    block.finish(result)


@ends_block("s_cbranch_scc0")
def branch_scc0(block: BlockTranslator, instruction: Instruction) -> None:
    _branch_if(block, instruction, block.scalars.scc() ^ 1)


@ends_block("s_cbranch_scc1")
def branch_scc1(block: BlockTranslator, instruction: Instruction) -> None:
    _branch_if(block, instruction, block.scalars.scc())


@ends_block("s_cbranch_vccz")
def branch_vccz(block: BlockTranslator, instruction: Instruction) -> None:
    _branch_if(block, instruction, block.lane_mask(abi.VCC).eq(0))


@ends_block("s_cbranch_vccnz")
def branch_vccnz(block: BlockTranslator, instruction: Instruction) -> None:
    _branch_if(block, instruction, block.lane_mask(abi.VCC).ne(0))


@ends_block("s_cbranch_execz")
def branch_execz(block: BlockTranslator, instruction: Instruction) -> None:
    block.close_run()
    _branch_if(block, instruction, block.exec().eq(0))


@ends_block("s_cbranch_execnz")
def branch_execnz(block: BlockTranslator, instruction: Instruction) -> None:
    block.close_run()
    _branch_if(block, instruction, block.exec().ne(0))


@ends_block("s_cbranch_cdbgsys s_cbranch_cdbguser s_cbranch_cdbgsys_or_user s_cbranch_cdbgsys_and_user")
def branch_debug(block: BlockTranslator, instruction: Instruction) -> None:
    """No debugger is attached, so the condition never holds."""
    block.finish()


@ends_block("s_endpgm s_endpgm_saved s_endpgm_ordered_ps_done")
def endpgm(block: BlockTranslator, instruction: Instruction) -> None:
    block.finish(abi.END)


def _resume_later(block: BlockTranslator, code: int) -> None:
    block.close_run()
    following = block.emitter.value(I32, block.entered(block.next_index))
    block.emitter.store(following, block.function.field("block"), 4)
    block.finish(code)


@ends_block(f"s_barrier {CHANGED}s_barrier")
def barrier(block: BlockTranslator, instruction: Instruction) -> None:
    block.close_run()
    address = block.emitter.const(I64, instruction.address)
    block.emitter.store(address, block.function.field("pc"), 8)
    _resume_later(block, abi.BARRIER)


WORK_GROUP_BARRIER, CLUSTER_BARRIER = -1, -3
"""Numbers of the barriers that every work-group and every cluster has. Positive numbers are named barriers;
-2 and -4 are the trap handler's."""


def barrier_number(instruction: Instruction) -> int | None:
    """Number of the barrier that an instruction names; None if M0 has it."""
    operand = instruction.src[0]
    if operand.kind == "s" and operand.index == abi.M0:
        return None
    if operand.kind not in ("imm", "simm"):
        raise Unsupported("a barrier whose number is neither a constant nor in M0")
    number = ((int(operand.value or 0) & 0xFFFF) ^ 0x8000) - 0x8000
    has_more = target_record(instruction.form.target).cluster_groups > 1
    if number == WORK_GROUP_BARRIER or (
        has_more and (number == CLUSTER_BARRIER or 0 <= number < abi.NAMED_BARRIERS)
    ):
        return number
    raise Unsupported("a barrier other than the work-group's")


def _other_barrier(
    block: BlockTranslator, instruction: Instruction, function: str, number: int | None, flags: int = 0
) -> None:
    """Call a function of native/ops/barriers.c, which may read M0 and write SCC or the result."""
    if target_record(instruction.form.target).cluster_groups <= 1:
        raise Unsupported("a named barrier")
    block.close_run()
    block.scalars.flush()
    result = instruction.dst[0].index if instruction.dst else NO_REGISTER
    fields = OpFields("", sdst=result, flags=flags | (number is None), imm=(max(number or 0, 0),))
    block.native(function, fields.record(instruction.address), can_fault=False)
    block.scalars.forget()


def _signal_other(
    block: BlockTranslator, instruction: Instruction, number: int | None, is_first: bool
) -> None:
    if number == CLUSTER_BARRIER:
        _other_barrier(block, instruction, "hk_cluster_signal", 0, int(is_first))
    else:
        _other_barrier(block, instruction, "hk_named_signal", number, 2 * is_first)


@straight("s_barrier_init")
def barrier_init(block: BlockTranslator, instruction: Instruction) -> None:
    _other_barrier(block, instruction, "hk_named_init", barrier_number(instruction))


@straight("s_barrier_join")
def barrier_join(block: BlockTranslator, instruction: Instruction) -> None:
    _other_barrier(block, instruction, "hk_named_join", barrier_number(instruction))


@straight("s_barrier_signal")
def barrier_signal(block: BlockTranslator, instruction: Instruction) -> None:
    number = barrier_number(instruction)
    if number != WORK_GROUP_BARRIER:
        _signal_other(block, instruction, number, False)
        return
    signal = block.emitter.const(I32, abi.SIGNAL_GIVEN)
    block.emitter.store(signal, block.function.field("signalled"), 4)


@straight("s_barrier_signal_isfirst")
def barrier_signal_first(block: BlockTranslator, instruction: Instruction) -> None:
    """SCC: no other wave has signalled since the barrier was last complete."""
    number = barrier_number(instruction)
    if number != WORK_GROUP_BARRIER:
        _signal_other(block, instruction, number, True)
        return
    block.scalars.flush()
    block.native("hk_barrier_signal_first", OpFields("").record(instruction.address), can_fault=False)
    block.scalars.forget()


@straight("s_get_barrier_state")
def barrier_state(block: BlockTranslator, instruction: Instruction) -> None:
    """Signals in bits 22:16, members in bits 10:4, and bit 0: the barrier is valid."""
    number = barrier_number(instruction)
    if number == CLUSTER_BARRIER:
        raise Unsupported("the state of a cluster's barrier")
    if number != WORK_GROUP_BARRIER:
        _other_barrier(block, instruction, "hk_named_state", number)
        return
    fields = OpFields("", sdst=instruction.dst[0].index)
    block.native("hk_barrier_state", fields.record(instruction.address), can_fault=False)
    block.scalars.forget()


@ends_block("s_barrier_wait")
def barrier_wait(block: BlockTranslator, instruction: Instruction) -> None:
    """Goes on if all waves have signalled, else stops until they have."""
    number = barrier_number(instruction)
    if number != WORK_GROUP_BARRIER:
        _wait_for_other(block, instruction, number)
        return
    block.close_run()
    emitter, signalled = block.emitter, block.function.field("signalled")
    address = emitter.const(I64, instruction.address)
    emitter.store(address, block.function.field("pc"), 8)
    following = emitter.value(I32, block.entered(block.next_index))
    emitter.store(following, block.function.field("block"), 4)
    state = emitter.load(I32, signalled, 4)
    complete = state.eq(abi.SIGNAL_COMPLETE)
    emitter.store(complete.select(abi.SIGNAL_NONE, state, I32), signalled, 4)
    block.finish(complete.select(following, abi.BARRIER, I32))


def _wait_for_other(block: BlockTranslator, instruction: Instruction, number: int | None) -> None:
    """Waits for the cluster's barrier or, whatever its number, for the named one that the wave has joined."""
    _other_barrier(block, instruction, "hk_barrier_await", 0, int(number != CLUSTER_BARRIER))
    emitter, function = block.emitter, block.function
    emitter.store(emitter.const(I64, instruction.address), function.field("pc"), 8)
    following = emitter.value(I32, block.entered(block.next_index))
    emitter.store(following, function.field("block"), 4)
    awaits = emitter.load(I32, function.field("awaits"), 4)
    block.finish(awaits.eq(0).select(following, abi.AWAIT, I32))


@ends_block("s_sleep_var")
def sleep_var(block: BlockTranslator, instruction: Instruction) -> None:
    """The same of as many units as bits 6 to 0 of a register say (RDNA4 ISA guide, S_SLEEP_VAR)."""
    units = block.scalar(instruction.src[0]) & 0x7F
    block.close_run()
    place = block.function.field("slept")
    emitter = block.emitter
    emitter.store(emitter.load(I64, place, 8) + units.zext(64) * 64, place, 8)
    _resume_later(block, abi.YIELD)


def _set_mode_bits(first: int) -> None:
    """s_round_mode and s_denorm_mode: four bits of MODE."""

    @straight("s_denorm_mode" if first else "s_round_mode")
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        block.close_run()
        pointer = block.function.field("mode")
        old = block.emitter.load(I32, pointer, 4)
        others = old & (~(15 << first) & 0xFFFFFFFF)
        block.emitter.store(others | (_immediate(instruction) & 15) << first, pointer, 4)
        block.set_mode(mode_after(instruction, block.known_mode))


_set_mode_bits(0)
_set_mode_bits(4)


@ends_block("s_monitor_sleep")
def monitor_sleep(block: BlockTranslator, instruction: Instruction) -> None:
    """Another wave takes its turn; the loop around it looks whether the monitored memory changed."""
    _resume_later(block, abi.YIELD)


@ends_block("s_sleep")
def sleep(block: BlockTranslator, instruction: Instruction) -> None:
    """Another wave takes its turn, since this one waits for another's work.

    The wave's clock advances by 64 cycles per unit (CDNA3 ISA guide, S_SLEEP).
    """
    units = _immediate(instruction) & 0x7F
    if units:
        block.close_run()
        place = block.function.field("slept")
        emitter = block.emitter
        emitter.store(emitter.load(I64, place, 8) + 64 * units, place, 8)
    _resume_later(block, abi.YIELD)


# Calls and jumps


def address_after(block: BlockTranslator, instruction: Instruction) -> Value:
    """Device address of the next instruction."""
    base = block.emitter.load(I64, block.function.field("code_base"), 8)
    return base + (instruction.address + instruction.size)


@straight("s_getpc_b64")
def getpc(block: BlockTranslator, instruction: Instruction) -> None:
    block.set_register(instruction.dst[0].index, address_after(block, instruction))


def _jump(block: BlockTranslator, target: Value) -> None:
    block.close_run()
    block.emitter.store(target, block.function.field("target"), 8)
    block.finish(abi.JUMP)


@ends_block("s_setpc_b64")
def setpc(block: BlockTranslator, instruction: Instruction) -> None:
    _jump(block, block.scalar(instruction.src[0], "b64"))


@ends_block("s_swappc_b64")
def swappc(block: BlockTranslator, instruction: Instruction) -> None:
    block.close_run()
    target = block.scalar(instruction.src[0], "b64")
    block.set_register(instruction.dst[0].index, address_after(block, instruction))
    _jump(block, target)


@ends_block("s_call_b64")
def call(block: BlockTranslator, instruction: Instruction) -> None:
    block.set_register(instruction.dst[0].index, address_after(block, instruction))
    block.finish(block.index_of(target_of(instruction)))


# Traps


def _immediate(instruction: Instruction) -> int:
    return int(instruction.src[0].value or 0) if instruction.src else 0


def _fault(
    block: BlockTranslator,
    instruction: Instruction,
    kind: int,
    value: int | Value,
    further: tuple[Value, Value] | None = None,
) -> None:
    """Record a fault of the whole wave and end.

    Args:
        value: Fault.address, an i64.
        further: Fault.size and Fault.is_write, i32 each; 0 if None.
    """
    block.close_run()
    emitter = block.emitter
    zero = emitter.const(I32, 0)
    size, is_write = further or (zero, zero)
    address = value if isinstance(value, Value) else emitter.const(I64, value)
    emitter.store(emitter.const(I64, instruction.address), block.function.field("pc"), 8)
    emitter.store(emitter.const(I32, kind), block.function.field("fault", "kind"), 4)
    emitter.store(emitter.const(I32, -1), block.function.field("fault", "lane"), 4)
    emitter.store(address, block.function.field("fault", "address"), 8)
    emitter.store(size, block.function.field("fault", "size"), 4)
    emitter.store(is_write, block.function.field("fault", "is_write"), 4)
    block.finish(abi.FAULT)


@ends_block("s_trap")
def trap(block: BlockTranslator, instruction: Instruction) -> None:
    identifier = _immediate(instruction)
    if identifier == 3:
        # llvm.debugtrap: execution continues if no debugger listens.
        block.finish()
        return
    if identifier == abi.MASK_TRAP:
        mask, lanes = block.register(0, 2), (block.register(2), block.register(3))
        _fault(block, instruction, abi.FAULT_MASK, mask, lanes)
        return
    _fault(block, instruction, abi.FAULT_TRAP, identifier & 0xFF)


@ends_block("s_sethalt")
def halt(block: BlockTranslator, instruction: Instruction) -> None:
    if _immediate(instruction) & 1:
        _fault(block, instruction, abi.FAULT_HALT, _immediate(instruction))
    else:
        block.finish()


def run_past(block: BlockTranslator, instruction: Instruction) -> None:
    """Faults a wave that runs past the last instruction of a function."""
    _fault(block, instruction, abi.FAULT_END, instruction.address + instruction.size)


# Hardware registers

HW_MODE = 1
_HW_STATUS = 2
_HW_ID = 4
_HW_SH_MEM_BASES = 15
_HW_XCC_ID = 20


def hardware_field(instruction: Instruction) -> tuple[int, int, int]:
    """Register number, first bit and size of an s_getreg or s_setreg."""
    for operand in (*instruction.src, *instruction.dst):
        if operand.kind == "hwreg":
            value = int(operand.value or 0)
            return value & 63, value >> 6 & 31, (value >> 11 & 31) + 1
    raise Unsupported("a hardware register access without its register")


def mode_after(instruction: Instruction, mode: Mode | None) -> Mode | None:
    """The floating-point mode after an instruction; None if a register decides it."""
    if instruction.opcode in ("s_round_mode", "s_denorm_mode"):
        bits = _immediate(instruction) & 15
        first = 0 if instruction.opcode == "s_round_mode" else 4
        return mode if mode is None else mode.with_field(first, 4, bits)
    if instruction.record.control is not Control.REGISTER:
        return mode
    number, first, size = hardware_field(instruction)
    if number != HW_MODE or mode is None:
        return mode
    for operand in (*instruction.src, *instruction.dst):
        if operand.kind in ("imm", "simm"):
            return mode.with_field(first, size, int(operand.value or 0))
    return None


def mode_constant(instruction: Instruction) -> int | None:
    """The constant of an instruction that writes a part of MODE; None for any other instruction."""
    if instruction.record.control is not Control.REGISTER or hardware_field(instruction)[0] != HW_MODE:
        return None
    operands = (*instruction.src, *instruction.dst)
    return next((int(o.value or 0) for o in operands if o.kind in ("imm", "simm")), None)


def may_skip_after(instruction: Instruction, before: bool) -> bool:
    """True if MODE.vskip may be set after an instruction; `before`: whether it may be before."""
    control = instruction.record.control
    constants = [int(o.value or 0) for o in instruction.src if o.kind in ("imm", "simm")]
    if control is Control.SKIP:
        return len(constants) < 2 or bool(constants[0] >> (constants[1] & 31) & 1)
    if control is not Control.REGISTER:
        return before
    number, first, size = hardware_field(instruction)
    if number != HW_MODE or not first <= VSKIP < first + size:
        return before
    constants += [int(o.value or 0) for o in instruction.dst if o.kind in ("imm", "simm")]
    return not constants or bool(constants[0] >> (VSKIP - first) & 1)


@straight("s_setvskip")
def setvskip(block: BlockTranslator, instruction: Instruction) -> None:
    """MODE.vskip = S0[S1[4:0]] (CDNA3 ISA guide); skipped code has its own block (translate/flow.py)."""
    block.close_run()
    value, position = (block.scalar(operand) for operand in instruction.src)
    bit = value.lshr(position & 31) & 1
    pointer = block.function.field("mode")
    old = block.emitter.load(I32, pointer, 4)
    cleared = old & (~(1 << VSKIP) & 0xFFFFFFFF)
    block.emitter.store(cleared | bit.shl(VSKIP), pointer, 4)


def _status(block: BlockTranslator) -> Value:
    """STATUS: SCC 0, EXECZ 9, VCCZ 10, IN_WG 11, VALID 16 (CDNA3 ISA guide, "Status register fields").

    No trap handler, debugger or priority sets another bit.
    """
    block.close_run()
    fixed = block.emitter.load(I32, block.function.field("status"), 4)
    exec_zero = block.exec().eq(0).zext(32).shl(9)
    vcc_zero = block.lane_mask(abi.VCC).eq(0).zext(32).shl(10)
    return fixed | block.scalars.scc().zext(32) | exec_zero | vcc_zero


_HW_SCHED_MODE = 26
_HW_IB_STS2 = 28
_WITHOUT_EFFECT = ((24, 1), (25, 1))
"""Bits of MODE: 24 enables scalar prefetches, which are hints (RDNA4 ISA guide, SCALAR_PREFETCH_EN); 25 makes
accesses repeat after page faults, of which there are none here."""
_SATURATES = (23, 1)
"""The bit of MODE that makes conversions to 8 bits saturate: FP16_OVFL."""
_IN_CLUSTER, _CLUSTER_RANK = (6, 4), (21, 4)
"""Fields of IB_STS2: one is 0 in work-groups outside of clusters alone, the other is a work-group's number in
its cluster (LLVM's lowering of the ids of clusters)."""


def _mode_alone(instruction: Instruction) -> None:
    """Refuses other fields than MODE's rounding, denormals, FP16_OVFL and, where it exists, IEEE mode."""
    number, first, size = hardware_field(instruction)
    known = 10 if target_record(instruction.form.target).has_ieee_mode else 8
    if number != HW_MODE or (first + size > known and (first, size) not in (*_WITHOUT_EFFECT, _SATURATES)):
        raise Unsupported(f"bits {first} to {first + size - 1} of hardware register {number}")


def _names_register(instruction: Instruction, number: int) -> bool:
    """True if an instruction names a hardware register that the record of its target has."""
    return (
        hardware_field(instruction)[0] == number
        and number in target_record(instruction.form.target).hardware_registers
    )


@straight("s_getreg_b32")
def getreg(block: BlockTranslator, instruction: Instruction) -> None:
    number, first, size = hardware_field(instruction)
    if number == HW_MODE:
        value = block.emitter.load(I32, block.function.field("mode"), 4)
    elif number in (_HW_ID, _HW_XCC_ID):
        value = block.emitter.load(I32, block.function.field("hw_id" if number == _HW_ID else "xcc_id"), 4)
    elif number == _HW_STATUS:
        value = _status(block)
    elif number == _HW_SH_MEM_BASES:
        # Bits 63 to 48 of the private aperture's address, then of the shared one's.
        bases = abi.PRIVATE_APERTURE >> 48 | abi.SHARED_APERTURE >> 48 << 16
        value = block.emitter.const(I32, bases)
    else:
        raise Unsupported(f"hardware register {number}")
    value = value.lshr(first) & ((1 << size) - 1)
    block.set_register(instruction.dst[0].index, value)


@straight(f"{CHANGED}s_getreg_b32")
def getreg_later(block: BlockTranslator, instruction: Instruction) -> None:
    number, first, size = hardware_field(instruction)
    name = target_record(block.options.target).hardware_registers.get(number, "")
    if name.startswith("HW_REG_SHADER_CYCLES"):
        fields = OpFields("hk_shader_cycles", sdst=instruction.dst[0].index, imm=(name.endswith("HI"),))
        block.native(fields.function, fields.record(instruction.address), can_fault=False)
        value = block.register(instruction.dst[0].index).lshr(first) & ((1 << size) - 1)
        block.set_register(instruction.dst[0].index, value)
        return
    if _names_register(instruction, _HW_IB_STS2) and (first, size) in (_IN_CLUSTER, _CLUSTER_RANK):
        fields = OpFields("", sdst=instruction.dst[0].index, imm=(int((first, size) == _CLUSTER_RANK),))
        block.native("hk_cluster_field", fields.record(instruction.address), can_fault=False)
        block.scalars.forget()
        return
    _mode_alone(instruction)
    getreg(block, instruction)


@straight("s_get_shader_cycles_u64")
def shader_cycles(block: BlockTranslator, instruction: Instruction) -> None:
    fields = OpFields("", sdst=instruction.dst[0].index, imm=(2,))
    block.native("hk_shader_cycles", fields.record(instruction.address), can_fault=False)
    block.scalars.forget()


def _setreg(block: BlockTranslator, instruction: Instruction, value: Value) -> None:
    number, first, size = hardware_field(instruction)
    if number != HW_MODE:
        raise Unsupported(f"a write to hardware register {number}")
    mask = ((1 << size) - 1) << first & 0xFFFFFFFF
    pointer = block.function.field("mode")
    old = block.emitter.load(I32, pointer, 4)
    placed = value.shl(first) & mask if first else value & mask
    block.emitter.store((old & ~mask) | placed, pointer, 4)
    block.set_mode(mode_after(instruction, block.known_mode))


@straight("s_setreg_b32")
def setreg(block: BlockTranslator, instruction: Instruction) -> None:
    block.close_run()
    source = next(operand for operand in (*instruction.src, *instruction.dst) if operand.kind == "s")
    _setreg(block, instruction, block.register(source.index))


@straight("s_setreg_imm32_b32")
def setreg_imm(block: BlockTranslator, instruction: Instruction) -> None:
    block.close_run()
    source = next(
        operand for operand in (*instruction.src, *instruction.dst) if operand.kind in ("imm", "simm")
    )
    _setreg(block, instruction, block.scalar(source))


@straight(f"{CHANGED}s_setreg_b32")
def setreg_mode(block: BlockTranslator, instruction: Instruction) -> None:
    if _names_register(instruction, _HW_SCHED_MODE):
        return
    _mode_alone(instruction)
    setreg(block, instruction)


@straight(f"{CHANGED}s_setreg_imm32_b32")
def setreg_mode_imm(block: BlockTranslator, instruction: Instruction) -> None:
    # A scheduling mode only says which dependencies hardware checks by itself.
    if _names_register(instruction, _HW_SCHED_MODE):
        return
    _mode_alone(instruction)
    setreg_imm(block, instruction)
