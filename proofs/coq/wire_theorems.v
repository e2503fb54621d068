(* What is proved of the wire format: what is written is read, a field takes its bytes, whatever stands behind them, and the steps of
   the reader suffice. *)
From Coq Require Import Arith NArith ZArith ZifyNat List Lia Bool.
From Sonnx Require Import file_bytes wire_format.
Import ListNotations.
Open Scope nat_scope.
Local Ltac Zify.zify_post_hook ::= Z.to_euclidean_division_equations.

(* Writing, without groups.  Each byte of a number but the last has 128 more than its digit. *)
Fixpoint write_digits (l : list nat) : bytes :=
  match l with
  | [] => []
  | [d] => [d]
  | d :: l => (128 + d) :: write_digits l
  end.
Fixpoint digits_of (places n : nat) : list nat :=
  match places with
  | O => []
  | S places => if n <? 128 then [n] else n mod 128 :: digits_of places (n / 128)
  end.
Definition wire_type (p : payload) : nat := match p with Number _ => 0 | Eight _ => 1 | Delimited _ => 2 | Four _ => 5 | Group => 3 end.
Definition write_payload (p : payload) : bytes :=
  match p with
  | Number l => write_digits l
  | Eight b | Four b => b
  | Delimited b => write_digits (digits_of longest_number (byte_count b)) ++ b
  | Group => []
  end.
Definition write_field (number : nat) (p : payload) : bytes :=
  write_digits (digits_of longest_number (number * 8 + wire_type p)) ++ write_payload p.

(* What a field can hold: a number below 2^64 in one of its forms, as many bytes as its kind has, fewer than 2^56 others. *)
Fixpoint is_number (places : nat) (l : list nat) : Prop :=
  match places, l with
  | S places, [d] => d < match places with O => 2 | _ => 128 end
  | S places, d :: l => d < 128 /\ is_number places l
  | _, _ => False
  end.
Definition payload_fits (p : payload) : Prop :=
  match p with
  | Number l => is_number longest_number l
  | Eight b => byte_count b = 8
  | Four b => byte_count b = 4
  | Delimited b => (N.of_nat (byte_count b) < 2 ^ 56)%N
  | Group => False
  end.
Definition field_fits (number : nat) (p : payload) : Prop := 0 < number /\ (N.of_nat number < 2 ^ 29)%N /\ payload_fits p.

(* Reading what was written. *)
Lemma read_write_digits places : forall l rest, is_number places l -> read_digits places (write_digits l ++ rest) = Done (l, rest).
Proof.
  induction places as [|places IH]; intros l rest H; [destruct l; contradiction|].
  destruct l as [|d [|e l]]; [contradiction| |].
  - cbn [is_number] in H. cbn [write_digits app read_digits next_byte].
    destruct places; (assert (d <? 128 = true) as -> by (apply Nat.ltb_lt; lia)); rewrite Nat.mod_small by lia; reflexivity.
  - destruct H as [D H]. change (write_digits (d :: e :: l)) with ((128 + d) :: write_digits (e :: l)).
    cbn [app read_digits next_byte]. assert (128 + d <? 128 = false) as -> by (apply Nat.ltb_ge; lia).
    rewrite IH by exact H. destruct places; [destruct l; contradiction|].
    replace ((128 + d) mod 128) with d by lia. reflexivity.
Qed.

Lemma power_step p : (128 ^ N.of_nat (S p) = 128 * 128 ^ N.of_nat p)%N.
Proof. now rewrite Nat2N.inj_succ, N.pow_succ_r'. Qed.

Lemma divided_below n m : (N.of_nat n < 128 * m)%N -> (N.of_nat (n / 128) < m)%N.
Proof. intros H. rewrite Nat2N.inj_div. apply N.div_lt_upper_bound; [discriminate|exact H]. Qed.

Lemma digits_of_is_number extra : forall places n, (N.of_nat n < 128 ^ N.of_nat places)%N -> is_number (S (places + extra)) (digits_of (S (places + extra)) n).
Proof.
  induction places as [|places IH]; intros n H.
  - cbn in H. assert (n = 0) as -> by lia. cbn. destruct extra; lia.
  - change (S places + extra) with (S (places + extra)). remember (S (places + extra)) as more. cbn [digits_of]. destruct (n <? 128) eqn:L.
    + apply Nat.ltb_lt in L. subst more. exact L.
    + rewrite power_step in H. apply divided_below in H. apply IH in H.
      assert (n mod 128 < 128) by lia. destruct (digits_of more (n / 128)) eqn:E; [subst more; contradiction|]. split; assumption.
Qed.

Lemma digits_of_number places : forall n, (N.of_nat n < 128 ^ N.of_nat places)%N -> number_of (digits_of places n) = n.
Proof.
  induction places as [|places IH]; intros n H; [cbn in *; lia|]. cbn [digits_of].
  destruct (n <? 128); [cbn; lia|]. cbn [number_of]. rewrite IH; [lia|].
  apply divided_below. rewrite <- power_step. exact H.
Qed.

Lemma digits_of_below places top : top <= 128 -> forall p n, (N.of_nat n < N.of_nat top * 128 ^ N.of_nat p)%N -> is_below p top (digits_of places n) = true.
Proof.
  intros T. induction places as [|places IH]; intros p n H; [reflexivity|]. cbn [digits_of].
  destruct p as [|p].
  - cbn in H. assert (n < top) by lia. assert (n <? 128 = true) as -> by (apply Nat.ltb_lt; lia). cbn [is_below].
    assert (n <? top = true) as -> by (apply Nat.ltb_lt; lia). reflexivity.
  - destruct (n <? 128); [reflexivity|]. cbn [is_below]. apply IH. apply divided_below. rewrite power_step in H. lia.
Qed.

Lemma taken_app a b : taken (byte_count a) (a ++ b) = Done (a, b).
Proof.
  unfold taken, divided, byte_count. rewrite app_length.
  assert (List.length a <=? List.length a + List.length b = true) as -> by (apply Nat.leb_le; lia).
  now rewrite firstn_app, skipn_app, firstn_all, skipn_all, Nat.sub_diag, app_nil_r.
Qed.

Lemma in_nine n : (N.of_nat n < 2 ^ 56)%N -> (N.of_nat n < 128 ^ N.of_nat 9)%N.
Proof. intros H. change (128 ^ N.of_nat 9)%N with (2 ^ 63)%N. assert (2 ^ 56 < 2 ^ 63)%N by (vm_compute; reflexivity). lia. Qed.
Lemma in_ten n : (N.of_nat n < 2 ^ 56)%N -> (N.of_nat n < 128 ^ N.of_nat longest_number)%N.
Proof. intros H. apply in_nine in H. unfold longest_number. rewrite power_step. lia. Qed.

Lemma digits_written n rest : (N.of_nat n < 2 ^ 56)%N -> digits (write_digits (digits_of longest_number n) ++ rest) = Done (digits_of longest_number n, rest).
Proof. intros H. apply read_write_digits. apply (digits_of_is_number 0 9 n). apply in_nine, H. Qed.

Lemma delimited_written b rest : (N.of_nat (byte_count b) < 2 ^ 56)%N -> delimited (write_payload (Delimited b) ++ rest) = Done (b, rest).
Proof.
  intros H. unfold delimited. cbn [write_payload]. rewrite <- app_assoc, digits_written by exact H. cbn [next].
  rewrite digits_of_below; [|lia|exact H]. rewrite digits_of_number by (apply in_ten, H). apply taken_app.
Qed.

Lemma read_write_payload group p rest : payload_fits p -> read_payload group (wire_type p) (write_payload p ++ rest) = Done (p, rest).
Proof.
  destruct p as [l|b|b|b|]; intros H; cbn [payload_fits] in H; cbn [wire_type read_payload]; [| | | |contradiction].
  - cbn [write_payload]. unfold digits. rewrite read_write_digits by exact H. reflexivity.
  - cbn [write_payload]. rewrite <- H, taken_app. reflexivity.
  - rewrite delimited_written by exact H. reflexivity.
  - cbn [write_payload]. rewrite <- H, taken_app. reflexivity.
Qed.

Theorem read_write_field levels number p rest : field_fits number p -> read_field levels (write_field number p ++ rest) = Done (number, p, rest).
Proof.
  intros [P [H F]]. unfold read_field, tag, write_field.
  assert (wire_type p < 8) as W by (destruct p; cbn; lia).
  assert (N.of_nat (number * 8 + wire_type p) < 2 ^ 32)%N as T by (assert (2 ^ 32 = 8 * 2 ^ 29)%N by (vm_compute; reflexivity); lia).
  assert (N.of_nat (number * 8 + wire_type p) < 2 ^ 56)%N as U by (assert (2 ^ 32 < 2 ^ 56)%N by (vm_compute; reflexivity); lia).
  rewrite <- app_assoc, digits_written by exact U. cbn [next].
  rewrite digits_of_below; [|lia|exact T]. rewrite digits_of_number by (apply in_ten, U).
  replace ((number * 8 + wire_type p) / 8) with number by lia. replace ((number * 8 + wire_type p) mod 8) with (wire_type p) by lia.
  assert (number =? 0 = false) as -> by (apply Nat.eqb_neq; lia). cbn [andb next].
  rewrite read_write_payload by exact F. reflexivity.
Qed.

(* What a reader takes: a part of the bytes, not empty, and what it gives does not depend on the rest. *)
Definition takes {A} (f : bytes -> reading (A * bytes)) : Prop :=
  forall b a rest, f b = Done (a, rest) -> exists part, b = part ++ rest /\ forall behind, f (part ++ behind) = Done (a, behind).
Definition takes_some {A} (f : bytes -> reading (A * bytes)) : Prop :=
  forall b a rest, f b = Done (a, rest) -> exists part, b = part ++ rest /\ part <> [] /\ forall behind, f (part ++ behind) = Done (a, behind).

Lemma read_digits_takes places : takes_some (read_digits places).
Proof.
  induction places as [|places IH]; intros [|x b] l rest H; try discriminate. cbn [read_digits next_byte] in H.
  destruct (x <? 128) eqn:L.
  - inversion H; subst. exists [x]. split; [reflexivity|]. split; [discriminate|]. intros behind. cbn [app read_digits next_byte]. now rewrite L.
  - destruct (read_digits places b) as [[m r]|] eqn:E; [|discriminate]. inversion H; subst.
    apply IH in E as [part [-> [_ E]]]. exists (x :: part). split; [reflexivity|]. split; [discriminate|].
    intros behind. cbn [app read_digits next_byte]. now rewrite L, E.
Qed.

Lemma taken_takes n : takes (taken n).
Proof.
  intros b a rest H. unfold taken, divided in H. destruct (n <=? List.length b) eqn:L; [|discriminate].
  apply Nat.leb_le in L. inversion H; subst. exists (firstn n b). split; [now rewrite firstn_skipn|].
  intros behind. assert (byte_count (firstn n b) = n) as E by (unfold byte_count; rewrite firstn_length; lia).
  rewrite <- E at 1. apply taken_app.
Qed.

Lemma then_takes {A B} (f : bytes -> reading (A * bytes)) (g : A -> bytes -> reading (B * bytes)) :
  takes f -> (forall a, takes (g a)) -> takes (fun b => next (f b) (fun p => g (fst p) (snd p))).
Proof.
  intros F G b c rest H. destruct (f b) as [[a r]|] eqn:E; [|discriminate]. cbn in H.
  apply F in E as [p [-> E]]. apply G in H as [q [-> H]]. exists (p ++ q). split; [now rewrite app_assoc|].
  intros behind. rewrite <- app_assoc, E. cbn. apply H.
Qed.

Lemma some_takes {A} (f : bytes -> reading (A * bytes)) : takes_some f -> takes f.
Proof. intros F b a rest H. apply F in H as [p [E [_ H]]]. eauto. Qed.

Lemma same_takes {A} (f g : bytes -> reading (A * bytes)) : (forall b, f b = g b) -> takes f -> takes g.
Proof. intros E F b a rest H. rewrite <- E in H. apply F in H as [p [-> H]]. exists p. split; [reflexivity|]. intros behind. rewrite <- E. apply H. Qed.

Lemma done_takes {A} (a : A) : takes (fun b => Done (a, b)).
Proof. intros b c rest H. inversion H; subst. exists []. split; [reflexivity|]. reflexivity. Qed.

Lemma tag_takes zero : takes_some (tag zero).
Proof.
  intros b [number wire] rest H. unfold tag in H. destruct (digits b) as [[l r]|] eqn:E; [|discriminate]. cbn [next] in H.
  apply read_digits_takes in E as [p [-> [N E]]]. destruct (is_below 4 16 l) eqn:L; [|discriminate].
  destruct ((number_of l / 8 =? 0) && negb zero) eqn:Z; [discriminate|]. inversion H; subst.
  exists p. split; [reflexivity|]. split; [exact N|]. intros behind. unfold tag, digits. rewrite E. cbn [next]. now rewrite L, Z.
Qed.

Lemma payload_takes group wire : takes (fun b => next (group b) (fun rest => Done (tt, rest))) -> takes (read_payload group wire).
Proof.
  intros G. pose proof (some_takes _ (read_digits_takes longest_number)) as D.
  assert (takes delimited) as L.
  { apply (same_takes (fun b => next (digits b) (fun p => (fun l rest => if is_below 7 128 l then taken (number_of l) rest else Refused (BeyondMessage rest)) (fst p) (snd p)))).
    { intros b. unfold delimited. destruct (digits b) as [[l r]|]; reflexivity. }
    apply (then_takes digits (fun l rest => if is_below 7 128 l then taken (number_of l) rest else Refused (BeyondMessage rest))); [exact D|].
    intros l. destruct (is_below 7 128 l); [apply taken_takes|]. intros b a rest H; discriminate. }
  assert (forall A B (f : bytes -> reading (A * bytes)) (k : A -> B), takes f -> takes (fun b => next (f b) (fun '(p, rest) => Done (k p, rest)))) as M.
  { intros A B f k F. apply (same_takes (fun b => next (f b) (fun p => Done (k (fst p), snd p)))).
    { intros b. destruct (f b) as [[a r]|]; reflexivity. }
    apply (then_takes f (fun a b => Done (k a, b))); [exact F|]. intros a. apply done_takes. }
  destruct wire as [|[|[|[|[|[|wire]]]]]]; cbn [read_payload].
  - apply (M _ _ digits); exact D.
  - apply (M _ _ (taken 8)), taken_takes.
  - apply (M _ _ delimited), L.
  - apply (same_takes (fun b => next ((fun b => next (group b) (fun rest => Done (tt, rest))) b) (fun '(p, rest) => Done ((fun _ => Group) p, rest)))).
    { intros b. cbn [read_payload]. destruct (group b); reflexivity. }
    exact (M _ _ _ (fun _ => Group) G).
  - intros b a rest H; discriminate.
  - apply (M _ _ (taken 4)), taken_takes.
  - intros b a rest H; discriminate.
Qed.

Lemma after_group_step levels opened b : after_group (S levels) opened b = members (after_group levels) opened (S (byte_count b)) b.
Proof. reflexivity. Qed.

Lemma members_take group opened : (forall n, takes (fun b => next (group n b) (fun rest => Done (tt, rest)))) -> forall fuel b rest,
  members group opened fuel b = Done rest ->
  exists part, b = part ++ rest /\ forall behind fuel', byte_count part < fuel' -> members group opened fuel' (part ++ behind) = Done behind.
Proof.
  intros G. induction fuel as [|fuel IH]; intros b rest H; [discriminate|]. cbn [members] in H.
  destruct (tag true b) as [[[number wire] r]|] eqn:T; [|discriminate].
  apply tag_takes in T as [p [-> [N T]]].
  assert (0 < byte_count p) as P by (destruct p; [congruence|cbn; lia]).
  destruct (wire =? 4) eqn:W.
  - destruct (number =? opened) eqn:O; [|discriminate]. inversion H; subst. exists p. split; [reflexivity|].
    intros behind [|fuel'] F; [lia|]. cbn [members]. now rewrite T, W, O.
  - destruct (read_payload (group number) wire r) as [[q r']|] eqn:V; [|discriminate].
    apply (payload_takes _ _ (G number)) in V as [part [-> V]]. apply IH in H as [tail [-> H]].
    exists (p ++ part ++ tail). split; [now rewrite <- !app_assoc|].
    intros behind [|fuel'] F; [lia|]. cbn [members]. rewrite <- app_assoc, T, W, <- app_assoc, V. apply H.
    unfold byte_count in *. rewrite !app_length in F. lia.
Qed.

Lemma group_takes levels : forall opened, takes (fun b => next (after_group levels opened b) (fun rest => Done (tt, rest))).
Proof.
  induction levels as [|levels IH]; intros opened b a rest H; [discriminate|]. rewrite after_group_step in H.
  destruct (members (after_group levels) opened (S (byte_count b)) b) as [r|] eqn:E; [|discriminate]. inversion H; subst.
  apply (members_take _ _ IH) in E as [part [-> E]]. exists part. split; [reflexivity|]. intros behind. rewrite after_group_step, E; [reflexivity|].
  unfold byte_count. rewrite app_length. lia.
Qed.

Theorem field_takes levels : takes_some (read_field levels).
Proof.
  intros b [number p] rest H. unfold read_field in H. destruct (tag false b) as [[[n wire] r]|] eqn:T; [|discriminate].
  apply tag_takes in T as [head [-> [N T]]]. cbn [next] in H.
  destruct (read_payload (after_group levels n) wire r) as [[q r']|] eqn:V; [|discriminate]. inversion H; subst.
  apply (payload_takes _ _ (group_takes levels number)) in V as [part [-> V]].
  exists (head ++ part). split; [now rewrite app_assoc|]. split; [destruct head; [congruence|discriminate]|].
  intros behind. unfold read_field. rewrite <- app_assoc, T. cbn [next]. now rewrite V.
Qed.

(* The steps of a reader suffice. *)
Lemma digits_end places : forall b, read_digits places b <> Refused Unfinished.
Proof.
  induction places as [|places IH]; intros [|x b]; cbn [read_digits next_byte]; try discriminate.
  destruct (x <? 128); [discriminate|]. specialize (IH b). destruct (read_digits places b) as [[? ?]|r]; [discriminate|]. congruence.
Qed.
Lemma tag_ends zero b : tag zero b <> Refused Unfinished.
Proof.
  unfold tag. pose proof (digits_end longest_number b) as D. unfold digits. destruct (read_digits longest_number b) as [[l r]|r]; cbn [next]; [|congruence].
  destruct (is_below 4 16 l); [|discriminate]. destruct (_ && _); discriminate.
Qed.
Lemma payload_ends group wire b : group b <> Refused Unfinished -> read_payload group wire b <> Refused Unfinished.
Proof.
  intros G. pose proof (digits_end longest_number b) as D. destruct wire as [|[|[|[|[|[|wire]]]]]]; cbn [read_payload]; unfold delimited, digits, taken.
  - destruct (read_digits longest_number b) as [[l r]|r]; cbn [next]; congruence.
  - destruct (divided 8 b) as [[? ?]|]; cbn [next]; congruence.
  - destruct (read_digits longest_number b) as [[l r]|r]; cbn [next]; [|congruence].
    destruct (is_below 7 128 l); cbn [next]; [|congruence]. destruct (divided (number_of l) r) as [[? ?]|]; cbn [next]; congruence.
  - destruct (group b); cbn [next]; congruence.
  - discriminate.
  - destruct (divided 4 b) as [[? ?]|]; cbn [next]; congruence.
  - discriminate.
Qed.
Lemma group_ends levels : forall opened b, after_group levels opened b <> Refused Unfinished.
Proof.
  induction levels as [|levels IH]; intros opened b; [discriminate|]. rewrite after_group_step.
  assert (forall fuel b, byte_count b < fuel -> members (after_group levels) opened fuel b <> Refused Unfinished) as M; [|apply M; lia].
  clear b. induction fuel as [|fuel IHf]; intros b F; [lia|]. cbn [members]. pose proof (tag_ends true b) as T.
  destruct (tag true b) as [[[number wire] r]|] eqn:E; [|congruence]. apply tag_takes in E as [p [-> [N _]]].
  destruct (wire =? 4); [destruct (number =? opened); discriminate|].
  pose proof (payload_ends (after_group levels number) wire r (IH number r)) as V.
  destruct (read_payload (after_group levels number) wire r) as [[q r']|] eqn:E; [|congruence].
  apply (payload_takes _ _ (group_takes levels number)) in E as [part [-> _]]. apply IHf.
  unfold byte_count in *. rewrite !app_length in F. destruct p; [congruence|]. cbn in F. lia.
Qed.
Lemma field_ends levels b : read_field levels b <> Refused Unfinished.
Proof.
  unfold read_field. pose proof (tag_ends false b) as T. destruct (tag false b) as [[[number wire] r]|]; cbn [next]; [|congruence].
  pose proof (payload_ends (after_group levels number) wire r (group_ends levels number r)) as V.
  destruct (read_payload (after_group levels number) wire r) as [[q r']|]; cbn [next]; congruence.
Qed.
