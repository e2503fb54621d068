(* The rules of graph.toml, which have no expression: about the file, its main graph, its constants and its nodes.
   docs/specification.md, "Validation".  Each definition has the name of its rule. *)
From Coq Require Import ZArith String List Bool.
From Sonnx Require Import syntax values evaluation model call declarations.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.
Open Scope Z_scope.

(* Where a rule is judged. *)
Inductive place := InModel | InFunction (i : Z) | InGraph | InNode (i : Z) | InInput (i : Z) | InOutput (i : Z)
| InValueInfo (i : Z) | InInitializer (i : Z) | InSparse (i : Z) | OfNode (i : Z) | InAttribute (i : Z) (name : string).

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
Definition operator_set_imported_once : bool :=
  match repeated (map (fun p => standard (fst p)) (imports m)) with [] => true | _ => false end &&
  forallb (fun p => match snd p with Some _ => true | None => false end) (imports m).
Definition some_operator_set_imported : bool := below_version_3 || match imports m with [] => false | _ => true end.
Definition imports_since_ir_version_3 : bool := negb below_version_3.
Definition initializers_are_inputs : bool :=
  match ir_version m with
  | Some v => if (1 <=? v) && (v <=? 3)
              then let given := set_of (input_names (main m)) (Names.empty unit) in forallb (fun x => has x given) (constant_names (main m))
              else true
  | None => true
  end.
Definition operator_set_known : bool :=
  forallb (fun p => match snd p with
    | Some v => negb (String.eqb (standard (fst p)) "") || (1 <=? v) && (v <=? newest_operator_set e) | None => true end) (imports m).

Definition file_rules : list (string * bool) :=
  [("ir-version-known", ir_version_known); ("operator-set-imported-once", operator_set_imported_once);
   ("some-operator-set-imported", some_operator_set_imported); ("imports-since-ir-version-3", imports_since_ir_version_3);
   ("initializers-are-inputs", initializers_are_inputs); ("operator-set-known", operator_set_known);
   ("no-training-info", negb (training m)); ("no-unknown-field", negb (unknown_fields m));
   ("metadata-keys-distinct", negb (metadata_keys_repeated m)); ("printable-name", negb (unprintable_names m));
   ("no-model-local-function", match functions m with [] => true | _ => false end)].

Definition function_overrides_operator (f : string * (string * string)) : bool := negb (String.eqb (standard (fst f)) "").
End File.

(* About the main graph. *)
Section Graph.
(* [types] are the types of [declared g], [defined] the places of [defined_at g]. *)
Variables (e : edition) (g : graph) (types : Names.t type) (defined : Names.t Z).

Definition graph_named : bool := is_named (graph_name g).
Definition values_named : bool :=
  forallb is_named (input_names g) && forallb is_named (output_names g) && forallb is_named (mapped constant_name (initializers g)).

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
    if existsb (fun x => has x (fst s)) (outputs (snd p)) then (set_of (filter is_named (inputs (snd p))) (fst s), snd s)
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
  let used := fold_left (fun s n => set_of (inputs n) s) (nodes g) (set_of (output_names g) (Names.empty unit)) in
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

(* About a node.  The operator that it names, the version in force, and its signature. *)
Section Node.
Variables (e : edition) (m : model) (n : node).

Definition node_domain : string := standard (domain n).
Definition calls_function : bool :=
  existsb (fun f => String.eqb (standard (fst f)) node_domain && String.eqb (fst (snd f)) (operator n) &&
                    String.eqb (snd (snd f)) (overload n)) (functions m).
Definition entry_of : option operator_entry :=
  if String.eqb node_domain "" && negb calls_function then found (operator n) (operators e) else None.
Definition operator_set : option Z :=
  match find (fun p => String.eqb (standard (fst p)) node_domain) (imports m) with Some (_, v) => v | None => None end.
Definition version_in (set : Z) (l : list (Z * signature)) : option (Z * signature) :=
  fold_left (fun best p => if (fst p <=? set) && match best with Some b => fst b <? fst p | None => true end then Some p else best) l None.
Definition resolved : option (Z * signature) :=
  match entry_of, operator_set with
  | Some o, Some set => if written o then version_in set (versions o) else None | _, _ => None end.

Definition present_in (l : list string) (i : nat) : bool := is_named (nth i l "").
Definition operator_named : bool := is_named (operator n) && existsb is_named (outputs n).
Definition operator_set_imported : bool :=
  calls_function || existsb (fun p => String.eqb (standard (fst p)) node_domain) (imports m) ||
  String.eqb node_domain "" && below_version_3 m.
Definition operator_in_profile : result :=
  if calls_function || is_named node_domain || is_named (overload n) then Judged Fail
  else match entry_of with
    | Some o => match operator_status o with Planned => Judged Fail | Specified => if written o then Judged Pass else NotChecked end
    | None => if is_named (operator n) then Judged Fail else Judged Pass
    end.
Definition operator_version : bool :=
  match entry_of, operator_set with
  | Some o, Some _ => if written o then match resolved with Some (_, s) => negb (refused s) | None => true end else true
  | _, _ => true
  end.
(* Of an operator of the edition: its operator set has a version of it. *)
Definition operator_exists : bool :=
  match entry_of, operator_set with
  | Some o, Some _ => if written o then match resolved with Some _ => true | None => false end else true
  | _, _ => true
  end.

Definition of_signature (f : signature -> bool) : bool := match resolved with Some (_, s) => f s | None => true end.
Definition known_attribute : bool := of_signature (fun s =>
  forallb (fun a => existsb (fun p => String.eqb (parameter_name p) (attribute_name a)) (attribute_parameters s)) (attributes n)).
Definition required_attribute : bool := of_signature (fun s =>
  forallb (fun p => negb (required p) || existsb (fun a => String.eqb (parameter_name p) (attribute_name a)) (attributes n))
    (attribute_parameters s)).
Definition attribute_once : bool := match repeated (map attribute_name (attributes n)) with [] => true | _ => false end.

Definition value_field (k : string) : string :=
  match found k [("float", "f"); ("int", "i"); ("string", "s"); ("tensor", "t"); ("graph", "g"); ("type_proto", "tp")] with
  | Some f => f | None => k end.
Definition holds_its_kind (a : attribute) : bool :=
  match fields a with
  | [] => String.eqb (value_field (attribute_kind a)) (attribute_kind a)      (* an empty list has no field *)
  | [f] => String.eqb f (value_field (attribute_kind a))
  | _ => false
  end.
Definition kind_is_right (a : attribute) : bool :=
  let wanted := match resolved with
    | Some (_, s) => match find (fun p => String.eqb (parameter_name p) (attribute_name a)) (attribute_parameters s) with
        | Some p => parameter_kind p | None => attribute_kind a end
    | None => attribute_kind a end in
  if String.eqb (attribute_kind a) "undefined" then match ir_version m with Some 1 => true | _ => false end
  else String.eqb (attribute_kind a) wanted && texts_are_utf8 a && (is_named (reference a) || holds_its_kind a).
Definition attribute_kinds : bool := forallb kind_is_right (attributes n).
Definition attribute_reference : bool := forallb (fun a => negb (is_named (reference a))) (attributes n).

(* The numbers of inputs and outputs, and which must be connected. *)
Fixpoint needed (l : list formal) (i : Z) : Z :=
  match l with [] => 0 | f :: rest => Z.max (if optional f || variadic f then 0 else i + 1) (needed rest (i + 1)) end.
Definition counted (l : list formal) (names : list string) : bool :=
  let many := Z.of_nat (List.length names) in
  if (many <? needed l 0) || negb (existsb variadic l) && (Z.of_nat (List.length l) <? many) then false
  else (fix all (l : list formal) (names : list string) : bool :=
    match names with
    | [] => true
    | x :: rest => match l with
        | [] => true
        | f :: more => (is_named x || optional f) && all (match more with [] => l | _ => more end) rest
        end
    end) l names.
Definition input_count : bool := of_signature (fun s => counted (formals s) (inputs n)).
Definition output_count : bool := of_signature (fun s => counted (map result_formal (results s)) (outputs n) &&
  (match output_counts s with [] => true | l => existsb (Z.eqb (Z.of_nat (List.length (outputs n)))) l end)).
Definition planned : bool := match entry_of with Some o => match operator_status o with Planned => true | _ => false end | None => false end.
Fixpoint all_connected (l : list formal) (names : list string) : bool :=
  match l with
  | [] => true
  | f :: rest => (negb (optional f) || may_be_omitted f || is_named (hd "" names)) && all_connected rest (tl names)
  end.
Definition outputs_connected : bool :=
  planned || of_signature (fun s => all_connected (map result_formal (results s)) (outputs n)).

Definition passes (b : bool) : result := Judged (if b then Pass else Fail).
Definition node_rules : list (string * result) :=
  [("operator-named", passes operator_named); ("operator-set-imported", passes operator_set_imported);
   ("operator-in-profile", operator_in_profile); ("operator-version", passes operator_version);
   ("operator-exists", passes operator_exists);
   ("known-attribute", passes known_attribute); ("required-attribute", passes required_attribute);
   ("attribute-once", passes attribute_once); ("attribute-kind", passes attribute_kinds);
   ("attribute-reference", passes attribute_reference); ("input-count", passes input_count);
   ("output-count", passes output_count); ("outputs-connected", passes outputs_connected)].
End Node.
