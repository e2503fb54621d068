(* The bytes of a file, and what a reader says of them: docs/specification.md, "Bytes".  The definitions of this section are lists
   here; the program has a place and a length in a file that stays where it is (checker/slice.ml), so that nothing is copied. *)
From Coq Require Import Arith List String Ascii Bool.
Import ListNotations.
Open Scope nat_scope.

Definition bytes := list nat.
Definition next_byte (b : bytes) : option (nat * bytes) := match b with [] => None | x :: rest => Some (x, rest) end.
(* The first bytes and the others; None if there are fewer. *)
Definition divided (n : nat) (b : bytes) : option (bytes * bytes) :=
  if n <=? List.length b then Some (firstn n b, skipn n b) else None.
Definition byte_count (b : bytes) : nat := List.length b.
Definition every (test : nat -> bool) (b : bytes) : bool := forallb test b.
Definition text_of (b : bytes) : string := string_of_list_ascii (map ascii_of_nat b).
Definition bytes_of (s : string) : bytes := map nat_of_ascii (list_ascii_of_string s).

(* How many of which parts a file has that may have fewer. *)
Record excess := { excess_number : nat; excess_of : string; excess_most : nat }.

(* Why a file is not read; most reasons have the bytes from the place where it was found. *)
Inductive reason :=
| LongNumber (b : bytes)
| EndsInField (b : bytes)
| BeyondMessage (b : bytes)
| NumberZero (b : bytes)
| NumberBeyond (b : bytes)
| WireType (wire : nat) (b : bytes)
| GroupEnd (b : bytes)
| EndsInList (b : bytes)
| TooDeep
| LongName (length : nat)
| TooMany (parts : excess)
| NoGraph
| Unfinished.                       (* never: `reading_ends` *)

Inductive reading (A : Type) := Done (a : A) | Refused (r : reason).
Arguments Done {A}.
Arguments Refused {A}.
Definition next {A B} (r : reading A) (f : A -> reading B) : reading B := match r with Done a => f a | Refused r => Refused r end.

(* UTF-8, as strict as RFC 3629: no surrogates, no longer forms than needed.  The first character and the bytes after it. *)
Definition between (low high x : nat) : bool := (low <=? x) && (x <=? high).
Fixpoint following (n code : nat) (b : bytes) : option (nat * bytes) :=
  match n with
  | O => Some (code, b)
  | S n => match next_byte b with
      | Some (x, rest) => if between 128 191 x then following n (64 * code + (x - 128)) rest else None
      | None => None
      end
  end.
Definition second_between (low high : nat) (b : bytes) : bool :=
  match next_byte b with Some (x, _) => between low high x | None => false end.
Definition character (x : nat) (b : bytes) : option (nat * bytes) :=
  if x <? 128 then Some (x, b)
  else if between 194 223 x then following 1 (x - 192) b
  else if between 224 239 x then
    if second_between (if x =? 224 then 160 else 128) (if x =? 237 then 159 else 191) b then following 2 (x - 224) b else None
  else if between 240 244 x then
    if second_between (if x =? 240 then 144 else 128) (if x =? 244 then 143 else 191) b then following 3 (x - 240) b else None
  else None.

(* Whether bytes are UTF-8 and every character meets a condition. *)
Fixpoint all_characters (fuel : nat) (test : nat -> bool) (b : bytes) : bool :=
  match next_byte b with
  | None => true
  | Some (x, rest) =>
      match fuel, character x rest with
      | S fuel, Some (c, rest) => if test c then all_characters fuel test rest else false
      | _, _ => false
      end
  end.
Definition is_text (test : nat -> bool) (b : bytes) : bool := all_characters (byte_count b) test b.
Definition is_utf8 (b : bytes) : bool := is_text (fun _ => true) b.

(* Ranges of characters, in order, as a search tree. *)
Inductive ranges := NoCharacters | Characters (before : ranges) (first last : nat) (after : ranges).
Fixpoint in_ranges (c : nat) (r : ranges) : bool :=
  match r with
  | NoCharacters => false
  | Characters before first last after => if c <? first then in_ranges c before else if last <? c then in_ranges c after else true
  end.

Example characters : map is_utf8 [[97; 195; 169]; [240; 159; 152; 128]; [237; 160; 128]; [192; 128]; [244; 144; 128; 128]; [226; 130]]
  = [true; true; false; false; false; false].
Proof. vm_compute. reflexivity. Qed.
