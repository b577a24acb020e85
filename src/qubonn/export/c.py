"""to_c: a model as one C99 header, for processors with little memory and no floating point.

BinaryNetwork, Committee or QuboClassifier -> C source.  Paper, eq:activation.
"""

import os
from collections.abc import Iterator

import numpy as np

from qubonn import __version__
from qubonn.checks import require_count
from qubonn.export import c_template as template
from qubonn.export.c_binarise import Inputs, binarising
from qubonn.export.c_layout import WORD, Layout, layout_of, packed, word_count
from qubonn.export.c_text import (
    Section,
    Table,
    comment,
    identifier,
    string_literal,
    words_table,
)
from qubonn.export.model import Classes, Exported, exported
from qubonn.storage import write_whole

LONGEST_LIST = 80  # of a name, or of labels, in the comment at the top
SUM = "(int32_t)step->fan_in + 2 * (int32_t)bias - 1 - 2 * (int32_t)disagreements"
VOTE = {"network": SUM, "signs": "fires ? 1 : -1", "largest": SUM}
VOTES_ARE = {
    "network": "bias plus weighted sum",
    "signs": "members that say +1 minus members that say -1",
    "largest": "bias plus weighted sum, added up over all members",
}
WHAT = {
    "network": "A network of -1 and +1",
    "signs": "A committee of {} networks of -1 and +1 that vote on each output",
    "largest": "A committee of {} networks of -1 and +1 that add up their outputs",
}
OUTPUTS_ARE = {
    "network": "+1 where the vote is positive",
    "signs": "+1 where the vote is positive, -1 at a tie",
    "largest": "+1 for the first largest vote only",
}


def to_c(
    model: object,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "model",
    inputs: Inputs = "bits",
    scale: int = 1,
    with_main: bool = False,
) -> str:
    """Return a model as a C99 header, and write it to `path` if one is given.

    The model is a `BinaryNetwork`, a `Committee` or a fitted `QuboClassifier` without cycles. Every
    identifier in the header begins with `name`, made into one. Its functions take inputs as bits,
    32 to a word; `inputs` adds a function that makes these bits out of whole numbers of that type,
    which are `scale` times the features that the classifier was fitted to. `with_main` adds a
    program that reads examples, for ``gcc -x c -DMODEL_MAIN model.h``.

    >>> import qubonn as qn
    >>> network = qn.BinaryNetwork.random(qn.Topology.dense(25, 3, 2), seed=0)
    >>> print(qn.to_c(network, name="letters")[:13])
    /*
     * letters
    """
    parts, prefix = exported(model), identifier(name)
    layout = layout_of(parts.topology)
    sections = [
        _running(parts, layout),
        *_sections(parts, inputs, require_count("scale", scale), with_main),
    ]
    table_bytes = sum(table.byte_count for section in sections for table in section.tables)
    head = _head(parts, layout, name, table_bytes)
    source = "".join(section.text(prefix) for section in [head, *sections])
    if path is not None:
        write_whole(path, source.encode("ascii"))
    return source


def _sections(model: Exported, inputs: Inputs, scale: int, with_main: bool) -> Iterator[Section]:
    """Yield what is made of the votes, and what is made into inputs."""
    by_largest = model.reading == "largest"
    yield Section(template.OUTPUTS_BY_LARGEST if by_largest else template.OUTPUTS_BY_SIGNS)
    yield _class_by_evidence(model.classes) or Section(template.CLASS_BY_VOTES)
    yield Section(template.PREDICTION)
    reading = Section(template.READ_BITS)
    if inputs != "bits":
        binariser, reading = binarising(model, inputs, scale)
        yield binariser
    if model.classes is not None:
        lines = [f"        {string_literal(label)}" for label in model.classes.labels]
        yield Section(template.LABELS, {"labels": ",\n".join(lines)})
    if with_main:
        yield Section(template.MAIN.replace("$reading", reading.template), reading.fields)
    yield Section(template.FOOT)


def _kind(model: Exported) -> str:
    return model.reading if model.is_committee else "network"


def _head(model: Exported, layout: Layout, name: str, table_bytes: int) -> Section:
    topology = model.topology
    outputs = topology.output_count
    patch_words = max(layout.patch_words, 1)
    stack_bytes = WORD // 8 * (layout.state_words + patch_words + outputs)
    facts = _facts(model, layout, table_bytes, stack_bytes)
    fields = {
        "title": comment(name[:LONGEST_LIST]),
        "what": WHAT[_kind(model)].format(model.member_count),
        "facts": "\n".join(f" * {what:<11} {value}" for what, value in facts.items()),
        "version": __version__,
        "input_count": topology.input_count,
        "input_words": layout.input_words,
        "output_count": outputs,
        "output_words": word_count(outputs),
        "class_count": outputs if model.classes is None else len(model.classes.labels),
        "member_count": model.member_count,
        "state_words": layout.state_words,
        "patch_words": patch_words,
        "table_bytes": table_bytes,
        "stack_bytes": stack_bytes,
    }
    return Section(template.HEAD, fields)


def _facts(model: Exported, layout: Layout, table_bytes: int, stack_bytes: int) -> dict[str, str]:
    """Return what people want to know before they compile it."""
    inputs, outputs = model.topology.input_count, model.topology.output_count
    facts = {
        "network": comment(repr(model.topology)),
        "inputs": f"{_some(inputs, 'bit')} in {_some(layout.input_words, 'word')}: input i is bit "
        "i % 32 of word i / 32, 1 for +1, 0 for -1",
        "outputs": f"{_some(outputs, 'bit')} in {_some(word_count(outputs), 'word')} likewise: "
        f"{OUTPUTS_ARE[_kind(model)]}",
        "parameters": f"{model.parameter_count:,} weights and biases of one bit",
        "flash": f"{_some(table_bytes, 'byte')} of tables, and the code",
        "RAM": f"{_some(stack_bytes, 'byte')} of arrays on the stack; nothing static or allocated",
    }
    if model.classes is not None:
        facts["classes"] = comment(", ".join(model.classes.labels)[:LONGEST_LIST])
    return facts


def _running(model: Exported, layout: Layout) -> Section:
    """The tables of the networks, and the code that runs them."""
    is_small = layout.largest_number < 1 << 16
    index = ("uint16_t", 2) if is_small else ("uint32_t", 4)
    weights = packed(model.weight_spins, layout.weight_numbers)
    biases = packed(model.bias_spins, layout.bias_numbers)
    per_member = "{:,} words for each member"
    tables = (
        Table("_step", "steps", layout.records, field_bytes=index[1]),
        Table("_run", "runs", layout.runs, field_bytes=index[1]),
        Table("_index", "output_of", layout.output_of, field_bytes=index[1]),
        words_table("weights", weights, per_member.format(weights.shape[1])),
        words_table("biases", biases, per_member.format(biases.shape[1])),
    )
    used = (model.topology.input_count - 1) % WORD + 1
    fields = {
        "index_type": index[0],
        "vote": VOTE[_kind(model)],
        "votes_are": VOTES_ARE[_kind(model)],
        "last_input_mask": f"0x{(1 << used) - 1:08X}",
        "weight_words": weights.shape[1],
        "bias_words": biases.shape[1],
    }
    return Section(template.TABLES + template.RUNNING, fields, tables)


def _class_by_evidence(classes: Classes | None) -> Section | None:
    if classes is None or classes.evidence is None:
        return None
    spin_count = classes.codewords.shape[1]
    numbers = np.full(WORD * word_count(spin_count), -1)
    numbers[:spin_count] = np.arange(spin_count)
    tables = (
        Table("int32_t", "evidence", classes.evidence, "of an output, by members that say +1"),
        words_table("codewords", packed(classes.codewords, numbers), "outputs of each class"),
    )
    return Section(template.CLASS_BY_EVIDENCE, tables=tables)


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
