(* The whole check: every rule in force about a model, and its verdict.  docs/specification.md, "Validation". *)
From Coq Require Import ZArith String List Bool.
From Sonnx Require Import syntax values evaluation model call declarations graph_rules node_rules format_rules.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.

Definition known_values := Names.t tensor.

(* A sparse initializer is a dense tensor that is stored in another format; its values are not read. *)
Definition stored_sparsely (c : sparse_constant) : tensor :=
  {| element_type := element_fact (sparse_element c); shape := VList (map extent_fact (sparse_extents c)); contents_of := Known run_time;
     kind := "tensor"; sparse := true; derived := false |}.

(* The facts of the values before the first node: declarations, then constants.  From IR version 4 on a caller may replace
   the constant of a graph input, so that its values are known at run time only. *)
Definition initial (m : model) (types : Names.t type) (numbers_of : N -> value) : known_values :=
  let g := main m in
  let newer := match ir_version m with Some v => (4 <=? v)%Z | None => false end in
  let given := set_of (input_names g) (Names.empty unit) in
  let constant_of c := let t := constant_tensor numbers_of c in
    if newer && has (constant_name c) given then with_contents (Known run_time) false t else t in
  let declared := Names.map declared_tensor types in
  let constants := fold_left (fun k c => if is_named (constant_name c) then Names.add (constant_name c) (constant_of c) k else k)
    (initializers g) declared in
  fold_left (fun k c => if has (sparse_name c) k then k else Names.add (sparse_name c) (stored_sparsely c) k)
    (sparse_initializers g) constants.

Definition value_named (k : known_values) (x : string) : option tensor :=
  if is_named x then Some (match Names.find x k with Some t => t | None => nothing_stated end) else None.

Fixpoint bind (names : list string) (ts : list tensor) (k : known_values) : known_values :=
  match names, ts with
  | x :: names, t :: ts => bind names ts (if is_named x then Names.add x t k else k)
  | _, _ => k
  end.

Section Walk.
Variables (e : edition) (m : model).
(* The call of an operator in a version; the check of a model takes [call], or a function that remembers its results. *)
Variable of_call : string -> Z -> bool -> signature -> list attribute -> list (option tensor) -> list (option tensor) -> outcome.

Definition in_force (x : string) : bool := match found x (decided_rules e) with Some _ => true | None => false end.
(* The results of rules without an expression: those in force. *)
Definition kept (l : list (string * result)) : list (string * result) :=
  filter (fun p => in_force (fst p) && match snd p with Judged Pass => false | _ => true end) l.
Definition restricts_only (x : string) : bool := match found x (decided_rules e) with Some b => b | None => false end.

(* The rules about the parameters and the inputs of a call. *)
Definition truths (x : string) (l : list (string * bool)) : environment :=
  single_fact x (VRecord (map (fun p => (fst p, VBool (snd p))) l)).
Definition parameter_results (s : signature) (n : node) : list (profile_rule * verdict) :=
  flat_map (fun p =>
    let judged := about (about_parameters e) (truths "parameter"
      [("written", existsb (fun a => String.eqb (parameter_name p) (attribute_name a)) (attributes n));
       ("value_when_absent", match absent p with Some _ => true | None => false end)]) in
    if among (meant e m n) (parameter_name p)
    then map (fun r => (fst r, match snd r with Fail => Undecided | v => v end)) judged else judged) (attribute_parameters s).
Fixpoint input_results (l : list formal) (names : list string) : list (profile_rule * verdict) :=
  match l with
  | [] => []
  | f :: rest =>
      (if optional f && negb (may_be_omitted f)
       then about (about_inputs e) (truths "input" [("connected", is_named (hd "" names))]) else [])
      ++ input_results rest (tl names)
  end.

Definition verdict_of (p : profile_rule * verdict) : string * result := (slug (own (fst p)), Judged (snd p)).
Definition no_names : environment := fun _ => not_stated.

(* A node: the results of all rules about it, and the values after it. *)
Definition step (k : known_values) (n : node) : known_values * list (string * result) :=
  let by_node := kept (node_rules e m n) in
  match resolved e m n with
  | None => (bind (outputs n) (map (fun x => declares (value_named k x)) (outputs n)) k, by_node)
  | Some (v, s) =>
      let about_it := if planned e m n then [] else parameter_results s n ++ input_results (formals s) (inputs n) in
      let others := forallb (fun p => restricts_only (fst p) && match snd p with Judged Fail => true | _ => false end) by_node
        && forallb (fun p => leaves no_names (fst p) (snd p)) about_it in
      let o := of_call (operator n) v others s (attributes n) (map (value_named k) (inputs n)) (map (value_named k) (outputs n)) in
      (bind (outputs n) (after_call o) k,
       by_node ++ map verdict_of (about_it ++ general o) ++ map (fun p => (fst p, Judged (snd p))) (verdicts o))
  end.

Definition holds (r : result) : bool := match r with Judged Pass | Judged NotApplicable => true | _ => false end.
Definition failing (p : place) (l : list (string * result)) (done : list finding) : list finding :=
  fold_left (fun done r => if holds (snd r) then done else {| at_place := p; rule_slug := fst r; says := snd r |} :: done) l done.

(* The nodes in order: the values after the last one, and what does not hold, the last first. *)
Definition walk (k : known_values) : known_values * list finding :=
  fold_left (fun s p => let '(k, done) := s in let '(k', l) := step k (snd p) in (k', failing (InNode (fst p)) l done))
    (numbered (nodes (main m))) (k, []).

(* The rules about values: each declared value once, by what its declarations state together, an input or output by its
   own declaration; each constant; each output of a node without a declaration. *)
Definition value_results (t : tensor) : list (string * result) :=
  map verdict_of (about (about_values e) (fun x =>
    if String.eqb x "value" then record_of (fun _ => not_stated) false t
    else if String.eqb x "element_types" then VList (map VText (element_types e)) else not_stated)).
Definition constant_type (x : option string) (dims : list Z) (sparse : bool) : tensor :=
  {| element_type := element_fact x; shape := VList (map extent_fact dims); contents_of := Known run_time;
     kind := if sparse then "sparse tensor" else "tensor"; sparse := sparse; derived := false |}.

(* The inputs and outputs, each declaration of a name once: what was seen, and what does not hold. *)
Definition seen := (Names.t (list type) * list finding)%type.
Definition see (x : string) (s : seen) : seen := (if has x (fst s) then fst s else Names.add x [] (fst s), snd s).
Definition interface (at_index : Z -> place) (l : list (string * type)) (s : seen) : seen :=
  fold_left (fun s p => let '(i, (x, t)) := p in
    let types := match Names.find x (fst s) with Some l => l | None => [] end in
    if negb (is_named x) || existsb (type_eqb t) types then s
    else (Names.add x (t :: types) (fst s), failing (at_index i) (value_results (declared_tensor t)) (snd s)))
    (numbered l) s.

Definition values_checked (types : Names.t type) : list finding :=
  let g := main m in
  let constants := set_of (mapped constant_name (initializers g)) (Names.empty unit) in
  let s := interface InOutput (graph_outputs g) (interface InInput (graph_inputs g) (Names.empty (list type), [])) in
  let s := fold_left (fun s p => let '(i, (x, _)) := p in
    if negb (is_named x) || has x (fst s) || has x constants then s
    else (fst (see x s), failing (InValueInfo i)
      (match Names.find x types with Some t => value_results (declared_tensor t) | None => [] end) (snd s)))
    (numbered (value_info g)) s in
  let s := fold_left (fun s p => let '(i, c) := p in
    (fst (see (constant_name c) s),
     failing (InInitializer i) (value_results (constant_type (constant_element c) (extents c) false) ++ kept (constant_rules c)) (snd s)))
    (numbered (initializers g)) s in
  let s := fold_left (fun s p => let '(i, c) := p in
    (fst (see (sparse_name c) s), failing (InSparse i) (value_results (constant_type (sparse_element c) (sparse_extents c) true)) (snd s)))
    (numbered (sparse_initializers g)) s in
  let undeclared := value_results nothing_stated in
  let s := fold_left (fun s p => let '(i, n) := p in
    let s := fold_left (fun s x => if negb (is_named x) || has x (fst s) then s
      else (fst (see x s), failing (OfNode i) undeclared (snd s))) (outputs n) s in
    fold_left (fun s a =>
      let l := flat_map (fun c => kept (constant_rules c)) (tensors a) ++
        (if is_sparse a then filter (fun r => String.eqb (fst r) "no-sparse-tensor") (value_results (constant_type None [] true)) else []) in
      (fst s, failing (InAttribute i (attribute_name a)) l (snd s))) (attributes n) s)
    (numbered (nodes g)) s in
  snd s.

(* From IR version 4 on a constant of a graph input is a default value. *)
Definition default_inputs : list finding :=
  let g := main m in
  let given := set_of (input_names g) (Names.empty unit) in
  if match ir_version m with Some v => (4 <=? v)%Z | None => false end then
    fold_left (fun done p => let '(i, c) := p in
      if has (constant_name c) given
      then failing (InInitializer i)
        (map verdict_of (about (about_parameters e) (truths "parameter" [("written", false); ("value_when_absent", true)]))) done
      else done) (numbered (initializers g)) []
  else [].

Definition of_rules (l : list (string * bool)) : list (string * result) := kept (map (fun p => (fst p, passes (snd p))) l).

(* The rules without an expression that are defined here.  Another one that an edition has in force is not checked, so that no
   model conforms by a rule that this check does not know. *)
Definition defined_rules : list string :=
  ["ir-version-known"; "operator-set-imported-once"; "some-operator-set-imported"; "imports-since-ir-version-3";
   "no-import-before-ir-version-3"; "initializers-are-inputs"; "operator-set-known"; "no-training-info"; "no-unknown-field";
   "enumeration-values"; "metadata-keys-distinct"; "printable-name"; "no-model-local-function"; "interface-declared";
   "subgraph-initializers"; "functions-distinct"; "functions-not-recursive"; "function-operator-sets-compatible";
   "device-configurations"; "node-device-configurations"; "quantization-annotations"; "training-bindings"; "training-graphs";
   "function-overrides-operator"; "function-named"; "function-attributes-distinct"; "function-names-declared";
   "graph-named"; "values-named"; "names-defined-once"; "names-defined-before-use"; "acyclic"; "node-names-distinct";
   "value-info-once"; "outputs-produced"; "no-dead-node"; "no-unused-value"; "axis-denotations"; "consistent-declarations";
   "types-complete"; "sparse-tensor-data"; "attribute-reference-declared"; "tensor-data"; "external-data";
   "operator-named"; "operator-set-imported"; "operator-in-profile"; "operator-version"; "operator-exists"; "operator-conditions";
   "body-signature"; "known-attribute"; "required-attribute"; "attribute-once"; "attribute-kind"; "attribute-reference";
   "input-count"; "output-count"; "outputs-connected"].
Definition not_defined : list (string * result) :=
  flat_map (fun p => if among defined_rules (fst p) then [] else [(fst p, NotChecked)]) (decided_rules e).

(* What does not hold of the model. *)
Definition findings (numbers_of : N -> value) : list finding :=
  let g := main m in
  let types := declared g in
  let defined := defined_at g in
  failing InModel (of_rules (file_rules e m) ++ of_rules (format_rules e m) ++ kept (not_only_passes m) ++ not_defined) [] ++
  flat_map (fun p => failing (InFunction (fst p)) (of_rules (function_rules (snd p))) []) (numbered (functions m)) ++
  failing InGraph (of_rules (graph_rules e g types defined)) [] ++
  failing InGraph (of_rules (rules_anywhere numbers_of None g)) [] ++
  flat_map (fun o => failing (Elsewhere (path o)) (of_rules (rules_anywhere numbers_of (of_function o) (other o))) []) (others m) ++
  (if in_force "no-dead-node"
   then mapped (fun i => {| at_place := InNode i; rule_slug := "no-dead-node"; says := Judged Fail |}) (dead_nodes g defined) else []) ++
  joined_lists (values_checked types) (joined_lists default_inputs (rev_append (snd (walk (initial m types numbers_of))) [])).

End Walk.

(* The check of a model. *)
Definition check (e : edition) (m : model) (numbers_of : N -> value) : list finding :=
  findings e m (fun _ _ others s l ins outs => call numbers_of (about_groups e) (about_operands e) others s l ins outs) numbers_of.

(* The exit code: a rule that fails decides, then one that is not decided, not checked or assumed. *)
Definition exit_code (l : list finding) : Z :=
  if existsb (fun f => match says f with Judged Fail => true | _ => false end) l then 1%Z
  else match l with [] => 0%Z | _ => 3%Z end.

(* Whether a model conforms: the verdict of `sonnx check` without options is "pass". *)
Definition conforms (e : edition) (m : model) (numbers_of : N -> value) : bool :=
  match check e m numbers_of with [] => true | _ => false end.
