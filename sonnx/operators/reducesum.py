"""ReduceSum: reduced[k] = the sum of data[i] over all i that agree with k outside the axes, rounded once.

ONNX ReduceSum-1 to ReduceSum-18.  The axes are an attribute, from operator set 13 on an input; without them all
axes are reduced, or none where noop_with_empty_axes is 1.
"""

from __future__ import annotations

from sonnx.numerics.enclosures import averages
from sonnx.numerics.reductions import axis_reduction
from sonnx.operators.operator import Operator

define, fast_path = axis_reduction(since=13, mean=False)

OPERATOR = Operator(name="ReduceSum", define=define, fast_path=fast_path, bound=averages.reduce_mean_or_sum(mean=False))
