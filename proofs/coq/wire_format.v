(* The protobuf wire format: numbers of seven-bit bytes, fields, and groups, which are skipped. *)
From Coq Require Import Arith ZArith List Lia Bool.
From Sonnx Require Import file_bytes.
Import ListNotations.
Open Scope nat_scope.

(* A number below 2^64 as its digits of seven bits, the lowest first, one in a byte; a byte of 128 or more is not the last.  Of
   a tenth digit one bit counts. *)
Definition longest_number : nat := 10.
Fixpoint read_digits (places : nat) (b : bytes) : reading (list nat * bytes) :=
  match places with
  | O => Refused (LongNumber b)
  | S places =>
      match next_byte b with
      | None => Refused (EndsInField b)
      | Some (x, rest) =>
          let digit := match places with O => x mod 2 | _ => x mod 128 end in
          if x <? 128 then Done ([digit], rest)
          else match read_digits places rest with Done (l, rest) => Done (digit :: l, rest) | Refused r => Refused r end
      end
  end.
Definition digits (b : bytes) : reading (list nat * bytes) := read_digits longest_number b.

Fixpoint number_of (l : list nat) : nat := match l with [] => 0 | d :: l => d + 128 * number_of l end.
(* Whether a number is below top times 128^places. *)
Fixpoint is_below (places top : nat) (l : list nat) {struct l} : bool :=
  match l with
  | [] => true
  | d :: l => match places with O => (d <? top) && forallb (Nat.eqb 0) l | S places => is_below places top l end
  end.

(* Fields.  What a group holds is skipped: no message of ONNX has one. *)
Inductive payload := Number (l : list nat) | Eight (b : bytes) | Delimited (b : bytes) | Four (b : bytes) | Group.

(* The number of a field and its wire type. *)
Definition tag (may_be_zero : bool) (b : bytes) : reading (nat * nat * bytes) :=
  next (digits b) (fun '(l, rest) =>
    if is_below 4 16 l then
      let t := number_of l in
      if (t / 8 =? 0) && negb may_be_zero then Refused (NumberZero b) else Done (t / 8, t mod 8, rest)
    else Refused (NumberBeyond b)).
Definition taken (n : nat) (b : bytes) : reading (bytes * bytes) :=
  match divided n b with Some p => Done p | None => Refused (BeyondMessage b) end.
Definition delimited (b : bytes) : reading (bytes * bytes) :=
  next (digits b) (fun '(l, rest) => if is_below 7 128 l then taken (number_of l) rest else Refused (BeyondMessage rest)).

Definition read_payload (group : bytes -> reading bytes) (wire : nat) (b : bytes) : reading (payload * bytes) :=
  match wire with
  | 0 => next (digits b) (fun '(l, rest) => Done (Number l, rest))
  | 1 => next (taken 8 b) (fun '(p, rest) => Done (Eight p, rest))
  | 2 => next (delimited b) (fun '(p, rest) => Done (Delimited p, rest))
  | 3 => next (group b) (fun rest => Done (Group, rest))
  | 5 => next (taken 4 b) (fun '(p, rest) => Done (Four p, rest))
  | _ => Refused (WireType wire b)
  end.

(* The bytes after a group, which ends with its number and the wire type 4.  In it protobuf does not look at the number 0. *)
Fixpoint members (group : nat -> bytes -> reading bytes) (opened fuel : nat) (b : bytes) : reading bytes :=
  match fuel with
  | O => Refused Unfinished
  | S fuel =>
      match tag true b with
      | Refused r => Refused r
      | Done (number, wire, rest) =>
          if wire =? 4 then if number =? opened then Done rest else Refused (GroupEnd rest)
          else match read_payload (group number) wire rest with
            | Refused r => Refused r
            | Done (_, rest) => members group opened fuel rest
            end
      end
  end.
Fixpoint after_group (levels opened : nat) (b : bytes) : reading bytes :=
  match levels with
  | O => Refused TooDeep
  | S levels => members (after_group levels) opened (S (byte_count b)) b
  end.
Definition read_field (levels : nat) (b : bytes) : reading (nat * payload * bytes) :=
  next (tag false b) (fun '(number, wire, rest) =>
    next (read_payload (after_group levels number) wire rest) (fun '(p, rest) => Done (number, p, rest))).

(* The value of a number of any length: what the digits say as an integer. *)
Open Scope Z_scope.
Fixpoint wide (l : list nat) : Z := match l with [] => 0 | d :: l => Z.of_nat d + 128 * wide l end.
Definition unsigned (l : list nat) : Z := if is_below 7 128 l then Z.of_nat (number_of l) else wide l.
Lemma unsigned_is_wide l : unsigned l = wide l.
Proof.
  assert (forall l, Z.of_nat (number_of l) = wide l) as E by (induction l0 as [|d m IH]; cbn [number_of wide]; lia).
  unfold unsigned. destruct (is_below 7 128 l); [apply E|reflexivity].
Qed.
Definition signed (l : list nat) : Z := let z := unsigned l in if z <? 2 ^ 63 then z else z - 2 ^ 64.
Definition signed_low (bits : Z) (z : Z) : Z := let low := z mod 2 ^ bits in if low <? 2 ^ (bits - 1) then low else low - 2 ^ bits.
Definition signed_32 (l : list nat) : Z := if is_below 3 128 l then Z.of_nat (number_of l) else signed_low 32 (unsigned l).
