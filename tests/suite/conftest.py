"""Suites that several modules of this folder use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sonnx.profile.definitions import OperatorDefinition
from sonnx.suite.archive import Suite
from sonnx.suite.cases import OperatorSuite
from sonnx.suite.making import Keep, MakeOperators, make_suite
from sonnx.suite.options import MakeOptions
from tests.support.shared_suites import shared_suite, with_few_cases


@pytest.fixture(scope="session")
def relu(shared_folder: Path) -> Suite:
    """The suite of Relu."""
    return shared_suite(shared_folder, "Relu")


@pytest.fixture(scope="session")
def few_of_relu(relu: Suite, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A sixth of the cases of Relu."""
    return with_few_cases(relu, tmp_path_factory.mktemp("few") / "suite", every=6)


@pytest.fixture(scope="session")
def arg_max(shared_folder: Path) -> Suite:
    """The suite of ArgMax."""
    return shared_suite(shared_folder, "ArgMax")


@pytest.fixture(scope="session")
def constant(shared_folder: Path) -> Suite:
    """The suite of Constant, which has few cases."""
    return shared_suite(shared_folder, "Constant")


@pytest.fixture(scope="session")
def copied_parts(shared_folder: Path) -> MakeOperators:
    """What makes operators with the default options by copying their parts from the shared suites."""

    def make(chosen: Sequence[OperatorDefinition], options: MakeOptions, keep: Keep) -> None:
        for described in chosen:
            suite = shared_suite(shared_folder, described.name)
            keep(
                described.name, OperatorSuite(suite.parts, (Path(suite.folder) / f"{described.name}.zip").read_bytes())
            )

    return make


@pytest.fixture(scope="session")
def of_two(copied_parts: MakeOperators, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """The suite of Constant and Neg."""
    folder = tmp_path_factory.mktemp("two") / "suite"
    return make_suite(folder, MakeOptions(operator=("Constant", "Neg")), copied_parts)
