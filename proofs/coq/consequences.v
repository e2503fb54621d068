(* Conditions that follow from one that holds. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts conditions.
Import ListNotations.
Open Scope Z_scope.

Definition one_of (v : expr) (items : list expr) : expr := fold_right (fun e f => Or (Compare Equal e v) f) (Compare Less (Int 0) (Int 0)) items.
Definition place (n : nat) : expr := Int (Z.of_nat n).

Fixpoint equal_places (a : expr) (n : nat) (items : list expr) : list expr :=
  match items with [] => [] | e :: rest => Compare Equal (Item a (place n)) e :: equal_places a (S n) rest end.

Definition others_than (v : expr) (items : list expr) : list expr := map (fun e => Not (Compare Equal e v)) items.

(* A value among the items of a list that is not written item by item. *)
Definition member_name : string := "item of a list".
Definition among (v l : expr) : list expr :=
  if mentions member_name v then [] else [Exists member_name l (Compare Equal (Name member_name) v)].
Definition not_among (v l : expr) : list expr :=
  if mentions member_name v then [] else [ForAll member_name l (Not (Compare Equal (Name member_name) v))].

Definition simply (q p : expr) : expr := match q with Stated (Int 0) => p | _ => Or (Not q) p end.

Definition integers_only (d : kinds) (e : expr) : bool :=
  match kind_of d e with Some (KList k) => integral k | _ => false end.
Definition equal_products (d : kinds) (a b : expr) : list expr :=
  if integers_only d a && integers_only d b then [Compare Equal (Apply Product a) (Apply Product b)] else [].

(* A condition holds of one of the items that are written. *)
Definition of_one (x : string) (p : expr) (items : list expr) : expr :=
  fold_right (fun e f => Or (subst x e p) f) (Compare Less (Int 0) (Int 0)) items.

(* Conditions of constants that do not hold. *)
Definition false_form (f : expr) : bool :=
  match f with
  | Compare Less (Int x) (Int y) => y <=? x
  | Compare AtMost (Int x) (Int y) => y <? x
  | Compare Equal (Int x) (Int y) => negb (x =? y)
  | Compare Equal (Text s) (Text t) => negb (String.eqb s t)
  | Not (Compare Equal (Int x) (Int y)) => x =? y
  | Not (Compare Equal (Text s) (Text t)) => String.eqb s t
  | Not (Stated (Int _)) => true
  | _ => false
  end.

Definition consequences (d : kinds) (f : expr) : list expr :=
  match f with
  | And a b => if is_bool d a && is_bool d b then [a; b] else []
  | Or a b => if false_form a then [b] else if false_form b then [a] else []
  | Not (Not a) => [a]
  | Not (And a b) => [Or (Not a) (Not b)]
  | Not (Or a b) => if is_bool d a && is_bool d b then [Not a; Not b] else []
  | Not (Compare Less a b) => if is_numeric d a && is_numeric d b then [Compare AtMost b a] else []
  | Not (Compare AtMost a b) => if is_numeric d a && is_numeric d b then [Compare Less b a] else []
  | Not (Compare Equal a b) => if is_int d a && is_int d b then [Or (Compare Less a b) (Compare Less b a)] else []
  | Not (Exists x s p) => if decides d x s p then [ForAll x s (Not p)] else []
  | Not (Compare Member a l) => match listed l with Some items => others_than a items | None => not_among a l end
  | Compare Member a l =>
      match listed l with
      | Some items => [one_of a items]
      | None => among a l
      end
  | Compare Equal (Text s) b => [Compare Equal b (Text s)]
  | Compare Equal a b =>
      if is_list d a && is_list d b
      then Compare Equal (Apply Len a) (Apply Len b) :: equal_products d a b ++
           (match listed b with Some items => equal_places a 0 items | None => [] end)
      else []
  | ForAll x s p =>
      if decides d x s p then
        match s with
        | Cons v l => [subst x v p; ForAll x l p]
        | Arithmetic Plus a b => [ForAll x a p; ForAll x b p]
        | Collect y t q a => if negb (String.eqb x y) && mentions y p || negb (decides d y t q) then [] else [ForAll y t (simply q (subst x a p))]
        | _ => []
        end
      else []
  | Exists x s p =>
      match s with
      | Collect y t q a => if negb (String.eqb x y) && mentions y p then [] else [Exists y t (And q (subst x a p))]
      | Nil | Cons _ _ => match listed s with Some items => [of_one x p items] | None => [] end
      | _ => []
      end
  | _ => []
  end.

Lemma one_of_ok : forall v items names, List.Exists (fun e => true_in names (Compare Equal e v)) items -> true_in names (one_of v items).
Proof. intros v items names H; induction H; simpl; apply or_intro; auto. Qed.

Lemma of_one_ok : forall x p items names, List.Exists (fun e => eval p (updated names x (eval e names)) = VBool true) items ->
  true_in names (of_one x p items).
Proof. intros x p items names H; induction H; simpl; apply or_intro; [left; unfold true_in; rewrite subst_ok |]; auto. Qed.

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

Lemma false_form_ok : forall names f, false_form f = true -> true_in names f -> False.
Proof.
  intros names f A F; destruct f; try discriminate.
  - destruct sign; try discriminate; destruct f1; try discriminate; destruct f2; try discriminate;
      unfold true_in in F; cbn in F, A; inversion F as [E].
    + rewrite E in A; discriminate.
    + rewrite E in A; discriminate.
    + apply Z.leb_le in A; apply Z.ltb_lt in E; lia.
    + apply Z.ltb_lt in A; apply negb_true_iff, Z.ltb_ge in E; lia.
  - apply not_true in F; destruct f; try discriminate.
    + destruct sign; try discriminate; destruct f1; try discriminate; destruct f2; try discriminate;
        cbn in F, A; inversion F as [E]; congruence.
    + destruct f; try discriminate.
Qed.

Lemma among_ok : forall names v l, true_in names (Compare Member v l) -> Forall (true_in names) (among v l).
Proof.
  intros names v l H; unfold among; destruct (mentions member_name v) eqn:M; constructor; [| constructor].
  unfold true_in in H; cbn [eval compare] in H; apply contains_true in H; destruct H as [items [item [L [I T]]]].
  eapply exists_intro; [exact L | exact I |]; cbn [eval compare]; rewrite eval_without by exact M.
  unfold updated; rewrite String.eqb_refl; exact T.
Qed.

Lemma not_among_ok : forall names v l, eval (Compare Member v l) names = VBool false -> Forall (true_in names) (not_among v l).
Proof.
  intros names v l H; unfold not_among; destruct (mentions member_name v) eqn:M; constructor; [| constructor].
  cbn [eval compare] in H; apply contains_false in H; destruct H as [items [L F]].
  eapply forall_intro; [exact L |]; eapply Forall_impl; [| exact F]; intros item T; cbn [eval compare].
  rewrite eval_without by exact M; unfold updated; rewrite String.eqb_refl; exact T.
Qed.

Lemma equal_integer_lists : forall l r, Forall (may KInt) l -> Forall (may KInt) r -> equal (VList l) (VList r) = VBool true ->
  l = r /\ Forall (fun v => match v with VInt _ => True | _ => False end) l.
Proof.
  intros l r L R E; apply equal_lists in E; destruct E as [N T].
  revert r R N T; induction L as [| v l V L IH]; intros [| w r] R N T; try discriminate; [auto |]; inversion R; subst.
  destruct (T 0%nat) as [U X]; [simpl; lia |]; cbn [nth] in U, X.
  destruct (equal_integers v w V) as [z [A B]]; [assumption | apply equal_is_bool; auto using may_equal |]; subst.
  destruct (IH r) as [A B]; [assumption | simpl in N; lia | | subst; auto].
  intros n I; apply (T (S n)); simpl; lia.
Qed.

Lemma integers_only_ok : forall d names e l, possible d names -> integers_only d e = true -> eval e names = VList l -> Forall (may KInt) l.
Proof.
  intros d names e l P I L; unfold integers_only in I; destruct (kind_of d e) as [k |] eqn:K; [| discriminate].
  destruct k; try discriminate; pose proof (kind_of_ok _ _ _ _ P K) as M; rewrite L in M; simpl in M.
  eapply Forall_impl; [| exact M]; intros v; apply may_integer; exact I.
Qed.

Lemma product_known : forall l, Forall (fun v => match v with VInt _ => True | _ => False end) l -> exists z, apply Product l = VInt z.
Proof.
  intros l H; cbn [apply]; destruct (existsb is_zero l); [eauto |]; unfold total; rewrite strict_known.
  - apply fold_known; [exact I | exact H].
  - eapply Forall_impl; [| exact H]; intros v V U; destruct v; simpl in *; contradiction.
Qed.

Lemma equal_products_ok : forall d names a b l r, possible d names -> eval a names = VList l -> eval b names = VList r ->
  equal (VList l) (VList r) = VBool true -> Forall (true_in names) (equal_products d a b).
Proof.
  intros d names a b l r P A B E; unfold equal_products; destruct (integers_only d a && integers_only d b) eqn:I; [| constructor].
  split_and; constructor; [| constructor].
  destruct (equal_integer_lists l r) as [Q K]; [apply (integers_only_ok d names a); assumption | apply (integers_only_ok d names b); assumption | exact E |]; subst.
  destruct (product_known r K) as [z Z']; unfold true_in; cbn [eval compare]; rewrite A, B; cbn [on_list]; rewrite Z'.
  cbn [equal]; rewrite Z.eqb_refl; reflexivity.
Qed.

Lemma consequences_ok : forall d names f, possible d names -> true_in names f -> Forall (true_in names) (consequences d f).
Proof.
  intros d names f P H; destruct f; cbn [consequences]; try (constructor; fail).
  - destruct sign; try (constructor; fail).
    + assert (G : Forall (true_in names) (if is_list d f1 && is_list d f2 then Compare Equal (Apply Len f1) (Apply Len f2) ::
        equal_products d f1 f2 ++ match listed f2 with Some items => equal_places f1 0 items | None => [] end else [])).
      2: { destruct f1; try exact G; constructor; [| constructor]; unfold true_in in *; cbn [eval compare] in *.
           destruct (eval f2 names) as [| | | | | | c [t |]]; simpl in H; try discriminate; cbn [equal]; rewrite String.eqb_sym; exact H. }
      destruct (is_list d f1 && is_list d f2) eqn:L; [| constructor]; split_and.
      destruct (equal_true _ _ _ _ P (is_list_kind _ _ H0) (is_list_kind _ _ H1) H) as [S1 S2].
      destruct (is_list_ok _ _ _ P H0 S1) as [l E1]; destruct (is_list_ok _ _ _ P H1 S2) as [r E2].
      unfold true_in in H; cbn [eval compare] in H; rewrite E1, E2 in H; destruct (equal_lists _ _ H) as [N T].
      apply Forall_cons; [| apply Forall_app; split].
      * unfold true_in; cbn [eval compare]; rewrite E1, E2; cbn [on_list apply equal]; rewrite N, Z.eqb_refl; reflexivity.
      * eapply equal_products_ok; eassumption.
      * destruct (listed f2) eqn:I; [| constructor]; pose proof (listed_ok _ _ names I) as E3; rewrite E2 in E3; inversion E3; subst.
        rewrite map_length in *; apply equal_places_ok with l; [exact E1 | exact N |].
        intros i Hi; destruct (T i Hi) as [U V].
        assert (Q : nth i (map (fun e => eval e names) l0) undefined = eval (nth i l0 Undefined) names)
          by exact (map_nth (fun e => eval e names) l0 Undefined i).
        rewrite Q in U, V; apply equal_is_bool; auto using may_equal.
    + destruct (listed f2) as [items |] eqn:I; [| apply among_ok; exact H]; constructor; [| constructor].
      apply one_of_ok; unfold true_in in H; cbn [eval compare] in H; rewrite (listed_ok _ _ names I) in H.
      apply contains_true in H; destruct H as [l [v [L [V T]]]]; inversion L; subst; apply in_map_iff in V; destruct V as [e [V W]].
      subst; apply Exists_exists; exists e; split; [exact W | exact T].
  - destruct (is_bool d f1 && is_bool d f2) eqn:B; [| constructor]; split_and.
    unfold true_in in H; cbn [eval] in H; apply kleene_false_true in H.
    + inversion H as [| ? ? H2 H3]; inversion H3; subst; repeat constructor; assumption.
    + repeat constructor; eapply is_bool_may; eassumption.
  - destruct (false_form f1) eqn:A; [| destruct (false_form f2) eqn:B; [| constructor]]; constructor; try constructor;
      destruct (or_true _ _ _ H) as [T | T]; try exact T; exfalso; eapply false_form_ok; eassumption.
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
      * destruct (is_numeric d f1 && is_numeric d f2) eqn:N; [| constructor]; apply andb_prop in N; destruct N as [N1 N2].
        apply (numeric_not_nan d names) in N1, N2; try exact P.
        constructor; [| constructor]; destruct (strict_cases [eval f1 names; eval f2 names] (VBool (less (eval f1 names) (eval f2 names)))) as [[S U] | [c S]];
          rewrite S in F; [| discriminate]; inversion F as [L]; unfold true_in; cbn [eval compare]; unfold at_most; rewrite N1, N2; cbn [orb].
        rewrite L; apply strict_known; inversion U as [| ? ? U1 U2]; inversion U2; subst; repeat constructor; assumption.
      * destruct (is_numeric d f1 && is_numeric d f2) eqn:N; [| constructor]; apply andb_prop in N; destruct N as [N1 N2].
        apply (numeric_not_nan d names) in N1, N2; try exact P; unfold at_most in F; rewrite N1, N2 in F; cbn [orb] in F.
        constructor; [| constructor]; destruct (strict_cases [eval f1 names; eval f2 names] (VBool (negb (less (eval f2 names) (eval f1 names))))) as [[S U] | [c S]];
          rewrite S in F; [| discriminate]; inversion F as [L]; apply negb_false_iff in L; unfold true_in; cbn [eval compare].
        rewrite L; apply strict_known; inversion U as [| ? ? U1 U2]; inversion U2; subst; repeat constructor; assumption.
      * destruct (listed f2) as [items |] eqn:I; [| apply not_among_ok; exact F].
        cbn [eval compare] in F; rewrite (listed_ok _ _ names I) in F; apply contains_false in F; destruct F as [l [L F]].
        inversion L; subst; apply Forall_map in F; apply Forall_map; exact F.
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
    + destruct (negb (String.eqb variable variable0) && mentions variable0 f2) eqn:M; [constructor |]; cbn [orb].
      destruct (decides d variable0 f1_1 f1_2) eqn:D; cbn [negb]; [| constructor]; constructor; [| constructor].
      cbn [eval] in L; destruct (eval f1_1 names) as [| | | | w | |] eqn:E; try discriminate; cbn [on_list] in L.
      destruct (strict_cases (map (fun v => eval f1_2 (updated names variable0 v)) w)
        (VList (map (fun v => eval f1_3 (updated names variable0 v)) (chosen (fun v => eval f1_2 (updated names variable0 v)) w)))) as [[S U] | [c S]];
        rewrite S in L; [| discriminate]; inversion L; subst; clear L S.
      apply forall_intro with w; [exact E |]; apply Forall_forall; intros v V.
      apply simply_ok, or_intro; rewrite Forall_forall in A; pose proof (known_map _ _ U v V) as U'.
      destruct (is_truth true (eval f1_2 (updated names variable0 v))) eqn:T.
      * right; unfold true_in; rewrite of_inner by exact M; apply A.
        apply (in_map (fun v => eval f1_3 (updated names variable0 v))), filter_In; auto.
      * left; apply not_intro, bool_not_true; auto; pose proof (decides_may _ _ _ _ _ _ P D E) as N.
        rewrite Forall_forall in N; apply N; exact V.
  - assert (O : Forall (true_in names) match listed f1 with Some items => [of_one variable f2 items] | None => [] end).
    { destruct (listed f1) as [items |] eqn:I; constructor; [| constructor]; apply exists_true in H; destruct H as [l [v [L [J T]]]].
      rewrite (listed_ok _ _ names I) in L; inversion L; subst; apply in_map_iff in J; destruct J as [e [E J]]; subst.
      apply of_one_ok, Exists_exists; exists e; auto. }
    destruct f1; try (constructor; fail); try exact O; clear O.
    destruct (negb (String.eqb variable variable0) && mentions variable0 f2) eqn:M; constructor; [| constructor].
    apply exists_true in H; destruct H as [l [v [L [I T]]]]; cbn [eval] in L.
    destruct (eval f1_1 names) as [| | | | w | |] eqn:E; try discriminate; cbn [on_list] in L.
    match type of L with strict ?a ?b = _ => destruct (strict_cases a b) as [[S _] | [c S]]; rewrite S in L; [| discriminate] end.
    inversion L; subst; clear L S; apply in_map_iff in I; destruct I as [u [V I]]; apply filter_In in I; destruct I as [I Q]; subst.
    eapply exists_intro; [exact E | exact I |]; cbn [eval]; rewrite of_inner by exact M; rewrite T.
    destruct (eval f1_2 (updated names variable0 u)); try discriminate; destruct truth; [reflexivity | discriminate].
Qed.
