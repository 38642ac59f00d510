# SPDX-License-Identifier: Apache-2.0
"""What Home Assistant requires of a device's discovery message, from its documentation of MQTT discovery and of each
platform: what must be there, what may, and the values that device classes and units can have together; and its templates,
which are Jinja2's, in a sandbox, with the message as value_json."""
import jinja2.sandbox

SHORT = {"dev": "device", "o": "origin", "cmps": "components", "p": "platform", "avty_t": "availability_topic"}
SHORT_DEVICE = {"ids": "identifiers", "mf": "manufacturer", "mdl": "model", "sw": "sw_version", "hw": "hw_version",
                "cu": "configuration_url", "name": "name"}
SHORT_ORIGIN = {"name": "name", "sw": "sw_version", "url": "support_url"}

COMMON = {"platform", "unique_id", "name", "icon", "entity_category", "json_attributes_topic"}
PLATFORMS = {  # required, optional
    "event": ({"state_topic", "event_types"}, {"value_template", "device_class"}),
    "sensor": ({"state_topic"}, {"value_template", "device_class", "state_class", "unit_of_measurement",
                                 "suggested_display_precision"}),
    "binary_sensor": ({"state_topic"}, {"value_template", "device_class"}),
    "image": ({"image_topic"}, {"content_type"}),
    "switch": ({"command_topic"}, {"state_topic", "value_template"}),
}
UNITS = {"duration": {"ms", "s", "min", "h", "d"}, "temperature": {"°C", "°F", "K"}}
CLASSES = {"sensor": {"duration", "temperature"}, "binary_sensor": {"occupancy", "problem"}}


TEMPLATES = jinja2.sandbox.ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)


def state_of(entity, message):
    """What Home Assistant takes from this message (an object) for the entity."""
    return TEMPLATES.from_string(entity["value_template"]).render(value_json=message).strip()


def spelled_out(names, short):
    return {short.get(name, name): value for name, value in names.items()}


def faults_of_entity(key, entity):
    entity = spelled_out(entity, SHORT)
    platform = entity.get("platform")
    if platform not in PLATFORMS:
        yield f"{key}: platform {platform}"
        return
    if entity.keys() == {"platform"}:
        return  # one that is to go
    required, optional = PLATFORMS[platform]
    for name in sorted((required | {"unique_id", "name"}) - entity.keys()):
        yield f"{key}: {name} is missing"
    for name in sorted(entity.keys() - required - optional - COMMON):
        yield f"{key}: {platform} has no {name}"
    kind, unit = entity.get("device_class"), entity.get("unit_of_measurement")
    if kind and kind not in CLASSES.get(platform, ()):
        yield f"{key}: device_class {kind}"
    if kind in UNITS and unit not in UNITS[kind]:
        yield f"{key}: unit {unit} of {kind}"
    if entity.get("state_class") not in (None, "measurement", "total", "total_increasing"):
        yield f"{key}: state_class"
    # Read-only platforms know no category "config".
    if entity.get("entity_category") not in (None, "diagnostic", *(["config"] if platform == "switch" else [])):
        yield f"{key}: entity_category"
    for name, value in entity.items():
        if name.endswith("_topic") and any(c in value for c in "#+"):
            yield f"{key}: {name} has a wildcard"
        if name.endswith("_template") and (value.count("{{") != value.count("}}") or value.count("{%") != value.count("%}")):
            yield f"{key}: {name} has open brackets"


def faults_of_device(message):
    """A list of what Home Assistant would refuse or complain of."""
    message = spelled_out(message, SHORT)
    faults = [f"{name} is missing" for name in ("device", "origin", "components") if name not in message]
    if faults:
        return faults
    faults += [f"unknown: {name}" for name in message.keys() - {"device", "origin", "components", "availability_topic", "qos"}]
    device = spelled_out(message["device"], SHORT_DEVICE)
    faults += [f"device: unknown {name}" for name in device.keys() - set(SHORT_DEVICE.values())]
    if not device.get("identifiers"):
        faults.append("device: no identifier")
    if not device.get("configuration_url", "http://").startswith(("http://", "https://", "homeassistant://")):
        faults.append("device: configuration_url")
    origin = spelled_out(message["origin"], SHORT_ORIGIN)
    if "name" not in origin or origin.keys() - set(SHORT_ORIGIN.values()):
        faults.append("origin")
    ids = [spelled_out(entity, SHORT).get("unique_id") for entity in message["components"].values() if len(entity) > 1]
    if len(set(ids)) != len(ids):
        faults.append("unique_id is not unique")
    for key, entity in message["components"].items():
        faults += faults_of_entity(key, entity)
    return faults
