(* The core of the protobuf wire format: varints, fields, and bytes with a length.  Reading what was written gives it back, and a
   reader skips no byte and reads none twice.  The reader of sonnx-verified, checker/wire.ml, is OCaml and not this one:
   docs/specification.md, "What remains trusted". *)
From Coq Require Import NArith PeanoNat List Lia Bool.
Import ListNotations.
Open Scope N_scope.

Definition bytes := list N.

(* A number below 2^64, seven bits in a byte, the lowest first; a byte of 128 or more is not the last. *)
Fixpoint write_number (size : nat) (n : N) : bytes :=
  match size with
  | O => []
  | S size => if n <? 128 then [n] else (n mod 128 + 128) :: write_number size (n / 128)
  end.
Fixpoint read_number (size : nat) (b : bytes) : option (N * bytes) :=
  match size, b with
  | S size, x :: rest =>
      if x <? 128 then Some (x, rest)
      else match read_number size rest with Some (n, rest) => Some (x - 128 + 128 * n, rest) | None => None end
  | _, _ => None
  end.
Definition longest : nat := 10.

Lemma read_write_number size : forall n rest, (0 < size)%nat -> n < 128 ^ N.of_nat size -> read_number size (write_number size n ++ rest) = Some (n, rest).
Proof.
  induction size as [|size IH]; intros n rest P H; [lia|]. cbn [write_number].
  destruct (n <? 128) eqn:L; cbn [app read_number].
  - now rewrite L.
  - apply N.ltb_ge in L. assert (n mod 128 < 128) as M by (apply N.mod_lt; lia).
    assert (n mod 128 + 128 <? 128 = false) as -> by (apply N.ltb_ge; rewrite N.add_comm; apply N.le_add_r).
    assert (n / 128 < 128 ^ N.of_nat size) as Q by (rewrite Nat2N.inj_succ, N.pow_succ_r' in H; apply N.div_lt_upper_bound; lia).
    assert (1 <= n / 128) as One by (apply N.div_le_lower_bound; lia).
    rewrite IH; [|destruct size; [cbn in Q; lia|lia]|exact Q].
    rewrite N.add_sub, N.add_comm, <- N.div_mod by discriminate. reflexivity.
Qed.

Lemma number_consumed size : forall b n rest, read_number size b = Some (n, rest) -> exists used, b = used ++ rest /\ used <> [].
Proof.
  induction size as [|size IH]; intros [|x b] n rest H; try discriminate. cbn in H.
  destruct (x <? 128); [inversion H; subst; eexists [_]; split; [reflexivity|discriminate]|].
  destruct (read_number size b) as [[m r]|] eqn:E; [|discriminate]. inversion H; subst.
  apply IH in E as [used [-> _]]. exists (x :: used). split; [reflexivity|discriminate].
Qed.

(* A field: its number, and a value of one of the four kinds without groups. *)
Inductive payload := Number (n : N) | Eight (b : bytes) | Delimited (b : bytes) | Four (b : bytes).
Record field := { field_number : N; field_value : payload }.

Definition wire_type (p : payload) : N := match p with Number _ => 0 | Eight _ => 1 | Delimited _ => 2 | Four _ => 5 end.
Definition write_payload (p : payload) : bytes :=
  match p with
  | Number n => write_number longest n
  | Eight b | Four b => b
  | Delimited b => write_number longest (N.of_nat (List.length b)) ++ b
  end.
Definition write_field (f : field) : bytes :=
  write_number longest (field_number f * 8 + wire_type (field_value f)) ++ write_payload (field_value f).
Definition write (l : list field) : bytes := flat_map write_field l.

Definition take (n : N) (b : bytes) : option (bytes * bytes) :=
  if n <=? N.of_nat (List.length b) then Some (firstn (N.to_nat n) b, skipn (N.to_nat n) b) else None.
Definition read_payload (wire : N) (b : bytes) : option (payload * bytes) :=
  match wire with
  | 0 => option_map (fun p => (Number (fst p), snd p)) (read_number longest b)
  | 1 => option_map (fun p => (Eight (fst p), snd p)) (take 8 b)
  | 2 => match read_number longest b with
      | Some (n, rest) => option_map (fun p => (Delimited (fst p), snd p)) (take n rest) | None => None end
  | 5 => option_map (fun p => (Four (fst p), snd p)) (take 4 b)
  | _ => None
  end.
Definition read_field (b : bytes) : option (field * bytes) :=
  match read_number longest b with
  | Some (tag, rest) =>
      if tag / 8 =? 0 then None
      else option_map (fun p => ({| field_number := tag / 8; field_value := fst p |}, snd p)) (read_payload (tag mod 8) rest)
  | None => None
  end.
Fixpoint read_fields (fuel : nat) (b : bytes) : option (list field) :=
  match b, fuel with
  | [], _ => Some []
  | _, O => None
  | _, S fuel => match read_field b with Some (f, rest) => option_map (cons f) (read_fields fuel rest) | None => None end
  end.
(* Each field takes a byte at least, so that as many steps as bytes suffice. *)
Definition read (b : bytes) : option (list field) := read_fields (List.length b) b.

(* What a field can hold. *)
Definition fits (f : field) : Prop :=
  0 < field_number f < 2 ^ 29 /\
  match field_value f with
  | Number n => n < 2 ^ 64
  | Eight b => List.length b = 8%nat
  | Four b => List.length b = 4%nat
  | Delimited b => N.of_nat (List.length b) < 2 ^ 64
  end.

Lemma ten_positive : (0 < longest)%nat.
Proof. unfold longest. lia. Qed.
Lemma in_ten n : n < 2 ^ 64 -> n < 128 ^ N.of_nat longest.
Proof. intros H. change (N.of_nat longest) with 10. assert (2 ^ 64 < 128 ^ 10) by (vm_compute; reflexivity). lia. Qed.

Lemma take_app a b : take (N.of_nat (List.length a)) (a ++ b) = Some (a, b).
Proof.
  unfold take. rewrite app_length. assert (N.of_nat (List.length a) <=? N.of_nat (List.length a + List.length b) = true) as -> by (apply N.leb_le; lia).
  rewrite Nat2N.id, firstn_app, skipn_app, firstn_all, skipn_all, Nat.sub_diag. cbn. now rewrite app_nil_r.
Qed.

Lemma read_write_payload p rest : (match p with Number n => n < 2 ^ 64 | Eight b => List.length b = 8%nat | Four b => List.length b = 4%nat
    | Delimited b => N.of_nat (List.length b) < 2 ^ 64 end) -> read_payload (wire_type p) (write_payload p ++ rest) = Some (p, rest).
Proof.
  destruct p as [n|b|b|b]; intros H; cbn [wire_type write_payload read_payload].
  - rewrite read_write_number by (first [exact ten_positive|apply in_ten; exact H]). reflexivity.
  - replace 8 with (N.of_nat (List.length b)) by lia. now rewrite take_app.
  - rewrite <- app_assoc, read_write_number by (first [exact ten_positive|apply in_ten; exact H]). now rewrite take_app.
  - replace 4 with (N.of_nat (List.length b)) by lia. now rewrite take_app.
Qed.

Lemma read_write_field f rest : fits f -> read_field (write_field f ++ rest) = Some (f, rest).
Proof.
  destruct f as [n v]. intros [H P]. cbn [field_number field_value] in *. unfold read_field, write_field. cbn [field_number field_value].
  assert (wire_type v < 8) as W by (destruct v; cbn; lia).
  rewrite <- app_assoc, read_write_number; [|exact ten_positive|].
  - assert ((n * 8 + wire_type v) / 8 = n) as E by (rewrite N.add_comm, N.div_add by lia; rewrite N.div_small by exact W; lia).
    assert ((n * 8 + wire_type v) mod 8 = wire_type v) as M by (rewrite N.add_comm, N.mod_add by lia; apply N.mod_small; exact W).
    rewrite E, M. assert (n =? 0 = false) as -> by (apply N.eqb_neq; lia).
    rewrite read_write_payload by exact P. reflexivity.
  - apply in_ten. assert (2 ^ 29 * 8 + 8 < 2 ^ 64) by (vm_compute; reflexivity). lia.
Qed.

Lemma field_consumed b f rest : read_field b = Some (f, rest) -> exists used, b = used ++ rest /\ used <> [].
Proof.
  unfold read_field. destruct (read_number longest b) as [[tag r]|] eqn:E; [|discriminate]. apply number_consumed in E as [head [-> N]].
  destruct (tag / 8 =? 0); [discriminate|].
  assert (forall w v, read_payload w r = Some (v, rest) -> exists used, r = used ++ rest) as P.
  { assert (forall n a c, forall b, take n b = Some (a, c) -> exists used, b = used ++ c) as T.
    { intros n a c b0 H. unfold take in H. destruct (n <=? N.of_nat (List.length b0)); inversion H; subst.
      exists (firstn (N.to_nat n) b0). now rewrite firstn_skipn. }
    intros w v H. unfold read_payload in H.
    destruct w as [|[[[]|[]|]|[[]|[]|]|]]; try discriminate H;
      repeat match type of H with
      | option_map _ ?x = _ => destruct x as [[? ?]|] eqn:?; [|discriminate H]; cbn [option_map fst snd] in H
      | match ?x with _ => _ end = _ => destruct x as [[? ?]|] eqn:?; [|discriminate H]
      end; inversion H; subst; eauto;
      repeat match goal with
      | H : read_number _ _ = Some _ |- _ => apply number_consumed in H as [? [-> _]]
      | H : take _ _ = Some _ |- _ => apply T in H as [? ->]
      end; eauto; eexists; now rewrite app_assoc. }
  destruct (read_payload (tag mod 8) r) as [[v r']|] eqn:V; cbn; [|discriminate]. intros H. inversion H; subst.
  apply P in V as [used ->]. exists (head ++ used). split; [now rewrite app_assoc|]. destruct head; [congruence|discriminate].
Qed.

Lemma read_write_fuel l : Forall fits l -> forall fuel, (List.length (write l) <= fuel)%nat -> read_fields fuel (write l) = Some l.
Proof.
  induction l as [|f l IH]; intros F fuel L; [destruct fuel; reflexivity|]. inversion F as [|? ? F1 F2]; subst.
  cbn [write flat_map] in *. fold (write l) in *.
  pose proof (read_write_field f (write l) F1) as R. pose proof (field_consumed _ _ _ R) as [used [E N]].
  assert (write_field f <> []) as D.
  { intros Z. rewrite Z in E. cbn in E. destruct used; [congruence|].
    apply (f_equal (@List.length _)) in E. rewrite app_length in E. cbn in E. lia. }
  destruct (write_field f ++ write l) as [|x b] eqn:B; [destruct (write_field f); [congruence|discriminate]|].
  destruct fuel as [|fuel]; [cbn in L; lia|]. cbn [read_fields]. rewrite R. rewrite IH; [reflexivity|exact F2|].
  assert (List.length (write_field f ++ write l) = S (List.length b)) as LL by now rewrite B. rewrite app_length in LL.
  destruct (write_field f); [congruence|]. cbn [List.length] in *. lia.
Qed.

(* What is written is read. *)
Theorem read_write l : Forall fits l -> read (write l) = Some l.
Proof. intros F. apply read_write_fuel; auto. Qed.

(* Every byte belongs to one field: the parts that the fields take are the bytes, in order, none empty. *)
Theorem every_byte_once fuel : forall b l, read_fields fuel b = Some l ->
  exists parts, b = concat parts /\ List.length parts = List.length l /\ Forall (fun p => p <> []) parts.
Proof.
  induction fuel as [|fuel IH]; intros [|x b] l H; cbn [read_fields] in H; try discriminate;
    try (inversion H; subst; exists []; repeat split; constructor).
  destruct (read_field (x :: b)) as [[f rest]|] eqn:E; [|discriminate].
  destruct (read_fields fuel rest) as [l'|] eqn:R; [|discriminate]. cbn in H. inversion H; subst.
  apply field_consumed in E as [used [-> N]]. apply IH in R as [parts [-> [L F]]].
  exists (used :: parts). repeat split; [|constructor; auto]. cbn. now rewrite L.
Qed.

(* An instance: what a message of three fields says. *)
Example three_fields : read (write [{| field_number := 1; field_value := Number 300 |}; {| field_number := 2; field_value := Delimited [7; 8] |};
    {| field_number := 536870911; field_value := Four [1; 2; 3; 4] |}])
  = Some [{| field_number := 1; field_value := Number 300 |}; {| field_number := 2; field_value := Delimited [7; 8] |};
    {| field_number := 536870911; field_value := Four [1; 2; 3; 4] |}].
Proof. vm_compute. reflexivity. Qed.
