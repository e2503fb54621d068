(* The evaluation of an expression: docs/rule-language.md, "Meaning". *)
From Coq Require Import ZArith QArith Qround String List Bool.
From Sonnx Require Import syntax values.
Import ListNotations.
Open Scope Z_scope.

Definition environment := string -> value.

Definition updated (names : environment) (name : string) (v : value) : environment :=
  fun other => if String.eqb name other then v else names other.

(* "and, or, not, all, any ... follow Kleene's three-valued logic: if one part alone decides the result, unknown other
   parts do not matter."  [decides] is false for a conjunction, true for a disjunction. *)
Definition is_truth (b : bool) (v : value) : bool :=
  match v with VBool c => Bool.eqb b c | _ => false end.

Definition kleene (decides : bool) (parts : list value) : value :=
  if existsb (is_truth decides) parts then VBool decides else strict parts (VBool (negb decides)).

(* What is computed from a symbol is not that symbol: no operation keeps its name. *)
Definition negation (v : value) : value :=
  match v with VBool b => VBool (negb b) | VUnknown c _ => VUnknown c None | _ => undefined end.

(* Numbers: a float stands for the rational number it is, and arithmetic on it is exact; on NaN and the infinities it is
   undefined. *)
Definition rational (v : value) : option Q :=
  match v with VInt z => Some (inject_Z z) | VFloat (Finite q) => Some q | _ => None end.

Definition number_of (v : value) : option floating :=
  match v with VInt z => Some (Finite (inject_Z z)) | VFloat f => Some f | _ => None end.

(* "NaN is neither equal to anything nor less": IEEE 754. *)
Definition number_less (x y : floating) : bool :=
  match x, y with
  | Finite p, Finite q => negb (Qle_bool q p)
  | Finite _, Infinite negative => negb negative
  | Infinite negative, Finite _ => negative
  | Infinite m, Infinite n => m && negb n
  | _, _ => false
  end.
Definition number_equal (x y : floating) : bool :=
  match x, y with Finite p, Finite q => Qeq_bool p q | Infinite m, Infinite n => Bool.eqb m n | _, _ => false end.
Definition is_nan (v : value) : bool := match v with VFloat NotANumber => true | _ => false end.

Definition less (a b : value) : bool :=
  match a, b with
  | VInt x, VInt y => x <? y
  | _, _ => match number_of a, number_of b with Some x, Some y => number_less x y | _, _ => false end
  end.
Definition at_most (a b : value) : bool := if is_nan a || is_nan b then false else negb (less b a).

(* "These are undefined: ... a divisor that is not positive."  Quotients are rounded down. *)
Definition on_integers (sign : arithmetic) (x y : Z) : value :=
  match sign with
  | Plus => VInt (x + y)
  | Minus => VInt (x - y)
  | Times => VInt (x * y)
  | Quotient => if 0 <? y then VInt (x / y) else undefined
  | Remainder => if 0 <? y then VInt (x mod y) else undefined
  end.

Definition on_rationals (sign : arithmetic) (x y : Q) : value :=
  match sign with
  | Plus => VFloat (Finite (Qred (x + y)))
  | Minus => VFloat (Finite (Qred (x - y)))
  | Times => VFloat (Finite (Qred (x * y)))
  | Quotient => if Qle_bool y 0 then undefined else VInt (Qfloor (x / y))
  | Remainder => if Qle_bool y 0 then undefined else VFloat (Finite (Qred (x - y * inject_Z (Qfloor (x / y)))))
  end.

Definition calculate (sign : arithmetic) (a b : value) : value :=
  match a, b with
  | VUnknown _ _, _ | _, VUnknown _ _ => strict [a; b] undefined
  | VInt x, VInt y => on_integers sign x y
  | VList l, VList r => match sign with Plus => VList (l ++ r) | _ => undefined end
  | _, _ => match rational a, rational b with Some x, Some y => on_rationals sign x y | _, _ => undefined end
  end.

Definition negative (v : value) : value :=
  match v with
  | VInt z => VInt (- z)
  | VFloat f => VFloat (match f with Finite q => Finite (- q) | Infinite n => Infinite (negb n) | NotANumber => NotANumber end) | VUnknown c _ => VUnknown c None | _ => undefined
  end.

(* "A symbol is equal to itself; compared with anything else the result is unknown."  Lists are equal if they have the
   same length and equal items. *)
Fixpoint equal (a b : value) : value :=
  match a, b with
  | VUnknown _ (Some s), VUnknown _ (Some t) => if String.eqb s t then VBool true else strict [a; b] undefined
  | VUnknown _ _, _ | _, VUnknown _ _ => strict [a; b] undefined
  | VInt x, VInt y => VBool (x =? y)
  | VBool x, VBool y => VBool (Bool.eqb x y)
  | VText x, VText y => VBool (String.eqb x y)
  | VList l, VList r =>
      if Nat.eqb (List.length l) (List.length r)
      then kleene false ((fix pairs (l r : list value) :=
             match l, r with x :: l', y :: r' => equal x y :: pairs l' r' | _, _ => [] end) l r)
      else VBool false
  | _, _ => match number_of a, number_of b with
            | Some x, Some y => VBool (number_equal x y) | _, _ => VBool false end
  end.

Definition contains (sequence v : value) : value :=
  match sequence with
  | VList items => negation (kleene false (map (fun item => negation (equal item v)) items))
  | VUnknown c _ => VUnknown c None
  | _ => undefined
  end.

Definition compare (sign : comparison) (a b : value) : value :=
  match sign with
  | Equal => equal a b
  | Member => contains b a
  | Less => strict [a; b] (VBool (less a b))
  | AtMost => strict [a; b] (VBool (at_most a b))
  end.

Fixpoint assoc (name : string) (fields : list (string * value)) : value :=
  match fields with
  | [] => undefined
  | (other, v) :: rest => if String.eqb name other then v else assoc name rest
  end.

Definition length_of (v : value) : value :=
  match v with
  | VList items => VInt (Z.of_nat (List.length items)) | VUnknown c _ => VUnknown c None | _ => undefined
  end.

(* X.rank is the length of X.shape. *)
Definition field (record : value) (name : string) : value :=
  match record with
  | VRecord fields => if String.eqb name "rank" then length_of (assoc "shape" fields) else assoc name fields
  | VUnknown c _ => VUnknown c None
  | _ => undefined
  end.

(* "These are undefined: an item outside 0 to n - 1 ..., a slice that does not lie within the list." *)
Definition item (sequence index : value) : value :=
  match sequence, index with
  | VList items, VInt i =>
      if (0 <=? i) && (i <? Z.of_nat (List.length items)) then nth (Z.to_nat i) items undefined else undefined
  | _, _ => strict [sequence; index] undefined
  end.

Definition part (sequence start stop : value) : value :=
  match sequence, start, stop with
  | VList items, VInt a, VInt b =>
      if (0 <=? a) && (a <=? b) && (b <=? Z.of_nat (List.length items))
      then VList (firstn (Z.to_nat (b - a)) (skipn (Z.to_nat a) items)) else undefined
  | _, _, _ => strict [sequence; start; stop] undefined
  end.

(* Whether two values are one value, not only equal ones: 1 and 1.0 are equal, and only one of them is an index. *)
Fixpoint same (a b : value) : bool :=
  match a, b with
  | VInt x, VInt y => x =? y
  | VFloat (Finite p), VFloat (Finite q) => (Qnum p =? Qnum q) && Pos.eqb (Qden p) (Qden q)
  | VFloat (Infinite m), VFloat (Infinite n) => Bool.eqb m n
  | VFloat NotANumber, VFloat NotANumber => true
  | VBool x, VBool y => Bool.eqb x y
  | VText x, VText y => String.eqb x y
  | VList l, VList r =>
      (fix items (l r : list value) :=
         match l, r with [], [] => true | x :: l', y :: r' => same x y && items l' r' | _, _ => false end) l r
  | _, _ => false
  end.

(* If the condition is not known but both branches are one known value, the result is this value. *)
Definition choice (condition yes no : value) : value :=
  match condition with
  | VBool b => if b then yes else no
  | _ => if known yes && same yes no then yes
         else match condition with VUnknown c _ => VUnknown c None | _ => undefined end
  end.

Definition on_list (v : value) (f : list value -> value) : value :=
  match v with VList items => f items | VUnknown c _ => VUnknown c None | _ => undefined end.

Definition chosen (filter : value -> value) (items : list value) : list value :=
  List.filter (fun v => is_truth true (filter v)) items.

Definition flattened (lists : value) : value :=
  on_list lists (fun items =>
    strict items (VList (flat_map (fun v => match v with VList inner => inner | _ => [] end) items))).

Definition total (sign : arithmetic) (start : Z) (items : list value) : value :=
  strict items (fold_left (calculate sign) items (VInt start)).

Definition is_zero (v : value) : bool := is_truth true (equal v (VInt 0)).

(* "max and min of an empty list" are undefined. *)
Definition extreme (better : value -> value -> bool) (items : list value) : value :=
  match items with
  | [] => undefined
  | first :: rest => strict items (fold_left (fun best v => if better v best then v else best) rest first)
  end.

(* Whether the items differ, two by two. *)
Fixpoint differences (items : list value) : list value :=
  match items with [] => [] | v :: rest => map (fun w => negation (equal v w)) rest ++ differences rest end.

(* "sum of an empty list is 0, product is 1."  A factor 0 decides a product. *)
Definition apply (function : list_function) (items : list value) : value :=
  match function with
  | Len => VInt (Z.of_nat (List.length items))
  | Sum => total Plus 0 items
  | Product => if existsb is_zero items then VInt 0 else total Times 1 items
  | Largest => extreme (fun v best => less best v) items
  | Smallest => extreme less items
  | All => kleene false items
  | Any => kleene true items
  | Distinct => kleene false (differences items)
  end.

Definition integers (first : Z) (count : nat) : list Z := map (fun i => first + Z.of_nat i) (seq 0 count).

Definition range (first last : value) : value :=
  match first, last with
  | VInt a, VInt b => VList (map VInt (integers a (Z.to_nat (b - a))))
  | _, _ => strict [first; last] undefined
  end.

Definition stated (v : value) : bool := match v with VUnknown _ _ => false | _ => true end.

Fixpoint eval (e : expr) (names : environment) : value :=
  match e with
  | Int z => VInt z
  | Float q => VFloat (Finite q)
  | Text s => VText s
  | Name x => names x
  | Nil => VList []
  | Cons a b => on_list (eval b names) (fun rest => VList (eval a names :: rest))
  | Field r f => field (eval r names) f
  | Item s i => item (eval s names) (eval i names)
  | Part s a b => part (eval s names) (eval a names) (eval b names)
  | Arithmetic sign a b => calculate sign (eval a names) (eval b names)
  | Negative a => negative (eval a names)
  | Compare sign a b => compare sign (eval a names) (eval b names)
  | And a b => kleene false [eval a names; eval b names]
  | Or a b => kleene true [eval a names; eval b names]
  | Not a => negation (eval a names)
  | If c a b => choice (eval c names) (eval a names) (eval b names)
  | ForAll x s p => on_list (eval s names) (fun items => kleene false (map (fun v => eval p (updated names x v)) items))
  | Exists x s p => on_list (eval s names) (fun items => kleene true (map (fun v => eval p (updated names x v)) items))
  | Collect x s q a => on_list (eval s names) (fun items =>
      strict (map (fun v => eval q (updated names x v)) items)
        (VList (map (fun v => eval a (updated names x v)) (chosen (fun v => eval q (updated names x v)) items))))
  | Flatten a => flattened (eval a names)
  | Apply f a => on_list (eval a names) (apply f)
  | Range a b => range (eval a names) (eval b names)
  | Stated a => VBool (stated (eval a names))
  | Let x a b => eval b (updated names x (eval a names))
  | Reduce x y b s a => on_list (eval s names) (fun items =>
      fold_left (fun sum v => eval b (updated (updated names x sum) y v)) items (eval a names))
  | Undefined => undefined
  end.

(* The verdicts. *)
Inductive verdict := Pass | Fail | Assumed | Undecided | NotApplicable.

Definition of_unknown (c : cause) : verdict := match c with RunTime => Assumed | _ => Undecided end.

(* "Where [when] is false the verdict is not-applicable ...  An outermost all(...) over an empty list is also
   not-applicable, never a pass." *)
Definition decide_by (value_of : expr -> value) (r : rule) : verdict :=
  let judged :=
    match value_of (demand r) with
    | VBool false => Fail
    | VBool true =>
        match over r with
        | None => Pass
        | Some list => match value_of list with VList [] => NotApplicable | _ => Pass end
        end
    | VUnknown c _ => of_unknown c
    | _ => Undecided
    end in
  match applies r with
  | None => judged
  | Some condition =>
      match value_of condition with
      | VBool true => judged
      | VBool false => NotApplicable
      | VUnknown c _ => of_unknown c
      | _ => Undecided
      end
  end.
Definition decide (r : rule) (names : environment) : verdict := decide_by (fun e => eval e names) r.

(* The rules about a call in their order: one that relies on a rule that fails or is undecided is undecided, unless it
   does not apply.  [open] has the slugs of these. *)
Definition among (slugs : list string) (s : string) : bool := existsb (String.eqb s) slugs.

Fixpoint judge (names : environment) (rules : list rule) (open : list string) : list (string * verdict) :=
  match rules with
  | [] => []
  | r :: rest =>
      let outside := match applies r with Some c => is_truth false (eval c names) | None => false end in
      let v := if existsb (among open) (relies r) && negb outside then Undecided else decide r names in
      (slug r, v) :: judge names rest (match v with Fail | Undecided => slug r :: open | _ => open end)
  end.
