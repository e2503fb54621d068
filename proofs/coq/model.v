(* A model file as data, and what an edition of the profile says of the operators: docs/specification.md, "Structure".
   The reader makes models of bytes; `sonnx export coq` writes editions.  Graphs inside nodes and the bodies of functions stand in
   one list beside the main graph: a rule forbids each of them in every edition, so that only the main graph is walked. *)
From Coq Require Import ZArith String List FMapAVL OrderedTypeEx.
From Sonnx Require Import syntax values.

Module Names := FMapAVL.Make String_as_OT.

(* Types.  An element type that ONNX does not define is "type" with its number.  [type_key] is that of the keys of a map, [inner]
   the type of what a sequence, an optional or a map holds. *)
Inductive dimension := Extent (number : Z) | Symbol (name : string) | Unstated.

Inductive type := Type_of {
  type_kind : string;
  type_element : option string;
  type_shape : option (list dimension);
  holds_sparse : bool;
  denotations : list string;
  type_key : option string;
  inner : option type;
}.

(* External data: the entries of its description, and what the file system says of the file. *)
Inductive file := NotAsked | Bytes (number : Z) | Unusable.

Record external := {
  entries : list (string * string);
  leaves_folder : bool;
  offset : option Z;
  size : option Z;
  contents : file;
}.

(* A constant.  [serial] names its numbers, which are read when a rule needs them. *)
Record constant := {
  constant_name : string;
  constant_element : option string;
  extents : list Z;
  stored : list string;             (* the data fields that are present *)
  data_bytes : option Z;            (* the bytes of its values, in the layout of raw_data *)
  string_count : Z;
  in_segments : bool;
  misfit : bool;                    (* an entry is a number that the element type does not have *)
  unlawful : bool;                  (* a byte that is no bool, or a text that is not UTF-8 *)
  outside : option external;
  serial : N;
}.

(* A sparse tensor has the name and the element type of its values. *)
Record sparse_constant := { sparse_extents : list Z; sparse_values : constant; sparse_indices : constant }.
Definition sparse_name (s : sparse_constant) : string := constant_name (sparse_values s).
Definition sparse_element (s : sparse_constant) : option string := constant_element (sparse_values s).

(* What a node sees of a graph in one of its attributes.  [body_constants] are the names of its initializers. *)
Record body := { body_inputs : list (string * type); body_outputs : list (string * type); body_constants : list string }.

(* An attribute with its value as a fact, or the constant that is its value. *)
Inductive content := Fact (v : value) | Tensor (c : constant) | SparseTensor (element : option string) (extents : list Z).

Record attribute := {
  attribute_name : string;
  attribute_kind : string;
  reference : string;
  fields : list string;             (* the value fields that are present *)
  texts_are_utf8 : bool;
  attribute_value : content;
  tensors : list constant;
  sparse_tensors : list sparse_constant;
  types : list type;
  body_graph : option body;
  is_sparse : bool;
}.

(* How a node is distributed over devices; what the file does not state is None. *)
Record sharded_axis := { axis : option Z; shards : list (option Z) }.
Record sharding := { sharded_tensor : option string; axes : list sharded_axis; device_groups : list Z }.
Record node_configuration := { configuration_id : option string; shardings : list sharding }.

Record node := {
  node_name : string;
  operator : string;
  domain : string;
  overload : string;
  inputs : list string;
  outputs : list string;
  attributes : list attribute;
  configurations : list node_configuration;
  captured : list string;           (* the names that the graphs inside it use, those they define included *)
}.

Record graph := {
  graph_name : string;
  graph_inputs : list (string * type);
  graph_outputs : list (string * type);
  value_info : list (string * type);
  initializers : list constant;
  sparse_initializers : list sparse_constant;
  nodes : list node;
  annotations : list (list string); (* the keys of each quantization annotation *)
}.

(* [called] are the operators of all nodes, also of graphs inside nodes, each with domain and overload. *)
Definition operator_key := (string * (string * string))%type.
Record function := {
  function_domain : string;
  function_name : string;
  function_overload : string;
  function_inputs : list string;
  function_outputs : list string;
  function_attributes : list string;
  function_defaults : list (string * string);     (* name and kind *)
  function_info : list string;                    (* the names in its value_info *)
  function_values : list string;                  (* the outputs of its nodes *)
  function_imports : list (string * option Z);
  called : list operator_key;
}.

(* A graph beside the main one: the path of its place, whether it stands inside a node, and the attributes that the function
   around it declares. *)
Record other_graph := { path : string; other : graph; is_nested : bool; of_function : option (list string) }.

Record device_configuration := { configuration_name : option string; device_count : option Z; device_names : list string }.

(* An entry of training_info: pairs of a variable and an output, and what its graphs have. *)
Record training_entry := {
  first_bindings : list (string * string);
  step_bindings : list (string * string);
  first_graph : option (list string * list string);   (* the inputs and outputs of the graph initialization *)
  step_graph : option (list string * list string);    (* the initializers and outputs of the graph algorithm *)
}.

Record model := {
  ir_version : option Z;
  imports : list (string * option Z);
  main : graph;
  functions : list function;
  others : list other_graph;
  devices : list device_configuration;
  training : list training_entry;
  unknown_fields : bool;
  undefined_values : bool;          (* a number that an enumeration of the format does not have *)
  metadata_keys_repeated : bool;
  unprintable_names : bool;
}.

(* What an edition says. *)
Record formal := {
  formal_name : string;
  variadic : bool;
  optional : bool;
  may_be_omitted : bool;            (* although the profile wants every input and output connected *)
}.

Record parameter := {
  parameter_name : string;
  parameter_kind : string;
  required : bool;
  absent : option expr;
}.

Record result := {
  result_formal : formal;
  copies : string;                  (* the parameter whose tensor it is, "" for none *)
  element : option expr;
  type_variable : string;
  waits_for : list string;          (* the rules that its shape relies on *)
  shape_of : option expr;
  elements_of : option expr;
}.

(* A rule; whether the values of the outputs stay known where it fails, and where it waits for another rule; what ONNX demands in
   its place. *)
Record profile_rule := { own : rule; is_validity : bool; leaves_values : bool; leaves_while_waiting : bool; onnx : option expr }.

Record signature := {
  formals : list formal;
  results : list result;
  attribute_parameters : list parameter;
  input_parameters : list parameter;
  groups : list (string * list string);
  beyond : list (list string);      (* further inputs and outputs that the profile wants of one type *)
  single : list (string * string);  (* the type of a variable that has one only *)
  refused : bool;
  output_counts : list Z;           (* the numbers of outputs that it allows; [] for any *)
  kinds : list string;              (* the kinds of values besides dense tensors that it takes *)
  demands : list profile_rule;
}.

Inductive status := Specified | Planned.

(* [written]: the rules of the operator are written.  [meanings]: what the dimensions of its inputs mean. *)
Record operator_entry := {
  operator_status : status;
  written : bool;
  versions : list (Z * signature);
  meanings : list (string * list string);
}.

(* What ONNX says of an operator of any domain: the least and the greatest number of inputs and of outputs, None for any; its
   attributes, each with its kind and whether it is required. *)
Record schema := {
  input_range : Z * option Z;
  output_range : Z * option Z;
  schema_attributes : list (string * (string * bool));
  deprecated : bool;
}.

Record edition := {
  operators : list (string * operator_entry);
  element_types : list string;
  newest_ir_version : Z;
  newest_operator_set : Z;
  decided_rules : list (string * bool);      (* the rules without an expression in force; whether each restricts only *)
  about_values : list profile_rule;
  about_groups : list profile_rule;
  about_parameters : list profile_rule;
  about_inputs : list profile_rule;
  about_operands : list profile_rule;
  onnx_domains : list (string * Z);          (* each domain of ONNX with its newest operator set *)
  schemas : list (string * list (string * list (Z * schema)));   (* by domain, operator and version *)
}.
