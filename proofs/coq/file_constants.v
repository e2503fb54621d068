(* The constants of a file, as model.v has them, and their numbers, which stay in the file until a rule asks for them. *)
From Coq Require Import Arith ZArith QArith List String Bool.
From Sonnx Require Import values file_bytes wire_format messages model call declarations graph_rules.
Import ListNotations.
Open Scope string_scope.
Open Scope nat_scope.

(* What a reader knows besides the bytes: the format and its names, characters that are not printable, and what the file system says
   of a file beside the model. *)
Record tables := {
  formats : format;
  element_numbers : list (Z * string);
  kind_numbers : list (Z * string);
  unprintable_characters : ranges;
  file_beside : string -> file;
}.

(* Texts. *)
Definition decimal_digits : list string := ["0"; "1"; "2"; "3"; "4"; "5"; "6"; "7"; "8"; "9"].
Definition hexadecimal_digits : list string := (decimal_digits ++ ["a"; "b"; "c"; "d"; "e"; "f"])%list.
Fixpoint decimal (fuel n : nat) : string :=
  match fuel with
  | O => ""
  | S fuel => (if n <? 10 then "" else decimal fuel (n / 10)) ++ nth (n mod 10) decimal_digits ""
  end.
Definition decimal_of (n : nat) : string := decimal (S n) n.
Definition decimal_integer (z : Z) : string :=
  if (z <? 0)%Z then "-" ++ decimal_of (Z.to_nat (- z)) else decimal_of (Z.to_nat z).
Definition number_named (l : list (Z * string)) (z : Z) : option string := option_map snd (find (fun p => Z.eqb (fst p) z) l).

(* An element type; one that ONNX does not define is "type" with its number. *)
Definition element_of (t : tables) (number : Z) : option string :=
  if (number =? 0)%Z then None
  else Some (match number_named (element_numbers t) number with Some s => s | None => "type " ++ decimal_integer number end).

(* A float from its bits: sign, exponent, mantissa. *)
Fixpoint odd_part (p : positive) (power : Z) : positive * Z := match p with xO p => odd_part p (power + 1) | _ => (p, power) end.
Definition doubled (p : positive) (n : Z) : positive := match n with Zpos n => Pos.iter xO p n | _ => p end.
Definition float_of (exponent_bits mantissa_bits : Z) (bits : Z) : floating :=
  let top := Z.ones exponent_bits in
  let exponent := Z.land (Z.shiftr bits mantissa_bits) top in
  let mantissa := Z.land bits (Z.ones mantissa_bits) in
  let negative := Z.testbit bits (exponent_bits + mantissa_bits) in
  if (exponent =? top)%Z then if (mantissa =? 0)%Z then Infinite negative else NotANumber
  else
    let lowest := (1 - Z.shiftr top 1 - mantissa_bits)%Z in
    let '(whole, power) :=
      if (exponent =? 0)%Z then (mantissa, lowest) else (mantissa + Z.shiftl 1 mantissa_bits, lowest + exponent - 1)%Z in
    match whole with
    | Zpos p =>
        let '(p, power) := odd_part p power in
        let n := doubled p power in
        Finite (Qmake (if negative then Zneg n else Zpos n) (doubled xH (- power)))
    | _ => Finite (Qmake 0 1)
    end.

(* Of the types that rules read: the bytes of a number in the layout of raw_data, and its value from these bits. *)
Definition signed_of (whole bits : Z) : Z := if (2 * bits <? whole)%Z then bits else (bits - whole)%Z.
Definition integer_below (whole : Z) (bits : Z) : option value := Some (VInt (signed_of whole bits)).
Definition natural (bits : Z) : option value := Some (VInt bits).
Definition single (bits : Z) : value := VFloat (float_of 8 23 bits).
Definition layouts : list (string * (nat * (Z -> option value))) :=
  [("int64", (8, integer_below 18446744073709551616)); ("uint64", (8, natural)); ("int32", (4, integer_below 4294967296));
   ("uint32", (4, natural)); ("int16", (2, integer_below 65536)); ("uint16", (2, natural)); ("int8", (1, integer_below 256));
   ("uint8", (1, natural)); ("bool", (1, fun bits => if (1 <? bits)%Z then None else natural bits));
   ("float", (4, fun bits => Some (single bits))); ("double", (8, fun bits => Some (VFloat (float_of 11 52 bits))));
   ("float16", (2, fun bits => Some (VFloat (float_of 5 10 bits))))].
Definition layout (element : string) : option (nat * (Z -> option value)) :=
  option_map snd (find (fun p => String.eqb (fst p) element) layouts).

(* Where the numbers of a constant are; [most] of them are read. *)
Inductive origin :=
| Nowhere
| NoElements
| InBytes (element : string) (b : bytes) (most : option nat)
| InFields (element field : string) (m : message) (entries : nat) (most : option nat).

Definition listed (l : option (list value)) : value := match l with Some l => VList (rev_append l []) | None => not_stated end.
Definition and_then (of_bits : Z -> option value) (l : option (list value)) (bits : Z) : option (list value) :=
  match l, of_bits bits with Some l, Some v => Some (v :: l) | _, _ => None end.
Fixpoint raw_numbers (fuel width : nat) (of_bits : Z -> option value) (l : option (list value)) (b : bytes) : option (list value) :=
  match fuel with
  | O => l
  | S fuel =>
      match divided width b with
      | Some (p, rest) => raw_numbers fuel width of_bits (and_then of_bits l (lowest_first width p)) rest
      | None => l
      end
  end.
Definition is_more (n : nat) (most : option nat) : bool := match most with Some most => most <? n | None => false end.
Definition numbers_at (o : origin) : value :=
  match o with
  | Nowhere => not_stated
  | NoElements => VList []
  | InBytes element b most =>
      match layout element with
      | Some (width, of_bits) =>
          let n := byte_count b / width in
          if negb (byte_count b mod width =? 0) || is_more n most then not_stated else listed (raw_numbers n width of_bits (Some []) b)
      | None => not_stated
      end
  | InFields element field m entries most =>
      match layout element with
      | Some (width, of_bits) =>
          if is_more entries most then not_stated
          else  (* of a number that does not fit the low bits count *)
            let k := kind_named field m in
            let mask := Z.ones (8 * Z.of_nat width) in
            listed (over_numbers (fun l i => and_then of_bits l (Z.land (integer_of k i) mask)) field m (Some []))
      | None => not_stated
      end
  end.

(* The reader numbers the constants that it meets, and keeps where their numbers are; and the graphs beside the main one, the last
   first. *)
Record progress := { serials : N; origins : list (N * origin); graphs_beside : list other_graph }.
Definition from_start : progress := {| serials := 0; origins := []; graphs_beside := [] |}.
Section Each.
Context {A B : Type}.
Variable f : A -> progress -> B * progress.
Fixpoint each (l : list A) (before : list B) (s : progress) : list B * progress :=
  match l with
  | [] => (rev_append before [], s)
  | a :: l => let '(b, s) := f a s in each l (b :: before) s
  end.
End Each.

(* Bytes of an entry of a typed field in the layout of raw_data, and the numbers that it can hold. *)
Definition entry_ranges : list (string * (nat * (Z * Z))) :=
  [("int8", (1, (-128, 127)%Z)); ("int16", (2, (-32768, 32767)%Z)); ("int32", (4, (-2147483648, 2147483647)%Z));
   ("int64", (8, (-9223372036854775808, 9223372036854775807)%Z)); ("uint64", (8, (0, 18446744073709551615)%Z)); ("uint32", (4, (0, 4294967295)%Z)); ("uint16", (2, (0, 65535)%Z));
   ("float16", (2, (0, 65535)%Z)); ("bfloat16", (2, (0, 65535)%Z)); ("bool", (1, (0, 1)%Z)); ("float6e2m3", (1, (0, 63)%Z));
   ("float6e3m2", (1, (0, 63)%Z))].
Definition entry_range (element : string) : nat * (Z * Z) :=
  match find (fun p => String.eqb (fst p) element) entry_ranges with Some (_, r) => r | None => (1, (0, 255)%Z) end.
Definition is_any (element : string) : bool := existsb (String.eqb element) ["int64"; "uint64"; "float"; "double"; "complex64"; "complex128"].

Definition data_fields : list string := ["float_data"; "int32_data"; "string_data"; "int64_data"; "double_data"; "uint64_data"; "external_data"; "raw_data"].
Definition most_numbers : option nat := Some (N.to_nat 262144).

(* External data. *)
Fixpoint parsed (l : option Z) (fuel : nat) (b : bytes) : option Z :=
  match next_byte b, fuel with
  | None, _ => l
  | Some (x, rest), S fuel =>
      match l with
      | Some z => if between 48 57 x then parsed (Some (10 * z + Z.of_nat (x - 48))%Z) fuel rest else None
      | None => None
      end
  | _, _ => None
  end.
Definition natural_in (b : bytes) : option Z := if byte_count b =? 0 then None else parsed (Some 0%Z) 20 b.
Definition integer_in (text : string) : option Z :=
  match next_byte (bytes_of text) with
  | Some (45, rest) => option_map Z.opp (natural_in rest)
  | _ => natural_in (bytes_of text)
  end.

(* The parts of a path between slashes of both kinds, the last first. *)
Fixpoint path_parts (fuel : nat) (b : bytes) (part : list nat) (parts : list (list nat)) : list (list nat) :=
  match next_byte b, fuel with
  | Some (x, rest), S fuel =>
      if (x =? 47) || (x =? 92) then path_parts fuel rest [] (rev_append part [] :: parts) else path_parts fuel rest (x :: part) parts
  | _, _ => rev_append part [] :: parts
  end.
Definition leaves (location : string) : bool :=
  let b := bytes_of location in
  let parts := path_parts (byte_count b) b [] [] in
  let first := fold_left (fun _ p => p) parts [] in
  let final := match parts with p :: _ => p | [] => [] end in
  existsb (list_eqb Nat.eqb [46; 46]) parts || list_eqb Nat.eqb first [] || existsb (Nat.eqb 58) first || list_eqb Nat.eqb final [] || list_eqb Nat.eqb final [46].

Definition outside_of (t : tables) (m : message) : external :=
  let entries := fold_left (fun l e => (text_at "key" e, text_at "value" e) :: l) (messages "external_data" m) [] in
  let last_of key := option_map snd (find (fun p => String.eqb (fst p) key) entries) in
  let location := match last_of "location" with Some l => l | None => "" end in
  let parsed_at key := match last_of key with Some text => integer_in text | None => None end in
  {| entries := rev_append entries []; leaves_folder := leaves location; offset := parsed_at "offset"; size := parsed_at "length";
     contents := if leaves location then Unusable else file_beside t location |}.

Fixpoint starts_with (l : list nat) (b : bytes) : bool :=
  match l, next_byte b with
  | [], _ => true
  | x :: l, Some (y, rest) => (x =? y) && starts_with l rest
  | _, None => false
  end.
(* A text of a constant that is not UTF-8, has a byte order mark, or ends with a null. *)
Definition is_bad_text (b : bytes) : bool :=
  negb (is_utf8 b)
  || starts_with [239; 187; 191] b
  || match divided (byte_count b - 1) b with Some (_, last) => match next_byte last with Some (0, _) => true | _ => false end | None => false end.

Definition constant_at (t : tables) (most : option nat) (m : message) (s : progress) : constant * progress :=
  let dims := integers "dims" m in
  let element := element_of t (integer_at "data_type" m) in
  let name := match element with Some e => e | None => "?" end in
  let away := (integer_at "data_location" m =? 1)%Z in
  let has_raw := is_there "raw_data" m in
  let is_string := String.eqb name "string" in
  let strings := if has_raw || negb is_string then [] else spans "string_data" m in
  let field := data_field name in
  let raw := if away then None else match last_item "raw_data" m with Some i => Some (span i) | None => None end in
  let has_width := match width name with Some _ => true | None => false end in
  let typed := negb has_raw && negb is_string && negb away && is_there field m && has_width
    && match element with Some _ => true | None => false end in
  let '(bytes_each, (least, greatest)) := entry_range name in
  let k := kind_named field m in
  let fits i := is_any name || let z := integer_of k i in (least <=? z)%Z && (z <=? greatest)%Z in
  let '(n, all_fit) := if typed then over_numbers (fun p i => (S (fst p), if fits i then snd p else false)) field m (0, true) else (0, true) in
  let is_float6 := String.eqb (substring 0 6 name) "float6" in
  let in_fields :=
    if String.eqb field "float_data" then n * 4 else if String.eqb field "double_data" then n * 8
    else if is_float6 then (n * 3 + 3) / 4 else n * bytes_each in
  let numbers :=
    if away then Nowhere
    else match layout name, raw with
      | None, _ => Nowhere
      | Some _, Some b => InBytes name b most
      | Some _, None => if typed then InFields name field m n most else if existsb (Z.eqb 0) dims then NoElements else Nowhere
      end in
  ({| constant_name := text_at "name" m; constant_element := element; extents := dims;
      stored := filter (fun f => is_there f m) data_fields;
      data_bytes := if typed then Some (Z.of_nat in_fields) else option_map (fun b => Z.of_nat (byte_count b)) raw;
      string_count := Z.of_nat (List.length strings); in_segments := is_there "segment" m; misfit := negb all_fit;
      unlawful := existsb is_bad_text strings
        || String.eqb name "bool" && match raw with Some b => negb (every (fun x => x <=? 1) b) | None => false end;
      outside := if away then Some (outside_of t m) else None; serial := serials s |},
   {| serials := N.succ (serials s); origins := match numbers with Nowhere => origins s | _ => (serials s, numbers) :: origins s end;
      graphs_beside := graphs_beside s |}).

(* A sparse tensor.  All of its indices are read. *)
Definition sparse_at (t : tables) (m : message) (s : progress) : sparse_constant * progress :=
  let part name := match message_at name m with Some v => v | None => empty_message (formats t) "onnx.TensorProto" end in
  let '(values, s) := constant_at t most_numbers (part "values") s in
  let '(indices, s) := constant_at t None (part "indices") s in
  ({| sparse_extents := integers "dims" m; sparse_values := values; sparse_indices := indices |}, s).

Example floats : map (float_of 8 23) [1065353216; 3225419776; 1; 4286578688; 2143289344; 2147483648]%Z
  = [Finite (1 # 1); Finite (-3 # 1); Finite (Qmake 1 (2 ^ 149)); Infinite true; NotANumber; Finite (0 # 1)].
Proof. vm_compute. reflexivity. Qed.
Example paths : map leaves ["weights.bin"; "a/b.bin"; "../x"; "/x"; "a\..\x"; "c:x"; "a/."; ""; "a/"]
  = [false; false; true; true; true; true; true; true; true].
Proof. vm_compute. reflexivity. Qed.
