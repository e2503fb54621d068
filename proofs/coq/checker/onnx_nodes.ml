(* The types, nodes, graphs and functions of a file, as proofs/coq/model.v has them. *)
open Evaluator
open Wire
open Onnx_constants

let rec type_of s m =
  let tensor kind sparse i =
    let listed = match inner i "shape" with None -> None | Some shape -> Some (messages shape "dim") in
    let dimension d =
      match last d "dim_value" with
      | Some (Number v) -> Extent (signed v)
      | _ -> match string s.bytes d "dim_param" with "" -> Unstated | x -> Symbol x in
    let denoted = match listed with None -> [] | Some l -> List.map (fun d -> string s.bytes d "denotation") l in
    { type_kind = kind; type_element = element s (integer i "elem_type");
      type_shape = Option.map (List.map dimension) listed; holds_sparse = sparse;
      denotations = (if List.exists (fun d -> d <> "") denoted then denoted else []); type_key = None; inner = None } in
  let outer kind field i =
    let within = match inner i field with Some m -> type_of s m | None -> no_type in
    { no_type with type_kind = kind; holds_sparse = within.holds_sparse; inner = Some within;
                   type_key = if kind = "map" then element s (integer i "key_type") else None } in
  let has_field f = inner m f in
  match has_field "tensor_type", has_field "sparse_tensor_type" with
  | Some i, _ -> tensor "tensor" false i
  | _, Some i -> tensor "sparse tensor" true i
  | _ ->
    match has_field "sequence_type", has_field "optional_type", has_field "map_type" with
    | Some i, _, _ -> outer "sequence" "elem_type" i
    | _, Some i, _ -> outer "optional" "elem_type" i
    | _, _, Some i -> outer "map" "value_type" i
    | _ -> if Hashtbl.mem m.description.by_name "opaque_type" && has m "opaque_type" then { no_type with type_kind = "opaque" } else no_type

let value_info s m = (string s.bytes m "name", match inner m "type" with Some t -> type_of s t | None -> no_type)

(* A character of a name in a path. *)
let escaped s = String.concat "" (List.map (fun c ->
  if c > ' ' && c <= '~' && c <> '\\' && c <> '/' then String.make 1 c else Printf.sprintf "\\x%02x" (Char.code c))
  (List.of_seq (String.to_seq s)))

(* Where a graph stands: its path, whether it stands inside a node, and the attributes that the function around it declares. *)
type around = { path : string; nested : bool; declared : string list option }
let add s around other =
  s.others <- { Evaluator.path = around.path; other; is_nested = around.nested; of_function = around.declared } :: s.others

let number_of m name = match last m name with Some (Number v) -> Some (signed v) | _ -> None
let stated s m name = Option.map (string_of s.bytes) (last m name)
let imports s m = List.map (fun i -> (string s.bytes i "domain", number_of i "version")) (messages m "opset_import")

let configuration s m =
  let axis d = { axis = number_of d "axis"; shards = List.map (fun p -> number_of p "num_shards") (messages d "simple_sharding") } in
  let group e = match number_of e "key" with Some k -> k | None -> Z0 in
  let sharding p = { sharded_tensor = stated s p "tensor_name"; axes = List.map axis (messages p "sharded_dim");
                     device_groups = List.map group (messages p "index_to_device_group_map") } in
  { configuration_id = stated s m "configuration_id"; shardings = List.map sharding (messages m "sharding_spec") }

(* Attributes. *)
let value_fields = [("int", "i"); ("float", "f"); ("string", "s"); ("tensor", "t"); ("graph", "g"); ("type_proto", "tp")]
let no_value = ["name"; "ref_attr_name"; "doc_string"; "type"]
let single_float v = number (Int32.float_of_bits (Int64.to_int32 v))

let kind_of s m = try Hashtbl.find s.tables.kinds (Int64.to_int (integer m "type")) with Not_found -> "undefined"

let rec attribute s around m =
  let kind = kind_of s m in
  let fields = List.filter_map (fun f -> if m.values.(f.slot) <> [] && not (List.mem f.name no_value) then Some f.name else None)
    m.description.fields in
  let reference = string s.bytes m "ref_attr_name" in
  let field = try List.assoc kind value_fields with Not_found -> kind in
  let is_there = List.mem field fields in
  let text_of v = string_of s.bytes v in
  let numbers_of name = let found = ref [] in numbers s.bytes m name (fun v -> found := v :: !found); List.rev !found in
  let absent = not is_there && (reference <> "" || List.mem kind ["tensor"; "graph"; "sparse_tensor"; "type_proto"]) in
  let tensors = if absent then [] else match kind with
    | "tensor" | "tensors" -> List.map (constant s) (messages m field) | _ -> [] in
  let sparse_tensors = if absent then [] else match kind with
    | "sparse_tensor" | "sparse_tensors" -> List.map (sparse s) (messages m field) | _ -> [] in
  let texts = if absent then [] else match kind with
    | "string" -> [string s.bytes m "s"] | "strings" -> List.map text_of (all m "strings") | _ -> [] in
  let value =
    if absent || kind = "undefined" then Fact not_stated else
    match kind with
    | "int" -> Fact (VInt (signed (integer m "i")))
    | "float" -> Fact (single_float (match last m "f" with Some (Bits v) -> v | _ -> 0L))
    | "string" -> Fact (VText (List.hd texts))
    | "ints" -> Fact (VList (List.map (fun v -> VInt (signed v)) (numbers_of "ints")))
    | "floats" -> Fact (VList (List.map single_float (numbers_of "floats")))
    | "strings" -> Fact (VList (List.map (fun t -> VText t) texts))
    | "tensor" -> Tensor (List.hd tensors)
    | "sparse_tensor" -> (match sparse_tensors with t :: _ -> SparseTensor (t.sparse_values.constant_element, t.sparse_extents) | [] -> Fact not_stated)
    | _ -> Fact (if is_there then not_stated else VList []) in
  let types = match kind with
    | "type_proto" | "type_protos" when not absent -> List.map (type_of s) (messages m field) | _ -> [] in
  let attribute_name = string s.bytes m "name" in
  let nested i g =
    let suffix = if kind = "graphs" then Printf.sprintf "[%d]" i else "" in
    graph s { around with path = around.path ^ "/" ^ escaped attribute_name ^ suffix; nested = true } g in
  let graphs = if absent then [] else match kind with "graph" | "graphs" -> List.mapi nested (messages m field) | _ -> [] in
  let body = match kind, graphs with
    | "graph", [g] -> Some { body_inputs = g.graph_inputs; body_outputs = g.graph_outputs; body_constants = List.map (fun c -> c.constant_name) g.initializers }
    | _ -> None in
  ({ attribute_name; attribute_kind = kind; reference; fields; texts_are_utf8 = List.for_all is_utf8 texts;
    attribute_value = value; tensors; sparse_tensors; types; body_graph = body;
    is_sparse = List.mem "sparse_tensor" fields || List.mem "sparse_tensors" fields || List.exists (fun (t : type0) -> t.holds_sparse) types },
   graphs)

(* What a graph uses, what it defines included. *)
and used g =
  List.concat_map (fun n -> List.rev_append n.inputs n.captured) g.nodes @ List.map fst g.graph_outputs

and node s around index m =
  let around = { around with path = Printf.sprintf "%s/node[%d]" around.path index } in
  let read = List.map (attribute s around) (messages m "attribute") in
  { node_name = string s.bytes m "name"; operator = string s.bytes m "op_type"; domain = string s.bytes m "domain";
    overload = string s.bytes m "overload"; inputs = strings s.bytes m "input"; outputs = strings s.bytes m "output";
    attributes = List.map fst read; captured = List.concat_map (fun (_, graphs) -> List.concat_map used graphs) read;
    configurations = if has m "device_configurations" then List.map (configuration s) (messages m "device_configurations") else [] }

and nodes s around m = List.rev (snd (List.fold_left (fun (i, l) n -> (i + 1, node s around i n :: l)) (0, []) (messages m "node")))

(* A graph; one beside the main graph is added to the others. *)
and graph s around m =
  let values name = List.rev (List.rev_map (value_info s) (messages m name)) in
  let g = { graph_name = string s.bytes m "name"; graph_inputs = values "input"; graph_outputs = values "output"; value_info = values "value_info";
    initializers = List.rev (List.rev_map (fun c -> constant s c) (messages m "initializer"));
    sparse_initializers = List.map (sparse s) (messages m "sparse_initializer");
    nodes = nodes s around m;
    annotations = List.map (fun a -> List.map (fun e -> string s.bytes e "key") (messages a "quant_parameter_tensor_names"))
      (messages m "quantization_annotation") } in
  if around.nested then add s around g;
  g

(* A function, whose body is one of the other graphs. *)
let function_ s index m =
  let path = Printf.sprintf "function[%d]" index in
  let defaults = List.map (fun a -> (string s.bytes a "name", kind_of s a)) (messages m "attribute_proto") in
  let attributes = strings s.bytes m "attribute" in
  let around = { path; nested = false; declared = Some (attributes @ List.map fst defaults) } in
  let before = List.length s.others in
  let value_info = List.map (value_info s) (messages m "value_info") in
  let nodes = nodes s around m in
  let typed x = (x, List.fold_left (fun t (y, u) -> if x = y then u else t) no_type value_info) in
  let body = { graph_name = string s.bytes m "name"; graph_inputs = List.map (fun x -> (x, no_type)) (strings s.bytes m "input");
    graph_outputs = List.map typed (strings s.bytes m "output"); value_info; initializers = []; sparse_initializers = []; nodes;
    annotations = [] } in
  add s around body;
  let called = Hashtbl.create 10 in
  let own = List.filteri (fun i _ -> i < List.length s.others - before) s.others in
  List.iter (fun g -> List.iter (fun n -> Hashtbl.replace called (standard n.domain, (n.operator, n.overload)) ()) g.other.nodes) own;
  { function_domain = string s.bytes m "domain"; function_name = body.graph_name; function_overload = string s.bytes m "overload";
    function_inputs = List.map fst body.graph_inputs; function_outputs = List.map fst body.graph_outputs; function_attributes = attributes;
    function_defaults = defaults; function_info = List.map fst value_info;
    function_values = List.concat_map (fun n -> n.outputs) nodes; function_imports = imports s m;
    called = List.of_seq (Hashtbl.to_seq_keys called) }
