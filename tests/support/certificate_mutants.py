"""Certificates with one number changed: what the checker accepts must claim the same.

python -m tests.support.certificate_mutants [--count 1000]

The certificates are of properties of random networks, which hold with little to spare, so that most changes matter.
A third of them have boxes that are halved, a third sides of neurons, and a third is of networks with Conv and MaxPool.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sonnx
from sonnx.base.files import sha256
from sonnx.model.reader import read
from sonnx.properties import certificate_checker
from sonnx.properties.chains import Chain
from sonnx.properties.rounds import HALVED
from tests.support.layer_networks import computed, image_network, network, session_of, vnnlib

CLAIMS = ("format", "claim", "model", "property")
"""The fields that say what is claimed."""
OF_EACH = 20
"""Changes of one certificate."""


def changed_certificates(certificate: str, count: int, seed: int) -> Iterator[str]:
    """Certificates that differ in one number, digest or digit."""
    draw, places = random.Random(seed), list(_places(json.loads(certificate)))
    for _ in range(count):
        changed = json.loads(certificate)
        _change(changed, draw.choice(places), draw)
        text = json.dumps(changed)
        if changed != json.loads(certificate):
            yield text


def outcome(model: bytes, text: str, changed: str) -> str:
    """What the checker says of a changed certificate; "WRONG" if it accepts another claim.

    Whether the property holds does not depend on the certificate, so an accepted one is right if its claim is that of
    the unchanged one.
    """
    try:
        certificate_checker.check(model, text.encode(), changed.encode())
    except (certificate_checker.Refused, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return "refused"
    stated = json.loads(changed)
    claims = {
        "format": certificate_checker.FORMAT, "claim": certificate_checker.CLAIM,
        "model": sha256(model), "property": sha256(text.encode()),
    }  # fmt: skip
    same = all(stated[name] == claims[name] for name in CLAIMS)
    return "accepted, with the same claim" if same else "WRONG"


def refitted(certificate: str, text: str) -> str:
    """The certificate with the digest of another property."""
    return json.dumps(json.loads(certificate) | {"property": sha256(text.encode())})


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a document that hold a number, a digest, or digits."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(inner, (*place, key))
    elif place[0] not in ("tool", "conditions") and value != "":
        yield place


def _change(document: Any, place: tuple[Any, ...], draw: random.Random) -> None:
    for key in place[:-1]:
        document = document[key]
    value = document[place[-1]]
    if isinstance(value, int):
        document[place[-1]] = draw.choice((value + 1, value - 1, 1 - value))
    elif place[-1] == "at":
        document[place[-1]] = repr(float(value) * draw.choice((0.5, -1.0, 1 + 2.0**-52, 3.0)) + draw.choice((0, 1e-3)))
    else:
        index = draw.randrange(len(value))
        document[place[-1]] = value[:index] + draw.choice("0123456789") + value[index + 1 :]


# ------------------------------------------------------------------ the campaign


def certified(seed: int, folder: Path) -> tuple[bytes, str, str, str] | None:
    """A random network, a property that holds with little to spare, its certificate, and one that does not hold.

    Of one seed of three the network has two inputs, whose box is halved; of the next so many that parts are the sides
    of neurons; of the third it has Conv, MaxPool, sums of two values, and often two outputs.
    """
    draw = np.random.default_rng(seed)
    if seed % 3 == 0:
        return _certified_image(draw, folder)
    inputs, share, radius = (2, 0.02, 1.0) if seed % 3 == 1 else (HALVED + 2, 0.8, 0.5)
    sizes = (inputs, *(int(n) for n in draw.integers(3, 8, 2)), 2)
    model, layers = network(draw, sizes)
    values = list(computed(layers, draw.uniform(-radius, radius, (4000, inputs))))[2]
    spare, least = share * np.ptp(values[:, 0]), values[:, 0].min()
    text, violated = (vnnlib(inputs, 2, radius, f"(<= Y_0 {end:.6f})") for end in (least - spare, least + 1e-5))
    (folder / "p.vnnlib").write_text(text, "utf-8")
    return _with_certificate(model, text, violated, folder)


def _certified_image(draw: np.random.Generator, folder: Path) -> tuple[bytes, str, str, str] | None:
    """As `certified`, of a network of a small image; the property is about a sum over all outputs."""
    model = image_network(draw, 4)
    chain = Chain(read(model.SerializeToString()))
    outputs, radius = chain.outputs_count, 0.25
    row = np.where(draw.integers(2, size=outputs) > 0, 1.0, -1.0)
    session, shape = session_of(model)
    points = draw.choice([-radius, radius], (200, *shape)).astype("f4")
    values = [np.concatenate([each.reshape(-1) for each in session.run(None, {"x": point})]) @ row for point in points]
    ends = np.full((1, chain.inputs), radius)
    bound = float(chain.rows(-ends, ends, row[None]).least[0, 0])
    least = min(map(float, values))
    terms = " ".join(f"(* {factor:.1f} Y_{index})" for index, factor in enumerate(row))
    text, violated = (
        vnnlib(chain.inputs, outputs, radius, f"(<= (+ {terms}) {end:.6f})")
        for end in (bound + 0.2 * (least - bound), least + 1e-5)
    )
    return _with_certificate(model.SerializeToString(), text, violated, folder)


def _with_certificate(model: bytes, text: str, violated: str, folder: Path) -> tuple[bytes, str, str, str] | None:
    (folder / "p.vnnlib").write_text(text, "utf-8")
    found = sonnx.verify_property(model, folder / "p.vnnlib", unchecked=True, search=4.0)
    return (model, text, found.certificate, violated) if found.certificate else None


def main(arguments: list[str]) -> int:
    """Run the campaign: 1 if a changed claim is accepted, or an unchanged certificate refused."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.certificate_mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="changed certificates (default 1000)")
    options = parser.parse_args(arguments)
    outcomes, seed = Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder:
        while outcomes["refused"] + outcomes["accepted, with the same claim"] < options.count:
            seed += 1
            case = certified(seed, Path(folder))
            if case is None:
                continue
            model, text, certificate, violated = case
            certificate_checker.check(model, text.encode(), certificate.encode())
            outcomes["unchanged, accepted"] += 1
            outcomes["of these with sides of neurons"] += '"neuron"' in certificate
            outcomes["of these with Conv"] += seed % 3 == 0
            wrong = outcome(model, violated, refitted(certificate, violated)) != "refused"
            outcomes["WRONG" if wrong else "with a violated property, refused"] += 1
            outcomes.update(
                outcome(model, text, changed) for changed in changed_certificates(certificate, OF_EACH, seed)
            )
    print("; ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
    return int(outcomes["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
