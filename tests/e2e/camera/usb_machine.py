# SPDX-License-Identifier: Apache-2.0
"""An emulated machine with a USB controller, Debian's whole kernel (the emulator's own has no USB) and udev, which tells
libcamera of cameras that come and go."""
import lzma
import os
import shutil
import tempfile
from pathlib import Path

from machine import Machine
from usb_camera import UsbCamera

MODULES = ("virtio_net", "xhci_pci", "uvcvideo")
PRELUDE = ("for module in /app/modules/*.ko; do insmod $module; done",
           "ip link set eth0 up", "ip addr add 10.0.2.15/24 dev eth0", "ip route add default via 10.0.2.2",
           "/usr/lib/systemd/systemd-udevd --daemon", "udevadm trigger", "udevadm settle")


def collect_modules(kernel, target):
    """MODULES and what they need, as files whose names sort in the order of loading. `kernel`: an unpacked package."""
    packed = {path.name.removesuffix(".ko.xz").replace("-", "_"): path for path in kernel.rglob("*.ko.xz")}
    done = []

    def collect(name):
        if name in done or name not in packed:  # the latter are part of the kernel itself
            return
        module = lzma.decompress(packed[name].read_bytes())
        needed = module.split(b"\0depends=", 1)[1].split(b"\0", 1)[0].decode()
        for other in filter(None, needed.split(",")):
            collect(other.replace("-", "_"))
        done.append(name)
        (target / f"{len(done):02}-{name}.ko").write_bytes(module)

    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for name in MODULES:
        collect(name)


class UsbMachine(Machine):
    PORTS = 2

    def __init__(self, emulator, folder, kernel, memory_mb):
        collect_modules(kernel, folder / "modules")
        self.scratch = tempfile.TemporaryDirectory()
        self.write_front(next((kernel / "boot").glob("vmlinuz-*")))
        super().__init__(emulator, folder, CAMERAS, memory_mb, options=("--package", "udev"), prelude=PRELUDE,
                         environment={**os.environ, "PATH": f"{self.scratch.name}:{os.environ['PATH']}"})

    def write_front(self, kernel):
        """The emulator knows no USB: this stands before qemu and adds it. (The last -kernel counts.)"""
        front = Path(self.scratch.name) / "qemu-system-aarch64"
        ports = "".join(f" -chardev socket,id=port{i},path={self.port(i)},server=on,wait=off"
                        f" -device usb-redir,chardev=port{i},bus=usb.0,port={i}" for i in range(1, self.PORTS + 1))
        front.write_text(f'#!/bin/sh\nexec {shutil.which(front.name)} "$@" -kernel {kernel} -device qemu-xhci,id=usb{ports}\n')
        front.chmod(0o755)

    def port(self, number):
        return f"{self.scratch.name}/port{number}"

    def plug_in(self, pictures, port=1):
        return UsbCamera(self.port(port), pictures)

    def end(self):
        super().end()
        self.scratch.cleanup()


# Beside the USB camera: one that is there all the time.
CAMERAS = """"room":
  supported_formats:
  - { width: 320, height: 240, frame_rates: [15] }
  test_pattern: "lines"
  location: "CameraLocationExternal"
  model: "Living room"
"""
