(* The protobuf wire format: from bytes to messages, by the description that `sonnx export coq` writes to format.txt.  Every
   message is read, at any depth; every byte belongs to one field.  Rules of protobuf: the last of several single numbers
   or texts counts, single messages are merged, a member of a union replaces the others, repeated numbers may be packed,
   a field with another wire type is unknown, and so is a number that an enum does not have: then the format defines the field, and not
   its value. *)
type bytes_ = (char, Bigarray.int8_unsigned_elt, Bigarray.c_layout) Bigarray.Array1.t

exception Malformed of string

type scalar = Int32 | Int64 | Uint64 | Enum of int list | Single | Double | Text | Data
type kind = Scalar of scalar | Inner of string
type field = { name : string; kind : kind; repeated : bool; union : string; slot : int }
(* [quick] has the slots of names that were asked for, by the place of the text in memory: most are constants of the program. *)
type description = { by_number : field option array; by_name : (string, int) Hashtbl.t; fields : field list;
                     mutable quick : (string * int) list }

type item =
  | Number of int64
  | Bits of int64                     (* of a float or a double *)
  | Span of int * int                 (* offset and length of a text or of bytes *)
  | Packed of int * int               (* offset and length of several numbers *)
  | Message of message
(* The values of each field, the last first. *)
and message = { description : description; values : item list array; mutable unknown : bool; mutable undefined : bool }

let max_depth = 100
let prose = ["doc_string"; "value"; "string_data"]
let longest_name = 4096

let new_message description = { description; values = Array.make (List.length description.fields) []; unknown = false;
  undefined = false }

let text (b : bytes_) offset length = String.init length (fun i -> Bigarray.Array1.get b (offset + i))

let varint (b : bytes_) stop position =
  let rec go shift position found =
    if shift >= 70 then raise (Malformed (Printf.sprintf "a number of more than 10 bytes ends at byte %d" position));
    if position >= stop then raise (Malformed (Printf.sprintf "it ends inside a field at byte %d" stop));
    let byte = Char.code (Bigarray.Array1.unsafe_get b position) in
    let found = if shift >= 64 then found else Int64.logor found (Int64.shift_left (Int64.of_int (byte land 127)) shift) in
    if byte < 128 then (found, position + 1) else go (shift + 7) (position + 1) found in
  if position < stop then
    let byte = Char.code (Bigarray.Array1.unsafe_get b position) in
    if byte < 128 then (Int64.of_int byte, position + 1) else go 0 position 0L
  else go 0 position 0L

let fixed (b : bytes_) size position =
  let rec go i found = if i < 0 then found else
    go (i - 1) (Int64.logor (Int64.shift_left found 8) (Int64.of_int (Char.code (Bigarray.Array1.get b (position + i))))) in
  go (size - 1) 0L

let within stop position size =
  if size < 0 || size > stop - position then
    raise (Malformed (Printf.sprintf "a field reaches beyond the end of its message at byte %d" position));
  position + size

let length_of b stop position =
  let size, position = varint b stop position in
  let size = if Int64.compare size 0L < 0 || Int64.compare size 0x3fffffffffffffffL > 0 then -1 else Int64.to_int size in
  (position, within stop position size)

(* The tag at a position: number, wire type, and the position after it.  In a group that is skipped protobuf does not look at the
   number. *)
let tag ?(skipped = false) b stop position =
  let tag, after = varint b stop position in
  let number = Int64.to_int (Int64.shift_right_logical tag 3) and wire = Int64.to_int (Int64.logand tag 7L) in
  if number = 0 && not skipped then raise (Malformed (Printf.sprintf "a field has the number 0 at byte %d" position));
  if number >= 1 lsl 29 then raise (Malformed (Printf.sprintf "a field has a number beyond 2^29 at byte %d" position));
  (number, wire, after)

(* The position after an unknown value; groups are matched with their ends. *)
let rec after_value b stop number wire position depth =
  match wire with
  | 0 -> snd (varint b stop position)
  | 1 -> within stop position 8
  | 2 -> snd (length_of b stop position)
  | 5 -> within stop position 4
  | 3 -> after_group b stop number position depth
  | _ -> raise (Malformed (Printf.sprintf "a field has the wire type %d at byte %d" wire position))
and after_group b stop opened position depth =
  if depth > max_depth then raise (Malformed (Printf.sprintf "it is nested deeper than %d levels" max_depth));
  let number, wire, position = tag ~skipped:true b stop position in
  if wire = 4 then
    if number = opened then position
    else raise (Malformed (Printf.sprintf "the end of a group does not match its start at byte %d" position))
  else after_group b stop opened (after_value b stop number wire position (depth + 1)) depth

let to_int32 v = Int64.of_int32 (Int64.to_int32 v)

(* A number of a field; None where its enum does not have it. *)
let number_of scalar v =
  match scalar with
  | Int32 -> Some (Number (to_int32 v))
  | Enum known -> let v = to_int32 v in if List.exists (fun n -> Int64.equal (Int64.of_int n) v) known then Some (Number v) else None
  | _ -> Some (Number v)

let rec read descriptions (b : bytes_) (m : message) start stop depth =
  if depth > max_depth then raise (Malformed (Printf.sprintf "it is nested deeper than %d levels" max_depth));
  let position = ref start in
  while !position < stop do
    let number, wire, after = tag b stop !position in
    let field = if number < Array.length m.description.by_number then m.description.by_number.(number) else None in
    match field with
    | None -> m.unknown <- true; position := after_value b stop number wire after depth
    | Some f ->
      let add v =
        if f.union <> "" then
          List.iter (fun g -> if g.union = f.union && g.slot <> f.slot then m.values.(g.slot) <- []) m.description.fields;
        m.values.(f.slot) <- (if f.repeated then v :: m.values.(f.slot) else [v]) in
      let undefined () = m.undefined <- true; position := after_value b stop number wire after depth in
      match f.kind, wire with
      | Scalar (Int32 | Int64 | Uint64 | Enum _ as s), 0 ->
        let v, next = varint b stop after in
        (match number_of s v with Some v -> add v | None -> m.undefined <- true);
        position := next
      | Scalar Single, 5 -> let next = within stop after 4 in add (Bits (fixed b 4 after)); position := next
      | Scalar Double, 1 -> let next = within stop after 8 in add (Bits (fixed b 8 after)); position := next
      | Scalar (Text | Data as s), 2 ->
        let first, next = length_of b stop after in
        if s = Text && next - first > longest_name && not (List.mem f.name prose) then
          raise (Malformed (Printf.sprintf "it has %d bytes in one name, more than the %d allowed" (next - first) longest_name));
        add (Span (first, next - first)); position := next
      | Scalar s, 2 when f.repeated ->
        let first, next = length_of b stop after in
        let width = match s with Single -> 4 | Double -> 8 | _ -> 0 in
        if width > 0 then (if (next - first) mod width <> 0 then raise (Malformed (Printf.sprintf "a list of numbers ends inside one at byte %d" next)))
        else begin
          let p = ref first in
          while !p < next do p := snd (varint b next !p) done
        end;
        if next > first then add (Packed (first, next - first));
        position := next
      | Inner name, 2 ->
        let first, next = length_of b stop after in
        let inner = match m.values.(f.slot) with
          | Message old :: _ when not f.repeated -> old
          | _ -> let fresh = new_message (Hashtbl.find descriptions name) in add (Message fresh); fresh in
        read descriptions b inner first next (depth + 1);
        position := next
      | _ -> undefined ()
  done

(* What a message says, by the names of fields. *)
let most_quick = 40
let slot m name =
  let d = m.description in
  try List.assq name d.quick with Not_found ->
    let found = try Hashtbl.find d.by_name name with Not_found -> failwith ("the format has no field " ^ name) in
    if List.compare_length_with d.quick most_quick < 0 then d.quick <- (name, found) :: d.quick;
    found
let all m name = List.rev m.values.(slot m name)
let has m name = m.values.(slot m name) <> []
let last m name = match m.values.(slot m name) with v :: _ -> Some v | [] -> None
let count m name = List.length m.values.(slot m name)

let messages m name = List.rev_map (function Message i -> i | _ -> failwith name) m.values.(slot m name)
let inner m name = match last m name with Some (Message i) -> Some i | _ -> None
let string_of b = function Span (offset, length) -> text b offset length | _ -> failwith "not a text"
let string b m name = match last m name with Some v -> string_of b v | None -> ""
let strings b m name = List.rev_map (string_of b) m.values.(slot m name)
let integer m name = match last m name with Some (Number v) -> v | _ -> 0L

(* The numbers of a repeated field, in order: the bits of floats and doubles. *)
let numbers b m name f =
  let kind = (List.find (fun g -> g.name = name) m.description.fields).kind in
  let width = match kind with Scalar Single -> 4 | Scalar Double -> 8 | _ -> 0 in
  let narrow v = match kind with Scalar Int32 -> to_int32 v | _ -> v in
  List.iter (function
    | Number v | Bits v -> f v
    | Packed (first, length) ->
      let stop = first + length and p = ref first in
      while !p < stop do
        if width > 0 then (f (fixed b width !p); p := !p + width)
        else let v, next = varint b stop !p in f (narrow v); p := next
      done
    | _ -> failwith name) (all m name)

(* Every message in a message, itself first. *)
let rec each f m =
  f m;
  Array.iter (List.iter (function Message i -> each f i | _ -> ())) m.values
