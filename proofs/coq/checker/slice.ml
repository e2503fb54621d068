(* Bytes of proofs/coq/file_bytes.v: a part of a file, which is mapped and not copied, or of a text. *)
type file = (char, Bigarray.int8_unsigned_elt, Bigarray.c_layout) Bigarray.Array1.t
type source = File of file | Text of string
type t = { source : source; first : int; size : int }

let of_file b = { source = File b; first = 0; size = Bigarray.Array1.dim b }
let bytes_of s = { source = Text s; first = 0; size = String.length s }

let get s i = match s.source with File b -> Char.code (Bigarray.Array1.unsafe_get b i) | Text t -> Char.code (String.unsafe_get t i)
let next_byte s = if s.size <= 0 then None else Some (get s s.first, { s with first = s.first + 1; size = s.size - 1 })
let divided n s =
  if n < 0 || n > s.size then None
  else Some ({ s with size = n }, { s with first = s.first + n; size = s.size - n })
let byte_count s = s.size
let every test s =
  let stop = s.first + s.size in
  let rec go i = i >= stop || (test (get s i) && go (i + 1)) in
  go s.first
let text_of s =
  let t = Bytes.create s.size in
  (match s.source with
   | File b -> for i = 0 to s.size - 1 do Bytes.unsafe_set t i (Bigarray.Array1.unsafe_get b (s.first + i)) done
   | Text u -> Bytes.blit_string u s.first t 0 s.size);
  Bytes.unsafe_to_string t
