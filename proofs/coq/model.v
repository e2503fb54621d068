(* A model file as data, and what an edition of the profile says of the operators: docs/specification.md, "Structure".
   The reader makes models of bytes; `sonnx export coq` writes editions.  Only the main graph is kept: graphs inside nodes,
   functions and training graphs are counted, because a rule forbids each of them in every edition. *)
From Coq Require Import ZArith String List FMapAVL OrderedTypeEx.
From Sonnx Require Import syntax values.

Module Names := FMapAVL.Make String_as_OT.

(* Types.  [inner] is the type inside a sequence, an optional or a map, as text. *)
Inductive dimension := Extent (number : Z) | Symbol (name : string) | Unstated.

Record type := {
  type_kind : string;
  type_element : option string;
  type_shape : option (list dimension);
  holds_sparse : bool;
  denotations : list string;
  inner : string;
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
  is_sparse : bool;
}.

Record node := {
  node_name : string;
  operator : string;
  domain : string;
  overload : string;
  inputs : list string;
  outputs : list string;
  attributes : list attribute;
}.

Record graph := {
  graph_name : string;
  graph_inputs : list (string * type);
  graph_outputs : list (string * type);
  value_info : list (string * type);
  initializers : list constant;
  sparse_initializers : list (string * (option string * list Z));
  nodes : list node;
}.

(* [captured] are the names that graphs inside a node use, by the index of the node. *)
Record model := {
  ir_version : option Z;
  imports : list (string * option Z);
  main : graph;
  functions : list (string * (string * string));    (* domain, operator and overload of the nodes that call each *)
  training : bool;
  unknown_fields : bool;
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

(* A rule; whether the values of the outputs stay known where it fails; what ONNX demands in its place. *)
Record profile_rule := { own : rule; is_validity : bool; leaves_values : bool; onnx : option expr }.

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
}.
