(* What the search knows is so, for every call. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts choices conditions consequences knowledge search properties.
Import ListNotations.
Open Scope Z_scope.

(* The call fits the context. *)
Definition fits (c : context) (names : environment) : Prop :=
  possible (named c) names /\
  (forall x k b, lookup x (named c) = Some k -> lookup x (sure c) = Some b ->
     if b then has k (names x) else unknown (names x) \/ has k (names x)) /\
  Forall (fun '(m, s) => exists l, eval s names = VList l /\ In (eval m names) l) (within c) /\
  Forall (true_in names) (given c).

(* An expression is an item of a list. *)
Definition belongs (names : environment) (p : expr * expr) : Prop :=
  let (m, s) := p in exists l, eval s names = VList l /\ In (eval m names) l.

Lemma collected_item : forall names y t q a l v, eval (Collect y t q a) names = VList l -> In v l ->
  exists w u, eval t names = VList w /\ In u w /\ eval q (updated names y u) = VBool true /\ v = eval a (updated names y u).
Proof.
  intros names y t q a l v L I; cbn [eval] in L; destruct (eval t names) as [| | | | w | |] eqn:E; try discriminate; cbn [on_list] in L.
  match type of L with strict ?a ?b = _ => destruct (strict_cases a b) as [[S _] | [c S]]; rewrite S in L; [| discriminate] end.
  inversion L; subst; apply in_map_iff in I; destruct I as [u [V I]]; apply filter_In in I; destruct I as [I Q].
  exists w, u; repeat split; auto; destruct (eval q (updated names y u)); try discriminate; destruct truth; [reflexivity | discriminate].
Qed.

Lemma part_item : forall names t a b l v, eval (Part t a b) names = VList l -> In v l -> exists w, eval t names = VList w /\ In v w.
Proof.
  intros names t a b l v L I; cbn [eval] in L; assert (S : ~ unknown (part (eval t names) (eval a names) (eval b names))) by (rewrite L; simpl; tauto).
  destruct (part_solid _ _ _ S) as [w [x [y [W [_ [_ [_ [_ E]]]]]]]]; rewrite E in L; inversion L; subst; exists w; split; [exact W |].
  revert v I; apply Forall_forall, forall_firstn, forall_skipn, Forall_forall; auto.
Qed.

Lemma widened_ok : forall names m s, belongs names (m, s) -> Forall (belongs names) (widened m s) /\ Forall (true_in names) (filters m s).
Proof.
  intros names m s; induction s; intros B; cbn [widened filters]; try (split; repeat constructor; exact B).
  - destruct IHs1 as [W F].
    { destruct B as [l [L I]]; exact (part_item _ _ _ _ _ _ L I). }
    split; [constructor; [exact B | exact W] | exact F].
  - destruct s3; try (split; repeat constructor; exact B); destruct (String.eqb variable name) eqn:Q; [| split; repeat constructor; exact B].
    apply String.eqb_eq in Q; subst; pose proof B as [l [L I]]; destruct (collected_item _ _ _ _ _ _ _ L I) as [w [u [E [J [T V]]]]].
    cbn [eval] in V; unfold updated in V; rewrite String.eqb_refl in V; subst u.
    destruct IHs1 as [W F]; [exists w; auto |]; split; constructor; auto.
    unfold true_in; rewrite subst_ok; exact T.
Qed.

Lemma widened_first : forall m s p, In p (widened m s) -> fst p = m.
Proof.
  intros m s p; induction s; cbn [widened]; intros [E | H]; try (subst; reflexivity); try destruct H; auto.
  destruct s3; try destruct H; destruct (String.eqb variable name); [auto | destruct H].
Qed.

Lemma is_itself_ok : forall c names m s, fits c names -> is_itself c m = true -> belongs names (m, s) ->
  (match m with Item _ _ => solid names m | _ => True end) -> equal (eval m names) (eval m names) = VBool true.
Proof.
  intros c names m s [P [S _]] H B I; unfold is_itself in H; destruct (kind_of (named c) m) as [k |] eqn:K; [| discriminate]; split_and.
  eapply scalar_itself; [exact H |]; destruct m; try discriminate.
  - destruct (lookup name (sure c)) as [[] |] eqn:E; try discriminate; exact (S name k true K E).
  - apply has_of_may; [exact H | eapply kind_of_ok; eassumption | exact I].
Qed.

Lemma of_member_ok : forall c names m s, fits c names -> belongs names (m, s) ->
  (match m with Item _ _ => solid names m | _ => True end) -> Forall (true_in names) (of_member c m s).
Proof.
  intros c names m s F B I; unfold of_member; apply Forall_app; split; [apply widened_ok; exact B |].
  pose proof B as [l [L J]]; destruct s; try (constructor; fail).
  - destruct (is_itself c m) eqn:E; [| constructor]; destruct (listed (Cons s1 s2)) as [items |] eqn:Q; constructor; [| constructor].
    pose proof (is_itself_ok _ _ _ _ F E B I) as R; pose proof (listed_ok _ _ names Q) as L'; rewrite L in L'; inversion L'; subst.
    apply in_map_iff in J; destruct J as [e [V J]]; apply one_of_ok, Exists_exists; exists e; split; [exact J |].
    unfold true_in; cbn [eval compare]; rewrite V; exact R.
  - constructor.
    + eapply less_intro; [reflexivity | apply length_form_ok; exact L | destruct l; [destruct J | simpl; lia]].
    + assert (G : Forall (true_in names) (if is_itself c m && negb (mentions variable m)
        then [Exists variable s1 (And s2 (Compare Equal s3 m))] else [])).
      { destruct (is_itself c m && negb (mentions variable m)) eqn:E; constructor; [| constructor]; split_and; apply negb_true_iff in H0.
        pose proof (is_itself_ok _ _ _ _ F H B I) as R; destruct (collected_item _ _ _ _ _ _ _ L J) as [w [u [W [U [T V]]]]].
        eapply exists_intro; [exact W | exact U |]; cbn [eval compare]; rewrite T, (eval_without m variable H0), <- V, R; reflexivity. }
      destruct s3; try exact G; constructor.
  - cbn [eval] in L; destruct (range_solid (eval s1 names) (eval s2 names)) as [x [y [X Y]]]; [rewrite L; simpl; tauto |].
    rewrite X, Y in L; cbn [range] in L; inversion L; subst; apply in_map_iff in J; destruct J as [z [V J]].
    apply in_map_iff in J; destruct J as [n [N J]]; apply in_seq in J; symmetry in V.
    constructor; [eapply at_most_intro; [exact X | exact V | lia] |].
    constructor; [eapply less_intro; [exact V | exact Y | lia] | constructor].
Qed.

Lemma twins_ok : forall d names a b ps, possible d names -> is_list d a = true -> is_list d b = true ->
  true_in names (Compare Equal a b) -> Forall (solid names) ps -> Forall (true_in names) (twins a b ps).
Proof.
  intros d names a b ps P A B H S; destruct (equal_true _ _ _ _ P (is_list_kind _ _ A) (is_list_kind _ _ B) H) as [Sa Sb].
  destruct (is_list_ok _ _ _ P A Sa) as [l L]; destruct (is_list_ok _ _ _ P B Sb) as [r R].
  unfold true_in in H; cbn [eval compare] in H; rewrite L, R in H; destruct (equal_lists _ _ H) as [N T].
  apply Forall_flat_map; eapply Forall_impl; [| exact S]; intros e E; destruct e; try (constructor; fail).
  destruct (expr_eqb a e1 || expr_eqb b e1) eqn:Q; constructor; [| constructor].
  unfold solid in E; cbn [eval] in E; destruct (item_solid _ _ E) as [w [z [W [Z' [I _]]]]].
  assert (K : 0 <= z < Z.of_nat (List.length r)).
  { apply orb_prop in Q; destruct Q as [Q | Q]; apply expr_eqb_ok in Q; subst; [rewrite L in W | rewrite R in W]; inversion W; subst; lia. }
  unfold true_in; cbn [eval compare]; rewrite L, R, Z'; destruct (T (Z.to_nat z)) as [U X]; [lia |]; cbn [item]; rewrite N.
  rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)) by lia; cbn [andb]; apply equal_is_bool; auto using may_equal.
Qed.

Lemma instances_ok : forall c names ms ps places js f, fits c names -> Forall (belongs names) ms -> Forall (solid names) ps ->
  Forall (fun j => exists z, eval j names = VInt z) js -> Forall (fun j => exists z, eval j names = VInt z) places ->
  true_in names f -> Forall (true_in names) (instances c ms ps places js f).
Proof.
  intros c names ms ps places js f [P _] W S J J' H; destruct f; try (constructor; fail); cbn [instances].
  - destruct sign; try (constructor; fail); destruct (is_list (named c) f1 && is_list (named c) f2) eqn:I; [| constructor]; split_and.
    apply (twins_ok (named c)); assumption.
  - destruct (decides (named c) variable f1 f2) eqn:D; [| constructor].
    destruct (forall_true _ _ _ _ _ P D H) as [l [L A]]; rewrite Forall_forall in A; apply Forall_app; split.
    + apply Forall_flat_map; eapply Forall_impl; [| exact W]; intros [m s] [w [W1 W2]].
      destruct (expr_eqb f1 s) eqn:E; repeat constructor; apply expr_eqb_ok in E; subst.
      unfold true_in; rewrite subst_ok; apply A; congruence.
    + destruct f1; try (constructor; fail).
      assert (Q : Forall (fun j => exists z, eval j names = VInt z) (if asks_item variable f2 then js ++ places else js)).
      { destruct (asks_item variable f2); [apply Forall_app; split; assumption | assumption]. }
      apply Forall_map; eapply Forall_impl; [| exact Q]; intros j [z Z'].
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

Lemma memberships_ok : forall c names facts ps, fits c names -> Forall (true_in names) facts -> Forall (solid names) ps ->
  Forall (fun p => belongs names p /\ match fst p with Item _ _ => solid names (fst p) | _ => True end) (memberships c facts ps).
Proof.
  intros c names facts ps [_ [_ [W _]]] T S; unfold memberships; apply Forall_app; split.
  - apply Forall_flat_map; eapply Forall_impl; [| exact W]; intros [m s] [l [L I]]; destruct m; constructor; [| constructor].
    split; [| exact Logic.I]; exists l; split; [| exact I]; assert (U : eval (settle facts s) names = VList l) by (rewrite settle_ok; assumption).
    rewrite simple_ok; [exact U | exact T | unfold solid; rewrite U; simpl; tauto].
  - apply Forall_flat_map; eapply Forall_impl; [| exact S]; intros e E; destruct e; try (constructor; fail); constructor; [| constructor].
    split; [| exact E]; pose proof E as E'; unfold solid in E; cbn [eval] in E; destruct (item_solid _ _ E) as [l [z [L [_ [_ [_ I]]]]]].
    exists l; split; [exact L | exact I].
Qed.

(* Numbers that are equal compare alike. *)
Lemma less_rational : forall v w p q, rational v = Some p -> rational w = Some q -> less v w = negb (Qle_bool q p).
Proof.
  intros v w p q V W; destruct v; try discriminate; destruct w; try discriminate;
    repeat match goal with f : floating |- _ => destruct f end; try discriminate; simpl in V, W; inversion V; inversion W; subst;
    try reflexivity.
  unfold Qle_bool; simpl; rewrite !Z.mul_1_r, Z.ltb_antisym; reflexivity.
Qed.

Lemma at_most_alike : forall a b p q, (a == b)%Q -> (p == q)%Q -> Qle_bool a p = Qle_bool b q.
Proof.
  intros a b p q A P; apply eq_true_iff_eq; rewrite !Qle_bool_iff, A, P; reflexivity.
Qed.

Lemma equal_numbers : forall v w p q, rational v = Some p -> rational w = Some q -> equal v w = VBool true -> (p == q)%Q.
Proof.
  intros v w p q V W E; destruct v; try discriminate; destruct w; try discriminate;
    repeat match goal with f : floating |- _ => destruct f end; try discriminate; simpl in V, W, E; inversion V; inversion W; subst;
    inversion E as [Q].
  - apply Z.eqb_eq in Q; subst; reflexivity.
  - apply Qeq_bool_iff; exact Q.
  - apply Qeq_bool_iff; exact Q.
  - apply Qeq_bool_iff; exact Q.
Qed.

Lemma compared_known : forall names s a b, s = Less \/ s = AtMost -> true_in names (Compare s a b) ->
  ~ unknown (eval a names) /\ ~ unknown (eval b names) /\
  (if comparison_eqb s Less then less (eval a names) (eval b names) else at_most (eval a names) (eval b names)) = true.
Proof.
  intros names s a b S H; destruct (ordered_solid _ _ _ _ S H) as [A B]; unfold solid in A, B; repeat split; try assumption.
  unfold true_in in H; cbn [eval] in H; destruct S; subst; cbn [compare comparison_eqb] in *;
    rewrite strict_known in H by (repeat constructor; assumption); inversion H; reflexivity.
Qed.

Lemma compared_intro : forall names s a b, s = Less \/ s = AtMost -> ~ unknown (eval a names) -> ~ unknown (eval b names) ->
  (if comparison_eqb s Less then less (eval a names) (eval b names) else at_most (eval a names) (eval b names)) = true ->
  true_in names (Compare s a b).
Proof.
  intros names s a b S A B H; unfold true_in; cbn [eval]; destruct S; subst; cbn [compare comparison_eqb] in *; rewrite H;
    apply strict_known; repeat constructor; assumption.
Qed.

Lemma with_integer_ok : forall names x e g, (exists p q, rational (eval x names) = Some p /\ rational (eval e names) = Some q /\ (p == q)%Q) ->
  true_in names g -> Forall (true_in names) (with_integer x e g).
Proof.
  intros names x e g [p [q [X [E Q]]]] H.
  assert (K : ~ unknown (eval e names)) by (destruct (eval e names); try discriminate; simpl; tauto).
  assert (L : forall v, less (eval x names) v = less (eval e names) v /\ less v (eval x names) = less v (eval e names)).
  { intros v; destruct (rational v) as [r |] eqn:V.
    - rewrite (less_rational _ _ _ _ X V), (less_rational _ _ _ _ E V), (less_rational _ _ _ _ V X), (less_rational _ _ _ _ V E).
      split; f_equal; apply at_most_alike; try exact Q; reflexivity.
    - destruct (eval x names); try discriminate; destruct (eval e names); try discriminate; destruct v; try discriminate;
        repeat match goal with f : floating |- _ => destruct f end; try discriminate; split; reflexivity. }
  assert (N : is_nan (eval x names) = is_nan (eval e names)).
  { destruct (eval x names); try discriminate; destruct (eval e names); try discriminate;
      repeat match goal with f : floating |- _ => destruct f end; try discriminate; reflexivity. }
  assert (M : forall v, at_most (eval x names) v = at_most (eval e names) v /\ at_most v (eval x names) = at_most v (eval e names)).
  { intros v; unfold at_most; destruct (L v) as [-> ->]; rewrite N; split; reflexivity. }
  assert (G : forall s a b, s = Less \/ s = AtMost -> true_in names (Compare s a b) ->
    Forall (true_in names) ((if expr_eqb x a then [Compare s e b] else []) ++ (if expr_eqb x b then [Compare s a e] else []))).
  { intros s a b S T; destruct (compared_known _ _ _ _ S T) as [A [B C]]; apply Forall_app; split.
    - destruct (expr_eqb x a) eqn:I; constructor; [| constructor]; apply expr_eqb_ok in I; subst a.
      apply compared_intro; try assumption; destruct (L (eval b names)) as [L1 L2], (M (eval b names)) as [M1 M2]; rewrite <- L1, <- M1; exact C.
    - destruct (expr_eqb x b) eqn:I; constructor; [| constructor]; apply expr_eqb_ok in I; subst b.
      apply compared_intro; try assumption; destruct (L (eval a names)) as [L1 L2], (M (eval a names)) as [M1 M2]; rewrite <- L2, <- M2; exact C. }
  destruct g; try (constructor; fail); destruct sign; try (constructor; fail); apply G; auto.
Qed.

Lemma with_integers_ok : forall d names facts f, possible d names -> Forall (true_in names) facts -> true_in names f ->
  Forall (true_in names) (with_integers d facts f).
Proof.
  intros d names facts f P F H; destruct f; try (constructor; fail); destruct sign; try (constructor; fail); cbn [with_integers].
  destruct (is_number d f1 && is_int d f2) eqn:I; [| constructor]; split_and; unfold is_number in H0.
  destruct (kind_of d f1) as [k |] eqn:K; [| discriminate]; destruct k; try discriminate.
  assert (J : kind_of d f2 <> None) by (intros N; unfold is_int in H1; rewrite N in H1; discriminate).
  destruct (equal_true names f1 f2 d P) as [A B]; [congruence | exact J | exact H |].
  pose proof (kind_of_ok _ _ _ _ P K) as M; destruct (is_int_ok _ _ _ P H1 B) as [z Z'].
  unfold true_in in H; cbn [eval compare] in H; unfold solid in A.
  assert (X : exists p, rational (eval f1 names) = Some p).
  { destruct (eval f1 names); simpl in A, M; try tauto; repeat match goal with f : floating |- _ => destruct f end; try tauto; simpl; eauto. }
  destruct X as [p X]; apply Forall_flat_map; eapply Forall_impl; [| exact F]; intros g T; apply with_integer_ok; [| exact T].
  exists p, (inject_Z z); repeat split; [exact X | rewrite Z'; reflexivity |].
  eapply equal_numbers; [exact X | | exact H]; rewrite Z'; reflexivity.
Qed.

Lemma with_text_ok : forall names facts f, Forall (true_in names) facts -> true_in names f -> Forall (true_in names) (with_text facts f).
Proof.
  intros names facts f F H; destruct f; try (constructor; fail); destruct sign; try (constructor; fail); destruct f2; try (constructor; fail).
  cbn [with_text]; apply Forall_flat_map; eapply Forall_impl; [| exact F]; intros g G; destruct g; try (constructor; fail).
  destruct g; try (constructor; fail); destruct sign; try (constructor; fail); apply not_true in G; cbn [eval compare] in G.
  assert (V : eval f1 names = VText text).
  { unfold true_in in H; cbn [eval compare] in H; destruct (eval f1 names) as [| | | | | | c [s |]]; simpl in H; try discriminate.
    inversion H as [E]; apply String.eqb_eq in E; subst; reflexivity. }
  apply Forall_app; split.
  - destruct (expr_eqb f1 g1) eqn:E; constructor; [| constructor]; apply expr_eqb_ok in E; subst; rewrite V in G.
    apply not_intro; cbn [eval compare]; destruct (eval g2 names) as [| | | | | | c [s |]]; simpl in G |- *; try discriminate; try reflexivity.
    rewrite String.eqb_sym; exact G.
  - destruct (expr_eqb f1 g2) eqn:E; constructor; [| constructor]; apply expr_eqb_ok in E; subst; rewrite V in G.
    apply not_intro; exact G.
Qed.

Lemma more_ok : forall c names facts, fits c names -> Forall (true_in names) facts -> Forall (true_in names) (more c facts).
Proof.
  intros c names facts F H; unfold more; pose proof F as [P [_ [W _]]].
  set (ps := without_twins (flat_map (parts_of_condition (named c)) facts) []).
  assert (S : Forall (solid names) ps).
  { apply without_twins_ok; [| constructor]; apply Forall_flat_map; eapply Forall_impl; [| exact H]; intros f T.
    apply parts_of_condition_ok; assumption. }
  set (ms := flat_map (fun '(m, s) => widened m s) (memberships c facts ps)).
  assert (M : Forall (fun p => belongs names p /\ match fst p with Item _ _ => solid names (fst p) | _ => True end) ms).
  { apply Forall_flat_map; eapply Forall_impl; [| apply memberships_ok; eassumption]; intros [m s] [B I].
    apply Forall_forall; intros [n t] J; split.
    - destruct (widened_ok _ _ _ B) as [X _]; rewrite Forall_forall in X; exact (X _ J).
    - rewrite (widened_first _ _ _ J); exact I. }
  assert (R : Forall (fun j => exists z, eval j names = VInt z) (without_twins (in_ranges ms) [])).
  { apply without_twins_ok; [| constructor]; unfold in_ranges; apply Forall_flat_map; eapply Forall_impl; [| exact M].
    intros [m s] [[l [L I]] _]; destruct s; try (constructor; fail); constructor; [| constructor].
    cbn [eval] in L; destruct (range_solid (eval s1 names) (eval s2 names)) as [x [y [X Y]]]; [rewrite L; simpl; tauto |].
    rewrite X, Y in L; cbn [range] in L; inversion L; subst; apply in_map_iff in I; destruct I as [z [Z' _]]; eauto. }
  assert (J : Forall (fun j => exists z, eval j names = VInt z) (new (without_twins (in_ranges ms) []) (without_twins (indices ps) []))).
  { apply Forall_forall; intros j J; apply filter_In in J; destruct J as [J _]; revert j J; apply Forall_forall.
    apply without_twins_ok; [| constructor]; unfold indices; apply Forall_flat_map; eapply Forall_impl; [| exact S].
    intros e E; destruct e; try (constructor; fail); constructor; [| constructor].
    unfold solid in E; cbn [eval] in E; destruct (item_solid _ _ E) as [l [z [_ [Z' _]]]]; eauto. }
  repeat (apply Forall_app; split); apply Forall_flat_map.
  - eapply Forall_impl; [| exact S]; intros t T; apply properties_ok; assumption.
  - eapply Forall_impl; [| exact M]; intros [m s] [B I]; apply of_member_ok; assumption.
  - eapply Forall_impl; [| exact H]; intros f T; apply instances_ok; auto.
    eapply Forall_impl; [| exact M]; intros p [B _]; exact B.
  - eapply Forall_impl; [| exact H]; intros f T; apply with_integers_ok; assumption.
  - eapply Forall_impl; [| exact H]; intros f T; apply with_text_ok; assumption.
Qed.

Lemma tidy_ok : forall d names found f, possible d names -> Forall (true_in names) found -> true_in names f ->
  true_in names (tidy d found f).
Proof.
  intros d names found f P G H; unfold tidy; cbv zeta.
  assert (S : true_in names (settle found f)) by (unfold true_in; rewrite settle_ok; assumption).
  revert S; generalize (settle found f); clear f H; intros f H.
  assert (D : true_in names (simple depth found f)) by (unfold true_in; rewrite simple_ok; auto; apply true_solid; exact H).
  assert (E : forall a b v, eval (Compare Equal a b) names = VBool v -> kind_of d a <> None -> kind_of d b <> None ->
    eval (Compare Equal (simple depth found a) (simple depth found b)) names = VBool v).
  { intros a b v V A B; destruct (equal_known _ _ _ _ _ P A B V) as [S1 S2]; cbn [eval]; rewrite !simple_ok by assumption; exact V. }
  destruct f; try exact D.
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
  destruct sign; try discriminate.
  - destruct f2; try discriminate; destruct g; try discriminate; destruct sign; try discriminate; destruct g2; try discriminate.
    cbn [clash] in C; split_and; apply expr_eqb_ok in H; subst; unfold true_in in *; cbn [eval compare] in *.
    destruct (eval g1 names) as [| | | | | | c [s |]]; simpl in F, G; try discriminate.
    inversion F as [A]; inversion G as [B]; apply String.eqb_eq in A, B; subst; rewrite String.eqb_refl in H0; discriminate.
  - destruct g; try discriminate; destruct g; try discriminate; destruct sign; try discriminate; cbn [clash] in C.
    destruct (listed f2) as [i |] eqn:I; [| discriminate]; destruct (listed g2) as [j |] eqn:J; [| discriminate]; split_and.
    apply expr_eqb_ok in H; subst; apply not_true in G; unfold true_in in F; cbn [eval compare] in F, G.
    rewrite (listed_ok _ _ names I) in F; rewrite (listed_ok _ _ names J) in G.
    apply contains_true in F; destruct F as [l [v [L [V T]]]]; apply contains_false in G; destruct G as [r [R A]].
    inversion L; inversion R; subst; apply in_map_iff in V; destruct V as [e [V K]]; subst; rewrite forallb_forall in H0.
    pose proof (member_ok _ _ (H0 _ K)) as M; rewrite Forall_forall in A.
    specialize (A _ (in_map (fun e => eval e names) _ _ M)); rewrite T in A; discriminate.
Qed.

Lemma contradict_ok : forall d names facts, possible d names -> Forall (true_in names) facts -> contradict d facts = true -> False.
Proof.
  intros d names facts P F C; unfold contradict in C.
  change (existsb false_form facts || (existsb (fun f => existsb (clash f) facts) facts ||
    (let forms := flat_map (forms_of d) facts in refutes (factors_for forms) forms)) = true) in C.
  apply orb_prop in C; destruct C as [C | C]; [| apply orb_prop in C; destruct C as [C | C]].
  - apply existsb_exists in C; destruct C as [f [I A]]; rewrite Forall_forall in F; eapply false_form_ok; eauto.
  - apply existsb_exists in C; destruct C as [f [I A]]; apply existsb_exists in A; destruct A as [g [I' A]].
    rewrite Forall_forall in F; eapply clash_ok; eauto.
  - apply (refutes_ok names _ _ C); apply Forall_flat_map; eapply Forall_impl; [| exact F]; intros f T; apply forms_ok; assumption.
Qed.

Lemma fits_given : forall c names g, fits c names -> Forall (true_in names) g -> fits (with_given c g) names.
Proof. intros c names g [P [S [W _]]] G; repeat split; auto. Qed.

Lemma fits_assume : forall c names f, fits c names -> true_in names f -> fits (assume f c) names.
Proof. intros c names f F H; apply fits_given; auto; constructor; auto; apply F. Qed.

Lemma fits_enter_as : forall known c names x k s v, fits c names -> (if known : bool then has k v else unknown v \/ has k v) -> may k v ->
  Forall (fun s => exists l, eval s names = VList l /\ In v l) s -> fits (enter_as known x k s c) (updated names x v).
Proof.
  intros known c names x k s v [P [S [W G]]] H Y L; unfold enter_as; repeat split; cbn [named sure within given].
  - apply possible_updated; assumption.
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

Lemma fits_enter : forall c names x k s v, fits c names -> has k v ->
  Forall (fun s => exists l, eval s names = VList l /\ In v l) s -> fits (enter x k s c) (updated names x v).
Proof. intros; apply fits_enter_as; auto using has_may. Qed.
