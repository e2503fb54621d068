(* Every byte string is a model, or there is a reason why it is none. *)
From Coq Require Import String List.
From Sonnx Require Import file_bytes messages message_theorems file_constants file_graphs file_model.
Open Scope string_scope.

Theorem a_model_or_a_reason t b :
  (exists m, read_model t b = Done m) \/ (exists r, r <> Unfinished /\ read_model t b = Refused r).
Proof.
  unfold read_model, read_file. pose proof (reading_ends (formats t) most_levels (empty_message (formats t) "onnx.ModelProto") b) as E.
  destruct (read_message (formats t) most_levels (empty_message (formats t) "onnx.ModelProto") b) as [m|r]; cbn [next].
  - destruct (refusal m) as [parts|]; [right; exists (TooMany parts); split; [discriminate|reflexivity]|].
    unfold model_at. destruct (message_at "graph" m) as [g|]; [left|right; exists NoGraph; split; [discriminate|reflexivity]].
    destruct (graph_at _ _ _ _ _) as [main s]. destruct (each _ _ _ _) as [functions s']. eexists. reflexivity.
  - right. exists r. split; [congruence|reflexivity].
Qed.
