"""Netlist -> Verilog-2001, combinational or pipelined; names that cannot leave their place."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from qubonn.export.c_text import comment, identifier
from qubonn.export.netlist import COUNT, Bits, Netlist, Operation

STAGE_DEPTH = 2  # counters, one after the other, between two registers
BLOCK = 128  # assignments of an always block: yosys takes quadratic time to read one
RESERVED = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup coverpoint
cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event
eventually expect export extends extern final first_match for force foreach forever fork
forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
implements implies import incdir include initial inout input inside instance int integer
interconnect interface intersect join join_any join_none large let liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype new
nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos
posedge primitive priority program property protected pull0 pull1 pulldown pullup
pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime
ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always
s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
signed small soft solve specify specparam static string strong strong0 strong1 struct super
supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait
wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor"""


def module_name(name: str) -> str:
    """Return a name for a module that reads like `name` and is no word of (System)Verilog.

    >>> module_name("letters"), module_name("endmodule"), module_name("a; initial $finish")
    ('letters', 'model_endmodule', 'a_initial_finish')
    """
    words = identifier(name)
    return f"model_{words}" if words.lower() in RESERVED.split() else words


@dataclass(frozen=True)
class Port:
    """A port of a module."""

    direction: str
    name: str
    width: int = 1
    about: str = ""

    @property
    def text(self) -> str:
        """The declaration."""
        return f"{self.direction} wire {bounds(self.width)}{self.name}"


def bounds(width: int) -> str:
    """Return the bounds of a vector, nothing for a single bit.

    >>> bounds(8), bounds(1)
    ('[7:0] ', '')
    """
    return f"[{width - 1}:0] " if width > 1 else ""


def combinational(netlist: Netlist, source: str, name: str) -> list[str]:
    """Return the lines between the ports and the end of the module `name`."""
    return _Printed(netlist, source, name, stages=None).lines


def pipelined(netlist: Netlist, source: str, name: str) -> tuple[list[str], int, int]:
    """Return the lines of a module with registers, its latency in clocks, and their bits."""
    stages = _stages(netlist)
    last = max((stages[bits.operation] for bits in netlist.results.values()), default=0)
    printed = _Printed(netlist, source, name, stages, last + 1)
    declared, moved = printed.registers()
    bits = sum(sum(own.values()) for own in printed.delays.values())
    return [*declared, *printed.lines, *moved], last + 1, bits


def _stages(netlist: Netlist) -> list[int]:
    """Return the stage of each operation: as early as the depth of a stage allows."""
    stages, depths = [0], [0]
    for operation in netlist.operations[1:]:
        arguments = [bits.operation for bits in operation.arguments]
        stage = max((stages[number] for number in arguments), default=0)
        before = (depths[number] for number in arguments if stages[number] == stage)
        depth = max(before, default=0) + operation.depth
        if depth > STAGE_DEPTH and depth > operation.depth:
            stage, depth = stage + 1, operation.depth
        stages.append(stage)
        depths.append(depth)
    return stages


class _Printed:
    """The text of a netlist; without `stages` no registers."""

    def __init__(
        self, netlist: Netlist, source: str, name: str, stages: list[int] | None, last: int = 0
    ) -> None:
        self.netlist, self.source, self.name = netlist, source, name
        self.stages = stages or [0] * len(netlist.operations)
        # registers after each bit of an operation; synthesis leaves out those that nothing reads
        self.delays: dict[int, dict[int, int]] = defaultdict(dict)
        self.lines: list[str] = []
        for number, operation in enumerate(netlist.operations[1:], start=1):
            if operation.arguments:
                self.lines.append(self._line(number, operation))
        for port, bits in netlist.results.items():
            self.lines.append(f"assign {port} = {self._shown(bits, last)};")

    def _line(self, number: int, operation: Operation) -> str:
        """Return the declaration of a result; a counter inverts its first arguments itself."""
        is_count, arguments = operation.text == COUNT, operation.arguments
        own = [bits._replace(is_inverted=False) for bits in arguments] if is_count else arguments
        shown = [self._shown(bits, self.stages[number]) for bits in own]
        wire = f"wire {bounds(operation.width)}n{number}"
        if is_count:
            kind = f"{self.name}_count{len(own)}"
            mask = (1 << sum(bits.is_inverted for bits in arguments)) - 1
            return (
                f"{wire}; {kind} #({mask}) c{number} ({{{', '.join(reversed(shown))}}}, n{number});"
            )
        about = f"  // {comment(operation.about)}" if operation.about else ""
        return f"{wire} = {operation.text.format(*shown)};{about}"

    def registers(self) -> tuple[list[str], list[str]]:
        """Return registers that delay results until the stages that use them, and what they do."""
        declared, moved = [], []
        for number, own in sorted(self.delays.items()):
            width = self.netlist.operations[number].width
            names = [self._name(number, delay) for delay in range(max(own.values()) + 1)]
            declared.append(f"reg {bounds(width)}{', '.join(names[1:])};")
            moved += [f"    {new} <= {old};" for old, new in pairwise(names)]
        blocks = [moved[start : start + BLOCK] for start in range(0, len(moved), BLOCK)]
        head, end = "always @(posedge clk) begin", "end"
        return declared, [line for block in blocks for line in (head, *block, end)]

    def _shown(self, bits: Bits, stage: int) -> str:
        operation = self.netlist.operations[bits.operation]
        if bits.operation and not operation.arguments:  # a constant
            flipped = {"1'd0": "1'd1", "1'd1": "1'd0"}
            return flipped[operation.text] if bits.is_inverted else operation.text
        delay = stage - self.stages[bits.operation]
        if delay:
            known = self.delays[bits.operation]
            for bit in range(operation.width) if bits.bit is None else (bits.bit,):
                known[bit] = max(known.get(bit, 0), delay)
        name = self._name(bits.operation, delay)
        if bits.bit is not None and operation.width > 1:
            name = f"{name}[{bits.bit}]"
        return f"~{name}" if bits.is_inverted else name

    def _name(self, number: int, delay: int) -> str:
        name = f"n{number}" if number else self.source
        return f"{name}_{delay}" if delay else name
