# SPDX-License-Identifier: Apache-2.0
"""The part of JSON Schema 2020-12 that our API's document uses; a keyword that is not known here is a fault itself."""
import re

TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
NOTES = {"description", "format"}


def is_a(value, kind):
    if kind in ("integer", "number"):
        return isinstance(value, (int, float) if kind == "number" else int) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def faults(value, schema, root, place="$"):
    """What of `value` is not as `schema` has it; `root` is the document that holds the references."""
    if "$ref" in schema:
        target = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        yield from faults(value, target, root, place)
    for keyword, wanted in schema.items():
        if keyword == "type":
            kinds = [wanted] if isinstance(wanted, str) else wanted
            if not any(is_a(value, kind) for kind in kinds):
                yield f"{place}: {value!r} is not {wanted}"
                return
        elif keyword == "enum":
            if value not in wanted:
                yield f"{place}: {value!r} is none of {wanted}"
        elif keyword == "pattern":
            if not re.search(wanted, value):
                yield f"{place}: {value!r} does not match {wanted}"
        elif keyword in ("minimum", "maximum"):
            if value < wanted if keyword == "minimum" else value > wanted:
                yield f"{place}: {value!r} is beyond the {keyword} {wanted}"
        elif keyword == "required":
            yield from (f"{place}: {name} is missing" for name in wanted if name not in value)
        elif keyword == "properties":
            for name in value.keys() & wanted.keys():
                yield from faults(value[name], wanted[name], root, f"{place}.{name}")
        elif keyword == "additionalProperties":
            for name in value.keys() - schema.get("properties", {}).keys():
                if wanted is False:
                    yield f"{place}.{name}: not documented"
                else:
                    yield from faults(value[name], wanted, root, f"{place}.{name}")
        elif keyword == "items":
            for index, item in enumerate(value):
                yield from faults(item, wanted, root, f"{place}[{index}]")
        elif keyword == "anyOf":
            if all(list(faults(value, one, root, place)) for one in wanted):
                yield f"{place}: {value!r} is none of the forms"
        elif keyword not in NOTES | {"$ref"}:
            yield f"{place}: the schema has the unknown keyword {keyword}"
