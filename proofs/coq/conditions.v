(* Conditions that hold: what is so of their parts. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts.
Import ListNotations.
Open Scope Z_scope.

(* Of a kind of numbers: not NaN, which no order has a place for. *)
Definition is_numeric (d : kinds) (e : expr) : bool := match kind_of d e with Some k => numeric k | None => false end.
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

Definition is_bool (d : kinds) (e : expr) : bool := match kind_of d e with Some KBool => true | _ => false end.

(* Whether the body of a loop is a condition. *)
Definition decides (d : kinds) (x : string) (s p : expr) : bool :=
  match kind_of d s with Some (KList k) => is_bool ((x, k) :: d) p | _ => false end.

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

Lemma numeric_not_nan : forall d names e, possible d names -> is_numeric d e = true -> is_nan (eval e names) = false.
Proof.
  intros d names e P B; unfold is_numeric in B; destruct (kind_of d e) as [k |] eqn:K; [| discriminate].
  pose proof (kind_of_ok _ _ _ _ P K) as M; destruct (eval e names); try reflexivity; destruct number; try reflexivity.
  destruct k; try discriminate; simpl in M; contradiction.
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

Lemma known_map : forall (f : value -> value) l, Forall (fun v => ~ unknown v) (map f l) -> forall v, In v l -> ~ unknown (f v).
Proof. intros f l H v V; rewrite Forall_forall in H; apply H, in_map; exact V. Qed.

Lemma kleene_true_in : forall l, kleene true l = VBool true -> In (VBool true) l.
Proof.
  intros l H; unfold kleene in H; destruct (existsb (is_truth true) l) eqn:E.
  - apply existsb_exists in E; destruct E as [v [I T]]; destruct v; try discriminate; destruct truth; [exact I | discriminate].
  - destruct (strict_cases l (VBool (negb true))) as [[S _] | [c S]]; rewrite S in H; discriminate.
Qed.

Lemma exists_true : forall names x s p, true_in names (Exists x s p) ->
  exists l v, eval s names = VList l /\ In v l /\ eval p (updated names x v) = VBool true.
Proof.
  intros names x s p H; unfold true_in in H; cbn [eval] in H.
  destruct (eval s names) as [| | | | l | |]; try discriminate; cbn [on_list] in H; apply kleene_true_in, in_map_iff in H.
  destruct H as [v [V I]]; exists l, v; auto.
Qed.

Lemma exists_intro : forall names x s p l v, eval s names = VList l -> In v l -> eval p (updated names x v) = VBool true ->
  true_in names (Exists x s p).
Proof.
  intros names x s p l v L I V; unfold true_in; cbn [eval]; rewrite L; cbn [on_list]; unfold kleene.
  replace (existsb (is_truth true) _) with true; [reflexivity |]; symmetry; apply existsb_exists; exists (VBool true).
  split; [| reflexivity]; apply in_map_iff; exists v; auto.
Qed.

Lemma contains_true : forall s v, contains s v = VBool true -> exists l item, s = VList l /\ In item l /\ equal item v = VBool true.
Proof.
  intros s v H; destruct s; cbn [contains] in H; try discriminate.
  destruct (kleene false _) eqn:E in H; try discriminate; destruct truth; [discriminate |]; clear H.
  unfold kleene in E; destruct (existsb _ _) eqn:X in E.
  - apply existsb_exists in X; destruct X as [w [I T]]; apply in_map_iff in I; destruct I as [item [V I]]; subst.
    exists items, item; repeat split; auto; destruct (equal item v); try discriminate; destruct truth; [reflexivity | discriminate].
  - match type of E with strict ?a ?b = _ => destruct (strict_cases a b) as [[S F] | [c S]]; rewrite S in E; discriminate end.
Qed.

Lemma contains_false : forall s v, contains s v = VBool false ->
  exists l, s = VList l /\ Forall (fun item => negation (equal item v) = VBool true) l.
Proof.
  intros s v H; destruct s; cbn [contains] in H; try discriminate.
  destruct (kleene false _) eqn:E in H; try discriminate; destruct truth; [| discriminate]; clear H.
  exists items; split; [reflexivity |]; apply kleene_false_true in E; [apply Forall_map in E; exact E |].
  apply Forall_map, Forall_forall; intros w _; apply may_negation, may_equal.
Qed.

Lemma equal_integers : forall v w, may KInt v -> may KInt w -> equal v w = VBool true -> exists z, v = VInt z /\ w = VInt z.
Proof.
  intros v w V W E; destruct v as [x | | | | | | c s]; simpl in V; try contradiction;
    destruct w as [y | | | | | | e t]; simpl in W; try contradiction.
  - simpl in E; inversion E as [Q]; apply Z.eqb_eq in Q; subst; eauto.
  - destruct W; subst; simpl in E; discriminate.
  - destruct V; subst; simpl in E; discriminate.
  - destruct V, W; subst; simpl in E; discriminate.
Qed.

Lemma may_integer : forall k v, integral k = true -> may k v -> may KInt v.
Proof. intros k v I M; destruct k; try discriminate; destruct v; simpl in *; tauto. Qed.

Lemma fold_known : forall sign items start, match sign with Plus | Times => True | _ => False end ->
  Forall (fun v => match v with VInt _ => True | _ => False end) items -> exists z, fold_left (calculate sign) items (VInt start) = VInt z.
Proof.
  intros sign items start S H; revert start; induction H as [| v l V H IH]; intros start; simpl; [eauto |].
  destruct v; try contradiction; destruct sign; try contradiction; cbn [calculate on_integers]; apply IH.
Qed.

(* What a condition says of an item that is computed from [v], the value of [y]. *)
Lemma of_inner : forall x y a p names v, negb (String.eqb x y) && mentions y p = false ->
  eval (subst x a p) (updated names y v) = eval p (updated names x (eval a (updated names y v))).
Proof.
  intros x y a p names v M; rewrite subst_ok; destruct (String.eqb x y) eqn:Q.
  - apply String.eqb_eq in Q; subst; apply eval_ext; intros z; apply updated_twice.
  - cbn in M; rewrite <- (eval_without p y M (updated names x _) v); apply eval_ext; intros z.
    apply updated_other; rewrite String.eqb_sym; exact Q.
Qed.
