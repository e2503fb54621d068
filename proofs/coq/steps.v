(* The search is right: what it finds to contradict itself, to have a value, or to hold, does, for every call. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts choices conditions consequences knowledge search properties soundness refutation.
Import ListNotations.
Open Scope Z_scope.

#[local] Opaque simple depth rounds expanded more contradict.

Section Soundness.
Variable refute : context -> bool.
Variable defined : context -> expr -> bool.
Variable prove : context -> expr -> bool.
Hypothesis R : forall c names, fits c names -> refute c = true -> False.
Hypothesis D : forall c names e k, fits c names -> defined c e = true -> kind_of (named c) e = Some k -> has k (eval e names).
Hypothesis Q : forall c names g, fits c names -> prove c g = true -> true_in names g.

Lemma body_ok : forall c names x s p, fits c names -> defined c s = true -> body_defined defined c x s p = true ->
  exists l k, element_kind (named c) s = Some k /\ eval s names = VList l /\ Forall (has k) l /\
    Forall (fun v => exists b, eval p (updated names x v) = VBool b) l.
Proof.
  intros c names x s p F S H; unfold body_defined in H; destruct (element_kind (named c) s) as [k |] eqn:E; [| discriminate]; split_and.
  pose proof F as [P _]; destruct (element_ok _ names s k P E) as [l [L K]]; [intros m M; eapply D; eassumption |].
  exists l, k; repeat split; auto; apply Forall_forall; intros v V; rewrite Forall_forall in K.
  assert (F' : fits (enter x k [s] c) (updated names x v)) by (apply fits_enter; auto; constructor; eauto).
  apply (bool_value ((x, k) :: named c)); [assumption |]; intros m M; eapply D; [exact F' | assumption | exact M].
Qed.

(* A loop that computes a value. *)
Lemma reduce_ok : forall c names x y b s a k t i, fits c names ->
  element_kind (named c) s = Some k -> kind_of (named c) (Reduce x y b s a) = Some t ->
  (forall m, kind_of (named c) s = Some m -> has m (eval s names)) ->
  (forall m, kind_of (named c) a = Some m -> has m (eval a names)) -> String.eqb x y = false -> mentions y i = false ->
  prove c (subst x a i) = true ->
  defined (assume i (enter y k [s] (enter x t [] c))) b = true ->
  prove (assume i (enter y k [s] (enter x t [] c))) (subst x b i) = true ->
  mentions x s = false -> has t (eval (Reduce x y b s a) names).
Proof.
  intros c names x y b s a k t i F E K S A X M I B J N; pose proof F as [P _].
  destruct (element_ok _ names s k P E) as [l [L H]]; [exact S |].
  cbn [kind_of] in K; bind K; bind K; unfold element_kind in E.
  destruct (kind_of (named c) s) as [ks |] eqn:Ks; [| discriminate]; destruct ks; simpl in E0; try discriminate; inversion E; inversion E0; subst.
  clear E E0; bind E1; destruct (kind_of ((y, k0) :: (x, k1) :: named c) b) as [u |] eqn:U; [| discriminate].
  destruct (join u k1) as [w |] eqn:W; [| discriminate]; destruct (kind_eqb w k1) eqn:EQ; [| discriminate].
  apply kind_eqb_ok in EQ; inversion K; subst.
  assert (A' : has t (eval a names)) by (eapply join_right; [exact E1 |]; exact (A _ eq_refl)).
  assert (I' : true_in (updated names x (eval a names)) i).
  { unfold true_in; rewrite <- subst_ok; apply (Q c names _ F I). }
  cbn [eval]; rewrite L; cbn [on_list].
  assert (G : forall l', (forall v, In v l' -> In v l) -> forall start, has t start -> true_in (updated names x start) i ->
    has t (fold_left (fun sum v => eval b (updated (updated names x sum) y v)) l' start)).
  { induction l' as [| v l' IH]; intros V start T Y; simpl; [exact T |].
    assert (Fv : fits (assume i (enter y k0 [s] (enter x t [] c))) (updated (updated names x start) y v)).
    { apply fits_assume.
      - apply fits_enter; [apply fits_enter; auto | |].
        + rewrite Forall_forall in H; apply H, V; left; reflexivity.
        + constructor; [| constructor]; exists l; rewrite eval_without by assumption; split; [exact L | apply V; left; reflexivity].
      - unfold true_in; rewrite eval_without by assumption; exact Y. }
    apply IH; [intros w' I2; apply V; right; exact I2 | |].
    - eapply join_left; [exact W |]; eapply D; [exact Fv | exact B | exact U].
    - pose proof (Q _ _ _ Fv J) as Z0; unfold true_in in Z0; rewrite subst_ok in Z0.
      unfold true_in; rewrite <- Z0; symmetry.
      set (r := eval b (updated (updated names x start) y v)).
      rewrite <- (eval_without i y M (updated names x r) v); apply eval_ext; intros z; unfold updated.
      destruct (String.eqb x z) eqn:XZ; destruct (String.eqb y z) eqn:YZ; try reflexivity.
      apply String.eqb_eq in XZ, YZ; subst; rewrite String.eqb_refl in X; discriminate. }
  apply G; auto.
Qed.

Lemma instance_of_range_ok : forall c names js f, fits c names -> Forall (fun j => defined c j = true) js -> true_in names f ->
  Forall (true_in names) (instance_of_range refute c js f).
Proof.
  intros c names js f F J H; destruct f; try apply Forall_nil; cbn [instance_of_range]; destruct f1; try apply Forall_nil.
  pose proof F as [P _]; apply Forall_flat_map; eapply Forall_impl; [| exact J]; intros j Dj.
  destruct (decides _ _ _ _ && _ && _ && _) eqn:E; [| constructor]; split_and; constructor; [| constructor].
  destruct (forall_true _ _ _ _ _ P H0 H) as [l [L A]]; rewrite Forall_forall in A.
  cbn [eval] in L; destruct (range_solid (eval f1_1 names) (eval f1_2 names)) as [x [y [X Y]]]; [rewrite L; simpl; tauto |].
  destruct (int_known (named c) names j) as [z Z']; [assumption | intros m M; eapply D; eassumption |].
  rewrite X, Y in L; cbn [range] in L; inversion L; subst; unfold true_in; rewrite subst_ok, Z'; apply A.
  assert (Lo : x <= z) by (eapply no_contradiction; [exact Z' | exact X |]; intros T; eapply R; [apply fits_assume; [exact F | exact T] | assumption]).
  assert (Hi : z < y) by (eapply no_contradiction'; [exact Y | exact Z' |]; intros T; eapply R; [apply fits_assume; [exact F | exact T] | assumption]).
  unfold integers; apply in_map_iff; exists z; split; [reflexivity |].
  apply in_map_iff; exists (Z.to_nat (z - x)); split; [lia | apply in_seq; lia].
Qed.

Lemma product_positive : forall l, Forall (fun v => exists n, v = VInt n /\ 0 < n) l -> exists z, apply Product l = VInt z /\ 0 < z.
Proof.
  intros l H; cbn [apply]; replace (existsb is_zero l) with false.
  - unfold total; rewrite strict_known.
    + assert (G : forall start, 0 < start -> exists z, fold_left (calculate Times) l (VInt start) = VInt z /\ 0 < z).
      { induction H as [| v l [n [V N]] H IH]; intros start S; simpl; [eauto |]; subst; cbn [calculate on_integers]; apply IH; nia. }
      apply G; lia.
    + eapply Forall_impl; [| exact H]; intros v [n [V _]]; subst; simpl; tauto.
  - symmetry; induction H as [| v l [n [V N]] H IH]; [reflexivity |]; subst; cbn [existsb]; rewrite IH, orb_false_r.
    unfold is_zero; cbn [equal]; replace (n =? 0) with false; [reflexivity | symmetry; apply Z.eqb_neq; lia].
Qed.

Lemma positive_product_ok : forall c names e z, fits c names -> positive_product prove c e = true -> eval e names = VInt z -> 0 < z.
Proof.
  intros c names e z F H E; destruct e; try discriminate; destruct function; try discriminate; cbn [positive_product] in H; split_and.
  pose proof F as [P _]; unfold element_kind in H; destruct (kind_of (named c) e) as [k |] eqn:K; [| discriminate].
  destruct k as [| | | | | | k |]; try discriminate; destruct (forall_true (named c) names member_name e (Compare Less (Int 0) (Name member_name)) P) as [l [L A]].
  { unfold decides; rewrite K; reflexivity. }
  { exact (Q _ _ _ F H0). }
  pose proof (kind_of_ok _ _ _ _ P K) as M; cbn [eval] in E; rewrite L in *; cbn [on_list] in E; simpl in M.
  destruct (product_positive l) as [y [Y N]]; [| rewrite Y in E; inversion E; subst; exact N].
  eapply Forall_and2; [| exact M | exact A]; intros v V T; cbn beta in *; apply may_integer in V; [| exact H].
  cbn [eval compare] in T; unfold updated in T; rewrite String.eqb_refl in T.
  destruct v as [n | | | | | | c' s']; simpl in V; try contradiction; [| cbn in T; destruct c'; discriminate].
  exists n; split; [reflexivity |]; cbn in T; inversion T as [T']; apply Z.ltb_lt; exact T'.
Qed.

Lemma plain_value : forall c names e, fits c names -> defined c e = true -> plain_kind (named c) e = true ->
  exists k, kind_of (named c) e = Some k /\ plain k = true /\ has k (eval e names).
Proof.
  intros c names e F H P; unfold plain_kind in P; destruct (kind_of (named c) e) as [k |] eqn:K; [| discriminate].
  exists k; repeat split; auto; eapply D; eassumption.
Qed.

Lemma compare_known : forall sign a b k l, has k a -> has l b -> plain k = true -> plain l = true ->
  match sign with Member => exists items, b = VList items | _ => True end -> exists t, compare sign a b = VBool t.
Proof.
  intros sign a b k l A B P P' S; destruct sign; cbn [compare].
  - eapply plain_known; [exact P | exact A | exact P' | exact B].
  - rewrite strict_known; [eauto |]; repeat constructor; eapply has_solid; eassumption.
  - rewrite strict_known; [eauto |]; repeat constructor; eapply has_solid; eassumption.
  - destruct S as [items S]; subst; cbn [contains].
    assert (N : Forall (fun v => ~ unknown v) (map (fun item => negation (equal item a)) items)).
    { destruct l; simpl in B; try contradiction; apply Forall_map; eapply Forall_impl; [| exact B]; intros v V.
      destruct (plain_known l v P' V k a P A) as [t E]; rewrite E; simpl; tauto. }
    destruct (kleene_known false _ N) as [t E]; rewrite E; simpl; eauto.
Qed.

Lemma differences_known : forall k l, plain k = true -> Forall (has k) l -> Forall (fun v => ~ unknown v) (differences l).
Proof.
  intros k l P H; induction H as [| v l V H IH]; cbn; [constructor |]; apply Forall_app; split; [| exact IH].
  apply Forall_map; eapply Forall_impl; [| exact H]; intros w W.
  destruct (plain_known k v P V k w P W) as [t E]; rewrite E; simpl; tauto.
Qed.

Lemma step_defined_ok : forall c names e k, fits c names -> step_defined refute defined prove c e = true ->
  kind_of (named c) e = Some k -> has k (eval e names).
Proof.
  intros c names e k F H K; pose proof F as [P [Sr [_ G]]].
  assert (V : forall e, defined c e = true -> forall k, kind_of (named c) e = Some k -> has k (eval e names)) by (intros; eapply D; eassumption).
  assert (B : forall f, refute (assume f c) = true -> true_in names f -> False).
  { intros f A T; eapply R; [apply fits_assume; [exact F | exact T] | exact A]. }
  assert (C : (exists b, eval e names = VBool b) -> kind_of (named c) e = Some KBool -> has k (eval e names)).
  { intros [b E] E'; rewrite E' in K; inversion K; rewrite E; exact I. }
  destruct e; cbn [step_defined] in H.
  - cbn [kind_of] in K; inversion K; cbn [eval]; destruct (0 <=? number) eqn:E; simpl; [apply Z.leb_le; exact E | exact I].
  - inversion K; exact I.
  - inversion K; exact I.
  - destruct (lookup name (sure c)) as [[] |] eqn:E; [| | discriminate]; cbn [kind_of] in K; specialize (Sr _ _ _ K E); cbn [eval]; [exact Sr |].
    destruct Sr as [U | U]; [| exact U]; exfalso; eapply B; [exact H |].
    apply not_intro; cbn [eval]; destruct (names name); simpl in U; try contradiction; reflexivity.
  - inversion K; simpl; constructor.
  - split_and; cbn [kind_of] in K; destruct (kind_of (named c) e1) as [ka |] eqn:Ka; [| discriminate].
    destruct (kind_of (named c) e2) as [[] |] eqn:Kl; try discriminate; cbn [option_bind item_kind] in K.
    match type of K with option_map _ (join ka ?x) = _ => destruct (join ka x) as [j |] eqn:J; [| discriminate] end.
    cbn [option_map] in K; inversion K; subst; cbn [eval].
    pose proof (V e2 ltac:(assumption) _ Kl) as L; destruct (eval e2 names); try contradiction; try (destruct L; discriminate).
    simpl in L; simpl; constructor; [eapply join_left; [exact J | apply (V e1); assumption] |].
    eapply Forall_impl; [| exact L]; intros v; eapply join_right; exact J.
  - split_and; cbn [kind_of] in K; destruct (kind_of (named c) e) as [[] |] eqn:E; try discriminate.
    pose proof (V _ H _ E) as W; cbn [eval]; destruct (eval e names); simpl in W; try contradiction; try (destruct W; discriminate).
    destruct W as [S [T U]]; cbn [evaluation.field].
    destruct (String.eqb field "rank") eqn:E1.
    { inversion K; destruct (assoc "shape" fields); try contradiction; simpl; lia. }
    destruct (String.eqb field "shape") eqn:E2.
    { apply String.eqb_eq in E2; inversion K; subst; destruct (assoc "shape" fields); try contradiction; apply extents_of_kind; exact S. }
    destruct (String.eqb field "type") eqn:E3.
    { apply String.eqb_eq in E3; inversion K; subst; destruct (assoc "type" fields); try contradiction; exact T. }
    destruct (String.eqb field "values") eqn:E4; [| discriminate]; apply String.eqb_eq in E4; inversion K; subst.
    destruct (assoc "values" fields); try contradiction; [apply numbers_of_kind; exact U |].
    destruct U as [U _]; subst; simpl in H0; discriminate.
  - split_and; cbn [kind_of] in K; bind K; destruct k0; try discriminate; inversion K; subst.
    assert (De : defined c e1 = true) by assumption; assert (Di : defined c e2 = true) by assumption.
    pose proof (V _ De _ E) as L; cbn [eval]; destruct (eval e1 names) as [| | | | l | |] eqn:E1; simpl in L; try contradiction; try (destruct L; discriminate).
    destruct (int_known (named c) names e2) as [z Z']; [assumption | exact (V _ Di) |]; rewrite Z'.
    assert (Lo : 0 <= z) by (apply (no_contradiction names e2 (Int 0) z 0 Z' eq_refl); apply B; assumption).
    assert (Hi : z < Z.of_nat (List.length l)) by (eapply no_contradiction'; [apply length_form_ok; exact E1 | exact Z' | apply B; assumption]).
    cbn [item]; rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)) by lia; cbn [andb].
    rewrite Forall_forall in L; apply L, nth_In; lia.
  - split_and; cbn [kind_of] in K; destruct (kind_of (named c) e1) as [[] |] eqn:E; inversion K; subst.
    assert (De : defined c e1 = true) by assumption; assert (Da : defined c e2 = true) by assumption; assert (Db : defined c e3 = true) by assumption.
    pose proof (V _ De _ E) as L; cbn [eval]; destruct (eval e1 names) as [| | | | l | |] eqn:E1; simpl in L; try contradiction; try (destruct L; discriminate).
    destruct (int_known (named c) names e2) as [x X]; [assumption | exact (V _ Da) |].
    destruct (int_known (named c) names e3) as [y Y]; [assumption | exact (V _ Db) |]; rewrite X, Y.
    assert (Lo : 0 <= x) by (apply (no_contradiction names e2 (Int 0) x 0 X eq_refl); apply B; assumption).
    assert (Mi : x <= y) by (eapply no_contradiction; [exact Y | exact X | apply B; assumption]).
    assert (Hi : y <= Z.of_nat (List.length l)) by (eapply no_contradiction; [apply length_form_ok; exact E1 | exact Y | apply B; assumption]).
    cbn [part]; rewrite !(proj2 (Z.leb_le _ _)) by lia; cbn [andb]; simpl; apply forall_firstn, forall_skipn; exact L.
  - apply andb_prop in H; destruct H as [H T]; apply andb_prop in H; destruct H as [Da Db].
    cbn [kind_of] in K; bind K; bind K; apply orb_prop in T; destruct T as [T | T]; split_and.
    + unfold is_list in H, H0; rewrite E in H; rewrite E0 in H0; destruct k0; try discriminate; destruct k1; try discriminate.
      simpl in K; destruct sign; try discriminate; bind K.
      pose proof (V _ Da _ E) as L; pose proof (V _ Db _ E0) as M; cbn [eval].
      destruct (eval e1 names); simpl in L; try contradiction; try (destruct L; discriminate).
      destruct (eval e2 names); simpl in M; try contradiction; try (destruct M; discriminate).
      simpl; apply Forall_app; split; (eapply Forall_impl; [| eassumption]); intros v; [eapply join_left | eapply join_right]; eassumption.
    + destruct (int_known (named c) names e1) as [x X]; [assumption | exact (V _ Da) |].
      destruct (int_known (named c) names e2) as [y Y]; [assumption | exact (V _ Db) |].
      assert (M : may k (eval (Arithmetic sign e1 e2) names)).
      { eapply kind_of_ok; [exact P |]; cbn [kind_of]; rewrite E, E0; exact K. }
      assert (S : exists z, eval (Arithmetic sign e1 e2) names = VInt z).
      { cbn [eval]; rewrite X, Y; destruct sign; cbn [calculate on_integers]; eauto.
        all: match goal with T : _ || _ = true |- _ => cbn [quotient negb orb] in T; apply orb_prop in T; assert (Po : 0 < y) by (destruct T as [T | T];
          [apply (no_contradiction' names e2 (Int 0) y 0 Y eq_refl); apply B; exact T | eapply positive_product_ok; eassumption]) end;
          rewrite (proj2 (Z.ltb_lt _ _)) by lia; eauto. }
      destruct S as [z S]; rewrite S in *; destruct k; simpl in M; try contradiction; simpl; auto.
  - cbn [kind_of] in K; destruct (kind_of (named c) e) as [j |] eqn:E; [| discriminate]; pose proof (V _ H _ E) as W; cbn [eval].
    destruct j; inversion K; subst; destruct (eval e names); simpl in W; try contradiction; try (destruct W; discriminate);
      repeat match goal with f : floating |- _ => destruct f end; try contradiction; exact I.
  - split_and; cbn [kind_of] in K; bind K; inversion K; subst.
    assert (De : defined c e1 = true) by assumption; assert (Di : defined c e2 = true) by assumption.
    destruct (plain_value _ _ _ F De) as [k1 [_ [P1 V1]]]; [assumption |]; destruct (plain_value _ _ _ F Di) as [k2 [_ [P2 V2]]]; [assumption |].
    cbn [eval]; destruct (compare_known sign _ _ _ _ V1 V2 P1 P2) as [t T]; [| rewrite T; exact I].
    destruct sign; auto; eapply list_known; [eassumption | exact (V _ Di)].
  - split_and; apply C; [| reflexivity]; cbn [eval].
    destruct (bool_value (named c) names e1) as [x X]; [assumption | apply V; assumption |]; rewrite X.
    destruct x; [| eexists; reflexivity].
    destruct (bool_value (named c) names e2) as [y Y]; [assumption | intros m M; eapply (D (assume e1 c)); [apply fits_assume; [exact F | exact X] | assumption | exact M] |].
    rewrite Y; destruct y; eexists; reflexivity.
  - split_and; apply C; [| reflexivity]; cbn [eval].
    destruct (bool_value (named c) names e1) as [x X]; [assumption | apply V; assumption |]; rewrite X.
    destruct x; [eexists; reflexivity |].
    destruct (bool_value (named c) names e2) as [y Y]; [assumption | intros m M; eapply (D (assume (Not e1) c)); [apply fits_assume; [exact F | apply not_intro; exact X] | assumption | exact M] |].
    rewrite Y; destruct y; eexists; reflexivity.
  - split_and; cbn [kind_of] in K; destruct (bool_value (named c) names e) as [x X]; [assumption | apply V; assumption |].
    destruct (kind_of (named c) e) as [[] |]; inversion K; cbn [eval]; rewrite X; exact I.
  - split_and; cbn [kind_of] in K; destruct (kind_of (named c) e1) as [[] |] eqn:E; try discriminate; bind K; bind K.
    destruct (bool_value (named c) names e1) as [x X]; [assumption | apply V; assumption |].
    cbn [eval]; rewrite X; destruct x; cbn [choice].
    + eapply join_left; [exact K |]; eapply (D (assume e1 c)); [apply fits_assume; [exact F | exact X] | assumption | exact E0].
    + eapply join_right; [exact K |]; eapply (D (assume (Not e1) c)); [apply fits_assume; [exact F | apply not_intro; exact X] | assumption | exact E1].
  - split_and; cbn [kind_of] in K; bind K; inversion K; subst; destruct (body_ok _ _ _ _ _ F H H0) as [l [k1 [_ [L [_ A]]]]].
    cbn [eval]; rewrite L; cbn [on_list]; destruct (kleene_known false _ (bools_known _ _ A)) as [t T]; rewrite T; exact I.
  - split_and; cbn [kind_of] in K; bind K; inversion K; subst; destruct (body_ok _ _ _ _ _ F H H0) as [l [k1 [_ [L [_ A]]]]].
    cbn [eval]; rewrite L; cbn [on_list]; destruct (kleene_known true _ (bools_known _ _ A)) as [t T]; rewrite T; exact I.
  - apply andb_prop in H; destruct H as [H T]; apply andb_prop in H; destruct H as [Ds Db].
    destruct (body_ok _ _ _ _ _ F Ds Db) as [l [k1 [E [L [A A']]]]]; rewrite E in T.
    cbn [kind_of] in K; unfold element_kind in E; destruct (kind_of (named c) e1) as [ks |]; [| discriminate].
    destruct ks; try discriminate; inversion E; subst; cbn [option_bind item_kind] in K; bind K.
    cbn [eval]; rewrite L; cbn [on_list]; rewrite (strict_known _ _ (bools_known _ _ A')); simpl.
    apply Forall_map, Forall_forall; intros v W; apply filter_In in W; destruct W as [W T'].
    rewrite Forall_forall in A; eapply (D (assume e2 (enter variable k1 [e1] c))); [| exact T | exact E0].
    apply fits_assume; [apply fits_enter; [exact F | apply A; exact W | constructor; [| constructor]; exists l; split; [exact L | exact W]] |].
    unfold true_in; destruct (eval e2 (updated names variable v)); try discriminate; destruct truth; [reflexivity | discriminate].
  - discriminate.
  - split_and; cbn [kind_of] in K; destruct (element_kind (named c) e) as [ke |] eqn:E; [| discriminate].
    destruct (element_ok _ names e ke P E) as [l [L A]]; [exact (V _ H) |].
    assert (M : may k (eval (Apply function e) names)) by (eapply kind_of_ok; [exact P | exact K]).
    unfold element_kind in E; destruct (kind_of (named c) e) as [ks |]; [| discriminate]; destruct ks; try discriminate; inversion E; subst.
    cbn [option_bind item_kind] in K; cbn [eval] in *; rewrite L in *; cbn [on_list] in *.
    assert (U : Forall (fun v => ~ unknown v) l) by (eapply numbers_strict; exact A).
    destruct function; cbn [applied] in K; cbn [function_defined] in H0.
    + inversion K; subst; cbn [apply]; simpl; lia.
    + assert (T : exists z, apply Sum l = VInt z).
      { cbn [apply]; unfold total; rewrite (strict_known _ _ U); apply fold_known; [exact I |].
        eapply Forall_impl; [| exact A]; intros v W; destruct ke; try discriminate; destruct v; simpl in W; try contradiction; try (destruct W; discriminate); exact I. }
      destruct T as [z T]; rewrite T in *; destruct k; simpl in M; try contradiction; simpl; auto.
    + assert (T : exists z, apply Product l = VInt z).
      { cbn [apply]; destruct (existsb is_zero l); [eauto |]; unfold total; rewrite (strict_known _ _ U); apply fold_known; [exact I |].
        eapply Forall_impl; [| exact A]; intros v W; destruct ke; try discriminate; destruct v; simpl in W; try contradiction; try (destruct W; discriminate); exact I. }
      destruct T as [z T]; rewrite T in *; destruct k; simpl in M; try contradiction; simpl; auto.
    + apply andb_prop in H0; destruct H0 as [N W]; rewrite N in K; inversion K; subst; cbn [apply]; apply extreme_known; auto.
      intros Z0; subst; eapply B; [exact W |]; eapply at_most_intro; [apply length_form_ok; exact L | reflexivity | simpl; lia].
    + apply andb_prop in H0; destruct H0 as [N W]; rewrite N in K; inversion K; subst; cbn [apply]; apply extreme_known; auto.
      intros Z0; subst; eapply B; [exact W |]; eapply at_most_intro; [apply length_form_ok; exact L | reflexivity | simpl; lia].
    + inversion K; subst; cbn [apply]; destruct (kleene_known false _ U) as [t T]; rewrite T; exact I.
    + inversion K; subst; cbn [apply]; destruct (kleene_known true _ U) as [t T]; rewrite T; exact I.
    + inversion K; subst; cbn [apply]; destruct (kleene_known false _ (differences_known _ _ H0 A)) as [t T]; rewrite T; exact I.
  - split_and; assert (Da : defined c e1 = true) by assumption; assert (Db : defined c e2 = true) by assumption.
    assert (M : may k (eval (Range e1 e2) names)) by (eapply kind_of_ok; [exact P | exact K]).
    cbn [kind_of] in K; destruct (int_known (named c) names e1) as [x X]; [assumption | exact (V _ Da) |].
    destruct (int_known (named c) names e2) as [y Y]; [assumption | exact (V _ Db) |].
    cbn [eval] in *; rewrite X, Y in *; cbn [range] in *; inversion K; subst; simpl in M |- *.
    apply Forall_forall; intros v W; rewrite Forall_forall in M; specialize (M _ W); apply in_map_iff in W.
    destruct W as [z [W _]]; subst v; destruct (kind_of (named c) e1) as [[] |]; simpl in M |- *; auto.
  - inversion K; exact I.
  - discriminate.
  - apply andb_prop in H; destruct H as [H T]; apply andb_prop in H; destruct H as [Ds Da].
    destruct (element_kind (named c) e2) as [ke |] eqn:E; [| discriminate]; rewrite K in T.
    unfold reduce_defined in T.
    match type of T with match first_some ?g ?l with _ => _ end = _ => destruct (first_some g l) as [f' |] eqn:T'; [| discriminate] end.
    clear T; apply first_some_ok in T'; destruct T' as [f [_ T]].
    match type of T with (if ?b then _ else _) = _ => destruct b eqn:T'; [| discriminate] end; clear T; rename T' into T.
    match type of T with kept _ _ (with_given c ?a) _ _ _ _ _ _ _ _ = true => assert (F' : fits (with_given c a) names) end.
    { apply fits_given; [exact F |]; apply expanded_ok; [exact P | | apply expanded_ok; auto].
      apply Forall_flat_map; eapply Forall_impl; [| apply (expanded_ok rounds (named c) names (given c) []); auto].
      intros g Tg; apply instance_of_range_ok; auto; apply Forall_forall; intros j J; apply filter_In in J; tauto. }
    destruct f; try discriminate; cbn [kept] in T; split_and.
    repeat match goal with N : negb _ = true |- _ => apply negb_true_iff in N end.
    match goal with X : expr_eqb e2 _ = true |- _ => apply expr_eqb_ok in X; subst end.
    eapply (reduce_ok (with_given c _)); [exact F' | exact E | exact K | exact (V _ Ds) | exact (V _ Da) | | | | | |]; eassumption.
  - exfalso; eapply R; eassumption.
Qed.

Lemma kleene_part : forall (f : value -> value) a b, (forall v, In v a -> In v b) -> kleene false (map f b) = VBool true ->
  kleene false (map f a) = VBool true.
Proof.
  intros f a b S H; apply (kleene_false_cases false) in H; destruct H as [X U]; unfold kleene.
  destruct (existsb (is_truth false) (map f a)) eqn:E.
  - apply existsb_exists in E; destruct E as [v [I T]]; apply in_map_iff in I; destruct I as [w [I J]]; subst.
    rewrite <- not_true_iff_false in X; exfalso; apply X, existsb_exists; exists (f w); split; [apply in_map, S, J | exact T].
  - apply strict_known; apply Forall_forall; intros v I; apply in_map_iff in I; destruct I as [w [I J]]; subst.
    exact (known_map _ _ U w (S _ J)).
Qed.

Lemma prove_all_ok : forall c names x s p, fits c names -> prove_all defined prove c x s p = true -> true_in names (ForAll x s p).
Proof.
  intros c names x s p F H; pose proof F as [P _].
  assert (V : forall e, defined c e = true -> forall k, kind_of (named c) e = Some k -> has k (eval e names)) by (intros; eapply D; eassumption).
  assert (Cs : forall q, is_bool (named c) q = true -> defined c q = true -> true_in names q \/ true_in names (Not q)).
  { intros q I E; eapply bool_cases; [exact I | exact (V _ E)]. }
  assert (W : forall g, prove c g = true -> true_in names g) by (intros; eapply Q; eassumption).
  assert (Z : defined c s && match element_kind (named c) s with Some k => prove (enter x k [s] c) p | None => false end = true ->
    true_in names (ForAll x s p)).
  { intros E; split_and; destruct (element_kind (named c) s) as [k |] eqn:E; [| discriminate].
    destruct (element_ok _ names s k P E) as [l [L A]]; [apply V; assumption |]; eapply forall_intro; [exact L |].
    apply Forall_forall; intros v I; rewrite Forall_forall in A; apply (Q (enter x k [s] c)); [| assumption].
    apply fits_enter; [exact F | apply A; exact I | constructor; [| constructor]; exists l; auto]. }
  destruct s; cbn [prove_all] in H; try (apply Z; exact H).
  - eapply forall_intro; [reflexivity | constructor].
  - split_and; pose proof (W _ H) as A; pose proof (W _ H0) as B; unfold true_in in A, B; rewrite subst_ok in A; cbn [eval] in B.
    destruct (eval s2 names) as [| | | | l | |] eqn:E; try discriminate; cbn [on_list] in B.
    unfold true_in; cbn [eval]; rewrite E; cbn [on_list map]; unfold kleene in *; cbn [existsb]; rewrite A; cbn [is_truth Bool.eqb orb].
    destruct (existsb _ _); [discriminate |]; destruct (strict_cases (map (fun v => eval p (updated names x v)) l) (VBool (negb false))) as [[S U] | [k S]];
      rewrite S in B; [| discriminate]; apply strict_known; constructor; [simpl; tauto | exact U].
  - split_and; destruct (list_known (named c) names (Part s1 s2 s3)) as [l L]; [assumption | apply V; assumption |].
    match goal with X : prove c (ForAll x s1 p) = true |- _ => pose proof (W _ X) as T end.
    pose proof L as L'; cbn [eval] in L'; assert (S : ~ unknown (part (eval s1 names) (eval s2 names) (eval s3 names))) by (rewrite L'; simpl; tauto).
    destruct (part_solid _ _ _ S) as [w [a [b [A [_ [_ [_ [_ E]]]]]]]]; rewrite L' in E; inversion E.
    unfold true_in in *; cbn [eval] in T |- *; cbn [eval] in L; rewrite L; rewrite A in T; cbn [on_list] in *.
    eapply kleene_part; [| exact T]; subst l; apply Forall_forall, forall_firstn, forall_skipn, Forall_forall; auto.
  - destruct sign; try (apply Z; exact H); split_and.
    destruct (list_known (named c) names (Arithmetic Plus s1 s2)) as [l L]; [assumption | apply V; assumption |].
    cbn [eval] in L; apply calculate_list in L; destruct L as [a [b [A [B E]]]]; subst.
    match goal with X : prove c (ForAll x s1 p) = true |- _ => pose proof (W _ X) as T1 end.
    match goal with X : prove c (ForAll x s2 p) = true |- _ => pose proof (W _ X) as T2 end.
    unfold true_in in *; cbn [eval] in *; rewrite A in *; rewrite B in *; cbn [calculate on_list] in *; rewrite map_app.
    unfold kleene in *; rewrite existsb_app.
    destruct (existsb (is_truth false) (map (fun v => eval p (updated names x v)) a)); [discriminate |].
    destruct (existsb (is_truth false) (map (fun v => eval p (updated names x v)) b)); [discriminate |]; cbn [orb].
    destruct (strict_cases (map (fun v => eval p (updated names x v)) a) (VBool (negb false))) as [[S U] | [k S]]; rewrite S in T1; [| discriminate].
    destruct (strict_cases (map (fun v => eval p (updated names x v)) b) (VBool (negb false))) as [[S' U'] | [k S']]; rewrite S' in T2; [| discriminate].
    apply strict_known, Forall_app; split; assumption.
  - split_and; destruct (Cs s1) as [T | T]; auto.
    + assert (A : true_in names (ForAll x s2 p)) by (eapply (Q (assume s1 c)); [apply fits_assume; assumption | assumption]).
      unfold true_in in *; cbn [eval] in *; rewrite T; exact A.
    + assert (A : true_in names (ForAll x s3 p)) by (eapply (Q (assume (Not s1) c)); [apply fits_assume; assumption | assumption]).
      apply not_true in T; unfold true_in in *; cbn [eval] in *; rewrite T; exact A.
  - destruct (match s3 with Name z => String.eqb variable z | _ => false end); [apply Z; exact H |].
    apply andb_prop in H; destruct H as [H T]; split_and; assert (N : negb (String.eqb x variable) && mentions variable p = false).
    { destruct (String.eqb x variable); [reflexivity | apply negb_true_iff; assumption]. }
    destruct (element_kind (named c) s1) as [k |] eqn:E; [| discriminate]; split_and.
    destruct (list_known (named c) names (Collect variable s1 s2 s3)) as [l L]; [assumption | apply V; assumption |].
    destruct (element_ok _ names s1 k P E) as [w [A B]]; [apply V; assumption |].
    eapply forall_intro; [exact L |]; cbn [eval] in L; rewrite A in L; cbn [on_list] in L.
    match type of L with strict ?a ?b = _ => destruct (strict_cases a b) as [[S _] | [j S]]; rewrite S in L; [| discriminate] end.
    inversion L; subst; apply Forall_map, Forall_forall; intros v I; apply filter_In in I; destruct I as [I T'].
    rewrite Forall_forall in B.
    assert (G : true_in (updated names variable v) (subst x s3 p)).
    { eapply (Q (assume s2 (enter variable k [s1] c))); [| eassumption].
      apply fits_assume; [apply fits_enter; [exact F | apply B; exact I | constructor; [| constructor]; exists w; auto] |].
      unfold true_in; destruct (eval s2 (updated names variable v)); try discriminate; destruct truth; [reflexivity | discriminate]. }
    unfold true_in in G; rewrite of_inner in G by exact N; exact G.
Qed.

Lemma sum_at_least : forall l, Forall (fun v => exists n, v = VInt n /\ 0 <= n) l -> exists z, apply Sum l = VInt z /\ 0 <= z.
Proof.
  intros l H; cbn [apply]; unfold total; rewrite strict_known.
  - assert (G : forall start, 0 <= start -> exists z, fold_left (calculate Plus) l (VInt start) = VInt z /\ 0 <= z).
    { induction H as [| v l [n [V N]] H IH]; intros start S; simpl; [eauto |]; subst; cbn [calculate on_integers]; apply IH; lia. }
    apply G; lia.
  - eapply Forall_impl; [| exact H]; intros v [n [V _]]; subst; simpl; tauto.
Qed.

Lemma prove_sum_ok : forall c names s, fits c names -> prove_sum prove c s = true -> true_in names (Compare AtMost (Int 0) (Apply Sum s)).
Proof.
  intros c names s F H; unfold prove_sum in H; split_and; pose proof F as [P _].
  unfold element_kind in H; destruct (kind_of (named c) s) as [k |] eqn:K; [| discriminate]; destruct k as [| | | | | | k |]; try discriminate.
  destruct (forall_true (named c) names member_name s (Compare AtMost (Int 0) (Name member_name)) P) as [l [L A]].
  { unfold decides; rewrite K; reflexivity. }
  { exact (Q _ _ _ F H0). }
  pose proof (kind_of_ok _ _ _ _ P K) as M; rewrite L in M; simpl in M; destruct (sum_at_least l) as [z [Z' N]].
  - eapply Forall_and2; [| exact M | exact A]; intros v V T; cbn beta in *; apply may_integer in V; [| exact H].
    cbn [eval compare] in T; unfold updated in T; rewrite String.eqb_refl in T.
    destruct v as [n | | | | | | c' s']; simpl in V; try contradiction; [| cbn in T; destruct c'; discriminate].
    exists n; split; [reflexivity |]; cbn in T; inversion T as [T']; apply negb_true_iff, Z.ltb_ge in T'; exact T'.
  - eapply at_most_intro; [reflexivity | cbn [eval]; rewrite L; exact Z' | exact N].
Qed.

Lemma step_prove_ok : forall c names g, fits c names -> step_prove refute defined prove c g = true -> true_in names g.
Proof.
  intros c names g F H; unfold step_prove in H; apply orb_prop in H; destruct H as [H | H].
  { apply member_ok in H; destruct F as [_ [_ [_ G]]]; rewrite Forall_forall in G; apply G; exact H. }
  assert (Cs : forall q, is_bool (named c) q = true -> defined c q = true -> true_in names q \/ true_in names (Not q)).
  { intros q I E; eapply bool_cases; [exact I |]; intros k K; eapply D; eassumption. }
  assert (O : prove_other refute defined prove c g = true -> true_in names g).
  { intros E; unfold prove_other in E; destruct (conditions g) as [| q l]; split_and.
    - destruct (Cs g) as [T | T]; auto; exfalso; eapply R; [apply fits_assume; [exact F | exact T] | assumption].
    - destruct (Cs q) as [T | T]; auto.
      + assert (A : true_in names (resolved q true g)) by (eapply (Q (assume q c)); [apply fits_assume; assumption | assumption]).
        unfold true_in in *; rewrite (resolved_ok q true) in A; assumption.
      + assert (A : true_in names (resolved q false g)) by (eapply (Q (assume (Not q) c)); [apply fits_assume; assumption | assumption]).
        unfold true_in in *; rewrite (resolved_ok q false) in A; [assumption | apply not_true; exact T]. }
  destruct g; try (apply O; exact H).
  - destruct sign; try (apply O; exact H); destruct g1; try (apply O; exact H); destruct number; try (apply O; exact H).
    destruct g2; try (apply O; exact H); destruct function; try (apply O; exact H).
    apply orb_prop in H; destruct H as [H | H]; [eapply prove_sum_ok; eassumption | apply O; exact H].
  - split_and; assert (A : true_in names g1) by (eapply Q; eassumption).
    assert (B : true_in names g2) by (eapply (Q (assume g1 c)); [apply fits_assume; assumption | assumption]).
    unfold true_in in *; cbn [eval]; rewrite A, B; reflexivity.
  - apply orb_prop in H; destruct H as [H | H]; [| apply or_intro; left; eapply Q; eassumption]; split_and.
    destruct (Cs g1) as [T | T]; auto; apply or_intro; [left; exact T | right].
    eapply (Q (assume (Not g1) c)); [apply fits_assume; assumption | assumption].
  - apply prove_all_ok with c; assumption.
Qed.
End Soundness.

Theorem search_ok : forall n,
  (forall c names, fits c names -> refute n c = true -> False) /\
  (forall c names e k, fits c names -> defined n c e = true -> kind_of (named c) e = Some k -> has k (eval e names)) /\
  (forall c names g, fits c names -> prove n c g = true -> true_in names g).
Proof.
  induction n as [| n [R [D Q]]]; [repeat split; intros; discriminate |]; repeat split; intros.
  - eapply step_refute_ok; eassumption.
  - eapply step_defined_ok; eassumption.
  - eapply step_prove_ok; eassumption.
Qed.
