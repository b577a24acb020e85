"""Numba kernels that run a program on words: XNOR and popcount, 32 examples in vector registers.

Program, packed inputs, packed parameters -> votes of the outputs. Examples go through in blocks of
512, so that what a block needs stays in the cache. An array of words is flat, ordered by chunk of
32 examples, row of 64 nodes, example.

A neuron with n sources, bias b and d sources that disagree with their weights has pre-activation
n + b - 2d. It is positive exactly if the excess, d - n // 2 - (b > 0), is negative: the sign bit of
the excess is the activation, and the pre-activation is -2 * excess - (n is even).
"""

import numpy as np
from numba import njit

from qubonn.inference._plane_kernels import run_plane_step
from qubonn.inference.program import BLOCK, CHUNK, DENSE
from qubonn.simd.words import load_at, ones_of, repeated, store_at

THIRTY_TWO = np.zeros(1, dtype=np.uint32)  # so many lanes
ZERO, ONE, SIGN_PLACE, SIGN = (np.uint64(word) for word in (0, 1, 63, 1 << 63))


@njit(cache=True, nogil=True)
def run_blocks(tables, inputs, parameters, scratch, planes, is_sums, votes, spins):
    """Fill the rows of `votes` and of `spins`, if they have any: one for each example.

    A vote is the sum over members, rows of `parameters`, of an output's spins or pre-activations.
    `planes` is None where the program needs none; their kernels are not compiled then.
    """
    words, block_votes = scratch
    example_count = max(len(votes), len(spins))
    for block in range((example_count + BLOCK - 1) // BLOCK):
        examples = min(BLOCK, example_count - block * BLOCK)
        chunk_count = (examples + CHUNK - 1) // CHUNK
        first_input = block * BLOCK * tables.input_row_count
        block_votes[:] = ZERO
        for member in range(len(parameters)):
            for number in range(tables.opening if member else 0, len(tables.steps)):
                step = tables.steps[number]
                if step["kind"] == DENSE:
                    sources, place, rows = words, 0, tables.row_count
                    if step["reads_inputs"]:
                        sources, place, rows = inputs, first_input, tables.input_row_count
                    for first in range(0, step["count"], 64):
                        for chunk in range(chunk_count):
                            run_dense(
                                step,
                                first,
                                parameters[member],
                                sources,
                                place + (chunk * rows + step["row"]) * CHUNK,
                                words,
                                chunk * tables.row_count * CHUNK,
                                tables.columns,
                                block_votes,
                                chunk * tables.output_count * CHUNK,
                                is_sums,
                            )
                elif planes is not None:
                    run_plane_step(
                        tables,
                        step,
                        parameters[member],
                        inputs,
                        first_input,
                        words,
                        planes,
                        block_votes,
                        chunk_count,
                        is_sums,
                    )
        write_votes(block_votes.view(np.int64), len(parameters), is_sums, block, votes, spins)


@njit(cache=True)
def run_dense(
    step, first, parameters, sources, place, words, target, columns, votes, vote, is_sums
):
    """Let up to 64 neurons of a layer, `first` and on, read a chunk of words from `place` on.

    Their own word goes to the chunk of `words` that begins at `target`; outputs add to the votes
    of the chunk that begin at `vote`.
    """
    fan_in, neuron_count = step["fan_in"], min(64, step["count"] - first)
    word_count = (fan_in + 63) // 64
    weight = step["weight_word"] + first * word_count
    biases = parameters[step["weight_word"] + step["count"] * word_count + first // 64]
    spins = repeated(ZERO, THIRTY_TWO)
    for neuron in range(neuron_count):
        half = np.uint64(fan_in // 2) + ((biases >> np.uint64(neuron)) & ONE)
        excess = repeated(ZERO, THIRTY_TWO) - half
        for word in range(word_count):
            known = load_at(sources, place + word * CHUNK, THIRTY_TWO)
            excess = excess + ones_of(known ^ parameters[weight + word])
        weight += word_count
        spins = (spins >> ONE) | (excess & SIGN)
        if step["first_column"] >= 0:
            column = vote + columns[step["first_column"] + first + neuron] * CHUNK
            total = load_at(votes, column, THIRTY_TWO)
            if is_sums:
                total = total - (excess << ONE) - np.uint64(1 - fan_in % 2)
            else:
                total = total + (excess >> SIGN_PLACE)
            store_at(votes, column, total)
    spins = spins >> np.uint64(64 - neuron_count)
    store_at(words, target + (step["target_row"] + first // 64) * CHUNK, spins)


@njit(cache=True)
def write_votes(found, member_count, is_sums, block, votes, spins):
    """Copy what a block of examples voted, chunks by outputs by examples, to rows of examples."""
    output_count = votes.shape[1]
    for number in range(BLOCK // CHUNK * output_count):
        column, some = number % output_count, found[number * CHUNK : (number + 1) * CHUNK]
        first = block * BLOCK + number // output_count * CHUNK
        for lane in range(min(CHUNK, len(votes) - first)):
            vote = some[lane]
            votes[first + lane, column] = vote if is_sums else 2 * vote - member_count
        least = 0 if is_sums else member_count // 2
        for lane in range(min(CHUNK, len(spins) - first)):
            spins[first + lane, column] = 2 * (some[lane] > least) - 1
