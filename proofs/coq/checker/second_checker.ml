(* second_checker RULES < FACTS: the verdict of each rule, a line for each call.  RULES is what `sonnx export coq DIR`
   writes, FACTS what `sonnx check --facts FILE MODEL` writes.  The exit code is 1 where a verdict differs from the one
   that FACTS has from the check, and 2 where an input cannot be read. *)
open Evaluator
open Reading

let rec value = function
  | Truth b -> VBool b
  | Number s -> VInt (integer (Atom s))
  | String s -> VText s
  | List items -> VList (List.map value items)
  | Object ["float", List [a; Number d]] -> VFloat { qnum = number a; qden = denominator (Atom d) }
  | Object ["record", Object fields] -> VRecord (List.map (fun (f, v) -> (f, value v)) fields)
  | Object ["unknown", String cause; "symbol", String symbol] ->
    let because = match cause with
      | "run time" -> RunTime | "not stated" -> NotStated | "undefined" -> NotDefined | _ -> failwith "not a cause" in
    VUnknown (because, if symbol = "" then None else Some symbol)
  | _ -> failwith "not a fact"

let verdict = function
  | Pass -> "pass" | Fail -> "fail" | Assumed -> "assumed" | Undecided -> "undecided" | NotApplicable -> "not-applicable"

(* The verdicts of both checkers on a call; the line says where they differ. *)
let differs edition call =
  let operator = text (get "operator" call) in
  let version = match get "version" call with Number s -> s | _ -> failwith "not a version" in
  match get "facts" call, get "verdicts" call with
  | Null, _ -> Printf.printf "%s %s left out: %s\n" operator version (text (get "left_out" call)); false
  | Object facts, Object stated ->
    let names = Hashtbl.create 64 in
    List.iter (fun (name, v) -> Hashtbl.replace names name (value v)) facts;
    let environment x = try Hashtbl.find names x with Not_found -> VUnknown (NotStated, None) in
    let key = String.concat " " [edition; operator; version] in
    let rules = try Hashtbl.find catalogue key with Not_found -> failwith ("no rules of " ^ key) in
    let judged = List.map (fun (slug, v) -> (slug, verdict v)) (judge environment rules []) in
    let shown = List.map (fun (slug, v) -> slug ^ "=" ^ v) judged in
    let same = judged = List.map (fun (slug, v) -> (slug, text v)) stated in
    Printf.printf "%s %s %s%s\n" operator version (String.concat " " shown)
      (if same then "" else " DIFFERS from the check");
    not same
  | _ -> failwith "not a call"

let () =
  try
    lines (open_in Sys.argv.(1)) read;
    let document = document () in
    let edition = text (get "edition" document) in
    match get "calls" document with
    | List calls -> exit (if List.mem true (List.map (differs edition) calls) then 1 else 0)
    | _ -> failwith "not a list of calls"
  with Failure reason -> prerr_endline ("second_checker: " ^ reason); exit 2
