(* A search for proofs that conditions contradict each other, that an expression has a value, that a condition holds. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts choices conditions consequences knowledge.
Import ListNotations.
Open Scope Z_scope.

Fixpoint int_parts (d : kinds) (e : expr) : list expr :=
  (if is_int d e then [e] else []) ++
  match e with
  | Cons a b | Item a b | Arithmetic _ a b | Compare _ a b | And a b | Or a b | Range a b => int_parts d a ++ int_parts d b
  | Field a _ | Negative a | Not a | Flatten a | Apply _ a | Stated a => int_parts d a
  | Part a b c | If a b c | Collect _ a b c => int_parts d a ++ int_parts d b ++ int_parts d c
  | ForAll _ a b | Exists _ a b => int_parts d a ++ int_parts d b
  | _ => []
  end.

Definition element_kind (d : kinds) (s : expr) : option kind := match kind_of d s with Some (KList k) => Some k | _ => None end.

Fixpoint plain (k : kind) : bool := match k with KTensor _ => false | KList k => plain k | _ => true end.

(* One step of the search, above steps that are given: refute, the conditions of the context contradict each other; defined,
   the expression has a value in all its parts; prove, the condition holds. *)
Section Step.
Variable refute : context -> bool.
Variable defined : context -> expr -> bool.
Variable prove : context -> expr -> bool.

Definition left_of (f : expr) : option expr := match f with Or a _ => Some a | _ => None end.
Definition right_of (f : expr) : option expr := match f with Or _ b => Some b | _ => None end.

Definition there (d : kinds) (all : list expr) (f : expr) : bool := if member f all then true else member (tidy d all f) all.

(* The other part of a choice, of which one part contradicts. *)
Definition forced (d : kinds) (all : list expr) (f : expr) : option expr :=
  match left_of f, right_of f with
  | Some a, Some b =>
      if there d all a then None else if there d all b then None
      else if contradict d (expanded rounds d [a] all) then Some b
      else if contradict d (expanded rounds d [b] all) then Some a else None
  | _, _ => None
  end.

Fixpoint first_some {A} (f : expr -> option A) (l : list expr) : option A :=
  match l with [] => None | e :: rest => match f e with Some a => Some a | None => first_some f rest end end.

Definition choice_of (d : kinds) (all : list expr) (f : expr) : option (expr * expr) :=
  match left_of f, right_of f with
  | Some a, Some b => if there d all a then None else if there d all b then None else Some (a, b) | _, _ => None end.

(* The context with a name for the item of which a condition holds. *)
Fixpoint fresh (n : nat) (c : context) (x : string) : string :=
  match n, lookup x (named c) with S n, Some _ => fresh n c (x ++ "'") | _, _ => x end.

Definition renamed (x z : string) (p : expr) : expr := if String.eqb x z then p else subst x (Name z) p.

Definition chosen_item (c : context) (all : list expr) (f : expr) : option context :=
  match f with
  | Exists x s p =>
      let z := fresh 5 c x in
      let q := renamed x z p in
      match kind_of (named c) s with
      | Some (KList k) =>
          if existsb (fun '(m, t) => if expr_eqb s t then there (named c) all (subst z m q) else false) (within c) then None
          else if scalar k && (String.eqb x z || negb (mentions z p))
          then Some (assume q (enter_as (defined c s) z k [s] (with_given c all))) else None
      | _ => None
      end
  | _ => None
  end.

(* The choices between an index outside a range and what is so of one inside come last. *)
Definition last_choice (f : expr) : bool :=
  match f with Or (Or (Compare Less _ _) (Compare AtMost _ _)) _ => true | _ => false end.
Definition choices (d : kinds) (all : list expr) : option (expr * expr) :=
  let l := filter (fun f => match choice_of d all f with Some _ => true | None => false end) (rev all) in
  match first_some (fun f => if last_choice f then None else choice_of d all f) l with
  | Some p => Some p
  | None => first_some (choice_of d all) l
  end.

(* Names of conditions first: a choice by one of them is simpler where the condition is known before. *)
Definition settled (f : expr) : bool := match f with Name _ | Not (Name _) => true | _ => false end.
Definition settled_first (l : list expr) : list expr := filter settled l ++ filter (fun f => negb (settled f)) l.

Definition step_refute (c : context) : bool :=
  let d := named c in
  let facts := expanded rounds d (settled_first (given c)) [] in
  contradict d facts ||
  match first_some (forced d facts) facts with
  | Some f => refute (with_given c (f :: facts))
  | None =>
  (let all := expanded rounds d (more c facts) facts in
   contradict d all ||
   match first_some (forced d all) all with
   | Some f => refute (with_given c (f :: all))
   | None =>
   match find (fun q => if there d all q then false else negb (there d all (Not q))) (flat_map conditions (rev all)) with
   | Some q => is_bool d q && defined c q && refute (with_given c (q :: all)) && refute (with_given c (Not q :: all))
   | None =>
   match first_some (chosen_item c all) all with
   | Some c' => refute c'
   | None =>
   match choices d all with
   | Some (a, b) => refute (with_given c (a :: all)) && refute (with_given c (b :: all))
   | None => existsb (fun f => negb (there d facts f)) all && refute (with_given c all)
   end end end end) end.

Definition body_defined (c : context) (x : string) (s p : expr) : bool :=
  match element_kind (named c) s with
  | Some k => is_bool ((x, k) :: named c) p && defined (enter x k [s] c) p | None => false end.

Definition plain_kind (d : kinds) (e : expr) : bool := match kind_of d e with Some k => plain k | None => false end.

Definition function_defined (c : context) (f : list_function) (s : expr) (k : kind) : bool :=
  match f with
  | Len => true
  | Sum | Product => integral k
  | Largest | Smallest => numeric k && refute (assume (Compare AtMost (length_form s) (Int 0)) c)
  | All | Any => match k with KBool => true | _ => false end
  | Distinct => plain k
  end.

Definition instance_of_range (c : context) (js : list expr) (f : expr) : list expr :=
  match f with
  | ForAll z s p =>
      match s with
      | Range u v =>
          flat_map (fun j => if decides (named c) z s p && is_int (named c) j && refute (assume (Compare Less j u) c)
                                && refute (assume (Compare AtMost v j) c) then [subst z j p] else []) js
      | _ => []
      end
  | _ => []
  end.

(* A loop keeps what a condition about its list says of each item. *)
Definition kept (c : context) (x y : string) (b s a : expr) (k t : kind) (f : expr) : bool :=
  match f with
  | ForAll z s' p =>
      let i := subst z (Name x) p in
      let c' := assume i (enter y k [s] (enter x t [] c)) in
      expr_eqb s s' && negb (String.eqb x y) && negb (mentions x s) && negb (mentions y i)
      && prove c (subst x a i) && defined c' b && prove c' (subst x b i)
  | _ => false
  end.

(* Whether an expression reads the name of a loop. *)
Definition of_loop (c : context) (e : expr) : bool :=
  existsb (fun '(m, _) => match m with Name x => mentions x e | _ => false end) (within c).

Definition reduce_defined (c : context) (x y : string) (b s a : expr) (k t : kind) : bool :=
  let d := named c in
  let facts := expanded rounds d (given c) [] in
  let js := filter (defined c) (filter (of_loop c) (without_twins (int_parts d s) [])) in
  let all := expanded rounds d (flat_map (instance_of_range c js) facts) facts in
  match first_some (fun f => if kept (with_given c all) x y b s a k t f then Some f else None) all with Some _ => true | None => false end.

(* A product of positive integers is positive. *)
Definition positive_product (c : context) (e : expr) : bool :=
  match e with
  | Apply Product s =>
      match element_kind (named c) s with Some k => integral k | None => false end
      && prove c (ForAll member_name s (Compare Less (Int 0) (Name member_name)))
  | _ => false
  end.

Definition quotient (sign : arithmetic) : bool := match sign with Quotient | Remainder => true | _ => false end.

Definition step_defined (c : context) (e : expr) : bool :=
  let d := named c in
  match e with
  | Int _ | Float _ | Text _ | Nil | Stated _ => true
  | Name x =>
      match lookup x (sure c) with Some true => true | Some false => refute (assume (Not (Stated e)) c) | None => false end
  | Cons a b => defined c a && defined c b
  | Field r f =>
      defined c r && match kind_of d r with Some (KTensor constant) => constant || negb (String.eqb f "values") | _ => false end
  | Item s i =>
      defined c s && defined c i && is_int d i && refute (assume (Compare Less i (Int 0)) c)
      && refute (assume (Compare AtMost (length_form s) i) c)
  | Part s a b =>
      defined c s && defined c a && defined c b && is_int d a && is_int d b
      && refute (assume (Compare Less a (Int 0)) c) && refute (assume (Compare Less b a) c)
      && refute (assume (Compare Less (length_form s) b) c)
  | Arithmetic sign a b =>
      defined c a && defined c b &&
      (is_list d a && is_list d b ||
       is_int d a && is_int d b && (negb (quotient sign) || refute (assume (Compare AtMost b (Int 0)) c) || positive_product c b))
  | Negative a => defined c a
  | Compare sign a b =>
      defined c a && defined c b && plain_kind d a && plain_kind d b
      && match sign with Member => is_list d b | _ => true end
  | And a b => is_bool d a && is_bool d b && defined c a && defined (assume a c) b
  | Or a b => is_bool d a && is_bool d b && defined c a && defined (assume (Not a) c) b
  | Not a => is_bool d a && defined c a
  | If q a b => is_bool d q && defined c q && defined (assume q c) a && defined (assume (Not q) c) b
  | ForAll x s p | Exists x s p => defined c s && body_defined c x s p
  | Collect x s q a =>
      defined c s && body_defined c x s q &&
      match element_kind d s with Some k => defined (assume q (enter x k [s] c)) a | None => false end
  | Apply f s => defined c s && match element_kind d s with Some k => function_defined c f s k | None => false end
  | Range a b => defined c a && defined c b && is_int d a && is_int d b
  | Reduce x y b s a =>
      defined c s && defined c a &&
      match element_kind d s, kind_of d e with Some k, Some t => reduce_defined c x y b s a k t | _, _ => false end
  | Undefined => refute c
  | Let _ _ _ | Flatten _ => false
  end.

Definition prove_all (c : context) (x : string) (s p : expr) : bool :=
  let d := named c in
  match s with
  | Nil => true
  | Cons v l => prove c (subst x v p) && prove c (ForAll x l p)
  | Arithmetic Plus a b => defined c s && is_list d s && prove c (ForAll x a p) && prove c (ForAll x b p)
  | Collect y t q a =>
      if match a with Name z => String.eqb y z | _ => false end
      then defined c s && match element_kind d s with Some k => prove (enter x k [s] c) p | None => false end
      else
      (String.eqb x y || negb (mentions y p)) && defined c s && is_list d s
      && match element_kind d t with
         | Some k => defined c t && prove (assume q (enter y k [t] c)) (subst x a p) | None => false end
  | If q a b =>
      is_bool d q && defined c q && prove (assume q c) (ForAll x a p) && prove (assume (Not q) c) (ForAll x b p)
  | Part t _ _ => defined c s && is_list d s && prove c (ForAll x t p)
  | _ => defined c s && match element_kind d s with Some k => prove (enter x k [s] c) p | None => false end
  end.

Definition prove_other (c : context) (g : expr) : bool :=
  let d := named c in
  match conditions g with
  | q :: _ => is_bool d q && defined c q && prove (assume q c) (resolved q true g)
              && prove (assume (Not q) c) (resolved q false g)
  | [] => is_bool d g && defined c g && refute (assume (Not g) c)
  end.

(* A sum of integers that are not negative is not negative. *)
Definition prove_sum (c : context) (s : expr) : bool :=
  match element_kind (named c) s with Some k => integral k | None => false end
  && prove c (ForAll member_name s (Compare AtMost (Int 0) (Name member_name))).

Definition step_prove (c : context) (g : expr) : bool :=
  let d := named c in
  member g (given c) ||
  match g with
  | Compare AtMost (Int 0) (Apply Sum s) => prove_sum c s || prove_other c g
  | And a b => prove c a && prove (assume a c) b
  | Or a b => is_bool d a && defined c a && prove (assume (Not a) c) b || prove c a
  | ForAll x s p => prove_all c x s p
  | _ => prove_other c g
  end.
End Step.

(* The steps, whose "and" and "or" stop at the first part that decides: a call of [andb] evaluates both parts in Coq's
   virtual machine, and so would search to the end of [fuel]. *)
Definition quick_refute := Eval cbv beta delta [andb orb step_refute] in step_refute.
Definition quick_defined := Eval cbv beta delta
  [andb orb step_defined body_defined function_defined reduce_defined kept instance_of_range positive_product] in step_defined.
Definition quick_prove := Eval cbv beta delta [andb orb step_prove prove_all prove_other prove_sum] in step_prove.

Fixpoint refute (n : nat) (c : context) : bool :=
  match n with O => false | S n => quick_refute (refute n) (defined n) c end
with defined (n : nat) (c : context) (e : expr) : bool :=
  match n with O => false | S n => quick_defined (refute n) (defined n) (prove n) c e end
with prove (n : nat) (c : context) (g : expr) : bool :=
  match n with O => false | S n => quick_prove (refute n) (defined n) (prove n) c g end.
