(* The factors of the terms of a sum: the class `Factors` of sonnx/numerics/enclosures/arithmetic.py.  Its sizes bound the
   product of any of them of which one, or two, are left out; collected_sums.v has what follows for sums. *)
From Coq Require Import Reals List Permutation Lia Lra.
Import ListNotations.
Local Open Scope R_scope.

(* ------------------------------------------------------------------ the definitions of the code *)

Fixpoint products (numbers : list R) := match numbers with [] => 1 | x :: rest => x * products rest end.

Fixpoint inserted (x : R) (numbers : list R) := match numbers with
  | [] => [x] | y :: rest => if Rle_dec y x then x :: numbers else y :: inserted x rest end.
Fixpoint falling (numbers : list R) := match numbers with [] => [] | x :: rest => inserted x (falling rest) end.

Fixpoint larger (one two : list R) := match one, two with
  | [], rest | rest, [] => rest | x :: one', y :: two' => Rmax x y :: larger one' two' end.

Definition of_operands (numbers : list R) := falling (map (Rmax 1) numbers).
Definition times (one two : list R) := falling (one ++ two).
Definition scaled (sizes : list R) (size : R) (steps : nat) := falling (sizes ++ Rmax 1 size :: repeat 1 (steps - 1)).
Definition either (one two : list R) := larger one two.
Definition all_but (out : nat) (sizes : list R) := products (firstn (length sizes - out) sizes).
Definition after_rounding := all_but 2.
Definition after_operand := all_but 1.

(* ------------------------------------------------------------------ what they say of the factors of a term *)

Definition sized (x : R) := Rmax 1 (Rabs x).

(* Each factor has a size of its own that is at least its absolute value; sizes that are left are at least 1. *)
Definition covers (sizes factors : list R) := exists above others,
  Permutation sizes (above ++ others) /\ Forall2 (fun x s => sized x <= s) factors above /\ Forall (Rle 1) others.
(* The product of some factors, so many of which are left out at least. *)
Definition outside (out : nat) (W : R) (factors : list R) := forall kept left,
  Permutation factors (kept ++ left) -> (out <= length left)%nat -> products (map sized kept) <= W.
(* What a sum asks of the sizes: `covers_collected` and `parts_collected` give it. *)
Definition collected (sizes factors : list R) := (length factors <= length sizes)%nat /\
  outside 2 (after_rounding sizes) factors /\ outside 1 (after_operand sizes) factors.
Fixpoint falls (numbers : list R) := match numbers with
  | [] => True | x :: rest => Forall (fun y => y <= x) rest /\ falls rest end.

Lemma sized_least : forall x, 1 <= sized x.
Proof. intros; apply Rmax_l. Qed.
Lemma products_app : forall a b, products (a ++ b) = products a * products b.
Proof. induction a; intros; simpl; [ring | rewrite IHa; ring]. Qed.
Lemma products_least : forall l, Forall (Rle 1) l -> 1 <= products l.
Proof. intros l H; induction H; simpl; [lra | nra]. Qed.
Lemma products_permuted : forall a b, Permutation a b -> products a = products b.
Proof. intros a b H; induction H; simpl; try lra. rewrite IHPermutation; reflexivity. Qed.
Lemma firstn_least : forall n l, Forall (Rle 1) l -> 1 <= products (firstn n l).
Proof.
  intros n l H; apply products_least; revert l H; induction n; intros [| x l] H; simpl; try constructor;
    inversion H; subst; [assumption | apply IHn; assumption].
Qed.

(* Of falling numbers of at least 1, the first ones have the largest product of as many. *)
Lemma moved_up : forall rest x n, falls (x :: rest) -> Forall (Rle 1) (x :: rest) ->
  products (firstn n rest) <= products (firstn n (x :: rest)).
Proof.
  induction rest as [| y rest IH]; intros x n F H.
  - rewrite firstn_nil; apply firstn_least; assumption.
  - destruct n; [simpl; lra |]; destruct F as [F1 F2]; pose proof (Forall_inv F1) as Y; simpl in Y.
    pose proof (Forall_inv_tail H) as H1; specialize (IH y n F2 H1).
    pose proof (Forall_inv H1); pose proof (firstn_least n rest (Forall_inv_tail H1)).
    change (y * products (firstn n rest) <= x * products (firstn n (y :: rest))); apply Rmult_le_compat; lra.
Qed.
Lemma greatest_kept : forall sizes out kept left, falls sizes -> Forall (Rle 1) sizes ->
  Permutation sizes (kept ++ left) -> (out <= length left)%nat -> products kept <= all_but out sizes.
Proof.
  unfold all_but; induction sizes as [| x rest IH]; intros out kept left F H P L.
  - apply Permutation_nil in P; apply app_eq_nil in P; destruct P as [P _]; rewrite P; simpl; lra.
  - pose proof (proj2 F) as F2; pose proof (Forall_inv H) as H2; pose proof (Forall_inv_tail H) as H3; simpl in H2.
    assert (I : In x (kept ++ left)) by (apply (Permutation_in x P); left; reflexivity).
    pose proof (Permutation_length P) as LP; rewrite app_length in LP; simpl in LP.
    apply in_app_or in I; destruct I as [I | I]; apply in_split in I; destruct I as [a [b E]]; subst.
    + rewrite <- app_assoc in P; simpl in P; apply Permutation_cons_app_inv in P; rewrite app_assoc in P.
      specialize (IH out (a ++ b) left F2 H3 P L).
      assert (LR : (out <= length rest)%nat).
      { apply Permutation_length in P; rewrite app_length in P; lia. }
      replace (length (x :: rest) - out)%nat with (S (length rest - out)) by (cbn [length]; lia).
      rewrite (products_permuted (a ++ x :: b) (x :: a ++ b)) by (symmetry; apply Permutation_middle).
      change (x * products (a ++ b) <= x * products (firstn (length rest - out) rest)).
      apply Rmult_le_compat_l; lra.
    + rewrite app_assoc in P; apply Permutation_cons_app_inv in P; rewrite <- app_assoc in P.
      rewrite app_length in L; simpl in L.
      specialize (IH (out - 1)%nat kept (a ++ b) F2 H3 P ltac:(rewrite app_length; lia)).
      apply Rle_trans with (1 := IH); destruct out as [| out].
      * replace (length (x :: rest) - 0)%nat with (length (x :: rest)) by lia; replace (length rest - (0 - 1))%nat with (length rest) by lia.
        rewrite !firstn_all; cbn [products].
        pose proof (products_least rest H3); nra.
      * replace (length (x :: rest) - S out)%nat with (length rest - (S out - 1))%nat by (cbn [length]; lia).
        apply moved_up; assumption.
Qed.

Lemma paired_length : forall (P : R -> R -> Prop) a b, Forall2 P a b -> length a = length b.
Proof. intros P a b H; induction H; simpl; [reflexivity | rewrite IHForall2; reflexivity]. Qed.
Lemma covers_permuted : forall sizes a b, Permutation a b -> covers sizes a -> covers sizes b.
Proof.
  intros sizes a b P [above [others [Q [F O]]]]; destruct (Permutation_Forall2 P F) as [above' [P' F']].
  exists above', others; repeat split; try assumption.
  apply perm_trans with (1 := Q); apply Permutation_app_tail; assumption.
Qed.
Lemma covered_length : forall sizes factors, covers sizes factors -> (length factors <= length sizes)%nat.
Proof.
  intros sizes factors [above [others [P [F _]]]]; apply Permutation_length in P; apply paired_length in F.
  rewrite app_length in P; lia.
Qed.
Lemma above_sizes : forall factors above, Forall2 (fun x s => sized x <= s) factors above ->
  products (map sized factors) <= products above /\ Forall (Rle 1) above /\ 1 <= products (map sized factors).
Proof.
  intros f a H; induction H; simpl; [repeat split; [lra | constructor | lra] |]; destruct IHForall2 as [P [A O]].
  pose proof (sized_least x); repeat split; [apply Rmult_le_compat; lra | constructor; [lra | assumption] | nra].
Qed.
Lemma covering_sizes : forall sizes factors, covers sizes factors -> Forall (Rle 1) sizes.
Proof.
  intros sizes factors [above [others [P [F O]]]]; destruct (above_sizes factors above F) as [_ [A _]].
  apply (Permutation_Forall (Permutation_sym P)); apply Forall_app; split; assumption.
Qed.

Lemma outside_permuted : forall out W a b, Permutation a b -> outside out W a -> outside out W b.
Proof. intros out W a b P H kept left Q; apply H; apply perm_trans with (1 := P); exact Q. Qed.
Lemma around_outside : forall out W around inside, outside out W (around ++ inside) -> (out <= length inside)%nat ->
  products (map sized around) <= W.
Proof. intros out W a i H L; apply H with (left := i); [reflexivity | exact L]. Qed.
Theorem covers_outside : forall out sizes factors, falls sizes -> covers sizes factors ->
  outside out (all_but out sizes) factors.
Proof.
  intros out sizes factors F C kept left Q L; apply covers_permuted with (1 := Q) in C.
  pose proof (covering_sizes _ _ C) as H; destruct C as [above [others [P [R O]]]].
  apply Forall2_app_inv_l in R; destruct R as [a [b [Ra [Rb E]]]]; subst above; rewrite <- app_assoc in P.
  destruct (above_sizes kept a Ra) as [A _]; apply Rle_trans with (1 := A).
  apply greatest_kept with (3 := P); try assumption; apply paired_length in Rb; rewrite app_length; lia.
Qed.
Theorem covers_collected : forall sizes factors, falls sizes -> covers sizes factors -> collected sizes factors.
Proof.
  intros sizes f F C; split; [apply covered_length; exact C | split; apply covers_outside; assumption].
Qed.

(* A scale of two parts, multiplied one after another: the size bounds each of them and their product, and covers both
   together with 1. *)
Lemma taken_out : forall (x : R) l, In x l -> exists rest, Permutation l (x :: rest).
Proof.
  intros x l I; apply in_split in I; destruct I as [a [b E]]; exists (a ++ b); subst; symmetry; apply Permutation_middle.
Qed.
Lemma parts_outside : forall out W s a b f, sized a * sized b <= s -> outside out W (s :: 1 :: f) ->
  outside out W (a :: b :: f).
Proof.
  intros out W s a b f S H kept left P L; pose proof (sized_least a); pose proof (sized_least b).
  assert (S1 : sized s = s) by (unfold sized; rewrite Rabs_right by nra; apply Rmax_right; nra).
  assert (O : sized 1 = 1) by (unfold sized; rewrite Rabs_R1; apply Rmax_left; lra).
  assert (N : forall l, 1 <= products (map sized l))
    by (induction l; simpl; [lra | pose proof (sized_least a0); nra]).
  assert (I : In a (kept ++ left)) by (apply (Permutation_in a P); left; reflexivity).
  apply in_app_or in I; destruct I as [I | I]; apply taken_out in I; destruct I as [r E].
  - assert (P1 : Permutation (b :: f) (r ++ left)).
    { apply Permutation_cons_inv with a; apply perm_trans with (1 := P).
      change (a :: r ++ left) with ((a :: r) ++ left); apply Permutation_app_tail; exact E. }
    rewrite (products_permuted _ _ (Permutation_map sized E)); cbn [map products].
    assert (I : In b (r ++ left)) by (apply (Permutation_in b P1); left; reflexivity).
    apply in_app_or in I; destruct I as [I | I]; apply taken_out in I; destruct I as [q G].
    + assert (P2 : Permutation f (q ++ left)).
      { apply Permutation_cons_inv with b; apply perm_trans with (1 := P1).
        change (b :: q ++ left) with ((b :: q) ++ left); apply Permutation_app_tail; exact G. }
      rewrite (products_permuted _ _ (Permutation_map sized G)); cbn [map products].
      specialize (H (s :: 1 :: q) left (perm_skip s (perm_skip 1 P2)) L); cbn [map products] in H.
      rewrite S1, O in H; pose proof (N q); pose proof (Rmult_le_compat_r (products (map sized q)) _ _ ltac:(lra) S); lra.
    + assert (P2 : Permutation f (r ++ q)).
      { apply Permutation_cons_inv with b; apply perm_trans with (1 := P1).
        apply perm_trans with (r ++ b :: q); [apply Permutation_app_head; exact G |].
        symmetry; apply Permutation_middle. }
      assert (Q : Permutation (s :: 1 :: f) ((s :: r) ++ 1 :: q)).
      { simpl; apply perm_skip; apply perm_trans with (1 :: r ++ q); [apply perm_skip; exact P2 | apply Permutation_middle]. }
      apply Permutation_length in G; specialize (H _ _ Q ltac:(simpl in *; lia)); cbn [map products] in H.
      rewrite S1 in H; pose proof (N r).
      assert (sized a * products (map sized r) <= s * products (map sized r)) by (apply Rmult_le_compat_r; nra). lra.
  - assert (P1 : Permutation (b :: f) (kept ++ r)).
    { apply Permutation_cons_inv with a; apply perm_trans with (1 := P).
      apply perm_trans with (kept ++ a :: r); [apply Permutation_app_head; exact E |].
      symmetry; apply Permutation_middle. }
    apply Permutation_length in E; assert (I : In b (kept ++ r)) by (apply (Permutation_in b P1); left; reflexivity).
    apply in_app_or in I; destruct I as [I | I]; apply taken_out in I; destruct I as [q G].
    + assert (P2 : Permutation f (q ++ r)).
      { apply Permutation_cons_inv with b; apply perm_trans with (1 := P1).
        change (b :: q ++ r) with ((b :: q) ++ r); apply Permutation_app_tail; exact G. }
      rewrite (products_permuted _ _ (Permutation_map sized G)); cbn [map products].
      assert (Q : Permutation (s :: 1 :: f) ((s :: q) ++ 1 :: r)).
      { simpl; apply perm_skip; apply perm_trans with (1 :: q ++ r); [apply perm_skip; exact P2 | apply Permutation_middle]. }
      specialize (H _ _ Q ltac:(simpl in *; lia)); cbn [map products] in H; rewrite S1 in H; pose proof (N q).
      assert (sized b * products (map sized q) <= s * products (map sized q)) by (apply Rmult_le_compat_r; nra). lra.
    + assert (P2 : Permutation f (kept ++ q)).
      { apply Permutation_cons_inv with b; apply perm_trans with (1 := P1).
        apply perm_trans with (kept ++ b :: q); [apply Permutation_app_head; exact G |].
        symmetry; apply Permutation_middle. }
      apply H with (left := s :: 1 :: q); [| apply Permutation_length in G; simpl in *; lia].
      apply perm_trans with (s :: 1 :: kept ++ q); [do 2 apply perm_skip; exact P2 |].
      apply perm_trans with (s :: kept ++ 1 :: q); [apply perm_skip; apply Permutation_middle | apply Permutation_middle].
Qed.

Lemma products_sized : forall a b, products (map sized (a ++ b)) = products (map sized a) * products (map sized b).
Proof. intros; rewrite map_app; apply products_app. Qed.
(* ------------------------------------------------------------------ how the code combines them *)

Lemma inserted_permuted : forall x l, Permutation (x :: l) (inserted x l).
Proof.
  induction l as [| y l IH]; simpl; [reflexivity |]; destruct (Rle_dec y x); [reflexivity |].
  apply perm_trans with (y :: x :: l); [apply perm_swap | apply perm_skip; exact IH].
Qed.
Lemma falling_permuted : forall l, Permutation l (falling l).
Proof.
  induction l as [| x l IH]; simpl; [reflexivity |].
  apply perm_trans with (x :: falling l); [apply perm_skip; exact IH | apply inserted_permuted].
Qed.
Lemma inserted_falls : forall x l, falls l -> falls (inserted x l).
Proof.
  induction l as [| y l IH]; simpl; intros H; [split; [constructor | exact I] |]; destruct H as [F H].
  destruct (Rle_dec y x) as [L | L].
  - simpl; split; [| split; assumption]; constructor; [exact L |].
    apply Forall_impl with (2 := F); intros; lra.
  - split; [| apply IH; exact H]; apply (Permutation_Forall (inserted_permuted x l)); constructor; [lra | exact F].
Qed.
Theorem falling_falls : forall l, falls (falling l).
Proof. induction l; simpl; [exact I | apply inserted_falls; assumption]. Qed.

Lemma covers_reordered : forall a b factors, Permutation a b -> covers a factors -> covers b factors.
Proof.
  intros a b f P [above [others [Q R]]]; exists above, others; split; [| exact R].
  apply perm_trans with (2 := Q); symmetry; exact P.
Qed.
Theorem covers_operands : forall numbers factors, Forall2 (fun x n => Rabs x <= n) factors numbers ->
  covers (of_operands numbers) factors.
Proof.
  intros numbers factors H; apply covers_reordered with (1 := falling_permuted _).
  exists (map (Rmax 1) numbers), []; rewrite app_nil_r; repeat split; [reflexivity | | constructor].
  induction H; simpl; constructor; try assumption; apply Rle_max_compat_l; assumption.
Qed.
Theorem covers_times : forall one two f g, covers one f -> covers two g -> covers (times one two) (f ++ g).
Proof.
  intros one two f g [a [o [P [F O]]]] [b [q [Q [G R]]]]; apply covers_reordered with (1 := falling_permuted _).
  exists (a ++ b), (o ++ q); repeat split; [| apply Forall2_app; assumption | apply Forall_app; split; assumption].
  apply perm_trans with ((a ++ o) ++ (b ++ q)); [apply Permutation_app; assumption |].
  rewrite <- !app_assoc; apply Permutation_app_head; rewrite !app_assoc; apply Permutation_app_tail.
  apply Permutation_app_comm.
Qed.
(* A scale of one factor; in more steps, of a factor that is a rounded number, which is that and 1. *)
Theorem covers_scaled : forall sizes size steps k f, (1 <= steps)%nat -> covers sizes f -> Rabs k <= size ->
  covers (scaled sizes size steps) (f ++ k :: repeat 1 (steps - 1)).
Proof.
  intros sizes size steps k f N C K; unfold scaled.
  apply covers_times with (two := Rmax 1 size :: repeat 1 (steps - 1)); [exact C |].
  exists (Rmax 1 size :: repeat 1 (steps - 1)), []; rewrite app_nil_r; repeat split; [reflexivity | | constructor].
  constructor; [apply Rle_max_compat_l; exact K |].
  generalize (steps - 1)%nat; induction n; simpl; constructor; [| assumption].
  unfold sized; rewrite Rabs_R1; apply Rmax_lub; lra.
Qed.

(* The same of two parts of a scale. *)
Theorem parts_collected : forall sizes size a b f, covers sizes f -> sized a * sized b <= Rmax 1 size ->
  collected (scaled sizes size 2) (f ++ [a; b]).
Proof.
  intros sizes size a b f C S; pose proof (sized_least a); pose proof (sized_least b).
  assert (G : forall x y : R, Permutation (f ++ [x; y]) (x :: y :: f)) by (intros; apply (Permutation_app_comm f [x; y])).
  assert (K : collected (scaled sizes size 2) (f ++ [Rmax 1 size; 1])).
  { apply covers_collected; [apply falling_falls |]; apply covers_reordered with (sizes ++ [Rmax 1 size; 1]);
      [apply falling_permuted |].
    destruct C as [above [others [P [F O]]]]; exists (above ++ [Rmax 1 size; 1]), others; repeat split; [| | exact O].
    - rewrite <- app_assoc; apply perm_trans with ((above ++ others) ++ [Rmax 1 size; 1]);
        [apply Permutation_app_tail; exact P | rewrite <- app_assoc; apply Permutation_app_head; apply Permutation_app_comm].
    - apply Forall2_app; [exact F |]; pose proof (Rmax_l 1 size) as M; unfold sized.
      constructor; [rewrite Rabs_right by lra; rewrite (Rmax_right 1 (Rmax 1 size)) by lra; lra |].
      constructor; [rewrite Rabs_R1; apply Rmax_lub; lra | constructor]. }
  destruct K as [N [R A]]; split; [rewrite app_length in *; exact N |].
  split; [apply (outside_permuted _ _ _ _ (G _ _)) in R | apply (outside_permuted _ _ _ _ (G _ _)) in A];
    apply (outside_permuted _ _ _ _ (Permutation_sym (G a b))); apply parts_outside with (Rmax 1 size); assumption.
Qed.

Lemma covers_larger : forall a b factors, Forall2 Rle a b -> covers a factors -> covers b factors.
Proof.
  intros a b f L [above [others [P [F O]]]]; destruct (Permutation_Forall2 P L) as [c [Q M]].
  apply Forall2_app_inv_l in M; destruct M as [above' [others' [M1 [M2 E]]]]; subst c.
  exists above', others'; repeat split; [exact Q | |].
  - clear - F M1; revert above' M1; induction F; intros above' M1; inversion M1; subst; constructor; [lra | auto].
  - clear - O M2; induction M2; constructor; inversion O; subst; [lra | auto].
Qed.
Lemma covers_more : forall a more factors, Forall (Rle 1) more -> covers a factors -> covers (a ++ more) factors.
Proof.
  intros a more f M [above [others [P [F O]]]]; exists above, (others ++ more); repeat split; [| exact F |].
  - rewrite app_assoc; apply Permutation_app_tail; exact P.
  - apply Forall_app; split; assumption.
Qed.
Lemma larger_first : forall a b, exists here more, larger a b = here ++ more /\ Forall2 Rle a here /\
  (Forall (Rle 1) b -> Forall (Rle 1) more).
Proof.
  induction a as [| x a IH]; intros b.
  - exists [], b; split; [destruct b; reflexivity | split; [constructor | auto]].
  - destruct b as [| y b]; simpl.
    + exists (x :: a), []; rewrite app_nil_r; split; [reflexivity | split; [| constructor]].
      generalize (x :: a); induction l; constructor; [lra | assumption].
    + destruct (IH b) as [here [more [E [L M]]]]; exists (Rmax x y :: here), more; rewrite E; split; [reflexivity | split].
      * constructor; [apply Rmax_l | exact L].
      * intros H; apply M; apply (Forall_inv_tail H).
Qed.
Lemma larger_comm : forall a b, larger a b = larger b a.
Proof. induction a; intros []; simpl; try reflexivity; rewrite Rmax_comm, IHa; reflexivity. Qed.
Theorem covers_either : forall one two f, Forall (Rle 1) one -> Forall (Rle 1) two -> covers one f \/ covers two f ->
  covers (either one two) f.
Proof.
  unfold either; assert (X : forall a b f, Forall (Rle 1) b -> covers a f -> covers (larger a b) f).
  { intros a b f H C; destruct (larger_first a b) as [here [more [E [L M]]]]; rewrite E.
    apply covers_more; [auto | apply covers_larger with (1 := L); exact C]. }
  intros one two f O T [C | C]; [apply X; assumption | rewrite larger_comm; apply X; assumption].
Qed.
Lemma larger_falls : forall a b, falls a -> falls b -> falls (larger a b).
Proof.
  induction a as [| x a IH]; intros b A B; [destruct b; exact B |]; destruct b as [| y b]; [exact A |].
  destruct A as [FA A]; destruct B as [FB B]; simpl; split; [| apply IH; assumption].
  clear IH A B; revert b FB; induction FA as [| z a Z FA IHF]; intros b FB.
  - apply Forall_impl with (P := fun r => r <= y); [| destruct b; exact FB].
    intros r H; apply Rle_trans with (1 := H); apply Rmax_r.
  - destruct FB as [| w b W FB]; simpl; constructor.
    + apply Rle_trans with (1 := Z); apply Rmax_l.
    + apply Forall_impl with (2 := FA); intros r H; apply Rle_trans with (1 := H); apply Rmax_l.
    + apply Rmax_lub; [apply Rle_trans with (1 := Z); apply Rmax_l | apply Rle_trans with (1 := W); apply Rmax_r].
    + apply IHF; exact FB.
Qed.
