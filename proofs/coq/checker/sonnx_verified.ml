(* sonnx-verified [--edition E] MODEL...: the verdict of the check that is extracted from the formalization, then a line for each
   rule that does not hold.  Exit codes as `sonnx check`: 0 the model conforms, 1 a rule fails, 3 a rule is not decided, 2 the
   file cannot be read or the command is wrong, 4 the program failed. *)
open Evaluator

let usage = "usage: sonnx-verified [--edition EDITION] MODEL..."

let fail code reason = prerr_endline ("sonnx-verified: " ^ reason); exit code

let rec to_int = function XH -> 1 | XO p -> 2 * to_int p | XI p -> 2 * to_int p + 1

(* The numbers of constants by serial; those that were read last are kept, because a loop may ask for them at each step. *)
let recent origins =
  let places = Hashtbl.create 100 and kept = Hashtbl.create 8 in
  List.iter (fun (serial, origin) -> Hashtbl.replace places serial origin) origins;
  fun serial ->
    match Hashtbl.find_opt kept serial with
    | Some v -> v
    | None ->
      let v = numbers_at (try Hashtbl.find places serial with Not_found -> Nowhere) in
      if Hashtbl.length kept >= 8 then Hashtbl.reset kept;
      Hashtbl.replace kept serial v;
      v

exception Unreadable of string

let map_file path =
  let refuse reason = raise (Unreadable (Printf.sprintf "%S %s" path reason)) in
  let descriptor = try Unix.openfile path [Unix.O_RDONLY; Unix.O_NONBLOCK] 0 with
    | Unix.Unix_error (e, _, _) -> refuse ("cannot be read: " ^ Unix.error_message e) in
  let status = Unix.LargeFile.fstat descriptor in
  (match status.Unix.LargeFile.st_kind with
   | Unix.S_REG -> ()
   | Unix.S_DIR -> refuse "is a folder"
   | _ -> refuse "is not a regular file");
  if status.Unix.LargeFile.st_size = 0L then refuse "is empty";
  let bytes = Bigarray.array1_of_genarray (Unix.map_file descriptor Bigarray.char Bigarray.c_layout false [| -1 |]) in
  Unix.close descriptor;
  bytes

(* A call whose rules take too much: none is decided, and its outputs are as declared. *)
let exhausted (s : signature) outs =
  { verdicts = List.map (fun p -> (p.own.slug, Undecided)) s.demands; general = [];
    after_call = List.map (function Some t -> t | None -> nothing_stated) outs }

(* A call with equal facts has equal results: it is evaluated once. *)
let remembered numbers groups operands =
  let known = Hashtbl.create 1000 in
  fun operator version others s attributes ins outs ->
    let key = (operator, version, others, attributes, ins, outs) in
    let hash = Hashtbl.hash_param 200 400 key in
    match List.find_opt (fun (k, _) -> k = key) (Hashtbl.find_all known hash) with
    | Some (_, o) -> o
    | None ->
      let o =
        try Budget.start_of_call (); call numbers groups operands others s attributes ins outs
        with Budget.Exhausted | Stack_overflow -> Budget.end_of_call (); exhausted s outs in
      Hashtbl.add known hash (key, o);
      o

let int_of = function Z0 -> 0 | Zpos p -> to_int p | Zneg p -> - to_int p

let place = function
  | InModel -> "model" | InFunction i -> Printf.sprintf "function[%d]" (int_of i) | InGraph -> "graph"
  | InNode i | OfNode i -> Printf.sprintf "graph/node[%d]" (int_of i) | InInput i -> Printf.sprintf "graph/input[%d]" (int_of i)
  | InOutput i -> Printf.sprintf "graph/output[%d]" (int_of i) | InValueInfo i -> Printf.sprintf "graph/value_info[%d]" (int_of i)
  | InInitializer i -> Printf.sprintf "graph/initializer[%d]" (int_of i)
  | InSparse i -> Printf.sprintf "graph/sparse_initializer[%d]" (int_of i)
  | InAttribute (i, name) -> Printf.sprintf "graph/node[%d]/%s" (int_of i) (escaped name)
  | Elsewhere path -> path ^ "/"
let verdict = function
  | NotChecked -> "not-checked"
  | Judged v -> (match v with Pass -> "pass" | Fail -> "fail" | Assumed -> "assumed" | Undecided -> "undecided" | NotApplicable -> "not-applicable")

(* The sentence about a file that is not read. *)
let sentence reason =
  let at (b : Slice.t) = Printf.sprintf "at byte %d" b.first in
  match reason with
  | LongNumber b -> "a number of more than 10 bytes ends " ^ at b
  | EndsInField b -> "it ends inside a field " ^ at b
  | BeyondMessage b -> "a field reaches beyond the end of its message " ^ at b
  | NumberZero b -> "a field has the number 0 " ^ at b
  | NumberBeyond b -> "a field has a number beyond 2^29 " ^ at b
  | WireType (wire, b) -> Printf.sprintf "a field has the wire type %d %s" wire (at b)
  | GroupEnd b -> "the end of a group does not match its start " ^ at b
  | EndsInList b -> "a list of numbers ends inside one " ^ at b
  | TooDeep -> Printf.sprintf "it is nested deeper than %d levels" (most_levels - 1)
  | LongName n -> Printf.sprintf "it has %d bytes in one name, more than the %d allowed" n longest_name
  | TooMany e -> Printf.sprintf "it has %d %s, more than the %d allowed" e.excess_number e.excess_of e.excess_most
  | NoGraph -> "it has no graph"
  | Unfinished -> failwith "the reader did not end"

(* What the file system says of the file of external data at a place beside a model. *)
let file_beside folder =
  let known = Hashtbl.create 10 in
  fun location ->
    try Hashtbl.find known location with Not_found ->
      let found =
        try
          let base = Unix.realpath folder in
          let path = Unix.realpath (Filename.concat base location) in
          let inside = String.length path > String.length base + 1 && String.sub path 0 (String.length base + 1) = (if base = "/" then base else base ^ "/") in
          let status = Unix.LargeFile.stat path in
          if (inside || base = "/") && status.Unix.LargeFile.st_kind = Unix.S_REG then
            Bytes (Z.of_nat (Int64.to_int status.Unix.LargeFile.st_size)) else Unusable
        with Unix.Unix_error _ | Invalid_argument _ -> Unusable in
      Hashtbl.replace known location found;
      found

(* The verdict, a line for each rule that does not hold, and the exit code. *)
let check_file tables edition name path =
  try
    Budget.of_new_model ();
    let m, origins = match read_model (tables (file_beside (Filename.dirname path))) (Slice.of_file (map_file path)) with
      | Done read -> read
      | Refused reason -> raise (Unreadable (Printf.sprintf "%S is not a model: %s" path (sentence reason))) in
    let in_functions = List.concat_map (fun f -> List.map (fun (_, (x, _)) -> x) f.called) m.functions in
    let e = edition (List.rev_append (List.rev_map (fun n -> n.operator) m.main.nodes) in_functions) in
    if List.length m.functions * List.length m.main.nodes > Budget.most_of_model then raise Budget.Exhausted;
    let numbers = recent origins in
    let found = findings e m (remembered numbers e.about_groups e.about_operands) numbers in
    let has v = List.exists (fun f -> verdict f.says = v) found in
    let overall = match List.find_opt has ["fail"; "not-checked"; "undecided"; "assumed"] with Some v -> v | None -> "pass" in
    Printf.printf "%s %s %s\n" overall name (escaped path);
    List.iter (fun f -> Printf.printf "  %s %s %s\n" (verdict f.says) f.rule_slug (place f.at_place)) found;
    int_of (exit_code found)
  with
  | Unreadable reason -> prerr_endline ("sonnx-verified: " ^ reason); Printf.printf "unreadable %s %s\n" name (escaped path); 2
  | Budget.Exhausted -> prerr_endline (Printf.sprintf "sonnx-verified: %S: the check takes too many steps" path); 3
  | Stack_overflow -> prerr_endline (Printf.sprintf "sonnx-verified: %S: the check takes more stack than there is" path); 3
  | Out_of_memory -> prerr_endline (Printf.sprintf "sonnx-verified: %S: the check takes more memory than there is" path); 3

let worst codes = List.find (fun c -> List.mem c codes) [4; 2; 1; 3; 0]

let () =
  Gc.set { (Gc.get ()) with Gc.minor_heap_size = 1 lsl 22; space_overhead = 300 };
  let newest = List.fold_left max "" (Editions.names Tables.editions) in
  let rec arguments edition models = function
    | "--edition" :: e :: rest -> arguments e models rest
    | "--" :: rest -> (edition, List.rev_append models rest)
    | x :: _ when x <> "" && x.[0] = '-' -> fail 2 usage
    | x :: rest -> arguments edition (x :: models) rest
    | [] -> (edition, List.rev models) in
  let name, models = arguments newest [] (List.tl (Array.to_list Sys.argv)) in
  if models = [] then fail 2 usage;
  try
    match Editions.edition Tables.rules Tables.schemas Tables.editions name with
    | None -> fail 2 (Printf.sprintf "there is no edition %S; there are %s" name (String.concat ", " (Editions.names Tables.editions)))
    | Some edition ->
      let tables = Editions.format Tables.format in
      exit (worst (List.map (check_file tables edition name) models))
  with
  | Failure reason | Invalid_argument reason | Sys_error reason -> fail 4 reason
  | Not_found -> fail 4 "a name was not found"
