(* Choices whose condition is known. *)
From Coq Require Import ZArith QArith String List Bool.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts.
Import ListNotations.
Open Scope Z_scope.

(* The conditions of choices that do not read the variable of a loop. *)
Fixpoint conditions (e : expr) : list expr :=
  match e with
  | If c a b => conditions c ++ [c] ++ conditions a ++ conditions b
  | Arithmetic _ a b | Item a b | Compare _ a b | Or a b | And a b | Cons a b | Range a b => conditions a ++ conditions b
  | Negative a | Apply _ a | Not a | Field a _ => conditions a
  | Part a b c => conditions a ++ conditions b ++ conditions c
  | ForAll x s p => conditions s ++ filter (fun c => negb (mentions x c)) (conditions p)
  | Collect x s p a => conditions s ++ filter (fun c => negb (mentions x c)) (conditions p ++ conditions a)
  | _ => []
  end.

(* The expression, where a condition is true or false. *)
Fixpoint resolved (q : expr) (truth : bool) (e : expr) : expr :=
  match e with
  | If c a b => if expr_eqb c q then (if truth then resolved q truth a else resolved q truth b)
                else If (resolved q truth c) (resolved q truth a) (resolved q truth b)
  | Arithmetic s a b => Arithmetic s (resolved q truth a) (resolved q truth b)
  | Compare s a b => Compare s (resolved q truth a) (resolved q truth b)
  | Item a b => Item (resolved q truth a) (resolved q truth b)
  | Or a b => Or (resolved q truth a) (resolved q truth b)
  | And a b => And (resolved q truth a) (resolved q truth b)
  | Cons a b => Cons (resolved q truth a) (resolved q truth b)
  | Range a b => Range (resolved q truth a) (resolved q truth b)
  | Negative a => Negative (resolved q truth a)
  | Apply f a => Apply f (resolved q truth a)
  | Not a => Not (resolved q truth a)
  | Field a f => Field (resolved q truth a) f
  | Part a b c => Part (resolved q truth a) (resolved q truth b) (resolved q truth c)
  | ForAll x s p => ForAll x (resolved q truth s) (if mentions x q then p else resolved q truth p)
  | Collect x s p a =>
      if mentions x q then Collect x (resolved q truth s) p a
      else Collect x (resolved q truth s) (resolved q truth p) (resolved q truth a)
  | _ => e
  end.

Lemma resolved_ok : forall q t e names, eval q names = VBool t -> eval (resolved q t e) names = eval e names.
Proof.
  intros q t; assert (B : forall x names v, mentions x q = false -> eval q names = VBool t -> eval q (updated names x v) = VBool t).
  { intros x names v M Q; rewrite eval_without; assumption. }
  induction e; intros names Q; cbn [resolved]; try reflexivity;
    try (cbn [eval]; rewrite IHe by exact Q; reflexivity);
    try (cbn [eval]; rewrite IHe1, IHe2 by exact Q; reflexivity);
    try (cbn [eval]; rewrite IHe1, IHe2, IHe3 by exact Q; reflexivity).
  - destruct (expr_eqb e1 q) eqn:E; [| cbn [eval]; rewrite IHe1, IHe2, IHe3 by exact Q; reflexivity].
    apply expr_eqb_ok in E; subst; destruct t; cbn [eval]; rewrite Q; cbn [choice]; auto.
  - cbn [eval]; rewrite IHe1 by exact Q; apply on_list_ext; intros l; f_equal; apply map_ext; intros v.
    destruct (mentions variable q) eqn:M; [reflexivity | apply IHe2, B; assumption].
  - destruct (mentions variable q) eqn:M; cbn [eval]; rewrite IHe1 by exact Q; apply collected_ext; intros v; auto.
Qed.

(* The expression, where the conditions of choices that are given hold. *)
Definition settled_by (given : list expr) (e c : expr) : expr :=
  if member c given then resolved c true e else if member (Not c) given then resolved c false e else e.
Definition settle (given : list expr) (e : expr) : expr := fold_left (settled_by given) (conditions e) e.

Lemma settle_ok : forall given names e, Forall (true_in names) given -> eval (settle given e) names = eval e names.
Proof.
  intros given names e G; unfold settle; generalize (conditions e); intros l; revert e.
  induction l as [| c l IH]; intros e; simpl; [reflexivity |]; rewrite IH; unfold settled_by; rewrite Forall_forall in G.
  destruct (member c given) eqn:M; [apply resolved_ok; exact (G _ (member_ok _ _ M)) |].
  destruct (member (Not c) given) eqn:N; [| reflexivity]; apply resolved_ok; pose proof (G _ (member_ok _ _ N)) as T.
  unfold true_in in T; cbn [eval] in T; destruct (eval c names); try discriminate; destruct truth; [discriminate | reflexivity].
Qed.
