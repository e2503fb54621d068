
(** val negb : bool -> bool **)

let negb = function
| true -> false
| false -> true

type nat =
| O
| S of nat

(** val snd : ('a1 * 'a2) -> 'a2 **)

let snd = function
| (_, y) -> y

(** val length : 'a1 list -> nat **)

let rec length = function
| [] -> O
| _ :: l' -> S (length l')

(** val app : 'a1 list -> 'a1 list -> 'a1 list **)

let rec app l m =
  match l with
  | [] -> m
  | a :: l1 -> a :: (app l1 m)

type comparison =
| Eq
| Lt
| Gt

(** val compOpp : comparison -> comparison **)

let compOpp = function
| Eq -> Eq
| Lt -> Gt
| Gt -> Lt

module Coq__1 = struct
 (** val add : nat -> nat -> nat **)
 let rec add n m =
   match n with
   | O -> m
   | S p -> S (add p m)
end
include Coq__1

type positive =
| XI of positive
| XO of positive
| XH

type z =
| Z0
| Zpos of positive
| Zneg of positive

(** val eqb : bool -> bool -> bool **)

let eqb b1 b2 =
  if b1 then b2 else if b2 then false else true

module Nat =
 struct
  (** val eqb : nat -> nat -> bool **)

  let rec eqb n m =
    match n with
    | O -> (match m with
            | O -> true
            | S _ -> false)
    | S n' -> (match m with
               | O -> false
               | S m' -> eqb n' m')

  (** val leb : nat -> nat -> bool **)

  let rec leb n m =
    match n with
    | O -> true
    | S n' -> (match m with
               | O -> false
               | S m' -> leb n' m')

  (** val ltb : nat -> nat -> bool **)

  let ltb n m =
    leb (S n) m
 end

module Pos =
 struct
  type mask =
  | IsNul
  | IsPos of positive
  | IsNeg
 end

module Coq_Pos =
 struct
  (** val succ : positive -> positive **)

  let rec succ = function
  | XI p -> XO (succ p)
  | XO p -> XI p
  | XH -> XO XH

  (** val add : positive -> positive -> positive **)

  let rec add x y =
    match x with
    | XI p ->
      (match y with
       | XI q0 -> XO (add_carry p q0)
       | XO q0 -> XI (add p q0)
       | XH -> XO (succ p))
    | XO p ->
      (match y with
       | XI q0 -> XI (add p q0)
       | XO q0 -> XO (add p q0)
       | XH -> XI p)
    | XH -> (match y with
             | XI q0 -> XO (succ q0)
             | XO q0 -> XI q0
             | XH -> XO XH)

  (** val add_carry : positive -> positive -> positive **)

  and add_carry x y =
    match x with
    | XI p ->
      (match y with
       | XI q0 -> XI (add_carry p q0)
       | XO q0 -> XO (add_carry p q0)
       | XH -> XI (succ p))
    | XO p ->
      (match y with
       | XI q0 -> XO (add_carry p q0)
       | XO q0 -> XI (add p q0)
       | XH -> XO (succ p))
    | XH ->
      (match y with
       | XI q0 -> XI (succ q0)
       | XO q0 -> XO (succ q0)
       | XH -> XI XH)

  (** val pred_double : positive -> positive **)

  let rec pred_double = function
  | XI p -> XI (XO p)
  | XO p -> XI (pred_double p)
  | XH -> XH

  type mask = Pos.mask =
  | IsNul
  | IsPos of positive
  | IsNeg

  (** val succ_double_mask : mask -> mask **)

  let succ_double_mask = function
  | IsNul -> IsPos XH
  | IsPos p -> IsPos (XI p)
  | IsNeg -> IsNeg

  (** val double_mask : mask -> mask **)

  let double_mask = function
  | IsPos p -> IsPos (XO p)
  | x0 -> x0

  (** val double_pred_mask : positive -> mask **)

  let double_pred_mask = function
  | XI p -> IsPos (XO (XO p))
  | XO p -> IsPos (XO (pred_double p))
  | XH -> IsNul

  (** val sub_mask : positive -> positive -> mask **)

  let rec sub_mask x y =
    match x with
    | XI p ->
      (match y with
       | XI q0 -> double_mask (sub_mask p q0)
       | XO q0 -> succ_double_mask (sub_mask p q0)
       | XH -> IsPos (XO p))
    | XO p ->
      (match y with
       | XI q0 -> succ_double_mask (sub_mask_carry p q0)
       | XO q0 -> double_mask (sub_mask p q0)
       | XH -> IsPos (pred_double p))
    | XH -> (match y with
             | XH -> IsNul
             | _ -> IsNeg)

  (** val sub_mask_carry : positive -> positive -> mask **)

  and sub_mask_carry x y =
    match x with
    | XI p ->
      (match y with
       | XI q0 -> succ_double_mask (sub_mask_carry p q0)
       | XO q0 -> double_mask (sub_mask p q0)
       | XH -> IsPos (pred_double p))
    | XO p ->
      (match y with
       | XI q0 -> double_mask (sub_mask_carry p q0)
       | XO q0 -> succ_double_mask (sub_mask_carry p q0)
       | XH -> double_pred_mask p)
    | XH -> IsNeg

  (** val sub : positive -> positive -> positive **)

  let sub x y =
    match sub_mask x y with
    | IsPos z0 -> z0
    | _ -> XH

  (** val mul : positive -> positive -> positive **)

  let rec mul x y =
    match x with
    | XI p -> add y (XO (mul p y))
    | XO p -> XO (mul p y)
    | XH -> y

  (** val size_nat : positive -> nat **)

  let rec size_nat = function
  | XI p0 -> S (size_nat p0)
  | XO p0 -> S (size_nat p0)
  | XH -> S O

  (** val compare_cont : comparison -> positive -> positive -> comparison **)

  let rec compare_cont r x y =
    match x with
    | XI p ->
      (match y with
       | XI q0 -> compare_cont r p q0
       | XO q0 -> compare_cont Gt p q0
       | XH -> Gt)
    | XO p ->
      (match y with
       | XI q0 -> compare_cont Lt p q0
       | XO q0 -> compare_cont r p q0
       | XH -> Gt)
    | XH -> (match y with
             | XH -> r
             | _ -> Lt)

  (** val compare : positive -> positive -> comparison **)

  let compare =
    compare_cont Eq

  (** val eqb : positive -> positive -> bool **)

  let rec eqb p q0 =
    match p with
    | XI p0 -> (match q0 with
                | XI q1 -> eqb p0 q1
                | _ -> false)
    | XO p0 -> (match q0 with
                | XO q1 -> eqb p0 q1
                | _ -> false)
    | XH -> (match q0 with
             | XH -> true
             | _ -> false)

  (** val ggcdn :
      nat -> positive -> positive -> positive * (positive * positive) **)

  let rec ggcdn n a b =
    match n with
    | O -> (XH, (a, b))
    | S n0 ->
      (match a with
       | XI a' ->
         (match b with
          | XI b' ->
            (match compare a' b' with
             | Eq -> (a, (XH, XH))
             | Lt ->
               let (g, p) = ggcdn n0 (sub b' a') a in
               let (ba, aa) = p in (g, (aa, (add aa (XO ba))))
             | Gt ->
               let (g, p) = ggcdn n0 (sub a' b') b in
               let (ab, bb) = p in (g, ((add bb (XO ab)), bb)))
          | XO b0 ->
            let (g, p) = ggcdn n0 a b0 in
            let (aa, bb) = p in (g, (aa, (XO bb)))
          | XH -> (XH, (a, XH)))
       | XO a0 ->
         (match b with
          | XI _ ->
            let (g, p) = ggcdn n0 a0 b in
            let (aa, bb) = p in (g, ((XO aa), bb))
          | XO b0 -> let (g, p) = ggcdn n0 a0 b0 in ((XO g), p)
          | XH -> (XH, (a, XH)))
       | XH -> (XH, (XH, b)))

  (** val ggcd : positive -> positive -> positive * (positive * positive) **)

  let ggcd a b =
    ggcdn (Coq__1.add (size_nat a) (size_nat b)) a b

  (** val iter_op : ('a1 -> 'a1 -> 'a1) -> positive -> 'a1 -> 'a1 **)

  let rec iter_op op p a =
    match p with
    | XI p0 -> op a (iter_op op p0 (op a a))
    | XO p0 -> iter_op op p0 (op a a)
    | XH -> a

  (** val to_nat : positive -> nat **)

  let to_nat x =
    iter_op Coq__1.add x (S O)

  (** val of_succ_nat : nat -> positive **)

  let rec of_succ_nat = function
  | O -> XH
  | S x -> succ (of_succ_nat x)
 end

module Z =
 struct
  (** val double : z -> z **)

  let double = function
  | Z0 -> Z0
  | Zpos p -> Zpos (XO p)
  | Zneg p -> Zneg (XO p)

  (** val succ_double : z -> z **)

  let succ_double = function
  | Z0 -> Zpos XH
  | Zpos p -> Zpos (XI p)
  | Zneg p -> Zneg (Coq_Pos.pred_double p)

  (** val pred_double : z -> z **)

  let pred_double = function
  | Z0 -> Zneg XH
  | Zpos p -> Zpos (Coq_Pos.pred_double p)
  | Zneg p -> Zneg (XI p)

  (** val pos_sub : positive -> positive -> z **)

  let rec pos_sub x y =
    match x with
    | XI p ->
      (match y with
       | XI q0 -> double (pos_sub p q0)
       | XO q0 -> succ_double (pos_sub p q0)
       | XH -> Zpos (XO p))
    | XO p ->
      (match y with
       | XI q0 -> pred_double (pos_sub p q0)
       | XO q0 -> double (pos_sub p q0)
       | XH -> Zpos (Coq_Pos.pred_double p))
    | XH ->
      (match y with
       | XI q0 -> Zneg (XO q0)
       | XO q0 -> Zneg (Coq_Pos.pred_double q0)
       | XH -> Z0)

  (** val add : z -> z -> z **)

  let add x y =
    match x with
    | Z0 -> y
    | Zpos x' ->
      (match y with
       | Z0 -> x
       | Zpos y' -> Zpos (Coq_Pos.add x' y')
       | Zneg y' -> pos_sub x' y')
    | Zneg x' ->
      (match y with
       | Z0 -> x
       | Zpos y' -> pos_sub y' x'
       | Zneg y' -> Zneg (Coq_Pos.add x' y'))

  (** val opp : z -> z **)

  let opp = function
  | Z0 -> Z0
  | Zpos x0 -> Zneg x0
  | Zneg x0 -> Zpos x0

  (** val sub : z -> z -> z **)

  let sub m n =
    add m (opp n)

  (** val mul : z -> z -> z **)

  let mul x y =
    match x with
    | Z0 -> Z0
    | Zpos x' ->
      (match y with
       | Z0 -> Z0
       | Zpos y' -> Zpos (Coq_Pos.mul x' y')
       | Zneg y' -> Zneg (Coq_Pos.mul x' y'))
    | Zneg x' ->
      (match y with
       | Z0 -> Z0
       | Zpos y' -> Zneg (Coq_Pos.mul x' y')
       | Zneg y' -> Zpos (Coq_Pos.mul x' y'))

  (** val compare : z -> z -> comparison **)

  let compare x y =
    match x with
    | Z0 -> (match y with
             | Z0 -> Eq
             | Zpos _ -> Lt
             | Zneg _ -> Gt)
    | Zpos x' -> (match y with
                  | Zpos y' -> Coq_Pos.compare x' y'
                  | _ -> Gt)
    | Zneg x' ->
      (match y with
       | Zneg y' -> compOpp (Coq_Pos.compare x' y')
       | _ -> Lt)

  (** val sgn : z -> z **)

  let sgn = function
  | Z0 -> Z0
  | Zpos _ -> Zpos XH
  | Zneg _ -> Zneg XH

  (** val leb : z -> z -> bool **)

  let leb x y =
    match compare x y with
    | Gt -> false
    | _ -> true

  (** val ltb : z -> z -> bool **)

  let ltb x y =
    match compare x y with
    | Lt -> true
    | _ -> false

  (** val eqb : z -> z -> bool **)

  let eqb x y =
    match x with
    | Z0 -> (match y with
             | Z0 -> true
             | _ -> false)
    | Zpos p -> (match y with
                 | Zpos q0 -> Coq_Pos.eqb p q0
                 | _ -> false)
    | Zneg p -> (match y with
                 | Zneg q0 -> Coq_Pos.eqb p q0
                 | _ -> false)

  (** val abs : z -> z **)

  let abs = function
  | Zneg p -> Zpos p
  | x -> x

  (** val to_nat : z -> nat **)

  let to_nat = function
  | Zpos p -> Coq_Pos.to_nat p
  | _ -> O

  (** val of_nat : nat -> z **)

  let of_nat = function
  | O -> Z0
  | S n0 -> Zpos (Coq_Pos.of_succ_nat n0)

  (** val to_pos : z -> positive **)

  let to_pos = function
  | Zpos p -> p
  | _ -> XH

  (** val pos_div_eucl : positive -> z -> z * z **)

  let rec pos_div_eucl a b =
    match a with
    | XI a' ->
      let (q0, r) = pos_div_eucl a' b in
      let r' = add (mul (Zpos (XO XH)) r) (Zpos XH) in
      if ltb r' b
      then ((mul (Zpos (XO XH)) q0), r')
      else ((add (mul (Zpos (XO XH)) q0) (Zpos XH)), (sub r' b))
    | XO a' ->
      let (q0, r) = pos_div_eucl a' b in
      let r' = mul (Zpos (XO XH)) r in
      if ltb r' b
      then ((mul (Zpos (XO XH)) q0), r')
      else ((add (mul (Zpos (XO XH)) q0) (Zpos XH)), (sub r' b))
    | XH -> if leb (Zpos (XO XH)) b then (Z0, (Zpos XH)) else ((Zpos XH), Z0)

  (** val div_eucl : z -> z -> z * z **)

  let div_eucl a b =
    match a with
    | Z0 -> (Z0, Z0)
    | Zpos a' ->
      (match b with
       | Z0 -> (Z0, a)
       | Zpos _ -> pos_div_eucl a' b
       | Zneg b' ->
         let (q0, r) = pos_div_eucl a' (Zpos b') in
         (match r with
          | Z0 -> ((opp q0), Z0)
          | _ -> ((opp (add q0 (Zpos XH))), (add b r))))
    | Zneg a' ->
      (match b with
       | Z0 -> (Z0, a)
       | Zpos _ ->
         let (q0, r) = pos_div_eucl a' b in
         (match r with
          | Z0 -> ((opp q0), Z0)
          | _ -> ((opp (add q0 (Zpos XH))), (sub b r)))
       | Zneg b' -> let (q0, r) = pos_div_eucl a' (Zpos b') in (q0, (opp r)))

  (** val div : z -> z -> z **)

  let div a b =
    let (q0, _) = div_eucl a b in q0

  (** val modulo : z -> z -> z **)

  let modulo a b =
    let (_, r) = div_eucl a b in r

  (** val ggcd : z -> z -> z * (z * z) **)

  let ggcd a b =
    match a with
    | Z0 -> ((abs b), (Z0, (sgn b)))
    | Zpos a0 ->
      (match b with
       | Z0 -> ((abs a), ((sgn a), Z0))
       | Zpos b0 ->
         let (g, p) = Coq_Pos.ggcd a0 b0 in
         let (aa, bb) = p in ((Zpos g), ((Zpos aa), (Zpos bb)))
       | Zneg b0 ->
         let (g, p) = Coq_Pos.ggcd a0 b0 in
         let (aa, bb) = p in ((Zpos g), ((Zpos aa), (Zneg bb))))
    | Zneg a0 ->
      (match b with
       | Z0 -> ((abs a), ((sgn a), Z0))
       | Zpos b0 ->
         let (g, p) = Coq_Pos.ggcd a0 b0 in
         let (aa, bb) = p in ((Zpos g), ((Zneg aa), (Zpos bb)))
       | Zneg b0 ->
         let (g, p) = Coq_Pos.ggcd a0 b0 in
         let (aa, bb) = p in ((Zpos g), ((Zneg aa), (Zneg bb))))
 end

(** val zeq_bool : z -> z -> bool **)

let zeq_bool x y =
  match Z.compare x y with
  | Eq -> true
  | _ -> false

(** val nth : nat -> 'a1 list -> 'a1 -> 'a1 **)

let rec nth n l default =
  match n with
  | O -> (match l with
          | [] -> default
          | x :: _ -> x)
  | S m -> (match l with
            | [] -> default
            | _ :: t -> nth m t default)

(** val map : ('a1 -> 'a2) -> 'a1 list -> 'a2 list **)

let rec map f = function
| [] -> []
| a :: t -> (f a) :: (map f t)

(** val flat_map : ('a1 -> 'a2 list) -> 'a1 list -> 'a2 list **)

let rec flat_map f = function
| [] -> []
| x :: t -> app (f x) (flat_map f t)

(** val fold_left : ('a1 -> 'a2 -> 'a1) -> 'a2 list -> 'a1 -> 'a1 **)

let rec fold_left f l a0 =
  match l with
  | [] -> a0
  | b :: t -> fold_left f t (f a0 b)

(** val existsb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec existsb f = function
| [] -> false
| a :: l0 -> (||) (f a) (existsb f l0)

(** val forallb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec forallb f = function
| [] -> true
| a :: l0 -> (&&) (f a) (forallb f l0)

(** val filter : ('a1 -> bool) -> 'a1 list -> 'a1 list **)

let rec filter f = function
| [] -> []
| x :: l0 -> if f x then x :: (filter f l0) else filter f l0

(** val firstn : nat -> 'a1 list -> 'a1 list **)

let rec firstn n l =
  match n with
  | O -> []
  | S n0 -> (match l with
             | [] -> []
             | a :: l0 -> a :: (firstn n0 l0))

(** val skipn : nat -> 'a1 list -> 'a1 list **)

let rec skipn n l =
  match n with
  | O -> l
  | S n0 -> (match l with
             | [] -> []
             | _ :: l0 -> skipn n0 l0)

(** val seq : nat -> nat -> nat list **)

let rec seq start = function
| O -> []
| S len0 -> start :: (seq (S start) len0)

type q = { qnum : z; qden : positive }

(** val inject_Z : z -> q **)

let inject_Z x =
  { qnum = x; qden = XH }

(** val qeq_bool : q -> q -> bool **)

let qeq_bool x y =
  zeq_bool (Z.mul x.qnum (Zpos y.qden)) (Z.mul y.qnum (Zpos x.qden))

(** val qle_bool : q -> q -> bool **)

let qle_bool x y =
  Z.leb (Z.mul x.qnum (Zpos y.qden)) (Z.mul y.qnum (Zpos x.qden))

(** val qplus : q -> q -> q **)

let qplus x y =
  { qnum = (Z.add (Z.mul x.qnum (Zpos y.qden)) (Z.mul y.qnum (Zpos x.qden)));
    qden = (Coq_Pos.mul x.qden y.qden) }

(** val qmult : q -> q -> q **)

let qmult x y =
  { qnum = (Z.mul x.qnum y.qnum); qden = (Coq_Pos.mul x.qden y.qden) }

(** val qopp : q -> q **)

let qopp x =
  { qnum = (Z.opp x.qnum); qden = x.qden }

(** val qminus : q -> q -> q **)

let qminus x y =
  qplus x (qopp y)

(** val qinv : q -> q **)

let qinv x =
  match x.qnum with
  | Z0 -> { qnum = Z0; qden = XH }
  | Zpos p -> { qnum = (Zpos x.qden); qden = p }
  | Zneg p -> { qnum = (Zneg x.qden); qden = p }

(** val qdiv : q -> q -> q **)

let qdiv x y =
  qmult x (qinv y)

(** val qred : q -> q **)

let qred q0 =
  let { qnum = q1; qden = q2 } = q0 in
  let (r1, r2) = snd (Z.ggcd q1 (Zpos q2)) in
  { qnum = r1; qden = (Z.to_pos r2) }

type arithmetic =
| Plus
| Minus
| Times
| Quotient
| Remainder

type comparison0 =
| Equal
| Less
| AtMost
| Member

type list_function =
| Len
| Sum
| Product
| Largest
| Smallest
| All
| Any
| Distinct

type expr =
| Int of z
| Float of q
| Text of string
| Name of string
| Nil
| Cons of expr * expr
| Field of expr * string
| Item of expr * expr
| Part of expr * expr * expr
| Arithmetic of arithmetic * expr * expr
| Negative of expr
| Compare of comparison0 * expr * expr
| And of expr * expr
| Or of expr * expr
| Not of expr
| If of expr * expr * expr
| ForAll of string * expr * expr
| Exists of string * expr * expr
| Collect of string * expr * expr * expr
| Flatten of expr
| Apply of list_function * expr
| Range of expr * expr
| Stated of expr
| Let of string * expr * expr
| Reduce of string * string * expr * expr * expr
| Undefined

type rule = { slug : string; relies : string list; applies : expr option;
              demand : expr; over : expr option }

type cause =
| RunTime
| NotStated
| NotDefined

(** val strength : cause -> nat **)

let strength = function
| RunTime -> S O
| NotStated -> S (S O)
| NotDefined -> S (S (S O))

type value =
| VInt of z
| VFloat of q
| VBool of bool
| VText of string
| VList of value list
| VRecord of (string * value) list
| VUnknown of cause * string option

(** val undefined : value **)

let undefined =
  VUnknown (NotDefined, None)

(** val stronger : cause -> cause -> cause **)

let stronger a b =
  if Nat.ltb (strength a) (strength b) then b else a

(** val joined : cause option -> value -> cause option **)

let joined found = function
| VUnknown (c, _) ->
  (match found with
   | Some d -> Some (stronger d c)
   | None -> Some c)
| _ -> found

(** val strongest : value list -> cause option **)

let strongest values =
  fold_left joined values None

(** val strict : value list -> value -> value **)

let strict parts known0 =
  match strongest parts with
  | Some c -> VUnknown (c, None)
  | None -> known0

(** val known : value -> bool **)

let rec known = function
| VList items -> forallb known items
| VRecord fields ->
  let rec all = function
  | [] -> true
  | p :: rest -> let (_, v0) = p in (&&) (known v0) (all rest)
  in all fields
| VUnknown (_, _) -> false
| _ -> true

(** val qfloor : q -> z **)

let qfloor x =
  let { qnum = n; qden = d } = x in Z.div n (Zpos d)

type environment = string -> value

(** val updated : environment -> string -> value -> environment **)

let updated names name v other =
  if (=) name other then v else names other

(** val is_truth : bool -> value -> bool **)

let is_truth b = function
| VBool c -> eqb b c
| _ -> false

(** val kleene : bool -> value list -> value **)

let kleene decides parts =
  if existsb (is_truth decides) parts
  then VBool decides
  else strict parts (VBool (negb decides))

(** val negation : value -> value **)

let negation = function
| VBool b -> VBool (negb b)
| VUnknown (c, s) -> VUnknown (c, s)
| _ -> undefined

(** val rational : value -> q option **)

let rational = function
| VInt z0 -> Some (inject_Z z0)
| VFloat q0 -> Some q0
| _ -> None

(** val less : value -> value -> bool **)

let less a b =
  match a with
  | VInt x ->
    (match b with
     | VInt y -> Z.ltb x y
     | _ ->
       (match rational a with
        | Some x0 ->
          (match rational b with
           | Some y -> negb (qle_bool y x0)
           | None -> false)
        | None -> false))
  | _ ->
    (match rational a with
     | Some x ->
       (match rational b with
        | Some y -> negb (qle_bool y x)
        | None -> false)
     | None -> false)

(** val on_integers : arithmetic -> z -> z -> value **)

let on_integers sign x y =
  match sign with
  | Plus -> VInt (Z.add x y)
  | Minus -> VInt (Z.sub x y)
  | Times -> VInt (Z.mul x y)
  | Quotient -> if Z.ltb Z0 y then VInt (Z.div x y) else undefined
  | Remainder -> if Z.ltb Z0 y then VInt (Z.modulo x y) else undefined

(** val on_rationals : arithmetic -> q -> q -> value **)

let on_rationals sign x y =
  match sign with
  | Plus -> VFloat (qred (qplus x y))
  | Minus -> VFloat (qred (qminus x y))
  | Times -> VFloat (qred (qmult x y))
  | Quotient ->
    if qle_bool y { qnum = Z0; qden = XH }
    then undefined
    else VInt (qfloor (qdiv x y))
  | Remainder ->
    if qle_bool y { qnum = Z0; qden = XH }
    then undefined
    else VFloat (qred (qminus x (qmult y (inject_Z (qfloor (qdiv x y))))))

(** val calculate : arithmetic -> value -> value -> value **)

let calculate sign a b =
  match a with
  | VInt x ->
    (match b with
     | VInt y -> on_integers sign x y
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x0 ->
          (match rational b with
           | Some y -> on_rationals sign x0 y
           | None -> undefined)
        | None -> undefined))
  | VList l ->
    (match b with
     | VList r -> (match sign with
                   | Plus -> VList (app l r)
                   | _ -> undefined)
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x ->
          (match rational b with
           | Some y -> on_rationals sign x y
           | None -> undefined)
        | None -> undefined))
  | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
  | _ ->
    (match b with
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x ->
          (match rational b with
           | Some y -> on_rationals sign x y
           | None -> undefined)
        | None -> undefined))

(** val negative : value -> value **)

let negative = function
| VInt z0 -> VInt (Z.opp z0)
| VFloat q0 -> VFloat (qopp q0)
| VUnknown (c, s) -> VUnknown (c, s)
| _ -> undefined

(** val equal : value -> value -> value **)

let rec equal a b =
  match a with
  | VInt x ->
    (match b with
     | VInt y -> VBool (Z.eqb x y)
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x0 ->
          (match rational b with
           | Some y -> VBool (qeq_bool x0 y)
           | None -> VBool false)
        | None -> VBool false))
  | VBool x ->
    (match b with
     | VBool y -> VBool (eqb x y)
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x0 ->
          (match rational b with
           | Some y -> VBool (qeq_bool x0 y)
           | None -> VBool false)
        | None -> VBool false))
  | VText x ->
    (match b with
     | VText y -> VBool ((=) x y)
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x0 ->
          (match rational b with
           | Some y -> VBool (qeq_bool x0 y)
           | None -> VBool false)
        | None -> VBool false))
  | VList l ->
    (match b with
     | VList r ->
       if Nat.eqb (length l) (length r)
       then kleene false
              (let rec pairs l0 r0 =
                 match l0 with
                 | [] -> []
                 | x :: l' ->
                   (match r0 with
                    | [] -> []
                    | y :: r' -> (equal x y) :: (pairs l' r'))
               in pairs l r)
       else VBool false
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x ->
          (match rational b with
           | Some y -> VBool (qeq_bool x y)
           | None -> VBool false)
        | None -> VBool false))
  | VUnknown (_, symbol) ->
    (match symbol with
     | Some s ->
       (match b with
        | VUnknown (_, symbol0) ->
          (match symbol0 with
           | Some t ->
             if (=) s t then VBool true else strict (a :: (b :: [])) undefined
           | None -> strict (a :: (b :: [])) undefined)
        | _ -> strict (a :: (b :: [])) undefined)
     | None -> strict (a :: (b :: [])) undefined)
  | _ ->
    (match b with
     | VUnknown (_, _) -> strict (a :: (b :: [])) undefined
     | _ ->
       (match rational a with
        | Some x ->
          (match rational b with
           | Some y -> VBool (qeq_bool x y)
           | None -> VBool false)
        | None -> VBool false))

(** val contains : value -> value -> value **)

let contains sequence v =
  match sequence with
  | VList items ->
    negation
      (kleene false (map (fun item0 -> negation (equal item0 v)) items))
  | VUnknown (c, s) -> VUnknown (c, s)
  | _ -> undefined

(** val compare0 : comparison0 -> value -> value -> value **)

let compare0 sign a b =
  match sign with
  | Equal -> equal a b
  | Less -> strict (a :: (b :: [])) (VBool (less a b))
  | AtMost -> strict (a :: (b :: [])) (VBool (negb (less b a)))
  | Member -> contains b a

(** val assoc : string -> (string * value) list -> value **)

let rec assoc name = function
| [] -> undefined
| p :: rest ->
  let (other, v) = p in if (=) name other then v else assoc name rest

(** val length_of : value -> value **)

let length_of = function
| VList items -> VInt (Z.of_nat (length items))
| VUnknown (c, s) -> VUnknown (c, s)
| _ -> undefined

(** val field : value -> string -> value **)

let field record name =
  match record with
  | VRecord fields ->
    if (=) name "rank"
    then length_of (assoc "shape" fields)
    else assoc name fields
  | VUnknown (c, s) -> VUnknown (c, s)
  | _ -> undefined

(** val item : value -> value -> value **)

let item sequence index =
  match sequence with
  | VList items ->
    (match index with
     | VInt i ->
       if (&&) (Z.leb Z0 i) (Z.ltb i (Z.of_nat (length items)))
       then nth (Z.to_nat i) items undefined
       else undefined
     | _ -> strict (sequence :: (index :: [])) undefined)
  | _ -> strict (sequence :: (index :: [])) undefined

(** val part : value -> value -> value -> value **)

let part sequence start stop =
  match sequence with
  | VList items ->
    (match start with
     | VInt a ->
       (match stop with
        | VInt b ->
          if (&&) ((&&) (Z.leb Z0 a) (Z.leb a b))
               (Z.leb b (Z.of_nat (length items)))
          then VList
                 (firstn (Z.to_nat (Z.sub b a)) (skipn (Z.to_nat a) items))
          else undefined
        | _ -> strict (sequence :: (start :: (stop :: []))) undefined)
     | _ -> strict (sequence :: (start :: (stop :: []))) undefined)
  | _ -> strict (sequence :: (start :: (stop :: []))) undefined

(** val choice : value -> value -> value -> value **)

let choice condition yes no =
  match condition with
  | VBool b -> if b then yes else no
  | VUnknown (_, _) ->
    if (&&) ((&&) (known yes) (known no)) (is_truth true (equal yes no))
    then yes
    else condition
  | _ -> undefined

(** val on_list : value -> (value list -> value) -> value **)

let on_list v f =
  match v with
  | VList items -> f items
  | VUnknown (c, s) -> VUnknown (c, s)
  | _ -> undefined

(** val chosen : (value -> value) -> value list -> value list **)

let chosen filter0 items =
  filter (fun v -> is_truth true (filter0 v)) items

(** val flattened : value -> value **)

let flattened lists =
  on_list lists (fun items ->
    strict items (VList
      (flat_map (fun v -> match v with
                          | VList inner -> inner
                          | _ -> []) items)))

(** val total : arithmetic -> z -> value list -> value **)

let total sign start items =
  strict items (fold_left (calculate sign) items (VInt start))

(** val is_zero : value -> bool **)

let is_zero v =
  is_truth true (equal v (VInt Z0))

(** val extreme : (value -> value -> bool) -> value list -> value **)

let extreme better items = match items with
| [] -> undefined
| first :: rest ->
  strict items
    (fold_left (fun best v -> if better v best then v else best) rest first)

(** val has_twins : value list -> bool **)

let rec has_twins = function
| [] -> false
| v :: rest ->
  (||)
    (existsb (fun w ->
      (&&) ((&&) (known v) (known w)) (is_truth true (equal v w))) rest)
    (has_twins rest)

(** val apply : list_function -> value list -> value **)

let apply function0 items =
  match function0 with
  | Len -> VInt (Z.of_nat (length items))
  | Sum -> total Plus Z0 items
  | Product ->
    if existsb is_zero items then VInt Z0 else total Times (Zpos XH) items
  | Largest -> extreme (fun v best -> less best v) items
  | Smallest -> extreme less items
  | All -> kleene false items
  | Any -> kleene true items
  | Distinct ->
    if has_twins items
    then VBool false
    else if Nat.ltb (length items) (S (S O))
         then VBool true
         else strict items (VBool true)

(** val integers : z -> nat -> z list **)

let integers first count =
  map (fun i -> Z.add first (Z.of_nat i)) (seq O count)

(** val range : value -> value -> value **)

let range first last =
  match first with
  | VInt a ->
    (match last with
     | VInt b ->
       VList (map (fun x -> VInt x) (integers a (Z.to_nat (Z.sub b a))))
     | _ -> strict (first :: (last :: [])) undefined)
  | _ -> strict (first :: (last :: [])) undefined

(** val stated : value -> bool **)

let stated = function
| VUnknown (_, _) -> false
| _ -> true

(** val eval : expr -> environment -> value **)

let rec eval e names =
  match e with
  | Int z0 -> VInt z0
  | Float q0 -> VFloat q0
  | Text s -> VText s
  | Name x -> names x
  | Nil -> VList []
  | Cons (a, b) ->
    on_list (eval b names) (fun rest -> VList ((eval a names) :: rest))
  | Field (r, f) -> field (eval r names) f
  | Item (s, i) -> item (eval s names) (eval i names)
  | Part (s, a, b) -> part (eval s names) (eval a names) (eval b names)
  | Arithmetic (sign, a, b) -> calculate sign (eval a names) (eval b names)
  | Negative a -> negative (eval a names)
  | Compare (sign, a, b) -> compare0 sign (eval a names) (eval b names)
  | And (a, b) -> kleene false ((eval a names) :: ((eval b names) :: []))
  | Or (a, b) -> kleene true ((eval a names) :: ((eval b names) :: []))
  | Not a -> negation (eval a names)
  | If (c, a, b) -> choice (eval c names) (eval a names) (eval b names)
  | ForAll (x, s, p) ->
    on_list (eval s names) (fun items ->
      kleene false (map (fun v -> eval p (updated names x v)) items))
  | Exists (x, s, p) ->
    on_list (eval s names) (fun items ->
      kleene true (map (fun v -> eval p (updated names x v)) items))
  | Collect (x, s, q0, a) ->
    on_list (eval s names) (fun items ->
      strict (map (fun v -> eval q0 (updated names x v)) items) (VList
        (map (fun v -> eval a (updated names x v))
          (chosen (fun v -> eval q0 (updated names x v)) items))))
  | Flatten a -> flattened (eval a names)
  | Apply (f, a) -> on_list (eval a names) (apply f)
  | Range (a, b) -> range (eval a names) (eval b names)
  | Stated a -> VBool (stated (eval a names))
  | Let (x, a, b) -> eval b (updated names x (eval a names))
  | Reduce (x, y, b, s, a) ->
    on_list (eval s names) (fun items ->
      fold_left (fun sum v -> eval b (updated (updated names x sum) y v))
        items (eval a names))
  | Undefined -> undefined

type verdict =
| Pass
| Fail
| Assumed
| Undecided
| NotApplicable

(** val of_unknown : cause -> verdict **)

let of_unknown = function
| RunTime -> Assumed
| _ -> Undecided

(** val decide : rule -> environment -> verdict **)

let decide r names =
  let judged =
    match eval r.demand names with
    | VBool truth ->
      if truth
      then (match r.over with
            | Some list0 ->
              (match eval list0 names with
               | VList items ->
                 (match items with
                  | [] -> NotApplicable
                  | _ :: _ -> Pass)
               | _ -> Pass)
            | None -> Pass)
      else Fail
    | VUnknown (c, _) -> of_unknown c
    | _ -> Undecided
  in
  (match r.applies with
   | Some condition ->
     (match eval condition names with
      | VBool truth -> if truth then judged else NotApplicable
      | VUnknown (c, _) -> of_unknown c
      | _ -> Undecided)
   | None -> judged)

(** val among : string list -> string -> bool **)

let among slugs s =
  existsb ((=) s) slugs

(** val judge :
    environment -> rule list -> string list -> (string * verdict) list **)

let rec judge names rules open0 =
  match rules with
  | [] -> []
  | r :: rest ->
    let outside =
      match r.applies with
      | Some c -> is_truth false (eval c names)
      | None -> false
    in
    let v =
      if (&&) (existsb (among open0) r.relies) (negb outside)
      then Undecided
      else decide r names
    in
    (r.slug,
    v) :: (judge names rest
            (match v with
             | Fail -> r.slug :: open0
             | Undecided -> r.slug :: open0
             | _ -> open0))
