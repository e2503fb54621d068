(* The rules of graph.toml, which have no expression: about the file, its main graph and its constants.
   docs/specification.md, "Validation".  Each definition has the name of its rule. *)
From Coq Require Import ZArith String List Bool.
From Sonnx Require Import syntax values evaluation model call declarations.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.
Open Scope Z_scope.

(* Where a rule is judged. *)
Inductive place := InModel | InFunction (i : Z) | InGraph | InNode (i : Z) | InInput (i : Z) | InOutput (i : Z)
| InValueInfo (i : Z) | InInitializer (i : Z) | InSparse (i : Z) | OfNode (i : Z) | InAttribute (i : Z) (name : string)
| Elsewhere (path : string).

(* A rule that does not hold; [not_checked] where there is no answer. *)
Inductive result := Judged (v : verdict) | NotChecked.
Record finding := { at_place : place; rule_slug : string; says : result }.

Definition standard (d : string) : string := if String.eqb d "ai.onnx" then "" else d.

(* About the file. *)
Section File.
Variables (e : edition) (m : model).

Definition below_version_3 : bool := match ir_version m with Some v => (v =? 1) || (v =? 2) | None => false end.
Definition ir_version_known : bool :=
  match ir_version m with Some v => (1 <=? v) && (v <=? newest_ir_version e) | None => false end.
Definition imported_once (l : list (string * option Z)) : bool :=
  match repeated (map (fun p => standard (fst p)) l) with [] => true | _ => false end &&
  forallb (fun p => match snd p with Some _ => true | None => false end) l.
Definition operator_set_imported_once : bool :=
  imported_once (imports m) && forallb (fun f => imported_once (function_imports f)) (functions m).
Definition some_operator_set_imported : bool := below_version_3 || match imports m with [] => false | _ => true end.
Definition imports_since_ir_version_3 : bool := negb below_version_3.
Definition no_import_before_ir_version_3 : bool := negb below_version_3 || match imports m with [] => true | _ => false end.
Definition initializers_are_inputs : bool :=
  match ir_version m with
  | Some v => if (1 <=? v) && (v <=? 3)
              then forallb (fun g => let given := set_of (input_names g) (Names.empty unit) in forallb (fun x => has x given) (constant_names g))
                     (main m :: map other (others m))
              else true
  | None => true
  end.
Definition imports_known (l : list (string * option Z)) : bool :=
  forallb (fun p => match snd p with
    | Some v => negb (String.eqb (standard (fst p)) "") || (1 <=? v) && (v <=? newest_operator_set e) | None => true end) l.
Definition operator_set_known : bool := imports_known (imports m) && forallb (fun f => imports_known (function_imports f)) (functions m).

Definition file_rules : list (string * bool) :=
  [("ir-version-known", ir_version_known); ("operator-set-imported-once", operator_set_imported_once);
   ("some-operator-set-imported", some_operator_set_imported); ("imports-since-ir-version-3", imports_since_ir_version_3);
   ("no-import-before-ir-version-3", no_import_before_ir_version_3);
   ("initializers-are-inputs", initializers_are_inputs); ("operator-set-known", operator_set_known);
   ("no-training-info", match training m with [] => true | _ => false end); ("no-unknown-field", negb (unknown_fields m));
   ("enumeration-values", negb (undefined_values m));
   ("metadata-keys-distinct", negb (metadata_keys_repeated m)); ("printable-name", negb (unprintable_names m));
   ("no-model-local-function", match functions m with [] => true | _ => false end)].

End File.

(* About the main graph. *)
Section Graph.
(* [types] are the types of [declared g], [defined] the places of [defined_at g]. *)
Variables (e : edition) (g : graph) (types : Names.t type) (defined : Names.t Z).

Definition graph_named : bool := is_named (graph_name g).
Definition values_named : bool :=
  forallb is_named (input_names g) && forallb is_named (output_names g) && forallb is_named (constant_names g).

Definition none_repeated (l : list string) : bool := match repeated (filter is_named l) with [] => true | _ => false end.
Definition names_defined_once : bool :=
  none_repeated (input_names g) && none_repeated (constant_names g) &&
  (let given := set_of (constant_names g) (set_of (input_names g) (Names.empty unit)) in
   let made := filter is_named (made_names g) in
   none_repeated made && forallb (fun x => negb (has x given)) made).

(* The uses of a name that are not after its definition: the index of the node, and that of the definition. *)
Definition early_uses : list (Z * option Z) :=
  fold_left (fun l p => fold_left (fun l x =>
    if is_named x then
      match Names.find x defined with
      | Some d => if d <? fst p then l else (fst p, Some d) :: l
      | None => (fst p, None) :: l
      end
    else l) (inputs (snd p)) l) (numbered (nodes g)) [].
(* A graph without an early use has no cycle.  A use before the definition is a cycle or not; both are forbidden, and this
   says the first only where every name is defined. *)
Definition names_defined_before_use : bool := match early_uses with [] => true | _ => false end.

Definition node_names_distinct : bool := none_repeated (mapped node_name (nodes g)).
Definition value_info_once : bool := match repeated (mapped fst (value_info g)) with [] => true | _ => false end.
Definition outputs_produced : bool :=
  forallb (fun x => negb (is_named x) || has x defined) (output_names g).

(* The nodes from the last to the first: one that makes no wanted value is dead, another wants its inputs.  Where a value is
   used before its definition, more than one pass may be needed. *)
Definition wanting_pass (wanted : Names.t unit) : Names.t unit * list Z :=
  fold_left (fun s p =>
    if existsb (fun x => has x (fst s)) (outputs (snd p))
    then (set_of (filter is_named (inputs (snd p) ++ captured (snd p))) (fst s), snd s)
    else (fst s, fst p :: snd s))
    (rev_append (numbered (nodes g)) []) (wanted, []).
Fixpoint wanting (passes : nat) (many : nat) (wanted : Names.t unit) : list Z :=
  let '(wanted, dead) := wanting_pass wanted in
  match passes with
  | O => dead
  | S rest => if Nat.eqb (List.length dead) many then dead else wanting rest (List.length dead) wanted
  end.
Definition dead_nodes : list Z :=
  wanting (if names_defined_before_use then 0%nat else List.length (nodes g)) 0%nat
    (set_of (filter is_named (output_names g)) (Names.empty unit)).

Definition no_unused_value : bool :=
  let used := fold_left (fun s n => set_of (captured n) (set_of (inputs n) s)) (nodes g) (set_of (output_names g) (Names.empty unit)) in
  let is_used x := negb (is_named x) || has x used in
  let given := set_of (input_names g) (Names.empty unit) in
  let wanted := set_of (output_names g) (Names.empty unit) in
  forallb is_used (input_names g) && forallb (fun x => is_used x || has x given) (constant_names g) &&
  forallb (fun n => negb (existsb (fun x => has x used) (outputs n)) || forallb is_used (outputs n)) (nodes g) &&
  forallb (fun x => negb (is_named x) || has x defined || has x wanted) (mapped fst (value_info g)).

(* Two declarations of a value, and a declaration and a constant, are consistent. *)
Definition dimensions_agree (a b : dimension) : bool := match a, b with Extent x, Extent y => x =? y | _, _ => true end.
Definition agree (a b : type) : bool :=
  if type_eqb a b || negb (is_stated a) || negb (is_stated b) then true
  else if negb (String.eqb (type_kind a) (type_kind b)) then false
  else if match type_element a, type_element b with Some x, Some y => negb (String.eqb x y) | _, _ => false end then false
  else match type_shape a, type_shape b with
    | Some l, Some r => Nat.eqb (List.length l) (List.length r) && forallb (fun p => dimensions_agree (fst p) (snd p)) (combine l r)
    | _, _ => existsb (String.eqb (type_kind a)) ["tensor"; "sparse tensor"]
    end.
Definition constant_fits (c : constant) (t : type) : bool :=
  if negb (String.eqb (type_kind t) "tensor") ||
     match type_element t with None => false | Some x => negb (option_eqb String.eqb (Some x) (constant_element c)) end
  then negb (is_stated t)
  else match type_shape t with
    | None => true
    | Some s => Nat.eqb (List.length s) (List.length (extents c)) &&
                forallb (fun p => match snd p with Extent n => fst p =? n | _ => true end) (combine (extents c) s)
    end.
Definition consistent_declarations : bool :=
  forallb (fun p => negb (is_named (fst p)) || match Names.find (fst p) types with Some t => agree t (snd p) | None => true end)
    (declarations g) &&
  forallb (fun c => match Names.find (constant_name c) types with Some t => constant_fits c t | None => true end) (initializers g).

Fixpoint means (expected written : list string) : bool :=
  match written with
  | [] => true
  | w :: rest =>
      let '(x, more) := match expected with [] => ("", []) | [x] => (x, [x]) | x :: more => (x, more) end in
      (String.eqb w "" || String.eqb w x) && means more rest
  end.
Definition axis_denotations : bool :=
  forallb (fun n =>
    negb (String.eqb (standard (domain n)) "") ||
    match found (operator n) (operators e) with
    | None => true
    | Some o => forallb (fun p => match snd (fst p), Names.find (snd p) types with
        | (_ :: _) as expected, Some t => match denotations t with [] => true | l => means expected l end
        | _, _ => true end) (combine (meanings o) (inputs n))
    end) (nodes g).

Definition graph_rules : list (string * bool) :=
  [("graph-named", graph_named); ("values-named", values_named); ("names-defined-once", names_defined_once);
   ("names-defined-before-use", names_defined_before_use); ("node-names-distinct", node_names_distinct);
   ("value-info-once", value_info_once); ("outputs-produced", outputs_produced); ("no-unused-value", no_unused_value);
   ("axis-denotations", axis_denotations); ("consistent-declarations", consistent_declarations)].
End Graph.

(* About a constant.  The bits of an element of each type of fixed width; the typed field of its values. *)
Definition width (x : string) : option Z :=
  found x [("float", 32); ("uint8", 8); ("int8", 8); ("uint16", 16); ("int16", 16); ("int32", 32); ("int64", 64); ("bool", 8);
    ("float16", 16); ("double", 64); ("uint32", 32); ("uint64", 64); ("complex64", 64); ("complex128", 128); ("bfloat16", 16);
    ("float8e4m3fn", 8); ("float8e4m3fnuz", 8); ("float8e5m2", 8); ("float8e5m2fnuz", 8); ("float8e8m0", 8); ("uint4", 4);
    ("int4", 4); ("float4e2m1", 4); ("uint2", 2); ("int2", 2); ("float6e2m3", 6); ("float6e3m2", 6)].
Definition data_field (x : string) : string :=
  match found x [("float", "float_data"); ("complex64", "float_data"); ("double", "double_data"); ("complex128", "double_data");
    ("int64", "int64_data"); ("uint32", "uint64_data"); ("uint64", "uint64_data"); ("string", "string_data")] with
  | Some f => f | None => "int32_data" end.

Definition has_negative (l : list Z) : bool := existsb (fun n => n <? 0) l.
(* The bytes of the values; more than 2^80 bits are more than any file holds. *)
Definition byte_size (bits : Z) (l : list Z) : option Z :=
  if existsb (Z.eqb 0) l then Some 0
  else option_map (fun n => (n + 7) / 8) (fold_left (fun size n =>
    match size with Some b => if b * n >? 2 ^ 80 then None else Some (b * n) | None => None end) l (Some bits)).

Definition tensor_data (c : constant) : bool :=
  if has_negative (extents c) then false else
  match constant_element c with
  | None => false
  | Some x =>
      if negb (String.eqb x "string") && match width x with None => true | _ => false end then false else
      negb (in_segments c) &&
      match outside c with
      | Some _ => negb (String.eqb x "string")
      | None =>
          match stored c with _ :: _ :: _ => false | _ => true end &&
          forallb (fun f => String.eqb f "raw_data" || String.eqb f (data_field x)) (stored c) && negb (misfit c) &&
          option_eqb Z.eqb (byte_size (match width x with Some b => b | None => 8 end) (extents c))
            (Some (if String.eqb x "string" then string_count c else match data_bytes c with Some n => n | None => 0 end)) &&
          negb (unlawful c)
      end
  end.

Definition sized (c : constant) : option (option Z) :=
  match constant_element c with
  | Some x => if has_negative (extents c) then None else option_map (fun b => byte_size b (extents c)) (width x)
  | None => None
  end.
Definition described (c : constant) (x : external) : bool :=
  let number k n := match found k (entries x) with None => true | Some _ => match n with Some v => 0 <=? v | None => false end end in
  match repeated (map fst (entries x)) with [] => true | _ => false end && negb (leaves_folder x) &&
  number "offset" (offset x) && number "length" (size x) && forallb (String.eqb "external_data") (stored c) &&
  match size x, sized c with Some n, Some s => option_eqb Z.eqb (Some n) s | _, _ => true end.
Definition external_data (c : constant) : option result :=
  match outside c with
  | None => None
  | Some x =>
      if negb (described c x) then Some (Judged Fail) else
      let start := match offset x with Some n => n | None => 0 end in
      match contents x with
      | NotAsked => Some NotChecked
      | Unusable => Some (Judged Fail)
      | Bytes n =>
          match size x with
          | Some l => if start + l <=? n then None else Some (Judged Fail)
          | None => match sized c with
              | Some s => if option_eqb Z.eqb s (Some (Z.max (n - start) 0)) then None else Some (Judged Fail) | None => None end
          end
      end
  end.
Definition constant_rules (c : constant) : list (string * result) :=
  (if tensor_data c then [] else [("tensor-data", Judged Fail)]) ++
  match external_data c with None => [] | Some r => [("external-data", r)] end.
