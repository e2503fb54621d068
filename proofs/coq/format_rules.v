(* The rules of graph.toml that ONNX has beside nodes and names: functions, types, sparse tensors, devices, annotations, training.
   docs/specification.md, "Validation".  Each definition has the name of its rule. *)
From Coq Require Import ZArith String Ascii List Bool.
From Sonnx Require Import syntax values evaluation model call declarations graph_rules node_rules.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.
Open Scope Z_scope.

Definition is_empty {A} (l : list A) : bool := match l with [] => true | _ => false end.
Definition is_some {A} (a : option A) : bool := match a with Some _ => true | None => false end.
Definition states_name (x : option string) : bool := match x with Some x => is_named x | None => false end.

(* Types. *)
Definition with_shape_kind (t : type) : bool := among ["tensor"; "sparse tensor"] (type_kind t).
Definition defined_element (x : option string) : bool := match x with Some x => negb (String.prefix "type " x) | None => false end.
Definition key_types : list string := ["int8"; "int16"; "int32"; "int64"; "uint8"; "uint16"; "uint32"; "uint64"; "string"].
Fixpoint is_complete (t : type) : bool :=
  match t with
  | Type_of kind element _ _ _ key inner =>
      if String.eqb kind "not stated" then false
      else if among ["tensor"; "sparse tensor"] kind then defined_element element
      else (negb (String.eqb kind "map") || match key with Some k => among key_types k | None => false end) &&
        match inner with Some t => is_complete t | None => true end
  end.
Definition types_complete (g : graph) : bool :=
  forallb (fun p => negb (is_stated (snd p)) || is_complete (snd p)) (declarations g) &&
  forallb (fun n => forallb (fun a => forallb is_complete (types a)) (attributes n)) (nodes g).
Definition interface_declared (m : model) : bool :=
  let declared (p : string * type) := is_stated (snd p) && (negb (with_shape_kind (snd p)) || is_some (type_shape (snd p))) in
  forallb declared (graph_inputs (main m)) && forallb declared (graph_outputs (main m)).

(* Graphs inside nodes: an operator gives each input its value. *)
Fixpoint stand_last (l : list bool) : bool := match l with [] => true | b :: r => (negb b || forallb (fun x => x) r) && stand_last r end.
Definition subgraph_initializers (m : model) : bool :=
  forallb (fun o =>
    negb (is_nested o) ||
    let constants := set_of (constant_names (other o)) (Names.empty unit) in
    let both := map (fun p => has (fst p) constants) (graph_inputs (other o)) in
    if match ir_version m with Some v => 4 <=? v | None => false end then forallb negb both else stand_last both) (others m).

(* Functions.  A key is written as one text: a slash in a part is doubled, another one ends the part. *)
Fixpoint doubled (s : string) : string :=
  match s with
  | EmptyString => EmptyString
  | String c r => if Ascii.eqb c "/" then String c (String c (doubled r)) else String c (doubled r)
  end.
Definition one_text (k : operator_key) : string :=
  (doubled (standard (fst k)) ++ "/:" ++ doubled (fst (snd k)) ++ "/:" ++ doubled (snd (snd k)))%string.
Definition key_of (f : function) : operator_key := (function_domain f, (function_name f, function_overload f)).

Definition functions_distinct (m : model) : bool := is_empty (repeated (map (fun f => one_text (key_of f)) (functions m))).

(* A visit of a function and those that it calls, depth first: what was visited, None where a function calls one that is not left yet. *)
Fixpoint visit (fuel : nat) (calls : Names.t (list string)) (around : Names.t unit) (x : string) (left : option (Names.t unit)) : option (Names.t unit) :=
  match left, Names.find x calls, fuel with
  | None, _, _ => None
  | Some done, None, _ => Some done                   (* not a function of the model *)
  | Some done, Some l, fuel =>
      if has x done then Some done
      else if has x around then None
      else match fuel with
        | O => None
        | S fuel => option_map (Names.add x tt) (fold_left (fun left y => visit fuel calls (Names.add x tt around) y left) l left)
        end
  end.
Definition functions_not_recursive (m : model) : bool :=
  let calls := fold_left (fun t f => Names.add (one_text (key_of f)) (map one_text (called f)) t) (functions m) (Names.empty (list string)) in
  is_some (fold_left (fun left f => visit (S (List.length (functions m))) calls (Names.empty unit) (one_text (key_of f)) left)
    (functions m) (Some (Names.empty unit))).

(* The version of each domain; the first import of a domain counts. *)
Definition imported (l : list (string * option Z)) (domain : string) : option (option Z) :=
  option_map snd (find (fun p => String.eqb (standard (fst p)) domain) l).
Definition version_of (e : edition) (k : operator_key) (set : Z) : option Z :=
  option_map fst (version_in set (schemas_of e (standard (fst k)) (fst (snd k)))).
Definition function_operator_sets_compatible (e : edition) (m : model) : bool :=
  let elsewhere := imports m ++ flat_map function_imports (functions m) in
  forallb (fun f => forallb (fun k =>
    match imported (function_imports f) (standard (fst k)), imported elsewhere (standard (fst k)) with
    | Some (Some here), Some (Some there) => (here =? there) || option_eqb Z.eqb (version_of e k here) (version_of e k there)
    | _, _ => true
    end) (called f)) (functions m).

Definition function_overrides_operator (f : function) : bool := negb (String.eqb (standard (function_domain f)) "").
Definition function_named (f : function) : bool := is_named (function_name f).
Definition function_attributes_distinct (f : function) : bool :=
  is_empty (repeated (function_attributes f ++ map fst (function_defaults f))).
Definition function_names_declared (f : function) : bool :=
  let known := set_of (function_values f) (set_of (function_outputs f) (set_of (function_inputs f) (Names.empty unit))) in
  forallb (fun x => has x known) (function_info f).
Definition function_rules (f : function) : list (string * bool) :=
  [("function-overrides-operator", function_overrides_operator f); ("function-named", function_named f);
   ("function-attributes-distinct", function_attributes_distinct f); ("function-names-declared", function_names_declared f)].

(* [declared]: the attributes of the function around a graph, None outside functions. *)
Definition attribute_reference_declared (declared : option (list string)) (g : graph) : bool :=
  match declared with
  | None => true
  | Some l => forallb (fun n => forallb (fun a => negb (is_named (reference a)) || among l (reference a)) (attributes n)) (nodes g)
  end.

(* Sparse tensors: each index lies inside the dimensions and comes after the one before it. *)
Fixpoint inside (index extents : list Z) : bool :=
  match index, extents with [], [] => true | i :: l, n :: r => (0 <=? i) && (i <? n) && inside l r | _, _ => false end.
Fixpoint comes_after (before index : list Z) : bool :=
  match before, index with
  | [], _ :: _ => true
  | a :: l, b :: r => (a <? b) || (a =? b) && comes_after l r
  | _, _ => false
  end.
Fixpoint in_order (fuel : nat) (extents before numbers : list Z) : bool :=
  match numbers, fuel with
  | [], _ => true
  | _, O => false
  | _, S fuel =>
      let index := firstn (List.length extents) numbers in
      inside index extents && comes_after before index && in_order fuel extents index (skipn (List.length extents) numbers)
  end.
Definition whole (v : value) : option (list Z) :=
  match v with
  | VList l => fold_right (fun v r => match v, r with VInt z, Some r => Some (z :: r) | _, _ => None end) (Some []) l
  | _ => None
  end.
Definition indices_in_order (numbers_of : N -> value) (dims : list Z) (c : constant) : bool :=
  match outside c with
  | Some _ => true                                     (* external-data is about these *)
  | None => match whole (numbers_of (serial c)) with
      | Some l => in_order (List.length l) (match extents c with [_; _] => dims | _ => [fold_left Z.mul dims 1] end) [] l
      | None => false
      end
  end.
Definition sparse_is_right (numbers_of : N -> value) (s : sparse_constant) : bool :=
  let dims := sparse_extents s in
  let values := sparse_values s in
  let indices := sparse_indices s in
  negb (is_empty dims) && forallb (fun n => 0 <? n) dims && is_some (constant_element values) && tensor_data values &&
  (negb (is_some (constant_element indices)) || tensor_data indices) &&
  match extents values with
  | [n] =>
      match constant_element indices with
      | None => n =? 0
      | Some x =>
          String.eqb x "int64" &&
          (list_eqb Z.eqb (extents indices) [n] || list_eqb Z.eqb (extents indices) [n; Z.of_nat (List.length dims)]) &&
          indices_in_order numbers_of dims indices
      end
  | _ => false
  end.
Definition sparse_tensor_data (numbers_of : N -> value) (g : graph) : bool :=
  forallb (sparse_is_right numbers_of) (sparse_initializers g) &&
  forallb (fun n => forallb (fun a => forallb (sparse_is_right numbers_of) (sparse_tensors a)) (attributes n)) (nodes g).

(* Devices, annotations and training: no value depends on them. *)
Definition all_graphs (m : model) : list graph := main m :: map other (others m).
Definition device_configurations (m : model) : bool :=
  forallb (fun d => states_name (configuration_name d) && match device_count d with
    | Some n => is_empty (device_names d) || (Z.of_nat (List.length (device_names d)) =? n) | None => false end) (devices m).

Definition repeats {A} (eqb : A -> A -> bool) : list A -> bool :=
  fix go l := match l with [] => false | a :: r => existsb (eqb a) r || go r end.
(* What is wrong with how a tensor is distributed; whether an axis cannot be judged, because no rank is declared. *)
Definition sharding_results (ranks : Names.t Z) (n : node) (s : sharding) : list result :=
  let tensor := match sharded_tensor s with Some x => x | None => "" end in
  let rank := if is_some (sharded_tensor s) then Names.find tensor ranks else None in
  passes (is_named tensor && (among (inputs n) tensor || among (outputs n) tensor)) ::
  passes (negb (repeats Z.eqb (device_groups s))) ::
  flat_map (fun x =>
    [match axis x, rank with
     | None, _ => Judged Fail
     | Some a, Some r => passes ((- r <=? a) && (a <? r))
     | Some _, None => if is_named tensor then NotChecked else Judged Pass
     end; passes (forallb is_some (shards x))]) (axes s).
Definition node_device_configurations (m : model) : list result :=
  let known := set_of (filter is_named (present configuration_name (devices m))) (Names.empty unit) in
  flat_map (fun g =>
    if forallb (fun n => is_empty (configurations n)) (nodes g) then []
    else
      let stated := Names.map (fun t => option_map (fun s => Z.of_nat (List.length s)) (type_shape t)) (declared g) in
      let ranks := Names.fold (fun x r t => match r with Some r => Names.add x r t | None => t end) stated (Names.empty Z) in
      let ranks := fold_left (fun t c => Names.add (constant_name c) (Z.of_nat (List.length (extents c))) t) (initializers g) ranks in
      flat_map (fun n => flat_map (fun c =>
        passes (match configuration_id c with Some x => is_named x && has x known | None => false end)
        :: flat_map (sharding_results ranks n) (shardings c)) (configurations n)) (nodes g)) (all_graphs m).

Definition annotation_keys : list string := ["SCALE_TENSOR"; "ZERO_POINT_TENSOR"].
Definition quantization_annotations (m : model) : bool :=
  forallb (fun g => forallb (fun l => is_empty (repeated l) && forallb (among annotation_keys) l) (annotations g)) (all_graphs m).

Definition training_bindings (m : model) : bool :=
  let constants := mapped constant_name (initializers (main m)) in
  let bound (l : list (string * string)) variables results :=
    forallb (fun p => has (fst p) variables && has (snd p) results) l in
  forallb (fun t =>
    let variables := set_of (match step_graph t with Some (l, _) => l | None => [] end) (set_of constants (Names.empty unit)) in
    let computed := set_of (match step_graph t with Some (_, l) => l | None => [] end) (set_of (output_names (main m)) (Names.empty unit)) in
    let made := set_of (match first_graph t with Some (_, l) => l | None => [] end) (Names.empty unit) in
    match first_graph t with Some (l, _) => is_empty l | None => true end &&
    bound (first_bindings t) variables made && bound (step_bindings t) variables computed &&
    is_empty (repeated (map fst (first_bindings t)))) (training m) &&
  is_empty (repeated (flat_map (fun t => map fst (step_bindings t)) (training m))).

(* The rules about a graph, wherever it stands. *)
Definition rules_anywhere (numbers_of : N -> value) (declared : option (list string)) (g : graph) : list (string * bool) :=
  [("types-complete", types_complete g); ("sparse-tensor-data", sparse_tensor_data numbers_of g);
   ("attribute-reference-declared", attribute_reference_declared declared g)].

(* The rules about the file. *)
Definition format_rules (e : edition) (m : model) : list (string * bool) :=
  [("interface-declared", interface_declared m); ("subgraph-initializers", subgraph_initializers m);
   ("functions-distinct", functions_distinct m); ("functions-not-recursive", functions_not_recursive m);
   ("function-operator-sets-compatible", function_operator_sets_compatible e m); ("device-configurations", device_configurations m);
   ("quantization-annotations", quantization_annotations m); ("training-bindings", training_bindings m)].
Definition not_only_passes (m : model) : list (string * result) :=
  map (fun r => ("node-device-configurations", r)) (node_device_configurations m) ++
  [("training-graphs", match training m with [] => Judged Pass | _ => NotChecked end)].
