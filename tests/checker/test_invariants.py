"""What holds of every report, whatever the model: repeatable, adding up, blind to names and to order, never a crash."""

from __future__ import annotations

from collections import Counter

import onnx
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonnx
from sonnx.checker.report import Report
from sonnx.checker.verdicts import Verdict
from sonnx.evidence.verification import model_bytes
from sonnx.model.reader import read
from sonnx.model.scopes import scopes
from sonnx.profile.cases import all_cases
from sonnx.profile.catalogue import editions, general_rules, graph_rules
from tests.support.cases import each_case, examples, spread
from tests.support.editions import NEWEST
from tests.support.invariants import BAD, GOOD, INDEPENDENT, harmless, one_sentence

EDITIONS = (NEWEST, "2025-10", "2025-11")


@pytest.fixture(scope="module")
def checked():
    """Cases as files, each with its reports by edition; the first is the default."""
    made = []
    for case in spread(all_cases(), 100):
        data = model_bytes(case)
        made.append((case.id, data, {edition: sonnx.check(data, edition=edition) for edition in EDITIONS}))
    assert EDITIONS[0] == editions().default
    return made


def numbers(report: Report) -> Counter:
    return Counter({(count.rule, count.verdict): count.number for count in report.counts})


def totals(report: Report) -> Counter:
    found: Counter = Counter()
    for count in report.counts:
        found[count.rule] += count.number
    return found


def test_same_model_same_report(checked):
    for name, data, reports in spread(checked, 40):
        assert repr(sonnx.check(data)) == repr(reports[EDITIONS[0]]), name


def test_counts_add_up(checked):
    """Each rule answers once for each of its subjects, and every answer that is not quiet is a finding."""
    for name, data, reports in checked:
        counts_add_up(name, reports[EDITIONS[0]], read(data))


def counts_add_up(name, report, model):
    asked, known = totals(report), editions()
    nodes = [node for scope in scopes(model) for node in scope.graph.nodes]
    assert report.coverage.nodes == len(nodes), name
    for rule in graph_rules():
        if rule.subject == "node" and known.in_force(rule, known.editions[known.default].general):
            assert asked[rule.slug] == len(nodes), (name, rule.slug)
    about_values = {rule.slug for rule in general_rules() if rule.subject == "value"}
    values = {asked[slug] for slug in about_values - {"no-sparse-tensor"}}  # which speaks of attributes too
    if not model.functions:
        assert len(values) == 1, name
    loud = Counter(finding.rule for finding in report.findings)
    quiet = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    for rule in asked:
        assert loud[rule] == sum(c.number for c in report.counts if c.rule == rule and c.verdict not in quiet), name
    assert report.verdict is Verdict.PASS or loud, name


def renamed(data: bytes) -> onnx.ModelProto:
    """The model with a suffix on every value's name, in all graphs."""
    model = onnx.ModelProto.FromString(data)

    def graph(it):
        for value in (*it.input, *it.output, *it.value_info, *it.initializer):
            value.name = value.name and f"renamed_{value.name}"
        for sparse in it.sparse_initializer:
            sparse.values.name = f"renamed_{sparse.values.name}"
        for annotation in it.quantization_annotation:
            annotation.tensor_name = f"renamed_{annotation.tensor_name}"
            for parameter in annotation.quant_parameter_tensor_names:
                parameter.value = f"renamed_{parameter.value}"
        nodes(it.node)

    def nodes(those):
        for node in those:
            for names in (node.input, node.output):
                names[:] = [name and f"renamed_{name}" for name in names]
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    graph(attribute.g)
                for one in attribute.graphs:
                    graph(one)
            for configuration in node.device_configurations:
                for spec in configuration.sharding_spec:
                    spec.tensor_name = spec.tensor_name and f"renamed_{spec.tensor_name}"

    graph(model.graph)
    for training in model.training_info:
        graph(training.initialization)
        graph(training.algorithm)
        for binding in (*training.initialization_binding, *training.update_binding):
            binding.key, binding.value = f"renamed_{binding.key}", f"renamed_{binding.value}"
    for function in model.functions:
        for names in (function.input, function.output):
            names[:] = [f"renamed_{name}" for name in names]
        for value in function.value_info:
            value.name = f"renamed_{value.name}"
        nodes(function.node)
    return model


def test_names_of_values_do_not_matter(checked):
    for name, data, reports in checked:
        other = renamed(data).SerializeToString()
        assert numbers(reports[EDITIONS[0]]) == numbers(sonnx.check(other)), name


@settings(max_examples=examples(15, 40))
@given(st.permutations(range(5)))
def test_the_order_of_independent_nodes_does_not_matter(order):
    model = onnx.parser.parse_model(INDEPENDENT)
    expected = numbers(sonnx.check(model.SerializeToString()))
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes[index] for index in order)
    assert numbers(sonnx.check(model.SerializeToString())) == expected


def test_editions_only_differ_in_what_they_demand(checked):
    """What is invalid ONNX under one edition is invalid under every other."""
    for name, _, reports in checked:
        one, other = (
            {finding.rule for finding in reports[edition].findings if finding.breaks_onnx}
            for edition in ("2025-10", "2025-11")
        )
        assert one == other, name


# ------------------------------------------------------------------ messages


def shown(report: Report):
    """Everything of a report that is a sentence, or is printed as it stands."""
    for finding in report.findings:
        yield from (finding.actual, finding.requires, finding.where.place)
    for count in report.counts:
        yield count.reason
    yield from report.notes


def test_messages_print(checked):
    for name, _, reports in checked:
        for report in reports.values():
            assert all(map(harmless, {*shown(report)})), name


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_bad_bytes_are_unreadable(data, tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(data)
    for source in (data, path):
        with pytest.raises(sonnx.Unreadable) as said:
            sonnx.check(source)
        assert one_sentence(str(said.value))


def test_no_file_and_no_model(tmp_path):
    for path in (tmp_path, tmp_path / "missing.onnx", tmp_path / "no\x1b[31m.onnx", tmp_path / "\0"):
        with pytest.raises(sonnx.Unreadable) as said:
            sonnx.check(path)
        assert one_sentence(str(said.value))


SMALL = [GOOD] + [
    model_bytes(case) for case in all_cases() if case.title in ("a nested graph captures names", "axes as an input")
]


@settings(max_examples=examples(70, 300))
@given(data=st.data())
@each_case("model", SMALL, ids=["nodes", "nested", "constant"])
def test_damaged_models_never_crash(model, data):
    damaged = bytearray(model)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        match data.draw(st.integers(0, 3)):
            case 0:
                damaged[at] = data.draw(st.integers(0, 255))
            case 1:
                damaged[at] ^= 1 << data.draw(st.integers(0, 7))
            case 2:
                del damaged[at : at + data.draw(st.integers(1, 6))]
            case _:
                damaged[at:at] = data.draw(st.binary(min_size=1, max_size=6))
        if not damaged:
            return
    try:
        report = sonnx.check(bytes(damaged))
    except sonnx.Unreadable as error:
        assert harmless(str(error))
        return
    assert all(map(harmless, shown(report)))
