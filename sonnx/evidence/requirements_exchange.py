"""The rules of an edition as requirements in ReqIF 1.2 (OMG formal/16-07-01), for tools such as DOORS and Polarion.

A requirement has the same identifier in every pack, so that links to it survive an import of a later pack.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sonnx.evidence.traceability import Trace
from sonnx.profile.requirement_identifiers import requirement_identifier

NAMESPACE = "http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"
ATTRIBUTES = {
    "identifier": "ReqIF.ForeignID",
    "name": "ReqIF.Name",
    "text": "ReqIF.Text",
    "class": "Class",
    "because": "Rationale",
    "source": "Source",
    "labels": "Labels of the source",
    "condition": "Condition",
    "cases": "Verified by cases",
    "theorems": "Verified by theorems",
    "result": "Result for this model",
}
"""The attributes of a requirement by their names in ReqIF; those with a prefix are named by the ReqIF implementers."""


def requirements_document(matrix: Sequence[Trace], edition: str, answers: Mapping[str, Mapping[str, int]]) -> bytes:
    """The requirements of a traceability matrix as an XML document in UTF-8, equal for equal arguments.

    Args:
        matrix: the rules with their cases and theorems.
        edition: the name of the edition.
        answers: the number of results of each verdict, by the slug of the rule.
    """
    time = f"{edition}-01T00:00:00Z"  # ReqIF demands a time; that of the edition changes with nothing else
    root = Element("REQ-IF", xmlns=NAMESPACE)
    header = SubElement(SubElement(root, "THE-HEADER"), "REQ-IF-HEADER", IDENTIFIER=_key("header", edition))
    for name, text in (
        ("CREATION-TIME", time),
        ("REQ-IF-TOOL-ID", "sonnx"),
        ("REQ-IF-VERSION", "1.0"),
        ("SOURCE-TOOL-ID", "sonnx"),
        ("TITLE", f"Requirements of the SONNX profile, edition {edition}"),
    ):
        SubElement(header, name).text = text
    content = SubElement(SubElement(root, "CORE-CONTENT"), "REQ-IF-CONTENT")
    dated = {"LAST-CHANGE": time}
    text_type = _key("type", "text")
    _add(content, "DATATYPES", "DATATYPE-DEFINITION-STRING", text_type, "Text", dated | {"MAX-LENGTH": "32000"})
    types = SubElement(content, "SPEC-TYPES")
    object_type = SubElement(
        types, "SPEC-OBJECT-TYPE", {"IDENTIFIER": _key("type", "requirement"), "LONG-NAME": "Requirement", **dated}
    )
    _define(object_type, text_type, dated)
    SubElement(types, "SPECIFICATION-TYPE", {"IDENTIFIER": _key("type", "edition"), "LONG-NAME": "Edition", **dated})
    objects = SubElement(content, "SPEC-OBJECTS")
    for trace in matrix:
        _object(objects, trace, edition, answers.get(trace.rule.slug, {}), dated)
    _specification(content, [_key("rule", row.rule.slug, edition) for row in matrix], edition, dated)
    indent(root, " ")
    written: str = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{written}\n'.encode()


def _key(*parts: str) -> str:
    """An identifier that XML allows and that depends on nothing but its parts."""
    return "_" + hashlib.sha256("/".join(parts).encode()).hexdigest()[:32]


def _add(content: Element, group: str, tag: str, key: str, name: str, attributes: Mapping[str, str]) -> None:
    SubElement(SubElement(content, group), tag, {"IDENTIFIER": key, "LONG-NAME": name, **attributes})


def _define(owner: Element, text_type: str, dated: Mapping[str, str]) -> None:
    attributes = SubElement(owner, "SPEC-ATTRIBUTES")
    for key, name in ATTRIBUTES.items():
        element = SubElement(
            attributes,
            "ATTRIBUTE-DEFINITION-STRING",
            {"IDENTIFIER": _key("attribute", key), "LONG-NAME": name, **dated},
        )
        SubElement(SubElement(element, "TYPE"), "DATATYPE-DEFINITION-STRING-REF").text = text_type


def _object(objects: Element, trace: Trace, edition: str, answers: Mapping[str, int], dated: Mapping[str, str]) -> None:
    rule = trace.rule
    stated = {
        "identifier": requirement_identifier(rule, edition),
        "name": rule.slug,
        "text": rule.statement,
        "class": rule.kind,
        "because": rule.because,
        "source": rule.source,
        "labels": ", ".join(f"{tag.label} in {tag.text}" for tag in rule.tags),
        "condition": rule.require.text if rule.require else "decided by a function",
        "cases": _separated([*trace.conforming, *trace.violating]),
        "theorems": _separated(trace.theorems),
        "result": _separated(f"{number} {verdict}" for verdict, number in answers.items()) or "no subject",
    }
    key = _key("rule", rule.slug, edition)
    element = SubElement(objects, "SPEC-OBJECT", {"IDENTIFIER": key, "LONG-NAME": stated["identifier"], **dated})
    SubElement(SubElement(element, "TYPE"), "SPEC-OBJECT-TYPE-REF").text = _key("type", "requirement")
    values = SubElement(element, "VALUES")
    for name in ATTRIBUTES:
        value = SubElement(values, "ATTRIBUTE-VALUE-STRING", {"THE-VALUE": stated[name]})
        SubElement(SubElement(value, "DEFINITION"), "ATTRIBUTE-DEFINITION-STRING-REF").text = _key("attribute", name)


def _separated(texts: Iterable[str]) -> str:
    return "; ".join(texts)


def _specification(content: Element, keys: Iterable[str], edition: str, dated: Mapping[str, str]) -> None:
    name = f"SONNX {edition}"
    element = SubElement(
        SubElement(content, "SPECIFICATIONS"),
        "SPECIFICATION",
        {"IDENTIFIER": _key("specification", edition), "LONG-NAME": name, **dated},
    )
    SubElement(SubElement(element, "TYPE"), "SPECIFICATION-TYPE-REF").text = _key("type", "edition")
    children = SubElement(element, "CHILDREN")
    for key in keys:
        place = SubElement(children, "SPEC-HIERARCHY", {"IDENTIFIER": _key("place", key), **dated})
        SubElement(SubElement(place, "OBJECT"), "SPEC-OBJECT-REF").text = key
