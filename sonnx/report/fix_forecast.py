"""What `sonnx fix` leaves of a model, as a check announces it: the counts of a dry run, never an estimate."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sonnx.base.escaping import escape, plural
from sonnx.profile.rewrites import OUTSIDE


class FixForecast(Struct, frozen=True):
    """The findings that `fix` leaves, by rule, at these shapes of the inputs whose shapes are open."""

    left: Mapping[str, int]
    """Findings after `fix`, by rule."""
    left_within_bound: Mapping[str, int]
    """Findings after `fix --within-bound`, by rule."""
    outside: Mapping[str, int] = {}
    """The nodes that `fix --within-bound` leaves outside the profile, by operator."""
    shapes: Mapping[str, tuple[int, ...]] = {}
    """Shapes of the open inputs at which every window fits and every reshape divides."""
    chosen: tuple[str, ...] = ()
    """The sizes in `shapes` that other ones could replace: the model does not fix them."""

    @property
    def sentence(self) -> str:
        """How many findings are left by which form of the command."""
        exact, bounded = sum(self.left.values()), sum(self.left_within_bound.values())
        text = f"sonnx fix leaves {exact or 'none'}"
        if exact and bounded < exact:
            text += f", with --within-bound {bounded or 'none'}"
        return text + (f": {self._without_text}" if self.outside else "")

    @property
    def _without_text(self) -> str:
        """The operators that the profile has no text of, and whether all else conforms."""
        listed = ", ".join(f"{escape(name)}, {plural(number, 'node')}" for name, number in self.outside.items())
        number = len(self.outside)
        rest = "; all else conforms" if self.left_within_bound.keys() == {OUTSIDE} else ""
        return f"{plural(number, 'operator')} {'has' if number == 1 else 'have'} no text: {listed}{rest}"


class ForecastRequest(Struct, frozen=True):
    """The model file and the options of a check that a rewriting has, too."""

    model: str
    edition: str
    strict_versions: bool
    bind: Mapping[str, int]
    input_shapes: Mapping[str, tuple[int, ...]]


class Forecast(Struct, frozen=True):
    """The answer to a request: a forecast, or why there is none."""

    forecast: FixForecast | None = None
    reason: str = ""
