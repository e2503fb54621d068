"""The WhyML interpretation of the rule language: an expression as a formula or term of Why3.

A list is a `seq` of Why3's library, a string a `string`, an int an `int`, a float the `real` it stands for.  Logic
functions of Why3 are total: a built-in function or an index that is undefined has a value about which nothing is known.
`PRELUDE` defines what Why3's library has not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sonnx.language.domain import BuiltIn, Environment, Expression, Thunk
from sonnx.language.type_checker import ListType, RecordType, RuleType, TypeChecker, built_in_types

PRELUDE = """\
module Prelude
  use export int.Int
  use export int.MinMax
  use export seq.Seq
  use export seq.Mem
  use export seq.FoldLeft
  use int.EuclideanDivision as E
  use export real.RealInfix
  use export real.FromInt
  use real.Truncate

  (* floor division and its remainder, as in Python; of a divisor 0 nothing is known *)
  function floor_div (a b : int) : int = if b > 0 then E.div a b else E.div (-a) (-b)
  function floor_mod (a b : int) : int = a - b * floor_div a b

  function real_floor_div (a b : real) : int = Truncate.floor (a /. b)
  function real_floor_mod (a b : real) : real = a -. b *. from_int (real_floor_div a b)

  let function range (first last : int) : seq int
    ensures { length result = max 0 (last - first) }
    ensures { forall i. 0 <= i < length result -> result[i] = first + i }
  = create (max 0 (last - first)) (fun i -> first + i)

  (* the items of s at which p holds, in their order *)
  let rec function filter (p : 'a -> bool) (s : seq 'a) : seq 'a
    variant { length s }
  = if length s = 0 then empty
    else let rest = filter p s[.. length s - 1] in
      if p s[length s - 1] then snoc rest s[length s - 1] else rest

  let rec function flatten (s : seq (seq 'a)) : seq 'a
    variant { length s }
  = if length s = 0 then empty else flatten s[.. length s - 1] ++ s[length s - 1]

  function map_seq (f : 'a -> 'b) (s : seq 'a) : seq 'b = create (length s) (fun i -> f s[i])
  function sum (s : seq int) : int = fold_left (fun a b -> a + b) 0 s
  function product (s : seq int) : int = fold_left (fun a b -> a * b) 1 s
  function largest (s : seq int) : int = fold_left max s[0] s
  function smallest (s : seq int) : int = fold_left min s[0] s
  predicate distinct_items (s : seq 'a) =
    forall i j. 0 <= i < j < length s -> s[i] <> s[j]

  type tensor = {
    shape : seq int;
    element_type : string;
    values : seq real;
  }
end
"""

KEYWORDS = frozenset({
    "abstract", "absurd", "alias", "any", "as", "assert", "assume", "at", "axiom", "by", "check", "clone",
    "coinductive", "constant", "cut", "do", "done", "downto", "else", "end", "ensures", "epsilon", "exists",
    "export", "false", "for", "forall", "fun", "function", "ghost", "goal", "if", "import", "in", "inductive",
    "invariant", "label", "lemma", "let", "match", "meta", "module", "mutable", "not", "old", "partial",
    "predicate", "private", "pure", "raise", "reads", "rec", "ref", "requires", "return", "returns", "scope",
    "so", "then", "theory", "to", "true", "try", "type", "use", "val", "variant", "while", "with", "writes",
    "range", "filter", "flatten", "sum", "product", "largest", "smallest", "shape", "values", "length", "get",
    "set", "create", "empty", "cons", "snoc", "mem", "min", "max", "concat", "float",
})  # fmt: skip
"""Names that a variable cannot have: keywords, and functions of the prelude."""
AND, OR = "/\\", "\\/"
UNKNOWN = {"int": "unknown_int", "bool": "unknown_bool", "string": "unknown_string"}
"""Constants about which nothing is known, by type: the value of what is undefined."""


@dataclass(frozen=True, slots=True)
class Written:
    """A WhyML text with its type in the rule language."""

    text: str
    type: RuleType
    bounds: tuple[str, str] | None = None
    """The first number of a range, and the one after its last."""


def identifier(name: str) -> str:
    """A WhyML name of a variable: an upper-case first letter gets a prefix, a keyword a suffix."""
    text = re.sub(r"\W+", "_", name).strip("_")
    text = f"t_{text}" if text[:1].isupper() or text[:1].isdigit() else text
    return f"{text}_" if text in KEYWORDS else text


def type_name(rule_type: RuleType) -> str:
    """The WhyML type of a type of the rule language."""
    match rule_type:
        case ListType(of="nothing"):
            return "seq int"
        case ListType(of=of):
            inner = type_name(of)
            return f"seq ({inner})" if " " in inner else f"seq {inner}"
        case RecordType():
            return "tensor"
        case "float":
            return "real"
    return str(rule_type)


def names_as_written(types: Mapping[str, RuleType]) -> dict[str, Written]:
    """The environment of an expression: each name, also of a question such as written(axis), as a variable."""
    return {name: Written(identifier(name), value_type) for name, value_type in types.items()}


def written(expression: Expression, environment: Environment) -> Written:
    """An expression in WhyML; the environment has the names as `Written`."""
    written: Written = expression.evaluate(WhymlPrinter(), environment)
    return written


def function_text(function: BuiltIn) -> str:
    """A built-in function as a logic function or predicate."""
    types, result = built_in_types(function)
    names = [Written(identifier(name), value_type) for name, value_type in zip(function.parameters, types, strict=True)]
    body: Written = function.interpret(WhymlPrinter(result), names)
    formals = " ".join(f"({name.text} : {type_name(name.type)})" for name in names)
    head = f"predicate {function.name} {formals}"
    if result != "bool":
        head = f"function {function.name} {formals} : {type_name(result)}"
    return f"  {head} =\n    {body.text}\n"


class WhymlPrinter:
    """The domain of WhyML texts, see `domain.Domain`; `result` is the type of what is undefined."""

    def __init__(self, result: RuleType = "int") -> None:
        self.types = TypeChecker()
        self.result = result

    def constant(self, value: int | float | str) -> Written:
        if isinstance(value, str):
            return Written('"' + value.replace('"', '\\"') + '"', "string")
        if isinstance(value, float):
            exact = Fraction(value)
            text = f"(from_int ({exact.numerator}) /. from_int {exact.denominator})"
            return Written(text, "float")
        return Written(f"({value})" if value < 0 else str(value), "int")

    def listing(self, items: Sequence[Written]) -> Written:
        text = "empty"
        for written in reversed(items):
            text = f"(cons {_atom(written.text)} {text})"
        return Written(text, self.types.listing([each.type for each in items]))

    def field(self, value: Written, name: str) -> Written:
        result_type = self.types.field(value.type, name)
        if name == "rank":
            return Written(f"(length {_atom(value.text)}.shape)", result_type)
        return Written(f"{_atom(value.text)}.{'element_type' if name == 'type' else name}", result_type)

    def item(self, sequence: Written, index: Written) -> Written:
        return Written(f"{_atom(sequence.text)}[{index.text}]", self.types.item(sequence.type, index.type))

    def part(self, sequence: Written, start: Written | None, stop: Written | None) -> Written:
        result_type = self.types.part(sequence.type, start.type if start else None, stop.type if stop else None)
        edges = f"{start.text if start else ''} .. {stop.text if stop else ''}"
        return Written(f"{_atom(sequence.text)}[{edges}]", result_type)

    def arithmetic(self, sign: str, left: Written, right: Written) -> Written:
        list_type = self.types.arithmetic(sign, left.type, right.type)
        if isinstance(list_type, ListType):
            return Written(f"({left.text} ++ {right.text})", list_type)
        if sign in ("//", "%"):
            name = "floor_div" if sign == "//" else "floor_mod"
            if "float" in (left.type, right.type):
                name, left, right = f"real_{name}", _real(left), _real(right)
            return Written(f"({name} {_atom(left.text)} {_atom(right.text)})", list_type)
        left, right = self._common(left, right)
        return Written(f"({left.text} {sign}{'.' if list_type == 'float' else ''} {right.text})", list_type)

    def negative(self, value: Written) -> Written:
        zero = "0.0 -." if value.type == "float" else "-"
        return Written(f"({zero} {value.text})", value.type)

    def compare(self, sign: str, left: Written, right: Written) -> Written:
        self.types.compare(sign, left.type, right.type)
        if sign in ("in", "not in"):
            text = f"(mem {_atom(left.text)} {_atom(right.text)})"
            return Written(text if sign == "in" else f"(not {text})", "bool")
        left, right = self._common(left, right)
        if isinstance(left.type, ListType):
            text = f"({left.text} == {right.text})"
            return Written(text if sign == "==" else f"(not {text})", "bool")
        if sign in ("==", "!="):
            return Written(f"({left.text} {'=' if sign == '==' else '<>'} {right.text})", "bool")
        return Written(f"({left.text} {sign}{'.' if left.type == 'float' else ''} {right.text})", "bool")

    def conjunction(self, parts: Sequence[Thunk]) -> Written:
        return self._joined(AND, "true", parts)

    def disjunction(self, parts: Sequence[Thunk]) -> Written:
        return self._joined(OR, "false", parts)

    def negation(self, value: Written) -> Written:
        return Written(f"(not {value.text})", "bool")

    def choice(self, condition: Written, then: Thunk, otherwise: Thunk) -> Written:
        left, right = then(), otherwise()
        result_type = self.types.choice("bool", lambda: left.type, lambda: right.type)
        texts = [
            UNKNOWN.get(str(result_type), "empty") if side.type == "undefined" else side.text for side in (left, right)
        ]
        return Written(f"(if {condition.text} then {texts[0]} else {texts[1]})", result_type)

    def quantify(self, name: str, variable: str, sequence: Written, body: Callable[[Written], Written]) -> Written:
        item = Written(identifier(variable), self.types.item(sequence.type, "int"))
        within = f"mem {item.text} {_atom(sequence.text)}"
        if sequence.bounds is not None:
            first, last = sequence.bounds
            within = f"{first} <= {item.text} < {last}"
        head, sign = ("forall", "->") if name == "all" else ("exists", AND)
        return Written(f"({head} {item.text} : {type_name(item.type)}. {within} {sign} {body(item).text})", "bool")

    def collect(
        self,
        variable: str,
        sequence: Written,
        body: Callable[[Written], Written],
        where: Callable[[Written], Written] | None,
    ) -> Written:
        item = Written(identifier(variable), self.types.item(sequence.type, "int"))
        over = _atom(sequence.text)
        formal = f"fun ({item.text} : {type_name(item.type)}) ->"
        if where is not None:
            over = f"(filter ({formal} {where(item).text}) {over})"
        written = body(item)
        return Written(f"(map_seq ({formal} {written.text}) {over})", ListType(written.type))

    def flatten(self, lists: Written) -> Written:
        return Written(f"(flatten {_atom(lists.text)})", self.types.flatten(lists.type))

    def function(self, name: str, arguments: Sequence[Written]) -> Written:
        result_type = self.types.function(name, [argument.type for argument in arguments])
        if name == "stated":
            return Written("true", result_type)
        texts = [_atom(argument.text) for argument in arguments]
        if name == "range" and len(texts) == 1:
            texts = ["0", *texts]
        if name == "range":
            return Written(f"(range {' '.join(texts)})", result_type, (texts[0], texts[1]))
        if name in ("all", "any"):
            some = f"(mem {'false' if name == 'all' else 'true'} {texts[0]})"
            return Written(f"(not {some})" if name == "all" else some, result_type)
        called = {"len": "length", "max": "largest", "min": "smallest", "distinct": "distinct_items"}.get(name, name)
        return Written(f"({called} {' '.join(texts)})", result_type)

    def built_in(self, function: BuiltIn, arguments: Sequence[Written]) -> Written:
        result_type = self.types.built_in(function, [argument.type for argument in arguments])
        return Written(f"({function.name} {' '.join(_atom(argument.text) for argument in arguments)})", result_type)

    def reduce(self, function: BuiltIn, sequence: Written, start: Written) -> Written:
        result_type = self.types.reduce(function, sequence.type, start.type)
        return Written(f"(fold_left {function.name} {_atom(start.text)} {_atom(sequence.text)})", result_type)

    def undefined(self, reason: str) -> Written:
        return Written(UNKNOWN.get(str(self.result), "empty"), "undefined")

    def _joined(self, sign: str, none: str, parts: Sequence[Thunk]) -> Written:
        texts = [part().text for part in parts]
        return Written(f"({f' {sign} '.join(texts)})" if texts else none, "bool")

    def _common(self, left: Written, right: Written) -> tuple[Written, Written]:
        """Both sides as real numbers if one of them is."""
        if {left.type, right.type} != {"int", "float"}:
            return left, right
        return _real(left), _real(right)


def _real(number: Written) -> Written:
    return number if number.type == "float" else Written(f"(from_int {_atom(number.text)})", "float")


def _atom(text: str) -> str:
    """A text that can be an argument: a name, a constant, or one in parentheses."""
    return text if re.fullmatch(r"[\w.\"]+|\(.*\)", text) and _closed(text) else f"({text})"


def _closed(text: str) -> bool:
    """Whether the first parenthesis closes at the end."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and text.startswith("(") and place < len(text) - 1:
            return False
    return True
