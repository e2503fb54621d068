(* The translation of an expression into solver terms: the module sonnx/prover/smt_interpretation.py. *)
From Coq Require Import ZArith String List Bool.
From Sonnx Require Import syntax values evaluation.
Import ListNotations.
Open Scope Z_scope.

(* Terms of SMT-LIB over integers, truth values and strings. *)
Inductive int_term :=
| ICon (z : Z)
| IVar (name : string)
| ICalc (sign : arithmetic) (a b : int_term)
| IIte (c : truth_term) (a b : int_term)
with truth_term :=
| TCon (b : bool)
| TVar (name : string)
| TNot (a : truth_term)
| TAnd (a b : truth_term)
| TOr (a b : truth_term)
| TEq (a b : int_term)
| TLess (a b : int_term)
| TSame (a b : text_term)
with text_term :=
| SCon (s : string)
| SVar (name : string)
| SIte (c : truth_term) (a b : text_term).

(* An assignment of the variables, and the value of a term under it. *)
Record assignment := { ints : string -> Z; truths : string -> bool; texts : string -> string }.

Definition calc (sign : arithmetic) (x y : Z) : Z :=
  match sign with Plus => x + y | Minus => x - y | Times => x * y | Quotient => x / y | Remainder => x mod y end.

Fixpoint int_of (m : assignment) (t : int_term) : Z :=
  match t with
  | ICon z => z
  | IVar x => ints m x
  | ICalc sign a b => calc sign (int_of m a) (int_of m b)
  | IIte c a b => if truth_of m c then int_of m a else int_of m b
  end
with truth_of (m : assignment) (t : truth_term) : bool :=
  match t with
  | TCon b => b
  | TVar x => truths m x
  | TNot a => negb (truth_of m a)
  | TAnd a b => truth_of m a && truth_of m b
  | TOr a b => truth_of m a || truth_of m b
  | TEq a b => int_of m a =? int_of m b
  | TLess a b => int_of m a <? int_of m b
  | TSame a b => String.eqb (text_of m a) (text_of m b)
  end
with text_of (m : assignment) (t : text_term) : string :=
  match t with
  | SCon s => s
  | SVar x => texts m x
  | SIte c a b => if truth_of m c then text_of m a else text_of m b
  end.

(* "Constants fold": all_of, any_of, negate, add, less ... of sonnx/prover/smt_values.py. *)
Definition conj (a b : truth_term) : truth_term :=
  match a, b with TCon true, t | t, TCon true => t | TCon false, _ | _, TCon false => TCon false | _, _ => TAnd a b end.
Definition disj (a b : truth_term) : truth_term :=
  match a, b with TCon false, t | t, TCon false => t | TCon true, _ | _, TCon true => TCon true | _, _ => TOr a b end.
Definition neg (a : truth_term) : truth_term :=
  match a with TCon b => TCon (negb b) | TNot b => b | _ => TNot a end.
Definition imp (a b : truth_term) : truth_term := disj (neg a) b.
Definition int_calc (sign : arithmetic) (a b : int_term) : int_term :=
  match a, b with ICon x, ICon y => ICon (calc sign x y) | _, _ => ICalc sign a b end.
Definition int_eq (a b : int_term) : truth_term :=
  match a, b with ICon x, ICon y => TCon (x =? y) | _, _ => TEq a b end.
Definition int_less (a b : int_term) : truth_term :=
  match a, b with ICon x, ICon y => TCon (x <? y) | _, _ => TLess a b end.
Definition at_most (a b : int_term) : truth_term := neg (int_less b a).
Definition ite (c : truth_term) (a b : int_term) : int_term :=
  match c with TCon true => a | TCon false => b | _ => IIte c a b end.
Definition text_ite (c : truth_term) (a b : text_term) : text_term :=
  match c with TCon true => a | TCon false => b | _ => SIte c a b end.
Definition same (a b : text_term) : truth_term :=
  match a, b with SCon x, SCon y => TCon (String.eqb x y) | _, _ => TSame a b end.

(* A value with variables.  A list has the items up to a static bound, in order, each with the condition under which it
   is present (SymbolicList of sonnx/prover/smt_values.py). *)
Inductive symbolic :=
| SUndefined
| SInt (t : int_term)
| STruth (t : truth_term)
| SText (t : text_term)
| SList (items : list (truth_term * symbolic))
| SRecord (fields : list (string * symbolic)).

Definition presence := list (truth_term * symbolic).

Fixpoint value_of (m : assignment) (s : symbolic) : value :=
  match s with
  | SUndefined => undefined
  | SInt t => VInt (int_of m t)
  | STruth t => VBool (truth_of m t)
  | SText t => VText (text_of m t)
  | SList items => VList ((fix present (l : list (truth_term * symbolic)) :=
      match l with [] => [] | (p, v) :: rest => if truth_of m p then value_of m v :: present rest else present rest end)
      items)
  | SRecord fields => VRecord ((fix all (l : list (string * symbolic)) :=
      match l with [] => [] | (f, v) :: rest => (f, value_of m v) :: all rest end) fields)
  end.

Fixpoint items_of (m : assignment) (l : presence) : list value :=
  match l with [] => [] | (p, v) :: rest => if truth_of m p then value_of m v :: items_of m rest else items_of m rest end.

(* What the translation gives: when the expression is defined, and its value.  None: it is not of the part of the
   language that has terms (numbers with fractions, ill-typed expressions). *)
Definition result := (truth_term * symbolic)%type.
Definition scope := string -> option result.

Definition bind {A B} (a : option A) (f : A -> option B) : option B := match a with Some x => f x | None => None end.
Notation "'let*' x := a 'in' b" := (bind a (fun x => b)) (at level 200, x pattern, a at level 100, b at level 200).

Definition extended (names : scope) (x : string) (r : result) : scope :=
  fun other => if String.eqb x other then Some r else names other.

(* "Left if condition else right, for values of one type; an undefined value gives way" (smt_lists.merge). *)
Fixpoint merge (c : truth_term) (a b : symbolic) : option symbolic :=
  match a, b with
  | SUndefined, other | other, SUndefined => Some other
  | SInt x, SInt y => Some (SInt (ite c x y))
  | STruth x, STruth y => Some (STruth (conj (imp c x) (imp (neg c) y)))
  | SText x, SText y => Some (SText (text_ite c x y))
  | SList l, SList r =>
      let* items := (fix go (l r : list (truth_term * symbolic)) : option (list (truth_term * symbolic)) :=
        match l, r with
        | [], _ => Some (map (fun '(p, v) => (conj (neg c) p, v)) r)
        | (p, v) :: l', [] => let* rest := go l' [] in Some ((conj c p, v) :: rest)
        | (p, v) :: l', (q, w) :: r' =>
            let* vw := merge c v w in
            let* rest := go l' r' in
            Some ((disj (conj c p) (conj (neg c) q), vw) :: rest)
        end) l r in
      Some (SList items)
  | SRecord l, SRecord r =>
      let* fields := (fix go (l r : list (string * symbolic)) : option (list (string * symbolic)) :=
        match l, r with
        | [], [] => Some []
        | (f, v) :: l', (g, w) :: r' =>
            if String.eqb f g then
              let* vw := merge c v w in
              let* rest := go l' r' in
              Some ((f, vw) :: rest)
            else None
        | _, _ => None
        end) l r in
      Some (SRecord fields)
  | _, _ => None
  end.

(* The number of items present (smt_lists.length). *)
Definition count (items : presence) : int_term :=
  fold_right (fun '(p, _) n => int_calc Plus (ite p (ICon 1) (ICon 0)) n) (ICon 0) items.

(* The item before which [index] items are present (smt_lists.pack and item_at). *)
Fixpoint item_at (items : presence) (index : int_term) : option symbolic :=
  match items with
  | [] => Some SUndefined
  | (p, v) :: rest =>
      let* later := item_at rest (int_calc Minus index (ite p (ICon 1) (ICon 0))) in
      merge (conj p (int_eq index (ICon 0))) v later
  end.

(* The items at the places from [start] to [stop] - 1. *)
Fixpoint places (items : presence) (start stop : int_term) : presence :=
  match items with
  | [] => []
  | (p, v) :: rest =>
      let one := ite p (ICon 1) (ICon 0) in
      (conj p (conj (at_most start (ICon 0)) (int_less (ICon 0) stop)), v)
        :: places rest (int_calc Minus start one) (int_calc Minus stop one)
  end.

(* The interpretation of a body for the items of a list, each under the condition that the item is present. *)
Fixpoint bodies (f : symbolic -> option result) (items : presence) : option (truth_term * presence) :=
  match items with
  | [] => Some (TCon true, [])
  | (p, v) :: rest =>
      let* (d, s) := f v in
      let* (ds, made) := bodies f rest in
      Some (conj (imp p d) ds, (p, s) :: made)
  end.

Fixpoint all_truths (decides : bool) (items : presence) : option truth_term :=
  match items with
  | [] => Some (TCon (negb decides))
  | (p, STruth t) :: rest =>
      let* others := all_truths decides rest in
      Some (if decides then disj (conj p t) others else conj (imp p t) others)
  | _ => None
  end.

(* The items of which a filter holds. *)
Fixpoint taken (filters items : presence) : option presence :=
  match filters, items with
  | [], [] => Some []
  | (_, STruth t) :: filters', (p, v) :: rest =>
      let* others := taken filters' rest in Some ((conj p t, v) :: others)
  | _, _ => None
  end.

(* Equality of numbers, texts and truth values; of lists, see [equal_lists]. *)
Definition equal_items (a b : symbolic) : option truth_term :=
  match a, b with
  | SInt x, SInt y => Some (int_eq x y)
  | SText x, SText y => Some (same x y)
  | STruth x, STruth y => Some (disj (conj x y) (conj (neg x) (neg y)))
  | _, _ => None
  end.

Fixpoint any_equal (v : symbolic) (items : presence) : option truth_term :=
  match items with
  | [] => Some (TCon false)
  | (p, w) :: rest =>
      let* here := equal_items w v in let* others := any_equal v rest in Some (disj (conj p here) others)
  end.

Fixpoint distinct (items : presence) : option truth_term :=
  match items with
  | [] => Some (TCon true)
  | (p, v) :: rest =>
      let* twin := any_equal v rest in let* others := distinct rest in
      Some (conj (neg (conj p twin)) others)
  end.

(* Lists are equal if they have the same length and each item of the left has its equal at its place in the right;
   [before] items of the left are present before these. *)
Fixpoint equal_from (left right : presence) (before : int_term) : option truth_term :=
  match left with
  | [] => Some (TCon true)
  | (p, v) :: rest =>
      let* twin := item_at right before in
      let* here := match twin with SUndefined => Some (TCon false) | _ => equal_items v twin end in
      let* others := equal_from rest right (int_calc Plus before (ite p (ICon 1) (ICon 0))) in
      Some (conj (imp p here) others)
  end.

Definition equal_lists (left right : presence) : option truth_term :=
  let* items := equal_from left right (ICon 0) in
  Some (conj (int_eq (count left) (count right)) items).

Definition equal_terms (a b : symbolic) : option truth_term :=
  match a, b with SList l, SList r => equal_lists l r | _, _ => equal_items a b end.

Fixpoint total_term (sign : arithmetic) (items : presence) (sum : int_term) : option int_term :=
  match items with
  | [] => Some sum
  | (p, SInt t) :: rest => total_term sign rest (ite p (int_calc sign sum t) sum)
  | _ => None
  end.

(* The largest item ([largest] true) or the smallest one; [found]: an item before these is present. *)
Fixpoint extreme_term (largest : bool) (items : presence) (best : int_term) (found : truth_term) : option int_term :=
  match items with
  | [] => Some best
  | (p, SInt t) :: rest =>
      let better := if largest then int_less best t else int_less t best in
      extreme_term largest rest (ite (conj p (disj (neg found) better)) t best) (disj found p)
  | _ => None
  end.

Definition any_present (items : presence) : truth_term := fold_right (fun '(p, _) t => disj p t) (TCon false) items.

Definition apply_term (f : list_function) (items : presence) : option result :=
  match f with
  | Len => Some (TCon true, SInt (count items))
  | Sum => let* t := total_term Plus items (ICon 0) in Some (TCon true, SInt t)
  | Product => let* t := total_term Times items (ICon 1) in Some (TCon true, SInt t)
  | Largest => let* t := extreme_term true items (ICon 0) (TCon false) in Some (any_present items, SInt t)
  | Smallest => let* t := extreme_term false items (ICon 0) (TCon false) in Some (any_present items, SInt t)
  | All => let* t := all_truths false items in Some (TCon true, STruth t)
  | Any => let* t := all_truths true items in Some (TCon true, STruth t)
  | Distinct => let* t := distinct items in Some (TCon true, STruth t)
  end.

Fixpoint inner_items (items : presence) : option presence :=
  match items with
  | [] => Some []
  | (p, SList inner) :: rest =>
      let* others := inner_items rest in Some (map (fun '(q, v) => (conj p q, v)) inner ++ others)
  | _ => None
  end.

Fixpoint field_term (name : string) (fields : list (string * symbolic)) : option symbolic :=
  match fields with
  | [] => None
  | (other, v) :: rest => if String.eqb name other then Some v else field_term name rest
  end.

(* range(first, last) has at most [turns] items, a number that the caller chooses; that it suffices is part of the
   condition under which the expression is defined. *)
Definition range_items (first last : int_term) (turns : nat) : presence :=
  map (fun i => (int_less (int_calc Plus first (ICon (Z.of_nat i))) last, SInt (int_calc Plus first (ICon (Z.of_nat i)))))
      (seq 0 turns).

Definition turns_of (bound : nat) (first last : int_term) : nat :=
  match first, last with ICon a, ICon b => Z.to_nat (b - a) | _, _ => bound end.

Fixpoint fold_items (step : symbolic -> symbolic -> option result) (items : presence) (sum : symbolic) : option result :=
  match items with
  | [] => Some (TCon true, sum)
  | (p, v) :: rest =>
      let* (d, s) := step sum v in
      let* next := merge p s sum in
      let* (ds, last) := fold_items step rest next in
      Some (conj (imp p d) ds, last)
  end.

Section Encoding.
Variable bound : nat.

Fixpoint encode (e : expr) (names : scope) : option result :=
  match e with
  | Int z => Some (TCon true, SInt (ICon z))
  | Float _ => None
  | Text s => Some (TCon true, SText (SCon s))
  | Name x => names x
  | Nil => Some (TCon true, SList [])
  | Cons a b =>
      let* (d, v) := encode a names in
      let* (d', l) := encode b names in
      match l with SList items => Some (conj d d', SList ((TCon true, v) :: items)) | _ => None end
  | Field r f =>
      let* (d, v) := encode r names in
      match v with
      | SRecord fields =>
          if String.eqb f "rank" then
            match field_term "shape" fields with
            | Some (SList items) => Some (d, SInt (count items)) | _ => None end
          else let* v := field_term f fields in Some (d, v)
      | _ => None
      end
  | Item s i =>
      let* (d, l) := encode s names in
      let* (d', n) := encode i names in
      match l, n with
      | SList items, SInt t =>
          let* v := item_at items t in
          Some (conj (conj d d') (conj (at_most (ICon 0) t) (int_less t (count items))), v)
      | _, _ => None
      end
  | Part s a b =>
      let* (d, l) := encode s names in
      let* (d1, first) := encode a names in
      let* (d2, last) := encode b names in
      match l, first, last with
      | SList items, SInt x, SInt y =>
          Some (conj (conj d (conj d1 d2))
                  (conj (at_most (ICon 0) x) (conj (at_most x y) (at_most y (count items)))),
                SList (places items x y))
      | _, _, _ => None
      end
  | Arithmetic sign a b =>
      let* (d, v) := encode a names in
      let* (d', w) := encode b names in
      match v, w with
      | SInt x, SInt y =>
          let positive := match sign with Quotient | Remainder => int_less (ICon 0) y | _ => TCon true end in
          Some (conj (conj d d') positive, SInt (int_calc sign x y))
      | SList l, SList r => match sign with Plus => Some (conj d d', SList (l ++ r)) | _ => None end
      | _, _ => None
      end
  | Negative a =>
      let* (d, v) := encode a names in
      match v with SInt t => Some (d, SInt (int_calc Minus (ICon 0) t)) | _ => None end
  | Compare sign a b =>
      let* (d, v) := encode a names in
      let* (d', w) := encode b names in
      let* t := match sign, v, w with
        | Equal, _, _ => equal_terms v w
        | Less, SInt x, SInt y => Some (int_less x y)
        | AtMost, SInt x, SInt y => Some (at_most x y)
        | Member, _, SList items => any_equal v items
        | _, _, _ => None
        end in
      Some (conj d d', STruth t)
  | And a b =>
      let* (d, v) := encode a names in
      match v with
      | STruth (TCon false) => Some (d, v)
      | _ =>
          let* (d', w) := encode b names in
          match v, w with
          | STruth p, STruth q => Some (conj d (imp p d'), STruth (conj p q)) | _, _ => None end
      end
  | Or a b =>
      let* (d, v) := encode a names in
      match v with
      | STruth (TCon true) => Some (d, v)
      | _ =>
          let* (d', w) := encode b names in
          match v, w with
          | STruth p, STruth q => Some (conj d (imp (neg p) d'), STruth (disj p q)) | _, _ => None end
      end
  | Not a =>
      let* (d, v) := encode a names in
      match v with STruth p => Some (d, STruth (neg p)) | _ => None end
  | If c a b =>
      let* (d, v) := encode c names in
      match v with
      | STruth (TCon test) =>
          let* (d', w) := encode (if test then a else b) names in Some (conj d d', w)
      | STruth p =>
          let* (d1, v1) := encode a names in
          let* (d2, v2) := encode b names in
          let* v := merge p v1 v2 in
          Some (conj d (conj (imp p d1) (imp (neg p) d2)), v)
      | _ => None
      end
  | ForAll x s p =>
      let* (d, l) := encode s names in
      match l with
      | SList items =>
          let* (d', made) := bodies (fun v => encode p (extended names x (TCon true, v))) items in
          let* t := all_truths false made in Some (conj d d', STruth t)
      | _ => None
      end
  | Exists x s p =>
      let* (d, l) := encode s names in
      match l with
      | SList items =>
          let* (d', made) := bodies (fun v => encode p (extended names x (TCon true, v))) items in
          let* t := all_truths true made in Some (conj d d', STruth t)
      | _ => None
      end
  | Collect x s q a =>
      let* (d, l) := encode s names in
      match l with
      | SList items =>
          let* (d1, filters) := bodies (fun v => encode q (extended names x (TCon true, v))) items in
          let* kept := taken filters items in
          let* (d2, made) := bodies (fun v => encode a (extended names x (TCon true, v))) kept in
          Some (conj d (conj d1 d2), SList made)
      | _ => None
      end
  | Flatten a =>
      let* (d, l) := encode a names in
      match l with SList items => let* inner := inner_items items in Some (d, SList inner) | _ => None end
  | Apply f a =>
      let* (d, l) := encode a names in
      match l with
      | SList items => let* (d', v) := apply_term f items in Some (conj d d', v)
      | _ => None
      end
  | Range a b =>
      let* (d, v) := encode a names in
      let* (d', w) := encode b names in
      match v, w with
      | SInt first, SInt last =>
          let turns := turns_of bound first last in
          Some (conj (conj d d') (at_most (int_calc Minus last first) (ICon (Z.of_nat turns))),
                SList (range_items first last turns))
      | _, _ => None
      end
  | Stated a => let* (d, _) := encode a names in Some (d, STruth (TCon true))
  | Let x a b => let* r := encode a names in encode b (extended names x r)
  | Reduce x y b s a =>
      let* (d, l) := encode s names in
      let* (d', start) := encode a names in
      match l with
      | SList items =>
          let* (d2, last) := fold_items
            (fun sum v => encode b (extended (extended names x (TCon true, sum)) y (TCon true, v))) items start in
          Some (conj (conj d d') d2, last)
      | _ => None
      end
  | Undefined => Some (TCon false, SUndefined)
  end.
End Encoding.
