"""Runs a model by the definitions alone, without kernels."""

import numpy

from sonnx.applying import Applier
from sonnx.catalogue import editions
from sonnx.inforce import InForce
from sonnx.parse import read
from sonnx.program import program
from sonnx.running import execute
from sonnx.scope import imports_of


def by_definition(source, inputs):
    """The outputs, as `sonnx.run(source, inputs, unchecked=True)` gives them."""
    model, known = read(source), editions()
    applier = Applier(
        InForce(known.editions[known.default]), imports_of(model.imports)[""], conforming=False, plain=True
    )
    made = {name: numpy.array(values) for name, values in inputs.items()}
    return execute(program(model, applier, made, keep=False))
