"""Numba kernels on words: pack numbers, then XNOR and popcount, 32 examples in vector registers.

Numbers -> packed inputs; program, packed inputs, packed parameters -> votes of the outputs. A block
of 512 examples at a time, so that what it needs stays in the cache. An array of words is
flat, ordered by chunk of 32 examples, row of 64 nodes, example; a bit is set for +1.

A neuron has n arcs, d of which disagree with their sources, and c arcs from the constant; k of
these and the bias are +1. Its pre-activation, n - 2d + 2k - c - 1, is positive exactly if the
excess, d - k - (n - c) // 2, is negative: the sign bit of the excess is the activation, and the
pre-activation is -2 * excess - (n - c is even). Parallel arcs are planes of weights that the same
words disagree with, and a bit of a plane counts as several arcs: half of those that are left.
"""

import numpy as np

from qubonn.inference._plane_kernels import bit_at, run_plane_step
from qubonn.inference.program import BLOCK, CHUNK, DENSE, Chunk
from qubonn.simd.compiling import kernel, part
from qubonn.simd.words import finite, load_at, ones_of, positive, repeated, store_at

THIRTY_TWO = np.zeros(1, dtype=np.uint32)  # lanes: the examples of a chunk
SIXTY_FOUR = np.zeros(1, dtype=np.uint64)  # lanes: one number for each bit of a word
ZERO, ONE, SIGN_PLACE, SIGN = (np.uint64(word) for word in (0, 1, 63, 1 << 63))
LOW_HALF = np.uint64((1 << 32) - 1)


@kernel
def run_blocks(tables, inputs, parameters, buffers, planes, is_sums, votes, spins):
    """Fill the rows of `votes` and of `spins`, if they have any: one for each example.

    A vote is the sum over members, rows of `parameters`, of an output's spins or pre-activations.
    `planes` is None where the program needs none; their kernels are not compiled then.
    """
    example_count = max(len(votes), len(spins))
    for block in range((example_count + BLOCK - 1) // BLOCK):
        examples = min(BLOCK, example_count - block * BLOCK)
        chunk_count = (examples + CHUNK - 1) // CHUNK
        first_input = block * BLOCK * tables.input_row_count
        for place in range(len(buffers.votes)):
            buffers.votes[place] = ZERO
        for member in range(len(parameters)):
            for number in range(tables.opening if member else 0, len(tables.steps)):
                step = tables.steps[number]
                own = parameters[member]
                if step["kind"] == DENSE:
                    words, place, rows = buffers.words, 0, tables.row_count
                    if step["reads_inputs"]:
                        words, place, rows = inputs, first_input, tables.input_row_count
                    for first in range(0, step["count"], 64):
                        for chunk in range(chunk_count):
                            sources = Chunk(words, place + (chunk * rows + step["row"]) * CHUNK)
                            run_dense(tables, step, first, own, sources, buffers, chunk, is_sums)
                elif planes is not None:
                    block_inputs = Chunk(inputs, first_input)
                    run_plane_step(
                        tables, step, own, block_inputs, buffers, planes, chunk_count, is_sums
                    )
        write_votes(buffers.votes.view(np.int64), len(parameters), is_sums, block, votes, spins)


@part
def run_dense(tables, step, first, parameters, sources, buffers, chunk, is_sums):
    """Compute up to 64 neurons of a layer, from `first` on, for one chunk of examples.

    They read `sources`; their own word goes to the buffers, and outputs add to the votes there.
    """
    first_vote = chunk * tables.output_count * CHUNK
    plane_count, neuron_count = step["plane_count"], min(64, step["count"] - first)
    word_count, parallel_count = (step["source_count"] + 63) // 64, step["parallel_count"]
    single_count = step["single_count"]
    difference = step["source_count"] * parallel_count - step["constant_count"]
    weight = step["weight_word"] + first * plane_count * word_count
    threshold = step["weight_word"] + step["count"] * plane_count * word_count + first // 64
    digit_words = (step["count"] + 63) // 64
    spins = repeated(ZERO, THIRTY_TWO)
    for neuron in range(neuron_count):
        half = difference // 2
        for digit in range(tables.digit_count):
            half += bit_at(parameters, 64 * (threshold + digit * digit_words) + neuron) << digit
        excess = repeated(ZERO, THIRTY_TWO) - np.uint64(half)
        for plane in range(plane_count - single_count):
            left = parallel_count >> plane
            found = repeated(ZERO, THIRTY_TWO)
            for word in range(word_count):
                known = load_at(sources.words, sources.first + word * CHUNK, THIRTY_TWO)
                found = found + ones_of(known ^ parameters[weight + word])
            # LLVM multiplies 32 bits in one instruction if it sees that the others are 0
            excess = excess + (found & LOW_HALF) * (np.uint64(left - left // 2) & LOW_HALF)
            weight += word_count
        for _ in range(single_count):
            for word in range(word_count):
                known = load_at(sources.words, sources.first + word * CHUNK, THIRTY_TWO)
                excess = excess + ones_of(known ^ parameters[weight + word])
            weight += word_count
        spins = (spins >> ONE) | (excess & SIGN)
        if step["first_column"] >= 0:
            column = first_vote + tables.columns[step["first_column"] + first + neuron] * CHUNK
            total = load_at(buffers.votes, column, THIRTY_TWO)
            if is_sums:
                total = total - (excess << ONE) - np.uint64(1 - difference % 2)
            else:
                total = total + (excess >> SIGN_PLACE)
            store_at(buffers.votes, column, total)
    spins = spins >> np.uint64(64 - neuron_count)
    row = chunk * tables.row_count + step["target_row"] + first // 64
    store_at(buffers.words, row * CHUNK, spins)


@part
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


@kernel
def pack_chunks(numbers, column_count, first_chunk, words):
    """Fill `words` from flat `numbers`, `first_chunk` and on; return whether all are finite.

    Eight rows at a time, so that what is written fills cache lines. The last word of a row reads 64
    numbers too and drops those that it has in common with the word before.
    """
    row_count = len(numbers) // max(column_count, 1)
    end_row = min((first_chunk + len(words)) * CHUNK, row_count)
    is_finite = True
    for first_row in range(first_chunk * CHUNK, end_row, 8):
        chunk, lane = first_row // CHUNK - first_chunk, first_row % CHUNK
        rows = range(min(8, row_count - first_row))
        for word in range(column_count // 64):
            for row in rows:
                lanes = load_at(numbers, (first_row + row) * column_count + word * 64, SIXTY_FOUR)
                words[chunk, word, lane + row] = positive(lanes)
                is_finite &= finite(lanes)
        if column_count > 64 and column_count % 64:
            surplus = np.uint64(64 - column_count % 64)
            for row in rows:
                lanes = load_at(numbers, (first_row + row + 1) * column_count - 64, SIXTY_FOUR)
                words[chunk, column_count // 64, lane + row] = positive(lanes) >> surplus
                is_finite &= finite(lanes)
        elif column_count < 64:
            for row in rows:
                place = (first_row + row) * column_count
                signs, is_row_finite = short_word(numbers, place, column_count)
                words[chunk, 0, lane + row] = signs
                is_finite &= is_row_finite
    return is_finite


@part
def short_word(numbers, first, count):
    """Return the signs of fewer than 64 numbers, the first in the lowest bit; are they finite."""
    word = np.uint64(0)
    is_finite = True
    for place in range(count):
        number = numbers[first + place]
        word |= np.uint64(number > 0) << np.uint64(place)
        is_finite &= bool(np.isfinite(number))
    return word, is_finite
