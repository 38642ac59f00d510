# SPDX-License-Identifier: Apache-2.0
"""A small file system in memory that a test can fill, seen by this process and by what it starts."""
import ctypes
import os
import sys

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_RECURSIVE, _PRIVATE = 0x4000, 0x40000


def _skip(what):
    print(f"SKIPPED: {what}:", os.strerror(ctypes.get_errno()))
    sys.exit(77)


def enter():
    """Call it first, before any thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS) != 0 and libc.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
        _skip("no mounts of its own")
    if libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None) != 0:
        _skip("mounts would be seen by others")


class SmallDisk:
    def __init__(self, place, size):
        self.place = place
        self.libc = ctypes.CDLL(None, use_errno=True)
        if self.libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, f"size={size}".encode()) != 0:
            _skip("no file system of its own")

    def fill(self):
        """To the last byte; again and again for what was freed meanwhile."""
        with open(self.place / "ballast", "ab", buffering=0) as ballast:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while ballast.write(b"x" * size):
                        pass
                except OSError:
                    pass

    def empty(self):
        (self.place / "ballast").unlink()

    def stop(self):
        self.libc.umount2(os.fsencode(self.place), 2)
