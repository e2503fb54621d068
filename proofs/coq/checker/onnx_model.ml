(* From the messages of a file to the model of proofs/coq/model.v. *)
open Evaluator
open Wire
open Onnx_constants
open Onnx_nodes

(* The limits of `sonnx check` on the parts of a file; docs/threat-model.md. *)
let counted_with d =
  let has x = Hashtbl.mem d.by_name x in
  let parts what when_ names = if has when_ then List.filter_map (fun x -> Option.map (fun i -> (what, i)) (Hashtbl.find_opt d.by_name x)) names else [] in
  parts "nodes" "node" ["node"]
  @ parts "values" "initializer" ["input"; "output"; "value_info"; "initializer"; "sparse_initializer"; "quantization_annotation"]
  @ parts "values" "attribute_proto" ["input"; "output"; "value_info"]
  @ parts "entries" "attribute_proto" ["attribute"; "attribute_proto"; "opset_import"]
  @ parts "entries" "ir_version" ["opset_import"; "functions"; "training_info"; "configuration"; "metadata_props"]
  @ List.concat_map (fun x -> parts "values" x [x]) ["tensors"; "sparse_tensors"; "type_protos"; "sharding_spec"; "sharded_dim";
      "index_to_device_group_map"; "simple_sharding"; "quant_parameter_tensor_names"]
  @ parts "graphs" "graphs" ["graphs"] @ parts "graphs" "g" ["g"]

let limited m =
  let counts = Hashtbl.create 8 in
  let add what n = if n > 0 then Hashtbl.replace counts what (n + try Hashtbl.find counts what with Not_found -> 0) in
  let over what n most = if n > most then raise (Malformed (Printf.sprintf "it has %d %s, more than the %d allowed" n what most)) in
  let rec depth d m =
    over "levels of nested graphs" d 32;
    Array.iter (List.iter (function
      | Message i -> depth (if Hashtbl.mem i.description.by_name "initializer" then d + 1 else d) i | _ -> ())) m.values in
  let nested = ref false in
  let known = ref [] in
  let of_description d = try List.assq d !known with Not_found ->
    let has = Hashtbl.mem d.by_name in
    let found = (counted_with d, has "op_type", has "dim", has "dims") in
    known := (d, found) :: !known;
    found in
  each (fun m ->
    let parts, node, shape, tensor = of_description m.description in
    List.iter (fun (what, i) -> let n = List.length m.values.(i) in if n > 0 then begin add what n; if what = "graphs" then nested := true end) parts;
    if node then over "attributes of one node" (count m "attribute") 1000;
    if shape then over "dimensions" (count m "dim") 1000;
    if tensor then begin
      let n = ref 0 in
      List.iter (function Packed (_, l) -> n := !n + l | _ -> incr n) (all m "dims");
      if !n > 1000 then over "dimensions" !n 1000
    end) m;
  if !nested then depth 0 m;
  List.iter (fun (what, most) -> over what (try Hashtbl.find counts what with Not_found -> 0) most)
    ["nodes", 200_000; "values", 250_000; "graphs", 5000; "entries", 10_000]

let repeated_keys s m =
  let keys = List.map (fun e -> string s.bytes e "key") (messages m "metadata_props") in
  List.length keys > List.length (List.sort_uniq compare keys)


(* The names of a graph that are not printable, or its symbols. *)
let unprintable s g =
  let bad names = List.exists (fun x -> not (printable s.tables x)) names in
  let symbols (_, t) = match t.type_shape with None -> [] | Some l -> List.filter_map (function Symbol x -> Some x | _ -> None) l in
  let names n = n.node_name :: n.operator :: n.domain :: n.overload :: n.inputs @ n.outputs @ List.map (fun (a : attribute) -> a.attribute_name) n.attributes in
  bad [g.graph_name] || List.exists (fun l -> List.exists (fun v -> bad (fst v :: symbols v)) l) [g.graph_inputs; g.graph_outputs; g.value_info]
  || List.exists (fun c -> bad [c.constant_name]) g.initializers || List.exists (fun c -> bad [sparse_name c]) g.sparse_initializers
  || List.exists (fun n -> bad (names n)) g.nodes

let training s m =
  let pairs name = List.map (fun e -> (string s.bytes e "key", string s.bytes e "value")) (messages m name) in
  let names g kind = List.map (fun i -> string s.bytes i "name") (messages g kind) in
  let of_graph name kind = Option.map (fun g -> (names g kind, names g "output")) (inner m name) in
  { first_bindings = pairs "initialization_binding"; step_bindings = pairs "update_binding";
    first_graph = of_graph "initialization" "input"; step_graph = of_graph "algorithm" "initializer" }

let device s m =
  { configuration_name = stated s m "name"; device_count = number_of m "num_devices"; device_names = strings s.bytes m "device" }

let model s m =
  let main = match inner m "graph" with
    | Some g -> graph s { path = "graph"; nested = false; declared = None } g | None -> raise (Malformed "it has no graph") in
  let functions = List.mapi (function_ s) (messages m "functions") in
  let others = List.rev s.others in
  let unknown = ref false and undefined = ref false and repeated = ref false in
  each (fun i -> if i.unknown then unknown := true; if i.undefined then undefined := true;
    if Hashtbl.mem i.description.by_name "metadata_props" && has i "metadata_props" && repeated_keys s i then repeated := true) m;
  let bad names = List.exists (fun x -> not (printable s.tables x)) names in
  let of_function f = f.function_domain :: f.function_overload :: f.function_attributes @ List.map fst f.function_defaults @ List.map fst f.function_imports in
  let imports = imports s m in
  let unprintable_names = bad (List.map fst imports) || List.exists (fun f -> bad (of_function f)) functions
    || List.exists (unprintable s) (main :: List.map (fun o -> o.other) others) in
  { ir_version = number_of m "ir_version"; imports; main; functions; others; devices = List.map (device s) (messages m "configuration");
    training = List.map (training s) (messages m "training_info"); unknown_fields = !unknown; undefined_values = !undefined;
    metadata_keys_repeated = !repeated; unprintable_names }
