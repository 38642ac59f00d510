# SPDX-License-Identifier: Apache-2.0
"""A network of the test's own, on its loopback device: this machine, a phone at home, and a stranger elsewhere."""
import ctypes
import fcntl
import http.client
import os
import socket
import struct
import sys

from support import PATIENCE, Reply

HERE = "127.0.0.1"
HERE_TOO = "127.0.0.2"
HOME = "192.168.77.1"        # the daemon's address on the home network
PHONE = "192.168.77.23"
STRANGER = "203.0.113.9"
PHONE_V6 = "2001:db8:77::23"  # a global address in the prefix of the daemon's interface

_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000


def _name_and_address(name, address):
    return struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(address))


def enter():
    """Call it first, before any thread: everything this process starts is in that network."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NET) != 0 and libc.unshare(_NEW_USER | _NEW_NET) != 0:
        print("SKIPPED: no network of its own:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", 0x1 | 0x40, b""))
        for number, address in enumerate((HOME, PHONE, STRANGER)):
            fcntl.ioctl(control, _SIOCSIFADDR, _name_and_address(f"lo:{number}", address))
            fcntl.ioctl(control, _SIOCSIFNETMASK, _name_and_address(f"lo:{number}", "255.255.255.255"))
    if socket.has_ipv6:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SIOCSIFADDR, struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, PHONE_V6), 64, 1))


def settle(addresses):
    """Further addresses of this machine, from which it can be asked."""
    for number, address in enumerate(addresses):
        if ":" in address:
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
                fcntl.ioctl(control, _SIOCSIFADDR, struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, address), 64, 1))
            continue
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            name = f"lo:{100 + number}"
            fcntl.ioctl(control, _SIOCSIFADDR, _name_and_address(name, address))
            fcntl.ioctl(control, _SIOCSIFNETMASK, _name_and_address(name, "255.255.255.255"))


def connect(source, port, timeout=PATIENCE):
    target = PHONE_V6 if ":" in source else HERE if source.startswith("127.") else HOME
    return socket.create_connection((target, port), timeout, (source, 0))


def ask(source, port, path, method="GET", body=None, headers=None):
    """`headers`: a dictionary, or pairs where a name may come twice."""
    lines = list((headers or {}).items()) if isinstance(headers or {}, dict) else headers
    if not any(name.lower() == "host" for name, _ in lines):
        lines = [("Host", "localhost"), *lines]
    connection = http.client.HTTPConnection("unused", timeout=PATIENCE)
    connection.sock = connect(source, port)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in lines:
            connection.putheader(name, value)
        data = body.encode() if isinstance(body, str) else body
        if data is not None and not any(name.lower() == "content-length" for name, _ in lines):
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        return Reply(connection.getresponse(), path)
    finally:
        connection.close()
