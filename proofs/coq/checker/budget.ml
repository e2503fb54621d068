(* The work of one call and of one model: visits of list items, and names that are given a value.  A rule that would take more is
   undecided, as in `sonnx check`. *)
exception Exhausted

let most_of_call = 5_000_000
let most_of_model = 100_000_000
let longest_range = 1_000_000
let of_call = ref 0
let of_model = ref 0

let spend_many n =
  of_call := !of_call + n + 1;
  if !of_call > most_of_call then raise Exhausted
let spend () = spend_many 0

let end_of_call () =
  of_model := !of_model + !of_call;
  of_call := 0
let start_of_call () =
  end_of_call ();
  if !of_model > most_of_model then raise Exhausted

let of_new_model () = of_model := 0; of_call := 0
