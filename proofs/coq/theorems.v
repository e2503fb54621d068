(* The theorems derived from the rules, for calls of any size: what they say, and a check that decides them. *)
From Coq Require Import ZArith QArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation substitution kinds linear facts choices conditions consequences knowledge search properties soundness refutation steps.
Import ListNotations.
Open Scope Z_scope.

(* What the names of a call stand for: the kind of each, and whether it has a value in every call; conditions that hold
   in every call; the value of a parameter that is not written. *)
Record call := {
  names_of : list (string * (kind * bool));
  facts : list expr;
  absent : list (string * expr);
}.

(* Decided: the rule has a verdict where the rules that it relies on hold.  Extents: where some rules hold, a shape has
   a value, and no negative extent.  Follows: a rule holds where others do.  Restricts: a condition of ONNX holds where the
   rule does. *)
Inductive goal :=
| Decided (rule : string)
| Extents (relies : list string) (shape : expr)
| Follows (from : list string) (rule : string)
| Restricts (rule : string) (onnx : expr).

Record question := { theorem : string; entry : string; of_call : call; goals : list goal }.

Definition rule_named (rules : list rule) (s : string) : option rule := find (fun r => String.eqb (slug r) s) rules.

Fixpoint relied (n : nat) (rules : list rule) (slugs : list string) : list string :=
  match n with
  | O => slugs
  | S n => slugs ++ relied n rules (flat_map (fun s => match rule_named rules s with Some r => relies r | None => [] end) slugs)
  end.

Definition applying (r : rule) (e : expr) : expr := match applies r with None => e | Some q => Or (Not q) e end.

Definition effective (c : call) (e : expr) : expr :=
  inline (fold_right (fun '(p, a) e => Let p (If (Name ("written(" ++ p ++ ")")) (Name p) a) e) e (absent c)).

Definition hypotheses (rules : list rule) (slugs : list string) : list expr :=
  flat_map (fun s => match rule_named rules s with Some r => [applying r (demand r)] | None => [] end)
    (nodup string_dec (relied (List.length rules) rules slugs)).

Definition context_of (c : call) (hyps : list expr) : context :=
  {| named := map (fun '(x, (k, _)) => (x, k)) (names_of c);
     sure := map (fun '(x, (_, b)) => (x, b)) (names_of c);
     within := []; given := facts c ++ map (effective c) hyps |}.

Definition fuel := 60%nat.

Definition decided_goal (rules : list rule) (c : call) (g : goal) : bool :=
  match g with
  | Decided s =>
      match rule_named rules s with
      | Some r =>
          let x := context_of c (hypotheses rules (relies r)) in
          let d := effective c (demand r) in
          is_bool (named x) d &&
          match applies r with
          | None => defined fuel x d
          | Some q => let q := effective c q in is_bool (named x) q && defined fuel x q && defined fuel (assume q x) d
          end
      | None => false
      end
  | Extents slugs shape =>
      let x := context_of c (hypotheses rules slugs) in
      let e := effective c shape in
      match kind_of (named x) e with Some (KList k) => integral k | _ => false end && defined fuel x e &&
      (match kind_of (named x) e with Some (KList KNat) => true | _ => false end
       || prove fuel x (ForAll "extent" e (Compare AtMost (Int 0) (Name "extent"))))
  | Follows slugs s =>
      match rule_named rules s with
      | Some r =>
          let x := context_of c (hypotheses rules (relies r ++ slugs)) in
          prove fuel x (effective c (applying r (demand r)))
      | None => false
      end
  | Restricts s onnx =>
      match rule_named rules s with
      | Some r => let x := context_of c (hypotheses rules [s]) in prove fuel x (effective c (applying r onnx))
      | None => false
      end
  end.

Definition entry_named (catalogue : list (string * list rule)) (s : string) : list rule :=
  match lookup s catalogue with Some l => l | None => [] end.

Definition decides_question (catalogue : list (string * list rule)) (q : question) : bool :=
  forallb (decided_goal (entry_named catalogue (entry q)) (of_call q)) (goals q).

(* What a call is: its names have values of their kinds, its conditions hold, and a parameter that is not written has the
   value that its absence means. *)
Definition call_fits (c : call) (names : environment) : Prop :=
  (forall x k b, lookup x (names_of c) = Some (k, b) ->
     if b : bool then has k (names x) else (exists u, names x = VUnknown u None) \/ has k (names x)) /\
  Forall (true_in names) (facts c) /\
  Forall (fun '(p, a) => eval (If (Name ("written(" ++ p ++ ")")) (Name p) a) names = names p) (absent c).

(* What a goal says. *)
Definition has_verdict (r : rule) (names : environment) : Prop :=
  decide r names = Pass \/ decide r names = Fail \/ decide r names = NotApplicable.

Definition means (rules : list rule) (names : environment) (g : goal) : Prop :=
  match g with
  | Decided s => exists r, rule_named rules s = Some r /\
      (Forall (true_in names) (hypotheses rules (relies r)) -> has_verdict r names)
  | Extents slugs shape => Forall (true_in names) (hypotheses rules slugs) ->
      exists l, eval shape names = VList l /\ Forall is_extent l
  | Follows slugs s => exists r, rule_named rules s = Some r /\
      (Forall (true_in names) (hypotheses rules (relies r ++ slugs)) -> true_in names (applying r (demand r)))
  | Restricts s onnx => exists r, rule_named rules s = Some r /\
      (Forall (true_in names) (hypotheses rules [s]) -> true_in names (applying r onnx))
  end.

Lemma effective_ok : forall c e names, call_fits c names -> eval (effective c e) names = eval e names.
Proof.
  intros c e names [_ [_ A]]; unfold effective; rewrite inline_ok; induction A as [| [p a] l H A IH]; simpl fold_right; [reflexivity |].
  change (eval (fold_right (fun '(p, a) e => Let p (If (Name ("written(" ++ p ++ ")")) (Name p) a) e) e l)
    (updated names p (eval (If (Name ("written(" ++ p ++ ")")) (Name p) a) names)) = eval e names).
  rewrite H, <- IH; apply eval_ext; intros x; unfold updated; destruct (String.eqb p x) eqn:E; [| reflexivity].
  apply String.eqb_eq in E; subst; reflexivity.
Qed.

Lemma lookup_map : forall A B (f : A -> B) x l, lookup x (map (fun '(y, a) => (y, f a)) l) = option_map f (lookup x l).
Proof. intros A B f x l; induction l as [| [y a] l IH]; simpl; [reflexivity |]; destruct (String.eqb y x); auto. Qed.

Lemma context_fits : forall c names hyps, call_fits c names -> Forall (true_in names) hyps -> fits (context_of c hyps) names.
Proof.
  intros c names hyps C H; pose proof C as [N [G A]]; unfold context_of.
  assert (K : forall x, lookup x (map (fun '(x, (k, _)) => (x, k)) (names_of c)) = option_map fst (lookup x (names_of c))).
  { intros x; rewrite <- lookup_map; f_equal; apply map_ext; intros [y [k b]]; reflexivity. }
  assert (S : forall x, lookup x (map (fun '(x, (_, b)) => (x, b)) (names_of c)) = option_map snd (lookup x (names_of c))).
  { intros x; rewrite <- lookup_map; f_equal; apply map_ext; intros [y [k b]]; reflexivity. }
  refine (conj _ (conj _ (conj _ _))); cbn [named sure within given].
  - intros x k E; rewrite K in E; specialize (N x); destruct (lookup x (names_of c)) as [[j b] |]; [| discriminate].
    simpl in E; inversion E; subst; specialize (N _ _ eq_refl); destruct b; [apply has_may; exact N |].
    destruct N as [[u U] | N]; [rewrite U; apply may_unknown | apply has_may; exact N].
  - intros x k b E E'; rewrite K in E; rewrite S in E'; specialize (N x); destruct (lookup x (names_of c)) as [[j d] |]; [| discriminate].
    simpl in E, E'; inversion E; inversion E'; subst; specialize (N _ _ eq_refl); destruct b; [exact N |].
    destruct N as [[u U] | N]; [left; rewrite U; exact I | right; exact N].
  - constructor.
  - apply Forall_app; split; [exact G |]; apply Forall_map; eapply Forall_impl; [| exact H].
    intros e E; unfold true_in in *; rewrite effective_ok; assumption.
Qed.

#[local] Opaque fuel context_of effective hypotheses.

Lemma is_bool_known : forall d names e, is_bool d e = true -> (forall k, kind_of d e = Some k -> has k (eval e names)) ->
  exists b, eval e names = VBool b.
Proof. exact bool_value. Qed.

Theorem decided_goal_ok : forall rules c g names, call_fits c names -> decided_goal rules c g = true -> means rules names g.
Proof.
  intros rules c g names C H; destruct (search_ok fuel) as [R [D Q]]; destruct g; cbn [decided_goal means] in *.
  - destruct (rule_named rules rule) as [r |]; [| discriminate]; exists r; split; [reflexivity |]; intros Hy.
    pose proof (context_fits c names _ C Hy) as F; apply andb_prop in H; destruct H as [B H]; unfold has_verdict, decide, decide_by.
    assert (J : (exists b, eval (demand r) names = VBool b) -> forall v, (match eval (demand r) names with
      | VBool true => match over r with None => Pass | Some list => match eval list names with VList [] => NotApplicable | _ => Pass end end
      | VBool false => Fail | VUnknown c _ => of_unknown c | _ => Undecided end) = v -> v = Pass \/ v = Fail \/ v = NotApplicable).
    { intros [b E] v V; rewrite E in V; subst; destruct b; [| auto]; destruct (over r) as [l |]; [| auto].
      destruct (eval l names) as [| | | | [| ? ?] | |]; auto. }
    destruct (applies r) as [q |].
    + apply andb_prop in H; destruct H as [H Dd]; apply andb_prop in H; destruct H as [Bq Dq].
      destruct (is_bool_known _ names _ Bq) as [b E]; [intros k K; eapply D; eassumption |].
      rewrite (effective_ok c q names C) in E; rewrite E; destruct b; [| auto]; eapply J; [| reflexivity].
      destruct (is_bool_known (named (context_of c (hypotheses rules (relies r)))) names (effective c (demand r)) B) as [b' E'].
      * intros k K; eapply (D (assume (effective c q) _)); [apply fits_assume; [exact F |] | exact Dd | exact K].
        unfold true_in; rewrite effective_ok; assumption.
      * rewrite (effective_ok c _ names C) in E'; eauto.
    + eapply J; [| reflexivity]; destruct (is_bool_known _ names _ B) as [b E]; [intros k K; eapply D; eassumption |].
      rewrite (effective_ok c _ names C) in E; eauto.
  - intros Hy; pose proof (context_fits c names _ C Hy) as F; apply andb_prop in H; destruct H as [H P1]; apply andb_prop in H; destruct H as [K De].
    destruct (kind_of _ (effective c shape)) as [[] |] eqn:E in K; try discriminate.
    pose proof (D _ _ _ _ F De E) as V; rewrite (effective_ok c _ names C) in V.
    destruct (eval shape names) as [| | | | l | |] eqn:L; try contradiction; try (destruct V; discriminate); exists l; split; [reflexivity |].
    apply orb_prop in P1; destruct P1 as [P1 | P1].
    { rewrite E in P1; destruct k; try discriminate; simpl in V; eapply Forall_impl; [| exact V]; intros v Vv.
      destruct v; simpl in Vv; try contradiction; try (destruct Vv; discriminate); exact Vv. }
    pose proof (Q _ _ _ F P1) as T; unfold true_in in T; cbn [eval] in T; rewrite (effective_ok c _ names C), L in T; cbn [on_list] in T.
    apply (kleene_false_cases false) in T; destruct T as [X _]; simpl in V; apply Forall_forall; intros v I; rewrite Forall_forall in V; specialize (V _ I).
    rewrite <- not_true_iff_false in X.
    destruct k; try discriminate; destruct v; simpl in V; try contradiction; try (destruct V; discriminate); [exact V |].
    destruct (Z.le_gt_cases 0 number) as [N | N]; [exact N |]; exfalso; apply X, existsb_exists.
    exists (VBool false); split; [| reflexivity]; apply in_map_iff; exists (VInt number); split; [| exact I].
    unfold updated; simpl; apply Z.ltb_lt in N; unfold strict, at_most; cbn; cbn in N; rewrite N; reflexivity.
  - destruct (rule_named rules rule) as [r |]; [| discriminate]; exists r; split; [reflexivity |]; intros Hy.
    pose proof (Q _ _ _ (context_fits c names _ C Hy) H) as T; unfold true_in in *; rewrite effective_ok in T; assumption.
  - destruct (rule_named rules rule) as [r |]; [| discriminate]; exists r; split; [reflexivity |]; intros Hy.
    pose proof (Q _ _ _ (context_fits c names _ C Hy) H) as T; unfold true_in in *; rewrite effective_ok in T; assumption.
Qed.

Theorem decides_question_ok : forall catalogue q, decides_question catalogue q = true -> forall names, call_fits (of_call q) names ->
  Forall (means (entry_named catalogue (entry q)) names) (goals q).
Proof.
  intros catalogue q H names C; unfold decides_question in H; rewrite forallb_forall in H; apply Forall_forall; intros g G.
  eapply decided_goal_ok; [exact C | apply H; exact G].
Qed.
