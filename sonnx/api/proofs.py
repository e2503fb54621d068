"""`prove`: a model in, a typed result out."""

from __future__ import annotations

from msgspec.structs import asdict

from sonnx.base.options import keyword_arguments
from sonnx.model.sources import Source, encoded
from sonnx.prover.model_walk import prove_model
from sonnx.prover.options import ProofOptions
from sonnx.report.model_proof import ProofReport


@keyword_arguments(ProofOptions)
def prove(source: Source, options: ProofOptions) -> ProofReport:
    """Prove or refute that the rules about the nodes of a model hold for all values of its symbolic dimensions.

    Calls in several threads wait for each other. A thread that uses z3 itself must not do so beside them.

    Raises:
        UsageError: an unknown edition, a solver that is not installed, or an assumption that does not parse, names no
            symbol of the model, or cannot hold.
    """
    return ProofReport.of(prove_model(encoded(source), **asdict(options)))
