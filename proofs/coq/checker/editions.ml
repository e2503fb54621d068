(* The editions of the profile, from the texts that `sonnx export coq` writes: those of the operators that a model names. *)
open Evaluator
open Reading

let flag = function Atom "T" -> true | Atom "F" -> false | _ -> failwith "not a flag"
let texts = function Node l -> List.map (function Quoted s -> s | _ -> failwith "not a text") l | _ -> failwith "not a list"
let items = function Node l -> l | _ -> failwith "not a list"

(* The lines of a text, without copying it. *)
let each_line text f =
  let n = String.length text in
  let rec go start =
    if start < n then
      let stop = try String.index_from text start '\n' with Not_found -> n in
      f start stop; go (stop + 1) in
  go 0

let starts_with text start prefix =
  let n = String.length prefix in
  start + n <= String.length text && (let rec same i = i = n || (text.[start + i] = prefix.[i] && same (i + 1)) in same 0)

(* The rules by name: each is read when a signature of the model has it. *)
let rules text =
  let places = Hashtbl.create 1000 and known = Hashtbl.create 1000 in
  each_line text (fun start stop ->
    if starts_with text start "Definition rule_" then begin
      let name_start = start + 11 in
      let name_stop = String.index_from text name_start ' ' in
      Hashtbl.replace places (String.sub text name_start (name_stop - name_start)) (start, stop)
    end);
  fun name ->
    try Hashtbl.find known name with Not_found ->
      let start, stop = try Hashtbl.find places name with Not_found -> failwith ("no rule " ^ name) in
      let found = match trees (String.sub text start (stop - start)) with
        | Atom "Definition" :: Atom _ :: Atom ":=" :: tree :: _ -> rule tree | _ -> failwith "not a rule" in
      Hashtbl.replace known name found;
      found

let profile_rule named = function
  | Node [r; validity; leaves; waiting; milder] ->
    let own = match r with Atom name -> named name | tree -> rule tree in
    { own; is_validity = flag validity; leaves_values = flag leaves; leaves_while_waiting = flag waiting; onnx = optional milder }
  | _ -> failwith "not a rule of the profile"
let formal = function
  | Node [Quoted formal_name; v; o; m] -> { formal_name; variadic = flag v; optional = flag o; may_be_omitted = flag m }
  | _ -> failwith "not a formal"
let parameter = function
  | Node [Quoted parameter_name; Quoted parameter_kind; r; a] -> { parameter_name; parameter_kind; required = flag r; absent = Reading.optional a }
  | _ -> failwith "not a parameter"
let result = function
  | Node [f; Quoted copies; e; Quoted type_variable; w; s; l] ->
    { result_formal = formal f; copies; element = Reading.optional e; type_variable; waits_for = texts w; shape_of = Reading.optional s;
      elements_of = Reading.optional l }
  | _ -> failwith "not an output"
let group = function Node [Quoted x; l] -> (x, texts l) | _ -> failwith "not a group"
let one = function Node [Quoted x; Quoted t] -> (x, t) | _ -> failwith "not a type"
let meaning = function Node [Quoted x; l] -> (x, texts l) | _ -> failwith "not a meaning"
let decided = function Node [Quoted x; l] -> (x, flag l) | _ -> failwith "not a rule"

let signature named = function
  | [f; r; a; i; g; b; s; refused; c; k; d] ->
    { formals = List.map formal (items f); results = List.map result (items r); attribute_parameters = List.map parameter (items a);
      input_parameters = List.map parameter (items i); groups = List.map group (items g); beyond = List.map texts (items b);
      single = List.map one (items s); refused = flag refused; output_counts = List.map integer (items c); kinds = texts k;
      demands = List.map (profile_rule named) (items d) }
  | _ -> failwith "not a signature"

let names text =
  let found = ref [] in
  each_line text (fun start _ ->
    if starts_with text start "(edition \"" then
      let first = start + 10 in
      found := String.sub text first (String.index_from text first '"' - first) :: !found);
  List.rev !found

(* What ONNX says of operators: the domains, and the schemas of a domain and an operator, read when a model names it. *)
let schemas text =
  let places = Hashtbl.create 500 and domains = ref [] in
  let tree start stop = match trees (String.sub text start (stop - start)) with [Node l] -> l | _ -> failwith "not a line" in
  each_line text (fun start stop ->
    if starts_with text start "(domain" then
      (match tree start stop with [_; Quoted x; n] -> domains := (x, integer n) :: !domains | _ -> failwith "not a domain")
    else
      let opening = String.index_from text start '"' + 1 in
      let closing = String.index_from text opening '"' in
      let second = String.index_from text (closing + 1) '"' + 1 in
      let last = String.index_from text second '"' in
      Hashtbl.add places (String.sub text opening (closing - opening), String.sub text second (last - second)) (start, stop));
  let most = function Atom "*" -> None | n -> Some (integer n) in
  let one (start, stop) = match tree start stop with
    | [_; _; _; version; least; greatest; fewest; many; deprecated; attributes] ->
      let attribute = function Node [Quoted x; Quoted kind; needed] -> (x, (kind, flag needed)) | _ -> failwith "not an attribute" in
      (integer version, { input_range = (integer least, most greatest); output_range = (integer fewest, most many);
                          schema_attributes = List.map attribute (items attributes); deprecated = flag deprecated })
    | _ -> failwith "not a schema" in
  let of_domain names (domain, _) =
    (domain, List.filter_map (fun x -> match Hashtbl.find_all places (domain, x) with
       | [] -> None | l -> Some (x, List.rev_map one l)) names) in
  (!domains, fun names -> List.map (of_domain names) !domains)

(* An edition by name: its own line, and for each operator its line and those of its signatures, read when a model names it.
   None if the text does not have the edition. *)
let edition rules_text schemas_text text name =
  let domains, schemas_of = schemas schemas_text in
  let named = rules rules_text in
  let prefix kind = Printf.sprintf "(%s \"%s\" \"" kind name in
  let head = ref None and operators = Hashtbl.create 200 and signatures = Hashtbl.create 500 and known = Hashtbl.create 200 in
  let line (start, stop) = match trees (String.sub text start (stop - start)) with [Node l] -> l | _ -> failwith "not a line" in
  let operator_at start = String.sub text start (String.index_from text start '"' - start) in
  each_line text (fun start stop ->
    let of_operator kind = operator_at (start + String.length (prefix kind)) in
    if starts_with text start (Printf.sprintf "(edition \"%s\" " name) then head := Some (start, stop)
    else if starts_with text start (prefix "operator") then Hashtbl.replace operators (of_operator "operator") (start, stop)
    else if starts_with text start (prefix "signature") then Hashtbl.add signatures (of_operator "signature") (start, stop));
  let version place = match line place with
    | _ :: _ :: _ :: version :: rest -> (integer version, signature named rest) | _ -> failwith "not a signature" in
  let entry x =
    try Hashtbl.find known x with Not_found ->
      let found = match Hashtbl.find_opt operators x with
        | None -> None
        | Some place ->
          match line place with
          | [_; _; _; Atom status; w; m] ->
            Some (x, { operator_status = (match status with "Planned" -> Planned | _ -> Specified); written = flag w;
                       meanings = List.map meaning (items m); versions = List.rev_map version (Hashtbl.find_all signatures x) })
          | _ -> failwith "not an operator" in
      Hashtbl.replace known x found;
      found in
  match Option.map line !head with
  | Some [_; _; ir; set; types; rules; values; groups; parameters; inputs; operands] ->
    let general t = List.map (profile_rule named) (items t) in
    let whole = { operators = []; element_types = texts types; newest_ir_version = integer ir; newest_operator_set = integer set;
                  decided_rules = List.map decided (items rules); about_values = general values; about_groups = general groups;
                  about_parameters = general parameters; about_inputs = general inputs; about_operands = general operands; onnx_domains = domains; schemas = [] } in
    Some (fun names ->
      let names = List.sort_uniq compare names in
      { whole with operators = List.filter_map entry names; schemas = schemas_of names })
  | None -> None
  | Some _ -> failwith "not an edition"

(* The file format: its messages, the names of element types and kinds of attributes, and the characters that no name has. *)
let format text file_beside =
  let messages = ref Names.empty and elements = ref [] and kinds = ref [] and ranges = ref [||] in
  let int = function Atom s -> int_of_string s | _ -> failwith "not a number" in
  let field = function
    | Node (number :: Quoted name :: Atom kind :: repeated :: Quoted union :: rest) ->
      let kind = match kind, rest with
        | "message", [Quoted inner] -> Inner inner
        | "enum", l -> Scalar (Enumeration (List.map integer l))
        | "float", _ -> Scalar Single | "double", _ -> Scalar Double | "int64", _ -> Scalar Int64 | "int32", _ -> Scalar Int32
        | "uint64", _ -> Scalar Uint64 | "string", _ -> Scalar Utf8 | "bytes", _ -> Scalar Data
        | k, _ -> failwith ("not a kind of field: " ^ k) in
      { field_number = int number; field_name = name; kind_of_field = kind; is_repeated = flag repeated; union }
    | _ -> failwith "not a field" in
  let rec tree first stop =
    if first > stop then NoCharacters
    else
      let middle = (first + stop) / 2 in
      let low, high = !ranges.(middle) in
      Characters (tree first (middle - 1), low, high, tree (middle + 1) stop) in
  each_line text (fun start stop -> match trees (String.sub text start (stop - start)) with
    | [Node (Atom "message" :: Quoted message_name :: l)] -> messages := Names.add message_name { message_name; described_fields = List.map field l } !messages
    | [Node [Atom "element"; n; Quoted x]] -> elements := (integer n, x) :: !elements
    | [Node [Atom "kind"; n; Quoted x]] -> kinds := (integer n, x) :: !kinds
    | [Node (Atom "unprintable" :: l)] ->
      ranges := Array.of_list (List.map (function Node [a; b] -> (int a, int b) | _ -> failwith "not a range") l)
    | _ -> failwith "not a line of the format");
  { formats = !messages; element_numbers = !elements; kind_numbers = !kinds; file_beside;
    unprintable_characters = tree 0 (Array.length !ranges - 1) }
