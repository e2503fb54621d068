(* Linear inequalities between the integers of a call, and how they contradict each other. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation.
Import ListNotations.
Open Scope Z_scope.

Definition arithmetic_eqb (a b : arithmetic) : bool :=
  match a, b with
  | Plus, Plus | Minus, Minus | Times, Times | Quotient, Quotient | Remainder, Remainder => true | _, _ => false end.

Definition comparison_eqb (a b : comparison) : bool :=
  match a, b with Equal, Equal | Less, Less | AtMost, AtMost | Member, Member => true | _, _ => false end.

Definition function_eqb (a b : list_function) : bool :=
  match a, b with
  | Len, Len | Sum, Sum | Product, Product | Largest, Largest | Smallest, Smallest | All, All | Any, Any
  | Distinct, Distinct => true
  | _, _ => false
  end.

(* Equal texts. *)
Fixpoint same_text (a b : expr) : bool :=
  match a, b with
  | Int x, Int y => x =? y
  | Float x, Float y => (Qnum x =? Qnum y) && (Qden x =? Qden y)%positive
  | Text x, Text y | Name x, Name y => String.eqb x y
  | Nil, Nil | Undefined, Undefined => true
  | Cons a b, Cons a' b' | Item a b, Item a' b' | And a b, And a' b' | Or a b, Or a' b' | Range a b, Range a' b' =>
      same_text a a' && same_text b b'
  | Arithmetic s a b, Arithmetic t a' b' => arithmetic_eqb s t && same_text a a' && same_text b b'
  | Compare s a b, Compare t a' b' => comparison_eqb s t && same_text a a' && same_text b b'
  | Field a f, Field a' g => String.eqb f g && same_text a a'
  | Negative a, Negative a' | Not a, Not a' | Flatten a, Flatten a' | Stated a, Stated a' => same_text a a'
  | Apply f a, Apply g a' => function_eqb f g && same_text a a'
  | Part a b c, Part a' b' c' | If a b c, If a' b' c' => same_text a a' && same_text b b' && same_text c c'
  | ForAll x a b, ForAll y a' b' | Exists x a b, Exists y a' b' | Let x a b, Let y a' b' =>
      String.eqb x y && same_text a a' && same_text b b'
  | Collect x a b c, Collect y a' b' c' => String.eqb x y && same_text a a' && same_text b b' && same_text c c'
  | Reduce x z a b c, Reduce y w a' b' c' =>
      String.eqb x y && String.eqb z w && same_text a a' && same_text b b' && same_text c c'
  | _, _ => false
  end.

(* A conjunction evaluates both parts in Coq's virtual machine; this one stops at the first that is false. *)
Definition expr_eqb := Eval cbv beta delta [andb same_text] in same_text.

Ltac split_and := repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H; destruct H end.

Lemma expr_eqb_ok : forall a b, expr_eqb a b = true -> a = b.
Proof.
  change expr_eqb with same_text; induction a; intros [] H; simpl in H; try discriminate; split_and;
    repeat match goal with
    | H : String.eqb _ _ = true |- _ => apply String.eqb_eq in H; subst
    | H : (_ =? _)%positive = true |- _ => apply Pos.eqb_eq in H; subst
    | H : (_ =? _) = true |- _ => apply Z.eqb_eq in H; subst
    | IH : forall b, same_text ?a b = true -> _, H : same_text ?a _ = true |- _ => apply IH in H; subst
    end; try reflexivity.
  - destruct number, number0; simpl in *; subst; reflexivity.
  - destruct sign, sign0; try discriminate; reflexivity.
  - destruct sign, sign0; try discriminate; reflexivity.
  - destruct function, function0; try discriminate; reflexivity.
Qed.

Fixpoint member (e : expr) (l : list expr) : bool :=
  match l with [] => false | f :: rest => if expr_eqb e f then true else member e rest end.

Lemma member_ok : forall e l, member e l = true -> In e l.
Proof.
  intros e l; induction l as [| f l IH]; simpl; intros H; [discriminate |].
  destruct (expr_eqb e f) eqn:E; [apply expr_eqb_ok in E; subst |]; auto.
Qed.

(* The integer that an expression is; 0 if it is none. *)
Definition number (v : value) : Z := match v with VInt z => z | _ => 0 end.
Definition num (names : environment) (e : expr) : Z := number (eval e names).

(* A constant and multiples of expressions. *)
Definition form := (Z * list (Z * expr))%type.

Fixpoint terms_value (names : environment) (l : list (Z * expr)) : Z :=
  match l with [] => 0 | (k, e) :: rest => k * num names e + terms_value names rest end.
Definition value_of (names : environment) (f : form) : Z := fst f + terms_value names (snd f).

Definition added (a b : form) : form := (fst a + fst b, snd a ++ snd b).
Definition scaled (k : Z) (f : form) : form := (k * fst f, map (fun '(j, e) => (k * j, e)) (snd f)).

Lemma terms_app : forall names a b, terms_value names (a ++ b) = terms_value names a + terms_value names b.
Proof. induction a as [| [k e] a IH]; intros b; simpl; [reflexivity |]; rewrite IH; lia. Qed.

Lemma added_ok : forall names a b, value_of names (added a b) = value_of names a + value_of names b.
Proof. intros; unfold value_of, added; simpl; rewrite terms_app; lia. Qed.

Lemma scaled_ok : forall names k f, value_of names (scaled k f) = k * value_of names f.
Proof.
  intros names k [c l]; unfold value_of, scaled; simpl.
  assert (E : terms_value names (map (fun '(j, e) => (k * j, e)) l) = k * terms_value names l).
  { induction l as [| [j e] l IH]; simpl; [lia |]; rewrite IH; lia. }
  rewrite E; lia.
Qed.

Fixpoint linear (e : expr) : form :=
  match e with
  | Int z => (z, [])
  | Arithmetic Plus a b => added (linear a) (linear b)
  | Arithmetic Minus a b => added (linear a) (scaled (-1) (linear b))
  | Arithmetic Times a b =>
      match linear a, linear b with
      | (k, []), f | f, (k, []) => scaled k f
      | _, _ => (0, [(1, e)])
      end
  | Negative a => scaled (-1) (linear a)
  | _ => (0, [(1, e)])
  end.

Lemma calculate_integer : forall s a b z, match s with Plus | Minus | Times => True | _ => False end ->
  calculate s a b = VInt z -> exists x y, a = VInt x /\ b = VInt y /\
    z = match s with Plus => x + y | Minus => x - y | _ => x * y end.
Proof.
  intros s a b z S H.
  destruct a as [x | x | x | x | x | x | c n], b as [y | y | y | y | y | y | e m];
    repeat match goal with f : floating |- _ => destruct f end; cbn in H;
    try (destruct s; try contradiction; discriminate).
  all: try (exists x, y; destruct s; try contradiction; simpl in H; inversion H; auto; fail).
Qed.

Lemma linear_ok : forall e names z, eval e names = VInt z -> value_of names (linear e) = z.
Proof.
  assert (A : forall e names z, eval e names = VInt z -> value_of names (0, [(1, e)]) = z).
  { intros e names z H; unfold value_of, num; simpl; unfold num; rewrite H; simpl; destruct z; reflexivity. }
  induction e; intros names z H; try (apply A; exact H); cbn [linear].
  - simpl in H; inversion H; subst; unfold value_of; simpl; lia.
  - destruct sign; try (apply A; exact H); cbn [eval] in H;
      apply calculate_integer in H; try exact I; destruct H as [x [y [X [Y E]]]]; subst.
    + rewrite added_ok, (IHe1 _ _ X), (IHe2 _ _ Y); reflexivity.
    + rewrite added_ok, scaled_ok, (IHe1 _ _ X), (IHe2 _ _ Y); lia.
    + pose proof (IHe1 _ _ X) as L; pose proof (IHe2 _ _ Y) as R.
      destruct (linear e1) as [k [| t l]], (linear e2) as [j [| u m]];
        try (rewrite scaled_ok; first [rewrite R | rewrite L]; unfold value_of in L, R; simpl in L, R; subst; lia).
      apply A; simpl; rewrite X, Y; reflexivity.
  - simpl in H; destruct (eval e names) eqn:E; try discriminate; simpl in H; inversion H; subst.
    rewrite scaled_ok, (IHe _ _ E); lia.
Qed.

(* A sum of multiples with factors that are not negative, as a certificate of a contradiction. *)
Fixpoint combined (factors : list Z) (forms : list form) : form :=
  match factors, forms with
  | k :: factors, f :: forms => added (scaled k f) (combined factors forms)
  | _, _ => (0, [])
  end.

Fixpoint without (e : expr) (l : list (Z * expr)) : Z * list (Z * expr) :=
  match l with
  | [] => (0, [])
  | (k, f) :: rest => let '(c, others) := without e rest in if expr_eqb e f then (k + c, others) else (c, (k, f) :: others)
  end.

Fixpoint vanishes (steps : nat) (l : list (Z * expr)) : bool :=
  match steps, l with
  | _, [] => true
  | S n, (k, e) :: rest => let '(c, others) := without e rest in (k + c =? 0) && vanishes n others
  | O, _ => false
  end.

Lemma without_ok : forall names e l c others, without e l = (c, others) ->
  terms_value names l = c * num names e + terms_value names others.
Proof.
  induction l as [| [k f] l IH]; intros c others H; simpl in H; [inversion H; simpl; lia |].
  destruct (without e l) as [d rest]; specialize (IH _ _ eq_refl).
  destruct (expr_eqb e f) eqn:E; inversion H; subst; simpl; rewrite IH; [apply expr_eqb_ok in E; subst |]; lia.
Qed.

Lemma vanishes_ok : forall names n l, vanishes n l = true -> terms_value names l = 0.
Proof.
  induction n; intros [| [k e] l] H; simpl in H; try reflexivity; try discriminate.
  destruct (without e l) as [c others] eqn:E; split_and; apply Z.eqb_eq in H.
  simpl; rewrite (without_ok names _ _ _ _ E), (IHn _ H0); nia.
Qed.

Definition refutes (factors : list Z) (forms : list form) : bool :=
  let f := combined factors forms in
  forallb (fun k => 0 <=? k) factors && (fst f <? 0) && vanishes (S (List.length (snd f))) (snd f).

Lemma refutes_ok : forall names factors forms, refutes factors forms = true ->
  Forall (fun f => 0 <= value_of names f) forms -> False.
Proof.
  intros names factors forms H F; unfold refutes in H; split_and.
  assert (C : 0 <= value_of names (combined factors forms)).
  { clear H1 H0; revert forms F; induction factors as [| k factors IH]; intros [| f forms] F;
      try (unfold value_of; simpl; lia).
    simpl in H; apply andb_prop in H; destruct H as [K H]; apply Z.leb_le in K; inversion F; subst; simpl.
    rewrite added_ok, scaled_ok; specialize (IH H _ H3); nia. }
  unfold value_of in C; apply (vanishes_ok names) in H0; apply Z.ltb_lt in H1; lia.
Qed.
