(* What the search finds is so, for every call. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts consequences search.
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
  - apply parts_ok; unfold true_in, solid in *; cbn [eval] in H; destruct (eval f1 names); simpl in *; try discriminate; tauto.
Qed.

Lemma at_most_intro : forall names a b x y, eval a names = VInt x -> eval b names = VInt y -> x <= y -> true_in names (Compare AtMost a b).
Proof.
  intros names a b x y A B H; unfold true_in; cbn [eval compare]; rewrite A, B; cbn [less].
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

Lemma properties_ok : forall d names t, possible d names -> solid names t -> Forall (true_in names) (properties d t).
Proof.
  intros d names t P S; unfold properties; apply Forall_app; split.
  - destruct (kind_of d t) as [[] |] eqn:K; try (constructor; fail); constructor; [| constructor].
    destruct (nat_value _ _ _ P K S) as [z [E N]]; eapply at_most_intro; [reflexivity | exact E | exact N].
  - destruct t; try (constructor; fail).
    + unfold solid in S; cbn [eval] in S; destruct (item_solid _ _ S) as [l [z [L [Z' [B _]]]]]; constructor; [| constructor; [| constructor]].
      * eapply at_most_intro; [reflexivity | exact Z' | lia].
      * eapply less_intro; [exact Z' | apply length_form_ok; exact L | lia].
    + destruct sign; try (constructor; fail).
      * destruct t2; try (constructor; fail); destruct number; try (constructor; fail); destruct (is_int d t1) eqn:I; try (constructor; fail).
        destruct (calculate_solid _ _ _ S) as [S1 _]; destruct (is_int_ok _ _ _ P I S1) as [x X]; constructor; [| constructor; [| constructor]].
        -- eapply at_most_intro; [| exact X |]; cbn [eval]; [rewrite X; cbn [calculate on_integers]; reflexivity |].
           apply Z.mul_div_le; lia.
        -- eapply less_intro; [exact X | cbn [eval]; rewrite X; cbn [calculate on_integers]; reflexivity |].
           assert (Q : 0 < Z.pos p) by lia; pose proof (Z.mul_succ_div_gt x (Z.pos p) Q) as R; rewrite Z.mul_succ_r in R; exact R.
      * destruct (is_int d t1 && is_int d t2) eqn:I; [| constructor]; split_and; destruct (calculate_solid _ _ _ S) as [S1 S2].
        destruct (is_int_ok _ _ _ P H S1) as [x X]; destruct (is_int_ok _ _ _ P H0 S2) as [y Y].
        unfold solid in S; cbn [eval] in S; rewrite X, Y in S; cbn [calculate on_integers] in S.
        destruct (0 <? y) eqn:Q; [| simpl in S; tauto]; apply Z.ltb_lt in Q; pose proof (Z.mod_pos_bound x y Q).
        assert (E : eval (Arithmetic Remainder t1 t2) names = VInt (x mod y)).
        { cbn [eval]; rewrite X, Y; cbn [calculate on_integers]; apply Z.ltb_lt in Q; rewrite Q; reflexivity. }
        repeat constructor; [eapply at_most_intro; [reflexivity | exact E | lia] | eapply less_intro; [exact E | exact Y | lia]].
    + destruct function; try (constructor; fail); destruct t; try (constructor; fail).
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

(* The call fits the context. *)
Definition fits (c : context) (names : environment) : Prop :=
  possible (named c) names /\
  (forall x k b, lookup x (named c) = Some k -> lookup x (sure c) = Some b ->
     if b then has k (names x) else unknown (names x) \/ has k (names x)) /\
  Forall (fun '(m, s) => exists l, eval s names = VList l /\ In (eval m names) l) (within c) /\
  Forall (true_in names) (given c).

Lemma instances_ok : forall c names ps js f, fits c names -> Forall (solid names) ps ->
  Forall (fun j => exists z, eval j names = VInt z) js -> true_in names f -> Forall (true_in names) (instances c ps js f).
Proof.
  intros c names ps js f [P [_ [W _]]] S J H; destruct f; try (constructor; fail); cbn [instances].
  destruct (decides (named c) variable f1 f2) eqn:D; [| constructor].
  destruct (forall_true _ _ _ _ _ P D H) as [l [L A]]; rewrite Forall_forall in A; repeat (apply Forall_app; split).
  - apply Forall_flat_map; eapply Forall_impl; [| exact W]; intros [m s] [w [W1 W2]].
    destruct (expr_eqb f1 s) eqn:E; repeat constructor; apply expr_eqb_ok in E; subst.
    unfold true_in; rewrite subst_ok; apply A; congruence.
  - apply Forall_flat_map; eapply Forall_impl; [| exact S]; intros e S'; destruct e; try (constructor; fail).
    destruct (expr_eqb f1 e1) eqn:E; repeat constructor; apply expr_eqb_ok in E; subst.
    unfold true_in; rewrite subst_ok; apply A; unfold solid in S'; cbn [eval] in *.
    destruct (item_solid _ _ S') as [w [z [L' [_ [_ [_ I]]]]]]; congruence.
  - destruct f1; try (constructor; fail); apply Forall_map; eapply Forall_impl; [| exact J]; intros j [z Z'].
    cbn [eval] in L; destruct (range_solid (eval f1_1 names) (eval f1_2 names)) as [x [y [X Y]]]; [rewrite L; simpl; tauto |].
    rewrite X, Y in L; cbn [range] in L; inversion L; subst; unfold within_range; apply or_intro.
    destruct (Z.lt_ge_cases z x); [left; apply or_intro; left; eapply less_intro; eauto |].
    destruct (Z.le_gt_cases y z); [left; apply or_intro; right; eapply at_most_intro; eauto |].
    right; unfold true_in; rewrite subst_ok, Z'; apply A; unfold integers; apply in_map_iff; exists z; split; [reflexivity |].
    apply in_map_iff; exists (Z.to_nat (z - x)); split; [lia | apply in_seq; lia].
Qed.

Lemma without_twins_ok : forall (Q : expr -> Prop) l found, Forall Q l -> Forall Q found -> Forall Q (without_twins l found).
Proof.
  intros Q l; induction l as [| e l IH]; intros found L F; simpl; [apply Forall_rev; exact F |].
  inversion L; subst; apply IH; auto; destruct (member e found); auto.
Qed.

Lemma more_ok : forall c names facts, fits c names -> Forall (true_in names) facts -> Forall (true_in names) (more c facts).
Proof.
  intros c names facts F H; unfold more; pose proof F as [P [_ [W _]]].
  assert (S : Forall (solid names) (without_twins (flat_map (parts_of_condition (named c)) facts) [])).
  { apply without_twins_ok; [| constructor]; apply Forall_flat_map; eapply Forall_impl; [| exact H]; intros f T.
    apply parts_of_condition_ok; assumption. }
  apply Forall_app; split; apply Forall_flat_map.
  - eapply Forall_impl; [| exact S]; intros t T; apply properties_ok; assumption.
  - eapply Forall_impl; [| exact H]; intros f T; apply instances_ok; auto.
    apply without_twins_ok; [| constructor]; apply Forall_app; split; unfold indices, in_ranges; apply Forall_flat_map.
    + eapply Forall_impl; [| exact S]; intros e E; destruct e; try (constructor; fail); constructor; [| constructor].
      unfold solid in E; cbn [eval] in E; destruct (item_solid _ _ E) as [l [z [_ [Z' _]]]]; eauto.
    + eapply Forall_impl; [| exact W]; intros [m s] [l [L I]]; destruct s; try (constructor; fail); constructor; [| constructor].
      cbn [eval] in L; destruct (range_solid (eval s1 names) (eval s2 names)) as [x [y [X Y]]]; [rewrite L; simpl; tauto |].
      rewrite X, Y in L; cbn [range] in L; inversion L; subst; apply in_map_iff in I; destruct I as [z [Z' _]]; eauto.
Qed.

Lemma equal_known : forall names a b d v, possible d names -> kind_of d a <> None -> kind_of d b <> None ->
  eval (Compare Equal a b) names = VBool v -> solid names a /\ solid names b.
Proof.
  intros names a b d v P A B H; unfold solid in *; cbn [eval compare] in H.
  destruct (kind_of d a) as [k |] eqn:K; [| tauto]; destruct (kind_of d b) as [l |] eqn:L; [| tauto].
  pose proof (kind_of_ok _ _ _ _ P K) as M; pose proof (kind_of_ok _ _ _ _ P L) as N.
  destruct (eval a names) as [| | | | | | c s]; destruct (eval b names) as [| | | | | | e t]; simpl; try tauto;
    try (destruct k; destruct M; subst); try (destruct l; destruct N; subst); simpl in H; discriminate.
Qed.

Lemma true_solid : forall names f, true_in names f -> solid names f.
Proof. intros names f H; unfold true_in, solid in *; rewrite H; simpl; tauto. Qed.

#[local] Opaque simple depth.

Lemma tidy_ok : forall d names found f, possible d names -> Forall (true_in names) found -> true_in names f ->
  true_in names (tidy d found f).
Proof.
  intros d names found f P G H.
  assert (D : true_in names (simple depth found f)) by (unfold true_in; rewrite simple_ok; auto; apply true_solid; exact H).
  assert (E : forall a b v, eval (Compare Equal a b) names = VBool v -> kind_of d a <> None -> kind_of d b <> None ->
    eval (Compare Equal (simple depth found a) (simple depth found b)) names = VBool v).
  { intros a b v V A B; destruct (equal_known _ _ _ _ _ P A B V) as [S1 S2]; cbn [eval]; rewrite !simple_ok by assumption; exact V. }
  unfold tidy; destruct f; try exact D.
  - destruct sign; try exact D; destruct (kind_of d f1) eqn:K1, (kind_of d f2) eqn:K2; [apply E; congruence | exact H ..].
  - destruct f; try exact D; destruct sign; try exact D.
    destruct (kind_of d f1) eqn:K1, (kind_of d f2) eqn:K2; [| exact H ..].
    apply not_intro, E; [apply not_true; exact H | congruence ..].
Qed.

Lemma expanded_ok : forall n d names todo found, possible d names -> Forall (true_in names) todo -> Forall (true_in names) found ->
  Forall (true_in names) (expanded n d todo found).
Proof.
  induction n; intros d names todo found P T F; simpl; [exact F |]; destruct todo as [| f rest]; [exact F |].
  inversion T; subst; assert (H : true_in names (tidy d found f)) by (apply tidy_ok; assumption).
  destruct (member _ found); apply IHn; auto; apply Forall_app; split; auto; apply consequences_ok; assumption.
Qed.

Lemma int_of : forall d names e, possible d names -> is_int d e = true -> solid names e ->
  exists z, eval e names = VInt z /\ value_of names (linear e) = z.
Proof. intros d names e P I S; destruct (is_int_ok _ _ _ P I S) as [z Z']; exists z; split; [exact Z' | apply linear_ok; exact Z']. Qed.

Lemma forms_ok : forall d names f, possible d names -> true_in names f -> Forall (fun g => 0 <= value_of names g) (forms_of d f).
Proof.
  intros d names f P H; destruct f; try apply Forall_nil; destruct sign; try apply Forall_nil; cbn [forms_of];
    destruct (is_int d f1 && is_int d f2) eqn:I; try apply Forall_nil; split_and.
  - assert (N : forall e, is_int d e = true -> kind_of d e <> None) by (intros e E X; unfold is_int in E; rewrite X in E; discriminate).
    destruct (equal_true _ _ _ _ P (N _ H0) (N _ H1) H) as [A B].
    destruct (int_of _ _ _ P H0 A) as [x [X X']]; destruct (int_of _ _ _ P H1 B) as [y [Y Y']].
    unfold true_in in H; cbn [eval compare] in H; rewrite X, Y in H; cbn [equal] in H; inversion H as [Q]; apply Z.eqb_eq in Q.
    constructor; [| constructor; [| constructor]]; rewrite added_ok, scaled_ok, X', Y'; lia.
  - destruct (ordered_solid _ _ _ _ (or_introl eq_refl) H) as [A B].
    destruct (int_of _ _ _ P H0 A) as [x [X X']]; destruct (int_of _ _ _ P H1 B) as [y [Y Y']].
    unfold true_in in H; cbn [eval compare] in H; rewrite X, Y in H; cbn in H; inversion H as [Q]; apply Z.ltb_lt in Q.
    apply Forall_cons; [| apply Forall_nil]; rewrite !added_ok, scaled_ok, X', Y'; unfold value_of; simpl fst; simpl snd; simpl terms_value; lia.
  - destruct (ordered_solid _ _ _ _ (or_intror eq_refl) H) as [A B].
    destruct (int_of _ _ _ P H0 A) as [x [X X']]; destruct (int_of _ _ _ P H1 B) as [y [Y Y']].
    unfold true_in in H; cbn [eval compare] in H; rewrite X, Y in H; cbn in H; inversion H as [Q].
    apply negb_true_iff, Z.ltb_ge in Q; apply Forall_cons; [| apply Forall_nil]; rewrite added_ok, scaled_ok, X', Y'; lia.
Qed.

Lemma clash_ok : forall names f g, clash f g = true -> true_in names f -> true_in names g -> False.
Proof.
  intros names f g C F G.
  assert (N : forall a, f = Not a -> expr_eqb a g = true -> False).
  { intros a E Q; subst; apply expr_eqb_ok in Q; subst; apply not_true in F; unfold true_in in G; congruence. }
  destruct f; try discriminate; [| destruct g; eapply N; try reflexivity; exact C].
  destruct sign; try discriminate; destruct f2; try discriminate; destruct g; try discriminate.
  destruct sign; try discriminate; destruct g2; try discriminate.
  cbn [clash] in C; split_and; apply expr_eqb_ok in H; subst; unfold true_in in *; cbn [eval compare] in *.
  destruct (eval g1 names) as [| | | | | | c [s |]]; simpl in F, G; try discriminate.
  inversion F as [A]; inversion G as [B]; apply String.eqb_eq in A, B; subst; rewrite String.eqb_refl in H0; discriminate.
Qed.

Lemma absurd_ok : forall names f, absurd f = true -> true_in names f -> False.
Proof.
  intros names f A F; destruct f; try discriminate.
  - destruct sign; try discriminate; destruct f1; try discriminate; destruct f2; try discriminate.
    unfold true_in in F; simpl in *; rewrite negb_true_iff in A; inversion F; congruence.
  - apply not_true in F; destruct f; try discriminate.
    + destruct sign; try discriminate; destruct f1; try discriminate; destruct f2; try discriminate.
      simpl in *; inversion F; congruence.
    + destruct f; try discriminate.
Qed.

Lemma contradict_ok : forall d names facts, possible d names -> Forall (true_in names) facts -> contradict d facts = true -> False.
Proof.
  intros d names facts P F C; unfold contradict in C; apply orb_prop in C; destruct C as [C | C]; [apply orb_prop in C; destruct C as [C | C] |].
  - apply existsb_exists in C; destruct C as [f [I A]]; rewrite Forall_forall in F; eapply absurd_ok; eauto.
  - apply existsb_exists in C; destruct C as [f [I A]]; apply existsb_exists in A; destruct A as [g [I' A]].
    rewrite Forall_forall in F; eapply clash_ok; eauto.
  - apply (refutes_ok names _ _ C); apply Forall_flat_map; eapply Forall_impl; [| exact F]; intros f T; apply forms_ok; assumption.
Qed.

Lemma fits_given : forall c names g, fits c names -> Forall (true_in names) g -> fits (with_given c g) names.
Proof. intros c names g [P [S [W _]]] G; repeat split; auto. Qed.

Lemma fits_assume : forall c names f, fits c names -> true_in names f -> fits (assume f c) names.
Proof. intros c names f F H; apply fits_given; auto; constructor; auto; apply F. Qed.

Lemma fits_enter : forall c names x k s v, fits c names -> has k v ->
  Forall (fun s => exists l, eval s names = VList l /\ In v l) s -> fits (enter x k s c) (updated names x v).
Proof.
  intros c names x k s v [P [S [W G]]] H L; unfold enter; repeat split; cbn [named sure within given].
  - apply possible_updated; auto using has_may.
  - intros y j b E B; simpl in E, B; unfold updated; destruct (String.eqb x y); [inversion E; inversion B; subst; exact H |].
    eapply S; eassumption.
  - apply Forall_app; split.
    + apply Forall_map, Forall_forall; intros t T; apply filter_In in T; destruct T as [T M]; apply negb_true_iff in M.
      rewrite Forall_forall in L; destruct (L _ T) as [l [E I]]; exists l; split; [rewrite eval_without; assumption |].
      cbn [eval]; unfold updated; rewrite String.eqb_refl; exact I.
    + apply Forall_forall; intros [m t] T; apply filter_In in T; destruct T as [T M]; split_and; apply negb_true_iff in H0, H1.
      rewrite Forall_forall in W; destruct (W _ T) as [l [E I]]; exists l; rewrite !eval_without by assumption; auto.
  - apply Forall_forall; intros f T; apply filter_In in T; destruct T as [T M]; apply negb_true_iff in M.
    rewrite Forall_forall in G; unfold true_in; rewrite eval_without by assumption; apply G; exact T.
Qed.

Lemma resolved_ok : forall q t names, eval q names = VBool t -> forall e, eval (resolved q t e) names = eval e names.
Proof.
  intros q t names Q; induction e; cbn [resolved]; try reflexivity; try (cbn [eval]; congruence);
    try (cbn [eval]; rewrite IHe1, IHe2; reflexivity).
  destruct (expr_eqb e1 q) eqn:E; [| cbn [eval]; congruence].
  apply expr_eqb_ok in E; subst; destruct t; cbn [eval]; rewrite Q; cbn [choice]; assumption.
Qed.
