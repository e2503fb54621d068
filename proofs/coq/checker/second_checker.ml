(* second_checker RULES < FACTS: a verdict for each rule.  RULES is what `sonnx export coq` writes.  A line of FACTS is
   one call: the edition, operator and version, and the facts by name.  The output has a line for each call. *)
open Evaluator

type tree = Atom of string | Quoted of string | Node of tree list

(* Trees in a text; what Coq writes between items of lists is space. *)
let trees text =
  let n = String.length text in
  let rec items i found =
    if i >= n then (List.rev found, i) else
    match text.[i] with
    | ' ' | '\n' | ',' | ';' | '[' | ']' -> items (i + 1) found
    | '(' -> let inner, j = items (i + 1) [] in items j (Node inner :: found)
    | ')' -> (List.rev found, i + 1)
    | '"' -> let s, j = quoted (i + 1) (Buffer.create 16) in items j (Quoted s :: found)
    | _ ->
      let rec stop j = if j < n && not (String.contains " \n,;[]()\"" text.[j]) then stop (j + 1) else j in
      let j = stop i in items j (Atom (String.sub text i (j - i)) :: found)
  and quoted i b =
    if text.[i] <> '"' then (Buffer.add_char b text.[i]; quoted (i + 1) b)
    else if i + 1 < n && text.[i + 1] = '"' then (Buffer.add_char b '"'; quoted (i + 2) b)
    else (Buffer.contents b, i + 1)
  in fst (items 0 [])

let rec positive n = if n = 1 then XH else if n land 1 = 0 then XO (positive (n / 2)) else XI (positive (n / 2))
let small n = if n = 0 then Z0 else Zpos (positive n)
let rec integer = function
  | Node [one] -> integer one
  | Atom s when s.[0] = '-' -> Z.opp (integer (Atom (String.sub s 1 (String.length s - 1))))
  | Atom s -> String.fold_left (fun z c -> Z.add (Z.mul z (small 10)) (small (Char.code c - 48))) Z0 s
  | _ -> failwith "not a number"
let denominator t = match integer t with Zpos p -> p | _ -> failwith "not a denominator"
let rational a b = { qnum = integer a; qden = denominator b }

let arithmetic = function
  | "Plus" -> Plus | "Minus" -> Minus | "Times" -> Times | "Quotient" -> Quotient | "Remainder" -> Remainder
  | s -> failwith s
let comparison = function
  | "Equal" -> Equal | "Less" -> Less | "AtMost" -> AtMost | "Member" -> Member | s -> failwith s
let list_function = function
  | "Len" -> Len | "Sum" -> Sum | "Product" -> Product | "Largest" -> Largest | "Smallest" -> Smallest
  | "All" -> All | "Any" -> Any | "Distinct" -> Distinct | s -> failwith s

let rec expr = function
  | Atom "Nil" -> Nil
  | Atom "Undefined" -> Undefined
  | Atom "Always" -> Stated (Int (small 0))
  | Node [Atom "Int"; z] -> Int (integer z)
  | Node [Atom "Float"; Node [Atom "Qmake"; a; b]] -> Float (rational a b)
  | Node [Atom "Text"; Quoted s] -> Text s
  | Node [Atom "Name"; Quoted s] -> Name s
  | Node [Atom "Cons"; a; b] -> Cons (expr a, expr b)
  | Node [Atom "Field"; a; Quoted s] -> Field (expr a, s)
  | Node [Atom "Item"; a; b] -> Item (expr a, expr b)
  | Node [Atom "Part"; a; b; c] -> Part (expr a, expr b, expr c)
  | Node [Atom "Arithmetic"; Atom s; a; b] -> Arithmetic (arithmetic s, expr a, expr b)
  | Node [Atom "Negative"; a] -> Negative (expr a)
  | Node [Atom "Compare"; Atom s; a; b] -> Compare (comparison s, expr a, expr b)
  | Node [Atom "And"; a; b] -> And (expr a, expr b)
  | Node [Atom "Or"; a; b] -> Or (expr a, expr b)
  | Node [Atom "Not"; a] -> Not (expr a)
  | Node [Atom "If"; a; b; c] -> If (expr a, expr b, expr c)
  | Node [Atom "ForAll"; Quoted x; a; b] -> ForAll (x, expr a, expr b)
  | Node [Atom "Exists"; Quoted x; a; b] -> Exists (x, expr a, expr b)
  | Node [Atom "Collect"; Quoted x; a; b; c] -> Collect (x, expr a, expr b, expr c)
  | Node [Atom "Flatten"; a] -> Flatten (expr a)
  | Node [Atom "Apply"; Atom s; a] -> Apply (list_function s, expr a)
  | Node [Atom "Range"; a; b] -> Range (expr a, expr b)
  | Node [Atom "Stated"; a] -> Stated (expr a)
  | Node [Atom "Let"; Quoted x; a; b] -> Let (x, expr a, expr b)
  | Node [Atom "Reduce"; Quoted x; Quoted y; a; b; c] -> Reduce (x, y, expr a, expr b, expr c)
  | _ -> failwith "not an expression"

let rec strings = function
  | Atom "nil" -> []
  | Node [Atom "cons"; Quoted s; rest] -> s :: strings rest
  | _ -> failwith "not a list of texts"
let optional = function
  | Atom "None" -> None | Node [Atom "Some"; a] -> Some (expr a) | _ -> failwith "not an option"
let rule = function
  | Node [Atom "Build_rule"; Quoted slug; relies; applies; demand; over] ->
    { slug; relies = strings relies; applies = optional applies; demand = expr demand; over = optional over }
  | _ -> failwith "not a rule"

let rec value = function
  | Node [Atom "I"; z] -> VInt (integer z)
  | Node [Atom "F"; a; b] -> VFloat (rational a b)
  | Node [Atom "B"; Atom b] -> VBool (b = "true")
  | Node [Atom "T"; Quoted s] -> VText s
  | Node (Atom "L" :: items) -> VList (List.map value items)
  | Node (Atom "R" :: fields) ->
    VRecord (List.map (function Node [Quoted f; v] -> (f, value v) | _ -> failwith "not a field") fields)
  | Node [Atom "U"; Atom cause; Quoted symbol] ->
    let because = match cause with "1" -> RunTime | "2" -> NotStated | _ -> NotDefined in
    VUnknown (because, if symbol = "" then None else Some symbol)
  | _ -> failwith "not a value"

let verdict = function
  | Pass -> "pass" | Fail -> "fail" | Assumed -> "assumed" | Undecided -> "undecided" | NotApplicable -> "not-applicable"

let known : (string, rule) Hashtbl.t = Hashtbl.create 1000
let catalogue : (string, rule list) Hashtbl.t = Hashtbl.create 1000

let read line =
  match trees line with
  | Atom "Definition" :: Atom name :: Atom ":=" :: tree :: _ -> Hashtbl.replace known name (rule tree)
  | Node (Quoted key :: names) :: _ ->
    let found = function Atom name -> Hashtbl.find known name | _ -> failwith "not a name" in
    Hashtbl.replace catalogue key (List.map found names)
  | _ -> ()

let lines channel f = try while true do f (input_line channel) done with End_of_file -> ()

let () =
  lines (open_in Sys.argv.(1)) read;
  lines stdin (fun line ->
    match trees line with
    | Quoted key :: facts ->
      let names = Hashtbl.create 64 in
      List.iter (function Node [Quoted x; v] -> Hashtbl.replace names x (value v) | _ -> failwith "not a fact") facts;
      let environment x = try Hashtbl.find names x with Not_found -> VUnknown (NotStated, None) in
      let judged = judge environment (Hashtbl.find catalogue key) [] in
      print_endline (String.concat " " (List.map (fun (slug, v) -> slug ^ "=" ^ verdict v) judged))
    | _ -> failwith "not a call")
