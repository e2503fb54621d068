(* Reading of rules, as `sonnx export coq DIR` writes them, and of JSON. *)
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

(* JSON, as `sonnx check --facts FILE` writes it: in ASCII.  A character beyond it is written by the bytes of its units
   in UTF-16, so that equal texts have equal bytes. *)
type json = Null | Truth of bool | Number of string | String of string | List of json list | Object of (string * json) list

let json text =
  let n = String.length text in
  let rec space i = if i < n && String.contains " \n\t\r" text.[i] then space (i + 1) else i in
  let wrong i = failwith (Printf.sprintf "not JSON at byte %d" i) in
  let at i = if i < n then text.[i] else wrong i in
  let literal i word result =
    let m = String.length word in
    if i + m <= n && String.sub text i m = word then (result, i + m) else wrong i in
  let unit_of b code =
    if code < 0x80 then Buffer.add_char b (Char.chr code)
    else begin
      if code < 0x800 then Buffer.add_char b (Char.chr (0xC0 lor (code lsr 6)))
      else begin
        Buffer.add_char b (Char.chr (0xE0 lor (code lsr 12)));
        Buffer.add_char b (Char.chr (0x80 lor ((code lsr 6) land 0x3F)))
      end;
      Buffer.add_char b (Char.chr (0x80 lor (code land 0x3F)))
    end in
  let rec characters i b = match at i with
    | '"' -> (Buffer.contents b, i + 1)
    | '\\' ->
      (match at (i + 1) with
       | 'u' when i + 6 <= n -> unit_of b (int_of_string ("0x" ^ String.sub text (i + 2) 4)); characters (i + 6) b
       | c ->
         let known = [('n', '\n'); ('t', '\t'); ('r', '\r'); ('b', '\b'); ('f', '\012'); ('/', '/'); ('"', '"'); ('\\', '\\')] in
         (match List.assoc_opt c known with Some d -> Buffer.add_char b d | None -> wrong i);
         characters (i + 2) b)
    | c -> Buffer.add_char b c; characters (i + 1) b in
  let string i = if at i = '"' then characters (i + 1) (Buffer.create 16) else wrong i in
  let rec item i =
    let i = space i in
    match at i with
    | 'n' -> literal i "null" Null
    | 't' -> literal i "true" (Truth true)
    | 'f' -> literal i "false" (Truth false)
    | '"' -> let s, i = string i in (String s, i)
    | '[' -> let items, i = sequence ']' item (i + 1) in (List items, i)
    | '{' -> let pairs, i = sequence '}' pair (i + 1) in (Object pairs, i)
    | '-' | '0' .. '9' ->
      let rec stop j = if j < n && text.[j] >= '0' && text.[j] <= '9' then stop (j + 1) else j in
      let j = stop (i + 1) in (Number (String.sub text i (j - i)), j)
    | _ -> wrong i
  and pair i =
    let name, i = string (space i) in
    let i = space i in
    if at i <> ':' then wrong i else let v, i = item (i + 1) in ((name, v), i)
  and sequence : 'a. char -> (int -> 'a * int) -> int -> 'a list * int = fun close part i ->
    let rec rest found i =
      let i = space i in
      if at i = close then (List.rev found, i + 1)
      else if at i = ',' then let v, i = part (i + 1) in rest (v :: found) i
      else wrong i in
    let i = space i in
    if at i = close then ([], i + 1) else let v, i = part i in rest [v] i in
  let found, i = item 0 in
  if space i < n then wrong i else found

let number = function Number s -> integer (Atom s) | _ -> failwith "not a number"

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

let get name = function
  | Object fields -> (try List.assoc name fields with Not_found -> failwith ("no " ^ name))
  | _ -> failwith "not an object"
let text = function String s -> s | _ -> failwith "not a text"

(* The JSON on standard input. *)
let document () =
  let input = Buffer.create 65536 in
  lines stdin (fun line -> Buffer.add_string input line; Buffer.add_char input '\n');
  json (Buffer.contents input)
