"""The public functions: a model in, a typed result out; no printing, no state.

Results have `to_text()` and `to_json()`.  `check` needs neither numpy nor a solver nor the onnx package; what needs
one of them stands in the modules beside this one.  What several functions take:

    source: the model: a path, the bytes of a file, a binary file object, an `onnx.ModelProto`, an `onnx_ir.Model`, or a
        `torch.onnx.ONNXProgram`.
    edition: a name of restrictions/editions.toml; the default edition if None.
    bind: numbers for symbolic dimensions; the result holds for these numbers.
    input_shapes: shapes of graph inputs, also where the model states no dimension or a symbol.
    strict_versions: accept only the operator version that a text specifies.
    unchecked: accept a model that does not conform to the edition.
    hashed: read the whole file once, use these bytes and state their SHA-256.
    limits: size limits of a model, see `sonnx.model.limits`.
    name: what the result calls the model; by default the base name of the file.

Where the source is not a readable ONNX model they raise `Unreadable`, for an edition, rule or symbol that does not
exist `UsageError`, and where values are asked of a model that does not conform `NotConforming`, with its report.
"""
