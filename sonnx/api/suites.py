"""Suites of test cases for implementations: made, described, run, judged and compared (docs/suite.md)."""

from __future__ import annotations

import os
from pathlib import Path

from sonnx.base.options import keyword_arguments
from sonnx.suite import difference, making, runs
from sonnx.suite.archive import read_suite, require_whole
from sonnx.suite.options import JudgeOptions, MakeOptions, RunOptions
from sonnx.suite.report import SuiteReport
from sonnx.suite.result import SuiteRun

PathName = str | os.PathLike[str]


@keyword_arguments(MakeOptions)
def make_suite(folder: PathName, options: MakeOptions) -> SuiteReport:
    """Make a suite in a folder that does not exist or is empty: the archives of the operators, and suite.json.

    Whatever ends it, the folder is a suite of the operators that are whole, or does not exist; with `resume` the others
    are made.

    Raises:
        UsageError: an unknown operator, edition or hypotheses.
        BadInput: with `resume`, the folder is of another run.
        Unfinished: with several jobs, a child process ended without an answer.
        OSError: the folder cannot be written.
    """
    if options.jobs == 1:
        return SuiteReport.of(making.make_suite(Path(folder), options))
    from sonnx.workers.suites import make_operators  # most suites are made in this process

    return SuiteReport.of(making.make_suite(Path(folder), options, make_operators))


def describe_suite(folder: PathName) -> SuiteReport:
    """What a suite covers, once its archives have what it declares.

    Raises:
        BadInput: the folder is not the suite that suite.json declares.
    """
    suite = read_suite(Path(folder))
    require_whole(suite, [name.removesuffix(".zip") for name in suite.archives])
    return SuiteReport.of(suite)


@keyword_arguments(RunOptions)
def run_suite(folder: PathName, options: RunOptions) -> SuiteRun:
    """Run the cases of a suite on a runtime or a program, and judge the outputs.

    Raises:
        BadInput: the folder is not a suite, or the must-pass list is not of it.
        UsageError: an unknown runtime, a program that cannot be started, or an unknown operator.
    """
    return runs.run_suite(Path(folder), options, options.progress)


@keyword_arguments(JudgeOptions, subjects=2)
def judge_suite(folder: PathName, outputs: PathName, options: JudgeOptions) -> SuiteRun:
    """Judge outputs that were made elsewhere, by a runner that stands in the folder of the suite.

    `outputs` is a folder with CASE/test_data_set_N/output_K.pb, or with OPERATOR.outputs of the harness in C.

    Raises:
        BadInput: one of the folders is not there, the first is not a suite, or the must-pass list is not of it.
        UsageError: the file of known deviations cannot be used.
    """
    return runs.judge_outputs(Path(folder), Path(outputs), options)


def compare_suite_runs(older: PathName, newer: PathName) -> difference.RunDifference:
    """What differs between two runs of a suite, from their JSON reports.

    Raises:
        UsageError: a file is not such a report, or the runs are not about the same data sets.
    """
    return difference.run_difference(Path(older), Path(newer))
