(* What follows from conditions that hold: simpler forms, parts and instances. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear.
Import ListNotations.
Open Scope Z_scope.

Definition true_in (names : environment) (e : expr) : Prop := eval e names = VBool true.
Definition solid (names : environment) (e : expr) : Prop := ~ unknown (eval e names).

Definition plus (a b : expr) : expr := match a with Int 0 => b | _ => Arithmetic Plus a b end.

(* The length of a list. *)
Fixpoint length_form (s : expr) : expr :=
  match s with
  | Nil => Int 0
  | Cons a l => Arithmetic Plus (Int 1) (length_form l)
  | Collect x t (Stated (Int 0)) a => length_form t
  | Arithmetic Plus a b => Arithmetic Plus (length_form a) (length_form b)
  | Part t a b => Arithmetic Minus b a
  | _ => Apply Len s
  end.

(* A simpler expression of the same value where the value is known; [given] are conditions that hold. *)
Fixpoint simple (n : nat) (given : list expr) (e : expr) : expr :=
  match n with
  | O => e
  | S n =>
      match e with
      | Arithmetic s a b => Arithmetic s (simple n given a) (simple n given b)
      | Negative a => Negative (simple n given a)
      | Compare Less a b => Compare Less (simple n given a) (simple n given b)
      | Compare AtMost a b => Compare AtMost (simple n given a) (simple n given b)
      | Field r f => if String.eqb f "rank" then Apply Len (Field r "shape") else e
      | Item s i =>
          let s := simple n given s in
          let i := simple n given i in
          match s with
          | Collect x (Range a _) (Stated (Int 0)) body => simple n given (subst x (plus a i) body)
          | Collect x t (Stated (Int 0)) body => simple n given (subst x (Item t i) body)
          | Cons a l =>
              match i with Int 0 => a | Int z => simple n given (Item l (Int (z - 1))) | _ => Item s i end
          | Part t a _ => simple n given (Item t (plus a i))
          | _ => Item s i
          end
      | Part s a b => Part (simple n given s) (simple n given a) (simple n given b)
      | Apply Len s => length_form (simple n given s)
      | Apply f s => Apply f (simple n given s)
      | If c a b =>
          if member c given then simple n given a else if member (Not c) given then simple n given b else e
      | Not a => Not (simple n given a)
      | ForAll x s p => ForAll x (simple n given s) p
      | Exists x s p => Exists x (simple n given s) p
      | _ => e
      end
  end.

Lemma on_list_solid : forall v f, ~ unknown (on_list v f) -> exists l, v = VList l.
Proof. intros [] f H; simpl in H; try tauto; eauto. Qed.

Lemma calculate_list : forall s a b l, calculate s a b = VList l -> exists x y, a = VList x /\ b = VList y /\ l = x ++ y.
Proof.
  intros s a b l H.
  destruct a as [x | x | x | x | x | x | c n], b as [y | y | y | y | y | y | e m];
    repeat match goal with f : floating |- _ => destruct f end; cbn in H;
    try discriminate; try (destruct s; cbn in H; discriminate);
    try (destruct s; cbn in H; try destruct (_ <? _); try destruct (Qle_bool _ _); discriminate).
  destruct s; inversion H; eauto.
Qed.

Lemma solid_parts : forall l v, ~ unknown (strict l v) -> strict l v = v /\ Forall (fun v => ~ unknown v) l.
Proof. intros l v H; destruct (strict_cases l v) as [E | [c E]]; [exact E | rewrite E in H; simpl in H; tauto]. Qed.

Lemma calculate_solid : forall s a b, ~ unknown (calculate s a b) -> ~ unknown a /\ ~ unknown b.
Proof.
  intros s a b H; destruct a, b; simpl; try tauto; cbn in H; try tauto.
Qed.

Lemma negative_solid : forall a, ~ unknown (negative a) -> ~ unknown a.
Proof. intros [] H; simpl in *; tauto. Qed.

Lemma item_solid : forall s i, ~ unknown (item s i) -> exists l z, s = VList l /\ i = VInt z /\ 0 <= z < Z.of_nat (List.length l)
  /\ item s i = nth (Z.to_nat z) l undefined /\ In (item s i) l.
Proof.
  intros s i H; destruct s; try (cbn [item] in H; apply solid_parts in H; destruct H as [E _]; cbn in H; tauto);
    try (unfold item in H; destruct (solid_parts _ _ H) as [E _]; rewrite E in H; simpl in H; tauto).
  destruct i; try (unfold item in H; destruct (solid_parts _ _ H) as [E _]; rewrite E in H; simpl in H; tauto).
  cbn [item] in *; destruct (_ && _) eqn:E; [| simpl in H; tauto]; split_and; apply Z.leb_le in H0; apply Z.ltb_lt in H1.
  exists items, number; repeat split; auto; apply nth_In; lia.
Qed.

Lemma part_solid : forall s a b, ~ unknown (part s a b) -> exists l x y, s = VList l /\ a = VInt x /\ b = VInt y /\
  0 <= x <= y /\ y <= Z.of_nat (List.length l) /\ part s a b = VList (firstn (Z.to_nat (y - x)) (skipn (Z.to_nat x) l)).
Proof.
  intros s a b H; destruct s; try (unfold part in H; destruct (solid_parts _ _ H) as [E _]; rewrite E in H; simpl in H; tauto).
  destruct a; try (unfold part in H; destruct (solid_parts _ _ H) as [E _]; rewrite E in H; simpl in H; tauto).
  destruct b; try (unfold part in H; destruct (solid_parts _ _ H) as [E _]; rewrite E in H; simpl in H; tauto).
  cbn [part] in *; destruct (_ && _) eqn:E; [| simpl in H; tauto]; split_and.
  apply Z.leb_le in H0, H1, H2; exists items, number, number0; repeat split; auto.
Qed.

Lemma range_solid : forall a b, ~ unknown (range a b) -> exists x y, a = VInt x /\ b = VInt y.
Proof.
  intros a b H; destruct a; try (unfold range in H; destruct (solid_parts _ _ H) as [E _]; rewrite E in H; simpl in H; tauto).
  destruct b; try (unfold range in H; destruct (solid_parts _ _ H) as [E _]; rewrite E in H; simpl in H; tauto); eauto.
Qed.

Lemma all_chosen : forall l, chosen (fun _ => VBool true) l = l.
Proof. unfold chosen; induction l as [| v l IH]; simpl; [| simpl in IH; rewrite IH]; reflexivity. Qed.

Lemma collected_all : forall l (g : value -> value), strict (map (fun _ : value => VBool true) l) (VList (map g (chosen (fun _ => VBool true) l))) = VList (map g l).
Proof.
  intros; rewrite all_chosen; apply strict_known; apply Forall_map, Forall_forall; intros; simpl; tauto.
Qed.

Lemma length_form_ok : forall s names l, eval s names = VList l -> eval (length_form s) names = VInt (Z.of_nat (List.length l)).
Proof.
  assert (D : forall s names l, eval s names = VList l -> eval (Apply Len s) names = VInt (Z.of_nat (List.length l))).
  { intros s names l H; simpl; rewrite H; reflexivity. }
  induction s; intros names l H; try (apply D; exact H); cbn [length_form].
  - simpl in H; inversion H; reflexivity.
  - cbn [eval] in H; destruct (eval s2 names) eqn:E; simpl in H; inversion H; subst.
    cbn [eval]; rewrite (IHs2 _ _ E); cbn [calculate on_integers]; f_equal; simpl List.length; lia.
  - cbn [eval] in H; assert (P : ~ unknown (part (eval s1 names) (eval s2 names) (eval s3 names))) by (rewrite H; simpl; tauto).
    apply part_solid in P; destruct P as [w [x [y [S [A [B [X [Y E]]]]]]]]; rewrite E in H; inversion H; subst.
    cbn [eval]; rewrite A, B; cbn [calculate on_integers]; f_equal; rewrite firstn_length_le; [lia |].
    rewrite skipn_length; lia.
  - destruct sign; try (apply D; exact H); cbn [eval] in H; apply calculate_list in H.
    destruct H as [x [y [X [Y E]]]]; subst; cbn [eval]; rewrite (IHs1 _ _ X), (IHs2 _ _ Y), app_length.
    cbn [calculate on_integers]; f_equal; lia.
  - destruct s2; try (apply D; exact H); destruct s2; try (apply D; exact H); destruct number; try (apply D; exact H).
    cbn [eval stated] in H; destruct (eval s1 names) eqn:E; try discriminate; cbn [on_list] in H.
    rewrite collected_all in H; inversion H; subst; rewrite map_length; apply IHs1; assumption.
Qed.

Lemma plus_ok : forall a i names x y, eval a names = VInt x -> eval i names = VInt y -> eval (plus a i) names = VInt (x + y).
Proof.
  intros a i names x y A I.
  assert (D : eval (Arithmetic Plus a i) names = VInt (x + y)) by (cbn [eval]; rewrite A, I; reflexivity).
  destruct a; try exact D; destruct number; try exact D; simpl in A; inversion A; subst; exact I.
Qed.

Lemma nth_map : forall (f : value -> value) l n, (n < List.length l)%nat -> nth n (map f l) undefined = f (nth n l undefined).
Proof. induction l; intros [] H; simpl in *; try lia; auto; apply IHl; lia. Qed.

Lemma nth_part : forall (l : list value) n a b, 0 <= a -> 0 <= n < b - a -> 
  nth (Z.to_nat n) (firstn (Z.to_nat (b - a)) (skipn (Z.to_nat a) l)) undefined = nth (Z.to_nat (a + n)) l undefined.
Proof.
  intros l n a b A N.
  assert (F : forall m k (l : list value), (k < m)%nat -> nth k (firstn m l) undefined = nth k l undefined).
  { induction m; intros k m' K; [lia |]; destruct m', k; simpl; auto; apply IHm; lia. }
  assert (S : forall m k (l : list value), nth k (skipn m l) undefined = nth (m + k) l undefined).
  { induction m; intros k l'; simpl; auto; destruct l'; [destruct k; reflexivity | apply IHm]. }
  rewrite F, S by lia; f_equal; lia.
Qed.

Lemma simple_ok : forall n given e names, Forall (true_in names) given -> solid names e ->
  eval (simple n given e) names = eval e names.
Proof.
  unfold solid; induction n; intros given e names G H; [reflexivity |].
  destruct e; cbn [simple]; try reflexivity.
  - destruct (String.eqb field "rank") eqn:F; [| reflexivity]; apply String.eqb_eq in F; subst.
    cbn [eval field String.eqb Ascii.eqb Bool.eqb] in *; destruct (eval e names); simpl in *; try tauto.
  - cbn [eval] in H; destruct (item_solid _ _ H) as [l [z [L [Z' [B [E I]]]]]].
    assert (Hs : eval (simple n given e1) names = VList l) by (rewrite IHn; [exact L | exact G | rewrite L; simpl; tauto]).
    assert (Hi : eval (simple n given e2) names = VInt z) by (rewrite IHn; [exact Z' | exact G | rewrite Z'; simpl; tauto]).
    assert (D : eval (Item (simple n given e1) (simple n given e2)) names = eval (Item e1 e2) names).
    { cbn [eval]; rewrite Hs, Hi, L, Z'; reflexivity. }
    generalize dependent (simple n given e2); generalize dependent (simple n given e1); intros s Hs i Hi D.
    assert (U : forall e, eval e names = eval (Item s i) names -> eval (simple n given e) names = eval (Item e1 e2) names).
    { intros e E'; rewrite IHn; [congruence | exact G | rewrite E', D; exact H]. }
    destruct s; try exact D.
    + cbn [eval] in Hs; destruct (eval s2 names) eqn:E2; cbn [on_list] in Hs; inversion Hs; subst; clear Hs.
      assert (V : forall j, i = Int j -> 0 < j -> eval (Item s2 (Int (j - 1))) names = eval (Item (Cons s1 s2) i) names).
      { intros j Ei J; subst; simpl in Hi; inversion Hi; subst; cbn [eval]; rewrite E2; cbn [on_list item].
        simpl List.length in B. rewrite !(proj2 (Z.leb_le _ _)), !(proj2 (Z.ltb_lt _ _)) by (simpl List.length; lia).
        cbn [andb]; replace (Z.to_nat z) with (S (Z.to_nat (z - 1))) by lia; reflexivity. }
      destruct i; try exact D; destruct number; try exact D.
      * rewrite <- D; cbn [eval]; rewrite E2; cbn; reflexivity.
      * apply U, V; [reflexivity | lia].
      * simpl in Hi; inversion Hi; subst; lia.
    + apply U; cbn [eval] in *.
      assert (P : ~ unknown (part (eval s1 names) (eval s2 names) (eval s3 names))) by (rewrite Hs; simpl; tauto).
      apply part_solid in P; destruct P as [w [x [y [W [X [Y [X' [Y' E']]]]]]]]; rewrite W, X, Y in *; rewrite E' in Hs.
      inversion Hs; subst; clear Hs; rewrite firstn_length_le in B by (rewrite skipn_length; lia).
      rewrite (plus_ok _ _ _ _ _ X Hi), Hi; unfold item; cbn [part] in *; rewrite E'; unfold item.
      rewrite firstn_length_le by (rewrite skipn_length; lia).
      rewrite !(proj2 (Z.leb_le _ _)), !(proj2 (Z.ltb_lt _ _)) by lia; cbn [andb]; symmetry; apply nth_part; lia.
    + assert (C : forall t body, eval (Collect variable t (Stated (Int 0)) body) names = VList l ->
        exists w, eval t names = VList w /\ l = map (fun v => eval body (updated names variable v)) w).
      { intros t body C; cbn [eval stated] in C; destruct (eval t names); try discriminate; cbn [on_list] in C.
        rewrite collected_all in C; inversion C; eauto. }
      destruct s2; try (destruct s1; exact D); destruct s2; try (destruct s1; exact D).
      destruct number; try (destruct s1; exact D).
      destruct (C _ _ Hs) as [w [W E']].
      assert (N : eval (Item (Collect variable s1 (Stated (Int 0)) s3) i) names =
        eval s3 (updated names variable (nth (Z.to_nat z) w undefined))).
      { rewrite D; cbn [eval]; rewrite E, E'; apply (nth_map (fun v => eval s3 (updated names variable v))).
        rewrite E', map_length in B; lia. }
      rewrite E', map_length in B.
      assert (M : eval (simple n given (subst variable (Item s1 i) s3)) names = eval (Item e1 e2) names).
      { apply U; rewrite subst_ok, N; f_equal; f_equal; cbn [eval]; rewrite W, Hi; cbn [item].
        rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)) by lia; reflexivity. }
      destruct s1; try exact M; apply U; rewrite subst_ok, N; f_equal; f_equal.
      cbn [eval] in W; assert (P : ~ unknown (range (eval s1_1 names) (eval s1_2 names))) by (rewrite W; simpl; tauto).
      apply range_solid in P; destruct P as [x [y [E1 E2]]]; rewrite E1, E2 in W; cbn [range] in W.
      inversion W; subst; rewrite (plus_ok _ _ _ _ _ E1 Hi).
      unfold integers in *; rewrite !map_length, seq_length in B.
      rewrite map_map, (nth_indep _ _ (VInt (x + Z.of_nat 0))) by (rewrite map_length, seq_length; lia).
      rewrite (map_nth (fun i => VInt (x + Z.of_nat i)) _ 0%nat), seq_nth by lia; f_equal; lia.
  - cbn [eval] in H; destruct (part_solid _ _ _ H) as [l [x [y [L [X [Y _]]]]]]; cbn [eval].
    rewrite !IHn; auto; [rewrite Y | rewrite X | rewrite L]; simpl; tauto.
  - cbn [eval] in *; destruct (calculate_solid _ _ _ H); rewrite !IHn; auto.
  - cbn [eval] in *; rewrite IHn; auto; apply negative_solid; assumption.
  - destruct sign; try reflexivity; cbn [eval compare] in *; destruct (solid_parts _ _ H) as [_ F];
      inversion F as [| ? ? F1 F2]; inversion F2; subst; rewrite !IHn; auto.
  - cbn [eval] in *; rewrite IHn; auto; destruct (eval e names); simpl in *; tauto.
  - destruct (member e1 given) eqn:M.
    { apply member_ok in M; rewrite Forall_forall in G; pose proof (G _ M) as T; unfold true_in in T.
      cbn [eval] in *; rewrite T in *; cbn [choice] in *; apply IHn; auto; apply Forall_forall; auto. }
    destruct (member (Not e1) given) eqn:M'; [| reflexivity].
    apply member_ok in M'; rewrite Forall_forall in G; pose proof (G _ M') as T; unfold true_in in T; cbn [eval] in T.
    cbn [eval] in *; destruct (eval e1 names); try discriminate; destruct truth; try discriminate.
    cbn [choice] in *; apply IHn; auto; apply Forall_forall; auto.
  - cbn [eval] in *; destruct (on_list_solid _ _ H) as [l L]; rewrite IHn; auto; rewrite L; simpl; tauto.
  - cbn [eval] in *; destruct (on_list_solid _ _ H) as [l L]; rewrite IHn; auto; rewrite L; simpl; tauto.
  - cbn [eval] in H; destruct (on_list_solid _ _ H) as [l L].
    assert (S : eval (simple n given e) names = VList l) by (rewrite IHn; [exact L | exact G | rewrite L; simpl; tauto]).
    destruct function; cbn [eval]; try (rewrite S, L; reflexivity).
    rewrite (length_form_ok _ _ _ S), L; reflexivity.
Qed.
