(* The values of the evaluation: docs/rule-language.md, "Meaning". *)
From Coq Require Import ZArith QArith String List Bool.
Import ListNotations.

(* "Unknown has a cause, and the strongest cause decides the verdict": run time is the weakest, undefined the strongest. *)
Inductive cause := RunTime | NotStated | NotDefined.

Definition strength (c : cause) : nat :=
  match c with RunTime => 1 | NotStated => 2 | NotDefined => 3 end.

(* A number of a floating-point type: a rational number, an infinity, or none. *)
Inductive floating := Finite (number : Q) | Infinite (negative : bool) | NotANumber.

(* A known value, or one that is unknown: a symbolic dimension has the name of its symbol. *)
Inductive value :=
| VInt (number : Z)
| VFloat (number : floating)
| VBool (truth : bool)
| VText (text : string)
| VList (items : list value)
| VRecord (fields : list (string * value))
| VUnknown (because : cause) (symbol : option string).

(* Induction over a value and the values in it. *)
Fixpoint value_ind' (P : value -> Prop)
  (hi : forall z, P (VInt z)) (hf : forall q, P (VFloat q)) (hb : forall b, P (VBool b)) (ht : forall s, P (VText s))
  (hl : forall l, Forall P l -> P (VList l)) (hr : forall l, Forall (fun p => P (snd p)) l -> P (VRecord l))
  (hu : forall c s, P (VUnknown c s)) (v : value) : P v :=
  let go := value_ind' P hi hf hb ht hl hr hu in
  match v with
  | VInt z => hi z | VFloat q => hf q | VBool b => hb b | VText s => ht s
  | VList l => hl l ((fix all l : Forall P l :=
      match l with [] => Forall_nil _ | x :: r => Forall_cons x (go x) (all r) end) l)
  | VRecord l => hr l ((fix all (l : list (string * value)) : Forall (fun p => P (snd p)) l :=
      match l with [] => Forall_nil _ | x :: r => Forall_cons x (go (snd x)) (all r) end) l)
  | VUnknown c s => hu c s
  end.

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
