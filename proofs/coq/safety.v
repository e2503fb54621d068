(* A model that conforms cannot go wrong: over the walk that is extracted, for operators that are any relation with progress
   and preservation.  docs/specification.md, "Soundness". *)
From Coq Require Import ZArith String List Bool Lia FMapFacts OrderedTypeEx.
From Sonnx Require Import syntax values evaluation completion model call declarations graph_rules node_rules format_rules walk.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.

Module NameFacts := FMapFacts.WFacts_fun String_as_OT Names.

(* Lists. *)
Lemma rev_append_nil {A} (l r : list A) : rev_append l r = [] -> l = [] /\ r = [].
Proof.
  rewrite rev_append_rev. intros H. apply app_eq_nil in H as [H ->]. split; auto.
  rewrite <- (rev_involutive l), H. reflexivity.
Qed.

Lemma joined_nil {A} (l r : list A) : joined_lists l r = [] -> l = [] /\ r = [].
Proof. unfold joined_lists. intros H. apply rev_append_nil in H as [H ->]. apply rev_append_nil in H as [-> _]. auto. Qed.

Lemma joined_in {A} (l r : list A) a : In a (joined_lists l r) <-> In a l \/ In a r.
Proof.
  unfold joined_lists. rewrite !rev_append_rev, app_nil_r, in_app_iff, <- !in_rev. reflexivity.
Qed.

Lemma mapped_map {A B} (f : A -> B) l : mapped f l = map f l.
Proof.
  unfold mapped. rewrite rev_append_rev, app_nil_r.
  assert (forall done, fold_left (fun done a => f a :: done) l done = rev (map f l) ++ done) as ->.
  { induction l as [|a l IH]; intros done; cbn; auto. rewrite IH, <- app_assoc. reflexivity. }
  now rewrite app_nil_r, rev_involutive.
Qed.

Fixpoint numbered_from {A} (i : Z) (l : list A) : list (Z * A) :=
  match l with [] => [] | a :: rest => (i, a) :: numbered_from (i + 1) rest end.
Lemma numbered_ok {A} (l : list A) : numbered l = numbered_from 0 l.
Proof.
  unfold numbered. rewrite rev_append_rev, app_nil_r.
  assert (forall i done, snd (fold_left (fun s a => ((fst s + 1)%Z, (fst s, a) :: snd s)) l (i, done)) = rev (numbered_from i l) ++ done) as H.
  { induction l as [|a l IH]; intros i done; cbn; auto. rewrite IH, <- app_assoc. reflexivity. }
  rewrite H, app_nil_r, rev_involutive. reflexivity.
Qed.

Lemma numbered_names {A} (l : list A) i : map snd (numbered_from i l) = l.
Proof. revert i. induction l; intros i; cbn; f_equal; auto. Qed.

(* What a list of findings without findings says. *)
Lemma failing_nil p l done : failing p l done = [] -> done = [] /\ Forall (fun r => holds (snd r) = true) l.
Proof.
  revert done. unfold failing. induction l as [|[x r] l IH]; intros done H; cbn in *; auto.
  apply IH in H as [H F]. destruct (holds r) eqn:E; [|discriminate]. auto.
Qed.

Section Walk.
Variables (e : edition) (m : model) (numbers_of : N -> value).
Notation of_call := (fun (_ : string) (_ : Z) others s l ins outs => call.call numbers_of (about_groups e) (about_operands e) others s l ins outs).
Notation step := (step e m of_call).

(* The nodes after each other, all rules about each hold. *)
Fixpoint all_hold (k : known_values) (l : list node) : Prop :=
  match l with
  | [] => True
  | n :: rest => Forall (fun r => holds (snd r) = true) (snd (step k n)) /\ all_hold (fst (step k n)) rest
  end.

Lemma walk_holds k l i done : let f := fun s p => let '(k, done) := s in let '(k', l) := step k (snd p) in
    (k', failing (InNode (fst p)) l done) in
  snd (fold_left f (numbered_from i l) (k, done)) = [] -> done = [] /\ all_hold k l.
Proof.
  cbn zeta. revert k i done. induction l as [|n l IH]; intros k i done H; cbn in *; auto.
  destruct (step k n) as [k' r] eqn:E. apply IH in H as [H A]. apply failing_nil in H as [H F]. cbn. auto.
Qed.

Theorem conforms_all_hold : conforms e m numbers_of = true -> all_hold (initial m (declared (main m)) numbers_of) (nodes (main m)).
Proof.
  unfold conforms, check, findings. intros H.
  match type of H with (match ?l with [] => _ | _ => _ end) = _ => destruct l eqn:E; [|discriminate] end. clear H.
  repeat match goal with H : _ ++ _ = [] |- _ => apply app_eq_nil in H as [? H] end.
  apply joined_nil in E as [_ E]. apply joined_nil in E as [_ E]. apply rev_append_nil in E as [E _].
  unfold walk in E. rewrite numbered_ok in E. eapply walk_holds in E. apply E.
Qed.

(* The rules without an expression hold. *)
Lemma forced x b l : in_force e x = true -> In (x, b) l -> Forall (fun r => holds (snd r) = true) (of_rules e l) -> b = true.
Proof.
  intros F I H. destruct b; auto. exfalso. rewrite Forall_forall in H.
  assert (In (x, passes false) (of_rules e l)) as J; [|apply H in J; discriminate].
  unfold of_rules, kept. apply filter_In. split; [apply in_map_iff; exists (x, false); auto|]. cbn. rewrite F. reflexivity.
Qed.

Lemma conforms_parts : conforms e m numbers_of = true ->
  Forall (fun r => holds (snd r) = true)
    (of_rules e (file_rules e m) ++ of_rules e (format_rules e m) ++ kept e (not_only_passes m) ++ not_defined e) /\
  Forall (fun r => holds (snd r) = true) (of_rules e (graph_rules e (main m) (declared (main m)) (defined_at (main m)))) /\
  Forall (fun r => holds (snd r) = true) (of_rules e (rules_anywhere numbers_of None (main m))).
Proof.
  unfold conforms, check, findings. intros H.
  match type of H with (match ?l with [] => _ | _ => _ end) = _ => destruct l eqn:E; [|discriminate] end. clear H.
  apply app_eq_nil in E as [A E]. apply app_eq_nil in E as [_ E]. apply app_eq_nil in E as [B E]. apply app_eq_nil in E as [C _].
  apply failing_nil in A as [_ A]. apply failing_nil in B as [_ B]. apply failing_nil in C as [_ C]. auto.
Qed.

Theorem conforms_graph_rules : conforms e m numbers_of = true ->
  forall x b, In (x, b) (graph_rules e (main m) (declared (main m)) (defined_at (main m))) -> in_force e x = true -> b = true.
Proof. intros H x b I F. apply conforms_parts in H as [_ [H _]]. eauto using forced. Qed.

Theorem conforms_file_rules : conforms e m numbers_of = true ->
  forall x b, In (x, b) (file_rules e m ++ format_rules e m) -> in_force e x = true -> b = true.
Proof.
  intros H x b I F. apply conforms_parts in H as [H _]. apply Forall_app in H as [A H]. apply Forall_app in H as [B _].
  apply in_app_or in I as [I|I]; eauto using forced.
Qed.

(* Where every verdict is settled, each rule is judged by itself. *)
Definition settled (v : verdict) : bool := match v with Pass | NotApplicable => true | _ => false end.
Lemma judged n rs : Forall (fun p => settled (snd p) = true) (judge n rs []) -> Forall (fun r => settled (decide r n) = true) rs.
Proof.
  induction rs as [|r rs IH]; intros H; auto. cbn [judge] in H.
  assert (existsb (among []) (relies r) = false) as E by (induction (relies r); auto).
  rewrite E in H. cbn [andb] in H. inversion H as [|p l H1 H2]; subst. cbn [snd] in H1. constructor; auto.
  apply IH. destruct (decide r n); auto; discriminate.
Qed.
End Walk.

(* Runs. *)
Section Safety.
Variables (e : edition) (m : model) (numbers_of : N -> value).
Notation of_call := (fun (_ : string) (_ : Z) others s l ins outs => call.call numbers_of (about_groups e) (about_operands e) others s l ins outs).
Notation step := (step e m of_call).
Variable rho : string -> value.
Hypothesis rho_reflexive : forall s, equal (rho s) (rho s) = VBool true.
Notation le := (le rho).

(* A value of a run completes what the walk knows of it: its type, its shape, and its elements where they are known. *)
Record tensor_le (t u : tensor) : Prop := {
  types : le (element_type t) (element_type u);
  shapes : le (shape t) (shape u);
  elements : le (contents_value numbers_of (contents_of t)) (contents_value numbers_of (contents_of u));
  same_kind : kind t = kind u; same_sparse : sparse t = sparse u; same_derived : derived t = derived u }.

Inductive fact_le : fact -> fact -> Prop :=
| value_le v w : le v w -> fact_le (Value v) (Value w)
| one_le t u : tensor_le t u -> fact_le (One t) (One u)
| many_le l r : Forall2 tensor_le l r -> fact_le (Many l) (Many r).
Definition facts_le : facts -> facts -> Prop := Forall2 (fun p q => fst p = fst q /\ fact_le (snd p) (snd q)).

Lemma record_le all t u : tensor_le t u -> le (record_of numbers_of all t) (record_of numbers_of true u).
Proof.
  intros [T S E K P D]. unfold record_of. rewrite K, P, D. constructor.
  repeat match goal with |- Forall2 _ (_ :: _) (_ :: _) => constructor; [split; [reflexivity|cbn [snd]]|] | |- Forall2 _ [] [] => constructor end;
    auto; try constructor.
  unfold contents_value in E. destruct (contents_of t) as [v|n], (contents_of u) as [w|n']; auto; destruct all; auto; constructor.
Qed.

Lemma names_le all f f' : facts_le f f' -> forall x, le (names_of numbers_of all f x) (names_of numbers_of true f' x).
Proof.
  intros F x. unfold names_of. induction F as [|[a v] [b w] l r [E L] F IH]; cbn; [constructor|].
  cbn in E, L. subst. destruct (String.eqb x b); auto. destruct L as [v w L|t u L|l1 l2 L]; cbn [value_of]; auto using record_le.
  constructor. induction L; constructor; auto using record_le.
Qed.

(* The facts of the call of a node. *)
Definition facts_of (k : known_values) (s : signature) (n : node) : facts :=
  call_facts numbers_of s (attributes n) (map (value_named k) (inputs n)) (map (value_named k) (outputs n)).

(* A call meets a rule on facts in the place of those that the walk has: the rule holds, or does not apply. *)
Definition meets (s : signature) (f f' : facts) : Prop :=
  Forall (fun p => settled (decide_completed (own p) (names_of numbers_of (signature_asks s) f) (names_of numbers_of true f')) = true) (demands s).

(* The operators: any relation between the facts of a call and the tensors that it gives. *)
Variable computes : node -> facts -> list tensor -> Prop.

(* Of the operators only this is assumed, for the calls of the model: a call that meets its rules gives a tensor for each output
   (progress), and those that it gives complete what the walk computed (preservation). *)
Fixpoint operators_are_right (k : known_values) (l : list node) : Prop :=
  match l with
  | [] => True
  | n :: rest =>
      match resolved e m n with
      | None => True
      | Some (_, s) => forall f', facts_le (facts_of k s n) f' -> meets s (facts_of k s n) f' ->
          (exists ts, computes n f' ts) /\
          (forall ts, computes n f' ts ->
             List.length ts = List.length (outputs n) /\
             Forall2 (fun x t => is_named x = true -> tensor_le (declares (value_named (fst (step k n)) x)) t) (outputs n) ts)
      end /\ operators_are_right (fst (step k n)) rest
  end.

(* The names whose values are asked for at the end: the outputs of the graph. *)
Variable wanted : list string.

(* A run is safe: each call finds its arguments, which complete what the walk knows of them; it meets every rule of its operator,
   whatever completes its facts; it gives an output; and whatever it gives, the rest is safe.  At the end each wanted value is there,
   and completes what is declared and computed of it. *)
Fixpoint safe (k : known_values) (run : known_values) (l : list node) : Prop :=
  match l with
  | [] => forall x, In x wanted -> is_named x = true ->
      exists t, Names.find x run = Some t /\ tensor_le (declares (value_named k x)) t
  | n :: rest =>
      (forall x, In x (inputs n) -> is_named x = true ->
         exists t, Names.find x run = Some t /\ tensor_le (declares (value_named k x)) t) /\
      exists v s, resolved e m n = Some (v, s) /\
      forall f', facts_le (facts_of k s n) f' ->
        meets s (facts_of k s n) f' /\ (exists ts, computes n f' ts) /\
        forall ts, computes n f' ts -> safe (fst (step k n)) (bind (outputs n) ts run) rest
  end.

(* What is known of the names that a run has. *)
Definition agrees (k run : known_values) : Prop :=
  forall x t, is_named x = true -> Names.find x run = Some t -> tensor_le (declares (value_named k x)) t.

(* Every name that a node uses, or that is wanted, is one of the run's at its start, or an output of a node before it. *)
Fixpoint in_order (run : string -> Prop) (l : list node) : Prop :=
  match l with
  | [] => forall x, In x wanted -> is_named x = true -> run x
  | n :: rest => (forall x, In x (inputs n) -> is_named x = true -> run x) /\ in_order (fun x => run x \/ In x (outputs n)) rest
  end.
Definition in_run (run : known_values) (x : string) : Prop := exists t, Names.find x run = Some t.

Lemma in_order_weaker l : forall p q : string -> Prop, (forall x, is_named x = true -> p x -> q x) -> in_order p l -> in_order q l.
Proof.
  induction l as [|n l IH]; intros p q H; [intros A x W N; auto|]. intros [A B]. split; [eauto|]. eapply IH; [|exact B]. cbn. intros x N [P|P]; auto.
Qed.

Lemma bind_other names : forall ts run x, ~ In x names -> Names.find x (bind names ts run) = Names.find x run.
Proof.
  induction names as [|y names IH]; intros [|t ts] run x N; cbn in *; auto.
  rewrite IH by tauto. destruct (is_named y); auto. rewrite NameFacts.add_o.
  destruct (String_as_OT.eq_dec y x) as [E|]; auto. exfalso. apply N. left. exact E.
Qed.

Lemma bind_in names : forall ts run x, is_named x = true -> List.length ts = List.length names ->
  In x names \/ in_run run x -> in_run (bind names ts run) x.
Proof.
  induction names as [|y names IH]; intros [|t ts] run x N L; try discriminate; cbn in *; [tauto|].
  intros H. apply IH; auto. destruct H as [[->|H]|[u H]]; auto.
  - right. rewrite N. unfold in_run. rewrite NameFacts.add_o. destruct (String_as_OT.eq_dec x x); [eauto|congruence].
  - right. unfold in_run. destruct (is_named y); [|eauto]. rewrite NameFacts.add_o. destruct (String_as_OT.eq_dec y x); eauto.
Qed.

Lemma bind_agrees names : forall ts run k', List.length ts = List.length names ->
  Forall2 (fun x t => is_named x = true -> tensor_le (declares (value_named k' x)) t) names ts ->
  (forall x t, is_named x = true -> ~ In x names -> Names.find x run = Some t -> tensor_le (declares (value_named k' x)) t) ->
  agrees k' (bind names ts run).
Proof.
  intros ts run k' L F. revert run L.
  induction F as [|y t names ts H F IH]; intros run L O x u N; cbn in *; [intros E; apply (O x u); auto|].
  destruct (in_dec string_dec x names) as [I|I].
  - apply IH; auto. intros z w Nz Iz E. destruct (is_named y) eqn:Y; [|apply (O z w); auto; intros [->|J]; [congruence|auto]].
    rewrite NameFacts.add_o in E. destruct (String_as_OT.eq_dec y z) as [G|D]; [inversion E; subst z t; auto|].
    apply (O z w); auto. intros [->|J]; auto.
  - rewrite bind_other by exact I. destruct (is_named y) eqn:Y.
    + rewrite NameFacts.add_o. destruct (String_as_OT.eq_dec y x) as [G|D]; [intros E; inversion E; subst x t; auto|].
      intros E. apply (O x u); auto. intros [->|J]; auto.
    + intros E. apply (O x u); auto. intros [->|J]; auto. congruence.
Qed.

(* What the walk knows of other names stays. *)
Lemma step_other k n x : ~ In x (outputs n) -> declares (value_named (fst (step k n)) x) = declares (value_named k x).
Proof.
  intros N. unfold walk.step. destruct (resolved e m n) as [[v s]|]; cbn [fst]; unfold value_named; rewrite bind_other; auto.
Qed.

Lemma settled_completed r f f' : (forall x, le (f x) (f' x)) -> settled (decide r f) = true -> settled (decide_completed r f f') = true.
Proof.
  intros L S. destruct (decide r f) eqn:D; try discriminate.
  - destruct (pass_survives rho rho_reflexive r f f' L D) as [_ [-> | ->]]; reflexivity.
  - now rewrite (not_applicable_survives rho rho_reflexive r f f' L D).
Qed.

(* A call whose rules all hold meets them on every completion of its facts. *)
Lemma holding_meets k n v s : resolved e m n = Some (v, s) -> Forall (fun r => holds (snd r) = true) (snd (step k n)) ->
  forall f', facts_le (facts_of k s n) f' -> meets s (facts_of k s n) f'.
Proof.
  intros R H f' L. unfold walk.step in H. rewrite R in H. cbn [snd] in H.
  apply Forall_app in H as [_ H]. apply Forall_app in H as [_ H]. apply Forall_map in H. cbn [snd] in H.
  unfold call.call in H. cbn [verdicts] in H. fold (facts_of k s n) in H.
  assert (Forall (fun p => settled (snd p) = true) (judge (names_of numbers_of (signature_asks s) (facts_of k s n)) (map own (demands s)) [])) as J.
  { eapply Forall_impl; [|exact H]. intros [x w]. cbn. destruct w; auto. }
  apply judged in J. apply Forall_map in J. unfold meets. eapply Forall_impl; [|exact J]. intros p P.
  apply settled_completed; auto. apply names_le. exact L.
Qed.

Theorem holding_is_safe l : forall k run, all_hold e m numbers_of k l -> Forall (fun n => resolved e m n <> None) l ->
  operators_are_right k l -> in_order (in_run run) l -> agrees k run -> safe k run l.
Proof.
  induction l as [|n l IH]; intros k run H R O I A.
  { intros x W N. destruct (I x W N) as [t T]. exists t. split; [exact T|apply A; auto]. }
  destruct H as [H1 H2], O as [O1 O2], I as [I1 I2]. inversion R as [|? ? R1 R2]; subst. cbn [safe]. split.
  - intros x X N. destruct (I1 x X N) as [t T]. exists t. split; [exact T|apply A; auto].
  - destruct (resolved e m n) as [[v s]|] eqn:E; [|congruence]. exists v, s. split; [reflexivity|]. intros f' L.
    pose proof (holding_meets k n v s E H1 f' L) as M. destruct (O1 f' L M) as [P Q]. split; [exact M|]. split; [exact P|].
    intros ts T. destruct (Q ts T) as [W F]. apply IH; auto.
    + eapply in_order_weaker; [|exact I2]. cbn. intros x N [X|X]; apply bind_in; auto.
    + apply bind_agrees; auto. intros x t N X G. rewrite step_other by exact X. apply A; auto.
Qed.

End Safety.

(* What the rules that hold say of names and operators. *)
Section Conforming.
Variables (e : edition) (m : model) (numbers_of : N -> value).
Notation of_call := (fun (_ : string) (_ : Z) others s l ins outs => call.call numbers_of (about_groups e) (about_operands e) others s l ins outs).
Notation step := (step e m of_call).

(* The rules without an expression that the theorem rests on; every edition has them. *)
Definition structural : list string :=
  ["names-defined-before-use"; "outputs-produced"; "operator-named"; "operator-in-profile"; "operator-exists"; "operator-set-imported";
   "operator-set-imported-once"; "imports-since-ir-version-3"].
Definition has_structural_rules : bool := forallb (in_force e) structural.

Lemma node_rule_holds k n x r : Forall (fun r => holds (snd r) = true) (snd (step k n)) -> In (x, r) (node_rules e m n) ->
  in_force e x = true -> holds r = true.
Proof.
  intros H I F. destruct r as [[]|] eqn:R; auto; exfalso;
    (assert (In (x, r) (kept e (node_rules e m n))) as J; [unfold kept; apply filter_In; subst; split; auto; cbn; rewrite F; reflexivity|]);
    (assert (In (x, r) (snd (step k n))) as K;
      [unfold walk.step; destruct (resolved e m n) as [[v s]|]; cbn [snd]; [apply in_or_app; left|]; exact J|]);
    rewrite Forall_forall in H; apply H in K; subst; discriminate.
Qed.

Lemma passes_true b : holds (passes b) = true -> b = true.
Proof. destruct b; auto. Qed.

Lemma holding_resolved k n : conforms e m numbers_of = true -> has_structural_rules = true ->
  Forall (fun r => holds (snd r) = true) (snd (step k n)) -> resolved e m n <> None.
Proof.
  intros C S H. unfold has_structural_rules in S. rewrite forallb_forall in S.
  assert (forall x r, In (x, r) (node_rules e m n) -> In x structural -> holds r = true) as N
    by (intros x r I J; eapply node_rule_holds; eauto).
  assert (operator_named n = true) as O by (apply passes_true, (N "operator-named"); cbn; tauto).
  assert (operator_set_imported m n = true) as M by (apply passes_true, (N "operator-set-imported"); cbn; tauto).
  assert (holds (operator_exists e m n) = true) as V by (apply (N "operator-exists"); cbn; tauto).
  assert (holds (operator_in_profile e m n) = true) as P by (apply (N "operator-in-profile"); cbn; tauto).
  assert (negb (below_version_3 m) = true) as B
    by (apply (conforms_file_rules e m numbers_of C "imports-since-ir-version-3"); [cbn; tauto|apply S; cbn; tauto]).
  assert (operator_set_imported_once m = true) as I
    by (apply (conforms_file_rules e m numbers_of C "operator-set-imported-once"); [cbn; tauto|apply S; cbn; tauto]).
  clear N S C. unfold operator_named in O. apply andb_true_iff in O as [O _].
  unfold operator_in_profile in P. destruct (calls_function m n || is_named (node_domain n) || is_named (overload n)) eqn:D; [discriminate|].
  apply orb_false_iff in D as [D _]. apply orb_false_iff in D as [D Q].
  assert (String.eqb (node_domain n) "" = true) as K by (unfold is_named in Q; now apply negb_false_iff in Q).
  destruct (entry_of e m n) as [o|] eqn:E; [|rewrite O in P; discriminate].
  destruct (operator_status o); [|discriminate]. destruct (written o) eqn:W; [|discriminate].
  unfold operator_set_imported in M. rewrite D in M. cbn [orb] in M. apply negb_true_iff in B. rewrite B, andb_false_r, orb_false_r in M.
  apply existsb_exists in M as [p [M1 M2]].
  unfold operator_exists in V. rewrite K, D, O, E, W in V. cbn [orb negb] in V.
  destruct (operator_set m n) as [set|] eqn:T.
  - intros R. rewrite R in V. destruct (newest_operator_set e <? set)%Z; discriminate.
  - exfalso. unfold operator_set in T.
    destruct (find (fun p => String.eqb (standard (fst p)) (node_domain n)) (imports m)) as [[x v]|] eqn:G.
    + subst v. unfold operator_set_imported_once in I. apply andb_true_iff in I as [I _].
      unfold imported_once in I. apply andb_true_iff in I as [_ I]. rewrite forallb_forall in I.
      apply find_some in G as [G _]. apply I in G. discriminate.
    + apply find_none with (x := p) in G; [|exact M1]. cbn in G. congruence.
Qed.

Lemma all_resolved l : forall k, conforms e m numbers_of = true -> has_structural_rules = true -> all_hold e m numbers_of k l ->
  Forall (fun n => resolved e m n <> None) l.
Proof.
  induction l as [|n l IH]; intros k C S H; constructor; destruct H as [H1 H2]; eauto using holding_resolved.
Qed.

(* Names. *)
Lemma outputs_found i outs : forall (d : Names.t Z) x j,
  Names.find x (fold_left (fun d x => if has x d then d else Names.add x i d) outs d) = Some j ->
  Names.find x d = Some j \/ j = i /\ In x outs.
Proof.
  induction outs as [|y outs IH]; intros d x j H; cbn in *; auto.
  apply IH in H as [H|[-> H]]; auto. destruct (has y d); auto. rewrite NameFacts.add_o in H.
  destruct (String_as_OT.eq_dec y x) as [E|]; auto. inversion H. subst. auto.
Qed.

Lemma made_found l : forall (d : Names.t Z) x j,
  Names.find x (fold_left (fun d p => fold_left (fun d x => if has x d then d else Names.add x (fst p) d) (outputs (snd p)) d) l d) = Some j ->
  Names.find x d = Some j \/ exists n, In (j, n) l /\ In x (outputs n).
Proof.
  induction l as [|[i n] l IH]; intros d x j H; cbn in *; auto.
  apply IH in H as [H|[n' [I J]]]; [|eauto 6]. cbn [fst snd] in H. apply outputs_found in H as [H|[-> H]]; eauto 6.
Qed.

Lemma given_found l : forall (d : Names.t Z) x j, Names.find x (fold_left (fun d x => Names.add x (-1)%Z d) l d) = Some j ->
  Names.find x d = Some j \/ j = (-1)%Z /\ In x l.
Proof.
  induction l as [|y l IH]; intros d x j H; cbn in *; auto. apply IH in H as [H|[-> H]]; auto.
  rewrite NameFacts.add_o in H. destruct (String_as_OT.eq_dec y x) as [E|]; auto. inversion H. subst. auto.
Qed.

Lemma defined_found g x j : Names.find x (defined_at g) = Some j ->
  In x (input_names g) \/ In x (constant_names g) \/ exists n, In (j, n) (numbered (nodes g)) /\ In x (outputs n).
Proof.
  unfold defined_at. rewrite NameFacts.remove_o. destruct (String_as_OT.eq_dec "" x); [discriminate|]. intros H.
  apply given_found in H as [H|[_ H]]; [|apply joined_in in H; tauto].
  apply made_found in H as [H|H]; auto. rewrite NameFacts.empty_o in H. discriminate.
Qed.

Lemma early_found defined l : forall done,
  fold_left (fun l p => fold_left (fun l x =>
    if is_named x then match Names.find x defined with
      | Some d => if (d <? fst p)%Z then l else (fst p, Some d) :: l | None => (fst p, @None Z) :: l end
    else l) (inputs (snd p)) l) l done = [] ->
  done = [] /\ forall i n x, In (i, n) l -> In x (inputs n) -> is_named x = true -> exists d, Names.find x defined = Some d /\ (d < i)%Z.
Proof.
  induction l as [|[i n] l IH]; intros done H; cbn in *; [split; [exact H|tauto]|].
  apply IH in H as [H U]. cbn [fst snd] in H.
  assert (forall ins done, fold_left (fun l x => if is_named x then match Names.find x defined with
      | Some d => if (d <? i)%Z then l else (i, Some d) :: l | None => (i, @None Z) :: l end else l) ins done = [] ->
    done = [] /\ forall x, In x ins -> is_named x = true -> exists d, Names.find x defined = Some d /\ (d < i)%Z) as L.
  { clear. induction ins as [|y ins IH]; intros done H; cbn in *; [split; [exact H|tauto]|].
    apply IH in H as [H U]. destruct (is_named y) eqn:Y.
    - destruct (Names.find y defined) as [d|] eqn:F; [|discriminate]. destruct (d <? i)%Z eqn:D; [|discriminate]. split; [exact H|].
      intros x [->|I] N; [exists d; split; [exact F|apply Z.ltb_lt; exact D]|auto].
    - split; [exact H|]. intros x [->|I] N; [congruence|auto]. }
  apply L in H as [H V]. split; [exact H|]. intros j n' x [E|I]; [inversion E; subst; auto|eauto].
Qed.

Lemma numbered_nth {A} (l : list A) : forall i j a, In (j, a) (numbered_from i l) -> (i <= j)%Z /\ nth_error l (Z.to_nat (j - i)) = Some a.
Proof.
  induction l as [|b l IH]; intros i j a H; cbn in H; [tauto|]. destruct H as [H|H].
  - inversion H; subst. split; [lia|]. now rewrite Z.sub_diag.
  - apply IH in H as [L H]. split; [lia|]. replace (Z.to_nat (j - i)) with (S (Z.to_nat (j - (i + 1)))) by lia. exact H.
Qed.

(* In a model whose names are defined before they are used, the nodes are in order. *)
Definition given (x : string) : Prop := In x (input_names (main m)) \/ In x (constant_names (main m)).

Lemma nodes_in_order : names_defined_before_use (main m) (defined_at (main m)) = true ->
  outputs_produced (main m) (defined_at (main m)) = true -> in_order (output_names (main m)) given (nodes (main m)).
Proof.
  unfold names_defined_before_use, early_uses. intros H P.
  match type of H with (match ?l with [] => _ | _ => _ end) = _ => destruct l eqn:E; [|discriminate] end. clear H.
  apply early_found in E as [_ U]. rewrite numbered_ok in U.
  set (p i x := given x \/ exists j n, (j < i)%Z /\ In (j, n) (numbered_from 0 (nodes (main m))) /\ In x (outputs n)).
  assert (forall i n x, In (i, n) (numbered_from 0 (nodes (main m))) -> In x (inputs n) -> is_named x = true -> p i x) as W.
  { intros i n x I X N. destruct (U i n x I X N) as [d [F D]]. apply defined_found in F. rewrite numbered_ok in F.
    unfold p, given. destruct F as [F|[F|[n' [F G]]]]; eauto 8. }
  assert (forall l i, (forall j n, In (j, n) (numbered_from i l) -> In (j, n) (numbered_from 0 (nodes (main m)))) ->
      (forall j n, In (j, n) (numbered_from 0 (nodes (main m))) -> (j < i + Z.of_nat (List.length l))%Z) ->
      in_order (output_names (main m)) (p i) l) as Q.
  { induction l as [|n l IH]; intros i S B; [|cbn [in_order]; split].
    - intros x X N. unfold outputs_produced in P. rewrite forallb_forall in P. specialize (P x X). rewrite N in P. cbn [negb orb] in P.
      unfold has in P. rewrite NameFacts.mem_find_b in P. destruct (Names.find x (defined_at (main m))) as [d|] eqn:F; [|discriminate].
      apply defined_found in F. rewrite numbered_ok in F. unfold p, given.
      destruct F as [F|[F|[n' [F G]]]]; [tauto|tauto|]. right. exists d, n'. repeat split; auto. apply B in F. cbn in F. lia.
    - intros x X N. apply (W i n x); auto. apply S. now left.
    - eapply in_order_weaker; [|apply (IH (i + 1)%Z)].
      + intros x N [G|(j & n' & J & K & O)]; [left; left; exact G|].
        destruct (Z.eq_dec j i) as [->|D].
        * right. assert (In (i, n) (numbered_from 0 (nodes (main m)))) as K' by (apply S; now left).
          apply numbered_nth in K as [_ K], K' as [_ K']. congruence.
        * left. right. exists j, n'. repeat split; auto. lia.
      + intros j n' J. apply S. now right.
      + intros j n' J. apply B in J. cbn [List.length] in J. lia. }
  assert (forall j n, In (j, n) (numbered_from 0 (nodes (main m))) -> (j < 0 + Z.of_nat (List.length (nodes (main m))))%Z) as L.
  { intros j n J. apply numbered_nth in J as [G J].
    assert (nth_error (nodes (main m)) (Z.to_nat (j - 0)) <> None) as D by congruence. apply nth_error_Some in D. lia. }
  eapply in_order_weaker; [|apply (Q (nodes (main m)) 0%Z); auto].
  intros x N [G|(j & n & J & K & _)]; [exact G|]. apply numbered_nth in K. lia.
Qed.

Variable rho : string -> value.
Hypothesis rho_reflexive : forall s, equal (rho s) (rho s) = VBool true.
Variable computes : node -> facts -> list tensor -> Prop.

(* For every model that conforms, and every run that starts with values of the declared types and shapes for the inputs, and
   with the constants: each call finds its arguments, meets every rule of its operator, gives an output, and every value has the
   type and shape that the walk computed. *)
Theorem conforming_is_safe run : conforms e m numbers_of = true -> has_structural_rules = true ->
  let k := initial m (declared (main m)) numbers_of in
  (forall x, given x -> is_named x = true -> in_run run x) -> agrees numbers_of rho k run ->
  operators_are_right e m numbers_of rho computes k (nodes (main m)) ->
  safe e m numbers_of rho computes (output_names (main m)) k run (nodes (main m)).
Proof.
  intros C S k G A O. assert (all_hold e m numbers_of k (nodes (main m))) as H by (apply conforms_all_hold; exact C).
  apply holding_is_safe; auto.
  - eapply all_resolved; eauto.
  - eapply in_order_weaker; [|apply nodes_in_order].
    + intros x N X. apply G; auto.
    + unfold has_structural_rules in S. rewrite forallb_forall in S.
      apply (conforms_graph_rules e m numbers_of C "names-defined-before-use"); [cbn; tauto|]. apply S. cbn. tauto.
    + unfold has_structural_rules in S. rewrite forallb_forall in S.
      apply (conforms_graph_rules e m numbers_of C "outputs-produced"); [cbn; tauto|]. apply S. cbn. tauto.
Qed.

(* In a model that conforms a caller knows the types and shapes of all inputs and outputs. *)
Theorem interface_is_known : conforms e m numbers_of = true -> in_force e "interface-declared" = true ->
  forall x t, In (x, t) (graph_inputs (main m) ++ graph_outputs (main m)) ->
  is_stated t = true /\ (with_shape_kind t = true -> exists s, type_shape t = Some s).
Proof.
  intros C F x t I. assert (interface_declared m = true) as D.
  { apply (conforms_file_rules e m numbers_of C "interface-declared"); [|exact F]. apply in_or_app. right. cbn. tauto. }
  unfold interface_declared in D. rewrite <- forallb_app, forallb_forall in D. specialize (D (x, t) I). cbn [snd] in D.
  apply andb_true_iff in D as [D T]. split; [exact D|]. intros W. rewrite W in T. cbn [negb orb] in T.
  destruct (type_shape t) as [s|]; [eauto|discriminate].
Qed.

(* In a model that conforms each call meets the rules about its operands: their kinds are those that the operator takes. *)
Fixpoint operands_are_taken (k : known_values) (l : list node) : Prop :=
  match l with
  | [] => True
  | n :: rest =>
      match resolved e m n with
      | None => True
      | Some (_, s) => Forall (fun r => settled (snd r) = true) (operand_results (about_operands e) s (facts_of numbers_of k s n))
      end /\ operands_are_taken (fst (step k n)) rest
  end.
Theorem conforming_operands : conforms e m numbers_of = true ->
  operands_are_taken (initial m (declared (main m)) numbers_of) (nodes (main m)).
Proof.
  intros C. apply conforms_all_hold in C. revert C. generalize (initial m (declared (main m)) numbers_of) as k.
  induction (nodes (main m)) as [|n l IH]; intros k H; [exact I|]. destruct H as [H1 H2]. cbn [operands_are_taken]. split; [|auto].
  destruct (resolved e m n) as [[v s]|] eqn:R; [|exact I]. unfold walk.step in H1. rewrite R in H1. cbn [snd] in H1.
  apply Forall_app in H1 as [_ H1]. apply Forall_app in H1 as [H1 _]. apply Forall_map in H1. apply Forall_app in H1 as [_ H1].
  unfold call.call in H1. cbn [general] in H1. fold (facts_of numbers_of k s n) in H1. apply Forall_app in H1 as [_ H1].
  eapply Forall_impl; [|exact H1]. intros [p w]. cbn. destruct w; auto.
Qed.

End Conforming.

(* The theorem is not about nothing: a model with a symbolic dimension that conforms, an operator that gives its input, and a
   run of it. *)
Module Instance.
Open Scope Z_scope.
Definition ranked : rule := {| slug := "Id.rank"; relies := []; applies := None;
  demand := Compare Equal (Field (Name "X") "rank") (Int 2); over := None |}.
Definition named (x : string) : formal := {| formal_name := x; variadic := false; optional := false; may_be_omitted := false |}.
Definition id_signature : signature := {|
  formals := [named "X"];
  results := [{| result_formal := named "Y"; copies := ""; element := None; type_variable := "T"; waits_for := [];
                 shape_of := Some (Field (Name "X") "shape"); elements_of := None |}];
  attribute_parameters := []; input_parameters := []; groups := [("T", ["X"; "Y"])]; beyond := []; single := []; refused := false;
  output_counts := []; kinds := [];
  demands := [{| own := ranked; is_validity := true; leaves_values := false; leaves_while_waiting := false; onnx := None |}] |}.
Definition one_edition : edition := {|
  operators := [("Id", {| operator_status := Specified; written := true; versions := [(1, id_signature)]; meanings := [] |})];
  element_types := ["float"]; newest_ir_version := 10; newest_operator_set := 20;
  decided_rules := map (fun x => (x, false)) structural; about_values := []; about_groups := []; about_parameters := []; about_inputs := [];
  about_operands := []; onnx_domains := []; schemas := [] |}.
Definition floats : type := {| type_kind := "tensor"; type_element := Some "float"; type_shape := Some [Symbol "N"; Extent 3];
  holds_sparse := false; denotations := []; type_key := None; inner := None |}.
Definition id_node : node := {| node_name := "id"; operator := "Id"; domain := ""; overload := ""; inputs := ["x"]; outputs := ["y"]; attributes := [];
  configurations := []; captured := [] |}.
Definition one_model : model := {|
  ir_version := Some 10; imports := [("", Some 20)];
  main := {| graph_name := "g"; graph_inputs := [("x", floats)]; graph_outputs := [("y", floats)]; value_info := []; initializers := [];
             sparse_initializers := []; nodes := [id_node]; annotations := [] |};
  functions := []; others := []; devices := []; training := []; unknown_fields := false; undefined_values := false; metadata_keys_repeated := false; unprintable_names := false |}.
Definition no_numbers : N -> value := fun _ => not_stated.

Definition five : string -> value := fun _ => VInt 5.
Definition input : tensor := {| element_type := VText "float"; shape := VList [VInt 5; VInt 3]; contents_of := Known run_time; kind := "tensor";
  sparse := false; derived := false |}.
Definition gives_its_input (n : node) (f : facts) (ts : list tensor) : Prop := ts = [tensor_named f "X"].

Lemma found_in_completion x f f' : facts_le no_numbers five f f' -> (exists t, found x f = Some (One t)) ->
  tensor_le no_numbers five (tensor_named f x) (tensor_named f' x).
Proof.
  intros L [t T]. unfold tensor_named. rewrite T. induction L as [|[a v] [b w] l r [Q W] L IH]; cbn [found fst snd] in *; [discriminate T|].
  subst b. destruct (String.eqb x a); [|auto]. injection T as ->. inversion W as [|t' u H|]; subst. exact H.
Qed.

Theorem is_safe : safe one_edition one_model no_numbers five gives_its_input (output_names (main one_model))
  (initial one_model (declared (main one_model)) no_numbers) (Names.add "x" input (Names.empty tensor)) (nodes (main one_model)).
Proof.
  assert (forall s, equal (five s) (five s) = VBool true) as R by reflexivity.
  assert (forall x t, Names.find x (Names.add "x" input (Names.empty tensor)) = Some t -> x = "x" /\ t = input) as F.
  { intros x t H. rewrite NameFacts.add_o in H. destruct (String_as_OT.eq_dec "x" x) as [<-|D]; [inversion H; auto|].
    rewrite NameFacts.empty_o in H. discriminate. }
  assert (le five (VUnknown NotStated (Some "N")) (VInt 5)) as N by apply (le_symbol five NotStated "N").
  apply (conforming_is_safe one_edition one_model no_numbers five R gives_its_input).
  - vm_compute. reflexivity.
  - vm_compute. reflexivity.
  - intros x [[<-|[]]|[]] _. exists input. reflexivity.
  - intros x t _ H. apply F in H as [-> ->]. vm_compute. repeat constructor.
  - cbn [nodes main one_model operators_are_right]. split; [|exact I].
    change (resolved one_edition one_model id_node) with (Some (1, id_signature)). cbn iota.
    intros f' L _. split; [eexists; reflexivity|]. intros ts G. unfold gives_its_input in G. subst ts.
    split; [reflexivity|]. constructor; [|constructor]. intros _.
    assert (tensor_le no_numbers five (tensor_named (facts_of no_numbers (initial one_model (declared (main one_model)) no_numbers) id_signature id_node) "X")
      (tensor_named f' "X")) as T.
    { apply found_in_completion with (1 := L). vm_compute. eauto. }
    vm_compute in T |- *. exact T.
Qed.
End Instance.

Definition an_instance_is_safe := Instance.is_safe.
