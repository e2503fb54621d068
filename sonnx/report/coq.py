"""The profile in Coq: every condition of every operator, version and edition, as terms of `proofs/coq/syntax.v`.

With them stand the questions that `proofs/coq/theorems.v` decides, and what each edition says of the operators, as
`proofs/coq/model.v` has it, for the program that is extracted from the formalization.
"""

from __future__ import annotations

from itertools import count

from sonnx.language.coq import text
from sonnx.profile import catalogue
from sonnx.proofs import coq_questions
from sonnx.report.coq_editions import EDITIONS, edition_lines
from sonnx.report.coq_format import FORMAT, format_lines
from sonnx.report.coq_rules import edition_signatures, rule_terms
from sonnx.report.coq_schemas import SCHEMAS, schema_lines

RULES = "rules.v"
HEAD = """\
(* The rules of the profile, written by `sonnx export coq`: to change them, change the profile. *)
From Coq Require Import ZArith QArith String List.
From Sonnx Require Import syntax.
Import ListNotations.
Open Scope Z_scope.
Open Scope string_scope.

"""


def files(name: str | None = None) -> dict[str, str]:
    """The files of the export by name; with `name` the rules of that edition only, and no questions about them.

    Raises:
        UsageError: an unknown edition.
    """
    editions = sorted(catalogue.editions().editions) if name is None else [catalogue.edition_named(name).name]
    different: dict[str, str] = {}
    numbers = count(1)
    rules_of_calls: dict[str, list[str]] = {}
    for edition in editions:
        for candidate in edition_signatures(edition):
            rules_of_calls[f"{edition} {candidate.operator} {candidate.version}"] = [
                different.setdefault(rule, f"rule_{next(numbers)}") if rule not in different else different[rule]
                for rule in rule_terms(candidate)
            ]
    definitions = "".join(f"Definition {name} := {word}.\n" for word, name in different.items())
    entries = ";\n".join(f"  ({text(key)}, [{'; '.join(names)}])" for key, names in rules_of_calls.items())
    text_of_rules = f"{HEAD}{definitions}\nDefinition catalogue : list (string * list rule) := [\n{entries}\n].\n"
    lines = "".join(f"{line}\n" for edition in editions for line in edition_lines(edition, different.__getitem__))
    tables = {FORMAT: format_lines(), SCHEMAS: schema_lines()}
    exported = {RULES: text_of_rules, EDITIONS: lines}
    exported |= {file: "".join(f"{line}\n" for line in listed) for file, listed in tables.items()}
    return exported | ({coq_questions.QUESTIONS: coq_questions.file()} if name is None else {})
