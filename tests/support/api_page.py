# SPDX-License-Identifier: Apache-2.0
"""Writes docs/api.md from the API's own document, so that the page cannot tell another story."""
import json

WIDTH = 116
# What stands for a path's {names} in examples.
NAMES = {"date": "2026-05-04", "source": "camera", "name": "kinglet-demo", "version": "abeafa17ac94", "slug": "busy",
         "file": "style.css"}
IDS = {"visits": "vis_01JTCX8M2Q4R6T8V0W2Y4Z6B8D", "predictions": "prd_01JTCX8M2Q4R6T8V0W2Y4Z6B8D",
       "tracks": "trk_01JTCX8M2Q4R6T8V0W2Y4Z6B8D",
       "jobs": "job_01JTCX8M2Q4R6T8V0W2Y4Z6B8D", "species": "turdus-merula"}
# One or two parameters that show what the others are like.
QUERIES = {"get_visits": "?species=turdus-merula&limit=10", "get_predictions": "?outcome=accepted&limit=10",
           "get_visits_csv": "?since=2026-05-01T00:00:00Z", "get_tracks": "?named=false&limit=10",
           "get_days": "?from=2026-05-01&to=2026-05-31",
           "get_stats_history": "?limit=12", "get_events": "?types=visit,prediction", "get_snapshot": "?width=640",
           "get_stream": "?fps=5&width=640", "post_classify": "?top_k=3",
           "post_activate": "?trial=yes&frames=100", "post_pull": "?activate=yes", "put_model": "?activate=yes"}
WHO = {"open": "anybody", "read": "`read`: the home network, without a token",
       "live": "`live`: this machine; others with a token", "admin": "`admin`: a token, or the socket"}
GROUPS = [("The page", lambda path: path == "/" or path.startswith("/web")),
          ("Predictions", lambda path: "/predictions" in path),
          ("Visits, species, days", lambda path: any(f"/api/v1/{one}" in path for one in ("visits", "tracks", "species", "days"))),
          ("Live", lambda path: any(one in path for one in ("/events", "snapshot.jpg", "stream.mjpg", "/camera", "/frames"))),
          ("Model", lambda path: any(f"/api/v1/{one}" in path for one in ("model", "jobs", "classify"))),
          ("State", lambda path: any(one in path for one in ("/stats", "/doctor", "/livez", "/readyz", "/healthz", "/metrics",
                                                             "/version"))),
          ("Control", lambda path: any(f"/api/v1/{one}" in path for one in ("config", "notify", "control", "backup", "restore", "log", "region", "names"))),
          ("Access", lambda path: any(f"/api/v1/{one}" in path for one in ("session", "invitations"))),
          ("Open Inference Protocol", lambda path: path.startswith("/v2")),
          ("This document", lambda path: True)]


def written(value, indent=0):
    """JSON for people: what fits into a line stays in one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, list):
        rows = [inner + written(one, indent + 2) for one in value]
    else:
        rows = [f"{inner}{json.dumps(name)}: {written(one, indent + 2)}" for name, one in value.items()]
    opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
    return opening + "\n" + ",\n".join(rows) + "\n" + " " * indent + closing


def example_path(path):
    for part in path.split("/"):
        if part.startswith("{"):
            name = part[1:-1]
            kind = next((kind for kind in IDS if f"/{kind}/" in path), None)
            of_a_phone = name == "name" and "/notify/" in path
            path = path.replace(part, IDS[kind] if name == "id" else "phone" if of_a_phone else NAMES[name])
    return path


def body_of(operation):
    """Type and example of the request's body; the first type of JSON, else the first."""
    content = operation.get("requestBody", {}).get("content", {})
    media = next((one for one in content if "json" in one), next(iter(content), None))
    return media, content.get(media, {}).get("example")


def text_file(name):
    return "labels.txt" if name == "put_model_labels" else "birds.txt"


def curl(method, path, operation):
    """The command as a person types it."""
    name = operation["operationId"]
    words = ["curl"]
    types = [media for response in operation["responses"].values() for media in response.get("content", {})]
    endless = name in ("get_events", "get_stream", "get_named_stream")
    if endless and "text/event-stream" in types:
        words.append("-N")
    elif any(media.startswith(("image/", "multipart/", "video/")) for media in types):
        words.append("-o " + example_path(path).split("/")[-1])
    elif name == "get_backup":
        words.append("-o feeder.tar")
    if method == "head":
        words.append("-I")
    elif method != "get":
        words.append("-X " + method.upper())
    if operation["x-role"] in ("live", "admin"):
        words.append('-H "Authorization: Bearer $TOKEN"')
    if any(one["name"] == "If-Match" for one in operation.get("parameters", [])):
        words.append("-H 'If-Match: *'")
    media, example = body_of(operation)
    if name == "post_classify":
        words += ["-H 'Content-Type: image/jpeg'", "--data-binary @bird.jpg"]
    elif name == "put_model":
        words.append("-T bird.tflite")
    elif name == "post_config_validate":
        words += ["-H 'Content-Type: application/toml'", "--data-binary @kinglet.toml"]
    elif name == "post_restore":
        words += ["-H 'Content-Type: application/x-tar'", "-T feeder.tar"]
    elif media == "text/plain":
        words += ["-H 'Content-Type: text/plain'", f"--data-binary @{text_file(name)}"]
    elif media and example is not None:
        text = json.dumps(example, ensure_ascii=False)
        words += [f"-H 'Content-Type: {media}'", f"-d '{text}'" if len(text) <= 150 else "-d @request.json"]
    address = "http://127.0.0.1:8420" + example_path(path) + QUERIES.get(name, "")
    words.append(f"'{address}'" if any(c in address for c in "?&*") else address)
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 3 > WIDTH and line.strip():
            lines.append(line + " \\")
            line = "       "
        line += " " + word
    return "\n".join([*lines, line])


def answers(operation):
    """What comes back: the first example, or the types."""
    out = []
    for status, response in operation["responses"].items():
        if status == "default":
            continue
        content = response.get("content", {})
        if not content:
            out.append(f"{status}, without a body.")
        for media, one in content.items():
            if "example" in one:
                out += [f"{status}, `{media}`:", "", *("    " + line for line in written(one["example"]).split("\n")), ""]
            else:
                out.append(f"{status}, `{media}`.")
    return out[:-1] if out and not out[-1] else out


def operation_text(method, path, operation):
    lines = [f"### {method.upper()} {path}", "", operation["summary"] + ". For " + WHO[operation["x-role"]] + "." +
             (" Experimental: its form may change." if "x-stability" in operation else "")]
    query = [f"`{one['name']}`" for one in operation.get("parameters", []) if one["in"] == "query"]
    if query:
        lines.append("Parameters: " + ", ".join(query) + ".")
    lines += ["", curl(method, path, operation), ""]
    media, example = body_of(operation)
    if media == "text/plain":
        lines += [f"`{text_file(operation['operationId'])}`, such as:", "", *("    " + line for line in example.splitlines()), ""]
    elif example is not None and len(json.dumps(example)) > 150:
        lines += ["`request.json`:", "", *("    " + line for line in written(example).split("\n")), ""]
    return [*lines, *answers(operation), ""]


def page(document):
    lines = ["# The API", "",
             "<!-- Written by tests/e2e/daemon/api_page_test.py from the route table; KINGLET_UPDATE_GOLDEN=1 writes it anew. -->",
             "",
             "All of it is in `/api/v1/openapi.json` (OpenAPI 3.1), from which this page is made. `$TOKEN` is a token",
             "([access.md](access.md)); on this machine `live` needs none. An error is `application/problem+json` with a `type`",
             "that `GET /problems/{slug}` explains. Unknown parameters are refused; readers ignore members that they do not know.",
             "What comes by itself: [live.md](live.md). The inference protocol: [kserve.md](kserve.md).", ""]
    left = [(method, path, one) for path, methods in document["paths"].items() for method, one in methods.items()]
    for title, belongs in GROUPS:
        inference = title == "Open Inference Protocol"
        here = [row for row in left if row[1].startswith("/v2") == inference and belongs(row[1])]
        left = [row for row in left if row not in here]
        if here:
            lines += [f"## {title}", ""]
        for row in here:
            lines += operation_text(*row)
    return "\n".join(lines).rstrip("\n") + "\n"
