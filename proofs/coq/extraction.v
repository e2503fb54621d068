(* The evaluator and the translation as OCaml programs: checker/second_checker.ml reads rules and facts and prints verdicts,
   checker/second_encoder.ml prints terms.  The file is written to the folder that Coq runs in. *)
From Coq Require Import ZArith String Extraction ExtrOcamlBasic ExtrOcamlNativeString.
From Sonnx Require Import syntax values evaluation encoding lengths_first.
Extraction "evaluator.ml" judge encode guarded Z.add Z.mul Z.opp.
