"""`sonnx fix`: rewrites a model into the profile without changing a value.

`fix.py` has the function; `passes.py` the rewrites in the order they run; `rewrites/` each of them, by subject.
Nothing that checks, proves or runs models imports this package, and the command imports it when it is given.
"""
