(* A search for proofs that conditions contradict each other, that an expression has a value, that a condition holds. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts consequences.
Import ListNotations.
Open Scope Z_scope.

(* Parts of an expression that have a value where it has one. *)
Fixpoint parts (e : expr) : list expr :=
  e :: match e with
       | Arithmetic _ a b | Item a b => parts a ++ parts b
       | Negative a | Apply _ a => parts a
       | Field a f => if String.eqb f "shape" then parts a else []
       | Part a b c => parts a ++ parts b ++ parts c
       | _ => []
       end.

Definition parts_of_condition (d : kinds) (f : expr) : list expr :=
  match f with
  | Compare Less a b | Compare AtMost a b => parts a ++ parts b
  | Compare Equal a b => match kind_of d a, kind_of d b with Some _, Some _ => parts a ++ parts b | _, _ => [] end
  | ForAll _ s _ => parts s
  | _ => []
  end.

(* What is so of every integer of a form. *)
Definition properties (d : kinds) (t : expr) : list expr :=
  (match kind_of d t with Some KNat => [Compare AtMost (Int 0) t] | _ => [] end) ++
  match t with
  | Apply Len (Range a b) =>
      let n := Arithmetic Minus b a in [Compare AtMost n t; Or (Compare AtMost t (Int 0)) (Compare AtMost t n)]
  | Apply Len (Collect x s q a) => [Compare AtMost t (length_form s)]
  | Item s j => [Compare AtMost (Int 0) j; Compare Less j (length_form s)]
  | Arithmetic Quotient a (Int (Zpos c)) =>
      if is_int d a then
        let m := Arithmetic Times (Int (Zpos c)) t in
        [Compare AtMost m a; Compare Less a (Arithmetic Plus m (Int (Zpos c)))]
      else []
  | Arithmetic Remainder a b => if is_int d a && is_int d b then [Compare AtMost (Int 0) t; Compare Less t b] else []
  | _ => []
  end.

Record context := { named : kinds; sure : list (string * bool); within : list (expr * expr); given : list expr }.

Definition with_given (c : context) (g : list expr) : context :=
  {| named := named c; sure := sure c; within := within c; given := g |}.
Definition assume (f : expr) (c : context) : context := with_given c (f :: given c).

(* A name of a loop, an item of the list. *)
Definition enter (x : string) (k : kind) (s : list expr) (c : context) : context :=
  {| named := (x, k) :: named c; sure := (x, true) :: sure c;
     within := map (pair (Name x)) (filter (fun s => negb (mentions x s)) s)
       ++ filter (fun '(m, s) => negb (mentions x m) && negb (mentions x s)) (within c);
     given := filter (fun f => negb (mentions x f)) (given c) |}.

Definition depth := 40%nat.

Definition tidy (d : kinds) (found : list expr) (f : expr) : expr :=
  match f with
  | Compare Equal a b =>
      match kind_of d a, kind_of d b with
      | Some _, Some _ => Compare Equal (simple depth found a) (simple depth found b) | _, _ => f end
  | Not (Compare Equal a b) =>
      match kind_of d a, kind_of d b with
      | Some _, Some _ => Not (Compare Equal (simple depth found a) (simple depth found b)) | _, _ => f end
  | _ => simple depth found f
  end.

Fixpoint expanded (n : nat) (d : kinds) (todo found : list expr) : list expr :=
  match n, todo with
  | O, _ | _, [] => found
  | S n, f :: rest =>
      let f := tidy d found f in
      if member f found then expanded n d rest found else expanded n d (consequences d f ++ rest) (f :: found)
  end.

Definition forms_of (d : kinds) (f : expr) : list form :=
  match f with
  | Compare Less a b => if is_int d a && is_int d b then [added (-1, []) (added (linear b) (scaled (-1) (linear a)))] else []
  | Compare AtMost a b => if is_int d a && is_int d b then [added (linear b) (scaled (-1) (linear a))] else []
  | Compare Equal a b =>
      if is_int d a && is_int d b
      then [added (linear b) (scaled (-1) (linear a)); added (linear a) (scaled (-1) (linear b))] else []
  | _ => []
  end.

(* The search for factors: elimination of one expression after another; what it finds is checked. *)
Record row := { const : Z; coefficients : list Z; made_by : list Z }.

Fixpoint sum_lists (j : Z) (a : list Z) (k : Z) (b : list Z) : list Z :=
  match a, b with x :: a, y :: b => j * x + k * y :: sum_lists j a k b | _, _ => [] end.

Definition mixed (j : Z) (r : row) (k : Z) (s : row) : row :=
  {| const := j * const r + k * const s; coefficients := sum_lists j (coefficients r) k (coefficients s);
     made_by := sum_lists j (made_by r) k (made_by s) |}.

Definition at_place (n : nat) (r : row) : Z := nth n (coefficients r) 0.

Definition cost (n : nat) (rows : list row) : nat :=
  let p := List.length (filter (fun r => 0 <? at_place n r) rows) in
  let q := List.length (filter (fun r => at_place n r <? 0) rows) in
  match (p + q)%nat with O => 100000%nat | _ => (p * q)%nat end.

Fixpoint cheapest (places : list nat) (rows : list row) (best : nat) (least : nat) : nat * nat :=
  match places with
  | [] => (best, least)
  | n :: rest =>
      let c := cost n rows in
      if Nat.ltb c least then match c with O => (n, c) | _ => cheapest rest rows n c end
      else cheapest rest rows best least
  end.

Fixpoint eliminated (steps : nat) (places : list nat) (rows : list row) : option (list Z) :=
  match find (fun r => (const r <? 0) && forallb (fun k => k =? 0) (coefficients r)) rows with
  | Some r => Some (made_by r)
  | None =>
      match steps with
      | O => None
      | S steps =>
          let rows := filter (fun r => negb (forallb (fun k => k =? 0) (coefficients r))) rows in
          let '(n, c) := cheapest places rows 0%nat 90000%nat in
          if Nat.ltb 400 c then None else
          let positive := filter (fun r => 0 <? at_place n r) rows in
          let negatives := filter (fun r => at_place n r <? 0) rows in
          let others := filter (fun r => at_place n r =? 0) rows in
          let made := flat_map (fun r => map (fun s => mixed (- at_place n s) r (at_place n r) s) negatives) positive in
          if Nat.ltb 300 (List.length made + List.length others) then None
          else eliminated steps (filter (fun m => negb (Nat.eqb m n)) places) (made ++ others)
      end
  end.

Fixpoint atoms_of (forms : list form) (found : list expr) : list expr :=
  match forms with
  | [] => found
  | (_, l) :: rest =>
      atoms_of rest (fold_left (fun found '(_, e) => if member e found then found else e :: found) l found)
  end.

Definition coefficient (e : expr) (f : form) : Z :=
  fold_left (fun n '(k, g) => if expr_eqb e g then n + k else n) (snd f) 0.

Definition factors_for (forms : list form) : list Z :=
  let atoms := atoms_of forms [] in
  let m := List.length forms in
  let rows := map (fun '(i, f) => {| const := fst f; coefficients := map (fun e => coefficient e f) atoms;
    made_by := map (fun j => if Nat.eqb i j then 1 else 0) (seq 0 m) |}) (combine (seq 0 m) forms) in
  match eliminated (S (List.length atoms)) (seq 0 (List.length atoms)) rows with Some l => l | None => [] end.

Definition clash (f g : expr) : bool :=
  match f, g with
  | Not a, b => expr_eqb a b
  | Compare Equal a (Text s), Compare Equal b (Text t) => expr_eqb a b && negb (String.eqb s t)
  | _, _ => false
  end.

Definition absurd (f : expr) : bool :=
  match f with
  | Not (Stated (Int _)) => true
  | Not (Compare Equal (Text s) (Text t)) => String.eqb s t
  | Compare Equal (Text s) (Text t) => negb (String.eqb s t)
  | _ => false
  end.

Definition contradict (d : kinds) (facts : list expr) : bool :=
  existsb absurd facts || existsb (fun f => existsb (clash f) facts) facts ||
  (let forms := flat_map (forms_of d) facts in refutes (factors_for forms) forms).

Definition new (facts : list expr) (l : list expr) : list expr := filter (fun f => negb (member f facts)) l.

(* The integers by which conditions about a range are instantiated: indices of items, and names. *)
Definition indices (ps : list expr) : list expr := flat_map (fun p => match p with Item _ j => [j] | _ => [] end) ps.
Definition in_ranges (c : context) : list expr := flat_map (fun '(m, s) => match s with Range _ _ => [m] | _ => [] end) (within c).

Definition within_range (j a b p : expr) : expr := Or (Or (Compare Less j a) (Compare AtMost b j)) p.

Definition instances (c : context) (ps js : list expr) (f : expr) : list expr :=
  match f with
  | ForAll x s p =>
      if decides (named c) x s p then
        flat_map (fun '(m, t) => if expr_eqb s t then [subst x m p] else []) (within c) ++
        flat_map (fun e => match e with Item t j => if expr_eqb s t then [subst x e p] else [] | _ => [] end) ps ++
        match s with Range a b => map (fun j => within_range j a b (subst x j p)) js | _ => [] end
      else []
  | _ => []
  end.

Fixpoint without_twins (l : list expr) (found : list expr) : list expr :=
  match l with [] => rev found | e :: rest => without_twins rest (if member e found then found else e :: found) end.

Definition more (c : context) (facts : list expr) : list expr :=
  let ps := without_twins (flat_map (parts_of_condition (named c)) facts) [] in
  let js := without_twins (indices ps ++ in_ranges c) [] in
  flat_map (properties (named c)) ps ++ flat_map (instances c ps js) facts.

Definition rounds := 400%nat.
Definition open_choice (facts : list expr) (f : expr) : bool :=
  match f with Or a b => negb (member a facts) && negb (member b facts) | _ => false end.

(* The conditions of choices. *)
Fixpoint conditions (e : expr) : list expr :=
  match e with
  | If c a b => conditions c ++ [c] ++ conditions a ++ conditions b
  | Arithmetic _ a b | Item a b | Compare _ a b | Or a b | And a b | Cons a b | Range a b => conditions a ++ conditions b
  | Negative a | Apply _ a | Not a | Field a _ => conditions a
  | Part a b c => conditions a ++ conditions b ++ conditions c
  | ForAll _ s _ | Collect _ s _ _ => conditions s
  | _ => []
  end.

(* The expression, where a condition is true or false. *)
Fixpoint resolved (q : expr) (truth : bool) (e : expr) : expr :=
  match e with
  | If c a b => if expr_eqb c q then (if truth then resolved q truth a else resolved q truth b)
                else If (resolved q truth c) (resolved q truth a) (resolved q truth b)
  | Arithmetic s a b => Arithmetic s (resolved q truth a) (resolved q truth b)
  | Compare s a b => Compare s (resolved q truth a) (resolved q truth b)
  | Item a b => Item (resolved q truth a) (resolved q truth b)
  | Or a b => Or (resolved q truth a) (resolved q truth b)
  | And a b => And (resolved q truth a) (resolved q truth b)
  | Cons a b => Cons (resolved q truth a) (resolved q truth b)
  | Range a b => Range (resolved q truth a) (resolved q truth b)
  | Negative a => Negative (resolved q truth a)
  | Apply f a => Apply f (resolved q truth a)
  | Not a => Not (resolved q truth a)
  | Field a f => Field (resolved q truth a) f
  | Part a b c => Part (resolved q truth a) (resolved q truth b) (resolved q truth c)
  | ForAll x s p => ForAll x (resolved q truth s) p
  | Collect x s p a => Collect x (resolved q truth s) p a
  | _ => e
  end.

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

Definition scalar (k : kind) : bool := match k with KInt | KNat | KNumber | KBool | KText | KNever => true | _ => false end.
Fixpoint plain (k : kind) : bool := match k with KTensor _ => false | KList k => plain k | _ => true end.

(* One step of the search, above steps that are given: refute, the conditions of the context contradict each other; defined,
   the expression has a value in all its parts; prove, the condition holds. *)
Section Step.
Variable refute : context -> bool.
Variable defined : context -> expr -> bool.
Variable prove : context -> expr -> bool.

Definition left_of (f : expr) : option expr := match f with Or a _ => Some a | _ => None end.
Definition right_of (f : expr) : option expr := match f with Or _ b => Some b | _ => None end.

(* The other part of a choice, of which one part contradicts. *)
Definition forced (d : kinds) (all : list expr) (f : expr) : option expr :=
  match left_of f, right_of f with
  | Some a, Some b =>
      if member a all || member b all then None
      else if contradict d (expanded rounds d [a] all) then Some b
      else if contradict d (expanded rounds d [b] all) then Some a else None
  | _, _ => None
  end.

Fixpoint first_some {A} (f : expr -> option A) (l : list expr) : option A :=
  match l with [] => None | e :: rest => match f e with Some a => Some a | None => first_some f rest end end.

Definition choice_of (all : list expr) (f : expr) : option (expr * expr) :=
  match left_of f, right_of f with
  | Some a, Some b => if member a all || member b all then None else Some (a, b) | _, _ => None end.

Definition step_refute (c : context) : bool :=
  let d := named c in
  let facts := expanded rounds d (given c) [] in
  contradict d facts ||
  (let all := expanded rounds d (more c facts) facts in
   contradict d all ||
   match first_some (forced d all) all with
   | Some f => refute (with_given c (f :: all))
   | None =>
   match find (fun q => negb (member q all) && negb (member (Not q) all)) (flat_map conditions (rev all)) with
   | Some q => is_bool d q && defined c q && refute (with_given c (q :: all)) && refute (with_given c (Not q :: all))
   | None =>
   match first_some (choice_of all) (rev all) with
   | Some (a, b) => refute (with_given c (a :: all)) && refute (with_given c (b :: all))
   | None => Nat.ltb (List.length facts) (List.length all) && refute (with_given c all)
   end end end).

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

Definition reduce_defined (c : context) (x y : string) (b s a : expr) (k t : kind) : bool :=
  let d := named c in
  let facts := expanded rounds d (given c) [] in
  let js := filter (defined c) (without_twins (int_parts d s) []) in
  let all := expanded rounds d (flat_map (instance_of_range c js) facts) facts in
  existsb (kept (with_given c all) x y b s a k t) all.

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
       is_int d a && is_int d b && (negb (quotient sign) || refute (assume (Compare AtMost b (Int 0)) c)))
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
      negb (mentions y p) && defined c s && is_list d s
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

Definition step_prove (c : context) (g : expr) : bool :=
  let d := named c in
  member g (given c) ||
  match g with
  | And a b => prove c a && prove (assume a c) b
  | Or a b => prove c a || is_bool d a && defined c a && prove (assume (Not a) c) b
  | ForAll x s p => prove_all c x s p
  | _ => prove_other c g
  end.
End Step.

(* The steps, whose "and" and "or" stop at the first part that decides: a call of [andb] evaluates both parts in Coq's
   virtual machine, and so would search to the end of [fuel]. *)
Definition quick_refute := Eval cbv beta delta [andb orb step_refute] in step_refute.
Definition quick_defined := Eval cbv beta delta
  [andb orb step_defined body_defined function_defined reduce_defined kept instance_of_range] in step_defined.
Definition quick_prove := Eval cbv beta delta [andb orb step_prove prove_all prove_other] in step_prove.

Fixpoint refute (n : nat) (c : context) : bool :=
  match n with O => false | S n => quick_refute (refute n) (defined n) c end
with defined (n : nat) (c : context) (e : expr) : bool :=
  match n with O => false | S n => quick_defined (refute n) (defined n) (prove n) c e end
with prove (n : nat) (c : context) (g : expr) : bool :=
  match n with O => false | S n => quick_prove (refute n) (defined n) (prove n) c g end.
