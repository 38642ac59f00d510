# SPDX-License-Identifier: Apache-2.0
"""Backups as kinglet writes them, made and taken apart with Python's own tar: whoever changes one by hand is a stranger."""
import hashlib
import io
import json
import tarfile

MANIFEST = {"format": 1, "program": "kinglet", "version": "0.0.0", "made_at": "2026-05-04T06:12:09.318Z", "carries": "shared",
            "about_bytes": 0}


def contents(archive):
    """Name to bytes, in order."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar.getmembers()}


def entry(name, content, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname, info.mode = len(content), kind, link, 0o640
    return info.tobuf(tarfile.USTAR_FORMAT) + content + b"\0" * (-len(content) % 512)


def sealed(entries, manifest=None, files=None):
    """The archive of these entries (name, content), or bytes as they are, with its manifest and an end that fits."""
    made = entry("manifest.json", json.dumps(MANIFEST if manifest is None else manifest).encode())
    made += b"".join(one if isinstance(one, bytes) else entry(*one) for one in entries)
    end = {"files": len(entries) if files is None else files, "sha256": hashlib.sha256(made).hexdigest()}
    return made + entry("end.json", json.dumps(end).encode()) + b"\0" * 1024


def changed(archive, change):
    """The same archive with `change` done to its files (name to bytes), sealed anew."""
    files = contents(archive)
    manifest = json.loads(files.pop("manifest.json"))
    files.pop("end.json")
    change(files, manifest)
    return sealed(list(files.items()), manifest)
