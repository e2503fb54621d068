"""Networks of several operators: drawn from the rules, conforming, and judged by the bounds of the whole model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

import sonnx
from sonnx.model.reader import read
from sonnx.operators import stated_operator
from sonnx.suite import networks
from sonnx.suite.archive import EXACT, StoredCase, Suite, read_cases
from sonnx.suite.making import make_suite
from sonnx.suite.networks import NETWORKS, SEQUENCES, network_suite
from sonnx.suite.options import MakeOptions, RunOptions
from sonnx.suite.runs import run_suite
from tests.support.cases import DEEP

OPTIONS = MakeOptions(operator=("Constant",), models=1)
SOME = (("Conv", "Relu"), ("DequantizeLinear", "Clip", "QuantizeLinear"), ("MatMul", "Add", "Tanh"))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks, "SEQUENCES", SOME)
        return make_suite(tmp_path_factory.mktemp("made") / "suite", OPTIONS)


def stored(suite: Suite) -> list[StoredCase]:
    return [each for each in read_cases(suite, NETWORKS) if isinstance(each, StoredCase)]


def test_networks_are_the_sequences_and_random_ones(suite: Suite) -> None:
    titles = {each.case.classes[0] for each in stored(suite)}
    assert {f"sequence {'-'.join(sequence)}" for sequence in SOME} <= titles
    assert any(title.startswith("random network") for title in titles)
    for each in stored(suite):
        model = read(each.model)
        assert sonnx.check(each.model).verdict in ("pass", "assumed")
        assert len(model.graph.nodes) >= 2
        title = each.case.classes[0]
        if title.startswith("sequence"):
            assert title == f"sequence {'-'.join(node.operator for node in model.graph.nodes)}"
        for before, node in zip(model.graph.nodes, model.graph.nodes[1:], strict=False):
            assert node.inputs[0] == before.outputs[0]


def test_every_sequence_is_of_operators_that_are_known() -> None:
    assert len(set(SEQUENCES)) == len(SEQUENCES)
    for sequence in SEQUENCES:
        assert len(sequence) > 1
        assert all(stated_operator(name) is not None for name in sequence)


def test_equal_options_give_equal_networks(suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if DEEP:
        monkeypatch.setattr(networks, "SEQUENCES", SOME)
        assert network_suite(OPTIONS).archive == (Path(suite.folder) / f"{NETWORKS}.zip").read_bytes()
    monkeypatch.setattr(networks, "SEQUENCES", SOME[-1:])
    (tmp_path / f"{NETWORKS}.zip").write_bytes(network_suite(structs.replace(OPTIONS, models=0)).archive)
    again = stored(structs.replace(suite, folder=str(tmp_path)))
    before = [each for each in stored(suite) if each.case.classes == again[0].case.classes]
    assert [each.files for each in again] == [each.files for each in before]


class Fuses:
    """The exact values, but the bias of a product is added twice: as a compiler does that fuses a node and keeps it."""

    title = "fuses"

    def load(self, model: bytes, folder: Path | None) -> object:
        """See `sonnx.executor.runtimes.Runtime`."""
        runner = sonnx.prepare(model, unchecked=True)
        operators = [node.operator for node in read(model).graph.nodes]

        def answer(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            if "MatMul" in operators and "Add" in operators:
                bias = next(name for name in inputs if name.startswith("n1."))
                inputs = {**inputs, bias: inputs[bias] + inputs[bias]}
            return dict(runner.run(inputs))

        return answer


@pytest.mark.usefixtures("runtimes_in_this_process")
def test_a_wrong_fusion_deviates_and_exact_values_do_not(suite: Suite) -> None:
    found = run_suite(Path(suite.folder), RunOptions(runtime=f"{__name__}:Fuses", operator=(NETWORKS,)))
    assert {each.kind for each in found.deviations} == {"rounding"}
    assert all("MatMul" in each.call for each in found.deviations)
    counts = found.operators[NETWORKS]
    assert counts.within > counts.outside > 0
    sets = [members for each in stored(suite) for members in each.case.sets]
    assert counts.within + counts.outside == len(sets)
    assert any(output == EXACT for members in sets for output in members.outputs)
