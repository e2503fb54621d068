(* What is proved of the reader of messages: it ends, each byte belongs to one field, messages that follow each other are merged, and
   what is written is read. *)
From Coq Require Import Arith NArith ZArith List String Bool Lia.
From Sonnx Require Import file_bytes wire_format wire_theorems model messages.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.
Open Scope nat_scope.

Lemma no_byte (b : bytes) : next_byte b = None -> b = [].
Proof. destruct b; [reflexivity|discriminate]. Qed.

(* A step reads one field: a part of the bytes that is not empty, whatever stands behind it. *)
Lemma added_behind formats inner f p behind other m m' :
  added formats inner f p behind m = Done m' -> added formats inner f p other m = Done m'.
Proof.
  unfold added, packed. destruct (kind_of_field f) as [s|name]; destruct p; try (intros H; exact H); destruct s; try (intros H; exact H);
    destruct (is_repeated f); try (intros H; exact H); cbn [width_of];
    destruct (byte_count b mod _ =? 0); cbn [next]; first [discriminate|intros H; exact H].
Qed.

Lemma into_takes formats inner levels m : takes_some (read_into formats inner levels m).
Proof.
  intros b m' rest H. unfold read_into in H. destruct (read_field levels b) as [[[number p] r]|] eqn:F; [|discriminate].
  apply field_takes in F as [part [-> [N F]]].
  destruct (find (fun f => field_number f =? number) (described_fields (description_of m))) as [f|] eqn:E.
  - destruct (added formats inner f p r m) as [m1|] eqn:A; [|discriminate]. inversion H; subst. exists part. split; [reflexivity|]. split; [exact N|].
    intros behind. unfold read_into. rewrite F, E. apply (added_behind _ _ _ _ _ behind) in A. now rewrite A.
  - inversion H; subst. exists part. split; [reflexivity|]. split; [exact N|]. intros behind. unfold read_into. now rewrite F, E.
Qed.

Section Fields.
Variable step : message -> bytes -> reading (message * bytes).
Hypothesis takes_one : forall m, takes_some (step m).

(* As many steps as bytes suffice. *)
Lemma enough_fuel : forall fuel more m b, byte_count b <= fuel -> fuel <= more -> read_fields step fuel m b = read_fields step more m b.
Proof.
  induction fuel as [|fuel IH]; intros more m b L M.
  - destruct b; [|cbn in L; lia]. destruct more; reflexivity.
  - destruct more as [|more]; [lia|]. cbn [read_fields]. destruct b as [|x b]; [reflexivity|]. cbn [next_byte].
    destruct (step m (x :: b)) as [[m1 rest]|] eqn:S; [|reflexivity]. apply takes_one in S as [part [E [N _]]].
    apply IH; [|lia]. apply (f_equal (@List.length nat)) in E. rewrite app_length in E. destruct part; [congruence|]. unfold byte_count in *. cbn in *. lia.
Qed.

Definition read_all (m : message) (b : bytes) : reading message := read_fields step (byte_count b) m b.

Lemma read_one m m1 part rest : part <> [] -> step m (part ++ rest) = Done (m1, rest) -> read_all m (part ++ rest) = read_all m1 rest.
Proof.
  intros N S. unfold read_all. destruct part as [|x part]; [congruence|]. cbn [app byte_count List.length read_fields next_byte] in *.
  rewrite S. symmetry. apply enough_fuel; [lia|]. unfold byte_count. rewrite app_length. lia.
Qed.

(* Each part is one field: what a step makes of it does not depend on what stands behind it. *)
Fixpoint fields_are (m : message) (parts : list bytes) (m' : message) : Prop :=
  match parts with
  | [] => m = m'
  | part :: parts => exists m1, (forall behind, step m (part ++ behind) = Done (m1, behind)) /\ fields_are m1 parts m'
  end.
Lemma bytes_are_fields : forall fuel m b m', read_fields step fuel m b = Done m' ->
  exists parts, b = List.concat parts /\ Forall (fun part => part <> []) parts /\ fields_are m parts m'.
Proof.
  induction fuel as [|fuel IH]; intros m b m' H; cbn [read_fields] in H; (destruct b as [|x b]; [inversion H; subst; exists []; repeat split; constructor|]);
    cbn [next_byte] in H; [discriminate|].
  destruct (step m (x :: b)) as [[m1 rest]|] eqn:S; [|discriminate]. apply takes_one in S as [part [E [N S]]].
  apply IH in H as [parts [-> [F H]]]. exists (part :: parts). split; [exact E|]. split; [constructor; assumption|]. exists m1. auto.
Qed.

Lemma read_parts : forall parts m m', fields_are m parts m' -> Forall (fun part => part <> []) parts ->
  forall rest, read_all m (List.concat parts ++ rest) = read_all m' rest.
Proof.
  induction parts as [|part parts IH]; intros m m' H F rest; cbn in H; [now subst|].
  destruct H as [m1 [S H]]. inversion F; subst. cbn [List.concat]. rewrite <- app_assoc, (read_one m m1); auto.
Qed.

Lemma fields_end : (forall m b, step m b <> Refused Unfinished) -> forall fuel m b, byte_count b <= fuel -> read_fields step fuel m b <> Refused Unfinished.
Proof.
  intros E. induction fuel as [|fuel IH]; intros m b L; cbn [read_fields]; (destruct b as [|x b]; [discriminate|]); cbn [next_byte]; [cbn in L; lia|].
  specialize (E m (x :: b)). destruct (step m (x :: b)) as [[m1 rest]|] eqn:S; [|congruence]. apply takes_one in S as [part [B [N _]]]. apply IH.
  apply (f_equal (@List.length nat)) in B. rewrite app_length in B. destruct part; [congruence|]. unfold byte_count in *. cbn in *. lia.
Qed.
End Fields.

(* The step of a message at a level. *)
Definition step_of (formats : format) (deeper : nat) : message -> bytes -> reading (message * bytes) :=
  read_into formats (read_message formats deeper) (S deeper).
Lemma step_takes formats deeper m : takes_some (step_of formats deeper m).
Proof. apply into_takes. Qed.

(* No byte is skipped and none read twice: the bytes of a message are its fields, in order. *)
Theorem every_byte_once formats deeper m b m' : read_message formats (S deeper) m b = Done m' ->
  exists parts, b = List.concat parts /\ Forall (fun part => part <> []) parts /\ fields_are (step_of formats deeper) m parts m'.
Proof. apply bytes_are_fields. apply step_takes. Qed.

(* Messages that follow each other are merged: the second is read into the first. *)
Theorem messages_merge formats levels m a b m' : read_message formats levels m a = Done m' ->
  read_message formats levels m (a ++ b) = read_message formats levels m' b.
Proof.
  destruct levels as [|deeper]; [discriminate|]. intros H. apply every_byte_once in H as [parts [-> [F H]]].
  apply (read_parts _ (step_takes formats deeper)); assumption.
Qed.

(* Every reading ends with a message or with a reason. *)
Lemma numbers_end : forall fuel b, byte_count b <= fuel -> read_numbers fuel b <> Refused Unfinished.
Proof.
  induction fuel as [|fuel IH]; intros b L; cbn [read_numbers]; (destruct b as [|x b]; [discriminate|]); cbn [next_byte]; [cbn in L; lia|].
  pose proof (digits_end longest_number (x :: b)) as E. unfold digits. destruct (read_digits longest_number (x :: b)) as [[l rest]|] eqn:D; [|congruence].
  apply read_digits_takes in D as [part [B [N _]]]. apply IH.
  apply (f_equal (@List.length nat)) in B. rewrite app_length in B. destruct part; [congruence|]. unfold byte_count in *. cbn in *. lia.
Qed.
Lemma added_ends formats inner f p behind m : (forall m b, inner m b <> Refused Unfinished) -> added formats inner f p behind m <> Refused Unfinished.
Proof.
  intros E. unfold added, packed. destruct (kind_of_field f) as [s|name]; destruct p; try discriminate; try (destruct s; discriminate).
  - destruct s; try discriminate; destruct (is_repeated f); try discriminate; cbn [width_of];
      first [pose proof (numbers_end (byte_count b) b (le_n _)) as N; destruct (read_numbers (byte_count b) b); cbn [next]; congruence
            |destruct (byte_count b mod _ =? 0); discriminate
            |destruct (longest_name <? byte_count b); [destruct (is_prose (field_name f))|]; discriminate].
  - match goal with |- next (inner ?a ?c) _ <> _ => specialize (E a c); destruct (inner a c); cbn [next]; congruence end.
Qed.
Theorem reading_ends formats levels : forall m b, read_message formats levels m b <> Refused Unfinished.
Proof.
  induction levels as [|deeper IH]; intros m b; [discriminate|]. cbn [read_message]. apply fields_end; [apply step_takes| |lia].
  intros m1 b1. unfold read_into. pose proof (field_ends (S deeper) b1) as F. destruct (read_field (S deeper) b1) as [[[number p] rest]|]; [|congruence].
  destruct (find _ _) as [f|]; [|discriminate]. pose proof (added_ends formats _ f p rest m1 IH) as A.
  destruct (added _ _ _ _ _ _); [discriminate|congruence].
Qed.

(* Writing: the fields in order, and the values of each in order. *)
Fixpoint write_item (f : field) (i : item) : bytes :=
  match i with
  | Digits l => write_field (field_number f) (Number l)
  | Bits b => write_field (field_number f) (match kind_of_field f with Scalar Double => Eight b | _ => Four b end)
  | Span b | Packed b => write_field (field_number f) (Delimited b)
  | Nested (Message _ l _ _) =>
      write_field (field_number f) (Delimited (flat_map (fun p => fold_left (fun out i => write_item (fst p) i ++ out) (snd p) []) l))
  end.
Definition written (f : field) (l : list item) : bytes := fold_left (fun out i => write_item f i ++ out) l [].
Definition write_message (m : message) : bytes := flat_map (fun p => written (fst p) (snd p)) (stated m).

(* What a message can hold: values of the kinds of its fields, of a single field one, and of a union one member. *)
Definition short (b : bytes) : Prop := (N.of_nat (byte_count b) < 2 ^ 56)%N.
Definition item_fits (formats : format) (inside : message -> Prop) (f : field) (i : item) : Prop :=
  match kind_of_field f, i with
  | Scalar (Int32 as s), Digits l | Scalar (Int64 as s), Digits l | Scalar (Uint64 as s), Digits l | Scalar (Enumeration _ as s), Digits l =>
      is_number longest_number l /\ is_defined s l = true
  | Scalar Single, Bits b => byte_count b = 4
  | Scalar Double, Bits b => byte_count b = 8
  | Scalar Utf8, Span b => short b /\ (byte_count b <= longest_name \/ is_prose (field_name f) = true)
  | Scalar Data, Span b => short b
  | Scalar s, Packed b =>
      match s with Utf8 | Data => False | _ => is_repeated f = true end /\ b <> [] /\ short b /\ (forall behind, packed s b behind = Done b)
  | Inner name, Nested m => description_of m = description_named formats name /\ inside m /\ short (write_message m)
  | _, _ => False
  end.
Definition field_is_known (d : description) (f : field) : Prop :=
  0 < field_number f /\ (N.of_nat (field_number f) < 2 ^ 29)%N /\
  find (fun g => field_number g =? field_number f) (described_fields d) = Some f.
(* No two of the fields are the same, or members of one union. *)
Definition apart (f g : field) : Prop := same_field f g = false /\ (union f = "" \/ union f <> union g).
Fixpoint stand_apart (before : list field) (l : list (field * list item)) : Prop :=
  match l with
  | [] => True
  | (f, _) :: l => Forall (apart f) before /\ stand_apart (before ++ [f]) l
  end.
Definition one_or_repeated (f : field) (l : list item) : Prop := l <> [] /\ (is_repeated f = false -> List.length l = 1).
Fixpoint fits (formats : format) (levels : nat) (m : message) : Prop :=
  match levels with
  | O => False
  | S deeper =>
      has_unknown m = false /\ has_undefined m = false /\ stand_apart [] (stated m) /\
      Forall (fun p => field_is_known (description_of m) (fst p) /\ one_or_repeated (fst p) (snd p) /\
                       Forall (item_fits formats (fits formats deeper) (fst p)) (snd p)) (stated m)
  end.

Lemma write_nested f m : write_item f (Nested m) = write_field (field_number f) (Delimited (write_message m)).
Proof. destruct m as [d l u v]. reflexivity. Qed.

Lemma written_cons f i l : written f (i :: l) = written f l ++ write_item f i.
Proof.
  unfold written. cbn [fold_left]. rewrite app_nil_r. generalize (write_item f i) as out. induction l as [|j l IH]; intros out; [reflexivity|].
  cbn [fold_left]. rewrite IH, app_nil_r. rewrite (IH (write_item f j)). now rewrite app_assoc.
Qed.

Lemma not_replaced f l : Forall (apart f) (map fst l) -> filter (fun p : field * list item => negb (is_replaced f (fst p))) l = l \/ union f = "".
Proof.
  intros H. destruct (string_dec (union f) "") as [E|N]; [now right|left]. induction l as [|[g items] l IH]; [reflexivity|].
  inversion H as [|? ? [S U] F]; subst. cbn [filter fst]. unfold is_replaced at 1. destruct U as [U|U]; [congruence|].
  apply String.eqb_neq in U. rewrite U, andb_false_r. cbn. now rewrite IH.
Qed.

Lemma insert_new f i l : Forall (apart f) (map fst l) -> insert f i l = l ++ [(f, [i])].
Proof.
  induction l as [|[g items] l IH]; intros H; [reflexivity|]. inversion H as [|? ? [S _] F]; subst. cbn [insert fst] in *. now rewrite S, IH.
Qed.
Lemma insert_more f i items l : Forall (apart f) (map fst l) -> is_repeated f = true -> insert f i (l ++ [(f, items)]) = l ++ [(f, i :: items)].
Proof.
  intros H R. induction l as [|[g other] l IH]; cbn [app insert].
  - unfold same_field. now rewrite Nat.eqb_refl, R.
  - inversion H as [|? ? [S _] F]; subst. cbn [fst] in S. now rewrite S, IH.
Qed.

Lemma put_new f i d l : Forall (apart f) (map fst l) -> put f i (Message d l false false) = Message d (l ++ [(f, [i])]) false false.
Proof.
  intros H. unfold put. destruct (String.eqb (union f) "") eqn:E; [now rewrite insert_new|].
  apply String.eqb_neq in E. destruct (not_replaced f l H) as [-> | U]; [|congruence]. now rewrite insert_new.
Qed.
Lemma put_more f i items d l : Forall (apart f) (map fst l) -> is_repeated f = true ->
  put f i (Message d (l ++ [(f, items)]) false false) = Message d (l ++ [(f, i :: items)]) false false.
Proof.
  intros H R. unfold put. destruct (String.eqb (union f) "") eqn:E; [now rewrite insert_more|].
  apply String.eqb_neq in E. rewrite filter_app. destruct (not_replaced f l H) as [-> | U]; [|congruence].
  cbn [filter fst]. unfold is_replaced, same_field. rewrite Nat.eqb_refl. cbn [negb andb]. now rewrite insert_more.
Qed.

Lemma nothing_at f l d u v : Forall (apart f) (map fst l) -> items_at f (Message d l u v) = [].
Proof.
  unfold items_at. cbn [stated]. induction l as [|[g items] l IH]; intros H; [reflexivity|]. inversion H as [|? ? [S _] F]; subst.
  cbn [find fst] in *. rewrite S. auto.
Qed.

Section Written.
Variable formats : format.
Variable deeper : nat.
Hypothesis inner_written : forall m, fits formats deeper m -> read_message formats deeper (Message (description_of m) [] false false) (write_message m) = Done m.

Lemma item_written f i m rest : field_is_known (description_of m) f -> item_fits formats (fits formats deeper) f i ->
  (is_repeated f = true \/ items_at f m = []) -> step_of formats deeper m (write_item f i ++ rest) = Done (put f i m, rest).
Proof.
  intros [P [L K]] F R. unfold step_of, read_into.
  assert (forall p, payload_fits p -> write_item f i = write_field (field_number f) p ->
    added formats (read_message formats deeper) f p rest m = Done (put f i m) ->
    match read_field (S deeper) (write_item f i ++ rest) with
    | Done (number, p, rest) =>
        match find (fun f => field_number f =? number) (described_fields (description_of m)) with
        | Some f => match added formats (read_message formats deeper) f p rest m with Done m => Done (m, rest) | Refused r => Refused r end
        | None => Done (with_unknown m, rest)
        end
    | Refused r => Refused r
    end = Done (put f i m, rest)) as W.
  { intros p Q E A. rewrite E, read_write_field by (repeat split; assumption). now rewrite K, A. }
  unfold item_fits in F. destruct (kind_of_field f) as [s|name] eqn:T.
  - destruct s; destruct i as [l|b|b|b|inside]; try contradiction; cbn [write_item] in *; rewrite ?T in *;
      match type of F with
      | is_number _ _ /\ _ => destruct F as [F D]; apply (W (Number l)); [exact F|reflexivity|unfold added; now rewrite T, D]
      | byte_count b = 4 => apply (W (Four b)); [exact F|reflexivity|unfold added; now rewrite T]
      | byte_count b = 8 => apply (W (Eight b)); [exact F|reflexivity|unfold added; now rewrite T]
      | False /\ _ => destruct F as [[] _]
      | _ /\ _ <> _ /\ _ => destruct F as [C [D [E G]]]; apply (W (Delimited b)); [exact E|reflexivity|]; unfold added; rewrite T, C, G;
          cbn [next]; unfold is_empty; destruct b; [congruence|reflexivity]
      | short b => apply (W (Delimited b)); [exact F|reflexivity|unfold added; now rewrite T]
      | _ => destruct F as [F B]; apply (W (Delimited b)); [exact F|reflexivity|]; unfold added; rewrite T;
          destruct B as [B | ->]; [|now rewrite andb_false_r];
          assert (longest_name <? byte_count b = false) as -> by (apply Nat.ltb_ge; exact B); reflexivity
      end.
  - destruct i as [l|b|b|b|inside]; try contradiction. destruct F as [D [F S]]. rewrite write_nested in *.
    apply (W (Delimited (write_message inside))); [exact S|reflexivity|]. unfold added. rewrite T.
    apply inner_written in F. rewrite D in F. unfold empty_message.
    destruct R as [-> | R]; [|rewrite R; destruct (is_repeated f)]; cbn [next]; now rewrite F.
Qed.

Lemma write_item_some f i : item_fits formats (fits formats deeper) f i -> field_is_known {| message_name := ""; described_fields := [f] |} f -> write_item f i <> [].
Proof.
  intros F [P [L K]] E.
  assert (forall m, step_of formats deeper m [] <> Done (put f i m, [])) as N.
  { intros m. unfold step_of, read_into, read_field, tag, digits, longest_number. cbn. discriminate. }
  set (m := Message {| message_name := ""; described_fields := [f] |} [] false false).
  apply (N m). pose proof (item_written f i m []) as W. rewrite E in W. apply W; [repeat split; assumption|exact F|right; reflexivity].
Qed.

Lemma known_alone d f : field_is_known d f -> field_is_known {| message_name := ""; described_fields := [f] |} f.
Proof. intros [P [L _]]. repeat split; [exact P|exact L|]. cbn. now rewrite Nat.eqb_refl. Qed.

Lemma field_written f d before : field_is_known d f -> Forall (apart f) (map fst before) ->
  forall items rest, (is_repeated f = false -> List.length items <= 1) -> Forall (item_fits formats (fits formats deeper) f) items ->
  read_all (step_of formats deeper) (Message d before false false) (written f items ++ rest) =
  read_all (step_of formats deeper) (Message d (match items with [] => before | _ => before ++ [(f, items)] end) false false) rest.
Proof.
  intros K A. induction items as [|i items IH]; intros rest R F; [reflexivity|]. inversion F; subst.
  rewrite written_cons, <- app_assoc, IH; [|intros E; specialize (R E); cbn in R; lia|assumption].
  apply read_one; [apply step_takes|apply write_item_some; [assumption|apply (known_alone d), K]|].
  destruct items as [|j items].
  - rewrite item_written; [now rewrite put_new|exact K|assumption|right; now apply nothing_at].
  - assert (is_repeated f = true) as E by (destruct (is_repeated f); [reflexivity|specialize (R eq_refl); cbn in R; lia]).
    rewrite item_written; [now rewrite put_more|exact K|assumption|now left].
Qed.

Lemma fields_written d : forall l before, stand_apart (map fst before) l ->
  Forall (fun p => field_is_known d (fst p) /\ one_or_repeated (fst p) (snd p) /\ Forall (item_fits formats (fits formats deeper) (fst p)) (snd p)) l ->
  read_all (step_of formats deeper) (Message d before false false) (flat_map (fun p => written (fst p) (snd p)) l) =
  Done (Message d (before ++ l) false false).
Proof.
  induction l as [|[f items] l IH]; intros before S F; [now rewrite app_nil_r|]. destruct S as [A S]. inversion F as [|? ? [K [[N O] G]] H]; subst.
  cbn [flat_map fst snd] in *. rewrite (field_written f d before K A items); [|intros E; now rewrite (O E)|exact G].
  destruct items as [|i items]; [congruence|]. rewrite IH; [now rewrite <- app_assoc|now rewrite map_app|exact H].
Qed.
End Written.

(* What is written is read. *)
Theorem read_write formats levels : forall m, fits formats levels m ->
  read_message formats levels (Message (description_of m) [] false false) (write_message m) = Done m.
Proof.
  induction levels as [|deeper IH]; intros m F; [contradiction|]. destruct m as [d l u v]. destruct F as [U [V [S F]]]. cbn [has_unknown has_undefined] in *. subst.
  exact (fields_written formats deeper IH d l [] S F).
Qed.

(* An instance: a message with a text, numbers in two forms, and messages in a union and in a list. *)
Definition example_fields : list field :=
  [{| field_number := 1; field_name := "name"; kind_of_field := Scalar Utf8; is_repeated := false; union := "" |};
   {| field_number := 2; field_name := "numbers"; kind_of_field := Scalar Int64; is_repeated := true; union := "" |};
   {| field_number := 3; field_name := "left"; kind_of_field := Inner "example"; is_repeated := false; union := "side" |};
   {| field_number := 4; field_name := "right"; kind_of_field := Inner "example"; is_repeated := false; union := "side" |};
   {| field_number := 5; field_name := "parts"; kind_of_field := Inner "example"; is_repeated := true; union := "" |}].
Definition example_description : description := {| message_name := "example"; described_fields := example_fields |}.
Definition example_format : format := Names.add "example" example_description (Names.empty description).
Definition example_field (n : nat) : field := nth (n - 1) example_fields (hd {| field_number := 0; field_name := ""; kind_of_field := Scalar Data;
  is_repeated := false; union := "" |} example_fields).
Definition example_leaf (b : bytes) : message := Message example_description [(example_field 1, [Span b])] false false.
Definition example_message : message :=
  Message example_description
    [(example_field 2, [Packed [150; 1; 7]; Digits [22; 2]]); (example_field 1, [Span [104; 105]]); (example_field 4, [Nested (example_leaf [])]);
     (example_field 5, [Nested (example_leaf [97]); Nested (example_leaf [98])])] false false.
Example example_fits : fits example_format 2 example_message.
Proof.
  assert (forall b, byte_count b <= 2 -> byte_count b <= longest_name) as T.
  { intros b L. apply Nat.le_trans with 2; [exact L|]. apply Nat.leb_le. vm_compute. reflexivity. }
  unfold example_message, example_leaf, example_field. cbn [nth example_fields Nat.sub fits stated description_of has_unknown has_undefined].
  repeat first [split|apply Forall_cons|apply Forall_nil]; cbn [fst snd map app]; try discriminate; try reflexivity;
    try (intros; discriminate); try (left; reflexivity); try (left; apply T; cbn; lia); try (right; discriminate); try (cbn; lia).
Qed.
Example example_is_read :
  read_message example_format 2 (empty_message example_format "example") (write_message example_message) = Done example_message.
Proof. exact (read_write example_format 2 example_message example_fits). Qed.
