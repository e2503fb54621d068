(* A call: the facts that its operator's rules read, their verdicts, and the facts of its outputs.
   docs/specification.md, "Validation". *)
From Coq Require Import ZArith QArith String List Bool.
From Sonnx Require Import syntax values evaluation model.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.

Definition not_stated : value := VUnknown NotStated None.
Definition run_time : value := VUnknown RunTime None.

(* The values of a tensor: a fact, or the numbers of a constant that are read when a rule needs them. *)
Inductive numbers := Known (v : value) | Stored (serial : N).

(* What is known of a value. *)
Record tensor := {
  element_type : value;
  shape : value;
  contents_of : numbers;
  kind : string;
  sparse : bool;
  derived : bool;                   (* its values follow from constants through nodes *)
}.

Definition not_connected : tensor :=
  {| element_type := undefined; shape := undefined; contents_of := Known undefined; kind := "tensor"; sparse := false; derived := false |}.
Definition nothing_stated : tensor :=
  {| element_type := not_stated; shape := not_stated; contents_of := Known run_time; kind := "tensor"; sparse := false; derived := false |}.

Definition is_unknown (v : value) : bool := match v with VUnknown _ _ => true | _ => false end.
Definition at_run_time (t : tensor) : bool := match contents_of t with Known (VUnknown RunTime _) => true | _ => false end.
Definition without_values (t : tensor) : bool := match contents_of t with Known v => is_unknown v | Stored _ => false end.

Definition with_type (v : value) (t : tensor) : tensor :=
  {| element_type := v; shape := shape t; contents_of := contents_of t; kind := kind t; sparse := sparse t; derived := derived t |}.
Definition with_shape (v : value) (t : tensor) : tensor :=
  {| element_type := element_type t; shape := v; contents_of := contents_of t; kind := kind t; sparse := sparse t; derived := derived t |}.
Definition with_contents (n : numbers) (from_constants : bool) (t : tensor) : tensor :=
  {| element_type := element_type t; shape := shape t; contents_of := n; kind := kind t; sparse := sparse t; derived := from_constants |}.

(* Facts by name; the first of a name counts.  A fact is a value, a tensor, or a list of tensors. *)
Inductive fact := Value (v : value) | One (t : tensor) | Many (l : list tensor).
Definition facts := list (string * fact).

Fixpoint found {A} (x : string) (l : list (string * A)) : option A :=
  match l with [] => None | (y, a) :: rest => if String.eqb x y then Some a else found x rest end.

Definition given_key (x : string) : string := ("given(" ++ x ++ ")")%string.
Definition written_key (x : string) : string := ("written(" ++ x ++ ")")%string.
Definition constant_key (x : string) : string := ("constant(" ++ x ++ ")")%string.
Definition input_key (x : string) : string := (x ++ "_input")%string.

Section Calls.

(* The numbers of the constants of the model. *)
Variable numbers_of : N -> value.

Definition contents_value (n : numbers) : value := match n with Known v => v | Stored s => numbers_of s end.

(* A tensor as a record.  Its numbers are read only where [all] says so: rules that do not ask for values see none. *)
Definition record_of (all : bool) (t : tensor) : value :=
  VRecord [("type", element_type t); ("shape", shape t);
           ("values", match contents_of t with Known v => v | Stored s => if all then numbers_of s else not_stated end);
           ("kind", VText (kind t)); ("holds_sparse", VBool (sparse t)); ("derived", VBool (derived t))].

Definition value_of (all : bool) (f : fact) : value :=
  match f with Value v => v | One t => record_of all t | Many l => VList (map (record_of all) l) end.

Definition names_of (all : bool) (f : facts) : environment :=
  fun x => match found x f with Some v => value_of all v | None => not_stated end.

(* "The values are known where the shape says that there are none." *)
Definition without_elements (t : tensor) : tensor :=
  match shape t with
  | VList l => if existsb is_zero l && at_run_time t then with_contents (Known (VList [])) (derived t) t else t
  | _ => t
  end.

Definition connected (a : option tensor) : tensor := match a with Some t => t | None => not_connected end.

Fixpoint name_tensors (formals : list formal) (actuals : list (option tensor)) : facts :=
  match formals with
  | [] => []
  | f :: rest =>
      let x := formal_name f in
      if variadic f then (x, Many (map connected actuals)) :: name_tensors rest (tl actuals)
      else
        let actual := match actuals with a :: _ => a | [] => None end in
        let stated := match actual with Some t => negb (derived t) && negb (at_run_time t) | None => false end in
        (x, One (match actual with Some t => without_elements t | None => not_connected end))
        :: (given_key x, Value (VBool (match actual with Some _ => true | None => false end)))
        :: (constant_key x, Value (VBool stated)) :: name_tensors rest (tl actuals)
  end.

(* The value of a parameter that is an input: a list for kinds such as ints, else the only element. *)
Definition is_int (v : value) : bool := match v with VInt _ => true | _ => false end.
Definition is_plural (k : string) : bool := existsb (String.eqb k) ["ints"; "floats"; "strings"; "tensors"].
Definition longest : Z := 4096.

Definition read_value (t : tensor) (k : string) : value :=
  let v := contents_value (contents_of t) in
  let whole := match v with VList l => forallb is_int l | _ => true end in
  if (String.eqb k "int" || String.eqb k "ints") && negb whole then not_stated
  else if is_plural k then
    match v, shape t with
    | VUnknown c s, VList [VInt n] => if Z.leb n longest then VList (repeat (VUnknown c s) (Z.to_nat n)) else v
    | _, _ => v
    end
  else match v with VList [x] => x | VList _ => undefined | _ => v end.

Definition tensor_named (f : facts) (x : string) : tensor := match found x f with Some (One t) => t | _ => not_connected end.
Definition truth_named (f : facts) (x : string) : bool :=
  match found x f with Some (Value v) => is_truth true v | _ => false end.

Definition input_parameter_facts (f : facts) (p : parameter) : facts :=
  let x := parameter_name p in
  let given := truth_named f (given_key x) in
  let t := tensor_named f x in
  (written_key x, Value (VBool given)) :: (input_key x, One t) ::
  (constant_key x, Value (VBool (given && negb (without_values t)))) ::
  (if given then [(x, Value (read_value t (parameter_kind p)))] else []).

(* The facts of a constant. *)
Definition element_fact (e : option string) : value := match e with Some s => VText s | None => not_stated end.
Definition extent_fact (n : Z) : value := if (0 <=? n)%Z then VInt n else not_stated.
Definition dimension_fact (d : dimension) : value :=
  match d with Extent n => extent_fact n | Symbol s => VUnknown NotStated (Some s) | Unstated => not_stated end.

Definition integer_types : list string := ["int64"; "int32"; "uint64"; "uint32"; "int16"; "uint16"; "int8"; "uint8"].
(* Short lists of integers are read at once, other numbers when a rule needs them. *)
Definition constant_numbers (c : constant) : numbers :=
  let short := match constant_element c, data_bytes c with
    | Some e, Some n => existsb (String.eqb e) integer_types && (n <=? longest * 8)%Z | _, _ => false end in
  match outside c with
  | Some _ => Known not_stated
  | None => if short then Known (numbers_of (serial c)) else Stored (serial c)
  end.
Definition constant_tensor (c : constant) : tensor :=
  {| element_type := element_fact (constant_element c); shape := VList (map extent_fact (extents c));
     contents_of := constant_numbers c; kind := "tensor"; sparse := false; derived := false |}.
Definition sparse_tensor (e : option string) (dims : list Z) : tensor :=
  {| element_type := element_fact e; shape := VList (map extent_fact dims); contents_of := Known not_stated;
     kind := "sparse tensor"; sparse := true; derived := false |}.

Definition attribute_fact (a : attribute) : fact :=
  if negb (String.eqb (reference a) "") then Value not_stated
  else match attribute_value a with
    | Fact v => Value v | Tensor c => One (constant_tensor c) | SparseTensor e dims => One (sparse_tensor e dims) end.

(* The last attribute of a name counts. *)
Fixpoint attribute_named (x : string) (l : list attribute) : option attribute :=
  match l with
  | [] => None
  | a :: rest => match attribute_named x rest with
      | Some b => Some b | None => if String.eqb x (attribute_name a) then Some a else None end
  end.

Definition attribute_facts (l : list attribute) (p : parameter) : facts :=
  let x := parameter_name p in
  match attribute_named x l with
  | Some a =>
      let fits := negb (String.eqb (reference a) "") || String.eqb (attribute_kind a) (parameter_kind p) in
      [(written_key x, Value (VBool true)); (x, if fits then attribute_fact a else Value not_stated)]
  | None => [(written_key x, Value (VBool false))]
  end.

(* Which expressions ask for the numbers of tensors. *)
Fixpoint asks_values (e : expr) : bool :=
  match e with
  | Field a x => String.eqb x "values" || asks_values a
  | Negative a | Not a | Flatten a | Apply _ a | Stated a => asks_values a
  | Cons a b | Item a b | Arithmetic _ a b | Compare _ a b | And a b | Or a b | ForAll _ a b | Exists _ a b | Range a b
  | Let _ a b => asks_values a || asks_values b
  | Part a b c | If a b c | Collect _ a b c | Reduce _ _ a b c => asks_values a || asks_values b || asks_values c
  | _ => false
  end.
Definition asks (e : option expr) : bool := match e with Some e => asks_values e | None => false end.

Definition with_absent (f : facts) (p : parameter) : facts :=
  let x := parameter_name p in
  if truth_named f (written_key x) then f
  else (x, Value (match absent p with None => undefined | Some e => eval e (names_of (asks_values e) f) end)) :: f.

Definition written_names (s : signature) (l : list attribute) (ins outs : list (option tensor)) : facts :=
  let named := name_tensors (formals s) ins ++ name_tensors (map result_formal (results s)) outs in
  let parameters := flat_map (input_parameter_facts named) (input_parameters s) ++ flat_map (attribute_facts l) (attribute_parameters s) in
  fold_left with_absent (attribute_parameters s ++ input_parameters s) (parameters ++ named).

(* The tensors of a group of formals that a call has. *)
Definition members (f : facts) (group : list string) : list tensor :=
  flat_map (fun x =>
    let name := match found (input_key x) f with Some _ => input_key x | None => x end in
    match found name f with
    | Some (Many l) => l
    | Some (One t) => match found (given_key x) f with Some (Value (VBool false)) => [] | _ => [t] end
    | _ => []
    end) group.

(* The element type that the operator gives an output. *)
Definition operator_type (s : signature) (f : facts) (r : result) : value :=
  match found (copies r) f with
  | Some (One t) => element_type t
  | _ =>
      match element r with
      | Some e => eval e (names_of false f)
      | None =>
          match found (type_variable r) (groups s) with
          | None => if String.eqb (type_variable r) "" then not_stated else VText (type_variable r)
          | Some group =>
              match find (fun t => negb (is_unknown (element_type t))) (members f group) with
              | Some t => element_type t
              | None => match found (type_variable r) (single s) with Some t => VText t | None => not_stated end
              end
          end
      end
  end.

Definition typed (t : tensor) (v : value) : tensor :=
  if is_unknown (element_type t) && negb (is_unknown v) then with_type v t else t.

Definition complete_type (s : signature) (f : facts) (r : result) : facts :=
  let x := formal_name (result_formal r) in
  match found x f with
  | Some (One t) => if is_unknown (element_type t) then (x, One (typed t (operator_type s f r))) :: f else f
  | Some (Many l) => let v := operator_type s f r in (x, Many (map (fun t => typed t v) l)) :: f
  | _ => f
  end.

Definition call_facts (s : signature) (l : list attribute) (ins outs : list (option tensor)) : facts :=
  fold_left (complete_type s) (results s) (written_names s l ins outs).

Definition rule_asks (p : profile_rule) : bool :=
  asks_values (demand (own p)) || asks (applies (own p)) || asks (over (own p)) || asks (onnx p).
Definition signature_asks (s : signature) : bool :=
  existsb rule_asks (demands s) || existsb (fun r => asks (shape_of r)) (results s).

(* A declared shape, each dimension that states nothing replaced by the computed one. *)
Fixpoint filled_dimensions (declared computed : list value) : list value :=
  match declared, computed with
  | a :: l, b :: r => (if is_unknown a then b else a) :: filled_dimensions l r
  | _, _ => []
  end.
Definition filled (declared computed : value) : value :=
  match computed, declared with
  | VUnknown _ _, _ => declared
  | _, VUnknown _ _ => computed
  | VList c, VList d => if Nat.eqb (List.length d) (List.length c) then VList (filled_dimensions d c) else declared
  | _, _ => declared
  end.

Section After.
Variables (s : signature) (f : facts) (names : environment) (open : list string).

Definition computed_shape (r : result) : value :=
  match shape_of r with
  | Some e => if existsb (among open) (waits_for r) then not_stated else eval e names
  | None => not_stated
  end.

Definition after_one (r : result) (declared : tensor) : tensor :=
  let type := element_type (tensor_named f (formal_name (result_formal r))) in
  match found (copies r) f with
  | Some (One t) =>
      {| element_type := type; shape := filled (shape declared) (shape t); contents_of := contents_of t; kind := "tensor";
         sparse := false; derived := false |}
  | _ => with_type type (with_shape (filled (shape declared) (computed_shape r)) declared)
  end.

Definition after_each (r : result) (declared : list tensor) : list tensor :=
  let named := match found (formal_name (result_formal r)) f with Some (Many l) => l | _ => [] end in
  let shapes := match computed_shape r with
    | VList l => if Nat.eqb (List.length l) (List.length declared) then l else map (fun _ => not_stated) declared
    | _ => map (fun _ => not_stated) declared end in
  let made := map (fun p => match p with (t, (u, v)) => with_type (element_type u) (with_shape (filled (shape t) v) t) end)
    (combine declared (combine named shapes)) in
  if Nat.eqb (List.length made) (List.length declared) then made else declared.

Fixpoint after (l : list result) (declared : list tensor) : list tensor :=
  match l, declared with
  | [], _ => declared
  | _, [] => []
  | r :: more, t :: rest =>
      if variadic (result_formal r) && match found (copies r) f with Some (One _) => false | _ => true end
      then after_each r declared else after_one r t :: after more rest
  end.
End After.

(* Constants that follow from constants: integers and bool, of rank 0 or 1, few. *)
Definition type_bounds (v : value) : option (Z * Z) :=
  match v with
  | VText "bool" => Some (0, 1)%Z
  | VText "int8" => Some (-128, 127)%Z | VText "int16" => Some (-32768, 32767)%Z
  | VText "int32" => Some (-2147483648, 2147483647)%Z
  | VText "int64" => Some (-9223372036854775808, 9223372036854775807)%Z
  | VText "uint8" => Some (0, 255)%Z | VText "uint16" => Some (0, 65535)%Z | VText "uint32" => Some (0, 4294967295)%Z
  | VText "uint64" => Some (0, 18446744073709551615)%Z
  | VText "int4" => Some (-8, 7)%Z | VText "uint4" => Some (0, 15)%Z
  | VText "int2" => Some (-2, 1)%Z | VText "uint2" => Some (0, 3)%Z
  | _ => None
  end.
Definition derived_length (v : value) : option Z :=
  match v with VList [] => Some 1%Z | VList [VInt n] => if (n <=? 256)%Z then Some n else None | _ => None end.

Definition with_derived (names : unit -> environment) (r : result) (t : tensor) : tensor :=
  match elements_of r, type_bounds (element_type t), derived_length (shape t) with
  | Some e, Some (low, high), Some n =>
      match eval e (names tt) with
      | VList l =>
          if Z.eqb (Z.of_nat (List.length l)) n &&
             forallb (fun v => match v with VInt z => ((low <=? z) && (z <=? high))%Z | _ => false end) l
          then with_contents (Known (VList l)) true t else t
      | _ => t
      end
  | _, _, _ => t
  end.

Fixpoint all_derived (names : unit -> environment) (l : list result) (ts : list tensor) : list tensor :=
  match l, ts with r :: more, t :: rest => with_derived names r t :: all_derived names more rest | _, _ => ts end.

(* Whether a rule that does not hold leaves the values of a call: a text restricts what ONNX defines. *)
Definition leaves (names : environment) (p : profile_rule) (v : verdict) : bool :=
  match v with
  | Pass | NotApplicable => true
  | Undecided => leaves_while_waiting p || leaves_values p && match onnx p with None => true | _ => false end
  | Fail => leaves_values p && match onnx p with None => true | Some e => negb (is_truth false (eval e names)) end
  | Assumed => false
  end.
Fixpoint all_leave (names : environment) (rules : list profile_rule) (verdicts : list (string * verdict)) : bool :=
  match rules, verdicts with
  | p :: more, (_, v) :: rest => leaves names p v && all_leave names more rest | _, _ => true end.

Definition is_open (v : verdict) : bool := match v with Fail | Undecided => true | _ => false end.

(* A rule about subjects that are not calls. *)
Definition single_fact (x : string) (v : value) : environment := fun y => if String.eqb x y then v else not_stated.
Definition about (rules : list profile_rule) (names : environment) : list (profile_rule * verdict) :=
  map (fun p => (p, decide (own p) names)) rules.

(* Tensors that must have one element type. *)
Definition subset (l r : list string) : bool := forallb (among r) l.
Definition groups_of (s : signature) (f : facts) : list (list tensor) :=
  let of_onnx := map snd (groups s) in
  let others := filter (fun g => negb (existsb (subset g) of_onnx)) (beyond s) in
  filter (fun g => Nat.ltb 1 (List.length g)) (map (members f) (of_onnx ++ others)).

(* Inputs and outputs that are no dense tensors: each must be of a kind that the operator takes.  Values of one type variable are of
   one kind, so that a kind beside tensors is taken where all of them have it. *)
Definition dense : list string := ["tensor"; "not stated"].
Definition all_same (l : list string) : bool :=
  match l with [] => false | x :: r => forallb (String.eqb x) r end.
Definition operand_results (rules : list profile_rule) (s : signature) (f : facts) : list (profile_rule * verdict) :=
  let names := map formal_name (formals s) ++ map (fun r => formal_name (result_formal r)) (results s) in
  let others := filter (fun k => negb (among dense k)) (map kind (members f names)) in
  let of_groups := filter (fun k => negb (String.eqb k "not stated")) (map kind (flat_map (fun g => members f (snd g)) (groups s))) in
  let taken := match others, kinds s with _ :: _, _ :: _ => if all_same of_groups then kinds s else [] | _, _ => kinds s end in
  flat_map (fun k => about rules (fun x =>
    if String.eqb x "operand" then VRecord [("kind", VText k)]
    else if String.eqb x "kinds" then VList (map VText (dense ++ taken)) else not_stated))
    (match others with [] => ["tensor"] | _ => others end).

Record outcome := { verdicts : list (string * verdict); general : list (profile_rule * verdict); after_call : list tensor }.

Definition declares (a : option tensor) : tensor := match a with Some t => t | None => nothing_stated end.

(* The call: its own rules in order, the rules about its groups and operands, and its outputs.  [others]: the other rules about it leave
   its values. *)
Definition call (about_groups about_operands : list profile_rule) (others : bool) (s : signature) (l : list attribute)
    (ins outs : list (option tensor)) : outcome :=
  let f := call_facts s l ins outs in
  let names := names_of (signature_asks s) f in
  let judged := judge names (map own (demands s)) [] in
  let alike := flat_map (fun g => about about_groups (single_fact "group" (VList (map (record_of false) g)))) (groups_of s f)
    ++ operand_results about_operands s f in
  let open := map fst (filter (fun p => is_open (snd p)) judged) in
  let made := after f names open (results s) (map declares outs) in
  let kept := others && forallb (fun p => leaves names (fst p) (snd p)) alike && all_leave names (demands s) judged in
  {| verdicts := judged; general := alike;
     after_call := if kept then all_derived (fun _ => names_of true f) (results s) made else made |}.

End Calls.
