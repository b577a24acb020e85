"""The C text around the tables: one header, C99 that a C++ compiler takes too.

Placeholders: $name begins every identifier, $NAME every macro.
"""

HEAD = """\
/*
 * $title
 *
 * $what, written by qubonn $version.
 * C99 or C++; include it in one source file. It needs stdint.h and nothing else.
 *
$facts
 *
 * A neuron is +1 where bias + sum of weight * source > 0 and -1 otherwise, at 0 too. Of its n
 * sources, d disagree with their weights; with a bias bit b of 0 or 1 it is +1 where d < n / 2 + b,
 * in whole numbers. QUBONN_POPCOUNT may name what counts the ones of a uint32_t, where there is an
 * instruction for it: for example -DQUBONN_POPCOUNT=__builtin_popcount.
 */
#ifndef QUBONN_${NAME}_H
#define QUBONN_${NAME}_H

#include <stdint.h>

#define ${NAME}_INPUT_COUNT $input_count
#define ${NAME}_INPUT_WORDS $input_words
#define ${NAME}_OUTPUT_COUNT $output_count
#define ${NAME}_OUTPUT_WORDS $output_words
#define ${NAME}_CLASS_COUNT $class_count
#define ${NAME}_MEMBER_COUNT $member_count
#define ${NAME}_STATE_WORDS $state_words
#define ${NAME}_PATCH_WORDS $patch_words
#define ${NAME}_TABLE_BYTES $table_bytes /* of constants, labels not counted */
#define ${NAME}_STACK_BYTES $stack_bytes /* of arrays on the stack */
"""

TABLES = """
typedef $index_type ${name}_index;

typedef struct {
    ${name}_index fan_in;      /* sources of each neuron */
    ${name}_index first_run;   /* sources are runs of bits, or words as they stand */
    ${name}_index run_count;   /* 0 for words as they stand */
    ${name}_index base;        /* bit of the first source at the first position */
    ${name}_index rows;        /* positions: rows x columns */
    ${name}_index columns;
    ${name}_index row_step;    /* bits from one position to the next */
    ${name}_index column_step;
    ${name}_index filters;     /* neurons at each position */
    ${name}_index target;      /* bit of the first neuron */
    ${name}_index weight;      /* word of the first filter */
    ${name}_index output;      /* 0 for hidden neurons, else 1 + place in ${name}_output_of */
} ${name}_step;

typedef struct {
    ${name}_index start; /* from the position's first source */
    ${name}_index length;
} ${name}_run;

$tables
"""

RUNNING = """
static inline uint32_t ${name}_popcount(uint32_t word)
{
#ifdef QUBONN_POPCOUNT
    return (uint32_t)QUBONN_POPCOUNT(word);
#else
    word -= (word >> 1) & 0x55555555u;
    word = (word & 0x33333333u) + ((word >> 2) & 0x33333333u);
    word = (word + (word >> 4)) & 0x0F0F0F0Fu;
    return (uint32_t)(word * 0x01010101u) >> 24;
#endif
}

/* Put the sources of one position together. */
static inline void ${name}_gather(const ${name}_step *step, uint32_t base, const uint32_t *state,
                                  uint32_t *patch)
{
    const ${name}_run *run = ${name}_runs + step->first_run;
    const ${name}_run *end = run + step->run_count;
    uint32_t to = 0, word;
    for (word = 0; word < (step->fan_in + 31u) / 32u; word++)
        patch[word] = 0;
    for (; run < end; run++) {
        uint32_t from = base + run->start, left = run->length;
        while (left > 0) {
            uint32_t skip = (from & 31u) > (to & 31u) ? (from & 31u) : (to & 31u);
            uint32_t take = left < 32u - skip ? left : 32u - skip;
            uint32_t bits = (state[from >> 5] >> (from & 31u)) & (0xFFFFFFFFu >> (32u - take));
            patch[to >> 5] |= bits << (to & 31u);
            from += take;
            to += take;
            left -= take;
        }
    }
}

/* Compute all filters at one position; output neurons add to the votes. */
static inline void ${name}_position(const ${name}_step *step, uint32_t position,
                                    const uint32_t *patch, const uint32_t *weights,
                                    const uint32_t *biases, uint32_t *state, int32_t *votes)
{
    uint32_t words = (step->fan_in + 31u) / 32u, filter, word;
    uint32_t first = position * step->filters;
    weights += step->weight;
    for (filter = 0; filter < step->filters; filter++) {
        uint32_t bit = step->target + first + filter, disagreements = 0, bias, fires;
        for (word = 0; word < words; word++)
            disagreements += ${name}_popcount(patch[word] ^ *weights++);
        bias = (biases[(bit >> 5) - ${NAME}_INPUT_WORDS] >> (bit & 31u)) & 1u;
        fires = disagreements < step->fan_in / 2u + bias;
        state[bit >> 5] |= fires << (bit & 31u);
        if (step->output)
            votes[${name}_output_of[step->output - 1u + first + filter]] +=
                $vote;
    }
}

/* Compute all neurons of one member. */
static inline void ${name}_member(const uint32_t *weights, const uint32_t *biases, uint32_t *state,
                                  int32_t *votes)
{
    const ${name}_step *step = ${name}_steps;
    const ${name}_step *end = ${name}_steps + sizeof ${name}_steps / sizeof ${name}_steps[0];
    uint32_t patch[${NAME}_PATCH_WORDS];
    for (; step < end; step++) {
        uint32_t row, column, position = 0;
        for (row = 0; row < step->rows; row++) {
            uint32_t base = step->base + row * step->row_step;
            for (column = 0; column < step->columns; column++) {
                const uint32_t *sources = state + (base >> 5);
                if (step->run_count) {
                    ${name}_gather(step, base, state, patch);
                    sources = patch;
                }
                ${name}_position(step, position, sources, weights, biases, state, votes);
                base += step->column_step;
                position++;
            }
        }
    }
}

/* Fill votes, one for each output: $votes_are. */
static inline void ${name}_votes(const uint32_t *inputs, int32_t *votes)
{
    uint32_t state[${NAME}_STATE_WORDS];
    uint32_t member, word, output;
    for (output = 0; output < ${NAME}_OUTPUT_COUNT; output++)
        votes[output] = 0;
    for (word = 0; word < ${NAME}_INPUT_WORDS; word++)
        state[word] = inputs[word];
    state[${NAME}_INPUT_WORDS - 1] &= ${last_input_mask}u;
    for (member = 0; member < ${NAME}_MEMBER_COUNT; member++) {
        for (word = ${NAME}_INPUT_WORDS; word < ${NAME}_STATE_WORDS; word++)
            state[word] = 0;
        ${name}_member(${name}_weights + member * ${weight_words}u,
                       ${name}_biases + member * ${bias_words}u, state, votes);
    }
}

/* Return the number of the first largest score. */
static inline int32_t ${name}_largest(const int32_t *scores, uint32_t count)
{
    uint32_t best = 0, number;
    for (number = 1; number < count; number++)
        if (scores[number] > scores[best])
            best = number;
    return (int32_t)best;
}
"""

OUTPUTS_BY_SIGNS = """
/* Fill the words of the outputs: +1 where the vote is positive. */
static inline void ${name}_outputs_of(const int32_t *votes, uint32_t *outputs)
{
    uint32_t output;
    for (output = 0; output < ${NAME}_OUTPUT_WORDS; output++)
        outputs[output] = 0;
    for (output = 0; output < ${NAME}_OUTPUT_COUNT; output++)
        outputs[output >> 5] |= (uint32_t)(votes[output] > 0) << (output & 31u);
}
"""

OUTPUTS_BY_LARGEST = """
/* Fill the words of the outputs: +1 for the first largest vote only. */
static inline void ${name}_outputs_of(const int32_t *votes, uint32_t *outputs)
{
    uint32_t output;
    for (output = 0; output < ${NAME}_OUTPUT_WORDS; output++)
        outputs[output] = 0;
    output = (uint32_t)${name}_largest(votes, ${NAME}_OUTPUT_COUNT);
    outputs[output >> 5] |= (uint32_t)1 << (output & 31u);
}
"""

CLASS_BY_VOTES = """
/* Return the number of the class: the first largest vote. */
static inline int32_t ${name}_class_of(const int32_t *votes)
{
    return ${name}_largest(votes, ${NAME}_CLASS_COUNT);
}
"""

CLASS_BY_EVIDENCE = """
$tables

/* Return the number of the class that the votes speak for most, of several the first. */
static inline int32_t ${name}_class_of(const int32_t *votes)
{
    int32_t best = 0, largest = 0;
    uint32_t number, output;
    for (number = 0; number < ${NAME}_CLASS_COUNT; number++) {
        const uint32_t *codeword = ${name}_codewords + number * ${NAME}_OUTPUT_WORDS;
        int32_t score = 0;
        for (output = 0; output < ${NAME}_OUTPUT_COUNT; output++) {
            int32_t evidence = ${name}_evidence[(votes[output] + ${NAME}_MEMBER_COUNT) / 2];
            score += (codeword[output >> 5] >> (output & 31u)) & 1u ? evidence : -evidence;
        }
        if (number == 0 || score > largest) {
            largest = score;
            best = (int32_t)number;
        }
    }
    return best;
}
"""

PREDICTION = """
/* Fill the words of the outputs: output i is bit i % 32 of word i / 32, 1 for +1, 0 for -1. */
static inline void ${name}_predict(const uint32_t *inputs, uint32_t *outputs)
{
    int32_t votes[${NAME}_OUTPUT_COUNT];
    ${name}_votes(inputs, votes);
    ${name}_outputs_of(votes, outputs);
}

/* Return the number of the class. */
static inline int32_t ${name}_class(const uint32_t *inputs)
{
    int32_t votes[${NAME}_OUTPUT_COUNT];
    ${name}_votes(inputs, votes);
    return ${name}_class_of(votes);
}

/* Pack numbers, one for each input, into words: 1 where a number is more than 0. */
static inline void ${name}_pack(const int8_t *spins, uint32_t *inputs)
{
    uint32_t input;
    for (input = 0; input < ${NAME}_INPUT_WORDS; input++)
        inputs[input] = 0;
    for (input = 0; input < ${NAME}_INPUT_COUNT; input++)
        inputs[input >> 5] |= (uint32_t)(spins[input] > 0) << (input & 31u);
}
"""

BINARISE = """
#define ${NAME}_FEATURE_COUNT $feature_count
$tables
/* Fill the words of the inputs from features: whole numbers, $features_are. */
static inline void ${name}_binarise(const $feature_type *features, uint32_t *inputs)
{
    uint32_t input;
    for (input = 0; input < ${NAME}_INPUT_WORDS; input++)
        inputs[input] = 0;
    for (input = 0; input < ${NAME}_INPUT_COUNT; input++) {
        uint32_t bit = $comparison;
        inputs[input >> 5] |= bit << (input & 31u);
    }
}
"""

LABELS = """
/* Return what the class with a given number is called. */
static inline const char *${name}_label(int32_t number)
{
    static const char *const labels[] = {
$labels
    };
    return labels[number];
}
"""

MAIN = """
#ifdef ${NAME}_MAIN
#include <stdio.h>

$reading

/* Read examples from the standard input; print outputs, votes and class of each. */
int main(void)
{
    uint32_t inputs[${NAME}_INPUT_WORDS], outputs[${NAME}_OUTPUT_WORDS], output;
    int32_t votes[${NAME}_OUTPUT_COUNT];
    unsigned long count = 1;
    int found;
    while ((found = ${name}_read(inputs)) > 0) {
        ${name}_votes(inputs, votes);
        ${name}_outputs_of(votes, outputs);
        for (output = 0; output < ${NAME}_OUTPUT_COUNT; output++)
            putchar((outputs[output >> 5] >> (output & 31u)) & 1u ? '1' : '0');
        for (output = 0; output < ${NAME}_OUTPUT_COUNT; output++)
            printf(" %ld", (long)votes[output]);
        printf(" %ld\\n", (long)${name}_class_of(votes));
        count++;
    }
    if (found < 0)
        fprintf(stderr, "example %lu must have all its inputs, each a number that fits\\n", count);
    return found < 0;
}
#endif
"""

READ_BITS = """\
/* Read one example: 0 or -1 for -1 and 1 for +1; anything else is skipped. 0 at the end, -1 within
 * an example. */
static int ${name}_read(uint32_t *inputs)
{
    int8_t spins[${NAME}_INPUT_COUNT];
    uint32_t input = 0;
    int before = 0;
    while (input < ${NAME}_INPUT_COUNT) {
        int character = getchar();
        if (character == EOF)
            return input ? -1 : 0;
        if (character == '0' || character == '1')
            spins[input++] = character == '1' && before != '-' ? 1 : -1;
        before = character;
    }
    ${name}_pack(spins, inputs);
    return 1;
}"""

READ_FEATURES = """\
/* Read one example: a whole number for each feature. 0 at the end, -1 at anything else. */
static int ${name}_read(uint32_t *inputs)
{
    $feature_type features[${NAME}_FEATURE_COUNT];
    uint32_t feature;
    for (feature = 0; feature < ${NAME}_FEATURE_COUNT; feature++) {
        long number;
        int count = scanf("%ld%*[,;]", &number);
        if (count != 1)
            return count == EOF && feature == 0 ? 0 : -1;
        features[feature] = ($feature_type)number;
        if (features[feature] != number)
            return -1;
    }
    ${name}_binarise(features, inputs);
    return 1;
}"""

FOOT = """
#endif
"""
