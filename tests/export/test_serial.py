"""The serial machine: tables, words and clocks."""

import qubonn as qn
from qubonn.export.circuit import circuit_of
from qubonn.export.model import exported
from qubonn.export.serial import CLOCKS_OF_A_GROUP, Rom, SerialMachine, serial_machine


def machine(*sizes: int, word: int, lanes: int = 1, **levels: int) -> SerialMachine:
    network = qn.BinaryNetwork.random(qn.Topology.dense(*sizes, **levels), seed=0)
    return serial_machine(circuit_of(exported(network)), None, word, lanes)


def test_the_latency_is_a_clock_for_each_row_and_a_few_for_each_neuron() -> None:
    found = machine(40, 9, 2, word=8)
    rows = 9 * 5 + 2 * 2  # nine neurons read five words each, two votes two
    assert found.latency == rows + 11 * (CLOCKS_OF_A_GROUP + 1)


def test_neurons_of_a_group_read_words_together() -> None:
    found = machine(40, 9, 2, word=8, lanes=4)
    rows = 3 * 5 + 2  # three groups read five words each, the votes two
    assert found.latency == rows + 4 * CLOCKS_OF_A_GROUP + 11


def test_there_are_no_more_lanes_than_neurons_of_a_level() -> None:
    found = machine(40, 9, 2, word=1, lanes=1000)
    assert found.lanes == 9
    assert found.latency == 40 + 9 + 2 * CLOCKS_OF_A_GROUP + 11


def test_groups_that_are_not_full_need_no_masks() -> None:
    weights = 784 * 128 + 128 * 128  # ten votes take the room of 128
    assert weights <= machine(784, 128, 10, word=1, lanes=128).rom_bits < 1.05 * weights


def test_levels_take_a_pass_for_each_digit() -> None:
    two, five = (machine(40, 9, 2, word=40, weight_levels=levels) for levels in (2, 17))
    assert two.latency < five.latency <= two.latency + 11 * 4


def test_weights_are_stored_once_in_words() -> None:
    found = machine(784, 128, 10, word=16)
    weights = (784 * 128 + 128 * 10) * 1
    assert weights <= found.rom_bits < 1.05 * weights
    assert found.memory_words == 49 + 8


def test_fields_that_never_change_are_no_memory() -> None:
    rom = Rom.of("row", ("signs", "mask"), [(1, 7), (2, 7)])
    lines = list(rom.lines("index"))
    assert rom.bit_count == 4
    assert "wire [2:0] mask = 3'd7;" in lines
    assert "reg [1:0] rows [0:1];" in lines
    assert "    rows[1] = 2'h2;" in lines
