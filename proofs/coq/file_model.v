(* From the bytes of a file to a model: docs/specification.md, "Bytes". *)
From Coq Require Import Arith ZArith List String Bool.
From Sonnx Require Import values file_bytes wire_format messages model call declarations graph_rules file_constants file_graphs.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.

(* Names that have a character that is not printable, or that are not UTF-8. *)
Definition is_printable (t : tables) (x : string) : bool :=
  is_text (fun c => between 33 126 c || negb (in_ranges c (unprintable_characters t))) (bytes_of x).
Definition all_printable (t : tables) (l : list string) : bool := forallb (is_printable t) l.
Definition symbol_printable (t : tables) (d : dimension) : bool := match d with Symbol x => is_printable t x | _ => true end.
Definition declaration_printable (t : tables) (v : string * type) : bool :=
  is_printable t (fst v) && match type_shape (snd v) with Some l => forallb (symbol_printable t) l | None => true end.
Definition node_printable (t : tables) (n : node) : bool :=
  all_printable t [node_name n; operator n; domain n; overload n] && all_printable t (inputs n) && all_printable t (outputs n)
  && forallb (fun a => is_printable t (attribute_name a)) (attributes n).
Definition graph_printable (t : tables) (g : graph) : bool :=
  is_printable t (graph_name g)
  && forallb (declaration_printable t) (graph_inputs g) && forallb (declaration_printable t) (graph_outputs g)
  && forallb (declaration_printable t) (value_info g)
  && forallb (fun c => is_printable t (constant_name c)) (initializers g)
  && forallb (fun c => is_printable t (sparse_name c)) (sparse_initializers g) && forallb (node_printable t) (nodes g).
Definition function_printable (t : tables) (f : function) : bool :=
  all_printable t [function_domain f; function_overload f] && all_printable t (function_attributes f)
  && forallb (fun d => is_printable t (fst d)) (function_defaults f) && forallb (fun i => is_printable t (fst i)) (function_imports f).

(* The different operators that graphs call. *)
Definition called_in (graphs : list graph) : list operator_key :=
  let inner {A} (x : string) (m : Names.t (Names.t A)) := match Names.find x m with Some m => m | None => Names.empty A end in
  let add s n :=
    let '(seen, l) := s in
    let key := (standard (domain n), (operator n, overload n)) in
    let of_domain := inner (fst key) seen in
    let of_operator := inner (operator n) of_domain in
    if Names.mem (overload n) of_operator then s
    else (Names.add (fst key) (Names.add (operator n) (Names.add (overload n) tt of_operator) of_domain) seen, key :: l) in
  snd (fold_left (fun s g => fold_left add (nodes g) s) graphs (Names.empty (Names.t (Names.t unit)), [])).

(* A function, whose body is one of the graphs beside the main one. *)
Definition function_at (t : tables) (indexed : nat * message) (s : progress) : function * progress :=
  let '(index, m) := indexed in
  let defaults := mapped (fun a => (text_at "name" a, kind_at t a)) (messages "attribute_proto" m) in
  let attributes := texts "attribute" m in
  let p := {| path_of := "function[" ++ decimal_of index ++ "]"; inside_node := false;
              declared_by_function := Some (joined_lists attributes (mapped fst defaults)) |} in
  let info := mapped (value_info_at t) (messages "value_info" m) in
  let types := fold_left (fun types d => Names.add (fst d) (snd d) types) info (Names.empty type) in
  let own := {| serials := serials s; origins := origins s; graphs_beside := [] |} in
  let '(nodes, own) := each (node_at t (graph_at t most_levels) p) (numbered_messages (messages "node" m)) [] own in
  let body := {| graph_name := text_at "name" m; graph_inputs := mapped (fun x => (x, no_type)) (texts "input" m);
                 graph_outputs := mapped (fun x => (x, match Names.find x types with Some d => d | None => no_type end)) (texts "output" m);
                 value_info := info; initializers := []; sparse_initializers := []; nodes := nodes; annotations := [] |} in
  let own := with_graph p body own in
  ({| function_domain := text_at "domain" m; function_name := graph_name body; function_overload := text_at "overload" m;
      function_inputs := mapped fst (graph_inputs body); function_outputs := mapped fst (graph_outputs body); function_attributes := attributes;
      function_defaults := defaults; function_info := mapped fst info;
      function_values := rev_append (fold_left (fun l n => rev_append (outputs n) l) nodes []) []; function_imports := imports_at m;
      called := called_in (mapped other (graphs_beside own)) |},
   {| serials := serials own; origins := origins own; graphs_beside := joined_lists (graphs_beside own) (graphs_beside s) |}).

Definition device_at (m : message) : device_configuration :=
  {| configuration_name := stated_text "name" m; device_count := stated_integer "num_devices" m; device_names := texts "device" m |}.
Definition training_at (m : message) : training_entry :=
  let pairs name := mapped (fun e => (text_at "key" e, text_at "value" e)) (messages name m) in
  let names name g := mapped (text_at "name") (messages name g) in
  let of_graph name kind := option_map (fun g => (names kind g, names "output" g)) (message_at name m) in
  {| first_bindings := pairs "initialization_binding"; step_bindings := pairs "update_binding";
     first_graph := of_graph "initialization" "input"; step_graph := of_graph "algorithm" "initializer" |}.

(* What the messages of a file say together: unknown fields, undefined values, and keys of metadata that a message repeats. *)
Record signs := { sign_unknown : bool; sign_undefined : bool; sign_repeated : bool }.
Definition repeats_keys (m : message) : bool :=
  match repeated (mapped (text_at "key") (messages "metadata_props" m)) with [] => false | _ => true end.
Definition with_signs (s : signs) (m : message) : signs :=
  {| sign_unknown := sign_unknown s || has_unknown m; sign_undefined := sign_undefined s || has_undefined m;
     sign_repeated := sign_repeated s || repeats_keys m |}.

Definition model_at (t : tables) (m : message) : reading (model * list (N * origin))%type :=
  match message_at "graph" m with
  | None => Refused NoGraph
  | Some g =>
      let '(main, s) := graph_at t most_levels {| path_of := "graph"; inside_node := false; declared_by_function := None |} g from_start in
      let '(functions, s) := each (function_at t) (numbered_messages (messages "functions" m)) [] s in
      let others := rev_append (graphs_beside s) [] in
      let signs := over_messages with_signs m {| sign_unknown := false; sign_undefined := false; sign_repeated := false |} in
      let imports := imports_at m in
      let printable := forallb (fun i => is_printable t (fst i)) imports && forallb (function_printable t) functions && graph_printable t main
        && forallb (fun o => graph_printable t (other o)) others in
      Done
        ({| ir_version := stated_integer "ir_version" m; imports := imports; main := main; functions := functions; others := others;
            devices := mapped device_at (messages "configuration" m); training := mapped training_at (messages "training_info" m);
            unknown_fields := sign_unknown signs; undefined_values := sign_undefined signs; metadata_keys_repeated := sign_repeated signs;
            unprintable_names := negb printable |}, origins s)
  end.

(* The model of a file, and where the numbers of its constants are; or the reason why there is none. *)
Definition read_model (t : tables) (b : bytes) : reading (model * list (N * origin))%type :=
  next (read_file (formats t) b) (fun m => match refusal m with Some parts => Refused (TooMany parts) | None => model_at t m end).
