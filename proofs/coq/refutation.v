(* Conditions that the search finds to contradict each other do. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts choices conditions consequences knowledge search properties soundness.
Import ListNotations.
Open Scope Z_scope.

#[local] Opaque simple depth rounds expanded more contradict.

(* The values of a kind are known, so a condition is true or false. *)
Lemma has_solid : forall k v, has k v -> ~ unknown v.
Proof. intros k v H U; destruct v; simpl in U; try tauto; destruct k; destruct H; discriminate. Qed.

Lemma bool_cases : forall d names e, is_bool d e = true ->
  (forall k, kind_of d e = Some k -> has k (eval e names)) -> true_in names e \/ true_in names (Not e).
Proof.
  intros d names e B H; unfold is_bool in B; destruct (kind_of d e) as [[] |] eqn:K; try discriminate.
  specialize (H _ eq_refl); destruct (eval e names) as [| | [] | | | |] eqn:E; try contradiction; try (destruct H; discriminate).
  - left; exact E.
  - right; apply not_intro; exact E.
Qed.

Lemma plain_known : forall k v, plain k = true -> has k v -> forall l w, plain l = true -> has l w -> exists b, equal v w = VBool b.
Proof.
  induction k; intros v P H l w Q G; try discriminate;
    destruct v as [| | | | items | | c s]; simpl in H; try contradiction; try (destruct H; discriminate);
    destruct w as [| | | | others | | e t]; try (destruct l; destruct G; discriminate); try (simpl; eauto; fail).
  cbn [equal]; destruct (Nat.eqb (List.length items) (List.length others)); [| eauto].
  assert (N : Forall (fun v => ~ unknown v) ((fix pairs (l r : list value) : list value :=
             match l, r with x :: l', y :: r' => equal x y :: pairs l' r' | _, _ => [] end) items others)).
  { destruct l; try contradiction; simpl in G, P, Q; revert others G; induction H as [| x items X H IH]; intros [| y others] G;
      try constructor; inversion G; subst; [| apply IH; assumption].
    destruct (IHk x P X l y Q H2) as [b E]; rewrite E; simpl; tauto. }
  unfold kleene; destruct (existsb _ _); [eauto |]; rewrite (strict_known _ _ N); eauto.
Qed.

Lemma kleene_known : forall b l, Forall (fun v => ~ unknown v) l -> exists t, kleene b l = VBool t.
Proof. intros b l H; unfold kleene; destruct (existsb _ _); [eauto |]; rewrite (strict_known _ _ H); eauto. Qed.

Lemma numbers_strict : forall k items, Forall (has k) items -> Forall (fun v => ~ unknown v) items.
Proof. intros k items H; eapply Forall_impl; [| exact H]; apply has_solid. Qed.

Lemma extreme_known : forall better k items, numeric k = true -> items <> [] -> Forall (has k) items -> has k (extreme better items).
Proof.
  intros better k items N E H; destruct H as [| v l V H]; [tauto |]; cbn [extreme].
  rewrite strict_known by (eapply numbers_strict; constructor; eassumption); clear E; revert v V.
  induction H as [| w l W H IH]; intros v V; simpl; [exact V |]; apply IH; destruct (better w v); assumption.
Qed.

Lemma no_contradiction : forall names a b x y, eval a names = VInt x -> eval b names = VInt y ->
  (true_in names (Compare Less a b) -> False) -> y <= x.
Proof. intros names a b x y A B H; destruct (Z.le_gt_cases y x); [assumption |]; exfalso; apply H; eapply less_intro; eauto; lia. Qed.

Lemma no_contradiction' : forall names a b x y, eval a names = VInt x -> eval b names = VInt y ->
  (true_in names (Compare AtMost a b) -> False) -> y < x.
Proof. intros names a b x y A B H; destruct (Z.lt_ge_cases y x); [assumption |]; exfalso; apply H; eapply at_most_intro; eauto; lia. Qed.

Lemma element_ok : forall d names s k, possible d names -> element_kind d s = Some k ->
  (forall m, kind_of d s = Some m -> has m (eval s names)) -> exists l, eval s names = VList l /\ Forall (has k) l.
Proof.
  intros d names s k P E H; unfold element_kind in E; destruct (kind_of d s) as [[] |] eqn:K; try discriminate; inversion E; subst.
  specialize (H _ eq_refl); destruct (eval s names); simpl in H; try contradiction; try (destruct H; discriminate); eauto.
Qed.

Lemma int_known : forall d names e, is_int d e = true -> (forall m, kind_of d e = Some m -> has m (eval e names)) ->
  exists z, eval e names = VInt z.
Proof.
  intros d names e I H; unfold is_int in I; destruct (kind_of d e) as [k |] eqn:K; [| discriminate]; specialize (H _ eq_refl).
  destruct k; try discriminate; destruct (eval e names); simpl in H; try contradiction; try (destruct H; discriminate); eauto.
Qed.

Lemma list_known : forall d names e, is_list d e = true -> (forall m, kind_of d e = Some m -> has m (eval e names)) ->
  exists l, eval e names = VList l.
Proof.
  intros d names e I H; unfold is_list in I; destruct (kind_of d e) as [[] |] eqn:K; try discriminate; specialize (H _ eq_refl).
  destruct (eval e names); simpl in H; try contradiction; try (destruct H; discriminate); eauto.
Qed.

Lemma solid_has : forall d names e k, possible d names -> kind_of d e = Some k -> scalar k = true -> solid names e -> has k (eval e names).
Proof. intros d names e k P K S H; apply has_of_may; auto; eapply kind_of_ok; eassumption. Qed.

Lemma kleene_bool : forall b l, Forall (has KBool) l -> exists t, kleene b l = VBool t.
Proof. intros b l H; apply kleene_known; eapply numbers_strict; exact H. Qed.

Lemma bool_value : forall d names e, is_bool d e = true -> (forall k, kind_of d e = Some k -> has k (eval e names)) ->
  exists b, eval e names = VBool b.
Proof. intros d names e B H; destruct (bool_cases _ _ _ B H) as [T | T]; [| apply not_true in T]; eauto. Qed.

Lemma bools_known : forall (f : value -> value) l, Forall (fun v => exists b, f v = VBool b) l -> Forall (fun v : value => ~ unknown v) (map f l).
Proof. intros f l H; apply Forall_map; eapply Forall_impl; [| exact H]; intros v [b E] U; rewrite E in U; exact U. Qed.

Section Refutation.
Variable refute : context -> bool.
Variable defined : context -> expr -> bool.
Hypothesis R : forall c names, fits c names -> refute c = true -> False.
Hypothesis D : forall c names e k, fits c names -> defined c e = true -> kind_of (named c) e = Some k -> has k (eval e names).

Lemma first_some_ok : forall A (f : expr -> option A) l a, first_some f l = Some a -> exists e, In e l /\ f e = Some a.
Proof.
  intros A f l; induction l as [| e l IH]; intros a H; simpl in H; [discriminate |].
  destruct (f e) eqn:E; [inversion H; subst; exists e; split; [left; reflexivity | exact E] |].
  destruct (IH _ H) as [g [I G]]; exists g; split; [right; exact I | exact G].
Qed.

Lemma parts_of_or : forall f a b, left_of f = Some a -> right_of f = Some b -> f = Or a b.
Proof. intros f a b A B; destruct f; try discriminate; simpl in *; congruence. Qed.

(* Of a choice that holds, the part that is left. *)
Lemma forced_ok : forall c names all f, fits c names -> Forall (true_in names) all -> first_some (forced (named c) all) all = Some f ->
  true_in names f.
Proof.
  intros c names all f [P _] B E1; apply first_some_ok in E1; destruct E1 as [g [I E1]].
  assert (X : forall f, true_in names f -> contradict (named c) (expanded rounds (named c) [f] all) = true -> False).
  { intros h T C; eapply contradict_ok; [exact P | | exact C]; apply expanded_ok; auto. }
  rewrite Forall_forall in B; pose proof (B _ I) as T.
  unfold forced in E1; destruct (left_of g) as [a |] eqn:La; [| discriminate]; destruct (right_of g) as [b |] eqn:Rb; [| discriminate].
  rewrite (parts_of_or _ _ _ La Rb) in T; destruct (there _ all a); [discriminate |]; destruct (there _ all b); [discriminate |].
  destruct (contradict (named c) (expanded rounds (named c) [a] all)) eqn:C1.
  - inversion E1; subst; destruct (or_true _ _ _ T) as [T1 | T1]; [exfalso; eapply X; eassumption | exact T1].
  - destruct (contradict (named c) (expanded rounds (named c) [b] all)) eqn:C2; [| discriminate].
    inversion E1; subst; destruct (or_true _ _ _ T) as [T1 | T1]; [exact T1 | exfalso; eapply X; eassumption].
Qed.

Lemma choices_ok : forall d names all a b, Forall (true_in names) all -> choices d all = Some (a, b) -> true_in names a \/ true_in names b.
Proof.
  intros d names all a b B H.
  assert (G : forall g, In g (rev all) -> choice_of d all g = Some (a, b) -> true_in names a \/ true_in names b).
  { intros g I E; apply in_rev in I; rewrite Forall_forall in B; pose proof (B _ I) as T; unfold choice_of in E.
    destruct (left_of g) as [a' |] eqn:La; [| discriminate]; destruct (right_of g) as [b' |] eqn:Rb; [| discriminate].
    destruct (there d all a'); [discriminate |]; destruct (there d all b'); [discriminate |]; inversion E; subst; rewrite (parts_of_or _ _ _ La Rb) in T.
    apply or_true; exact T. }
  unfold choices in H.
  match type of H with match first_some ?f ?l with _ => _ end = _ => destruct (first_some f l) as [p |] eqn:E end.
  - inversion H; subst; apply first_some_ok in E; destruct E as [g [I E]]; apply filter_In in I; destruct I as [I _].
    destruct (last_choice g); [discriminate |]; eapply G; eassumption.
  - apply first_some_ok in H; destruct H as [g [I H]]; apply filter_In in I; destruct I as [I _]; eapply G; eassumption.
Qed.

Lemma chosen_item_ok : forall c names all f c', fits c names -> Forall (true_in names) all -> true_in names f ->
  chosen_item defined c all f = Some c' -> exists others, fits c' others.
Proof.
  intros c names all f c' F B T H; destruct f; try discriminate; cbn [chosen_item] in H; pose proof F as [P _].
  revert H; generalize (fresh 5 c variable); intros z H.
  destruct (kind_of (named c) f1) as [[| | | | | | k |] |] eqn:K; try discriminate.
  destruct (existsb _ (within c)); [discriminate |].
  match type of H with (if ?b then _ else _) = _ => destruct b eqn:Sc; [| discriminate] end; split_and; inversion H; subst c'; clear H.
  destruct (exists_true _ _ _ _ T) as [l [v [L [I V]]]]; exists (updated names z v).
  assert (M : may k v).
  { pose proof (kind_of_ok _ _ _ _ P K) as M; rewrite L in M; simpl in M; rewrite Forall_forall in M; apply M; exact I. }
  apply fits_assume.
  - apply fits_enter_as; [apply fits_given; assumption | | exact M | constructor; [exists l; auto | constructor]].
    destruct (defined c f1) eqn:E.
    + pose proof (D _ _ _ _ F E K) as W; rewrite L in W; simpl in W; rewrite Forall_forall in W; apply W; exact I.
    + destruct v; try (left; exact Logic.I); right; apply has_of_may; try assumption; simpl; tauto.
  - unfold renamed, true_in; destruct (String.eqb variable z) eqn:Same; [apply String.eqb_eq in Same; subst; exact V |].
    cbn [orb] in H1; apply negb_true_iff in H1; rewrite subst_ok; cbn [eval]; rewrite <- V.
    rewrite <- (eval_without f2 z H1 (updated names variable v) v); apply eval_ext; intros y.
    unfold updated; rewrite String.eqb_refl; destruct (String.eqb variable y) eqn:X, (String.eqb z y) eqn:Y; reflexivity.
Qed.

Lemma step_refute_ok : forall c names, fits c names -> step_refute refute defined c = true -> False.
Proof.
  intros c names F H; unfold step_refute in H; pose proof F as [P [_ [_ G]]].
  assert (K : forall all f, Forall (true_in names) all -> true_in names f -> fits (with_given c (f :: all)) names) by (intros; apply fits_given; auto).
  assert (A : Forall (true_in names) (expanded rounds (named c) (settled_first (given c)) [])).
  { apply expanded_ok; auto; apply Forall_app; split; apply Forall_forall; intros f I; apply filter_In in I; rewrite Forall_forall in G; apply G, I. }
  revert A H; generalize (expanded rounds (named c) (settled_first (given c)) []); intros facts A H.
  apply orb_prop in H; destruct H as [H | H]; [eapply contradict_ok; eassumption |].
  destruct (first_some (forced (named c) facts) facts) as [f |] eqn:E0.
  { eapply R; [apply K; [exact A | eapply forced_ok; eassumption] | exact H]. }
  assert (B : Forall (true_in names) (expanded rounds (named c) (more c facts) facts)) by (apply expanded_ok; auto using more_ok).
  revert B H; generalize (expanded rounds (named c) (more c facts) facts); intros all B H.
  apply orb_prop in H; destruct H as [H | H]; [eapply contradict_ok; eassumption |].
  destruct (first_some (forced (named c) all) all) as [f |] eqn:E1.
  { eapply R; [apply K; [exact B | eapply forced_ok; eassumption] | exact H]. }
  destruct (find _ (flat_map conditions (rev all))) as [q |].
  { split_and; destruct (bool_cases (named c) names q) as [T | T]; auto.
    - intros k E; eapply D; eassumption.
    - eapply R; [apply K; [exact B | exact T] | assumption].
    - eapply R; [apply K; [exact B | exact T] | assumption]. }
  destruct (first_some (chosen_item defined c all) all) as [c' |] eqn:E2.
  { apply first_some_ok in E2; destruct E2 as [f [I E2]]; rewrite Forall_forall in B.
    destruct (chosen_item_ok c names all f c') as [others O]; auto; [apply Forall_forall; exact B |]; eapply R; eassumption. }
  destruct (choices (named c) all) as [[a b] |] eqn:E3.
  { split_and; destruct (choices_ok _ _ _ _ _ B E3) as [T | T]; (eapply R; [apply K; [exact B | exact T] | assumption]). }
  split_and; eapply R; [apply fits_given; eassumption | assumption].
Qed.
End Refutation.
