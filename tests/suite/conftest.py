"""Suites that several modules of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonnx.suite.archive import Suite
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
