(* second_encoder RULES < SCOPES: the terms that Coq's translation makes of conditions (`guarded_correct`).  RULES is what `sonnx export coq DIR`
   writes; SCOPES is JSON as tests/support/second_encoder.py writes it: for each rule the bound on turns, whether the
   lengths of all lists are compared first, and the value of each name, in which variables are numbers that stand for terms of the caller.  Of the condition under which a rule
   applies, and of what it demands, a line has the different parts of the terms, each after those it is made of, and then
   the places of `defined` and of the value; or `none`. *)
open Evaluator
open Reading

let rec bits = function XH -> "1" | XO p -> bits p ^ "0" | XI p -> bits p ^ "1"
let binary = function Z0 -> "0" | Zpos p -> bits p | Zneg p -> "-" ^ bits p

let rec truth = function
  | Truth b -> TCon b | Number s -> TVar s | _ -> failwith "not a truth value"
let rec symbolic = function
  | Object ["int", v] -> SInt (ICon (number v))
  | Object ["number", Number s] -> SInt (IVar s)
  | Object ["truth", v] -> STruth (truth v)
  | Object ["text", String s] -> SText (SCon s)
  | Object ["string", Number s] -> SText (SVar s)
  | Object ["list", List items] ->
    SList (List.map (function List [p; v] -> (truth p, symbolic v) | _ -> failwith "not an item") items)
  | Object ["record", Object fields] -> SRecord (List.map (fun (f, v) -> (f, symbolic v)) fields)
  | Object ["undefined", _] -> SUndefined
  | _ -> failwith "not a value"
let scope = function
  | Object names ->
    let known = Hashtbl.create 16 in
    List.iter (function
      | (name, List [defined; v]) -> Hashtbl.replace known name (truth defined, symbolic v)
      | _ -> failwith "not a value of a name") names;
    fun x -> Hashtbl.find_opt known x
  | _ -> failwith "not a scope"

(* The different parts of terms, in the order in which they are met first. *)
exception Large
let most = 20_000_000
let parts : (string, int) Hashtbl.t = Hashtbl.create 100_000
let visited = ref 0
let line = Buffer.create 1_000_000
let part word =
  incr visited;
  if !visited > most then raise Large;
  match Hashtbl.find_opt parts word with
  | Some place -> place
  | None ->
    let place = Hashtbl.length parts in
    Hashtbl.replace parts word place;
    Buffer.add_string line word; Buffer.add_char line ';';
    place
let sign = function Plus -> "+" | Minus -> "-" | Times -> "*" | Quotient -> "div" | Remainder -> "mod"
let rec of_int = function
  | ICon z -> part ("int " ^ binary z)
  | IVar s -> part ("variable " ^ s)
  | ICalc (o, a, b) -> let a = of_int a in let b = of_int b in part (Printf.sprintf "%s %d %d" (sign o) a b)
  | IIte (c, a, b) -> let c = of_truth c in let a = of_int a in let b = of_int b in part (Printf.sprintf "ite %d %d %d" c a b)
and of_truth = function
  | TCon b -> part (if b then "true" else "false")
  | TVar s -> part ("variable " ^ s)
  | TNot a -> let a = of_truth a in part (Printf.sprintf "not %d" a)
  | TAnd (a, b) -> let a = of_truth a in let b = of_truth b in part (Printf.sprintf "and %d %d" a b)
  | TOr (a, b) -> let a = of_truth a in let b = of_truth b in part (Printf.sprintf "or %d %d" a b)
  | TEq (a, b) -> let a = of_int a in let b = of_int b in part (Printf.sprintf "= %d %d" a b)
  | TLess (a, b) -> let a = of_int a in let b = of_int b in part (Printf.sprintf "< %d %d" a b)
  | TSame (a, b) -> let a = of_text a in let b = of_text b in part (Printf.sprintf "= %d %d" a b)
and of_text = function
  | SCon s -> part ("text " ^ s)
  | SVar s -> part ("variable " ^ s)
  | SIte (c, a, b) -> let c = of_truth c in let a = of_text a in let b = of_text b in part (Printf.sprintf "ite %d %d %d" c a b)

let shown bound all names e =
  Hashtbl.reset parts; Buffer.clear line; visited := 0;
  match encode bound (guarded all e) names with
  | Some (defined, STruth value) ->
    (try
      let defined = of_truth defined in
      let value = of_truth value in
      Printf.printf "%s%d %d\n" (Buffer.contents line) defined value
    with Large -> print_string "large\n")
  | _ -> print_string "none\n"

let () =
  try
    lines (open_in Sys.argv.(1)) read;
    match document () with
    | List asked ->
      List.iter (fun query ->
        let names = scope (get "names" query) in
        let bound = match get "bound" query with Number s -> int_of_string s | _ -> failwith "not a bound" in
        let all = match get "all" query with Truth b -> b | _ -> failwith "not a truth value" in
        let name = match get "rule" query with String s -> s | _ -> failwith "not a name" in
        let rule = try Hashtbl.find known name with Not_found -> failwith ("no rule " ^ name) in
        (match rule.applies with None -> print_string "always\n" | Some e -> shown bound all names e);
        shown bound all names rule.demand) asked
    | _ -> failwith "not a list"
  with Failure reason -> prerr_endline ("second_encoder: " ^ reason); exit 2
