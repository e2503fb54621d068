"""Runs a model by the definitions alone, without kernels."""

import numpy

from sonnx.checker.rules import ActiveRules
from sonnx.executor.executor import execute
from sonnx.executor.plan import program
from sonnx.executor.preparation import Applier
from sonnx.model.reader import read
from sonnx.model.scopes import imports_of
from sonnx.profile.catalogue import editions


def by_definition(source, inputs):
    """The outputs, as `sonnx.run(source, inputs, unchecked=True)` gives them."""
    model, known = read(source), editions()
    applier = Applier(
        ActiveRules(known.editions[known.default]), imports_of(model.imports)[""], conforming=False, plain=True
    )
    made = {name: numpy.array(values) for name, values in inputs.items()}
    return execute(program(model, applier, made, keep=False))
