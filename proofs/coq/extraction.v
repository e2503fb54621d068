(* The evaluator, the translation and the check as OCaml: checker/sonnx_verified.ml prints the verdict on a file,
   checker/second_encoder.ml prints terms.  The file is written to the folder that Coq runs in. *)
From Coq Require Import ZArith String Int Extraction ExtrOcamlBasic ExtrOcamlNativeString.
From Sonnx Require Import syntax values evaluation encoding lengths_first model call declarations alike graph_rules node_rules format_rules walk
  file_bytes wire_format messages file_constants file_graphs file_model.
(* Texts are compared by OCaml, byte by byte as in Coq. *)
Extract Constant String.compare =>
  "(fun (a : string) b -> let c = Stdlib.compare a b in if c < 0 then Lt else if c > 0 then Gt else Eq)".
Extract Inlined Constant String.eqb => "Stdlib.String.equal".
(* The heights of the trees that hold names are machine integers. *)
Extract Constant Z_as_Int.t => "int".
Extract Constant Z_as_Int._0 => "0".
Extract Constant Z_as_Int._1 => "1".
Extract Constant Z_as_Int._2 => "2".
Extract Constant Z_as_Int._3 => "3".
Extract Constant Z_as_Int.i2z =>
  "(let rec positive n = if n = 1 then XH else if n land 1 = 0 then XO (positive (n / 2)) else XI (positive (n / 2)) in
    fun n -> if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (- n)))".
Extract Constant Z_as_Int.opp => "(fun n -> - n)".
Extract Constant Z_as_Int.mul => "( * )".
Extract Constant Z_as_Int.add => "(+)".
Extract Constant Z_as_Int.sub => "(-)".
Extract Constant Z_as_Int.max => "(fun (a : int) b -> if a < b then b else a)".
Extract Constant Z_as_Int.ltb => "(fun (a : int) b -> a < b)".
Extract Constant Z_as_Int.leb => "(fun (a : int) b -> a <= b)".
Extract Constant Z_as_Int.eqb => "(fun (a : int) b -> a = b)".
Extract Constant Z_as_Int.gt_le_dec => "(fun (a : int) b -> a > b)".
Extract Constant Z_as_Int.ge_lt_dec => "(fun (a : int) b -> a >= b)".
Extract Constant Z_as_Int.eq_dec => "(fun (a : int) b -> a = b)".
(* Natural numbers are machine integers: they count what a list or a file has, or are below 2^57 (`is_below 7 128`). *)
Extract Inductive nat => "int" [ "0" "Stdlib.Int.succ" ] "(fun zero more n -> if n = 0 then zero () else more (n - 1))".
Extract Inlined Constant Nat.add => "(+)".
Extract Inlined Constant Init.Nat.add => "(+)".
Extract Inlined Constant Nat.sub => "(fun n m -> if n < m then 0 else n - m)".
Extract Inlined Constant Init.Nat.sub => "(fun n m -> if n < m then 0 else n - m)".
Extract Inlined Constant Nat.mul => "( * )".
Extract Inlined Constant Init.Nat.mul => "( * )".
Extract Inlined Constant Nat.div => "(fun n m -> if m = 0 then 0 else n / m)".
Extract Inlined Constant Init.Nat.div => "(fun n m -> if m = 0 then 0 else n / m)".
Extract Inlined Constant Nat.modulo => "(fun n m -> if m = 0 then n else n mod m)".
Extract Inlined Constant Init.Nat.modulo => "(fun n m -> if m = 0 then n else n mod m)".
Extract Inlined Constant Nat.min => "(fun (n : int) m -> if n < m then n else m)".
Extract Inlined Constant Init.Nat.min => "(fun (n : int) m -> if n < m then n else m)".
Extract Inlined Constant Nat.max => "(fun (n : int) m -> if n < m then m else n)".
Extract Inlined Constant Init.Nat.max => "(fun (n : int) m -> if n < m then m else n)".
Extract Inlined Constant Nat.eqb => "(fun (n : int) m -> n = m)".
Extract Inlined Constant Init.Nat.eqb => "(fun (n : int) m -> n = m)".
Extract Inlined Constant Nat.leb => "(fun (n : int) m -> n <= m)".
Extract Inlined Constant Init.Nat.leb => "(fun (n : int) m -> n <= m)".
Extract Inlined Constant Nat.ltb => "(fun (n : int) m -> n < m)".
Extract Inlined Constant Init.Nat.ltb => "(fun (n : int) m -> n < m)".
Extract Inlined Constant List.length => "Stdlib.List.length".
Extract Constant Pos.of_succ_nat =>
  "(let rec positive n = if n = 1 then XH else if n land 1 = 0 then XO (positive (n / 2)) else XI (positive (n / 2)) in
    fun n -> positive (n + 1))".
Extract Constant String.concat => "Stdlib.String.concat".
(* Bytes are a place and a length in a file. *)
Extract Constant bytes => "Slice.t".
Extract Constant next_byte => "Slice.next_byte".
Extract Constant divided => "Slice.divided".
Extract Constant byte_count => "Slice.byte_count".
Extract Constant every => "Slice.every".
Extract Constant text_of => "Slice.text_of".
Extract Constant bytes_of => "Slice.bytes_of".
(* What loops and pairs of items cost is counted; a range of more than a million numbers takes too much. *)
Extract Constant updated =>
  "(fun names name v -> Budget.spend (); fun other -> if Stdlib.String.equal name other then v else names other)".
Extract Constant negation =>
  "(fun v -> Budget.spend ();
     match v with VBool b -> VBool (not b) | VUnknown (c, _) -> VUnknown (c, None) | _ -> undefined)".
Extract Constant range =>
  "(fun first last -> match first, last with
     | VInt a, VInt b ->
       let rec upto z rest left =
         if left < 0 then raise Budget.Exhausted
         else if Z.leb z a then rest
         else let z = Z.sub z (Zpos XH) in upto z (VInt z :: rest) (left - 1) in
       if Z.leb b a then VList [] else VList (upto b [] Budget.longest_range)
     | _ -> strict (first :: last :: []) undefined)".
Extract Constant evaluation.item =>
  "(fun sequence index -> match sequence, index with
     | VList items, VInt (Zneg _) -> undefined
     | VList items, VInt z ->
       let rec at l p = match l with [] -> undefined | v :: rest -> if p = 0 then v else at rest (p - 1) in
       let rec number = function XH -> 1 | XO p -> 2 * number p | XI p -> 2 * number p + 1 in
       let rec bits = function XH -> 1 | XO p | XI p -> 1 + bits p in
       (match z with
        | Zpos p when bits p > 30 -> undefined
        | Zpos p -> let i = number p in Budget.spend_many (i / 64); at items i
        | _ -> at items 0)
     | _ -> strict (sequence :: index :: []) undefined)".
Extraction "evaluator.ml" judge encode guarded Z.add Z.mul Z.opp
  check findings exit_code conforms call.call nothing_stated Names.add Names.empty
  Z.of_nat read_model numbers_at escaped most_levels longest_name.
