(* Conditions that follow from one that holds. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts.
Import ListNotations.
Open Scope Z_scope.

Definition is_int (d : kinds) (e : expr) : bool := match kind_of d e with Some k => integral k | None => false end.
Definition is_list (d : kinds) (e : expr) : bool := match kind_of d e with Some (KList _) => true | _ => false end.

Lemma is_int_ok : forall d names e, possible d names -> is_int d e = true -> solid names e -> exists z, eval e names = VInt z.
Proof.
  intros d names e P I S; unfold is_int in I; destruct (kind_of d e) as [k |] eqn:K; [| discriminate].
  pose proof (kind_of_ok _ _ _ _ P K) as M; unfold solid in S.
  destruct k; try discriminate; destruct (eval e names); simpl in *; try tauto; eauto.
Qed.

Lemma is_list_ok : forall d names e, possible d names -> is_list d e = true -> solid names e -> exists l, eval e names = VList l.
Proof.
  intros d names e P I S; unfold is_list in I; destruct (kind_of d e) as [[] |] eqn:K; try discriminate.
  pose proof (kind_of_ok _ _ _ _ P K) as M; unfold solid in S; destruct (eval e names); simpl in *; try tauto; eauto.
Qed.

Fixpoint listed (l : expr) : option (list expr) :=
  match l with Nil => Some [] | Cons a l => option_map (cons a) (listed l) | _ => None end.

Lemma listed_ok : forall l items names, listed l = Some items -> eval l names = VList (map (fun e => eval e names) items).
Proof.
  induction l; intros items names H; simpl in H; try discriminate; [inversion H; reflexivity |].
  destruct (listed l2) eqn:E; inversion H; subst; simpl; rewrite (IHl2 _ _ eq_refl); reflexivity.
Qed.

Definition one_of (v : expr) (items : list expr) : expr := fold_right (fun e f => Or (Compare Equal e v) f) (Compare Less (Int 0) (Int 0)) items.
Definition place (n : nat) : expr := Int (Z.of_nat n).

Fixpoint equal_places (a : expr) (n : nat) (items : list expr) : list expr :=
  match items with [] => [] | e :: rest => Compare Equal (Item a (place n)) e :: equal_places a (S n) rest end.

Definition simply (q p : expr) : expr := match q with Stated (Int 0) => p | _ => Or (Not q) p end.

Definition is_bool (d : kinds) (e : expr) : bool := match kind_of d e with Some KBool => true | _ => false end.

(* Whether the body of a loop is a condition. *)
Definition decides (d : kinds) (x : string) (s p : expr) : bool :=
  match kind_of d s with Some (KList k) => is_bool ((x, k) :: d) p | _ => false end.

Definition consequences (d : kinds) (f : expr) : list expr :=
  match f with
  | And a b => if is_bool d a && is_bool d b then [a; b] else []
  | Not (Not a) => [a]
  | Not (And a b) => [Or (Not a) (Not b)]
  | Not (Or a b) => if is_bool d a && is_bool d b then [Not a; Not b] else []
  | Not (Compare Less a b) => [Compare AtMost b a]
  | Not (Compare AtMost a b) => [Compare Less b a]
  | Not (Compare Equal a b) => if is_int d a && is_int d b then [Or (Compare Less a b) (Compare Less b a)] else []
  | Not (Exists x s p) => if decides d x s p then [ForAll x s (Not p)] else []
  | Compare Member a l =>
      match listed l with
      | Some items => [one_of a items]
      | None => []
      end
  | Compare Equal (Text s) b => [Compare Equal b (Text s)]
  | Compare Equal a b =>
      if is_list d a && is_list d b
      then Compare Equal (Apply Len a) (Apply Len b) ::
           (match listed b with Some items => equal_places a 0 items | None => [] end)
      else []
  | ForAll x s p =>
      if decides d x s p then
        match s with
        | Cons v l => [subst x v p; ForAll x l p]
        | Arithmetic Plus a b => [ForAll x a p; ForAll x b p]
        | Collect y t q a => if mentions y p || negb (decides d y t q) then [] else [ForAll y t (simply q (subst x a p))]
        | _ => []
        end
      else []
  | _ => []
  end.

(* A conjunction of truth values; other values than truth values count as true in it, so kinds are needed. *)
Lemma kleene_false_true : forall l, Forall (may KBool) l -> kleene false l = VBool true -> Forall (fun v => v = VBool true) l.
Proof.
  intros l B H; unfold kleene in H; destruct (existsb (is_truth false) l) eqn:E; [discriminate |].
  destruct (strict_cases l (VBool (negb false))) as [[S F] | [c S]]; rewrite S in H; [| discriminate].
  clear S H; induction B as [| v l V B IH]; constructor; simpl in E; apply orb_false_elim in E; destruct E; inversion F; subst;
    [| auto]; destruct v; simpl in *; try tauto; destruct truth; [reflexivity | discriminate].
Qed.

Lemma is_bool_may : forall d names e, possible d names -> is_bool d e = true -> may KBool (eval e names).
Proof.
  intros d names e P B; unfold is_bool in B; destruct (kind_of d e) as [[] |] eqn:K; try discriminate.
  eapply kind_of_ok; eassumption.
Qed.

Lemma decides_may : forall d names x s p l, possible d names -> decides d x s p = true -> eval s names = VList l ->
  Forall (fun v => may KBool (eval p (updated names x v))) l.
Proof.
  intros d names x s p l P D L; unfold decides in D; destruct (kind_of d s) as [[] |] eqn:K; try discriminate.
  pose proof (kind_of_ok _ _ _ _ P K) as M; rewrite L in M; simpl in M; eapply Forall_impl; [| exact M].
  intros v V; eapply is_bool_may; [| eassumption]; apply possible_updated; assumption.
Qed.

Lemma forall_true : forall d names x s p, possible d names -> decides d x s p = true -> true_in names (ForAll x s p) ->
  exists l, eval s names = VList l /\ Forall (fun v => eval p (updated names x v) = VBool true) l.
Proof.
  intros d names x s p P D H; unfold true_in in H; cbn [eval] in H.
  destruct (eval s names) as [| | | | l | |] eqn:E; try discriminate; exists l; split; [reflexivity |].
  cbn [on_list] in H; apply kleene_false_true in H; [apply Forall_map in H; exact H |].
  apply Forall_map; eapply decides_may; eassumption.
Qed.

Lemma kleene_all : forall l, Forall (fun v => v = VBool true) l -> kleene false l = VBool true.
Proof.
  intros l H; unfold kleene; replace (existsb (is_truth false) l) with false.
  - apply strict_known; eapply Forall_impl; [| exact H]; intros v E X; rewrite E in X; exact X.
  - symmetry; induction H; simpl; [reflexivity |]; subst; exact IHForall.
Qed.

Lemma forall_intro : forall names x s p l, eval s names = VList l ->
  Forall (fun v => eval p (updated names x v) = VBool true) l -> true_in names (ForAll x s p).
Proof.
  intros names x s p l L H; unfold true_in; cbn [eval]; rewrite L; cbn [on_list]; apply kleene_all, Forall_map; exact H.
Qed.

Lemma or_true : forall names a b, true_in names (Or a b) -> true_in names a \/ true_in names b.
Proof.
  intros names a b H; unfold true_in in *; cbn [eval] in H; unfold kleene in H; cbn [existsb] in H.
  destruct (is_truth true (eval a names)) eqn:A; [left; destruct (eval a names); try discriminate; destruct truth; auto; discriminate |].
  destruct (is_truth true (eval b names)) eqn:B; [right; destruct (eval b names); try discriminate; destruct truth; auto; discriminate |].
  cbn [orb] in H; destruct (strict_cases [eval a names; eval b names] (VBool (negb true))) as [[S _] | [c S]];
    rewrite S in H; discriminate.
Qed.

Lemma or_intro : forall names a b, true_in names a \/ true_in names b -> true_in names (Or a b).
Proof.
  intros names a b [H | H]; unfold true_in in *; cbn [eval]; rewrite H; unfold kleene; cbn [existsb is_truth Bool.eqb orb];
    [reflexivity | rewrite orb_true_r; reflexivity].
Qed.

Lemma not_true : forall names a, true_in names (Not a) -> eval a names = VBool false.
Proof. intros names a H; unfold true_in in H; simpl in H; destruct (eval a names); try discriminate; destruct truth; auto; discriminate. Qed.

Lemma not_intro : forall names a, eval a names = VBool false -> true_in names (Not a).
Proof. intros names a H; unfold true_in; simpl; rewrite H; reflexivity. Qed.

Lemma kleene_false_cases : forall b l, kleene b l = VBool (negb b) ->
  existsb (is_truth b) l = false /\ Forall (fun v => ~ unknown v) l.
Proof.
  intros b l H; unfold kleene in H; destruct (existsb (is_truth b) l); [destruct b; discriminate |].
  destruct (strict_cases l (VBool (negb b))) as [[S F] | [c S]]; rewrite S in H; [auto | discriminate].
Qed.

Lemma bool_not_true : forall v, may KBool v -> ~ unknown v -> is_truth true v = false -> v = VBool false.
Proof. intros v B U T; destruct v; simpl in *; try tauto; destruct truth; [discriminate | reflexivity]. Qed.

Lemma equal_true : forall names a b d, possible d names -> kind_of d a <> None -> kind_of d b <> None ->
  true_in names (Compare Equal a b) -> solid names a /\ solid names b.
Proof.
  intros names a b d P A B H; unfold true_in, solid in *; cbn [eval compare] in H.
  destruct (kind_of d a) as [k |] eqn:K; [| tauto]; destruct (kind_of d b) as [l |] eqn:L; [| tauto].
  pose proof (kind_of_ok _ _ _ _ P K) as M; pose proof (kind_of_ok _ _ _ _ P L) as N.
  destruct (eval a names) as [| | | | | | c s]; destruct (eval b names) as [| | | | | | e t]; simpl; try tauto;
    try (destruct k; destruct M; subst); try (destruct l; destruct N; subst); simpl in H; discriminate.
Qed.

Lemma is_list_kind : forall d e, is_list d e = true -> kind_of d e <> None.
Proof. intros d e H E; unfold is_list in H; rewrite E in H; discriminate. Qed.

Lemma one_of_ok : forall v items names, List.Exists (fun e => true_in names (Compare Equal e v)) items -> true_in names (one_of v items).
Proof. intros v items names H; induction H; simpl; apply or_intro; auto. Qed.

Lemma equal_lists : forall l r, equal (VList l) (VList r) = VBool true ->
  List.length l = List.length r /\ forall n, (n < List.length r)%nat -> ~ unknown (equal (nth n l undefined) (nth n r undefined)) /\ is_truth false (equal (nth n l undefined) (nth n r undefined)) = false.
Proof.
  intros l r H; cbn [equal] in H; destruct (Nat.eqb _ _) eqn:E; [| discriminate]; apply Nat.eqb_eq in E; split; [assumption |].
  apply (kleene_false_cases false) in H; destruct H as [X U]; revert r E X U; induction l as [| v l IH]; intros [| w r] E X U n N;
    simpl in E, N; try lia; try discriminate.
  simpl in X; apply orb_false_elim in X; destruct X as [X X']; inversion U; subst; destruct n; simpl; [auto |].
  apply IH; auto; lia.
Qed.

Lemma equal_is_bool : forall a b, ~ unknown (equal a b) -> is_truth false (equal a b) = false -> may KBool (equal a b) -> equal a b = VBool true.
Proof. intros a b U T M; destruct (equal a b); simpl in *; try tauto; destruct truth; [reflexivity | discriminate]. Qed.

Lemma equal_places_ok : forall names a l items n, eval a names = VList l -> List.length l = (n + List.length items)%nat ->
  (forall i, (i < List.length items)%nat -> equal (nth (n + i) l undefined) (eval (nth i items Undefined) names) = VBool true) ->
  Forall (true_in names) (equal_places a n items).
Proof.
  intros names a l items; induction items as [| e rest IH]; intros n L N H; simpl; constructor.
  - unfold true_in, place; cbn [eval compare]; rewrite L; cbn [item].
    simpl in N; rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)) by lia; cbn [andb].
    specialize (H 0%nat); rewrite Nat.add_0_r in H; rewrite Nat2Z.id; apply H; simpl; lia.
  - simpl in N; apply IH; auto; [lia |]; intros i I; specialize (H (S i)); rewrite Nat.add_succ_r in H; apply H; simpl; lia.
Qed.

Lemma simply_ok : forall names q p, true_in names (Or (Not q) p) -> true_in names (simply q p).
Proof.
  intros names q p H; destruct q; try exact H; destruct q; try exact H; destruct number; try exact H.
  apply or_true in H; destruct H as [H | H]; [| exact H]; apply not_true in H; discriminate.
Qed.

Lemma known_map : forall (f : value -> value) l, Forall (fun v => ~ unknown v) (map f l) -> forall v, In v l -> ~ unknown (f v).
Proof. intros f l H v V; rewrite Forall_forall in H; apply H, in_map; exact V. Qed.

Lemma consequences_ok : forall d names f, possible d names -> true_in names f -> Forall (true_in names) (consequences d f).
Proof.
  intros d names f P H; destruct f; cbn [consequences]; try (constructor; fail).
  - destruct sign; try (constructor; fail).
    + assert (G : Forall (true_in names) (if is_list d f1 && is_list d f2 then Compare Equal (Apply Len f1) (Apply Len f2) ::
        match listed f2 with Some items => equal_places f1 0 items | None => [] end else [])).
      2: { destruct f1; try exact G; constructor; [| constructor]; unfold true_in in *; cbn [eval compare] in *.
           destruct (eval f2 names) as [| | | | | | c [t |]]; simpl in H; try discriminate; cbn [equal]; rewrite String.eqb_sym; exact H. }
      destruct (is_list d f1 && is_list d f2) eqn:L; [| constructor]; split_and.
      destruct (equal_true _ _ _ _ P (is_list_kind _ _ H0) (is_list_kind _ _ H1) H) as [S1 S2].
      destruct (is_list_ok _ _ _ P H0 S1) as [l E1]; destruct (is_list_ok _ _ _ P H1 S2) as [r E2].
      unfold true_in in H; cbn [eval compare] in H; rewrite E1, E2 in H; destruct (equal_lists _ _ H) as [N T].
      constructor.
      * unfold true_in; cbn [eval compare]; rewrite E1, E2; cbn [on_list apply equal]; rewrite N, Z.eqb_refl; reflexivity.
      * destruct (listed f2) eqn:I; [| constructor]; pose proof (listed_ok _ _ names I) as E3; rewrite E2 in E3; inversion E3; subst.
        rewrite map_length in *; apply equal_places_ok with l; [exact E1 | exact N |].
        intros i Hi; destruct (T i Hi) as [U V].
        assert (Q : nth i (map (fun e => eval e names) l0) undefined = eval (nth i l0 Undefined) names)
          by exact (map_nth (fun e => eval e names) l0 Undefined i).
        rewrite Q in U, V; apply equal_is_bool; auto using may_equal.
    + destruct (listed f2) as [items |] eqn:I; [| constructor]; constructor; [| constructor].
      apply one_of_ok; unfold true_in in H; cbn [eval compare contains] in H; rewrite (listed_ok _ _ names I) in H; cbn [contains] in H.
      destruct (kleene false _) eqn:E in H; try discriminate; destruct truth; [discriminate |]; clear H.
      unfold kleene in E; destruct (existsb _ _) eqn:X in E.
      * apply existsb_exists in X; destruct X as [v [V T]]; rewrite map_map in V; apply in_map_iff in V; destruct V as [e [V I']].
        apply Exists_exists; exists e; split; [assumption |]; unfold true_in; cbn [eval compare]; subst.
        destruct (equal (eval e names) (eval f1 names)); try discriminate; destruct truth; [reflexivity | discriminate].
      * destruct (strict_cases (map (fun item => negation (equal item (eval f1 names))) (map (fun e => eval e names) items)) (VBool (negb false))) as [[S F] | [c S]]; rewrite S in E; discriminate.
  - destruct (is_bool d f1 && is_bool d f2) eqn:B; [| constructor]; split_and.
    unfold true_in in H; cbn [eval] in H; apply kleene_false_true in H.
    + inversion H as [| ? ? H2 H3]; inversion H3; subst; repeat constructor; assumption.
    + repeat constructor; eapply is_bool_may; eassumption.
  - pose proof (not_true _ _ H) as F; destruct f; try (constructor; fail).
    + destruct sign; try (constructor; fail); cbn [eval compare] in F.
      * destruct (is_int d f1 && is_int d f2) eqn:I; [| constructor]; split_and; constructor; [| constructor].
        destruct (eval f1 names) eqn:E1; destruct (eval f2 names) eqn:E2;
          try (exfalso; unfold is_int in *;
               destruct (kind_of d f1) as [k |] eqn:K1, (kind_of d f2) as [j |] eqn:K2; try discriminate;
               pose proof (kind_of_ok _ _ _ _ P K1) as M1; pose proof (kind_of_ok _ _ _ _ P K2) as M2;
               rewrite E1 in M1; rewrite E2 in M2; destruct k; try discriminate; destruct j; try discriminate;
               simpl in M1, M2; try tauto; try (destruct M1; subst); try (destruct M2; subst); simpl in F; discriminate).
        cbn [equal] in F; inversion F as [F']; apply Z.eqb_neq in F'; apply or_intro.
        destruct (Z.lt_trichotomy number number0) as [L | [L | L]]; [left | lia | right]; unfold true_in; cbn [eval compare];
          rewrite E1, E2; cbn; f_equal; apply Z.ltb_lt; assumption.
      * constructor; [| constructor]; destruct (strict_cases [eval f1 names; eval f2 names] (VBool (less (eval f1 names) (eval f2 names)))) as [[S U] | [c S]];
          rewrite S in F; [| discriminate]; inversion F as [L]; unfold true_in; cbn [eval compare].
        rewrite L; apply strict_known; inversion U as [| ? ? U1 U2]; inversion U2; subst; repeat constructor; assumption.
      * constructor; [| constructor]; destruct (strict_cases [eval f1 names; eval f2 names] (VBool (negb (less (eval f2 names) (eval f1 names))))) as [[S U] | [c S]];
          rewrite S in F; [| discriminate]; inversion F as [L]; apply negb_false_iff in L; unfold true_in; cbn [eval compare].
        rewrite L; apply strict_known; inversion U as [| ? ? U1 U2]; inversion U2; subst; repeat constructor; assumption.
    + constructor; [| constructor]; cbn [eval] in F; unfold kleene in F; cbn [existsb] in F; apply or_intro.
      destruct (is_truth false (eval f1 names)) eqn:A; [left; apply not_intro; destruct (eval f1 names); try discriminate; destruct truth; [discriminate | reflexivity] |].
      destruct (is_truth false (eval f2 names)) eqn:A'; [right; apply not_intro; destruct (eval f2 names); try discriminate; destruct truth; [discriminate | reflexivity] |].
      cbn [orb] in F; destruct (strict_cases [eval f1 names; eval f2 names] (VBool (negb false))) as [[S _] | [c S]]; rewrite S in F; discriminate.
    + destruct (is_bool d f1 && is_bool d f2) eqn:B; [| constructor]; split_and.
      cbn [eval] in F; apply (kleene_false_cases true) in F; destruct F as [X U]; inversion U as [| ? ? U1 U2]; inversion U2; subst.
      cbn [existsb] in X; split_or; repeat constructor; apply not_intro; apply bool_not_true; auto; eapply is_bool_may; eassumption.
    + constructor; [| constructor]; cbn [eval] in F; unfold true_in; destruct (eval f names); try discriminate; destruct truth; [reflexivity | discriminate].
    + destruct (decides d variable f1 f2) eqn:B; [| constructor]; constructor; [| constructor].
      cbn [eval] in F; destruct (eval f1 names) eqn:E; try discriminate; cbn [on_list] in F.
      apply forall_intro with items; [exact E |]; pose proof (decides_may _ _ _ _ _ _ P B E) as M.
      apply (kleene_false_cases true) in F; destruct F as [X U]; apply Forall_forall; intros v V.
      rewrite Forall_forall in M; specialize (M _ V); pose proof (known_map _ _ U v V) as U'; cbn [eval].
      assert (T : is_truth true (eval f2 (updated names variable v)) = false).
      { destruct (is_truth true (eval f2 (updated names variable v))) eqn:T; [| reflexivity].
        rewrite <- X; symmetry; apply existsb_exists; eexists; split; [| exact T].
        apply (in_map (fun v => eval f2 (updated names variable v))); exact V. }
      rewrite (bool_not_true _ M U' T); reflexivity.
  - destruct (decides d variable f1 f2) eqn:B; [| constructor].
    destruct (forall_true _ _ _ _ _ P B H) as [l [L A]]; destruct f1; try (constructor; fail).
    + cbn [eval] in L; destruct (eval f1_2 names) eqn:E; try discriminate; cbn [on_list] in L; inversion L; subst; clear L.
      inversion A; subst; repeat constructor; [unfold true_in; rewrite subst_ok; assumption | eapply forall_intro; eassumption].
    + destruct sign; try (constructor; fail); cbn [eval] in L; apply calculate_list in L; destruct L as [x [y [X [Y E]]]]; subst.
      apply Forall_app in A; destruct A; repeat constructor; eapply forall_intro; eassumption.
    + destruct (mentions variable0 f2) eqn:M; [constructor |]; cbn [orb].
      destruct (decides d variable0 f1_1 f1_2) eqn:D; cbn [negb]; [| constructor]; constructor; [| constructor].
      cbn [eval] in L; destruct (eval f1_1 names) as [| | | | w | |] eqn:E; try discriminate; cbn [on_list] in L.
      destruct (strict_cases (map (fun v => eval f1_2 (updated names variable0 v)) w)
        (VList (map (fun v => eval f1_3 (updated names variable0 v)) (chosen (fun v => eval f1_2 (updated names variable0 v)) w)))) as [[S U] | [c S]];
        rewrite S in L; [| discriminate]; inversion L; subst; clear L S.
      apply forall_intro with w; [exact E |]; apply Forall_forall; intros v V.
      apply simply_ok, or_intro; rewrite Forall_forall in A; pose proof (known_map _ _ U v V) as U'.
      destruct (is_truth true (eval f1_2 (updated names variable0 v))) eqn:T.
      * right; unfold true_in; rewrite subst_ok.
        rewrite <- (A (eval f1_3 (updated names variable0 v)));
          [| apply (in_map (fun v => eval f1_3 (updated names variable0 v))), filter_In; auto].
        destruct (String.eqb variable variable0) eqn:Q.
        { apply String.eqb_eq in Q; subst; rewrite !eval_without by assumption; reflexivity. }
        rewrite <- (eval_without f2 variable0 M (updated names variable _) v); apply eval_ext; intros z.
        apply updated_other; rewrite String.eqb_sym; exact Q.
      * left; apply not_intro, bool_not_true; auto; pose proof (decides_may _ _ _ _ _ _ P D E) as N.
        rewrite Forall_forall in N; apply N; exact V.
Qed.
