"""What a certificate of a theorem costs in place of the answers of solvers: its size, and processor time.

python -m benchmarks.certificates [QUESTIONS]

A sample of the different questions about integers.  Times to check need Ethos: its program in ETHOS, the file Cpc.eo
of cvc5 in CPC_SIGNATURE (docs/certificates.md); without them they are left out.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

from sonnx.proofs import registry
from sonnx.prover import solvers
from sonnx.prover.certificates import CertifiedQuestion, certificate, certified_questions
from tests.support.ethos import verdict

SEED = 3


def spent() -> float:
    """Processor seconds of this process and of its children."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def sample(count: int) -> list[CertifiedQuestion]:
    """So many different questions about integers of theorems taken by chance."""
    drawn = random.Random(SEED)
    found = [theorem for theorem in registry.theorems() if theorem.expected == "proved" and theorem.sort == "int"]
    drawn.shuffle(found)
    texts: dict[str, CertifiedQuestion] = {}
    for theorem in found:
        texts |= {question.text: question for question in certified_questions([theorem])}
        if len(texts) > 3 * count:
            break
    return drawn.sample(sorted(texts.values(), key=lambda question: question.name), min(count, len(texts)))


def main() -> None:
    """Print a line for the sample."""
    questions = sample(int(sys.argv[1]) if len(sys.argv) > 1 else 80)
    checked = {"ETHOS", "CPC_SIGNATURE"} <= os.environ.keys()
    times, proofs, size, missing = dict.fromkeys(("z3", "cvc5", "made", "checked"), 0.0), 0, 0, 0
    with TemporaryDirectory() as folder:
        for question in questions:
            begun = spent()
            for name in ("z3", "cvc5"):
                solvers.ask(name, question.text, small=False)
                times[name], begun = times[name] + spent() - begun, spent()
            made = certificate("question", question.text)
            times["made"], begun = times["made"] + spent() - begun, spent()
            if made.missing:
                missing += 1
                continue
            proofs, size = proofs + 1, size + len(made.proof)
            if checked:
                Path(folder, "question.smt2").write_text(question.text, "utf-8")
                proof = Path(folder, "question.cpc")
                proof.write_text(made.proof, "utf-8")
                begun = spent()
                said = verdict(proof)
                times["checked"] += spent() - begun
                if said != "correct":
                    raise SystemExit(f"{question.name}: {said}")
    shown = {name: f"{1000 * seconds / len(questions):.0f} ms" for name, seconds in times.items()}
    print(
        f"{len(questions)} questions, {missing} without a proof; for one: z3 answers in {shown['z3']}, cvc5 in "
        f"{shown['cvc5']}, its proof is made in {shown['made']} and has {size / max(proofs, 1) / 1000:.0f} kB, "
        f"Ethos checks it in {shown['checked'] if checked else '(not measured)'}"
    )


if __name__ == "__main__":
    main()
