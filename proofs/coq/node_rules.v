(* The rules of graph.toml about a node: what it names, its attributes, its numbers of inputs and outputs, and the graphs in its
   attributes.  docs/specification.md, "Validation".  Each definition has the name of its rule. *)
From Coq Require Import ZArith String List Bool.
From Sonnx Require Import syntax values evaluation model call declarations alike graph_rules.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.
Open Scope Z_scope.

(* The newest version that an operator set has. *)
Definition version_in {A} (set : Z) (l : list (Z * A)) : option (Z * A) :=
  fold_left (fun best p => if (fst p <=? set) && match best with Some b => fst b <? fst p | None => true end then Some p else best) l None.

(* What ONNX says of an operator. *)
Definition schemas_of (e : edition) (domain operator : string) : list (Z * schema) :=
  match found domain (schemas e) with Some l => match found operator l with Some v => v | None => [] end | None => [] end.

Definition passes (b : bool) : result := Judged (if b then Pass else Fail).

(* The operator that a node names, the version in force, and its signature. *)
Section Node.
Variables (e : edition) (m : model) (n : node).

Definition node_domain : string := standard (domain n).
(* Of several functions of one name the last counts; functions-distinct fails. *)
Definition called_function : option function :=
  fold_left (fun last f =>
    if String.eqb (standard (function_domain f)) node_domain && String.eqb (function_name f) (operator n) &&
       String.eqb (function_overload f) (overload n) then Some f else last) (functions m) None.
Definition calls_function : bool := match called_function with Some _ => true | None => false end.
Definition entry_of : option operator_entry :=
  if String.eqb node_domain "" && negb calls_function then found (operator n) (operators e) else None.
Definition operator_set : option Z :=
  match find (fun p => String.eqb (standard (fst p)) node_domain) (imports m) with Some (_, v) => v | None => None end.
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
(* The operator set has the operator, and has not deprecated it. *)
Definition operator_exists : result :=
  match operator_set, (if String.eqb node_domain "" then Some (newest_operator_set e) else found node_domain (onnx_domains e)) with
  | Some set, Some newest =>
      if calls_function || negb (is_named (operator n)) then Judged Pass
      else if newest <? set then NotChecked
      else match entry_of with
        | Some o =>
            if written o then passes (match resolved with Some _ => true | None => false end)
            else passes (match version_in set (schemas_of e node_domain (operator n)) with Some (_, s) => negb (deprecated s) | None => false end)
        | None => passes (match version_in set (schemas_of e node_domain (operator n)) with Some (_, s) => negb (deprecated s) | None => false end)
        end
  | _, _ => Judged Pass
  end.
Definition described : bool := match entry_of with Some o => written o | None => false end.
(* Of an operator without a file nothing more is checked; of one that the edition specifies operator-in-profile says so. *)
Definition operator_conditions : result :=
  if described || calls_function || negb (is_named (operator n)) then Judged Pass
  else match entry_of with
    | Some o => match operator_status o with Specified => Judged Pass | Planned => NotChecked end | None => NotChecked end.

(* What ONNX says of an operator without a file. *)
Definition schema_of : option schema :=
  if described || calls_function then None
  else match operator_set with
    | Some set => match version_in set (schemas_of e node_domain (operator n)) with
        | Some (_, s) => if deprecated s then None else Some s | None => None end
    | None => None
    end.
Definition of_signature (f : signature -> bool) : bool := match resolved with Some (_, s) => f s | None => true end.

(* The attributes that the operator or function has, each with its kind, "" for any, and whether it is required; None where they are
   not known. *)
Definition known_attributes : option (list (string * (string * bool))) :=
  match resolved, called_function with
  | Some (_, s), _ => Some (map (fun p => (parameter_name p, (parameter_kind p, required p))) (attribute_parameters s))
  | None, Some f => Some (map (fun p => (fst p, (snd p, false))) (function_defaults f) ++
                          map (fun x => (x, ("", false))) (function_attributes f))
  | None, None => option_map schema_attributes schema_of
  end.
Definition written_attributes : list string := map attribute_name (attributes n).
Definition known_attribute : bool :=
  match known_attributes with Some l => forallb (among (map fst l)) written_attributes | None => true end.
(* The attributes that a misspelt one may stand for: known-attribute fails, and their absence is not judged. *)
Definition meant : list string :=
  if known_attribute then [] else match known_attributes with Some l => misspelt (map fst l) written_attributes | None => [] end.
Definition required_attribute : result :=
  let missing := match known_attributes with
    | Some l => map fst (filter (fun p => snd (snd p) && negb (among written_attributes (fst p))) l) | None => [] end in
  match missing with [] => Judged Pass | _ => Judged (if forallb (among meant) missing then Undecided else Fail) end.
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
  let wanted := match known_attributes with
    | Some l => match found (attribute_name a) l with Some ("", _) | None => attribute_kind a | Some (k, _) => k end
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
(* Of a function fewer arguments leave the last ones out. *)
Definition in_range (range : schema -> Z * option Z) (of_function : function -> list string) (names : list string) : bool :=
  let many := Z.of_nat (List.length names) in
  match called_function, schema_of with
  | Some f, _ => many <=? Z.of_nat (List.length (of_function f))
  | None, Some s => (fst (range s) <=? many) && match snd (range s) with Some most => many <=? most | None => true end
  | None, None => true
  end.
Definition input_count : bool :=
  match resolved with Some (_, s) => counted (formals s) (inputs n) | None => in_range input_range function_inputs (inputs n) end.
Definition output_count : bool :=
  match resolved with
  | Some (_, s) => counted (map result_formal (results s)) (outputs n) &&
      match output_counts s with [] => true | l => existsb (Z.eqb (Z.of_nat (List.length (outputs n)))) l end
  | None => in_range output_range function_outputs (outputs n)
  end.
Definition planned : bool := match entry_of with Some o => match operator_status o with Planned => true | _ => false end | None => false end.
Fixpoint all_connected (l : list formal) (names : list string) : bool :=
  match l with
  | [] => true
  | f :: rest => (negb (optional f) || may_be_omitted f || is_named (hd "" names)) && all_connected rest (tl names)
  end.
Definition outputs_connected : bool :=
  planned || of_signature (fun s => all_connected (map result_formal (results s)) (outputs n)).

(* The graphs inside If, Loop, Scan and SequenceMap.  An input of a body with an initializer is a constant. *)
Definition own_inputs (b : body) : list (string * type) := filter (fun p => negb (among (body_constants b) (fst p))) (body_inputs b).
Definition differ (a b : string * type) : bool :=
  match type_element (snd a), type_element (snd b) with Some x, Some y => negb (String.eqb x y) | _, _ => false end.
Definition none_differ (l r : list (string * type)) : bool := forallb (fun p => negb (differ (fst p) (snd p))) (combine l r).
Definition same_number {A B} (l : list A) (r : list B) : bool := Nat.eqb (List.length l) (List.length r).
Definition body_named (x : string) : option body :=
  match attribute_named x (filter (fun a => match body_graph a with Some _ => true | None => false end) (attributes n)) with
  | Some a => body_graph a | None => None end.
Definition branch_fits (b : body) : bool :=
  match own_inputs b with [] => true | _ => false end && same_number (body_outputs b) (outputs n).
Definition is_condition (p : string * type) : bool := match type_element (snd p) with Some x => String.eqb x "bool" | None => true end.
Definition loop_fits (b : body) : bool :=
  same_number (own_inputs b) (match inputs n with [] | [_] => [""; ""] | l => l end) && same_number (body_outputs b) ("" :: outputs n) &&
  match own_inputs b, body_outputs b with
  | _ :: condition :: carried, again :: after => is_condition condition && is_condition again && none_differ carried after
  | _, _ => true
  end.
Definition first_scan : bool := String.eqb (operator n) "Scan" && match operator_set with Some v => v <? 9 | None => true end.
Definition body_fits (b : body) : bool :=
  Z.eqb (Z.of_nat (List.length (own_inputs b))) (Z.of_nat (List.length (inputs n)) - (if first_scan then 1 else 0)) &&
  same_number (body_outputs b) (outputs n).
Definition body_signature : bool :=
  is_named node_domain || calls_function ||
  let bodies := match body_named "body" with Some b => [b] | None => [] end in
  if String.eqb (operator n) "If" then
    match body_named "then_branch", body_named "else_branch" with
    | Some a, Some b => branch_fits a && branch_fits b && none_differ (body_outputs a) (body_outputs b)
    | Some a, None | None, Some a => branch_fits a
    | None, None => true
    end
  else if String.eqb (operator n) "Loop" then forallb loop_fits bodies
  else if among ["Scan"; "SequenceMap"] (operator n) then forallb body_fits bodies
  else true.

Definition node_rules : list (string * result) :=
  [("operator-named", passes operator_named); ("operator-set-imported", passes operator_set_imported);
   ("operator-in-profile", operator_in_profile); ("operator-version", passes operator_version);
   ("operator-exists", operator_exists);
   ("operator-conditions", operator_conditions); ("body-signature", passes body_signature);
   ("known-attribute", passes known_attribute); ("required-attribute", required_attribute);
   ("attribute-once", passes attribute_once); ("attribute-kind", passes attribute_kinds);
   ("attribute-reference", passes attribute_reference); ("input-count", passes input_count);
   ("output-count", passes output_count); ("outputs-connected", passes outputs_connected)].
End Node.
