(* What a search knows of a call: conditions, what follows from them, and whether they contradict each other. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts choices conditions consequences.
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
  | ForAll _ s _ | Exists _ s _ | Compare Member _ s => parts s
  | _ => []
  end.

Definition scalar (k : kind) : bool := match k with KInt | KNat | KNumber | KBool | KText | KNever => true | _ => false end.

(* A condition of all items of a list of integers. *)
Definition bounding (d : kinds) (s p : expr) : list expr :=
  match kind_of d s with Some (KList k) => if integral k && negb (mentions member_name s) then [ForAll member_name s p] else [] | _ => [] end.

(* The place of an item of a list that is written item by item. *)
Fixpoint at_place_of (t j : expr) (n : nat) (items : list expr) : expr :=
  match items with
  | [] => Compare Less (Int 0) (Int 0)
  | e :: rest => Or (And (Compare Equal j (place n)) (Compare Equal t e)) (at_place_of t j (S n) rest)
  end.

(* A quotient of integers: rounded down by a constant; at least 0 where the number that is divided is. *)
Definition of_quotient (a b t : expr) : list expr :=
  match b with
  | Int (Zpos c) =>
      let m := Arithmetic Times (Int (Zpos c)) t in
      [Compare AtMost m a; Compare Less a (Arithmetic Plus m (Int (Zpos c)))]
  | _ => [Or (Compare Less a (Int 0)) (Compare AtMost (Int 0) t)]
  end.

Definition sum_of (items : list expr) : expr := fold_right (Arithmetic Plus) (Int 0) items.

(* What is so of every integer of a form. *)
Definition properties (d : kinds) (t : expr) : list expr :=
  (match kind_of d t with Some KNat => [Compare AtMost (Int 0) t] | _ => [] end) ++
  match t with
  | Name x => [Stated t]
  | Apply Len (Range a b) =>
      let n := Arithmetic Minus b a in [Compare AtMost n t; Or (Compare AtMost t (Int 0)) (Compare AtMost t n)]
  | Apply Len (Collect x s q a) => [Compare AtMost t (length_form s)]
  | Apply Sum s =>
      match listed s with Some items => if integers_only d s then [Compare Equal t (sum_of items)] else [] | None => [] end
  | Apply Largest s => bounding d s (Compare AtMost (Name member_name) t)
  | Apply Smallest s => bounding d s (Compare AtMost t (Name member_name))
  | Item s j =>
      Compare AtMost (Int 0) j :: Compare Less j (length_form s) ::
      match listed s, kind_of d t with
      | Some items, Some k => if scalar k then [at_place_of t j 0 items] else []
      | _, _ => []
      end
  | Arithmetic Quotient a b => if is_int d a && is_int d b then of_quotient a b t else []
  | Arithmetic Remainder a b => if is_int d a && is_int d b then [Compare AtMost (Int 0) t; Compare Less t b] else []
  | _ => []
  end.


Record context := { named : kinds; sure : list (string * bool); within : list (expr * expr); given : list expr }.

Definition with_given (c : context) (g : list expr) : context :=
  {| named := named c; sure := sure c; within := within c; given := g |}.
Definition assume (f : expr) (c : context) : context := with_given c (f :: given c).

(* A name of a loop, an item of the list; [known]: it has a value. *)
Definition enter_as (known : bool) (x : string) (k : kind) (s : list expr) (c : context) : context :=
  {| named := (x, k) :: named c; sure := (x, known) :: sure c;
     within := map (pair (Name x)) (filter (fun s => negb (mentions x s)) s)
       ++ filter (fun '(m, s) => negb (mentions x m) && negb (mentions x s)) (within c);
     given := filter (fun f => negb (mentions x f)) (given c) |}.

Definition enter := enter_as true.

Definition depth := 40%nat.

Definition tidy (d : kinds) (found : list expr) (f : expr) : expr :=
  let f := settle found f in
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

(* For the expression at each place, the rows where its coefficient is positive and where it is negative.  They are counted
   in [Z]: a large numeral of [nat] is computed wherever the evaluation meets it. *)
Fixpoint counted (coefficients : list Z) (counts : list (Z * Z)) : list (Z * Z) :=
  match coefficients, counts with
  | k :: l, (p, q) :: rest => (match k with 0 => (p, q) | Zpos _ => (p + 1, q) | Zneg _ => (p, q + 1) end) :: counted l rest
  | _, _ => []
  end.

Definition signs (rows : list row) : list (Z * Z) :=
  match rows with
  | [] => []
  | r :: _ => fold_left (fun counts r => counted (coefficients r) counts) rows (map (fun _ => (0, 0)) (coefficients r))
  end.

(* The place whose elimination leaves the fewest new rows, and their number. *)
Fixpoint cheapest (n : nat) (counts : list (Z * Z)) (best : nat) (least : Z) : nat * Z :=
  match counts with
  | [] => (best, least)
  | (p, q) :: rest =>
      let c := p * q in
      if p + q =? 0 then cheapest (S n) rest best least
      else if c <? least then (if c =? 0 then (n, c) else cheapest (S n) rest n c)
      else cheapest (S n) rest best least
  end.

Fixpoint eliminated (steps : nat) (rows : list row) : option (list Z) :=
  match find (fun r => (const r <? 0) && forallb (fun k => k =? 0) (coefficients r)) rows with
  | Some r => Some (made_by r)
  | None =>
      match steps with
      | O => None
      | S steps =>
          let rows := filter (fun r => negb (forallb (fun k => k =? 0) (coefficients r))) rows in
          let '(n, c) := cheapest 0 (signs rows) 0%nat 90000 in
          if 400 <? c then None else
          let positive := filter (fun r => 0 <? at_place n r) rows in
          let negatives := filter (fun r => at_place n r <? 0) rows in
          let others := filter (fun r => at_place n r =? 0) rows in
          let made := flat_map (fun r => map (fun s => mixed (- at_place n s) r (at_place n r) s) negatives) positive in
          if Nat.ltb 300 (List.length made + List.length others) then None
          else eliminated steps (made ++ others)
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
  match eliminated (S (List.length atoms)) rows with Some l => l | None => [] end.

Definition clash (f g : expr) : bool :=
  match f, g with
  | Compare Member a l, Not (Compare Member b m) =>
      match listed l, listed m with Some i, Some j => expr_eqb a b && forallb (fun e => member e j) i | _, _ => false end
  | Not a, b => expr_eqb a b
  | Compare Equal a (Text s), Compare Equal b (Text t) => expr_eqb a b && negb (String.eqb s t)
  | _, _ => false
  end.

Definition contradict (d : kinds) (facts : list expr) : bool :=
  if existsb false_form facts then true else if existsb (fun f => existsb (clash f) facts) facts then true else
  let forms := flat_map (forms_of d) facts in refutes (factors_for forms) forms.

Definition new (facts : list expr) (l : list expr) : list expr := filter (fun f => negb (member f facts)) l.

(* The integers by which conditions about a range are instantiated: indices of items, and names. *)
Definition indices (ps : list expr) : list expr := flat_map (fun p => match p with Item _ j => [j] | _ => [] end) ps.
Definition in_ranges (ms : list (expr * expr)) : list expr :=
  flat_map (fun '(m, s) => match s with Range _ _ => [m] | _ => [] end) ms.

Definition within_range (j a b p : expr) : expr := Or (Or (Compare Less j a) (Compare AtMost b j)) p.

(* The list that an item of a list is taken from, and the conditions of the filters on the way. *)
Fixpoint widened (m s : expr) : list (expr * expr) :=
  (m, s) :: match s with
            | Part t _ _ => widened m t
            | Collect y t q (Name z) => if String.eqb y z then widened m t else []
            | _ => []
            end.
Fixpoint filters (m s : expr) : list expr :=
  match s with
  | Part t _ _ => filters m t
  | Collect y t q (Name z) => if String.eqb y z then subst y m q :: filters m t else []
  | _ => []
  end.

(* The expressions that are items of a list. *)
Definition memberships (c : context) (facts ps : list expr) : list (expr * expr) :=
  flat_map (fun '(m, s) => match m with Name _ => [(m, simple depth facts (settle facts s))] | _ => [] end) (within c) ++
  flat_map (fun e => match e with Item t j => [(e, t)] | _ => [] end) ps.

(* Whether an item of a list is equal to itself: it has a value. *)
Definition is_itself (c : context) (m : expr) : bool :=
  match kind_of (named c) m with Some k => scalar k | None => false end
  && match m with Name x => match lookup x (sure c) with Some b => b | None => false end | Item _ _ => true | _ => false end.

(* What is so of an item of a list. *)
Definition of_member (c : context) (m s : expr) : list expr :=
  filters m s ++
  match s with
  | Range a b => [Compare AtMost a m; Compare Less m b]
  | Collect y t q a =>
      Compare Less (Int 0) (length_form s) ::
      match a with
      | Name z => []
      | _ => if is_itself c m && negb (mentions y m) then [Exists y t (And q (Compare Equal a m))] else []
      end
  | Cons _ _ => if is_itself c m then match listed s with Some items => [one_of m items] | None => [] end else []
  | _ => []
  end.

(* Whether an item of a list by the index [x] is asked for. *)
Fixpoint asks_item (x : string) (e : expr) : bool :=
  match e with
  | Item s i => match i with Name y => String.eqb x y | _ => false end || asks_item x s || asks_item x i
  | Cons a b | Arithmetic _ a b | Compare _ a b | And a b | Or a b | Range a b => asks_item x a || asks_item x b
  | Field a _ | Negative a | Not a | Flatten a | Apply _ a | Stated a => asks_item x a
  | Part a b c | If a b c | Collect _ a b c | Reduce _ _ a b c => asks_item x a || asks_item x b || asks_item x c
  | ForAll _ a b | Exists _ a b | Let _ a b => asks_item x a || asks_item x b
  | _ => false
  end.

(* Items at the same place of equal lists. *)
Definition twins (a b : expr) (ps : list expr) : list expr :=
  flat_map (fun e => match e with Item t j => if expr_eqb a t || expr_eqb b t then [Compare Equal (Item a j) (Item b j)] else [] | _ => [] end) ps.

Definition instances (c : context) (ms : list (expr * expr)) (ps places js : list expr) (f : expr) : list expr :=
  match f with
  | ForAll x s p =>
      if decides (named c) x s p then
        flat_map (fun '(m, t) => if expr_eqb s t then [subst x m p] else []) ms ++
        match s with
        | Range a b => map (fun j => within_range j a b (subst x j p)) (if asks_item x p then js ++ places else js)
        | _ => []
        end
      else []
  | Compare Equal a b => if is_list (named c) a && is_list (named c) b then twins a b ps else []
  | _ => []
  end.

Fixpoint without_twins (l : list expr) (found : list expr) : list expr :=
  match l with [] => rev found | e :: rest => without_twins rest (if member e found then found else e :: found) end.

(* Comparisons of a number that is equal to an integer are those of the integer. *)
Definition is_number (d : kinds) (e : expr) : bool := match kind_of d e with Some KNumber => true | _ => false end.
Definition with_integer (x e g : expr) : list expr :=
  match g with
  | Compare Equal _ _ | Compare Member _ _ => []
  | Compare s a b =>
      (if expr_eqb x a then [Compare s e b] else []) ++ (if expr_eqb x b then [Compare s a e] else [])
  | _ => []
  end.
Definition with_integers (d : kinds) (facts : list expr) (f : expr) : list expr :=
  match f with
  | Compare Equal x e => if is_number d x && is_int d e then flat_map (with_integer x e) facts else []
  | _ => []
  end.

(* What is not equal to a text is not equal to what is equal to the text. *)
Definition with_text (facts : list expr) (f : expr) : list expr :=
  match f with
  | Compare Equal a (Text s) =>
      flat_map (fun g => match g with
        | Not (Compare Equal x y) =>
            (if expr_eqb a x then [Not (Compare Equal y (Text s))] else []) ++
            (if expr_eqb a y then [Not (Compare Equal x (Text s))] else [])
        | _ => [] end) facts
  | _ => []
  end.

Definition more (c : context) (facts : list expr) : list expr :=
  let ps := without_twins (flat_map (parts_of_condition (named c)) facts) [] in
  let ms := flat_map (fun '(m, s) => widened m s) (memberships c facts ps) in
  let js := without_twins (in_ranges ms) [] in
  let places := new js (without_twins (indices ps) []) in
  flat_map (properties (named c)) ps ++ flat_map (fun '(m, s) => of_member c m s) ms ++
  flat_map (instances c ms ps places js) facts ++ flat_map (with_integers (named c) facts) facts ++ flat_map (with_text facts) facts.

Definition rounds := 400%nat.
