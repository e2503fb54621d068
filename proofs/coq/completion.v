(* A decided value survives every completion of the unknown facts: what the check says of a model with symbols and values
   that are known at run time only, it says of every model that has numbers and values in their place. *)
From Coq Require Import ZArith QArith Qround String List Bool Lia.
From Sonnx Require Import syntax values evaluation.
Import ListNotations.
Open Scope Z_scope.

Lemma Forall2_length {A B} (R : A -> B -> Prop) l r : Forall2 R l r -> List.length l = List.length r.
Proof. induction 1; cbn; congruence. Qed.

Section Completion.

(* What the symbols stand for. *)
Variable rho : string -> value.
Hypothesis rho_reflexive : forall s, equal (rho s) (rho s) = VBool true.

(* The second value completes the first. *)
Inductive le : value -> value -> Prop :=
| le_int z : le (VInt z) (VInt z)
| le_float q : le (VFloat q) (VFloat q)
| le_bool b : le (VBool b) (VBool b)
| le_text s : le (VText s) (VText s)
| le_list l r : Forall2 le l r -> le (VList l) (VList r)
| le_record l r : Forall2 (fun p q => fst p = fst q /\ le (snd p) (snd q)) l r -> le (VRecord l) (VRecord r)
| le_unknown c w : le (VUnknown c None) w
| le_symbol c s : le (VUnknown c (Some s)) (rho s).
Hint Constructors le : core.

Definition decided (v : value) : bool := match v with VUnknown _ _ => false | _ => true end.

Lemma le_decided a b : le a b -> decided a = true -> decided b = true.
Proof. destruct 1; auto; discriminate. Qed.

Lemma le_bool_inv b w : le (VBool b) w -> w = VBool b.
Proof. inversion 1; auto. Qed.

Lemma joined_none found v : joined found v = None <-> found = None /\ decided v = true.
Proof. destruct found, v; cbn; intuition congruence. Qed.

Lemma strongest_from l found : fold_left joined l found = None <-> found = None /\ forallb decided l = true.
Proof.
  revert found. induction l as [|v l IH]; intros found; cbn.
  - intuition.
  - rewrite IH, joined_none, andb_true_iff. intuition.
Qed.

Lemma strongest_none l : strongest l = None <-> forallb decided l = true.
Proof. unfold strongest. rewrite strongest_from. intuition. Qed.

Lemma decided_all l r : Forall2 le l r -> forallb decided l = true -> forallb decided r = true.
Proof.
  induction 1 as [|a b l r H F IH]; cbn; auto. rewrite !andb_true_iff. intros [A B]. split; eauto using le_decided.
Qed.

Lemma strict_le l r v w : Forall2 le l r -> (forallb decided l = true -> le v w) -> le (strict l v) (strict r w).
Proof.
  intros F H. unfold strict. destruct (strongest l) eqn:E; auto.
  apply strongest_none in E. rewrite (proj2 (strongest_none r)); eauto using decided_all.
Qed.

Lemma strict_open l v : forallb decided l = false -> exists c, strict l v = VUnknown c None.
Proof.
  intros H. unfold strict. destruct (strongest l) eqn:E; eauto. apply strongest_none in E. congruence.
Qed.

Lemma truth_le d a b : le a b -> is_truth d a = true -> is_truth d b = true.
Proof. destruct 1; cbn; auto; discriminate. Qed.

Lemma truth_same d a b : le a b -> decided a = true -> is_truth d a = is_truth d b.
Proof. destruct 1; cbn; auto; discriminate. Qed.

Lemma kleene_le d l r : Forall2 le l r -> le (kleene d l) (kleene d r).
Proof.
  intros F. unfold kleene. destruct (existsb (is_truth d) l) eqn:E.
  - enough (existsb (is_truth d) r = true) as -> by auto.
    revert E. induction F as [|a b l r H F IH]; cbn; auto. rewrite !orb_true_iff. intros [A|A]; eauto using truth_le.
  - destruct (forallb decided l) eqn:D.
    + enough (existsb (is_truth d) r = false) as -> by (apply strict_le; auto).
      revert E D. induction F as [|a b l r H F IH]; cbn; auto. rewrite !orb_false_iff, andb_true_iff. intros [A B] [C K].
      rewrite <- (truth_same d a b); auto.
    + destruct (strict_open l (VBool (negb d)) D) as [c ->]. auto.
Qed.

Lemma negation_le a b : le a b -> le (negation a) (negation b).
Proof. destruct 1; cbn; auto; unfold undefined; auto. Qed.

Lemma negative_le a b : le a b -> le (negative a) (negative b).
Proof. destruct 1; cbn; auto; unfold undefined; auto. Qed.

Fixpoint pairs (l r : list value) : list value :=
  match l, r with x :: l', y :: r' => equal x y :: pairs l' r' | _, _ => [] end.

Lemma equal_lists l r : equal (VList l) (VList r) =
  if Nat.eqb (List.length l) (List.length r) then kleene false (pairs l r) else VBool false.
Proof. reflexivity. Qed.

Lemma equal_open_left c s b : s = None \/ (forall d, b <> VUnknown d s) -> exists k, equal (VUnknown c s) b = VUnknown k None.
Proof.
  intros H. destruct b as [| | | | | |d [t|]]; destruct s as [u|]; cbn; eauto.
  destruct (String.eqb_spec u t); [subst; destruct H as [H|H]; [discriminate|destruct (H d); auto]|eauto].
Qed.

Lemma equal_open_right a c s : decided a = true -> exists k, equal a (VUnknown c s) = VUnknown k None.
Proof. destruct a; cbn; eauto; discriminate. Qed.

Lemma equal_le a : forall b a' b', le a a' -> le b b' -> le (equal a b) (equal a' b').
Proof.
  induction a as [z|q|t|s|l IH|l IH|c s] using value_ind'; intros b a' b' A B;
    try (inversion A; subst; inversion B; subst; cbn; constructor; fail).
  - inversion A as [| | | |? r F|  | |]; subst. inversion B as [| | | |m n G| | |]; subst; try (cbn; constructor; fail).
    rewrite !equal_lists, <- (Forall2_length _ _ _ F), <- (Forall2_length _ _ _ G).
    destruct (Nat.eqb (List.length l) (List.length m)); [|constructor]. apply kleene_le.
    clear A B. revert m n G. induction F as [|x y l r H F IH2]; intros m n G; cbn; auto.
    inversion IH; subst. destruct G; constructor; auto.
  - destruct b as [z|q|t|u|m|m|d u].
    1-6: match goal with |- le (equal ?a ?b) _ => assert (exists k, equal a b = VUnknown k None) as [k E] by (apply equal_open_left; right; discriminate); rewrite E; constructor end.
    destruct s as [x|]; [destruct u as [y|]|].
    + cbn. destruct (String.eqb_spec x y).
      * subst. inversion A; subst. inversion B; subst. rewrite rho_reflexive. constructor.
      * constructor.
    + cbn. constructor.
    + cbn. destruct u; constructor.
Qed.

Lemma strict_pair a b a' b' : le a a' -> le b b' -> decided a && decided b = false ->
  forall v w, le (strict [a; b] v) w.
Proof.
  intros A B D v w. destruct (strict_open [a; b] v) as [c ->]; [|constructor]. cbn. rewrite andb_true_r. auto.
Qed.

Lemma rational_same a b : le a b -> decided a = true -> rational a = rational b.
Proof. destruct 1; cbn; auto; discriminate. Qed.

Lemma less_same a b a' b' : le a a' -> le b b' -> decided a = true -> decided b = true -> less a b = less a' b'.
Proof. intros A B D E. inversion A; subst; inversion B; subst; try discriminate; reflexivity. Qed.

Lemma at_most_same a b a' b' : le a a' -> le b b' -> decided a = true -> decided b = true -> at_most a b = at_most a' b'.
Proof. intros A B D E. inversion A; subst; inversion B; subst; try discriminate; reflexivity. Qed.

Lemma contains_le s v s' v' : le s s' -> le v v' -> le (contains s v) (contains s' v').
Proof.
  intros S V. inversion S; subst; cbn; try (unfold undefined; constructor).
  apply negation_le, kleene_le. induction H; cbn; constructor; auto. apply negation_le, equal_le; auto.
Qed.

Lemma compare_le sign a b a' b' : le a a' -> le b b' -> le (compare sign a b) (compare sign a' b').
Proof.
  intros A B. destruct sign; cbn [compare].
  - apply equal_le; auto.
  - apply strict_le; [repeat constructor; auto|]. cbn. rewrite !andb_true_iff. intros (D & E & _).
    rewrite (less_same a b a' b'); auto.
  - apply strict_le; [repeat constructor; auto|]. cbn. rewrite !andb_true_iff. intros (D & E & _).
    rewrite (at_most_same a b a' b'); auto.
  - apply contains_le; auto.
Qed.

Lemma same_scalar (v : value) : le v v -> le v v. Proof. auto. Qed.

Lemma on_integers_le sign x y : le (on_integers sign x y) (on_integers sign x y).
Proof. destruct sign; cbn; auto; destruct (0 <? y); unfold undefined; auto. Qed.
Lemma on_rationals_le sign x y : le (on_rationals sign x y) (on_rationals sign x y).
Proof. destruct sign; cbn -[Qred Qfloor]; auto; destruct (Qle_bool y 0); unfold undefined; auto. Qed.

Lemma calculate_le sign a b a' b' : le a a' -> le b b' -> le (calculate sign a b) (calculate sign a' b').
Proof.
  intros A B.
  inversion A; subst; inversion B; subst; repeat match goal with q : floating |- _ => destruct q end;
    cbn -[strict on_integers on_rationals];
    try (eapply strict_pair; eauto; fail);
    auto using on_integers_le, on_rationals_le; unfold undefined; auto.
  destruct sign; auto. constructor. apply Forall2_app; auto.
Qed.

Lemma assoc_le x l r : Forall2 (fun p q => fst p = fst q /\ le (snd p) (snd q)) l r -> le (assoc x l) (assoc x r).
Proof.
  induction 1 as [|[a v] [b w] l r [H K] F IH]; cbn; unfold undefined; auto. cbn in *. subst. destruct (String.eqb x b); auto.
Qed.

Lemma length_le a b : le a b -> le (length_of a) (length_of b).
Proof. destruct 1; cbn; unfold undefined; auto. rewrite (Forall2_length _ _ _ H). auto. Qed.

Lemma field_le a b x : le a b -> le (field a x) (field b x).
Proof.
  destruct 1; cbn; unfold undefined; auto. destruct (String.eqb x "rank"); auto using length_le, assoc_le.
Qed.

Lemma nth_le l r : Forall2 le l r -> forall n d, le (nth n l (VUnknown d None)) (nth n r (VUnknown d None)).
Proof. induction 1; intros [|n] d; cbn; auto. Qed.

Lemma strict_any l v w : forallb decided l = false -> le (strict l v) w.
Proof. intros D. destruct (strict_open l v D) as [c ->]. constructor. Qed.

Lemma strict_undefined l w : le (strict l undefined) w.
Proof. unfold strict. destruct (strongest l); unfold undefined; auto. Qed.

Lemma item_le s i s' i' : le s s' -> le i i' -> le (item s i) (item s' i').
Proof.
  intros S I. inversion S; subst; cbn -[strict nth]; try apply strict_undefined.
  inversion I; subst; try apply strict_undefined.
  rewrite <- (Forall2_length _ _ _ H). destruct ((0 <=? z) && (z <? Z.of_nat (List.length l))); unfold undefined; auto using nth_le.
Qed.

Lemma skipn_le l r : Forall2 le l r -> forall n, Forall2 le (skipn n l) (skipn n r).
Proof. induction 1; intros [|n]; cbn; auto. Qed.
Lemma firstn_le l r : Forall2 le l r -> forall n, Forall2 le (firstn n l) (firstn n r).
Proof. induction 1; intros [|n]; cbn; auto. Qed.

Lemma part_le s a b s' a' b' : le s s' -> le a a' -> le b b' -> le (part s a b) (part s' a' b').
Proof.
  intros S A B. inversion S; subst; cbn -[strict firstn skipn]; try apply strict_undefined.
  inversion A; subst; try apply strict_undefined.
  inversion B; subst; try apply strict_undefined.
  rewrite <- (Forall2_length _ _ _ H). match goal with |- le (if ?c then _ else _) _ => destruct c end; unfold undefined; auto.
  constructor. apply firstn_le, skipn_le; auto.
Qed.

Lemma known_le a : known a = true -> forall b, le a b -> a = b.
Proof.
  induction a as [z|q|t|s|l IH|l IH|c s] using value_ind'; intros K b L; inversion L; subst; auto; try discriminate.
  - f_equal. cbn in K. clear L. induction H0 as [|x y l r H F IH2]; auto. inversion IH; subst. cbn in K.
    apply andb_true_iff in K as [K1 K2]. f_equal; auto.
  - f_equal. cbn in K. clear L. induction H0 as [|[x v] [y w] l r [H G] F IH2]; auto. inversion IH; subst. cbn in *.
    apply andb_true_iff in K as [K1 K2]. subst. f_equal; auto. f_equal. auto.
Qed.

Lemma same_eq a : forall b, same a b = true -> a = b.
Proof.
  induction a as [z|q|t|s|l IH|l IH|c s] using value_ind'; intros [z'|q'|t'|s'|items|m|d u] E;
    try discriminate; try (match goal with q : floating |- _ => destruct q; discriminate end); cbn in E.
  - apply Z.eqb_eq in E. congruence.
  - destruct q as [q| |], q' as [q'| |]; try discriminate; auto; cbn in E.
    + destruct q, q'. cbn in E. apply andb_true_iff in E as [A B]. apply Z.eqb_eq in A. apply Pos.eqb_eq in B. congruence.
    + apply eqb_prop in E. congruence.
  - apply eqb_prop in E. congruence.
  - apply String.eqb_eq in E. congruence.
  - f_equal. revert items E. induction l as [|x l IH2]; intros [|y r] E; try discriminate; auto.
    inversion IH; subst. apply andb_true_iff in E as [A B]. f_equal; auto.
Qed.

Lemma choice_le c a b c' a' b' : le c c' -> le a a' -> le b b' -> le (choice c a b) (choice c' a' b').
Proof.
  intros C A B. destruct (known a && same a b) eqn:E.
  - apply andb_true_iff in E as [K S]. pose proof (known_le _ K _ A). pose proof (same_eq _ _ S). subst.
    pose proof (known_le _ K _ B). subst.
    assert (forall c, choice c b' b' = b') as N.
    { intros x. unfold choice. destruct x; rewrite ?K, ?S; auto. destruct truth; auto. }
    rewrite !N. auto.
  - inversion C; subst; cbn [choice]; rewrite ?E; unfold undefined; auto.
    destruct b0; auto.
Qed.

Lemma on_list_le a b f g : le a b -> (forall l r, Forall2 le l r -> le (f l) (g r)) -> le (on_list a f) (on_list b g).
Proof. intros A H. inversion A; subst; cbn; unfold undefined; auto. Qed.

Lemma map_le f g l r : Forall2 le l r -> (forall v w, le v w -> le (f v) (g w)) -> Forall2 le (map f l) (map g r).
Proof. induction 1; cbn; auto. Qed.

Lemma chosen_le p q l r : Forall2 le l r -> (forall v w, le v w -> le (p v) (q w)) ->
  forallb decided (map p l) = true -> Forall2 le (chosen p l) (chosen q r).
Proof.
  intros F H. unfold chosen. induction F as [|x y l r L F IH]; cbn; auto. rewrite andb_true_iff. intros [D E].
  rewrite <- (truth_same true (p x) (q y)); auto. destruct (is_truth true (p x)); auto.
Qed.

Lemma fold_calculate_le sign l r : Forall2 le l r -> forall a b, le a b -> le (fold_left (calculate sign) l a) (fold_left (calculate sign) r b).
Proof. induction 1; cbn; auto using calculate_le. Qed.

Lemma total_le sign n l r : Forall2 le l r -> le (total sign n l) (total sign n r).
Proof. intros F. unfold total. apply strict_le; auto using fold_calculate_le. Qed.

Lemma zero_le a b : le a b -> is_zero a = true -> is_zero b = true.
Proof. intros A. unfold is_zero. apply truth_le, equal_le; auto. Qed.

Lemma zero_same a b : le a b -> decided a = true -> is_zero a = is_zero b.
Proof. destruct 1; cbn; auto; discriminate. Qed.

Lemma product_le l r : Forall2 le l r -> le (apply Product l) (apply Product r).
Proof.
  intros F. cbn. destruct (existsb is_zero l) eqn:E.
  - enough (existsb is_zero r = true) as -> by auto.
    revert E. induction F as [|a b l r H F IH]; cbn; auto. rewrite !orb_true_iff. intros [A|A]; eauto using zero_le.
  - destruct (forallb decided l) eqn:D.
    + enough (existsb is_zero r = false) as -> by auto using total_le.
      revert E D. induction F as [|a b l r H F IH]; cbn; auto. rewrite !orb_false_iff, andb_true_iff. intros [A B] [C K].
      rewrite <- (zero_same a b); auto.
    + apply strict_any; auto.
Qed.

Lemma extreme_le better l r :
  (forall a b a' b', le a a' -> le b b' -> decided a = true -> decided b = true -> better a b = better a' b') ->
  Forall2 le l r -> le (extreme better l) (extreme better r).
Proof.
  intros H F. destruct F as [|x y l r L F]; cbn -[strict]; unfold undefined; auto.
  apply strict_le; auto. cbn. rewrite andb_true_iff. intros [D E].
  revert x y L D. induction F as [|a b l r M F IH]; intros x y L D; cbn; auto.
  cbn in E. apply andb_true_iff in E as [E1 E2]. rewrite <- (H a x b y); auto. apply IH; auto; destruct (better a x); auto.
Qed.

Lemma differences_le l r : Forall2 le l r -> Forall2 le (differences l) (differences r).
Proof.
  induction 1; cbn; auto. apply Forall2_app; auto. apply map_le; auto using negation_le, equal_le.
Qed.

Lemma apply_le f l r : Forall2 le l r -> le (apply f l) (apply f r).
Proof.
  intros F. destruct f; auto using total_le, kleene_le, product_le.
  - cbn. rewrite (Forall2_length _ _ _ F). auto.
  - apply total_le; auto.
  - apply extreme_le; auto. intros; apply less_same; auto.
  - apply extreme_le; auto using less_same.
  - apply kleene_le; auto.
  - apply kleene_le; auto.
  - apply kleene_le, differences_le; auto.
Qed.

Lemma flattened_le a b : le a b -> le (flattened a) (flattened b).
Proof.
  intros A. apply on_list_le; auto. intros l r F. apply strict_le; auto. intros D. constructor.
  induction F as [|x y l r L F IH]; cbn; auto. cbn in D. apply andb_true_iff in D as [D E]. apply Forall2_app; auto.
  inversion L; subst; auto; discriminate.
Qed.

Lemma ints_le l : Forall2 le (map VInt l) (map VInt l).
Proof. induction l; cbn; auto. Qed.

Lemma range_le a b a' b' : le a a' -> le b b' -> le (range a b) (range a' b').
Proof.
  intros A B. inversion A; subst; cbn -[strict integers Z.to_nat]; try apply strict_undefined.
  inversion B; subst; try apply strict_undefined. constructor. apply ints_le.
Qed.

(* [Stated] asks what the walk over the model knows, so its answer does not change where unknown facts are completed.  The
   value of an expression on completed facts is therefore that of two environments: the facts as the walk knows them, of
   which [Stated] asks, and the facts in their place.  A loop goes over the items of both lists at once. *)
Definition items_of (v : value) : list value := match v with VList items => items | _ => [] end.

Fixpoint pairs_of (known completed : list value) : list (value * value) :=
  match completed with
  | [] => []
  | w :: rest => match known with [] => (undefined, w) :: pairs_of [] rest | v :: l => (v, w) :: pairs_of l rest end
  end.

Definition on_pairs (known completed : value) (f : list (value * value) -> value) : value :=
  on_list completed (fun items => f (pairs_of (items_of known) items)).

Fixpoint complete (e : expr) (known names : environment) : value :=
  match e with
  | Int z => VInt z
  | Float q => VFloat (Finite q)
  | Text s => VText s
  | Name x => names x
  | Nil => VList []
  | Cons a b => on_list (complete b known names) (fun rest => VList (complete a known names :: rest))
  | Field r f => field (complete r known names) f
  | Item s i => item (complete s known names) (complete i known names)
  | Part s a b => part (complete s known names) (complete a known names) (complete b known names)
  | Arithmetic sign a b => calculate sign (complete a known names) (complete b known names)
  | Negative a => negative (complete a known names)
  | Compare sign a b => compare sign (complete a known names) (complete b known names)
  | And a b => kleene false [complete a known names; complete b known names]
  | Or a b => kleene true [complete a known names; complete b known names]
  | Not a => negation (complete a known names)
  | If c a b => choice (complete c known names) (complete a known names) (complete b known names)
  | ForAll x s p => on_pairs (eval s known) (complete s known names) (fun pairs =>
      kleene false (map (fun p' => complete p (updated known x (fst p')) (updated names x (snd p'))) pairs))
  | Exists x s p => on_pairs (eval s known) (complete s known names) (fun pairs =>
      kleene true (map (fun p' => complete p (updated known x (fst p')) (updated names x (snd p'))) pairs))
  | Collect x s q a => on_pairs (eval s known) (complete s known names) (fun pairs =>
      let test p' := complete q (updated known x (fst p')) (updated names x (snd p')) in
      strict (map test pairs)
        (VList (map (fun p' => complete a (updated known x (fst p')) (updated names x (snd p')))
          (List.filter (fun p' => is_truth true (test p')) pairs))))
  | Flatten a => flattened (complete a known names)
  | Apply f a => on_list (complete a known names) (apply f)
  | Range a b => range (complete a known names) (complete b known names)
  | Stated a => VBool (stated (eval a known))
  | Let x a b => complete b (updated known x (eval a known)) (updated names x (complete a known names))
  | Reduce x y b s a => on_pairs (eval s known) (complete s known names) (fun pairs =>
      snd (fold_left (fun (sums : value * value) (p' : value * value) =>
             (eval b (updated (updated known x (fst sums)) y (fst p')),
              complete b (updated (updated known x (fst sums)) y (fst p')) (updated (updated names x (snd sums)) y (snd p'))))
           pairs (eval a known, complete a known names)))
  | Undefined => undefined
  end.

Lemma pairs_known l r : List.length l = List.length r -> map fst (pairs_of l r) = l.
Proof. revert l. induction r; intros [|x l] E; cbn in *; try discriminate; f_equal; auto. Qed.

Lemma pairs_le l r : Forall2 le l r -> Forall (fun p => le (fst p) (snd p)) (pairs_of l r).
Proof. induction 1; cbn; constructor; auto. Qed.

Lemma updated_le n n' x v w : (forall y, le (n y) (n' y)) -> le v w -> forall y, le (updated n x v y) (updated n' x w y).
Proof. intros N V y. unfold updated. destruct (String.eqb x y); auto. Qed.

Lemma on_pairs_le a b f g : le a b ->
  (forall pairs, Forall (fun p => le (fst p) (snd p)) pairs -> le (f (map fst pairs)) (g pairs)) ->
  le (on_list a f) (on_pairs a b g).
Proof.
  intros A H. unfold on_pairs. inversion A; subst; cbn; unfold undefined; auto.
  specialize (H _ (pairs_le _ _ H0)). rewrite pairs_known in H; eauto using Forall2_length.
Qed.

Lemma map_pairs_le f g pairs : (forall p, le (fst p) (snd p) -> le (f (fst p)) (g p)) ->
  Forall (fun p => le (fst p) (snd p)) pairs -> Forall2 le (map f (map fst pairs)) (map g pairs).
Proof. intros H. induction 1; cbn; auto. Qed.

(* "For every completion of the unknown facts": each name has a value that completes the known one. *)
Theorem eval_le e : forall known names, (forall x, le (known x) (names x)) -> le (eval e known) (complete e known names).
Proof.
  induction e; intros n n' N; cbn [eval complete].
  - auto. - auto. - auto. - auto. - auto.
  - apply on_list_le; auto.
  - apply field_le; auto.
  - apply item_le; auto.
  - apply part_le; auto.
  - apply calculate_le; auto.
  - apply negative_le; auto.
  - apply compare_le; auto.
  - apply kleene_le; auto.
  - apply kleene_le; auto.
  - apply negation_le; auto.
  - apply choice_le; auto.
  - apply on_pairs_le; auto. intros ps F. apply kleene_le, (map_pairs_le (fun v => eval e2 (updated n variable v))); auto using updated_le.
  - apply on_pairs_le; auto. intros ps F. apply kleene_le, (map_pairs_le (fun v => eval e2 (updated n variable v))); auto using updated_le.
  - apply on_pairs_le; auto. intros ps F. apply strict_le.
    + apply (map_pairs_le (fun v => eval e2 (updated n variable v))); auto using updated_le.
    + intros D. constructor. unfold chosen. induction F as [|p ps P F IH]; cbn; auto. cbn in D. apply andb_true_iff in D as [D D'].
      rewrite <- (truth_same true (eval e2 (updated n variable (fst p))) (complete e2 (updated n variable (fst p)) (updated n' variable (snd p))));
        auto using updated_le.
      destruct (is_truth true _); cbn; auto using updated_le.
  - apply flattened_le; auto.
  - apply on_list_le; auto using apply_le.
  - apply range_le; auto.
  - auto.
  - apply IHe2; auto using updated_le.
  - apply on_pairs_le; auto. intros ps F.
    assert (forall sums, le (fst sums) (snd sums) ->
      le (fold_left (fun sum v => eval e1 (updated (updated n total sum) item v)) (map fst ps) (fst sums))
         (snd (fold_left (fun (sums : value * value) (p' : value * value) =>
             (eval e1 (updated (updated n total (fst sums)) item (fst p')),
              complete e1 (updated (updated n total (fst sums)) item (fst p')) (updated (updated n' total (snd sums)) item (snd p'))))
           ps sums))) as A.
    { induction F as [|p ps P F IH]; intros sums A; cbn; auto. apply (IH (_, _)). cbn. auto 6 using updated_le. }
    apply (A (_, _)). cbn. auto.
  - unfold undefined. auto.
Qed.

(* A decided value is the value on the completed facts. *)
Theorem decided_survives e known' names v : (forall x, le (known' x) (names x)) ->
  eval e known' = v -> known v = true -> complete e known' names = v.
Proof. intros N <- K. symmetry. apply known_le; auto using eval_le. Qed.

(* The verdict on completed facts. *)
Definition decide_completed (r : rule) (known names : environment) : verdict := decide_by (fun e => complete e known names) r.

(* A rule that fails, fails in every completion. *)
Theorem fail_survives r known names : (forall x, le (known x) (names x)) ->
  decide r known = Fail -> decide_completed r known names = Fail.
Proof.
  intros N. unfold decide, decide_completed, decide_by.
  assert (eval (demand r) known = VBool false -> complete (demand r) known names = VBool false) as D
    by (intros E; eapply decided_survives; eauto).
  destruct (applies r) as [c|].
  - destruct (eval c known) as [| |[]| | | |k] eqn:C; try discriminate; [|destruct k; discriminate].
    rewrite (decided_survives c known names _ N C eq_refl).
    destruct (eval (demand r) known) as [| |[]| | | |[]]; try discriminate; [|now rewrite D].
    destruct (over r) as [l|]; [destruct (eval l known) as [| | | |[]| |]|]; discriminate.
  - destruct (eval (demand r) known) as [| |[]| | | |[]]; try discriminate; [|now rewrite D].
    destruct (over r) as [l|]; [destruct (eval l known) as [| | | |[]| |]|]; discriminate.
Qed.

(* A rule that passes, passes in every completion; it may turn out to be about nothing, where another part of it holds. *)
Theorem pass_survives r known names : (forall x, le (known x) (names x)) -> decide r known = Pass ->
  complete (demand r) known names = VBool true /\
  (decide_completed r known names = Pass \/ decide_completed r known names = NotApplicable).
Proof.
  intros N. unfold decide, decide_completed, decide_by.
  assert (eval (demand r) known = VBool true -> complete (demand r) known names = VBool true) as D
    by (intros E; eapply decided_survives; eauto).
  assert (forall v w : verdict, match over r with None => Pass
    | Some l => match complete l known names with VList [] => NotApplicable | _ => Pass end end = v -> v = Pass \/ v = NotApplicable) as O.
  { intros v _ <-. destruct (over r) as [l|]; auto. destruct (complete l known names) as [| | | |[]| |]; auto. }
  destruct (applies r) as [c|].
  - destruct (eval c known) as [| |[]| | | |k] eqn:C; try discriminate; [|destruct k; discriminate].
    rewrite (decided_survives c known names _ N C eq_refl). intros P.
    destruct (eval (demand r) known) as [| |[]| | | |[]]; try discriminate. rewrite (D eq_refl). split; auto. eapply O; eauto. exact Pass.
  - intros P. destruct (eval (demand r) known) as [| |[]| | | |[]]; try discriminate. rewrite (D eq_refl). split; auto. eapply O; eauto. exact Pass.
Qed.

(* A rule that does not apply, or is about nothing, stays so. *)
Theorem not_applicable_survives r known names : (forall x, le (known x) (names x)) ->
  decide r known = NotApplicable -> decide_completed r known names = NotApplicable.
Proof.
  intros N. unfold decide, decide_completed, decide_by.
  assert (match eval (demand r) known with VBool false => Fail | VBool true => match over r with None => Pass
      | Some l => match eval l known with VList [] => NotApplicable | _ => Pass end end
    | VUnknown c _ => of_unknown c | _ => Undecided end = NotApplicable ->
    match complete (demand r) known names with VBool false => Fail | VBool true => match over r with None => Pass
      | Some l => match complete l known names with VList [] => NotApplicable | _ => Pass end end
    | VUnknown c _ => of_unknown c | _ => Undecided end = NotApplicable) as J.
  { intros P. destruct (eval (demand r) known) as [| |[]| | | |[]] eqn:E; try discriminate.
    rewrite (decided_survives _ known names _ N E eq_refl). destruct (over r) as [l|]; [|discriminate].
    destruct (eval l known) as [| | | |[]| |] eqn:L; try discriminate. now rewrite (decided_survives _ known names _ N L eq_refl). }
  destruct (applies r) as [c|]; [|exact J].
  destruct (eval c known) as [| |[]| | | |k] eqn:C; try discriminate; [| |destruct k; discriminate];
    rewrite (decided_survives c known names _ N C eq_refl); auto.
Qed.

End Completion.

(* On its own facts an expression has its value: [complete] is [eval] where nothing is completed. *)
Lemma pairs_same l : pairs_of l l = map (fun v => (v, v)) l.
Proof. induction l; cbn; f_equal; auto. Qed.

Lemma filter_map {A B} (f : A -> B) p l : List.filter p (map f l) = map f (List.filter (fun x => p (f x)) l).
Proof. induction l as [|x l IH]; cbn; auto. rewrite IH. destruct (p (f x)); auto. Qed.

Theorem complete_same e : forall names, complete e names names = eval e names.
Proof.
  induction e; intros n; cbn [eval complete]; try congruence.
  - rewrite IHe1, IHe2. auto.
  - rewrite IHe1. unfold on_pairs. destruct (eval e1 n); cbn [on_list items_of]; auto. rewrite pairs_same, map_map. f_equal. apply map_ext; auto.
  - rewrite IHe1. unfold on_pairs. destruct (eval e1 n); cbn [on_list items_of]; auto. rewrite pairs_same, map_map. f_equal. apply map_ext; auto.
  - rewrite IHe1. unfold on_pairs. destruct (eval e1 n); cbn [on_list items_of]; auto. rewrite pairs_same, map_map. unfold chosen. f_equal.
    + apply map_ext; cbn; auto.
    + f_equal. rewrite filter_map, map_map. cbn.
      rewrite (filter_ext _ (fun v => is_truth true (eval e2 (updated n variable v)))) by (intros v; now rewrite IHe2).
      apply map_ext; cbn; auto.
  - rewrite IHe2, IHe3. unfold on_pairs. destruct (eval e2 n); cbn [on_list items_of]; auto. rewrite pairs_same.
    generalize (eval e3 n). induction items as [|v items IH]; intros a; [reflexivity|].
    cbn [map fold_left fst snd]. rewrite IHe1. apply IH.
Qed.

(* Completions exist, so that the theorems are not about nothing: numbers in the place of symbols are one. *)
Example of_symbols : let rho s := VInt (Z.of_nat (String.length s)) in
  (forall s, equal (rho s) (rho s) = VBool true) /\
  le rho (VList [VUnknown NotStated (Some "ab"%string); VUnknown RunTime None; VInt 3]) (VList [VInt 2; VText "x"; VInt 3]).
Proof.
  cbn zeta. split; [intros s; cbn; now rewrite Z.eqb_refl|]. repeat constructor.
Qed.

(* What is computed from a symbol is not the symbol, and two items of which a part is unknown may be equal: none of these is
   decided where N and M are symbols.  With N = 1 and M = 2 each would have another value than an evaluation that kept the symbol,
   or looked at known items only, would give. *)
Example not_decided : forallb (fun e => negb (known (eval e (fun x => VUnknown NotStated (Some x)))))
  (let n := Name "N" in let m := Name "M" in
   [ Compare Equal (Negative n) n; Compare Equal (Apply Sum n) n; Compare Equal (Field n "rank") n; Compare Equal (Not n) n;
     Compare Equal (If n (Int 1) (Int 2)) n; Compare Member (Negative n) (Cons n Nil);
     Apply Distinct (Cons (Cons n Nil) (Cons (Cons (Int 1) Nil) Nil));
     Item (Cons (Int 5) (Cons (Int 6) Nil)) (If (Compare Equal n m) (Int 1) (Float 1)) ]) = true.
Proof. reflexivity. Qed.
