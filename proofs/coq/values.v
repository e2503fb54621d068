(* The values of the evaluation: docs/rule-language.md, "Meaning". *)
From Coq Require Import ZArith QArith String List Bool.
Import ListNotations.

(* "Unknown has a cause, and the strongest cause decides the verdict": run time is the weakest, undefined the strongest. *)
Inductive cause := RunTime | NotStated | NotDefined.

Definition strength (c : cause) : nat :=
  match c with RunTime => 1 | NotStated => 2 | NotDefined => 3 end.

(* A known value, or one that is unknown: a symbolic dimension has the name of its symbol. *)
Inductive value :=
| VInt (number : Z)
| VFloat (number : Q)
| VBool (truth : bool)
| VText (text : string)
| VList (items : list value)
| VRecord (fields : list (string * value))
| VUnknown (because : cause) (symbol : option string).

(* "Undefined is a value, not an error." *)
Definition undefined : value := VUnknown NotDefined None.

(* "The strongest cause decides"; of two equal ones the first.  What is computed from a symbol is not that symbol. *)
Definition stronger (a b : cause) : cause := if Nat.ltb (strength a) (strength b) then b else a.

Definition joined (found : option cause) (v : value) : option cause :=
  match v, found with
  | VUnknown c _, Some d => Some (stronger d c)
  | VUnknown c _, None => Some c
  | _, _ => found
  end.

Definition strongest (values : list value) : option cause := fold_left joined values None.

(* "Everything else is unknown if one of its parts is." *)
Definition strict (parts : list value) (known : value) : value :=
  match strongest parts with Some c => VUnknown c None | None => known end.

(* Whether a value is known in all its parts. *)
Fixpoint known (v : value) : bool :=
  match v with
  | VUnknown _ _ => false
  | VList items => forallb known items
  | VRecord fields => (fix all (l : list (string * value)) :=
      match l with [] => true | (_, v) :: rest => known v && all rest end) fields
  | _ => true
  end.
