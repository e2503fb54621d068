(* The evaluator as an OCaml program: checker/second_checker.ml reads rules and facts and prints verdicts.  The file is
   written to the folder that Coq runs in. *)
From Coq Require Import ZArith String Extraction ExtrOcamlBasic ExtrOcamlNativeString.
From Sonnx Require Import syntax values evaluation.
Extraction "evaluator.ml" judge Z.add Z.mul Z.opp.
