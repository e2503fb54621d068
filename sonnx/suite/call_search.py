"""The search for calls: models of conditions in which, taken together, all terms hold that can."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import z3

from sonnx.numerics.formats import Array
from sonnx.prover.counterexample import value_of
from sonnx.prover.solvers import script
from sonnx.suite.bounded import BitQuestions, Unbounded, divides, signed
from sonnx.suite.classes import Literal

EFFORT = 20_000_000
"""Steps of the solver for one class."""
EFFORT_OF_PAIR = 400_000
"""Steps of the solver for a pair of classes."""
EFFORT_OF_PAIRS = 60_000_000
"""Steps of the solver for all pairs of classes of one version together; what is left then is not asked."""
PAIRS_BETWEEN_PROGRESS = 200
"""Pairs that are asked between two lines of progress."""
CLASS = "class."
"""What the names of the conditions that a class occurs begin with."""
SATISFIABLE, UNSATISFIABLE, UNKNOWN = "satisfiable", "unsatisfiable", "unknown"


@dataclass(frozen=True, slots=True)
class PairDecisions:
    """Two tables of pairs of classes, by their numbers: those that cannot occur, and those that were not asked."""

    impossible: Array
    not_asked: Array


class CallSearch:
    """Conditions in their own context of the solver, so that the models do not depend on earlier questions."""

    def __init__(
        self,
        conditions: Iterable[z3.BoolRef],
        literals: Sequence[Literal],
        preferred: Sequence[z3.BoolRef],
        questions: BitQuestions,
    ) -> None:
        conditions, terms = [*conditions], [*(literal.term for literal in literals), *preferred]
        self.context = z3.Context()
        self.solver = z3.SimpleSolver(ctx=self.context)
        if divides(conditions):
            with suppress(Unbounded):
                conditions, terms = questions.as_bits(conditions, terms)
                self.solver = z3.SolverFor("QF_BV", ctx=self.context)
                # Questions are many and small: to simplify the clauses before each takes longer than to answer it.
                self.solver.set("simplify.delay", EFFORT)
        defined = [z3.Bool(f"{CLASS}{number}") == term for number, term in enumerate(terms[: len(literals)])]
        liked = [z3.Bool(f"preferred.{number}") == term for number, term in enumerate(terms[len(literals) :])]
        self.solver.set("rlimit", EFFORT)
        self.solver.from_string(script([*conditions, *defined, *liked]))
        self.preferred = [z3.Bool(f"preferred.{number}", self.context) for number in range(len(preferred))]
        self.terms = [z3.Bool(f"{CLASS}{number}", self.context) for number in range(len(literals))]
        self.agreeing: list[z3.BoolRef] | None = None
        """The preferred conditions that hold together, each in turn where possible."""

    def cover(
        self, combinations_to_cover: Iterable[tuple[int, ...]]
    ) -> tuple[dict[int, str], list[tuple[Mapping[str, int], list[int]]]]:
        """For each literal the answer; models in which all satisfiable combinations occur, each with its literals."""
        answers: dict[int, str] = {}
        models: list[tuple[Mapping[str, int], list[int]]] = []
        for combination in combinations_to_cover:
            if any(set(combination) <= set(members) for _, members in models) or any(
                answers.get(number) == UNSATISFIABLE for number in combination
            ):
                continue
            model = self._preferably([self.terms[number] for number in combination])
            if isinstance(model, z3.ModelRef):
                models.append(self._values(model))
                answers |= dict.fromkeys(models[-1][1], SATISFIABLE)
            elif len(combination) == 1:
                answers[combination[0]] = UNSATISFIABLE if model == z3.unsat else UNKNOWN
        return answers, models

    def cover_pairs(
        self,
        possible: Sequence[int],
        models: list[tuple[Mapping[str, int], list[int]]],
        progress: Callable[[str], None],
    ) -> PairDecisions:
        """Add models until every pair of these literals occurs that can, then remove those that are not needed.

        Pairs are asked as long as `EFFORT_OF_PAIRS` lasts; those that the solver does not decide are in no table.
        """
        occurs = np.zeros((len(self.terms), len(self.terms)), np.int64)
        impossible, not_asked = (np.zeros(occurs.shape, np.bool_) for _ in range(2))
        for _, members in models:
            occurs[np.ix_(members, members)] += 1
        self.solver.set("rlimit", EFFORT_OF_PAIR)
        is_spent, before, total = False, self._steps(), len(possible) * (len(possible) - 1) // 2
        for number, (one, other) in enumerate(combinations(possible, 2)):
            if number % PAIRS_BETWEEN_PROGRESS == 0:
                progress(f"pairs of classes, {number} of {total}")
            if occurs[one, other]:
                continue
            is_spent = is_spent or self._steps() - before > EFFORT_OF_PAIRS
            if is_spent:
                not_asked[one, other] = True
                continue
            model = self._preferably([self.terms[one], self.terms[other]])
            if isinstance(model, z3.ModelRef):
                models.append(self._values(model))
                occurs[np.ix_(models[-1][1], models[-1][1])] += 1
            impossible[one, other] = model == z3.unsat
        for example in sorted(models, key=lambda example: len(example[1])):
            places = np.ix_(example[1], example[1])
            if (occurs[places] > 1).all():
                occurs[places] -= 1
                models.remove(example)
        return PairDecisions(impossible, not_asked)

    def _steps(self) -> int:
        """The steps that the solver has taken."""
        statistics = self.solver.statistics()
        known = statistics.keys()
        return int(statistics.get_key_value("rlimit count")) if "rlimit count" in known else 0

    def _preferably(self, terms: Sequence[z3.BoolRef]) -> z3.ModelRef | z3.CheckSatResult:
        """A model of the terms that also satisfies the preferred conditions, each in turn where possible; the answer of
        the solver where there is none.
        """
        if self.agreeing is None:
            self.agree()
        agreeing = self.agreeing or []
        # Where the terms hold with all conditions that agree without them, these are the ones that a turn would keep.
        answer = self.solver.check(*terms, *agreeing)
        if answer == z3.sat:
            return self.solver.model()
        if answer == z3.unsat and not {term.get_id() for term in agreeing} & {
            term.get_id() for term in self.solver.unsat_core()
        }:
            return answer
        answer = self.solver.check(*terms)
        return self._with_preferred(terms)[0] if answer == z3.sat else answer

    def _with_preferred(self, terms: Sequence[z3.BoolRef]) -> tuple[z3.ModelRef, list[z3.BoolRef]]:
        """A model as `_preferably` gives it, and the preferred conditions that it was asked to satisfy; the last answer
        of the solver was a model of the terms.
        """
        model, kept = self.solver.model(), list[z3.BoolRef]()
        for liked in self.preferred:
            if z3.is_true(model[liked]):
                kept.append(liked)
            elif self.solver.check(*terms, *kept, liked) == z3.sat:
                model = self.solver.model()
                kept.append(liked)
        return model, kept

    def agree(self) -> Mapping[str, int]:
        """Decide which preferred conditions agree; the values of a model in which they hold, none without a model."""
        self.agreeing = []
        if self.solver.check() != z3.sat:
            return {}
        model, self.agreeing = self._with_preferred([])
        return self._values(model)[0]

    def preferred_model(self) -> Mapping[str, int] | None:
        """The values of a model that satisfies the preferred conditions, each in turn where possible."""
        model = self._preferably([])
        return self._values(model)[0] if isinstance(model, z3.ModelRef) else None

    def any(self) -> list[tuple[Mapping[str, int], list[int]]]:
        """One model, if there is one."""
        return [self._values(self.solver.model())] if self.solver.check() == z3.sat else []

    def _values(self, model: z3.ModelRef) -> tuple[Mapping[str, int], list[int]]:
        """The values of a model by name, and the literals that hold in it."""
        values, members = dict[str, int](), list[int]()
        ref = self.context.ref()
        for place in range(z3.Z3_model_get_num_consts(ref, model.model)):
            declared = z3.Z3_model_get_const_decl(ref, model.model, place)
            name: str = z3.Z3_get_symbol_string(ref, z3.Z3_get_decl_name(ref, declared))
            if name.startswith(CLASS):  # without objects of Python for the many values
                value = z3.Z3_model_get_const_interp(ref, model.model, declared)
                if z3.Z3_get_bool_value(ref, value) == z3.Z3_L_TRUE:
                    members.append(int(name.removeprefix(CLASS)))
            elif not name.startswith(("preferred.", "bits.")):
                values[name] = value_of(signed(model[z3.FuncDeclRef(declared, self.context)]))
        return dict(sorted(values.items())), sorted(members)
