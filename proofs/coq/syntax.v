(* The syntax of the rule language: docs/rule-language.md, "Grammar". *)
From Coq Require Import ZArith QArith String List.

Inductive arithmetic := Plus | Minus | Times | Quotient | Remainder.

(* The exporter writes a > b as b < a, a >= b as b <= a, a != b as not a == b, a not in s as not a in s. *)
Inductive comparison := Equal | Less | AtMost | Member.

(* The functions of one list. *)
Inductive list_function := Len | Sum | Product | Largest | Smallest | All | Any | Distinct.

(* The constructs.  A chain such as 0 <= a < r is a conjunction of its parts; the filter of all(p for x in s if q) is
   part of the condition; a list by several loops is flattened.  A call of a built-in function is a Let for each of
   its parameters around its body, whose names are those of the function. *)
Inductive expr :=
| Int (number : Z)
| Float (number : Q)
| Text (text : string)
| Name (name : string)
| Nil
| Cons (first rest : expr)
| Field (record : expr) (field : string)
| Item (sequence index : expr)
| Part (sequence start stop : expr)
| Arithmetic (sign : arithmetic) (left right : expr)
| Negative (number : expr)
| Compare (sign : comparison) (left right : expr)
| And (left right : expr)
| Or (left right : expr)
| Not (condition : expr)
| If (condition yes no : expr)
| ForAll (variable : string) (sequence condition : expr)
| Exists (variable : string) (sequence condition : expr)
| Collect (variable : string) (sequence filter element : expr)
| Flatten (lists : expr)
| Apply (function : list_function) (sequence : expr)
| Range (first last : expr)
| Stated (value : expr)
| Let (name : string) (value body : expr)
| Reduce (total item : string) (body sequence start : expr)
| Undefined.

(* The filter of a list that has none. *)
Definition Always : expr := Stated (Int 0).

(* A rule of an operator: it applies where [applies] holds, and is not evaluated where a rule that it relies on does
   not hold.  [over] is the list that an outermost all(...) ranges over. *)
Record rule := {
  slug : string;
  relies : list string;
  applies : option expr;
  demand : expr;
  over : option expr;
}.
