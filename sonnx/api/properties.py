"""`verify_property`: a model and a property in, whether it holds in every implementation out."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from sonnx.base.options import keyword_arguments
from sonnx.model.reader import file_bytes, read
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.model.symbols import bind_symbols
from sonnx.properties.options import VerifyOptions
from sonnx.properties.result import PropertyResult
from sonnx.properties.verification import verify_model


@keyword_arguments(VerifyOptions, subjects=2)
def verify_property(source: Source, stated: str | os.PathLike[str] | None, options: VerifyOptions) -> PropertyResult:
    """Whether a property of a model holds for all inputs of its boxes, in every implementation within hypotheses.

    `stated` is the file of the property, in VNN-LIB (.vnnlib) or in TOML; None with `robust`.

    Raises:
        BadInput: the property is malformed, or about other inputs or outputs.
        NotConforming: the model does not conform; it carries the report.
        NotBounded: a node has no transfer function.
    """
    file = path_or_bytes(source)
    if isinstance(file, bytes):
        folder, data, shown = None, file, "model"
    else:
        folder, shown = Path(file).parent, repr(os.fspath(file))
        data = file_bytes(file, shown)
    model = bind_symbols(read(data, shown, options.limits, folder), options.bind, options.input_shapes)
    elsewhere = None
    if options.jobs is not None or options.cluster is not None:
        from sonnx.workers.properties import PartsElsewhere  # most runs need none
        from sonnx.workers.tasks import WorkPlace

        elsewhere = partial(PartsElsewhere, data, place=WorkPlace(jobs=options.jobs, cluster=options.cluster))
    return verify_model(
        model, data, name_of(file, options.name), folder, None if stated is None else Path(stated), options, elsewhere
    )
