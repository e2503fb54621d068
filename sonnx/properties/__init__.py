"""Properties of models: what must hold for every input of a box, in every implementation within hypotheses."""
