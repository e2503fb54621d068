(* Which name an unknown one may stand for: the measure of Python's difflib, as `known-attribute` names it.  Names are compared as
   characters, without capitals. *)
From Coq Require Import NArith String Ascii List Bool.
From Sonnx Require Import syntax values evaluation.
Import ListNotations.
Open Scope N_scope.

(* The characters of UTF-8; a byte that belongs to none counts as a character of its own, beyond those that texts have. *)
Definition continues (b : N) : bool := (128 <=? b) && (b <? 192).
Fixpoint decoded (l : list N) : list N :=
  match l with
  | [] => []
  | a :: t =>
      let alone (later : unit) := (56320 + a) :: decoded t in    (* evaluated where it is the answer, else each byte doubles the time *)
      if a <? 128 then a :: decoded t
      else match t with
        | [] => alone tt
        | b :: t2 =>
            if (194 <=? a) && (a <? 224) && continues b then ((a - 192) * 64 + (b - 128)) :: decoded t2
            else match t2 with
              | [] => alone tt
              | c :: t3 =>
                  let three := ((a - 224) * 64 + (b - 128)) * 64 + (c - 128) in
                  if (224 <=? a) && (a <? 240) && continues b && continues c && (2048 <=? three)
                     && negb ((55296 <=? three) && (three <=? 57343)) then three :: decoded t3
                  else match t3 with
                    | [] => alone tt
                    | d :: t4 =>
                        let four := (((a - 240) * 64 + (b - 128)) * 64 + (c - 128)) * 64 + (d - 128) in
                        if (240 <=? a) && (a <? 245) && continues b && continues c && continues d && (65536 <=? four)
                           && (four <=? 1114111) then four :: decoded t4
                        else alone tt
                    end
              end
        end
  end.
Definition characters (s : string) : list N := decoded (map N_of_ascii (list_ascii_of_string s)).

(* Of other alphabets two capitals only have a small letter of ASCII: the sign of Kelvin, and I with a dot. *)
Definition small_letter (c : N) : list N :=
  if (65 <=? c) && (c <=? 90) then [c + 32] else if c =? 8490 then [107] else if c =? 304 then [105; 775] else [c].
Definition small_letters (l : list N) : list N := flat_map small_letter l.

Fixpoint before (a b : list N) : bool :=
  match a, b with
  | [], _ :: _ => true
  | x :: a, y :: b => (x <? y) || ((x =? y) && before a b)
  | _, _ => false
  end.

(* The longest common part of two texts: the first in [a], of these the first in [b]. *)
Fixpoint common_prefix (a b : list N) : nat :=
  match a, b with x :: a, y :: b => if x =? y then S (common_prefix a b) else O | _, _ => O end.
Record part_of := { at_a : nat; at_b : nat; long : nat }.
Fixpoint longest_from (a b : list N) (i j : nat) (best : part_of) : part_of :=
  let here := common_prefix a b in
  let best := if Nat.ltb (long best) here then {| at_a := i; at_b := j; long := here |} else best in
  match b with [] => best | _ :: b => longest_from a b i (S j) best end.
Fixpoint longest_part (a b : list N) (i : nat) (best : part_of) : part_of :=
  let best := longest_from a b i 0 best in
  match a with [] => best | _ :: a => longest_part a b (S i) best end.

(* The characters that two texts have in common: the longest common part, then those before it and those after it. *)
Fixpoint in_common (fuel : nat) (a b : list N) : nat :=
  match fuel with
  | O => O
  | S fuel =>
      let p := longest_part a b 0 {| at_a := 0; at_b := 0; long := 0 |} in
      if Nat.eqb (long p) 0 then O
      else (long p + in_common fuel (firstn (at_a p) a) (firstn (at_b p) b)
            + in_common fuel (skipn (at_a p + long p) a) (skipn (at_b p + long p) b))%nat
  end.

(* Alike: three fifths of all characters are in common.  Of several names the one with the greatest part counts. *)
Definition size (l : list N) : N := N.of_nat (List.length l).
Definition most_alike (x : list N) (known : list (list N * string)) : option string :=
  let b := small_letters x in
  option_map (fun best => snd (fst best))
    (fold_left (fun best k =>
      let a := small_letters (fst k) in
      let total := size a + size b in
      if 10 * N.min (size a) (size b) <? 3 * total then best
      else
        let common := N.of_nat (in_common (S (List.length a)) a b) in
        if 10 * common <? 3 * total then best
        else match best with
          | Some ((c, _), (many, of)) =>
              if (many * total <? common * of) || ((many * total =? common * of) && before c a)
              then Some ((a, snd k), (common, total)) else best
          | None => Some ((a, snd k), (common, total))
          end) known None).

(* The names of [known] that are not written and that a written one, unknown, may stand for. *)
Fixpoint insert (x : list N) (l : list (list N)) : list (list N) :=
  match l with [] => [x] | y :: r => if before x y then x :: l else if before y x then y :: insert x r else l end.
Definition misspelt (known written : list string) : list string :=
  let unknown := fold_left (fun l x => if among known x then l else insert (characters x) l) written [] in
  let absent := map (fun x => (characters x, x)) (filter (fun x => negb (among written x)) known) in
  snd (fold_left (fun s x =>
    match most_alike x (fst s) with
    | Some y => (filter (fun k => negb (String.eqb y (snd k))) (fst s), y :: snd s)
    | None => s
    end) unknown (absent, [])).
