(* The constants of a file, as proofs/coq/model.v has them: their numbers stay in the file. *)
open Evaluator
open Wire

let rec positive v =
  if Int64.equal v 1L then XH
  else let rest = positive (Int64.shift_right_logical v 1) in if Int64.equal (Int64.logand v 1L) 0L then XO rest else XI rest
let unsigned v = if Int64.equal v 0L then Z0 else Zpos (positive v)
let signed v = if Int64.compare v 0L < 0 then Zneg (positive (Int64.neg v)) else unsigned v   (* -2^63 is its own negative *)
let small n = signed (Int64.of_int n)
let natural n = if n = 0 then N0 else Npos (positive (Int64.of_int n))

(* UTF-8, as strict as RFC 3629: no surrogates, no longer forms than needed. *)
let utf8 f s =
  let n = String.length s in
  let next i = if i < n && Char.code s.[i] land 0xC0 = 0x80 then Char.code s.[i] land 0x3F else -1 in
  let rec go i =
    if i >= n then true else
    let c = Char.code s.[i] in
    if c < 0x80 then (f c; go (i + 1))
    else
      let size, first, least = if c land 0xE0 = 0xC0 then 1, c land 0x1F, 0x80 else if c land 0xF0 = 0xE0 then 2, c land 0x0F, 0x800
        else if c land 0xF8 = 0xF0 then 3, c land 0x07, 0x10000 else 0, 0, 0 in
      let rec rest k code = if k > size then code else let d = next (i + k) in if d < 0 then -1 else rest (k + 1) (code * 64 + d) in
      let code = if size = 0 then -1 else rest 1 first in
      if code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) || code < 0 then false else (f code; go (i + size + 1)) in
  go 0
let is_utf8 = utf8 (fun _ -> ())

type tables = {
  descriptions : (string, description) Hashtbl.t;
  elements : (int, string) Hashtbl.t;
  kinds : (int, string) Hashtbl.t;
  unprintable : (int * int) array;
}

(* The ranges are in order. *)
let printable tables s =
  let ok = ref true in
  let test c =
    let rec search low high =
      if low < high then
        let middle = (low + high) / 2 in
        let first, last = tables.unprintable.(middle) in
        if c < first then search low middle else if c > last then search (middle + 1) high else ok := false in
    if c <= 0x20 || c >= 0x7F then search 0 (Array.length tables.unprintable) in
  utf8 test s && !ok

(* What is read of one file: its tables, its bytes, the folder of the model, and the numbers of its constants by serial. *)
type source = {
  tables : tables;
  bytes : bytes_;
  folder : string option;
  constants : (int, unit -> value) Hashtbl.t;
  files : (string, file) Hashtbl.t;
  mutable others : other_graph list;   (* the last first *)
}

let element s code =
  let n = Int64.to_int code in
  if n = 0 then None else Some (try Hashtbl.find s.tables.elements n with Not_found -> Printf.sprintf "type %d" n)

(* Constants. *)
let not_stated = VUnknown (NotStated, None)
let rec power_of_two k = if k = 0 then XH else XO (power_of_two (k - 1))
let rec shifted p k = if k = 0 then p else shifted (XO p) (k - 1)

(* The value of a float: a rational number, an infinity or NaN. *)
let floating x =
  match Float.classify_float x with
  | FP_nan -> NotANumber
  | FP_infinite -> Infinite (x < 0.)
  | FP_zero -> Finite { qnum = Z0; qden = XH }
  | _ ->
    let mantissa, exponent = Float.frexp (Float.abs x) in
    let rec odd m e = if Int64.equal (Int64.logand m 1L) 0L then odd (Int64.shift_right m 1) (e + 1) else (m, e) in
    let m, e = odd (Int64.of_float (Float.ldexp mantissa 53)) (exponent - 53) in
    let p = positive m in
    let n, d = if e >= 0 then shifted p e, XH else p, power_of_two (- e) in
    Finite { qnum = (if x < 0. then Zneg n else Zpos n); qden = d }
let number x = VFloat (floating x)

let half bits =
  let sign = if bits land 0x8000 <> 0 then -1. else 1. and e = (bits lsr 10) land 31 and m = bits land 1023 in
  sign *. (if e = 31 then (if m = 0 then infinity else nan) else if e = 0 then Float.ldexp (float m) (-24) else Float.ldexp (float (m + 1024)) (e - 25))

let most_numbers = 1 lsl 18
(* Width of a number in the layout of raw_data, and its value from these bits; for types that rules read. *)
let reading = function
  | "int64" -> Some (8, fun v -> Some (VInt (signed v)))
  | "uint64" -> Some (8, fun v -> Some (VInt (unsigned v)))
  | "int32" -> Some (4, fun v -> Some (VInt (signed (to_int32 v))))
  | "uint32" -> Some (4, fun v -> Some (VInt (unsigned v)))
  | "int16" -> Some (2, fun v -> Some (VInt (signed (Int64.shift_right (Int64.shift_left v 48) 48))))
  | "uint16" -> Some (2, fun v -> Some (VInt (unsigned v)))
  | "int8" -> Some (1, fun v -> Some (VInt (signed (Int64.shift_right (Int64.shift_left v 56) 56))))
  | "uint8" -> Some (1, fun v -> Some (VInt (unsigned v)))
  | "bool" -> Some (1, fun v -> if Int64.compare v 1L > 0 then None else Some (VInt (unsigned v)))
  | "float" -> Some (4, fun v -> Some (number (Int32.float_of_bits (Int64.to_int32 v))))
  | "double" -> Some (8, fun v -> Some (number (Int64.float_of_bits v)))
  | "float16" -> Some (2, fun v -> Some (number (half (Int64.to_int v))))
  | _ -> None

let listed items = try VList (List.rev (List.rev_map (function Some v -> v | None -> raise Exit) items)) with Exit -> not_stated

let data_fields = ["float_data"; "int32_data"; "string_data"; "int64_data"; "double_data"; "uint64_data"; "external_data"]
(* Bytes of an entry of a typed field in the layout of raw_data, and the numbers that it can hold. *)
let entry_range = function
  | "int8" -> (1, -128L, 127L) | "int16" -> (2, -32768L, 32767L) | "int32" -> (4, -2147483648L, 2147483647L)
  | "int64" -> (8, Int64.min_int, Int64.max_int) | "uint64" -> (8, 0L, -1L) | "uint32" -> (4, 0L, 4294967295L)
  | "uint16" | "float16" | "bfloat16" -> (2, 0L, 65535L) | "bool" -> (1, 0L, 1L)
  | "float6e2m3" | "float6e3m2" -> (1, 0L, 63L) | _ -> (1, 0L, 255L)

let parse_number = function
  | None -> None
  | Some t ->
    let digits = if t <> "" && t.[0] = '-' then String.sub t 1 (String.length t - 1) else t in
    let n = String.length digits in
    if n = 0 || n > 20 || not (String.for_all (fun c -> c >= '0' && c <= '9') digits) then None
    else
      let z = String.fold_left (fun z c -> Z.add (Z.mul z (small 10)) (small (Char.code c - 48))) Z0 digits in
      Some (if digits == t then z else Z.opp z)

let leaves location =
  let parts = String.split_on_char '/' (String.map (fun c -> if c = '\\' then '/' else c) location) in
  let rec final = function [x] -> x | _ :: l -> final l | [] -> "" in
  List.mem ".." parts || List.hd parts = "" || String.contains (List.hd parts) ':' || List.mem (final parts) [""; "."]

let file_at s location =
  match s.folder with
  | None -> NotAsked
  | Some folder ->
    try Hashtbl.find s.files location with Not_found ->
      let found =
        if leaves location then Unusable
        else try
          let base = Unix.realpath folder in
          let path = Unix.realpath (Filename.concat base location) in
          let inside = String.length path > String.length base + 1 && String.sub path 0 (String.length base + 1) = (if base = "/" then base else base ^ "/") in
          let status = Unix.LargeFile.stat path in
          if (inside || base = "/") && status.Unix.LargeFile.st_kind = Unix.S_REG then Bytes (signed status.Unix.LargeFile.st_size) else Unusable
        with Unix.Unix_error _ | Invalid_argument _ -> Unusable in
      Hashtbl.replace s.files location found;
      found

let bad_text t =
  let n = String.length t in
  not (is_utf8 t) || (n >= 3 && String.sub t 0 3 = "\xEF\xBB\xBF") || (n > 0 && t.[n - 1] = '\000')

(* [most] numbers at most are read. *)
let constant ?(most = most_numbers) s m =
  let dims = let found = ref [] in numbers s.bytes m "dims" (fun v -> found := v :: !found); List.rev !found in
  let kind = element s (integer m "data_type") in
  let name_of_kind = (match kind with Some k -> k | None -> "?") in
  let away = Int64.equal (integer m "data_location") 1L in
  let stored = List.filter (fun f -> has m f) data_fields @ (if has m "raw_data" then ["raw_data"] else []) in
  let serial = Hashtbl.length s.constants in
  let strings_ = if has m "raw_data" || kind <> Some "string" then [] else strings s.bytes m "string_data" in
  let field = data_field name_of_kind in
  let span = match last m "raw_data" with Some (Span (o, l)) when not away -> Some (o, l) | _ -> None in
  let typed = span = None && not (has m "raw_data") && kind <> Some "string" && kind <> None && not away && has m field
    && (match kind with Some k -> width k <> None | None -> false) in
  let misfit = ref false and entries = ref 0 in
  let size, least, greatest = entry_range name_of_kind in
  let floating = field = "float_data" || field = "double_data" in
  if typed then numbers s.bytes m field (fun v ->
    incr entries;
    if not floating && name_of_kind <> "uint64" && (Int64.compare v least < 0 || Int64.compare v greatest > 0) then misfit := true);
  let data_bytes =
    if typed then
      Some (if floating then !entries * (if field = "float_data" then 4 else 8)
            else if String.length name_of_kind > 6 && String.sub name_of_kind 0 6 = "float6" then (!entries * 3 + 3) / 4
            else !entries * size)
    else Option.map snd span in
  let is_bool = kind = Some "bool" in
  let unlawful =
    List.exists bad_text strings_ ||
    (is_bool && (match span with
      | Some (o, l) -> let bad = ref false in
        for i = o to o + l - 1 do if Char.code (Bigarray.Array1.get s.bytes i) > 1 then bad := true done; !bad
      | None -> false)) in
  let read () =
    if away then not_stated else
    match reading name_of_kind with
    | None -> not_stated
    | Some (wide, of_bits) ->
      match span with
      | Some (o, l) ->
        if l mod wide <> 0 || l / wide > most then not_stated
        else listed (List.init (l / wide) (fun i -> of_bits (fixed s.bytes wide (o + i * wide))))
      | None ->
        if typed then
          if !entries > most then not_stated      (* of a number that does not fit the low bits count *)
          else begin
            let found = ref [] in
            let mask v = if wide = 8 then v else Int64.logand v (Int64.sub (Int64.shift_left 1L (8 * wide)) 1L) in
            numbers s.bytes m field (fun v -> found := of_bits (mask v) :: !found);
            listed (List.rev !found)
          end
        else if List.exists (Int64.equal 0L) dims then VList [] else not_stated in
  Hashtbl.replace s.constants serial read;
  let outside =
    if not away then None else
    let entries = List.map (fun e -> (string s.bytes e "key", string s.bytes e "value")) (messages m "external_data") in
    let last_of k = List.fold_left (fun found (key, v) -> if key = k then Some v else found) None entries in
    let location = match last_of "location" with Some l -> l | None -> "" in
    Some { entries; leaves_folder = leaves location; offset = parse_number (last_of "offset"); size = parse_number (last_of "length");
           contents = file_at s location } in
  { constant_name = string s.bytes m "name"; constant_element = kind; extents = List.map signed dims; stored;
    data_bytes = Option.map small data_bytes; string_count = small (List.length strings_); in_segments = has m "segment";
    misfit = !misfit; unlawful; outside; serial = natural serial }

(* A sparse tensor.  All of its indices are read. *)
let empty_tensor s = new_message (Hashtbl.find s.tables.descriptions "onnx.TensorProto")
let sparse s m =
  let part most name = constant ~most s (match inner m name with Some v -> v | None -> empty_tensor s) in
  let dims = let found = ref [] in numbers s.bytes m "dims" (fun v -> found := v :: !found); List.rev !found in
  { sparse_extents = List.map signed dims; sparse_values = part most_numbers "values"; sparse_indices = part max_int "indices" }
