"""Small networks for hypothesis, and the slow truth about them: all inputs, one by one."""

from itertools import combinations, product
from typing import Any

import numpy as np
from hypothesis import strategies as st

import qubonn as qn
from qubonn.encoding import Reading
from reference import f

Row = tuple[int, ...]


@st.composite
def topologies(draw: st.DrawFn) -> qn.Topology:
    """Skips, parallel and shared arcs, arcs out of outputs, nodes without arcs; no cycles."""
    inputs = draw(st.integers(0, 6))
    outputs = draw(st.integers(1, 3))
    nodes = inputs + outputs + draw(st.integers(0, 5))
    rank = [*range(inputs), *draw(st.permutations(range(inputs, nodes)))]
    arc = st.tuples(st.integers(0, nodes - 1), st.integers(inputs, nodes - 1), st.integers(0, 30))
    rows = [row for row in draw(st.lists(arc, max_size=50)) if rank[row[0]] < rank[row[1]]]
    names = sorted({name for _, _, name in rows})
    arcs = [(source, target, names.index(name)) for source, target, name in rows]
    has_constant = inputs > 0 and draw(st.booleans())
    counts = {"inputs": inputs, "outputs": outputs, "nodes": nodes}
    return qn.Topology.from_arcs(arcs, **counts, has_constant=has_constant)


@st.composite
def committees(draw: st.DrawFn, *, most: int = 1) -> list[qn.BinaryNetwork]:
    topology = draw(topologies())
    seeds = draw(st.lists(st.integers(0, 2**32), min_size=1, max_size=most))
    return [qn.BinaryNetwork.random(topology, seed=seed) for seed in seeds]


def some_inputs(network: qn.BinaryNetwork, seed: int, rows: int = 3) -> Any:
    return np.random.default_rng(seed).choice([-1, 1], (rows, network.topology.column_count))


def slow_class(members: list[qn.BinaryNetwork], row: Row, reading: Reading) -> Row:
    """The class arc by arc: signs of the votes, or the number of the largest sum."""
    votes = [0] * members[0].topology.output_count
    for member in members:
        sums = slow_sums(member, row)
        for number, node in enumerate(member.topology.outputs):
            votes[number] += f(sums[node]) if reading == "signs" else sums[node]
    if reading == "signs":
        return tuple(f(vote) for vote in votes)
    return (votes.index(max(votes)),)


def slow_sums(network: qn.BinaryNetwork, row: Row) -> dict[int, int]:
    topology = network.topology
    spins, sums = dict.fromkeys(topology.inputs, 1) | dict(enumerate(row)), {}
    for level in topology.levels():
        for node in level.tolist():
            sums[node] = int(network.bias_spins[node - topology.input_count])
            for arc in range(topology.arc_count):
                if topology.target_of[arc] == node:
                    weight = int(network.weight_spins[topology.weight_of[arc]])
                    sums[node] += weight * spins[int(topology.source_of[arc])]
        spins |= {node: f(sums[node]) for node in level.tolist()}
    return sums


def slow_flips(members: list[qn.BinaryNetwork], row: Row, reading: Reading) -> int:
    """The fewest flips that change the class, by trying all; one more than inputs if none does."""
    own = slow_class(members, row, reading)
    for count in range(1, len(row) + 1):
        for flipped in combinations(range(len(row)), count):
            other = tuple(-spin if i in flipped else spin for i, spin in enumerate(row))
            if slow_class(members, other, reading) != own:
                return count
    return len(row) + 1


def all_inputs(count: int) -> list[Row]:
    return list(product((-1, 1), repeat=count))


def slow_bound(members: list[qn.BinaryNetwork], row: Row, reading: Reading) -> int:
    """The bound from margins, node by node and flip count by flip count."""
    never = len(row) + 1
    reach: dict[tuple[int, int], int] = {}
    spin: dict[tuple[int, int], int] = {}
    for m, member in enumerate(members):
        sums = slow_sums(member, row)
        for node in member.topology.inputs:  # the constant never changes
            reach[m, node], spin[m, node] = never, 1
        for node, value in enumerate(row):
            reach[m, node], spin[m, node] = 1, value
        for level in member.topology.levels():
            for node in level.tolist():
                spin[m, node] = f(sums[node])
            for node in level.tolist():
                sources = coefficients(member, node)
                need = sums[node] if sums[node] > 0 else 1 - sums[node]
                gains = {
                    (m, s): 2 * max(0, c * spin[m, s] * spin[m, node]) for s, c in sources.items()
                }
                reach[m, node] = fewest(gains, need, reach, len(row))
    bounds = [never]
    first = members[0].topology.outputs.start
    votes = [
        sum(
            spin[m, first + o] if reading == "signs" else slow_sums(member, row)[first + o]
            for m, member in enumerate(members)
        )
        for o in range(members[0].topology.output_count)
    ]
    winner = votes.index(max(votes))
    for o, vote in enumerate(votes):
        if reading == "signs":
            gains = {
                (m, first + o): 2 * (spin[m, first + o] == f(vote)) for m in range(len(members))
            }
            bounds.append(fewest(gains, vote if vote > 0 else 1 - vote, reach, len(row)))
        elif o != winner:
            gains = {}
            for m, member in enumerate(members):
                ours, theirs = (coefficients(member, first + n) for n in (winner, o))
                for s in ours.keys() | theirs.keys():
                    lead = (ours.get(s, 0) - theirs.get(s, 0)) * spin[m, s]
                    # an input is one and the same for all members
                    key = (0, s) if s < len(row) else (m, s)
                    gains[key] = gains.get(key, 0) + 2 * lead
            gains = {key: max(0, gain) for key, gain in gains.items()}
            bounds.append(fewest(gains, votes[winner] - vote + (o > winner), reach, len(row)))
    return min(bounds)


def coefficients(network: qn.BinaryNetwork, node: int) -> dict[int, int]:
    """Sums of the weights of parallel arcs into a node, by source."""
    found: dict[int, int] = {}
    for arc in network.topology.arcs_into(node).tolist():
        source = int(network.topology.source_of[arc])
        weight = int(network.weight_spins[network.topology.weight_of[arc]])
        found[source] = found.get(source, 0) + weight
    return found


def fewest(
    gains: dict[tuple[int, int], int], need: int, reach: dict[tuple[int, int], int], inputs: int
) -> int:
    for count in range(1, inputs + 1):
        direct = sorted((g for (_, s), g in gains.items() if s < inputs), reverse=True)[:count]
        hidden = [g for (m, s), g in gains.items() if s >= inputs and reach[m, s] <= count]
        if sum(direct) + sum(hidden) >= need:
            return count
    return inputs + 1
