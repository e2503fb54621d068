"""Fast kernels, one module for each operator that has one, equal to the plain definitions for all bit patterns.

A kernel module has `kernel(application)`, which gives a function of the inputs and of a C-contiguous array for the
output.  Where the outputs are several, or their shapes depend on values, it has `evaluate(application, inputs)` like
the definition.  The caller turns numpy's floating-point warnings off: a signalling NaN raises one and changes nothing.
docs/values.md says why each formula is equal to the definition and how fast it is.
"""
