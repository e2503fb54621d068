"""`prove` and `prove_theorems`: a model or the profile in, a typed result out."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sonnx.base.options import keyword_arguments
from sonnx.model.sources import Source, path_or_bytes
from sonnx.prover.model_walk import prove_model
from sonnx.prover.options import ProofOptions, QuestionOptions, TheoremOptions
from sonnx.report.model_proof import ProofReport
from sonnx.report.theorems import TheoremReport
from sonnx.workers import certificates, theorems
from sonnx.workers.tasks import WorkPlace
from sonnx.workers.theorem_questions import question_files


@keyword_arguments(ProofOptions)
def prove(source: Source, options: ProofOptions) -> ProofReport:
    """Prove or refute that the rules about the nodes of a model hold for all values of its symbolic dimensions.

    Calls in several threads wait for each other. A thread that uses z3 itself must not do so beside them.

    Raises:
        UsageError: an unknown edition, a solver that is not installed, a folder for proofs that has files, or an
            assumption that does not parse, names no symbol of the model, or cannot hold.
    """
    if options.proofs is not None:
        certificates.require_usable(options.proofs)
    kept = options.questions or options.emit_smt2 is not None or options.proofs is not None
    proof = prove_model(path_or_bytes(source), replace(options, questions=kept))
    place = WorkPlace(options.jobs, timeout=options.timeout)
    questions = certificates.questions_of_model(proof.questions)
    if options.emit_smt2 is not None:
        certificates.write_questions(questions, options.emit_smt2)
    return ProofReport.of(proof, written_proofs=_written_proofs(questions, options, place))


@keyword_arguments(TheoremOptions, subjects=0)
def prove_theorems(options: TheoremOptions) -> TheoremReport:
    """Prove the theorems about the profile, those of `select` or all; an interrupt ends it with the results so far.

    With `emit_smt2` the folder gets every question and the question whether its hypotheses can hold, or after an
    interrupt none.

    Raises:
        UsageError: an unknown theorem or topic, a solver that is not installed, a folder for proofs that has files, or
            a cluster that cannot be used.
    """
    selected = theorems.select(tuple(options.select))
    place = WorkPlace(options.jobs, options.cluster, options.timeout)
    written = ""
    if options.proofs is not None:
        certificates.require_usable(options.proofs)
        written = _written_proofs(certificates.certified_questions(selected), options, place)
    cache = None if options.no_cache else options.cache or theorems.usual_folder()
    with question_files(options.emit_smt2) as files:
        results, interrupted = theorems.prove_theorems(
            selected, options.solver, cache, place, options.progress, recorded=not options.no_cache, files=files
        )
        if files is not None and not interrupted:
            files.complete(selected, options.progress)
    return TheoremReport(results, interrupted=interrupted, written_proofs=written)


def _written_proofs(
    questions: Sequence[certificates.CertifiedQuestion], options: QuestionOptions, place: WorkPlace
) -> str:
    """Write the proofs that are asked for; how many questions have one, "" if none is asked for."""
    if options.proofs is None:
        return ""
    return certificates.summary(certificates.write_certificates(questions, options.proofs, place, options.progress))
