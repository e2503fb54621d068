(* What the declarations of a value state together, and the names of the main graph: docs/specification.md, "Structure". *)
From Coq Require Import ZArith String List Bool.
From Sonnx Require Import syntax values model call.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.

(* Long lists: these take no stack. *)
Definition mapped {A B} (f : A -> B) (l : list A) : list B := rev_append (fold_left (fun done a => f a :: done) l []) [].
Definition numbered {A} (l : list A) : list (Z * A) :=
  rev_append (snd (fold_left (fun s a => (fst s + 1, (fst s, a) :: snd s)%Z) l (0%Z, []))) [].
Definition joined_lists {A} (l r : list A) : list A := rev_append (rev_append l []) r.

Definition set_of (l : list string) (s : Names.t unit) : Names.t unit := fold_left (fun s x => Names.add x tt s) l s.
Definition has {A} (x : string) (m : Names.t A) : bool := Names.mem x m.

(* The names that stand more than once. *)
Definition repeated (l : list string) : list string :=
  snd (fold_left (fun s x => if has x (fst s) then (fst s, x :: snd s) else (Names.add x tt (fst s), snd s)) l (Names.empty unit, [])).
Definition is_named (x : string) : bool := negb (String.eqb x "").

Definition dimension_eqb (a b : dimension) : bool :=
  match a, b with
  | Extent x, Extent y => Z.eqb x y | Symbol x, Symbol y => String.eqb x y | Unstated, Unstated => true | _, _ => false end.
Fixpoint list_eqb {A} (eqb : A -> A -> bool) (l r : list A) : bool :=
  match l, r with [], [] => true | a :: l, b :: r => eqb a b && list_eqb eqb l r | _, _ => false end.
Definition option_eqb {A} (eqb : A -> A -> bool) (a b : option A) : bool :=
  match a, b with None, None => true | Some a, Some b => eqb a b | _, _ => false end.
Fixpoint type_eqb (a b : type) : bool :=
  String.eqb (type_kind a) (type_kind b) && option_eqb String.eqb (type_element a) (type_element b) &&
  option_eqb (list_eqb dimension_eqb) (type_shape a) (type_shape b) && Bool.eqb (holds_sparse a) (holds_sparse b) &&
  list_eqb String.eqb (denotations a) (denotations b) && option_eqb String.eqb (type_key a) (type_key b) &&
  match a, b with
  | Type_of _ _ _ _ _ _ (Some c), Type_of _ _ _ _ _ _ (Some d) => type_eqb c d
  | Type_of _ _ _ _ _ _ None, Type_of _ _ _ _ _ _ None => true
  | _, _ => false
  end.

Definition no_type : type :=
  {| type_kind := "not stated"; type_element := None; type_shape := None; holds_sparse := false; denotations := [];
     type_key := None; inner := None |}.
Definition is_stated (t : type) : bool := negb (String.eqb (type_kind t) "not stated").

(* Of several declarations a number counts before a symbol, and that before nothing; of two that contradict each other the
   least, whatever their order. *)
Definition text_before (a b : string) : bool := match String.compare a b with Lt => true | _ => false end.
Definition rank_of (d : dimension) : Z :=
  match d with Extent n => if (0 <=? n)%Z then 0 else 2 | Symbol _ => 1 | Unstated => 3 end.
Definition before (a b : dimension) : bool :=
  if Z.ltb (rank_of a) (rank_of b) then true
  else Z.eqb (rank_of a) (rank_of b) &&
    match a, b with Extent x, Extent y => (x <? y)%Z | Symbol x, Symbol y => text_before x y | _, _ => false end.
Definition least {A} (less : A -> A -> bool) (l : list A) : option A :=
  match l with [] => None | a :: rest => Some (fold_left (fun m b => if less b m then b else m) rest a) end.
Fixpoint pointwise {A} (pick : A -> A -> A) (l r : list A) : list A :=
  match l, r with a :: l, b :: r => pick a b :: pointwise pick l r | _, _ => [] end.
Definition all_pointwise {A} (pick : A -> A -> A) (l : list (list A)) : list A :=
  match l with [] => [] | a :: rest => fold_left (pointwise pick) rest a end.
Definition present {A B} (f : A -> option B) (l : list A) : list B :=
  flat_map (fun a => match f a with Some b => [b] | None => [] end) l.

Definition together (types : list type) : type :=
  let stating := filter is_stated types in
  match least text_before (map type_kind stating) with
  | None => no_type
  | Some k =>
      let same := filter (fun t => String.eqb (type_kind t) k) stating in
      let shapes := present type_shape same in
      let rank := match least Nat.ltb (map (@List.length dimension) shapes) with Some n => n | None => O end in
      let fitting := filter (fun s => Nat.eqb (List.length s) rank) shapes in
      let named := filter (fun d => Nat.eqb (List.length d) rank) (map denotations same) in
      {| type_kind := k;
         type_element := least text_before (present type_element same);
         type_shape := match shapes with [] => None | _ => Some (all_pointwise (fun a b => if before b a then b else a) fitting) end;
         holds_sparse := existsb holds_sparse same;
         denotations := all_pointwise (fun a b => if String.eqb a "" then b else if String.eqb b "" then a
                                                  else if text_before b a then b else a) named;
         type_key := least text_before (present type_key same);
         inner := hd_error (present inner same) |}   (* two that differ contradict each other: consistent-declarations *)
  end.

Section Graph.
Variable g : graph.

Definition declarations : list (string * type) := joined_lists (graph_inputs g) (joined_lists (graph_outputs g) (value_info g)).

(* The type of each declared name. *)
Definition declared : Names.t type :=
  Names.map together (fold_left (fun m p => let l := match Names.find (fst p) m with Some l => l | None => [] end in
    Names.add (fst p) (if existsb (type_eqb (snd p)) l then l else snd p :: l) m) declarations (Names.empty (list type))).

Definition constant_names : list string :=
  joined_lists (mapped constant_name (initializers g)) (mapped sparse_name (sparse_initializers g)).
Definition input_names : list string := mapped fst (graph_inputs g).
Definition output_names : list string := mapped fst (graph_outputs g).
Definition made_names : list string := fold_left (fun l n => rev_append (outputs n) l) (nodes g) [].

(* The index of the first node that defines a name; -1 for graph inputs and constants. *)
Definition defined_at : Names.t Z :=
  let made := fold_left (fun m p => fold_left (fun m x => if has x m then m else Names.add x (fst p) m) (outputs (snd p)) m)
    (numbered (nodes g)) (Names.empty Z) in
  Names.remove "" (fold_left (fun m x => Names.add x (-1)%Z m) (joined_lists input_names constant_names) made).

End Graph.

(* What a declaration states of its value. *)
Definition declared_tensor (t : type) : tensor :=
  if type_eqb t no_type then nothing_stated
  else if existsb (String.eqb (type_kind t)) ["tensor"; "sparse tensor"; "not stated"] then
    {| element_type := element_fact (type_element t);
       shape := match type_shape t with Some s => VList (map dimension_fact s) | None => not_stated end;
       contents_of := Known run_time; kind := type_kind t; sparse := holds_sparse t; derived := false |}
  else {| element_type := not_stated; shape := not_stated; contents_of := Known run_time; kind := type_kind t;
          sparse := holds_sparse t; derived := false |}.
