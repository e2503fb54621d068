(* Messages: the fields of the wire format, by a description of the format as data, which `sonnx export coq` writes to format.txt.
   Rules of protobuf: the last of several single numbers or texts counts, single messages are merged, a member of a union replaces
   the others, repeated numbers may be packed, a field with another wire type is unknown, and so is a number that an enumeration
   does not have: then the format defines the field, and not its value. *)
From Coq Require Import Arith NArith ZArith List String Bool.
From Sonnx Require Import file_bytes wire_format model.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.

Inductive scalar := Int32 | Int64 | Uint64 | Enumeration (known : list Z) | Single | Double | Utf8 | Data.
Inductive field_kind := Scalar (s : scalar) | Inner (inner_name : string).
Record field := { field_number : nat; field_name : string; kind_of_field : field_kind; is_repeated : bool; union : string }.
Record description := { message_name : string; described_fields : list field }.
Definition format := Names.t description.

(* A message has the values of each field that is there, the last first. *)
Inductive item :=
| Digits (l : list nat)
| Bits (b : bytes)                  (* of a float or a double *)
| Span (b : bytes)                  (* a text or bytes *)
| Packed (b : bytes)                (* several numbers *)
| Nested (m : message)
with message := Message (d : description) (stated : list (field * list item)) (unknown undefined : bool).

Definition description_of (m : message) : description := match m with Message d _ _ _ => d end.
Definition stated (m : message) : list (field * list item) := match m with Message _ l _ _ => l end.
Definition has_unknown (m : message) : bool := match m with Message _ _ u _ => u end.
Definition has_undefined (m : message) : bool := match m with Message _ _ _ u => u end.
Definition with_unknown (m : message) : message := match m with Message d l _ u => Message d l true u end.
Definition with_undefined (m : message) : message := match m with Message d l u _ => Message d l u true end.

(* The limits of `sonnx check` on a file as bytes. *)
Definition most_levels : nat := 101.
Definition longest_name : nat := N.to_nat 4096.
Definition is_prose (name : string) : bool := existsb (String.eqb name) ["doc_string"; "value"; "string_data"].

Definition same_field (f g : field) : bool := field_number f =? field_number g.
Fixpoint insert (f : field) (i : item) (l : list (field * list item)) : list (field * list item) :=
  match l with
  | [] => [(f, [i])]
  | (g, items) :: rest => if same_field f g then (g, if is_repeated f then i :: items else [i]) :: rest else (g, items) :: insert f i rest
  end.
Definition is_replaced (f g : field) : bool := negb (same_field f g) && String.eqb (union f) (union g).
Definition put (f : field) (i : item) (m : message) : message :=
  match m with Message d l unknown undefined =>
    let kept := if String.eqb (union f) "" then l else filter (fun p => negb (is_replaced f (fst p))) l in
    Message d (insert f i kept) unknown undefined
  end.

(* A list of packed numbers is whole. *)
Fixpoint read_numbers (fuel : nat) (b : bytes) : reading bytes :=
  match next_byte b with
  | None => Done b
  | Some _ => match fuel with
      | O => Refused Unfinished
      | S fuel => match digits b with Done (_, rest) => read_numbers fuel rest | Refused r => Refused r end
      end
  end.
Definition width_of (s : scalar) : nat := match s with Single => 4 | Double => 8 | _ => 0 end.
Definition packed (s : scalar) (b behind : bytes) : reading bytes :=
  match width_of s with
  | O => next (read_numbers (byte_count b) b) (fun _ => Done b)
  | width => if byte_count b mod width =? 0 then Done b else Refused (EndsInList behind)
  end.
Definition is_empty (b : bytes) : bool := byte_count b =? 0.

(* Whether the format defines a number of a field. *)
Definition is_defined (s : scalar) (l : list nat) : bool :=
  match s with Enumeration known => existsb (Z.eqb (signed_32 l)) known | _ => true end.

Definition description_named (formats : format) (name : string) : description :=
  match Names.find name formats with Some d => d | None => {| message_name := name; described_fields := [] |} end.
Definition empty_message (formats : format) (name : string) : message := Message (description_named formats name) [] false false.

Definition items_at (f : field) (m : message) : list item :=
  match find (fun p => same_field f (fst p)) (stated m) with Some (_, l) => l | None => [] end.

(* A field of a message with what was read for it; [inner] reads a message into one. *)
Definition added (formats : format) (inner : message -> bytes -> reading message) (f : field) (p : payload) (behind : bytes) (m : message)
  : reading message :=
  match kind_of_field f, p with
  | Scalar Single, Four b => Done (put f (Bits b) m)
  | Scalar Double, Eight b => Done (put f (Bits b) m)
  | Scalar Utf8, Delimited b =>
      if (longest_name <? byte_count b) && negb (is_prose (field_name f)) then Refused (LongName (byte_count b)) else Done (put f (Span b) m)
  | Scalar Data, Delimited b => Done (put f (Span b) m)
  | Scalar s, Delimited b =>
      if is_repeated f then next (packed s b behind) (fun b => Done (if is_empty b then m else put f (Packed b) m)) else Done (with_undefined m)
  | Scalar (Int32 as s), Number l | Scalar (Int64 as s), Number l | Scalar (Uint64 as s), Number l | Scalar (Enumeration _ as s), Number l =>
      Done (if is_defined s l then put f (Digits l) m else with_undefined m)
  | Inner name, Delimited b =>
      let before := match is_repeated f, items_at f m with false, Nested old :: _ => old | _, _ => empty_message formats name end in
      next (inner before b) (fun i => Done (put f (Nested i) m))
  | _, _ => Done (with_undefined m)
  end.
Definition read_into (formats : format) (inner : message -> bytes -> reading message) (levels : nat) (m : message) (b : bytes)
  : reading (message * bytes) :=
  match read_field levels b with
  | Refused r => Refused r
  | Done (number, p, rest) =>
      match find (fun f => field_number f =? number) (described_fields (description_of m)) with
      | None => Done (with_unknown m, rest)
      | Some f => match added formats inner f p rest m with Refused r => Refused r | Done m => Done (m, rest) end
      end
  end.
Fixpoint read_fields (step : message -> bytes -> reading (message * bytes)) (fuel : nat) (m : message) (b : bytes) : reading message :=
  match next_byte b with
  | None => Done m
  | Some _ =>
      match fuel with
      | O => Refused Unfinished
      | S fuel => match step m b with Refused r => Refused r | Done (m, rest) => read_fields step fuel m rest end
      end
  end.
Fixpoint read_message (formats : format) (levels : nat) (m : message) (b : bytes) : reading message :=
  match levels with
  | O => Refused TooDeep
  | S deeper => read_fields (read_into formats (read_message formats deeper) levels) (byte_count b) m b
  end.
Definition read_file (formats : format) (b : bytes) : reading message := read_message formats most_levels (empty_message formats "onnx.ModelProto") b.

(* What a message says, by the names of its fields. *)
Definition items (name : string) (m : message) : list item :=
  match find (fun p => String.eqb (field_name (fst p)) name) (stated m) with Some (_, l) => l | None => [] end.
Definition is_there (name : string) (m : message) : bool := match items name m with [] => false | _ => true end.
Definition messages (name : string) (m : message) : list message := fold_left (fun l i => match i with Nested m => m :: l | _ => l end) (items name m) [].
Definition message_at (name : string) (m : message) : option message := match items name m with Nested i :: _ => Some i | _ => None end.
Definition span (i : item) : bytes := match i with Span b => b | _ => bytes_of "" end.
Definition spans (name : string) (m : message) : list bytes := fold_left (fun l i => span i :: l) (items name m) [].
Definition last_item (name : string) (m : message) : option item := match items name m with i :: _ => Some i | [] => None end.
Definition bytes_at (name : string) (m : message) : bytes := match last_item name m with Some i => span i | None => bytes_of "" end.
Definition text_at (name : string) (m : message) : string := match last_item name m with Some i => text_of (span i) | None => "" end.
Definition stated_text (name : string) (m : message) : option string := option_map (fun i => text_of (span i)) (last_item name m).
Definition texts (name : string) (m : message) : list string := fold_left (fun l i => text_of (span i) :: l) (items name m) [].

(* Bytes with the lowest first as a number. *)
Fixpoint lowest_first (places : nat) (b : bytes) : Z :=
  match places, next_byte b with
  | S places, Some (x, rest) => (Z.of_nat x + 256 * lowest_first places rest)%Z
  | _, _ => 0%Z
  end.
Definition integer_of (k : field_kind) (i : item) : Z :=
  match i with
  | Digits l => match k with Scalar (Int32 | Enumeration _) => signed_32 l | _ => signed l end
  | Bits b => lowest_first 8 b
  | _ => 0%Z
  end.
Definition stated_integer (name : string) (m : message) : option Z :=
  match find (fun p => String.eqb (field_name (fst p)) name) (stated m) with
  | Some (f, (Digits l as i) :: _) => Some (integer_of (kind_of_field f) i)
  | _ => None
  end.
Definition integer_at (name : string) (m : message) : Z := match stated_integer name m with Some z => z | None => 0%Z end.

(* The numbers of a is_repeated field in order, packed or not, each as an item. *)
Section Numbers.
Context {A : Type}.
Variable f : A -> item -> A.
Fixpoint over_digits (fuel : nat) (a : A) (b : bytes) : A :=
  match fuel with
  | O => a
  | S fuel => match digits b with Done (l, rest) => over_digits fuel (f a (Digits l)) rest | Refused _ => a end
  end.
Fixpoint over_bits (width fuel : nat) (a : A) (b : bytes) : A :=
  match fuel with
  | O => a
  | S fuel => match divided width b with Some (p, rest) => over_bits width fuel (f a (Bits p)) rest | None => a end
  end.
Definition over_item (k : field_kind) (a : A) (i : item) : A :=
  match i, k with
  | Packed b, Scalar s =>
      match width_of s with O => over_digits (byte_count b) a b | width => over_bits width (byte_count b / width) a b end
  | _, _ => f a i
  end.
Definition over_numbers (name : string) (m : message) (a : A) : A :=
  match find (fun p => String.eqb (field_name (fst p)) name) (stated m) with
  | Some (g, l) => fold_left (over_item (kind_of_field g)) (rev_append l []) a
  | None => a
  end.
End Numbers.
Definition kind_named (name : string) (m : message) : field_kind :=
  match find (fun f => String.eqb (field_name f) name) (described_fields (description_of m)) with Some f => kind_of_field f | None => Scalar Int64 end.
Definition integers (name : string) (m : message) : list Z :=
  let k := kind_named name m in
  rev_append (over_numbers (fun l i => integer_of k i :: l) name m []) [].

(* Every message in a message, itself first. *)
Fixpoint over_messages {A} (f : A -> message -> A) (m : message) (a : A) : A :=
  match m with Message d l unknown undefined =>
    fold_left (fun a p => fold_left (fun a i => match i with Nested inside => over_messages f inside a | _ => a end) (snd p) a) l (f a m)
  end.

(* The limits on the parts of a file: docs/threat-model.md. *)
Record totals := { nodes_in_all : nat; values_in_all : nat; graphs_in_all : nat; entries_in_all : nat; beyond_limit : option excess }.
Definition most_nodes : nat := N.to_nat 200000.
Definition most_values : nat := N.to_nat 250000.
Definition most_graphs : nat := N.to_nat 5000.
Definition most_entries : nat := N.to_nat 10000.
Definition most_parts : nat := N.to_nat 1000.
Definition most_nested : nat := 32.

Inductive counted := Nodes | Values | Graphs | Entries.
Definition counted_parts : list (string * list (string * counted)) :=
  [("onnx.GraphProto", [("node", Nodes); ("initializer", Values); ("input", Values); ("output", Values); ("value_info", Values);
      ("sparse_initializer", Values); ("quantization_annotation", Values)]);
   ("onnx.AttributeProto", [("graphs", Graphs); ("g", Graphs); ("tensors", Values); ("sparse_tensors", Values); ("type_protos", Values)]);
   ("onnx.FunctionProto", [("node", Nodes); ("input", Values); ("output", Values); ("value_info", Values); ("attribute", Entries);
      ("attribute_proto", Entries); ("opset_import", Entries)]);
   ("onnx.ModelProto", [("opset_import", Entries); ("functions", Entries); ("training_info", Entries); ("configuration", Entries);
      ("metadata_props", Entries)]);
   ("onnx.NodeDeviceConfigurationProto", [("sharding_spec", Values)]);
   ("onnx.ShardingSpecProto", [("sharded_dim", Values); ("index_to_device_group_map", Values)]);
   ("onnx.ShardedDimProto", [("simple_sharding", Values)]);
   ("onnx.TensorAnnotation", [("quant_parameter_tensor_names", Values)])].
Definition counted_as (parts : list (string * counted)) (f : field) : option counted :=
  option_map snd (find (fun p => String.eqb (fst p) (field_name f)) parts).
Definition plus (t : totals) (what : counted) (n : nat) : totals :=
  match what with
  | Nodes => {| nodes_in_all := nodes_in_all t + n; values_in_all := values_in_all t; graphs_in_all := graphs_in_all t;
                entries_in_all := entries_in_all t; beyond_limit := beyond_limit t |}
  | Values => {| nodes_in_all := nodes_in_all t; values_in_all := values_in_all t + n; graphs_in_all := graphs_in_all t;
                 entries_in_all := entries_in_all t; beyond_limit := beyond_limit t |}
  | Graphs => {| nodes_in_all := nodes_in_all t; values_in_all := values_in_all t; graphs_in_all := graphs_in_all t + n;
                 entries_in_all := entries_in_all t; beyond_limit := beyond_limit t |}
  | Entries => {| nodes_in_all := nodes_in_all t; values_in_all := values_in_all t; graphs_in_all := graphs_in_all t;
                  entries_in_all := entries_in_all t + n; beyond_limit := beyond_limit t |}
  end.
Definition over (what : string) (n most : nat) : option excess :=
  if most <? n then Some {| excess_number := n; excess_of := what; excess_most := most |} else None.
Definition first_excess (a b : option excess) : option excess := match a with Some r => Some r | None => b end.
Definition count_items (l : list item) : nat := fold_left (fun n _ => S n) l 0.
(* A packed list of numbers counts its bytes. *)
Definition count_numbers (l : list item) : nat := fold_left (fun n i => match i with Packed b => n + byte_count b | _ => S n end) l 0.
Definition count_in (t : totals) (m : message) : totals :=
  let name := message_name (description_of m) in
  let counted := match find (fun p => String.eqb (fst p) name) counted_parts with
    | Some (_, parts) =>
        fold_left (fun t p => match counted_as parts (fst p) with Some what => plus t what (count_items (snd p)) | None => t end) (stated m) t
    | None => t
    end in
  let r :=
    if String.eqb name "onnx.NodeProto" then over "attributes of one node" (count_items (items "attribute" m)) most_parts
    else if String.eqb name "onnx.TensorShapeProto" then over "dimensions" (count_items (items "dim" m)) most_parts
    else if String.eqb name "onnx.TensorProto" || String.eqb name "onnx.SparseTensorProto"
      then over "dimensions" (count_numbers (items "dims" m)) most_parts
    else None in
  match first_excess (beyond_limit t) r with
  | None => counted
  | r => {| nodes_in_all := nodes_in_all counted; values_in_all := values_in_all counted; graphs_in_all := graphs_in_all counted;
            entries_in_all := entries_in_all counted; beyond_limit := r |}
  end.

(* The greatest number of graphs in each other. *)
Fixpoint graph_levels (level : nat) (m : message) (most : nat) : nat :=
  match m with Message d l unknown undefined =>
    let here := if String.eqb (message_name d) "onnx.GraphProto" then S level else level in
    fold_left (fun most p => fold_left (fun most i =>
        match i with Nested inside => graph_levels here inside most | _ => most end) (snd p) most) l (Nat.max here most)
  end.
Definition refusal (m : message) : option excess :=
  let t := over_messages count_in m {| nodes_in_all := 0; values_in_all := 0; graphs_in_all := 0; entries_in_all := 0; beyond_limit := None |} in
  let levels :=
    if graphs_in_all t =? 0 then None else over "levels of nested graphs" (Nat.min (graph_levels 0 m 0) (S most_nested)) most_nested in
  fold_left first_excess
    [levels; over "nodes" (nodes_in_all t) most_nodes; over "values" (values_in_all t) most_values; over "graphs" (graphs_in_all t) most_graphs;
     over "entries" (entries_in_all t) most_entries] (beyond_limit t).
