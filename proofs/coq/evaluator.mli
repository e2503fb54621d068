
val negb : bool -> bool

type nat =
| O
| S of nat

val snd : ('a1 * 'a2) -> 'a2

val length : 'a1 list -> nat

val app : 'a1 list -> 'a1 list -> 'a1 list

type comparison =
| Eq
| Lt
| Gt

val compOpp : comparison -> comparison

val add : nat -> nat -> nat

type positive =
| XI of positive
| XO of positive
| XH

type z =
| Z0
| Zpos of positive
| Zneg of positive

val eqb : bool -> bool -> bool

module Nat :
 sig
  val eqb : nat -> nat -> bool

  val leb : nat -> nat -> bool

  val ltb : nat -> nat -> bool
 end

module Pos :
 sig
  type mask =
  | IsNul
  | IsPos of positive
  | IsNeg
 end

module Coq_Pos :
 sig
  val succ : positive -> positive

  val add : positive -> positive -> positive

  val add_carry : positive -> positive -> positive

  val pred_double : positive -> positive

  type mask = Pos.mask =
  | IsNul
  | IsPos of positive
  | IsNeg

  val succ_double_mask : mask -> mask

  val double_mask : mask -> mask

  val double_pred_mask : positive -> mask

  val sub_mask : positive -> positive -> mask

  val sub_mask_carry : positive -> positive -> mask

  val sub : positive -> positive -> positive

  val mul : positive -> positive -> positive

  val size_nat : positive -> nat

  val compare_cont : comparison -> positive -> positive -> comparison

  val compare : positive -> positive -> comparison

  val eqb : positive -> positive -> bool

  val ggcdn : nat -> positive -> positive -> positive * (positive * positive)

  val ggcd : positive -> positive -> positive * (positive * positive)

  val iter_op : ('a1 -> 'a1 -> 'a1) -> positive -> 'a1 -> 'a1

  val to_nat : positive -> nat

  val of_succ_nat : nat -> positive
 end

module Z :
 sig
  val double : z -> z

  val succ_double : z -> z

  val pred_double : z -> z

  val pos_sub : positive -> positive -> z

  val add : z -> z -> z

  val opp : z -> z

  val sub : z -> z -> z

  val mul : z -> z -> z

  val compare : z -> z -> comparison

  val sgn : z -> z

  val leb : z -> z -> bool

  val ltb : z -> z -> bool

  val eqb : z -> z -> bool

  val abs : z -> z

  val to_nat : z -> nat

  val of_nat : nat -> z

  val to_pos : z -> positive

  val pos_div_eucl : positive -> z -> z * z

  val div_eucl : z -> z -> z * z

  val div : z -> z -> z

  val modulo : z -> z -> z

  val ggcd : z -> z -> z * (z * z)
 end

val zeq_bool : z -> z -> bool

val nth : nat -> 'a1 list -> 'a1 -> 'a1

val map : ('a1 -> 'a2) -> 'a1 list -> 'a2 list

val flat_map : ('a1 -> 'a2 list) -> 'a1 list -> 'a2 list

val fold_left : ('a1 -> 'a2 -> 'a1) -> 'a2 list -> 'a1 -> 'a1

val existsb : ('a1 -> bool) -> 'a1 list -> bool

val forallb : ('a1 -> bool) -> 'a1 list -> bool

val filter : ('a1 -> bool) -> 'a1 list -> 'a1 list

val firstn : nat -> 'a1 list -> 'a1 list

val skipn : nat -> 'a1 list -> 'a1 list

val seq : nat -> nat -> nat list

type q = { qnum : z; qden : positive }

val inject_Z : z -> q

val qeq_bool : q -> q -> bool

val qle_bool : q -> q -> bool

val qplus : q -> q -> q

val qmult : q -> q -> q

val qopp : q -> q

val qminus : q -> q -> q

val qinv : q -> q

val qdiv : q -> q -> q

val qred : q -> q

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

val strength : cause -> nat

type value =
| VInt of z
| VFloat of q
| VBool of bool
| VText of string
| VList of value list
| VRecord of (string * value) list
| VUnknown of cause * string option

val undefined : value

val stronger : cause -> cause -> cause

val joined : cause option -> value -> cause option

val strongest : value list -> cause option

val strict : value list -> value -> value

val known : value -> bool

val qfloor : q -> z

type environment = string -> value

val updated : environment -> string -> value -> environment

val is_truth : bool -> value -> bool

val kleene : bool -> value list -> value

val negation : value -> value

val rational : value -> q option

val less : value -> value -> bool

val on_integers : arithmetic -> z -> z -> value

val on_rationals : arithmetic -> q -> q -> value

val calculate : arithmetic -> value -> value -> value

val negative : value -> value

val equal : value -> value -> value

val contains : value -> value -> value

val compare0 : comparison0 -> value -> value -> value

val assoc : string -> (string * value) list -> value

val length_of : value -> value

val field : value -> string -> value

val item : value -> value -> value

val part : value -> value -> value -> value

val choice : value -> value -> value -> value

val on_list : value -> (value list -> value) -> value

val chosen : (value -> value) -> value list -> value list

val flattened : value -> value

val total : arithmetic -> z -> value list -> value

val is_zero : value -> bool

val extreme : (value -> value -> bool) -> value list -> value

val has_twins : value list -> bool

val apply : list_function -> value list -> value

val integers : z -> nat -> z list

val range : value -> value -> value

val stated : value -> bool

val eval : expr -> environment -> value

type verdict =
| Pass
| Fail
| Assumed
| Undecided
| NotApplicable

val of_unknown : cause -> verdict

val decide : rule -> environment -> verdict

val among : string list -> string -> bool

val judge : environment -> rule list -> string list -> (string * verdict) list
