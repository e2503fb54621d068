(* The types, nodes and graphs of a file, as model.v has them. *)
From Coq Require Import Arith ZArith List String Bool.
From Sonnx Require Import values file_bytes wire_format messages model call declarations file_constants.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.

(* A message stands in at most this many others, so that a step for each level suffices. *)
Fixpoint type_at (t : tables) (levels : nat) (m : message) : type :=
  let tensor kind is_sparse i :=
    let dimensions := option_map (messages "dim") (message_at "shape" i) in
    let dimension d :=
      match stated_integer "dim_value" d with
      | Some z => Extent z
      | None => let x := text_at "dim_param" d in if String.eqb x "" then Unstated else Symbol x
      end in
    let denoted := match dimensions with None => [] | Some l => mapped (text_at "denotation") l end in
    {| type_kind := kind; type_element := element_of t (integer_at "elem_type" i); type_shape := option_map (mapped dimension) dimensions;
       holds_sparse := is_sparse; denotations := if forallb (String.eqb "") denoted then [] else denoted; type_key := None; inner := None |} in
  match levels with
  | O => no_type
  | S levels =>
      let outer kind field i :=
        let within := match message_at field i with Some m => type_at t levels m | None => no_type end in
        {| type_kind := kind; type_element := None; type_shape := None; holds_sparse := holds_sparse within; denotations := [];
           type_key := if String.eqb kind "map" then element_of t (integer_at "key_type" i) else None; inner := Some within |} in
      match message_at "tensor_type" m, message_at "sparse_tensor_type" m, message_at "sequence_type" m, message_at "optional_type" m,
            message_at "map_type" m with
      | Some i, _, _, _, _ => tensor "tensor" false i
      | _, Some i, _, _, _ => tensor "sparse tensor" true i
      | _, _, Some i, _, _ => outer "sequence" "elem_type" i
      | _, _, _, Some i, _ => outer "optional" "elem_type" i
      | _, _, _, _, Some i => outer "map" "value_type" i
      | _, _, _, _, _ => if is_there "opaque_type" m then {| type_kind := "opaque"; type_element := None; type_shape := None; holds_sparse := false;
                                denotations := []; type_key := None; inner := None |} else no_type
      end
  end.
Definition value_info_at (t : tables) (m : message) : string * type :=
  (text_at "name" m, match message_at "type" m with Some i => type_at t most_levels i | None => no_type end).

(* A name in a path: other characters than printable ASCII, and those of paths, as \x and two digits. *)
Fixpoint escaped_parts (fuel : nat) (b : bytes) (l : list string) : list string :=
  match next_byte b, divided 1 b, fuel with
  | Some (x, rest), Some (one, _), S fuel =>
      let is_plain := between 33 126 x && negb (x =? 92) && negb (x =? 47) in
      escaped_parts fuel rest ((if is_plain then text_of one
                                else "\x" ++ nth (x / 16) hexadecimal_digits "" ++ nth (x mod 16) hexadecimal_digits "") :: l)
  | _, _, _ => l
  end.
Definition escaped (name : string) : string :=
  let b := bytes_of name in String.concat "" (rev_append (escaped_parts (byte_count b) b []) []).

(* Where a graph stands: its path, whether it stands inside a node, and the attributes that the function around it declares. *)
Record place_of_graph := { path_of : string; inside_node : bool; declared_by_function : option (list string) }.
Definition with_graph (p : place_of_graph) (g : graph) (s : progress) : progress :=
  {| serials := serials s; origins := origins s;
     graphs_beside := {| path := path_of p; other := g; is_nested := inside_node p; of_function := declared_by_function p |} :: graphs_beside s |}.

Definition imports_at (m : message) : list (string * option Z) :=
  mapped (fun i => (text_at "domain" i, stated_integer "version" i)) (messages "opset_import" m).

Definition configuration_at (m : message) : node_configuration :=
  let sharded d := {| axis := stated_integer "axis" d; shards := mapped (stated_integer "num_shards") (messages "simple_sharding" d) |} in
  {| configuration_id := stated_text "configuration_id" m;
     shardings := mapped (fun p =>
       {| sharded_tensor := stated_text "tensor_name" p; axes := mapped sharded (messages "sharded_dim" p);
          device_groups := mapped (integer_at "key") (messages "index_to_device_group_map" p) |}) (messages "sharding_spec" m) |}.

Definition numbered_messages (l : list message) : list (nat * message) :=
  rev_append (snd (fold_left (fun r m => (S (fst r), (fst r, m) :: snd r)) l (0, []))) [].

(* Attributes. *)
Definition value_fields : list (string * string) :=
  [("int", "i"); ("float", "f"); ("string", "s"); ("tensor", "t"); ("graph", "g"); ("type_proto", "tp")].
Definition names_no_value (x : string) : bool := existsb (String.eqb x) ["name"; "ref_attr_name"; "doc_string"; "type"].
Definition kind_at (t : tables) (m : message) : string :=
  match number_named (kind_numbers t) (integer_at "type" m) with Some k => k | None => "undefined" end.
Definition is_kind (k : string) (l : list string) : bool := existsb (String.eqb k) l.
Definition numbers_in {A} (f : item -> A) (name : string) (m : message) : list A := rev_append (over_numbers (fun l i => f i :: l) name m []) [].
Definition bits_value (i : item) : value := single (match i with Bits b => lowest_first 4 b | _ => 0%Z end).
Definition int_value (i : item) : value := VInt (integer_of (Scalar Int64) i).

(* The names that a graph uses or defines. *)
Definition used (g : graph) : list string :=
  fold_left (fun l n => rev_append (inputs n) (rev_append (captured n) l)) (nodes g) (mapped fst (graph_outputs g)).

Definition attribute_at (t : tables) (graph_at : place_of_graph -> message -> progress -> graph * progress)
  (p : place_of_graph) (node_index : nat) (m : message) (s : progress) : (attribute * list graph) * progress :=
  let kind := kind_at t m in
  let fields := filter (fun f => is_there f m && negb (names_no_value f)) (map field_name (described_fields (description_of m))) in
  let reference := text_at "ref_attr_name" m in
  let field := match found kind value_fields with Some f => f | None => kind end in
  let is_stated := existsb (String.eqb field) fields in
  let absent := negb is_stated && (negb (String.eqb reference "") || is_kind kind ["tensor"; "graph"; "sparse_tensor"; "type_proto"]) in
  let parts kinds := if absent || negb (is_kind kind kinds) then [] else messages field m in
  let '(tensors, s) := each (constant_at t most_numbers) (parts ["tensor"; "tensors"]) [] s in
  let '(sparse_tensors, s) := each (sparse_at t) (parts ["sparse_tensor"; "sparse_tensors"]) [] s in
  let texts := if absent then [] else if String.eqb kind "string" then [bytes_at "s" m]
    else if String.eqb kind "strings" then spans "strings" m else [] in
  let value :=
    if absent then Fact not_stated
    else if String.eqb kind "int" then Fact (VInt (integer_at "i" m))
    else if String.eqb kind "float" then Fact (match last_item "f" m with Some i => bits_value i | None => single 0 end)
    else if String.eqb kind "string" then Fact (VText (text_at "s" m))
    else if String.eqb kind "ints" then Fact (VList (numbers_in int_value "ints" m))
    else if String.eqb kind "floats" then Fact (VList (numbers_in bits_value "floats" m))
    else if String.eqb kind "strings" then Fact (VList (mapped (fun b => VText (text_of b)) texts))
    else if String.eqb kind "tensor" then match tensors with c :: _ => Tensor c | [] => Fact not_stated end
    else if String.eqb kind "sparse_tensor" then
      match sparse_tensors with c :: _ => SparseTensor (sparse_element c) (sparse_extents c) | [] => Fact not_stated end
    else Fact (if is_stated || String.eqb kind "undefined" then not_stated else VList []) in
  let types := mapped (type_at t most_levels) (parts ["type_proto"; "type_protos"]) in
  let name := text_at "name" m in
  let nested_at q s :=
    let path := path_of p ++ "/node[" ++ decimal_of node_index ++ "]/" ++ escaped name
      ++ (if String.eqb kind "graphs" then "[" ++ decimal_of (fst q) ++ "]" else "") in
    graph_at {| path_of := path; inside_node := true; declared_by_function := declared_by_function p |} (snd q) s in
  let '(graphs, s) := each nested_at (numbered_messages (parts ["graph"; "graphs"])) [] s in
  let body := match graphs with
    | [g] => if String.eqb kind "graph" then Some {| body_inputs := graph_inputs g; body_outputs := graph_outputs g;
                                                     body_constants := mapped constant_name (initializers g) |} else None
    | _ => None
    end in
  (({| attribute_name := name; attribute_kind := kind; reference := reference; fields := fields; texts_are_utf8 := forallb is_utf8 texts;
       attribute_value := value; tensors := tensors; sparse_tensors := sparse_tensors; types := types; body_graph := body;
       is_sparse := existsb (fun f => String.eqb f "sparse_tensor" || String.eqb f "sparse_tensors") fields || existsb holds_sparse types |},
    graphs), s).

Definition node_at (t : tables) (graph_at : place_of_graph -> message -> progress -> graph * progress) (p : place_of_graph)
  (numbered_node : nat * message) (s : progress) : node * progress :=
  let '(index, m) := numbered_node in
  let '(l, s) := each (attribute_at t graph_at p index) (messages "attribute" m) [] s in
  ({| node_name := text_at "name" m; operator := text_at "op_type" m; domain := text_at "domain" m; overload := text_at "overload" m;
      inputs := texts "input" m; outputs := texts "output" m; attributes := mapped fst l;
      configurations := mapped configuration_at (messages "device_configurations" m);
      captured := fold_left (fun names a => fold_left (fun names g => rev_append (used g) names) (snd a) names) l [] |}, s).
Definition no_graph : graph :=
  {| graph_name := ""; graph_inputs := []; graph_outputs := []; value_info := []; initializers := []; sparse_initializers := []; nodes := [];
     annotations := [] |}.

(* A graph; one beside the main graph is kept. *)
Fixpoint graph_at (t : tables) (levels : nat) (p : place_of_graph) (m : message) (s : progress) : graph * progress :=
  let deeper := match levels with S levels => graph_at t levels | O => fun _ _ s => (no_graph, s) end in
  let values name := mapped (value_info_at t) (messages name m) in
  let '(initializers, s) := each (constant_at t most_numbers) (messages "initializer" m) [] s in
  let '(sparse_initializers, s) := each (sparse_at t) (messages "sparse_initializer" m) [] s in
  let '(nodes, s) := each (node_at t deeper p) (numbered_messages (messages "node" m)) [] s in
  let g :=
    {| graph_name := text_at "name" m; graph_inputs := values "input"; graph_outputs := values "output"; value_info := values "value_info";
       initializers := initializers; sparse_initializers := sparse_initializers; nodes := nodes;
       annotations := mapped (fun a => mapped (text_at "key") (messages "quant_parameter_tensor_names" a)) (messages "quantization_annotation" m) |} in
  (g, if inside_node p then with_graph p g s else s).
