(* What is so of the parts of conditions that hold. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts choices conditions consequences knowledge.
Import ListNotations.
Open Scope Z_scope.

Lemma member_of_solid : forall r f names, solid names (Field r f) -> solid names r.
Proof. intros r f names H; unfold solid in *; cbn [eval] in H; destruct (eval r names); simpl in *; tauto. Qed.

Lemma parts_ok : forall e names, solid names e -> Forall (solid names) (parts e).
Proof.
  induction e; intros names H; cbn [parts]; constructor; try exact H; try (constructor; fail).
  - destruct (String.eqb field "shape"); [| constructor]; apply IHe; eapply member_of_solid; exact H.
  - unfold solid in H; cbn [eval] in H; destruct (item_solid _ _ H) as [l [z [L [Z' _]]]].
    apply Forall_app; split; [apply IHe1 | apply IHe2]; unfold solid; [rewrite L | rewrite Z']; simpl; tauto.
  - unfold solid in H; cbn [eval] in H; destruct (part_solid _ _ _ H) as [l [x [y [L [X [Y _]]]]]].
    repeat (apply Forall_app; split); [apply IHe1 | apply IHe2 | apply IHe3]; unfold solid;
      [rewrite L | rewrite X | rewrite Y]; simpl; tauto.
  - unfold solid in H; cbn [eval] in H; destruct (calculate_solid _ _ _ H); apply Forall_app; split; auto.
  - apply IHe; unfold solid in *; cbn [eval] in H; apply negative_solid; exact H.
  - apply IHe; unfold solid in *; cbn [eval] in H; destruct (on_list_solid _ _ H) as [l L]; rewrite L; simpl; tauto.
Qed.

Lemma ordered_solid : forall names s a b, s = Less \/ s = AtMost -> true_in names (Compare s a b) -> solid names a /\ solid names b.
Proof.
  intros names s a b S H; unfold true_in, solid in *; cbn [eval] in H.
  destruct S; subst; cbn [compare] in H;
    match type of H with strict ?l ?v = _ => destruct (strict_cases l v) as [[E F] | [c E]]; rewrite E in H; [| discriminate] end;
    inversion F as [| ? ? F1 F2]; inversion F2; auto.
Qed.

Lemma parts_of_condition_ok : forall d names f, possible d names -> true_in names f ->
  Forall (solid names) (parts_of_condition d f).
Proof.
  intros d names f P H; destruct f; try (constructor; fail); cbn [parts_of_condition].
  - destruct sign; try (constructor; fail).
    + destruct (kind_of d f1) eqn:K1; [| constructor]; destruct (kind_of d f2) eqn:K2; [| constructor].
      destruct (equal_true names f1 f2 d P) as [A B]; [congruence | congruence | exact H |].
      apply Forall_app; split; apply parts_ok; assumption.
    + destruct (ordered_solid _ _ _ _ (or_introl eq_refl) H); apply Forall_app; split; apply parts_ok; assumption.
    + destruct (ordered_solid _ _ _ _ (or_intror eq_refl) H); apply Forall_app; split; apply parts_ok; assumption.
    + unfold true_in in H; cbn [eval compare] in H; apply contains_true in H; destruct H as [l [v [L _]]].
      apply parts_ok; unfold solid; rewrite L; simpl; tauto.
  - apply parts_ok; unfold true_in, solid in *; cbn [eval] in H; destruct (eval f1 names); simpl in *; try discriminate; tauto.
  - apply parts_ok; apply exists_true in H; destruct H as [l [v [L _]]]; unfold solid; rewrite L; simpl; tauto.
Qed.

Lemma at_most_intro : forall names a b x y, eval a names = VInt x -> eval b names = VInt y -> x <= y -> true_in names (Compare AtMost a b).
Proof.
  intros names a b x y A B H; unfold true_in; cbn [eval compare]; rewrite A, B; unfold at_most; cbn [is_nan orb less].
  replace (y <? x) with false; [reflexivity | symmetry; apply Z.ltb_ge; exact H].
Qed.

Lemma less_intro : forall names a b x y, eval a names = VInt x -> eval b names = VInt y -> x < y -> true_in names (Compare Less a b).
Proof.
  intros names a b x y A B H; unfold true_in; cbn [eval compare]; rewrite A, B; cbn [less].
  replace (x <? y) with true; [reflexivity | symmetry; apply Z.ltb_lt; exact H].
Qed.

Lemma nat_value : forall d names e, possible d names -> kind_of d e = Some KNat -> solid names e -> exists z, eval e names = VInt z /\ 0 <= z.
Proof.
  intros d names e P K S; pose proof (kind_of_ok _ _ _ _ P K) as M; unfold solid in S.
  destruct (eval e names); simpl in *; try tauto; eauto.
Qed.

Lemma filtered_length : forall (f : value -> bool) l, (List.length (filter f l) <= List.length l)%nat.
Proof. intros f l; induction l as [| v l IH]; simpl; [lia |]; destruct (f v); simpl; lia. Qed.

Lemma scalar_itself : forall k v, scalar k = true -> has k v -> equal v v = VBool true.
Proof.
  intros k v S H; destruct k; try discriminate; destruct v; simpl in H; try contradiction; try (destruct H; discriminate);
    repeat match goal with f : floating |- _ => destruct f end; try contradiction; cbn.
  - rewrite Z.eqb_refl; reflexivity.
  - rewrite Z.eqb_refl; reflexivity.
  - rewrite Z.eqb_refl; reflexivity.
  - replace (Qeq_bool number number) with true; [reflexivity |]; symmetry; apply Qeq_bool_iff; reflexivity.
  - destruct truth; reflexivity.
  - rewrite String.eqb_refl; reflexivity.
Qed.

Lemma has_of_may : forall k v, scalar k = true -> may k v -> ~ unknown v -> has k v.
Proof. intros k v S M U; destruct k; try discriminate; destruct v; simpl in *; tauto. Qed.

Lemma at_place_of_ok : forall names t j items n m z, eval j names = VInt z -> z = Z.of_nat m -> (n <= m)%nat -> (m < n + List.length items)%nat ->
  equal (eval t names) (eval (nth (m - n) items Undefined) names) = VBool true -> true_in names (at_place_of t j n items).
Proof.
  intros names t j items; induction items as [| e rest IH]; intros n m z J Z' N M E; simpl in M; [lia |]; cbn [at_place_of]; apply or_intro.
  destruct (Nat.eq_dec n m) as [Q | Q].
  - subst; left; rewrite Nat.sub_diag in E; cbn [nth] in E; unfold true_in, place; cbn [eval compare]; rewrite J, E; cbn [equal].
    rewrite Z.eqb_refl; reflexivity.
  - right; apply (IH (S n) m z J Z'); [lia | lia |]; replace (m - n)%nat with (S (m - S n)) in E by lia; exact E.
Qed.

(* The largest of integers, or the smallest. *)
Definition below (largest : bool) (x y : Z) : Prop := if largest then x <= y else y <= x.
Definition better (largest : bool) (v best : value) : bool := if largest then less best v else less v best.

Lemma extreme_bound : forall largest rest a, Forall (fun v => match v with VInt _ => True | _ => False end) rest ->
  exists m, fold_left (fun best v => if better largest v best then v else best) rest (VInt a) = VInt m /\ below largest a m /\
    Forall (fun v => exists z, v = VInt z /\ below largest z m) rest.
Proof.
  intros largest rest a H; revert a; induction H as [| v rest V H IH]; intros a; cbn [fold_left].
  - exists a; repeat split; [unfold below; destruct largest; lia | constructor].
  - destruct v as [x | | | | | |]; try contradiction; destruct (better largest (VInt x) (VInt a)) eqn:B.
    + destruct (IH x) as [m [E [L A]]]; exists m; repeat split; [exact E | | constructor; eauto].
      unfold better, below, less in *; destruct largest; apply Z.ltb_lt in B; lia.
    + destruct (IH a) as [m [E [L A]]]; exists m; repeat split; [exact E | exact L | constructor; [| exact A]]; exists x; split; [reflexivity |].
      unfold better, below, less in *; destruct largest; apply Z.ltb_ge in B; lia.
Qed.

Lemma bounding_ok : forall d names largest f s, possible d names -> f = (if largest : bool then Largest else Smallest) -> solid names (Apply f s) ->
  Forall (true_in names) (bounding d s (if largest then Compare AtMost (Name member_name) (Apply f s) else Compare AtMost (Apply f s) (Name member_name))).
Proof.
  intros d names largest f s P F S; unfold bounding; destruct (kind_of d s) as [[| | | | | | k |] |] eqn:K; try constructor.
  destruct (integral k && negb (mentions member_name s)) eqn:I; constructor; [| constructor]; split_and; apply negb_true_iff in H0.
  unfold solid in S; cbn [eval] in S; destruct (on_list_solid _ _ S) as [l L]; pose proof (kind_of_ok _ _ _ _ P K) as M; rewrite L in M; simpl in M.
  assert (E : exists m, eval (Apply f s) names = VInt m /\ Forall (fun v => exists z, v = VInt z /\ below largest z m) l).
  { cbn [eval]; rewrite L in *; cbn [on_list] in *.
    assert (X : apply f l = extreme (better largest) l) by (subst; destruct largest; reflexivity); rewrite X in *.
    destruct l as [| v rest]; [simpl in S; tauto |]; cbn [extreme] in *; destruct (solid_parts _ _ S) as [E U]; rewrite E in *.
    assert (N : Forall (fun v => match v with VInt _ => True | _ => False end) (v :: rest)).
    { eapply Forall_and2; [| exact M | exact U]; intros w W V; cbn beta in *; apply may_integer in W; [| exact H].
      destruct w; simpl in W, V; tauto. }
    inversion N; subst; destruct v; try contradiction; destruct (extreme_bound largest rest number) as [m [E' [B A]]]; [assumption |].
    exists m; split; [exact E' | constructor; eauto]. }
  destruct E as [m [E A]]; eapply forall_intro; [exact L |]; eapply Forall_impl; [| exact A]; intros v [z [V B]]; subst v.
  assert (E' : eval (Apply f s) (updated names member_name (VInt z)) = VInt m) by (rewrite eval_without; assumption).
  assert (N : eval (Name member_name) (updated names member_name (VInt z)) = VInt z) by reflexivity.
  destruct largest; [exact (at_most_intro _ _ _ _ _ N E' B) | exact (at_most_intro _ _ _ _ _ E' N B)].
Qed.

Lemma of_quotient_ok : forall d names a b, possible d names -> is_int d a = true -> is_int d b = true ->
  solid names (Arithmetic Quotient a b) -> Forall (true_in names) (of_quotient a b (Arithmetic Quotient a b)).
Proof.
  intros d names a b P A B S; destruct (calculate_solid _ _ _ S) as [S1 S2].
  destruct (is_int_ok _ _ _ P A S1) as [x X]; destruct (is_int_ok _ _ _ P B S2) as [y Y].
  unfold solid in S; cbn [eval] in S; rewrite X, Y in S; cbn [calculate on_integers] in S.
  destruct (0 <? y) eqn:Q; [| simpl in S; tauto]; clear S.
  assert (E : eval (Arithmetic Quotient a b) names = VInt (x / y)).
  { cbn [eval]; rewrite X, Y; cbn [calculate on_integers]; rewrite Q; reflexivity. }
  apply Z.ltb_lt in Q; generalize dependent (Arithmetic Quotient a b); intros t E; unfold of_quotient.
  assert (G : Forall (true_in names) [Or (Compare Less a (Int 0)) (Compare AtMost (Int 0) t)]).
  { constructor; [| constructor]; apply or_intro; destruct (Z.lt_ge_cases x 0).
    - left; eapply less_intro; [exact X | reflexivity | assumption].
    - right; eapply at_most_intro; [reflexivity | exact E | apply Z.div_pos; assumption]. }
  destruct b; try exact G; destruct number; try exact G; clear G; simpl in Y; inversion Y; subst y; clear Y.
  assert (M : eval (Arithmetic Times (Int (Z.pos p)) t) names = VInt (Z.pos p * (x / Z.pos p))) by (cbn [eval]; rewrite E; reflexivity).
  constructor; [| constructor; [| constructor]].
  - eapply at_most_intro; [exact M | exact X | apply Z.mul_div_le; exact Q].
  - eapply less_intro; [exact X | cbn [eval] in M |- *; rewrite M; reflexivity |].
    pose proof (Z.mul_succ_div_gt x (Z.pos p) Q) as R; rewrite Z.mul_succ_r in R; exact R.
Qed.

Lemma sum_of_ok : forall names items, Forall (fun e => exists z, eval e names = VInt z) items -> forall start,
  exists z, eval (sum_of items) names = VInt z /\
    fold_left (calculate Plus) (map (fun e => eval e names) items) (VInt start) = VInt (start + z).
Proof.
  intros names items H; induction H as [| e items [x X] H IH]; intros start; simpl.
  - exists 0; rewrite Z.add_0_r; auto.
  - destruct (IH (start + x)) as [z [Z1 Z2]]; rewrite X, Z1; exists (x + z); cbn [calculate on_integers]; rewrite Z2, Z.add_assoc; auto.
Qed.

Lemma properties_ok : forall d names t, possible d names -> solid names t -> Forall (true_in names) (properties d t).
Proof.
  intros d names t P S; unfold properties; apply Forall_app; split.
  - destruct (kind_of d t) as [[] |] eqn:K; try (constructor; fail); constructor; [| constructor].
    destruct (nat_value _ _ _ P K S) as [z [E N]]; eapply at_most_intro; [reflexivity | exact E | exact N].
  - destruct t; try (constructor; fail).
    + constructor; [| constructor]; unfold solid, true_in in *; cbn [eval] in *; destruct (names name); simpl in *; tauto.
    + pose proof S as S'; unfold solid in S; cbn [eval] in S; destruct (item_solid _ _ S) as [l [z [L [Z' [B [E _]]]]]].
      constructor; [eapply at_most_intro; [reflexivity | exact Z' | lia] |].
      constructor; [eapply less_intro; [exact Z' | apply length_form_ok; exact L | lia] |].
      destruct (listed t1) as [items |] eqn:I; [| constructor]; destruct (kind_of d (Item t1 t2)) as [k |] eqn:K; [| constructor].
      destruct (scalar k) eqn:Sc; constructor; [| constructor].
      pose proof (listed_ok _ _ names I) as L'; rewrite L in L'; inversion L'; subst l; rewrite map_length in B.
      apply (at_place_of_ok names _ _ items 0 (Z.to_nat z) z Z'); [lia | lia | simpl; lia |]; rewrite Nat.sub_0_r.
      assert (V : eval (nth (Z.to_nat z) items Undefined) names = eval (Item t1 t2) names).
      { cbn [eval]; rewrite E; symmetry; exact (map_nth (fun e => eval e names) items Undefined (Z.to_nat z)). }
      rewrite V; eapply scalar_itself; [exact Sc |]; apply has_of_may; [exact Sc | eapply kind_of_ok; eassumption | exact S'].
    + destruct sign; try (constructor; fail).
      * destruct (is_int d t1 && is_int d t2) eqn:I; [| constructor]; split_and; apply (of_quotient_ok d); assumption.
      * destruct (is_int d t1 && is_int d t2) eqn:I; [| constructor]; split_and; destruct (calculate_solid _ _ _ S) as [S1 S2].
        destruct (is_int_ok _ _ _ P H S1) as [x X]; destruct (is_int_ok _ _ _ P H0 S2) as [y Y].
        unfold solid in S; cbn [eval] in S; rewrite X, Y in S; cbn [calculate on_integers] in S.
        destruct (0 <? y) eqn:Q; [| simpl in S; tauto]; apply Z.ltb_lt in Q; pose proof (Z.mod_pos_bound x y Q).
        assert (E : eval (Arithmetic Remainder t1 t2) names = VInt (x mod y)).
        { cbn [eval]; rewrite X, Y; cbn [calculate on_integers]; apply Z.ltb_lt in Q; rewrite Q; reflexivity. }
        repeat constructor; [eapply at_most_intro; [reflexivity | exact E | lia] | eapply less_intro; [exact E | exact Y | lia]].
    + destruct function; try (constructor; fail).
      3: exact (bounding_ok d names true Largest t P eq_refl S).
      3: exact (bounding_ok d names false Smallest t P eq_refl S).
      2: { destruct (listed t) as [items |] eqn:L; [| constructor]; destruct (integers_only d t) eqn:I; constructor; [| constructor].
           pose proof (listed_ok _ _ names L) as E; pose proof (proj1 (Forall_map _ _ _) (integers_only_ok _ _ _ _ P I E)) as K.
           unfold true_in, solid in *; cbn [eval compare] in *; rewrite E in *; cbn [on_list apply] in *; unfold total in *.
           destruct (solid_parts _ _ S) as [Q U]; rewrite Q in *; apply (proj1 (Forall_map _ _ _)) in U.
           assert (V : Forall (fun e => exists z, eval e names = VInt z) items).
           { eapply Forall_and2; [| exact K | exact U]; intros e W N; cbn beta in *; destruct (eval e names); simpl in W, N; try tauto; eauto. }
           destruct (sum_of_ok names items V 0) as [z [Z1 Z2]]; rewrite Z1, Z2; simpl; rewrite Z.eqb_refl; reflexivity. }
      destruct t; try (constructor; fail).
      * constructor; [| constructor]; unfold solid in S; cbn [eval] in S; destruct (on_list_solid _ _ S) as [l L].
        cbn [eval] in L.
        assert (W : exists w, eval t1 names = VList w) by (eapply on_list_solid; rewrite L; simpl; tauto); destruct W as [w W].
        eapply at_most_intro; [cbn [eval]; rewrite L; cbn [on_list apply]; reflexivity | apply length_form_ok; exact W |].
        rewrite W in L; cbn [on_list] in L.
        match type of L with strict ?a ?b = _ => destruct (strict_cases a b) as [[E _] | [c E]]; rewrite E in L; [| discriminate] end.
        inversion L; rewrite map_length; unfold chosen; pose proof (filtered_length (fun v => is_truth true (eval t2 (updated names variable v))) w); lia.
      * unfold solid in S; cbn [eval] in S; destruct (on_list_solid _ _ S) as [l L]; cbn [eval] in L.
        destruct (range_solid (eval t1 names) (eval t2 names)) as [x [y [X Y]]]; [rewrite L; simpl; tauto |].
        rewrite X, Y in L; cbn [range] in L; inversion L as [E].
        assert (N : eval (Apply Len (Range t1 t2)) names = VInt (Z.of_nat (Z.to_nat (y - x)))).
        { cbn [eval]; rewrite X, Y; cbn [range on_list apply]; unfold integers; rewrite !map_length, seq_length; reflexivity. }
        assert (M : eval (Arithmetic Minus t2 t1) names = VInt (y - x)) by (cbn [eval]; rewrite X, Y; reflexivity).
        constructor; [eapply at_most_intro; [exact M | exact N | lia] |].
        constructor; [| constructor]; apply or_intro; destruct (Z.le_gt_cases (y - x) 0);
          [left; eapply at_most_intro; [exact N | reflexivity | lia] | right; eapply at_most_intro; [exact N | exact M | lia]].
Qed.
