"""Run C programs on emulated Cortex-M boards: what to compile, link and start with."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from export.compiled import STRICT, Answers, Case, compile_cases, output_of, read_answers

COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"


@dataclass(frozen=True)
class Board:
    """A processor, and the machine of qemu that has one."""

    processor: str
    machine: str


BOARDS = (
    Board("cortex-m0", "microbit"),
    Board("cortex-m3", "mps2-an385"),
    Board("cortex-m4", "mps2-an386"),
)

# 256 KB of flash at 0 and 16 KB of RAM: the smallest of the boards, and part of the others
LINKER_SCRIPT = """
MEMORY { flash (rx) : ORIGIN = 0, LENGTH = 256K  ram (rwx) : ORIGIN = 0x20000000, LENGTH = 16K }
SECTIONS
{
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > flash
    .ARM.exidx : { *(.ARM.exidx*) } > flash
    data_source = ALIGN(4);
    .data : AT (data_source) { data_start = .; *(.data*) . = ALIGN(4); data_end = .; } > ram
    .bss : { bss_start = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > ram
    end = .;
    stack_top = ORIGIN(ram) + LENGTH(ram);
}
"""
STARTUP = """
extern unsigned stack_top, data_source, data_start, data_end, bss_start, bss_end;
extern void initialise_monitor_handles(void);
extern void exit(int);
extern int main(void);
void start(void);

void start(void)
{
    unsigned *to, *from = &data_source;
    for (to = &data_start; to < &data_end;)
        *to++ = *from++;
    for (to = &bss_start; to < &bss_end;)
        *to++ = 0;
    initialise_monitor_handles();
    exit(main());
}

struct vectors { unsigned *stack; void (*start)(void); };
__attribute__((section(".vectors"), used)) const struct vectors vectors = {&stack_top, start};
"""


def require_tools() -> None:
    """Skip where there is no compiler, library or emulator."""
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    library = subprocess.run(
        [COMPILER, "-print-file-name=rdimon.specs"], capture_output=True, text=True, check=True
    )
    if not Path(library.stdout.strip()).is_absolute():
        pytest.skip(f"{COMPILER} has no newlib")


def answers_on(board: Board, cases: Sequence[Case], folder: Path) -> list[Answers]:
    """Compile for a board and run there; the emulator prints what the program prints."""
    program = compile_cases(cases, folder, compiler=build_command(board, folder))
    return read_answers(cases, output_of(*emulation(board), program))


def build_command(board: Board, folder: Path) -> tuple[str, ...]:
    """The compiler and its options, after writing what it links with."""
    (folder / "link.ld").write_text(LINKER_SCRIPT)
    (folder / "start.c").write_text(STARTUP)
    processor = (f"-mcpu={board.processor}", "-mthumb", "-Os")
    library = ("--specs=rdimon.specs", "--specs=nano.specs", "-nostartfiles", "-lrdimon")
    files = ("-T", str(folder / "link.ld"), str(folder / "start.c"))
    return (COMPILER, *STRICT, *processor, *library, *files)


def emulation(board: Board) -> tuple[str, ...]:
    quiet = ("-nographic", "-monitor", "none", "-serial", "none")
    semihosting = ("-semihosting-config", "enable=on,target=native")
    return (EMULATOR, "-M", board.machine, *quiet, *semihosting, "-kernel")
