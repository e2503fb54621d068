(* Where the translation of an expression is defined, it has the value of the evaluation: [encode_correct]. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation encoding.
Import ListNotations.
Open Scope Z_scope.

Section Correctness.
Variable m : assignment.
Variable bound : nat.

Notation "⟦ t ⟧" := (truth_of m t).

(* Folding keeps the value of a term. *)
Lemma conj_ok a b : ⟦conj a b⟧ = ⟦a⟧ && ⟦b⟧.
Proof. destruct a as [[]| | | | | | |], b as [[]| | | | | | |]; simpl; rewrite ?andb_true_r, ?andb_false_r; auto. Qed.
Lemma disj_ok a b : ⟦disj a b⟧ = ⟦a⟧ || ⟦b⟧.
Proof. destruct a as [[]| | | | | | |], b as [[]| | | | | | |]; simpl; rewrite ?orb_true_r, ?orb_false_r; auto. Qed.
Lemma neg_ok a : ⟦neg a⟧ = negb ⟦a⟧.
Proof. destruct a; simpl; rewrite ?negb_involutive; auto. Qed.
Lemma imp_ok a b : ⟦imp a b⟧ = implb ⟦a⟧ ⟦b⟧.
Proof. unfold imp. rewrite disj_ok, neg_ok. now destruct ⟦a⟧, ⟦b⟧. Qed.
Lemma calc_ok s a b : int_of m (int_calc s a b) = calc s (int_of m a) (int_of m b).
Proof. now destruct a, b. Qed.
Lemma eq_ok a b : ⟦int_eq a b⟧ = (int_of m a =? int_of m b).
Proof. now destruct a, b. Qed.
Lemma less_ok a b : ⟦int_less a b⟧ = (int_of m a <? int_of m b).
Proof. now destruct a, b. Qed.
Lemma at_most_ok a b : ⟦at_most a b⟧ = (int_of m a <=? int_of m b).
Proof. unfold at_most. rewrite neg_ok, less_ok. now rewrite Z.leb_antisym. Qed.
Lemma ite_ok c a b : int_of m (ite c a b) = if ⟦c⟧ then int_of m a else int_of m b.
Proof. now destruct c as [[]| | | | | | |]. Qed.
Lemma text_ite_ok c a b : text_of m (text_ite c a b) = if ⟦c⟧ then text_of m a else text_of m b.
Proof. now destruct c as [[]| | | | | | |]. Qed.
Lemma same_ok a b : ⟦same a b⟧ = String.eqb (text_of m a) (text_of m b).
Proof. now destruct a, b. Qed.

Hint Rewrite conj_ok disj_ok neg_ok imp_ok calc_ok eq_ok less_ok at_most_ok ite_ok text_ite_ok same_ok : terms.

Lemma list_value items : value_of m (SList items) = VList (items_of m items).
Proof. simpl. f_equal. induction items as [|[p v] rest IH]; simpl; auto. now rewrite IH. Qed.

Definition fields_of (l : list (string * symbolic)) := map (fun '(f, v) => (f, value_of m v)) l.
Lemma record_value fields : value_of m (SRecord fields) = VRecord (fields_of fields).
Proof. simpl. f_equal. induction fields as [|[f v] rest IH]; simpl; auto. now rewrite IH. Qed.

Definition whole (v : value) : Prop := known v = true.

Lemma whole_list l : whole (VList l) <-> Forall whole l.
Proof. unfold whole. simpl. rewrite forallb_forall, Forall_forall. reflexivity. Qed.
Lemma whole_record l : whole (VRecord l) <-> Forall (fun f => whole (snd f)) l.
Proof.
  unfold whole. simpl. induction l as [|[f v] rest IH]; simpl; split; intros H; auto.
  - apply andb_prop in H as [? ?]. constructor; auto. now apply IH.
  - inversion H; subst. simpl in *. rewrite H2. simpl. now apply IH.
Qed.

Lemma strongest_whole l : Forall whole l -> strongest l = None.
Proof.
  unfold strongest. intros H. induction H as [|v l Hv H IH]; auto. simpl.
  replace (joined None v) with (@None cause); auto. destruct v; auto; discriminate.
Qed.
Lemma strict_whole l v : Forall whole l -> strict l v = v.
Proof. intros H. unfold strict. now rewrite strongest_whole. Qed.

(* Induction over symbolic values, through their lists and records. *)
Fixpoint symbolic_rect' (P : symbolic -> Prop)
  (hu : P SUndefined) (hi : forall t, P (SInt t)) (ht : forall t, P (STruth t)) (hs : forall t, P (SText t))
  (hl : forall l, Forall (fun i => P (snd i)) l -> P (SList l))
  (hr : forall l, Forall (fun f => P (snd f)) l -> P (SRecord l)) (s : symbolic) : P s :=
  match s with
  | SUndefined => hu | SInt t => hi t | STruth t => ht t | SText t => hs t
  | SList l => hl l ((fix go (l : list (truth_term * symbolic)) : Forall (fun i => P (snd i)) l :=
      match l with [] => Forall_nil _ | i :: r => Forall_cons i (symbolic_rect' P hu hi ht hs hl hr (snd i)) (go r) end) l)
  | SRecord l => hr l ((fix go (l : list (string * symbolic)) : Forall (fun i => P (snd i)) l :=
      match l with [] => Forall_nil _ | i :: r => Forall_cons i (symbolic_rect' P hu hi ht hs hl hr (snd i)) (go r) end) l)
  end.

Ltac inv H := inversion H; subst; clear H.
Ltac split_bind H :=
  match type of H with
  | bind ?a _ = Some _ => let E := fresh "E" in destruct a as [?|] eqn:E; [cbn [bind] in H | discriminate H]
  end.

Lemma guarded_items c (l : presence) :
  items_of m (map (fun '(p, v) => (conj c p, v)) l) = if ⟦c⟧ then items_of m l else [].
Proof.
  induction l as [|[p v] rest IH]; cbn -[conj]; [now destruct ⟦c⟧|]. rewrite conj_ok, IH.
  now destruct ⟦c⟧, ⟦p⟧.
Qed.

Lemma items_app a b : items_of m (a ++ b) = items_of m a ++ items_of m b.
Proof. induction a as [|[p v] rest IH]; simpl; auto. rewrite IH. now destruct ⟦p⟧. Qed.

(* A merged value is the left one where the condition holds, else the right one. *)
Lemma merge_ok a : forall c b s, merge c a b = Some s ->
  (⟦c⟧ = true -> whole (value_of m a) -> value_of m s = value_of m a) /\
  (⟦c⟧ = false -> whole (value_of m b) -> value_of m s = value_of m b).
Proof.
  induction a as [| | | |l IH|l IH] using symbolic_rect'; intros c b s H.
  - simpl in H. inv H. split; auto. intros _ W. discriminate W.
  - destruct b; simpl in H; inv H; split; intros Hc W; cbn -[ite]; try rewrite ite_ok, Hc; auto; discriminate W.
  - destruct b; simpl in H; inv H; split; intros Hc W; cbn -[conj imp neg]; autorewrite with terms;
      try (rewrite Hc; simpl; rewrite ?andb_true_r; auto; fail); auto; discriminate W.
  - destruct b; simpl in H; inv H; split; intros Hc W; cbn -[text_ite]; try rewrite text_ite_ok, Hc; auto; discriminate W.
  - destruct b as [| | | |r|]; try discriminate H.
    { simpl in H. inv H. split; auto. intros _ W; discriminate W. }
    cbn [merge] in H. split_bind H. inv H. rewrite !list_value, !whole_list.
    enough ((⟦c⟧ = true -> Forall whole (items_of m l) -> items_of m l0 = items_of m l) /\
            (⟦c⟧ = false -> Forall whole (items_of m r) -> items_of m l0 = items_of m r)) as [A B]
      by (split; intros; f_equal; auto).
    clear - E IH. revert r l0 E. induction IH as [|[p v] l Hv _ IHl]; intros r out E.
    + inv E. split; intros Hc W; rewrite guarded_items, neg_ok, Hc; auto.
    + destruct r as [|[q w] r].
      * split_bind E. inv E. destruct (IHl _ _ E0) as [A B].
        split; intros Hc W; cbn -[conj] in *; rewrite conj_ok, Hc; cbn [andb].
        -- destruct ⟦p⟧; [inv W; f_equal|]; auto.
        -- now apply B.
      * split_bind E. split_bind E. inv E. destruct (IHl _ _ E1) as [A B]. destruct (Hv _ _ _ E0) as [C D].
        split; intros Hc W; cbn -[conj disj neg] in *; autorewrite with terms; rewrite Hc; cbn [andb orb negb].
        -- rewrite orb_false_r. destruct ⟦p⟧; [inv W; f_equal|]; auto.
        -- destruct ⟦q⟧; [inv W; f_equal|]; auto.
  - destruct b as [| | | | |r]; try discriminate H.
    { simpl in H. inv H. split; auto. intros _ W; discriminate W. }
    cbn [merge] in H. split_bind H. inv H. rewrite !record_value, !whole_record.
    enough ((⟦c⟧ = true -> Forall (fun f => whole (snd f)) (fields_of l) -> fields_of l0 = fields_of l) /\
            (⟦c⟧ = false -> Forall (fun f => whole (snd f)) (fields_of r) -> fields_of l0 = fields_of r)) as [A B]
      by (split; intros; f_equal; auto).
    clear - E IH. revert r l0 E. induction IH as [|[f v] l Hv _ IHl]; intros r out E.
    + destruct r; inv E. auto.
    + destruct r as [|[g w] r]; [discriminate|]. destruct (String.eqb f g) eqn:N; [|discriminate].
      apply String.eqb_eq in N. subst g. split_bind E. split_bind E. inv E.
      destruct (IHl _ _ E1) as [A B]. destruct (Hv _ _ _ E0) as [C D].
      split; intros Hc W; simpl in *; inv W; simpl in *; f_equal; auto; f_equal; auto.
Qed.

Lemma count_ok l : int_of m (count l) = Z.of_nat (List.length (items_of m l)).
Proof.
  induction l as [|[p v] rest IH]; auto. cbn -[int_calc ite].
  rewrite calc_ok, ite_ok. unfold count in IH. cbn [calc int_of]. rewrite IH. destruct ⟦p⟧; cbn [List.length]; lia.
Qed.

Lemma nth_cons {A} i (v : A) l d : 0 <= i ->
  nth (Z.to_nat i) (v :: l) d = if i =? 0 then v else nth (Z.to_nat (i - 1)) l d.
Proof.
  intros H. destruct (Z.eqb_spec i 0); [now subst|].
  replace (Z.to_nat i) with (S (Z.to_nat (i - 1))) by lia. reflexivity.
Qed.

Lemma item_at_ok l : forall t s, item_at l t = Some s -> Forall whole (items_of m l) ->
  0 <= int_of m t < Z.of_nat (List.length (items_of m l)) ->
  value_of m s = nth (Z.to_nat (int_of m t)) (items_of m l) undefined.
Proof.
  induction l as [|[p v] rest IH]; intros t s H W R; cbn -[merge conj int_calc ite int_eq] in *; [lia|].
  split_bind H. apply merge_ok in H as [A B]. rewrite conj_ok, eq_ok in A, B. cbn [int_of] in A, B.
  specialize (IH _ _ E). rewrite calc_ok, ite_ok in IH. cbn [calc int_of] in IH.
  destruct ⟦p⟧; cbn [andb] in *.
  - inv W. cbn [List.length] in R. rewrite nth_cons by lia. destruct (Z.eqb_spec (int_of m t) 0).
    + apply A; auto.
    + rewrite B; auto; rewrite IH; auto; try lia.
      apply (proj1 (Forall_forall _ _) H2). apply nth_In. lia.
  - rewrite Z.sub_0_r in IH. rewrite B; auto; rewrite IH; auto; try lia.
    apply (proj1 (Forall_forall _ _) W). apply nth_In. lia.
Qed.

Lemma nth_whole i l : Forall whole l -> 0 <= i < Z.of_nat (List.length l) -> whole (nth (Z.to_nat i) l undefined).
Proof. intros H R. apply (proj1 (Forall_forall _ _) H). apply nth_In. lia. Qed.

Lemma places_ok l : forall a b, int_of m a <= int_of m b ->
  items_of m (places l a b) =
  firstn (Z.to_nat (int_of m b - Z.max 0 (int_of m a))) (skipn (Z.to_nat (int_of m a)) (items_of m l)).
Proof.
  induction l as [|[p v] rest IH]; intros a b R; cbn -[conj at_most int_less int_calc ite] in *.
  - now rewrite skipn_nil, firstn_nil.
  - autorewrite with terms. cbn [int_of calc].
    assert (N : forall k, int_of m (int_calc Minus k (ite p (ICon 1) (ICon 0))) = int_of m k - if ⟦p⟧ then 1 else 0).
    { intros k. rewrite calc_ok, ite_ok. cbn. now destruct ⟦p⟧. }
    rewrite IH by (rewrite !N; destruct ⟦p⟧; lia). rewrite !N. destruct ⟦p⟧; cbn [andb].
    + set (x := int_of m a) in *. set (y := int_of m b) in *.
      destruct (Z.leb_spec x 0); cbn [andb].
      * replace (Z.to_nat x) with 0%nat by lia. replace (Z.to_nat (x - 1)) with 0%nat by lia. cbn [skipn].
        destruct (Z.ltb_spec 0 y).
        -- replace (Z.to_nat (y - Z.max 0 x)) with (S (Z.to_nat (y - 1 - Z.max 0 (x - 1)))) by lia. reflexivity.
        -- replace (Z.to_nat (y - Z.max 0 x)) with 0%nat by lia.
           now replace (Z.to_nat (y - 1 - Z.max 0 (x - 1))) with 0%nat by lia.
      * replace (Z.to_nat x) with (S (Z.to_nat (x - 1))) by lia. cbn [skipn]. f_equal. lia.
    + rewrite !Z.sub_0_r. reflexivity.
Qed.

Lemma bodies_ok f g : (forall v r, f v = Some r -> ⟦fst r⟧ = true -> whole (value_of m v) ->
    g (value_of m v) = value_of m (snd r) /\ whole (value_of m (snd r))) ->
  forall l d made, bodies f l = Some (d, made) -> ⟦d⟧ = true -> Forall whole (items_of m l) ->
  items_of m made = map g (items_of m l) /\ Forall whole (items_of m made) /\ map fst made = map fst l.
Proof.
  intros F. induction l as [|[p v] rest IH]; intros d made H D W; cbn -[conj imp] in H.
  - inv H. simpl. auto.
  - split_bind H. match goal with E : f v = Some ?r |- _ => destruct r as [d1 s] end. split_bind H. match goal with E : bodies f rest = Some ?r |- _ => destruct r as [ds out] end. inv H.
    rewrite conj_ok, imp_ok in D. apply andb_prop in D as [D1 D2]. cbn in W |- *.
    destruct ⟦p⟧.
    + inv W. destruct (F _ _ E D1 H1) as [A B]. destruct (IH _ _ eq_refl D2 H2) as (I & J & K).
      cbn in *. rewrite I, A, K. repeat split; auto. constructor; auto. now rewrite <- I.
    + destruct (IH _ _ eq_refl D2 W) as (I & J & K). cbn. rewrite K. auto.
Qed.

Lemma all_truths_ok decides l : forall t, all_truths decides l = Some t ->
  kleene decides (items_of m l) = VBool ⟦t⟧ /\ Forall whole (items_of m l).
Proof.
  induction l as [|[p v] rest IH]; intros t H; cbn -[conj disj imp] in H.
  - inv H. split; simpl; auto.
  - destruct v as [| |u| | |]; try discriminate. split_bind H. destruct (IH _ eq_refl) as [A W]. cbn [items_of value_of].
    assert (V : ⟦t⟧ = if decides then (⟦p⟧ && ⟦u⟧) || ⟦t0⟧ else implb ⟦p⟧ ⟦u⟧ && ⟦t0⟧).
    { destruct decides; injection H as <-; autorewrite with terms; auto. }
    rewrite V. destruct ⟦p⟧; [|split; auto; rewrite A; now destruct decides].
    split; [|constructor; auto; reflexivity].
    unfold kleene in *. rewrite strict_whole in A by auto. rewrite strict_whole by (constructor; auto; reflexivity).
    cbn [existsb is_truth]. destruct (existsb _ (items_of m rest)), decides, ⟦u⟧; cbn in *; injection A as A; rewrite <- ?A; auto.
Qed.
Lemma taken_ok g filters : forall l kept, taken filters l = Some kept -> map fst filters = map fst l ->
  items_of m filters = map g (items_of m l) ->
  items_of m kept = chosen g (items_of m l).
Proof.
  induction filters as [|[q w] filters IH]; intros [|[p v] rest] kept H N V; try (cbn in N; discriminate N).
  - inv H. reflexivity.
  - cbn -[conj] in *. destruct w as [| |t| | |]; try discriminate H.
    destruct (taken filters rest) as [others|] eqn:E; [cbn -[conj] in H|discriminate H]. inv H. injection N as N1 N2. subst p.
    cbn -[conj] in *. rewrite conj_ok. destruct ⟦q⟧; cbn [andb].
    + cbn in V. injection V as V1 V2. unfold chosen in *. cbn. rewrite <- V1. cbn.
      rewrite (IH _ _ E N2 V2). now destruct ⟦t⟧.
    + apply (IH _ _ E N2 V).
Qed.

Lemma chosen_whole g l : Forall whole l -> Forall whole (chosen g l).
Proof. unfold chosen. intros H. apply Forall_forall. intros x I. apply filter_In in I as [I _].
  now apply (proj1 (Forall_forall _ _) H). Qed.

Lemma equal_items_ok a b t : equal_items a b = Some t -> equal (value_of m a) (value_of m b) = VBool ⟦t⟧.
Proof.
  destruct a, b; simpl; try discriminate; intros H; inv H; autorewrite with terms; auto.
  f_equal. now destruct ⟦t0⟧, ⟦t1⟧.
Qed.

Lemma any_equal_ok v l : forall t, any_equal v l = Some t ->
  contains (VList (items_of m l)) (value_of m v) = VBool ⟦t⟧ /\ existsb (fun w => is_truth true (equal w (value_of m v))) (items_of m l) = ⟦t⟧.
Proof.
  unfold contains. induction l as [|[p w] rest IH]; intros t H; cbn -[conj disj] in H.
  - inv H. split; reflexivity.
  - split_bind H. split_bind H. inv H. destruct (IH _ eq_refl) as [A B]. apply equal_items_ok in E.
    rewrite disj_ok, conj_ok. cbn [items_of]. destruct ⟦p⟧; cbn [andb orb]; auto.
    cbn [existsb map]. rewrite E, B. cbn [is_truth negation]. split; [|now destruct ⟦t0⟧].
    unfold kleene in *. cbn [existsb]. destruct ⟦t0⟧; [reflexivity|]. cbn [negb is_truth Bool.eqb orb].
    destruct (existsb (is_truth false) _); [exact A|].
    unfold strict, strongest in *. cbn [fold_left joined]. exact A.
Qed.

Lemma equal_symmetric_items a b t : equal_items a b = Some t -> equal (value_of m b) (value_of m a) = VBool ⟦t⟧.
Proof.
  destruct a, b; simpl; try discriminate; intros H; inv H; autorewrite with terms.
  - now rewrite Z.eqb_sym.
  - f_equal. now destruct ⟦t0⟧, ⟦t1⟧.
  - now rewrite String.eqb_sym.
Qed.

Lemma any_equal_left v l : forall t, any_equal v l = Some t ->
  existsb (fun w => is_truth true (equal (value_of m v) w)) (items_of m l) = ⟦t⟧ /\ (items_of m l <> [] -> whole (value_of m v)) /\ Forall whole (items_of m l).
Proof.
  induction l as [|[p w] rest IH]; intros t H; cbn -[conj disj] in H.
  - inv H. split; [reflexivity|split; [intros N; now elim N|constructor]].
  - split_bind H. split_bind H. inv H. destruct (IH _ eq_refl) as (A & B & C).
    pose proof (equal_symmetric_items _ _ _ E) as S. rewrite disj_ok, conj_ok. cbn [items_of].
    destruct ⟦p⟧; cbn [andb orb existsb]; auto. rewrite A, S. cbn [is_truth]. split; [now destruct ⟦t0⟧|].
    destruct v, w; try discriminate E; (split; [reflexivity|constructor; [reflexivity|exact C]]).
Qed.

(* Whether two items are equal, where all are known. *)
Fixpoint has_twins (items : list value) : bool :=
  match items with
  | [] => false
  | v :: rest => existsb (fun w => is_truth true (equal v w)) rest || has_twins rest
  end.

Lemma kleene_known b l : Forall (fun v => exists t, v = VBool t) l -> exists t, kleene b l = VBool t.
Proof.
  intros F. unfold kleene. destruct (existsb (is_truth b) l); eauto. rewrite strict_whole; eauto.
  eapply Forall_impl; [|exact F]. intros v [t ->]. reflexivity.
Qed.

Lemma equal_known a : forall b, known a = true -> known b = true -> exists t, equal a b = VBool t.
Proof.
  induction a as [z|q|t|s|l IH|l _|c s] using value_ind'; intros [z'|q'|t'|s'|r|r|d u] K L; try discriminate; cbn [equal number_of]; eauto.
  destruct (Nat.eqb _ _); eauto. apply kleene_known. cbn in K, L. revert r L. induction IH as [|x l X F IHF]; intros [|y r] L; constructor.
  - cbn in K, L. apply andb_prop in K as [K1 K2], L as [L1 L2]. auto.
  - cbn in K, L. apply andb_prop in K as [K1 K2], L as [L1 L2]. auto.
Qed.

Lemma differences_ok l : Forall whole l -> kleene false (differences l) = VBool (negb (has_twins l)).
Proof.
  intros W. unfold kleene. rewrite strict_whole.
  - enough (existsb (is_truth false) (differences l) = has_twins l) as -> by now destruct (has_twins l).
    induction W as [|v l V W IH]; cbn; [reflexivity|]. rewrite existsb_app, IH. f_equal. clear IH.
    induction W as [|w l X W IH]; cbn; [reflexivity|]. rewrite IH. f_equal.
    destruct (equal_known v w V X) as [[] ->]; reflexivity.
  - induction W as [|v l V W IH]; cbn; [constructor|]. apply Forall_app. split; [|exact IH]. clear IH.
    induction W as [|w l X W IH]; cbn; constructor; [|exact IH]. destruct (equal_known v w V X) as [t ->]. reflexivity.
Qed.

Lemma distinct_ok l : forall t, distinct l = Some t -> Forall whole (items_of m l) -> has_twins (items_of m l) = negb ⟦t⟧.
Proof.
  induction l as [|[p v] rest IH]; intros t H W; cbn -[conj neg] in H.
  - now inv H.
  - split_bind H. split_bind H. inv H. rewrite conj_ok, neg_ok, conj_ok. cbn [items_of] in *.
    destruct ⟦p⟧; cbn [andb negb]; [|auto].
    inv W. cbn [has_twins]. rewrite (IH _ eq_refl H2). destruct (any_equal_left _ _ _ E) as (A & _ & _).
    rewrite <- A. now destruct (existsb _ _), ⟦t1⟧.
Qed.

Definition pairs := fix pairs (l r : list value) :=
  match l, r with x :: l', y :: r' => equal x y :: pairs l' r' | _, _ => [] end.

Lemma skipn_nth {A} n (l : list A) d : (n < List.length l)%nat -> skipn n l = nth n l d :: skipn (S n) l.
Proof. revert l. induction n; intros [|x l] H; simpl in *; try lia; auto. apply IHn. lia. Qed.

Lemma equal_from_ok l r : forall k t n, equal_from l r k = Some t -> int_of m k = Z.of_nat n ->
  Forall whole (items_of m r) -> Forall whole (items_of m l) ->
  (List.length (items_of m l) + n = List.length (items_of m r))%nat ->
  kleene false (pairs (items_of m l) (skipn n (items_of m r))) = VBool ⟦t⟧.
Proof.
  induction l as [|[p v] rest IH]; intros k t n H K W WL L; cbn -[conj imp int_calc ite] in H.
  - inv H. reflexivity.
  - split_bind H. split_bind H. split_bind H. inv H. rewrite conj_ok, imp_ok. cbn [items_of] in *.
    assert (N : int_of m (int_calc Plus k (ite p (ICon 1) (ICon 0))) = Z.of_nat n + if ⟦p⟧ then 1 else 0)
      by (rewrite calc_ok, ite_ok; cbn; rewrite K; now destruct ⟦p⟧).
    destruct ⟦p⟧; cbn [implb andb].
    + inv WL. cbn [List.length] in L.
      pose proof (item_at_ok _ _ _ E W ltac:(lia)) as V. rewrite K, Nat2Z.id in V.
      assert (WN : whole (value_of m s)).
      { rewrite V. apply (proj1 (Forall_forall _ _) W). apply nth_In. lia. }
      destruct s; try discriminate WN; try discriminate E0; apply equal_items_ok in E0; rewrite V in E0.
      all: rewrite (skipn_nth n _ undefined) by lia; cbn [pairs]; rewrite E0;
        specialize (IH _ _ (S n) E1 ltac:(lia) W H2 ltac:(lia)); unfold kleene in *; cbn [existsb is_truth];
        (destruct ⟦t0⟧; [|reflexivity]); cbn [Bool.eqb orb andb];
        (destruct (existsb (is_truth false) _); [exact IH|]); unfold strict, strongest in *; exact IH.
    + apply (IH _ _ n E1); auto. lia.
Qed.

Lemma equal_terms_ok a b t : equal_terms a b = Some t -> whole (value_of m a) -> whole (value_of m b) ->
  equal (value_of m a) (value_of m b) = VBool ⟦t⟧.
Proof.
  unfold equal_terms. destruct a; try (intros; now apply equal_items_ok).
  destruct b; try (intros; now apply equal_items_ok).
  unfold equal_lists. intros H. split_bind H. inv H. rewrite !list_value, !whole_list. intros WL WR.
  rewrite conj_ok, eq_ok, !count_ok.
  change (equal (VList (items_of m items)) (VList (items_of m items0))) with
    (if Nat.eqb (List.length (items_of m items)) (List.length (items_of m items0))
     then kleene false (pairs (items_of m items) (items_of m items0)) else VBool false).
  destruct (Nat.eqb_spec (List.length (items_of m items)) (List.length (items_of m items0))) as [L|L].
  - rewrite L, Z.eqb_refl. cbn [andb]. change (items_of m items0) with (skipn 0 (items_of m items0)) at 1.
    apply (equal_from_ok _ _ _ _ 0%nat E); auto. lia.
  - replace (_ =? _) with false by lia. reflexivity.
Qed.

Lemma total_ok sign l : (sign = Plus \/ sign = Times) -> forall t sum, total_term sign l sum = Some t ->
  fold_left (calculate sign) (items_of m l) (VInt (int_of m sum)) = VInt (int_of m t) /\ Forall whole (items_of m l).
Proof.
  intros S. induction l as [|[p v] rest IH]; intros t sum H; cbn -[int_calc ite] in H.
  - inv H. split; [reflexivity|constructor].
  - destruct v as [|u| | | |]; try discriminate. destruct (IH _ _ H) as [A W].
    rewrite ite_ok, calc_ok in A. cbn [items_of value_of]. destruct ⟦p⟧; auto. split; [|constructor; auto; reflexivity].
    cbn [fold_left]. rewrite <- A. f_equal. destruct S; now subst.
Qed.

Lemma product_zero l : forall t sum, total_term Times l sum = Some t ->
  (int_of m sum = 0 \/ existsb is_zero (items_of m l) = true) -> int_of m t = 0.
Proof.
  induction l as [|[p v] rest IH]; intros t sum H Z0; cbn -[int_calc ite] in H.
  - inv H. destruct Z0; auto. discriminate.
  - destruct v as [|u| | | |]; try discriminate. apply (IH _ _ H). rewrite ite_ok, calc_ok. cbn [items_of value_of] in Z0.
    destruct ⟦p⟧; cbn [calc] in *; [|auto]. cbn [existsb] in Z0.
    destruct Z0 as [->|Z0]; [auto|]. apply orb_prop in Z0 as [Z0|Z0]; auto.
    left. unfold is_zero in Z0. cbn in Z0. destruct (Z.eqb_spec (int_of m u) 0); [nia|discriminate].
Qed.

Definition step (largest : bool) (best v : value) : value :=
  if (if largest then less best v else less v best) then v else best.

Lemma extreme_ok largest l : forall best found t, extreme_term largest l best found = Some t ->
  Forall whole (items_of m l) /\ (⟦found⟧ = true -> fold_left (step largest) (items_of m l) (VInt (int_of m best)) = VInt (int_of m t)) /\
  (⟦found⟧ = false -> match items_of m l with
     | [] => True | v :: r => fold_left (step largest) r v = VInt (int_of m t) end).
Proof.
  induction l as [|[p v] rest IH]; intros best found t H; cbn -[conj disj neg ite int_less] in H.
  - inv H. cbn. split; [constructor|split; auto].
  - destruct v as [|u| | | |]; try discriminate. destruct (IH _ _ _ H) as (W & A & B).
    rewrite disj_ok in A, B. rewrite ite_ok, conj_ok, disj_ok, neg_ok in A. cbn [items_of value_of].
    destruct ⟦p⟧; cbn [andb] in *; [|rewrite orb_false_r in *; auto].
    rewrite orb_true_r in *. specialize (A eq_refl). split; [constructor; auto; reflexivity|]. split; intros F; rewrite F in A; cbn [negb orb] in A.
    + cbn [fold_left]. rewrite <- A. f_equal. unfold step.
      destruct largest; rewrite less_ok; cbn [less]; now destruct (_ <? _).
    + exact A.
Qed.

Lemma present_ok l : ⟦any_present l⟧ = true -> items_of m l <> [].
Proof.
  induction l as [|[p v] rest IH]; cbn -[disj]; [discriminate|]. rewrite disj_ok. destruct ⟦p⟧; cbn; auto; discriminate.
Qed.

Lemma apply_ok f l d s : apply_term f l = Some (d, s) -> ⟦d⟧ = true -> Forall whole (items_of m l) ->
  apply f (items_of m l) = value_of m s /\ whole (value_of m s).
Proof.
  destruct f; cbn [apply_term]; intros H D W; try split_bind H; inv H; cbn [value_of apply]; split; try reflexivity.
  - now rewrite count_ok.
  - unfold total. rewrite strict_whole by auto. now apply (total_ok Plus l (or_introl eq_refl) _ _ E).
  - destruct (existsb is_zero (items_of m l)) eqn:Z0.
    + now rewrite (product_zero _ _ _ E (or_intror Z0)).
    + unfold total. rewrite strict_whole by auto. now apply (total_ok Times l (or_intror eq_refl) _ _ E).
  - destruct (extreme_ok _ _ _ _ _ E) as (_ & _ & B). specialize (B eq_refl). pose proof (present_ok _ D).
    destruct (items_of m l) as [|v r]; [congruence|]. cbn [extreme]. rewrite strict_whole by (inv W; auto). exact B.
  - destruct (extreme_ok _ _ _ _ _ E) as (_ & _ & B). specialize (B eq_refl). pose proof (present_ok _ D).
    destruct (items_of m l) as [|v r]; [congruence|]. cbn [extreme]. rewrite strict_whole by (inv W; auto). exact B.
  - now apply all_truths_ok.
  - now apply all_truths_ok.
  - now rewrite (differences_ok _ W), (distinct_ok _ _ E W), negb_involutive.
Qed.

Lemma inner_ok l : forall r, inner_items l = Some r ->
  flat_map (fun v => match v with VList inner => inner | _ => [] end) (items_of m l) = items_of m r.
Proof.
  induction l as [|[p v] rest IH]; intros r H; cbn -[conj] in H.
  - now inv H.
  - destruct v as [| | | |inner|]; try discriminate. split_bind H. inv H. rewrite items_app, guarded_items.
    rewrite <- (IH _ eq_refl). cbn [items_of]. rewrite list_value. now destruct ⟦p⟧.
Qed.

Lemma inner_whole l : Forall whole l -> Forall whole (flat_map (fun v => match v with VList inner => inner | _ => [] end) l).
Proof.
  induction 1 as [|v l W _ IH]; cbn; auto. apply Forall_app. split; auto. destruct v; auto. now apply whole_list.
Qed.

Lemma field_ok name fields s : field_term name fields = Some s -> assoc name (fields_of fields) = value_of m s.
Proof.
  induction fields as [|[f v] rest IH]; cbn; [discriminate|]. destruct (String.eqb name f); auto. intros H. now inv H.
Qed.

Lemma field_whole name fields s : field_term name fields = Some s -> whole (VRecord (fields_of fields)) -> whole (value_of m s).
Proof.
  rewrite whole_record. induction fields as [|[f v] rest IH]; cbn; [discriminate|]. intros H W. inv W.
  destruct (String.eqb name f); auto. now inv H.
Qed.

Lemma range_ok a b turns : int_of m b - int_of m a <= Z.of_nat turns ->
  items_of m (range_items a b turns) = map VInt (integers (int_of m a) (Z.to_nat (int_of m b - int_of m a))).
Proof.
  intros R. unfold range_items, integers. rewrite map_map.
  assert (G : forall n k, int_of m b - int_of m a <= Z.of_nat (k + n) ->
    items_of m (map (fun i => (int_less (int_calc Plus a (ICon (Z.of_nat i))) b, SInt (int_calc Plus a (ICon (Z.of_nat i))))) (seq k n))
    = map (fun i => VInt (int_of m a + Z.of_nat i)) (seq k (Z.to_nat (int_of m b - int_of m a) - k))).
  { induction n; intros k L; cbn -[int_less int_calc].
    - now replace (Z.to_nat (int_of m b - int_of m a) - k)%nat with 0%nat by lia.
    - rewrite less_ok, !calc_ok. cbn [calc int_of]. rewrite IHn by lia.
      destruct (Z.ltb_spec (int_of m a + Z.of_nat k) (int_of m b)).
      + replace (Z.to_nat (int_of m b - int_of m a) - k)%nat with (S (Z.to_nat (int_of m b - int_of m a) - S k)) by lia.
        reflexivity.
      + replace (Z.to_nat (int_of m b - int_of m a) - k)%nat with 0%nat by lia.
        now replace (Z.to_nat (int_of m b - int_of m a) - S k)%nat with 0%nat by lia. }
  rewrite G by lia. now rewrite Nat.sub_0_r.
Qed.

Lemma fold_ok f g : (forall sum v r, f sum v = Some r -> ⟦fst r⟧ = true -> whole (value_of m sum) -> whole (value_of m v) ->
    g (value_of m sum) (value_of m v) = value_of m (snd r) /\ whole (value_of m (snd r))) ->
  forall l sum d s, fold_items f l sum = Some (d, s) -> ⟦d⟧ = true -> whole (value_of m sum) -> Forall whole (items_of m l) ->
  fold_left g (items_of m l) (value_of m sum) = value_of m s /\ whole (value_of m s).
Proof.
  intros F. induction l as [|[p v] rest IH]; intros sum d s H D WS W; cbn -[merge conj imp] in H.
  - inv H. cbn. auto.
  - destruct (f sum v) as [[d1 s1]|] eqn:E; [cbn -[merge conj imp] in H|discriminate].
    destruct (merge p s1 sum) as [next|] eqn:M; [cbn -[conj imp] in H|discriminate].
    destruct (fold_items f rest next) as [[ds out]|] eqn:R; [cbn -[conj imp] in H|discriminate]. inv H.
    rewrite conj_ok, imp_ok in D. apply andb_prop in D as [D1 D2]. apply merge_ok in M as [A B].
    cbn [items_of] in *. destruct ⟦p⟧; cbn [implb] in D1.
    + inv W. destruct (F _ _ _ E D1 WS H1) as [G V]. cbn [snd] in *. cbn [fold_left]. rewrite G.
      specialize (A eq_refl V). rewrite <- A. apply (IH _ _ _ R); auto. now rewrite A.
    + specialize (B eq_refl WS). rewrite <- B. apply (IH _ _ _ R); auto. now rewrite B.
Qed.

(* The names of an expression have the values of their symbolic ones, where these are defined. *)
Definition agrees (names : environment) (scope : scope) : Prop :=
  forall x d s, scope x = Some (d, s) -> ⟦d⟧ = true -> names x = value_of m s /\ whole (value_of m s).

Lemma agrees_updated names scope x v d s : agrees names scope ->
  (⟦d⟧ = true -> v = value_of m s /\ whole (value_of m s)) ->
  agrees (updated names x v) (extended scope x (d, s)).
Proof.
  intros A V y d' s' H. unfold updated, extended in *. destruct (String.eqb x y); [|now apply A].
  inv H. exact V.
Qed.

Lemma agrees_item names scope x s : agrees names scope -> whole (value_of m s) ->
  agrees (updated names x (value_of m s)) (extended scope x (TCon true, s)).
Proof. intros A W. now apply agrees_updated. Qed.

(* "For every expression and environment, where the rule is defined, the encoded term has the value of the evaluator." *)
Theorem encode_correct e : forall names scope d s, agrees names scope -> encode bound e scope = Some (d, s) ->
  ⟦d⟧ = true -> eval e names = value_of m s /\ whole (value_of m s).
Proof.
  Local Ltac take H a sc d v E := destruct (encode bound a sc) as [[d v]|] eqn:E; [cbn [bind] in H|discriminate H].
  Local Ltac use IH E V W := destruct (IH _ _ _ _ ltac:(eassumption) E ltac:(assumption)) as [V W].
  Local Ltac parts D := rewrite ?conj_ok, ?imp_ok, ?neg_ok, ?less_ok, ?at_most_ok, ?count_ok in D;
    repeat (let D' := fresh "D" in apply andb_prop in D as [D D']).
  induction e; intros names scope d s A H D; cbn [encode] in H; cbn [eval].
  - inv H. now split.
  - discriminate H.
  - inv H. now split.
  - exact (A _ _ _ H D).
  - inv H. now split.
  - take H e1 scope d1 v1 E1. take H e2 scope d2 v2 E2. destruct v2; inv H. rewrite conj_ok in D.
    apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. use IHe2 E2 V2 W2.
    rewrite V1, V2, !list_value in *. cbn [on_list items_of truth_of]. split; [reflexivity|].
    apply whole_list. constructor; auto. now apply whole_list.
  - take H e scope d1 v1 E1. destruct v1; try discriminate H. destruct (String.eqb field "rank") eqn:R.
    + destruct (field_term "shape" fields) as [[| | | |items|]|] eqn:F; inv H. use IHe E1 V1 W1.
      rewrite V1, record_value. unfold evaluation.field. rewrite R.
      apply field_ok in F. rewrite F, list_value. cbn [length_of value_of]. rewrite count_ok. now split.
    + destruct (field_term field fields) eqn:F; inv H. use IHe E1 V1 W1. rewrite V1 in *. rewrite record_value in *.
      unfold evaluation.field. rewrite R. split; [now apply field_ok|now apply (field_whole _ _ _ F)].
  - take H e1 scope d1 v1 E1. take H e2 scope d2 v2 E2. destruct v1; try discriminate H. destruct v2; try discriminate H.
    destruct (item_at items t) eqn:I; inv H. rewrite !conj_ok, at_most_ok, less_ok, count_ok in D. cbn [int_of] in D.
    apply andb_prop in D as [D R]. apply andb_prop in D as [D1 D2]. apply andb_prop in R as [R1 R2].
    use IHe1 E1 V1 W1. use IHe2 E2 V2 W2. rewrite V1, V2, list_value in *. cbn [value_of item]. rewrite R1, R2. cbn [andb].
    apply whole_list in W1. apply Z.leb_le in R1. apply Z.ltb_lt in R2.
    rewrite (item_at_ok _ _ _ I W1) by lia. split; [reflexivity|]. apply nth_whole; auto.
  - take H e1 scope d1 v1 E1. take H e2 scope d2 v2 E2. take H e3 scope d3 v3 E3.
    destruct v1; try discriminate H. destruct v2; try discriminate H. destruct v3; inv H.
    rewrite !conj_ok, !at_most_ok, count_ok in D. cbn [int_of] in D.
    apply andb_prop in D as [D R]. apply andb_prop in D as [D1 D2]. apply andb_prop in D2 as [D2 D3].
    apply andb_prop in R as [R1 R2]. apply andb_prop in R2 as [R2 R3].
    use IHe1 E1 V1 W1. use IHe2 E2 V2 W2. use IHe3 E3 V3 W3. rewrite V1, V2, V3, !list_value in *.
    cbn [value_of part]. rewrite R1, R2, R3. cbn [andb]. apply Z.leb_le in R1, R2. rewrite places_ok by lia.
    rewrite Z.max_r by lia. split; [reflexivity|]. apply whole_list in W1. apply whole_list.
    apply Forall_forall. intros x I. apply (proj1 (Forall_forall _ _) W1).
    assert (S : forall n (l : list value), In x (firstn n l) -> In x l)
      by (intros n l K; rewrite <- (firstn_skipn n l); apply in_or_app; now left).
    apply S in I. rewrite <- (firstn_skipn (Z.to_nat (int_of m t)) (items_of m items)). apply in_or_app. now right.
  - take H e1 scope d1 v1 E1. take H e2 scope d2 v2 E2. destruct v1; try discriminate H; destruct v2; try discriminate H.
    + inv H. rewrite !conj_ok in D. apply andb_prop in D as [D P]. apply andb_prop in D as [D1 D2].
      use IHe1 E1 V1 W1. use IHe2 E2 V2 W2. rewrite V1, V2. cbn [value_of calculate]. rewrite calc_ok.
      split; [|reflexivity]. destruct sign; cbn [on_integers calc]; try reflexivity; change (⟦int_less (ICon 0) t0⟧ = true) in P; rewrite less_ok in P; cbn [int_of] in P; rewrite P; reflexivity.
    + destruct sign; inv H. rewrite conj_ok in D. apply andb_prop in D as [D1 D2].
      use IHe1 E1 V1 W1. use IHe2 E2 V2 W2. rewrite V1, V2, !list_value, items_app in *. cbn [calculate].
      split; [reflexivity|]. apply whole_list in W1, W2. apply whole_list. now apply Forall_app.
  - take H e scope d1 v1 E1. destruct v1; try discriminate H. injection H as <- <-. use IHe E1 V1 W1.
    rewrite V1. change (VInt (- int_of m t) = VInt (int_of m (int_calc Minus (ICon 0) t)) /\ true = true).
    rewrite calc_ok. cbn [calc int_of]. split; [f_equal; lia|reflexivity].
  - take H e1 scope d1 v1 E1. take H e2 scope d2 v2 E2.
    match type of H with bind ?x _ = _ => destruct x as [t|] eqn:T; [cbn [bind] in H|discriminate H] end. inv H.
    rewrite conj_ok in D. apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. use IHe2 E2 V2 W2. rewrite V1, V2.
    split; [|reflexivity]. cbn [value_of]. destruct sign; cbn [compare].
    + now apply equal_terms_ok.
    + destruct v1; try discriminate T. destruct v2; inv T. rewrite less_ok. reflexivity.
    + destruct v1; try discriminate T. destruct v2; inv T. rewrite at_most_ok. cbn. now rewrite Z.leb_antisym.
    + assert (X : exists items, v2 = SList items /\ any_equal v1 items = Some t)
        by (destruct v1, v2; try discriminate T; eauto).
      destruct X as (items & -> & X). rewrite list_value. now apply any_equal_ok.
  - take H e1 scope d1 v1 E1. destruct v1 as [| |p| | |]; try discriminate H.
    { destruct (encode bound e2 scope) as [[? []]|]; discriminate H. }
    { destruct (encode bound e2 scope) as [[? []]|]; discriminate H. }
    2-4: destruct (encode bound e2 scope) as [[? []]|]; discriminate H.
    assert (X : (p = TCon false /\ d = d1 /\ s = STruth p) \/ exists d2 q, encode bound e2 scope = Some (d2, STruth q)
      /\ d = conj d1 (imp p d2) /\ s = STruth (conj p q)).
    { destruct p as [[]| | | | | | |]; try (left; inv H; now repeat split); right;
        destruct (encode bound e2 scope) as [[d2 []]|]; try discriminate H; inv H; eauto. }
    destruct X as [(-> & -> & ->)|(d2 & q & E2 & -> & ->)].
    + use IHe1 E1 V1 W1. rewrite V1. split; reflexivity.
    + rewrite conj_ok, imp_ok in D. apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. rewrite V1.
      split; [|reflexivity]. cbn [value_of]. rewrite conj_ok. destruct ⟦p⟧; cbn [implb andb] in *; [|reflexivity].
      use IHe2 E2 V2 W2. rewrite V2. cbn [value_of]. now destruct ⟦q⟧.
  - take H e1 scope d1 v1 E1. destruct v1 as [| |p| | |]; try discriminate H.
    { destruct (encode bound e2 scope) as [[? []]|]; discriminate H. }
    { destruct (encode bound e2 scope) as [[? []]|]; discriminate H. }
    2-4: destruct (encode bound e2 scope) as [[? []]|]; discriminate H.
    assert (X : (p = TCon true /\ d = d1 /\ s = STruth p) \/ exists d2 q, encode bound e2 scope = Some (d2, STruth q)
      /\ d = conj d1 (imp (neg p) d2) /\ s = STruth (disj p q)).
    { destruct p as [[]| | | | | | |]; try (left; inv H; now repeat split); right;
        destruct (encode bound e2 scope) as [[d2 []]|]; try discriminate H; inv H; eauto. }
    destruct X as [(-> & -> & ->)|(d2 & q & E2 & -> & ->)].
    + use IHe1 E1 V1 W1. rewrite V1. split; reflexivity.
    + rewrite conj_ok, imp_ok, neg_ok in D. apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. rewrite V1.
      split; [|reflexivity]. cbn [value_of]. rewrite disj_ok. destruct ⟦p⟧; cbn [negb implb orb] in *; [reflexivity|].
      use IHe2 E2 V2 W2. rewrite V2. cbn [value_of]. now destruct ⟦q⟧.
  - take H e scope d1 v1 E1. destruct v1; inv H. use IHe E1 V1 W1. rewrite V1. cbn. rewrite neg_ok. now split.
  - take H e1 scope d1 v1 E1. destruct v1 as [| |p| | |]; try discriminate H.
    assert (X : (exists b d2, p = TCon b /\ encode bound (if b then e2 else e3) scope = Some (d2, s) /\ d = conj d1 d2) \/
      exists d2 v2 d3 v3, encode bound e2 scope = Some (d2, v2) /\ encode bound e3 scope = Some (d3, v3) /\
      merge p v2 v3 = Some s /\ d = conj d1 (conj (imp p d2) (imp (neg p) d3))).
    { destruct p; [left|right..].
      1: { destruct (encode bound (if b then e2 else e3) scope) as [[d2 w]|] eqn:E2; [|discriminate H]. inv H. eauto. }
      all: destruct (encode bound e2 scope) as [[d2 v2]|]; [cbn [bind] in H|discriminate H];
        destruct (encode bound e3 scope) as [[d3 v3]|]; [cbn [bind] in H|discriminate H];
        match type of H with bind ?x _ = _ => destruct x eqn:M; [|discriminate H] end; inv H; eauto 10. }
    destruct X as [(b & d2 & -> & E2 & ->)|(d2 & v2 & d3 & v3 & E2 & E3 & M & ->)].
    + rewrite conj_ok in D. apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. rewrite V1. cbn [value_of truth_of choice].
      destruct b; [now use IHe2 E2 V2 W2|now use IHe3 E2 V2 W2].
    + rewrite !conj_ok, !imp_ok, neg_ok in D. apply andb_prop in D as [D1 D]. apply andb_prop in D as [D2 D3].
      use IHe1 E1 V1 W1. rewrite V1. cbn [value_of choice]. apply merge_ok in M as [L R].
      destruct ⟦p⟧; cbn [negb implb] in *.
      * use IHe2 E2 V2 W2. rewrite L by auto. now split.
      * use IHe3 E3 V3 W3. rewrite R by auto. now split.
  - take H e1 scope d1 v1 E1. destruct v1; try discriminate H.
    match type of H with bind ?x _ = _ => destruct x as [[d2 made]|] eqn:B; [cbn [bind] in H|discriminate H] end.
    match type of H with bind ?x _ = _ => destruct x as [t|] eqn:T; [cbn [bind] in H|discriminate H] end. inv H.
    rewrite conj_ok in D. apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. rewrite V1, list_value in *. apply whole_list in W1.
    destruct (bodies_ok _ (fun v => eval e2 (updated names variable v))
      (fun v r => fun E => fun D => fun W => ltac:(destruct r; exact (IHe2 _ _ _ _ (agrees_item _ _ variable _ A W) E D))) _ _ _ B D2 W1) as (I & J & _).
    cbn [on_list]. rewrite <- I. apply all_truths_ok in T as [T _]. rewrite T. now split.
  - take H e1 scope d1 v1 E1. destruct v1; try discriminate H.
    match type of H with bind ?x _ = _ => destruct x as [[d2 made]|] eqn:B; [cbn [bind] in H|discriminate H] end.
    match type of H with bind ?x _ = _ => destruct x as [t|] eqn:T; [cbn [bind] in H|discriminate H] end. inv H.
    rewrite conj_ok in D. apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. rewrite V1, list_value in *. apply whole_list in W1.
    destruct (bodies_ok _ (fun v => eval e2 (updated names variable v))
      (fun v r => fun E => fun D => fun W => ltac:(destruct r; exact (IHe2 _ _ _ _ (agrees_item _ _ variable _ A W) E D))) _ _ _ B D2 W1) as (I & J & _).
    cbn [on_list]. rewrite <- I. apply all_truths_ok in T as [T _]. rewrite T. now split.
  - take H e1 scope d1 v1 E1. destruct v1; try discriminate H.
    match type of H with bind ?x _ = _ => destruct x as [[d2 filters]|] eqn:B; [cbn [bind] in H|discriminate H] end.
    match type of H with bind ?x _ = _ => destruct x as [kept|] eqn:T; [cbn [bind] in H|discriminate H] end.
    match type of H with bind ?x _ = _ => destruct x as [[d3 made]|] eqn:B3; [cbn [bind] in H|discriminate H] end. inv H.
    rewrite !conj_ok in D. apply andb_prop in D as [D1 D]. apply andb_prop in D as [D2 D3].
    use IHe1 E1 V1 W1. rewrite V1, list_value in *. apply whole_list in W1.
    destruct (bodies_ok _ (fun v => eval e2 (updated names variable v))
      (fun v r => fun E => fun D => fun W => ltac:(destruct r; exact (IHe2 _ _ _ _ (agrees_item _ _ variable _ A W) E D))) _ _ _ B D2 W1) as (I & J & K).
    pose proof (taken_ok _ _ _ _ T K I) as C.
    assert (WC : Forall whole (items_of m kept)) by (rewrite C; now apply chosen_whole).
    destruct (bodies_ok _ (fun v => eval e3 (updated names variable v))
      (fun v r => fun E => fun D => fun W => ltac:(destruct r; exact (IHe3 _ _ _ _ (agrees_item _ _ variable _ A W) E D))) _ _ _ B3 D3 WC) as (I3 & J3 & _).
    cbn [on_list]. rewrite <- I, strict_whole by auto. rewrite <- C, <- I3, list_value. split; [reflexivity|]. now apply whole_list.
  - take H e scope d1 v1 E1. destruct v1; try discriminate H.
    match type of H with bind ?x _ = _ => destruct x as [inner|] eqn:T; [cbn [bind] in H|discriminate H] end. inv H.
    use IHe E1 V1 W1. rewrite V1, !list_value in *. apply whole_list in W1. unfold flattened. cbn [on_list].
    rewrite strict_whole by auto. rewrite <- (inner_ok _ _ T). split; [reflexivity|]. apply whole_list. now apply inner_whole.
  - take H e scope d1 v1 E1. destruct v1; try discriminate H.
    match type of H with bind ?x _ = _ => destruct x as [[d2 v]|] eqn:T; [cbn [bind] in H|discriminate H] end. inv H.
    rewrite conj_ok in D. apply andb_prop in D as [D1 D2]. use IHe E1 V1 W1. rewrite V1, list_value in *. cbn [on_list].
    apply whole_list in W1. now apply (apply_ok _ _ _ _ T).
  - take H e1 scope d1 v1 E1. take H e2 scope d2 v2 E2. destruct v1; try discriminate H. destruct v2; inv H.
    rewrite !conj_ok, at_most_ok, calc_ok in D. cbn [int_of calc] in D. apply andb_prop in D as [D R].
    apply andb_prop in D as [D1 D2]. use IHe1 E1 V1 W1. use IHe2 E2 V2 W2. rewrite V1, V2, list_value. cbn [value_of range].
    apply Z.leb_le in R. rewrite range_ok by exact R. split; [reflexivity|]. apply whole_list. apply Forall_forall.
    intros x I. apply in_map_iff in I as (z & <- & _). reflexivity.
  - take H e scope d1 v1 E1. inv H. use IHe E1 V1 W1. rewrite V1. split; [|reflexivity]. destruct v1; try reflexivity. discriminate W1.
  - destruct (encode bound e1 scope) as [[d1 v1]|] eqn:E1; [cbn [bind] in H|discriminate H].
    apply (IHe2 _ _ _ _ (agrees_updated _ _ name (eval e1 names) d1 v1 A (fun D => IHe1 _ _ _ _ A E1 D)) H D).
  - take H e2 scope d1 v1 E1. take H e3 scope d2 v2 E2. destruct v1; try discriminate H.
    match type of H with bind ?x _ = _ => destruct x as [[d3 v]|] eqn:T; [cbn [bind] in H|discriminate H] end. inv H.
    rewrite !conj_ok in D. apply andb_prop in D as [D D3]. apply andb_prop in D as [D1 D2].
    use IHe2 E1 V1 W1. use IHe3 E2 V2 W2. rewrite V1, V2, list_value in *. cbn [on_list]. apply whole_list in W1.
    refine (fold_ok _ (fun sum v => eval e1 (updated (updated names total sum) item v)) _ _ _ _ _ T D3 W2 W1).
    intros sum w [d4 v4] E D4 WS W. apply (IHe1 _ _ _ _ (agrees_item _ _ item _ (agrees_item _ _ total _ A WS) W) E D4).
  - inv H. discriminate D.
Qed.

(* What a proof about the term of a condition says about the evaluation of the condition. *)
Corollary condition_correct e names scope d t : agrees names scope -> encode bound e scope = Some (d, STruth t) ->
  (⟦conj d t⟧ = true -> eval e names = VBool true) /\ (⟦conj d (neg t)⟧ = true -> eval e names = VBool false).
Proof.
  intros A E. rewrite !conj_ok, neg_ok. split; intros H; apply andb_prop in H as [D T];
    destruct (encode_correct _ _ _ _ _ A E D) as [-> _]; cbn [value_of]; [now rewrite T|].
  now destruct ⟦t⟧.
Qed.
End Correctness.
