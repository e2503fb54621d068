(* The kind of an expression: what values it can have. *)
From Coq Require Import ZArith QArith Qround String List Bool Lia.
From Sonnx Require Import syntax values evaluation.
Import ListNotations.
Open Scope Z_scope.

(* KNever is the kind of the items of []; a tensor's values may be known at run time only, or be constants. *)
Inductive kind := KNever | KNat | KInt | KNumber | KBool | KText | KList (k : kind) | KTensor (constant : bool).

Definition is_number (v : value) : Prop := match v with VInt _ | VFloat (Finite _) => True | _ => False end.
Definition is_extent (v : value) : Prop := match v with VInt z => 0 <= z | _ => False end.
Definition unknown (v : value) : Prop := match v with VUnknown _ _ => True | _ => False end.

(* A value is of a kind; with [p], it and the items of a list may be unknown, but not a symbol. *)
Fixpoint of_kind (p : bool) (k : kind) (v : value) : Prop :=
  match v with
  | VUnknown _ s => p = true /\ s = None
  | _ =>
      match k with
      | KNever => False
      | KNat => is_extent v
      | KInt => match v with VInt _ => True | _ => False end
      | KNumber => is_number v
      | KBool => match v with VBool _ => True | _ => False end
      | KText => match v with VText _ => True | _ => False end
      | KList k => match v with VList l => Forall (of_kind p k) l | _ => False end
      | KTensor c =>
          match v with
          | VRecord f =>
              match assoc "shape" f with VList l => Forall is_extent l | _ => False end
              /\ match assoc "type" f with VText _ => True | _ => False end
              /\ match assoc "values" f with VList l => Forall is_number l | VUnknown _ s => c = false /\ s = None | _ => False end
          | _ => False
          end
      end
  end.

Arguments of_kind p k v : simpl nomatch.
Notation has := (of_kind false).
Notation may := (of_kind true).

Lemma has_may : forall k v, has k v -> may k v.
Proof.
  induction k; intros v H; destruct v; simpl in *; try contradiction; try (destruct H; discriminate); auto.
  eapply Forall_impl; [| exact H]; auto.
Qed.

(* The least kind that has the values of both. *)
Fixpoint join (a b : kind) : option kind :=
  match a, b with
  | KNever, k | k, KNever => Some k
  | KNat, KNat => Some KNat
  | KNat, KInt | KInt, KNat | KInt, KInt => Some KInt
  | KNumber, (KNat | KInt | KNumber) | (KNat | KInt), KNumber => Some KNumber
  | KBool, KBool => Some KBool
  | KText, KText => Some KText
  | KList a, KList b => option_map KList (join a b)
  | KTensor a, KTensor b => Some (KTensor (a && b))
  | _, _ => None
  end.

Lemma join_left : forall p a b k v, join a b = Some k -> of_kind p a v -> of_kind p k v.
Proof.
  induction a; intros b k0 v J H; destruct b; simpl in J; inversion J; subst; clear J;
    try solve [destruct v; simpl in *; try contradiction; try discriminate; auto].
  - destruct (join a b) eqn:E; inversion H1; subst; destruct v; simpl in *; try contradiction; auto.
    eapply Forall_impl; [| exact H]; intros w; eapply IHa; eassumption.
  - destruct v; simpl in *; try contradiction; auto.
    destruct H as [S [T V]]; repeat split; auto; destruct (assoc "values" fields); auto; destruct V; subst; auto.
Qed.

Lemma join_right : forall p a b k v, join a b = Some k -> of_kind p b v -> of_kind p k v.
Proof.
  induction a; intros b k0 v J H; destruct b; simpl in J; inversion J; subst; clear J;
    try solve [destruct v; simpl in *; try contradiction; try discriminate; auto].
  - destruct (join a b) eqn:E; inversion H1; subst; destruct v; simpl in *; try contradiction; auto.
    eapply Forall_impl; [| exact H]; intros w; eapply IHa; eassumption.
  - destruct v; simpl in *; try contradiction; auto.
    destruct H as [S [T V]]; repeat split; auto; destruct (assoc "values" fields); auto; destruct V; subst; split; auto; apply andb_false_r.
Qed.

Fixpoint kind_eqb (a b : kind) : bool :=
  match a, b with
  | KNever, KNever | KNat, KNat | KInt, KInt | KNumber, KNumber | KBool, KBool | KText, KText => true
  | KList a, KList b => kind_eqb a b
  | KTensor a, KTensor b => Bool.eqb a b
  | _, _ => false
  end.

Lemma kind_eqb_ok : forall a b, kind_eqb a b = true -> a = b.
Proof.
  induction a; intros [] H; simpl in H; try discriminate; auto.
  - f_equal; auto.
  - apply Bool.eqb_prop in H; subst; reflexivity.
Qed.

Definition integral (k : kind) : bool := match k with KNever | KNat | KInt => true | _ => false end.
Definition numeric (k : kind) : bool := match k with KNever | KNat | KInt | KNumber => true | _ => false end.

Fixpoint lookup {A} (x : string) (l : list (string * A)) : option A :=
  match l with [] => None | (y, a) :: rest => if String.eqb y x then Some a else lookup x rest end.

Definition kinds := list (string * kind).

Definition calculated (sign : arithmetic) (a b : kind) : option kind :=
  match a, b with
  | KList k, KList l => match sign with Plus => option_map KList (join k l) | _ => None end
  | _, _ =>
      if integral a && integral b then
        Some (match sign, a, b with
              | (Plus | Times), KNat, KNat | Quotient, KNat, _ | Remainder, _, _ => KNat | _, _, _ => KInt end)
      else if numeric a && numeric b then Some (match sign with Quotient => KInt | _ => KNumber end)
      else None
  end.

Definition applied (f : list_function) (k : kind) : option kind :=
  match f, k with
  | Len, _ => Some KNat
  | (Sum | Product), (KNever | KNat) => Some KNat
  | (Sum | Product), (KInt | KNumber) => Some k
  | (Largest | Smallest), _ => if numeric k then Some k else None
  | (All | Any | Distinct), _ => Some KBool
  | _, _ => None
  end.

Definition option_bind {A B} (a : option A) (f : A -> option B) := match a with Some x => f x | None => None end.
Definition item_kind (k : kind) : option kind := match k with KList k => Some k | _ => None end.

Fixpoint kind_of (d : kinds) (e : expr) : option kind :=
  match e with
  | Int z => Some (if 0 <=? z then KNat else KInt)
  | Float _ => Some KNumber
  | Text _ => Some KText
  | Name x => lookup x d
  | Nil => Some (KList KNever)
  | Cons a b => option_bind (kind_of d a) (fun k => option_bind (option_bind (kind_of d b) item_kind) (fun l =>
                option_map KList (join k l)))
  | Field r f =>
      match kind_of d r with
      | Some (KTensor _) =>
          if String.eqb f "rank" then Some KNat else if String.eqb f "shape" then Some (KList KNat)
          else if String.eqb f "type" then Some KText else if String.eqb f "values" then Some (KList KNumber) else None
      | _ => None
      end
  | Item s i => option_bind (kind_of d s) item_kind
  | Part s a b => match kind_of d s with Some (KList k) => Some (KList k) | _ => None end
  | Arithmetic sign a b => option_bind (kind_of d a) (fun k => option_bind (kind_of d b) (calculated sign k))
  | Negative a => match kind_of d a with Some k => if integral k then Some KInt else if numeric k then Some KNumber else None
                  | None => None end
  | Compare _ _ b => option_bind (kind_of d b) (fun _ => Some KBool)
  | And _ _ | Or _ _ | Stated _ => Some KBool
  | Not a => match kind_of d a with Some KBool => Some KBool | _ => None end
  | ForAll _ s _ | Exists _ s _ => option_bind (kind_of d s) (fun _ => Some KBool)
  | If c a b => match kind_of d c with Some KBool => option_bind (kind_of d a) (fun k => option_bind (kind_of d b) (join k))
                | _ => None end
  | Collect x s q a => option_bind (option_bind (kind_of d s) item_kind) (fun k =>
                       option_map KList (kind_of ((x, k) :: d) a))
  | Flatten a => match kind_of d a with Some (KList (KList k)) => Some (KList k) | _ => None end
  | Apply f a => option_bind (option_bind (kind_of d a) item_kind) (applied f)
  | Range a b => Some (KList (match kind_of d a with Some KNat => KNat | _ => KInt end))
  | Let _ _ _ => None
  | Reduce x y b s a =>
      option_bind (option_bind (kind_of d s) item_kind) (fun k =>
      option_bind (option_bind (kind_of d a) (join k)) (fun t =>
      match kind_of ((y, k) :: (x, t) :: d) b with
      | Some u => match join u t with Some w => if kind_eqb w t then Some t else None | None => None end
      | None => None
      end))
  | Undefined => Some KNever
  end.

(* The values of names are of their kinds. *)
Definition possible (d : kinds) (names : environment) := forall x k, lookup x d = Some k -> may k (names x).

Lemma possible_updated : forall d names x k v, possible d names -> may k v -> possible ((x, k) :: d) (updated names x v).
Proof.
  intros d names x k v P M y l E; simpl in E; unfold updated.
  destruct (String.eqb x y); [inversion E; subst; assumption | apply P; assumption].
Qed.

Lemma strongest_aux : forall l c, (exists d, fold_left joined l (Some c) = Some d).
Proof. induction l as [| v l IH]; intros c; simpl; [eauto |]; destruct v; simpl; apply IH. Qed.

Lemma strongest_none : forall l, strongest l = None <-> Forall (fun v => ~ unknown v) l.
Proof.
  unfold strongest; induction l as [| v l IH]; simpl; [split; auto |].
  destruct v; simpl; try (rewrite IH; split; [intros; constructor; auto | intros H; inversion H; auto]).
  destruct (strongest_aux l because) as [d E]; rewrite E; split; [discriminate |].
  intros H; inversion H; subst; simpl in H2; tauto.
Qed.

Lemma strict_known : forall l v, Forall (fun v => ~ unknown v) l -> strict l v = v.
Proof. intros l v H; unfold strict; apply strongest_none in H; rewrite H; reflexivity. Qed.

Lemma strict_cases : forall l v, strict l v = v /\ Forall (fun v => ~ unknown v) l \/ exists c, strict l v = VUnknown c None.
Proof.
  intros l v; unfold strict; destruct (strongest l) eqn:E; [right; eauto | left; split; auto].
  apply strongest_none; assumption.
Qed.

Lemma may_unknown : forall k c, may k (VUnknown c None).
Proof. intros; destruct k; split; reflexivity. Qed.

Lemma unknown_any : forall p k m c s, of_kind p k (VUnknown c s) -> of_kind p m (VUnknown c s).
Proof. intros p k m c s H; destruct k, m; exact H. Qed.

Lemma may_strict : forall k l v, may k v -> may k (strict l v).
Proof. intros k l v H; destruct (strict_cases l v) as [[E _] | [c E]]; rewrite E; [assumption | apply may_unknown]. Qed.

Lemma may_strict' : forall k l v, (Forall (fun v => ~ unknown v) l -> may k v) -> may k (strict l v).
Proof. intros k l v H; destruct (strict_cases l v) as [[E F] | [c E]]; rewrite E; [auto | apply may_unknown]. Qed.

Lemma may_kleene : forall b l, may KBool (kleene b l).
Proof. intros; unfold kleene; destruct (existsb _ _); [exact I | apply may_strict; exact I]. Qed.

Lemma may_negation : forall v, may KBool v -> may KBool (negation v).
Proof. intros [] H; simpl in *; auto. Qed.

Lemma may_equal : forall a b, may KBool (equal a b).
Proof.
  intros a b; destruct a as [| | | | | | c [s |]], b as [| | | | | | e [t |]]; cbn [equal number_of];
    try exact I; try (apply may_strict; apply may_unknown).
  - destruct (Nat.eqb (List.length items) (List.length items0)); [apply may_kleene | exact I].
  - destruct (String.eqb s t); [exact I | apply may_strict; apply may_unknown].
Qed.

Lemma may_compare : forall s a b k, may k b -> may KBool (compare s a b).
Proof.
  intros [] a b k B; cbn [compare contains]; try apply may_equal; try (apply may_strict; exact I).
  destruct b; cbn [contains]; try apply may_unknown; apply may_negation, may_kleene.
Qed.

Lemma may_on_list : forall k m v f, may m v -> (forall l, v = VList l -> may k (f l)) -> may k (on_list v f).
Proof.
  intros k m [] f M H; try apply may_unknown; apply H; reflexivity.
Qed.

Lemma forall_nth : forall (P : value -> Prop) l n, Forall P l -> P undefined -> P (nth n l undefined).
Proof. induction l as [| v l IH]; intros [] H U; simpl; auto; inversion H; auto. Qed.

Lemma forall_firstn : forall {A} (P : A -> Prop) n l, Forall P l -> Forall P (firstn n l).
Proof. induction n; intros l H; simpl; [constructor |]; destruct H; constructor; auto. Qed.

Lemma forall_skipn : forall {A} (P : A -> Prop) n l, Forall P l -> Forall P (skipn n l).
Proof. induction n; intros l H; simpl; [assumption |]; destruct H; auto. Qed.

Lemma Forall_and2 : forall {A} (P Q R : A -> Prop) l, (forall a, P a -> Q a -> R a) -> Forall P l -> Forall Q l -> Forall R l.
Proof. intros A P Q R l H F G; induction F; inversion G; subst; constructor; auto. Qed.

(* Of two numbers. *)
Lemma may_calculate : forall s a b k l m, calculated s k l = Some m -> may k a -> may l b -> may m (calculate s a b).
Proof.
  intros s a b k l m C A B.
  destruct a as [x | x | x | x | x | x | c n]; [| | | | | | destruct b; simpl; apply may_strict; apply may_unknown];
    (destruct b as [y | y | y | y | y | y | c n]; [| | | | | | simpl; apply may_strict; apply may_unknown]);
    repeat match goal with f : floating |- _ => destruct f end;
    destruct k, l; simpl in A, B; try contradiction; simpl in C;
    try (destruct s; inversion C; subst; simpl;
         repeat match goal with |- context [if ?b then _ else _] => destruct b eqn:? end;
         try reflexivity; try exact I; try apply may_unknown; simpl; auto;
         repeat match goal with H : (_ <? _) = true |- _ => apply Z.ltb_lt in H end;
         try lia; try (apply Z.div_pos; lia); try (apply Z.mod_pos_bound; assumption); try nia; fail).
  destruct s; try discriminate; destruct (join k l) as [j |] eqn:J; simpl in C; inversion C; subst; simpl.
  apply Forall_app; split; (eapply Forall_impl; [| eassumption]); intros v; [eapply join_left | eapply join_right]; eassumption.
Qed.

Lemma may_fold : forall sign k l items v, (forall a b, may k a -> may l b -> may k (calculate sign a b)) ->
  Forall (may l) items -> may k v -> may k (fold_left (calculate sign) items v).
Proof. intros sign k l items v H F; revert v; induction F; intros v V; simpl; auto. Qed.

Lemma may_extreme : forall better k items, Forall (may k) items -> may k (extreme better items).
Proof.
  intros better k items F; destruct F as [| v l V F]; simpl; [apply may_unknown |]; apply may_strict; revert v V.
  induction F; intros v V; simpl; auto; apply IHF; destruct (better x v); assumption.
Qed.

Lemma may_total : forall sign k m start items, match sign with Plus | Times => True | _ => False end ->
  match k with KNever => m = KNat | KNat | KInt | KNumber => m = k | _ => False end -> 0 <= start ->
  Forall (may k) items -> may m (total sign start items).
Proof.
  intros sign k m start items S K P F; unfold total; apply may_strict.
  assert (G : Forall (may m) items).
  { eapply Forall_impl; [| exact F]; intros v V; destruct k; try contradiction; subst; auto.
    eapply join_left; [| exact V]; reflexivity. }
  eapply may_fold; [| exact G | destruct k; try contradiction; subst; simpl; auto; lia].
  intros a b A B; apply (may_calculate sign a b m m); auto.
  destruct k; try contradiction; subst; destruct sign; try contradiction; reflexivity.
Qed.

Lemma may_apply : forall f k m items, applied f k = Some m -> Forall (may k) items -> may m (apply f items).
Proof.
  intros f k m items A F; destruct f; simpl in A; cbn [apply].
  - inversion A; subst; simpl; lia.
  - apply (may_total Plus k m); [exact I | destruct k; inversion A; reflexivity | lia | exact F].
  - destruct (existsb is_zero items); [destruct k; inversion A; subst; simpl; auto; lia |].
    apply (may_total Times k m); [exact I | destruct k; inversion A; reflexivity | lia | exact F].
  - destruct (numeric k); inversion A; subst; apply may_extreme; assumption.
  - destruct (numeric k); inversion A; subst; apply may_extreme; assumption.
  - inversion A; subst; apply may_kleene.
  - inversion A; subst; apply may_kleene.
  - inversion A; subst; apply may_kleene.
Qed.

Lemma may_range : forall k v w, match k with KNat => may KNat v | _ => k = KInt end -> may (KList k) (range v w).
Proof.
  intros k v w H; destruct v as [x | | | | | |], w as [y | | | | | |]; cbn [range]; try (apply may_strict; apply may_unknown).
  unfold integers; simpl; apply Forall_map, Forall_map, Forall_forall; intros i _.
  destruct k; simpl in *; try discriminate; auto; lia.
Qed.

Ltac bind H := match type of H with
  | option_bind ?a _ = Some _ => let k := fresh "k" in let E := fresh "E" in
      destruct a as [k |] eqn:E; simpl in H; [| discriminate]
  | option_map _ ?a = Some _ => let k := fresh "k" in let E := fresh "E" in
      destruct a as [k |] eqn:E; simpl in H; [| discriminate]; inversion H; subst; clear H
  end.

Lemma may_item : forall k s i, may (KList k) s -> may k (item s i).
Proof.
  intros k s i H; destruct s; cbn [item]; try (apply may_strict; apply may_unknown).
  destruct i; try (apply may_strict; apply may_unknown).
  destruct (_ && _); [apply forall_nth; [exact H | apply may_unknown] | apply may_unknown].
Qed.

Lemma extents_of_kind : forall p l, Forall is_extent l -> of_kind p (KList KNat) (VList l).
Proof. intros p l H; simpl; eapply Forall_impl; [| exact H]; intros [] X; try contradiction; exact X. Qed.

Lemma numbers_of_kind : forall p l, Forall is_number l -> of_kind p (KList KNumber) (VList l).
Proof. intros p l H; simpl; eapply Forall_impl; [| exact H]; intros [] X; try contradiction; exact X. Qed.

Lemma may_field : forall r f d, may (KTensor d) r ->
  (f = "rank" -> may KNat (field r f))%string /\ (f = "shape" -> may (KList KNat) (field r f))%string
  /\ (f = "type" -> may KText (field r f))%string /\ (f = "values" -> may (KList KNumber) (field r f))%string.
Proof.
  intros r f d H; destruct r; try contradiction; [| refine (conj _ (conj _ (conj _ _))); intros _; cbn [field]; apply may_unknown].
  destruct H as [S [T V]]; refine (conj _ (conj _ (conj _ _))); intros E; subst; cbn [field String.eqb Ascii.eqb Bool.eqb].
  - destruct (assoc "shape" fields); try contradiction; simpl; lia.
  - destruct (assoc "shape" fields); try contradiction; apply extents_of_kind; exact S.
  - destruct (assoc "type" fields); try contradiction; exact I.
  - destruct (assoc "values" fields); try contradiction; [apply numbers_of_kind; exact V | destruct V; subst; apply may_unknown].
Qed.

Theorem kind_of_ok : forall e d names k, possible d names -> kind_of d e = Some k -> may k (eval e names).
Proof.
  induction e; intros d names m P K; cbn [kind_of] in K; cbn [eval].
  - inversion K; subst; destruct (0 <=? number) eqn:E; simpl; auto; apply Z.leb_le; assumption.
  - inversion K; subst; exact I.
  - inversion K; subst; exact I.
  - apply P; assumption.
  - inversion K; subst; simpl; constructor.
  - bind K; bind K; bind K; bind E0; destruct k2; try discriminate; inversion E0; subst.
    pose proof (IHe2 _ _ _ P E2) as H; eapply may_on_list; [exact H |]; intros l L.
    rewrite L in H; simpl in H; constructor.
    + eapply join_left; [eassumption | eauto].
    + eapply Forall_impl; [| exact H]; intros v; eapply join_right; eassumption.
  - destruct (kind_of d e) as [[] |] eqn:E; try discriminate.
    destruct (may_field _ field _ (IHe _ _ _ P E)) as [R [S [T V]]].
    destruct (String.eqb field "rank") eqn:F; [apply String.eqb_eq in F; inversion K; subst; auto |].
    destruct (String.eqb field "shape") eqn:F1; [apply String.eqb_eq in F1; inversion K; subst; auto |].
    destruct (String.eqb field "type") eqn:F2; [apply String.eqb_eq in F2; inversion K; subst; auto |].
    destruct (String.eqb field "values") eqn:F3; [apply String.eqb_eq in F3; inversion K; subst; auto | discriminate].
  - bind K; destruct k; inversion K; subst; apply may_item; eauto.
  - destruct (kind_of d e1) as [[] |] eqn:E; inversion K; subst; pose proof (IHe1 _ _ _ P E) as H.
    destruct (eval e1 names); try contradiction; cbn [part]; [| apply may_strict; apply may_unknown].
    destruct (eval e2 names), (eval e3 names); try (apply may_strict; apply may_unknown).
    destruct (_ && _); [apply forall_firstn, forall_skipn; exact H | apply may_unknown].
  - bind K; bind K; eapply may_calculate; eauto.
  - destruct (kind_of d e) as [k |] eqn:E; [| discriminate]; pose proof (IHe _ _ _ P E) as H.
    destruct k; inversion K; subst; destruct (eval e names); try contradiction;
      repeat match goal with f : floating |- _ => destruct f end; try contradiction; simpl; auto.
  - bind K; inversion K; subst; eapply may_compare; eauto.
  - inversion K; subst; apply may_kleene.
  - inversion K; subst; apply may_kleene.
  - destruct (kind_of d e) as [[] |] eqn:E; inversion K; subst; apply may_negation; eauto.
  - destruct (kind_of d e1) as [[] |] eqn:E; try discriminate; pose proof (IHe1 _ _ _ P E) as C.
    bind K; bind K; unfold choice; destruct (eval e1 names); try contradiction.
    + destruct truth; [eapply join_left | eapply join_right]; eauto.
    + destruct (_ && _); [eapply join_left; eauto | apply may_unknown].
  - bind K; inversion K; subst; eapply may_on_list; [eauto |]; intros; apply may_kleene.
  - bind K; inversion K; subst; eapply may_on_list; [eauto |]; intros; apply may_kleene.
  - bind K; bind K; bind E; destruct k1; try discriminate; inversion E; subst.
    pose proof (IHe1 _ _ _ P E1) as H; eapply may_on_list; [exact H |]; intros l L; apply may_strict; rewrite L in H.
    simpl in H |- *; apply Forall_map; apply Forall_forall; intros v V; apply filter_In in V; destruct V as [V _].
    eapply IHe3; [| eassumption]; apply possible_updated; [assumption |]; eapply Forall_forall; eassumption.
  - destruct (kind_of d e) as [[| | | | | | [| | | | | | k |] |] |] eqn:E; inversion K; subst.
    pose proof (IHe _ _ _ P E) as H; unfold flattened; eapply may_on_list; [exact H |]; intros l L; apply may_strict.
    rewrite L in H; clear L; simpl in *; induction H as [| v l V H IH]; simpl; [constructor |]; apply Forall_app; split; auto.
    destruct v; try constructor; exact V.
  - bind K; bind E; destruct k0; try discriminate; inversion E; subst; pose proof (IHe _ _ _ P E0) as H.
    eapply may_on_list; [exact H |]; intros l L; eapply may_apply; [eassumption |]; rewrite L in H; exact H.
  - inversion K; subst; apply may_range; destruct (kind_of d e1) as [[] |] eqn:E; auto; eauto.
  - inversion K; subst; exact I.
  - discriminate.
  - bind K; bind K; bind E; destruct k1; try discriminate; inversion E; subst; bind E0.
    destruct (kind_of _ e1) as [u |] eqn:U; [| discriminate]; destruct (join u k0) as [w |] eqn:W; [| discriminate].
    destruct (kind_eqb w k0) eqn:Q; [| discriminate]; apply kind_eqb_ok in Q; inversion K; subst.
    pose proof (IHe2 _ _ _ P E1) as H; eapply may_on_list; [exact H |]; intros l L; rewrite L in H; simpl in H.
    assert (S : may m (eval e3 names)) by (eapply join_right; [exact E0 | eauto]).
    clear L; revert S; generalize (eval e3 names); induction H as [| v l V H IH]; intros start S; simpl; [assumption |].
    apply IH; eapply join_left; [eassumption |]; eapply IHe1; [| eassumption].
    apply possible_updated; [apply possible_updated |]; assumption.
  - inversion K; subst; apply may_unknown.
Qed.
