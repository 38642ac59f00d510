# SPDX-License-Identifier: Apache-2.0
"""The commands of README and documents, and what is known of those that are not run here."""
import os
import re
import subprocess
from pathlib import Path

SOURCE_DIR = Path(os.environ["SOURCE_FOLDER"])
# Pages whose commands a test of their own makes or measures; decisions tell what was.
NOT_LOOKED_AT = {"api.md": "e2e.daemon.api_page_test runs each", "zoo.md": "written by ./dev zoo",
                 "bench.md": "written by ./dev bench"}
PROGRAMS = {"apt", "apt-get", "curl", "for", "journalctl", "kinglet", "kingletd", "kinglet-camera", "mosquitto_sub", "npm", "openssl",
            "printf", "promtool", "python3", "sudo", "systemctl", "(umask", "./dev", "man"}

# (page, how the command begins, the test of tests/ that does the same)
TESTED = [
    ("scripts.md", "curl", "e2e/integrations/pages_test.py"),
    ("prometheus.md", "curl -s http://127.0.0.1:8420/metrics | promtool", "e2e/integrations/prometheus_test.py"),
    ("prometheus.md", "promtool check rules", "e2e/integrations/prometheus_test.py"),
    ("README.md", "sudo -u kinglet kinglet pull", "e2e/cli/pull_test.py"),
    ("README.md", "sudo kinglet models activate", "e2e/daemon/models_test.py"),
    ("README.md", "kinglet edit", "e2e/cli/edit_test.py"),
    ("README.md", "kinglet detect", "e2e/cli/detect_test.py"),
    ("access.md", "sudo kinglet pair", "e2e/daemon/roles_test.py"),
    ("tools.md", "sudo kinglet pair", "e2e/daemon/roles_test.py"),
    ("tools.md", "kinglet calibrate", "e2e/cli/calibrate_test.py"),
    ("tools.md", "kinglet store prune", "e2e/cli/store_test.py"),
    ("tools.md", "kinglet store forget", "e2e/cli/store_test.py"),
    ("README.md", "./dev package", "dev/long.sh"),
    ("README.md", "sudo curl -o /etc/apt/sources.list.d", "e2e/packages/repository_test.py"),
    ("README.md", "sudo apt update", "e2e/packages/repository_test.py"),
    ("README.md", "sudo apt install kinglet", "e2e/packages/repository_test.py"),
    ("README.md", "sudo apt install ./kinglet_", "e2e/packages/libcamera_test.py"),
    ("tools.md", "kinglet pull inat-birds", "e2e/cli/pull_test.py"),
    ("tools.md", "kinglet convert bird.tflite", "e2e/cli/tflite_test.py"),
    ("tools.md", "sudo kinglet calibrate bird.onnx --visits", "e2e/cli/calibrate_test.py"),
    ("recipes.md", "kinglet detect yolox_nano_416.onnx", "e2e/cli/detect_test.py"),
    ("tools.md", "kinglet classify heads.onnx", "e2e/cli/output_meaning_test.py"),
    ("tools.md", 'kinglet record "mjpeg:', "e2e/cli/record_test.py"),
    ("access.md", "curl --cacert", "e2e/daemon/tls_test.py"),
    ("home-assistant.md", "sudo -u kinglet kingletd --forget", "e2e/integrations/mqtt_test.py"),
    ("home-assistant.md", "mosquitto_sub", "e2e/integrations/mqtt_broker_test.py"),
    ("many-boards.md", "mosquitto_sub", "e2e/integrations/many_boards_test.py"),
    ("models.md", "kinglet quantize bird.onnx -o bird-int8.onnx --from-daemon", "e2e/cli/quantize_test.py"),
    ("quantize.md", "kinglet quantize vit.onnx", "e2e/cli/quantize_test.py"),
    ("backup.md", "sudo kinglet", "e2e/daemon/backup_test.py"),
    ("backup.md", "    sudo kinglet restore", "e2e/daemon/backup_test.py"),
    ("tools.md", "sudo kinglet restore", "e2e/daemon/backup_test.py"),
    ("backup.md", "curl", "e2e/daemon/backup_test.py"),
    ("phone.md", "curl", "e2e/integrations/notify_test.py"),
    ("models.md", "curl -X POST -H \"Authorization: Bearer $TOKEN\" 'http://127.0.0.1:8420/api/v1/models/inat-birds",
     "e2e/daemon/model_arrival_test.py"),
    ("models.md", "curl -T labels.txt", "e2e/daemon/own_models_test.py"),
    ("models.md", "curl -X PUT", "e2e/daemon/own_models_test.py"),
    ("models.md", "curl -X DELETE", "e2e/daemon/own_models_test.py"),
    ("models.md", "curl -T", "e2e/daemon/model_arrival_test.py"),
    ("visits.md", "curl -X PUT", "e2e/daemon/bird_lists_test.py"),
    ("sources.md", "kinglet cameras", "e2e/daemon/cameras_test.py"),
]
# (page, how the command begins, why nobody runs it)
KEPT = [
    ("README.md", "./dev test", "is what runs this"),
    ("README.md", "./dev run", "builds a release for minutes; dev/one_build.sh has the command itself with a small project, "
                               "e2e/page/first_card_test.mjs the daemon and its card"),
    ("page.md", "./dev test --tier browser", "the browser tier, which does not run itself"),
    ("page.md", "PAGE_MODULES=", "makes the picture of the README; needs the browser and the corpus, and a person to look at it"),
    *[("benchmarks.md", begin, why) for why, begins in {
        "fetches ONNX Runtime for Node, which only the comparisons have": ["npm install --prefix build/ort"],
        "builds what a measurement runs": ["./dev build tests", "./dev build bench", "./dev build arm64"],
        "measures against others with the machine to itself, at the highest priority, for minutes": ["sudo chrt -r 1"],
        "compares two builds, the one before and this one, for minutes": [
            "python3 tests/bench/compare.py", "python3 tests/bench/busy.py", "kinglet bench --threads 2", "for program in BEFORE NOW"],
        "makes models with PyTorch that nothing here has fetched": [
            "./dev exec --with build,oracle python3 tests/bench/networks.py", "./dev exec --with build,oracle python3 tests/zoo/export.py",
            "./dev exec --with build,oracle python3 tests/bench/load.py"],
        "trains and measures networks for hours": ["./dev exec --with build,oracle python3 tests/bench/quantize/"],
        "builds a release and measures it for minutes": ["./dev bench"],
        "counts instructions on an emulated core, for minutes": ["./dev exec --with build,test,arm64"],
        "runs a release with a breakpoint in each function": ["./dev exec python3 tests/bench/functions_in_use.py"],
        "a release's speed, which a test's build has not": [
            "./dev exec build/bench/bin/pipeline_bench", "./dev exec --with build,oracle python3 tests/support/avx2_alone.py"],
        "loads a daemon for minutes to an hour, on a quiet machine": [
            "./dev exec --with build,test python3 tests/bench/http/", "./dev exec --with test python3 tests/bench/at_rest.py",
            "./dev exec --with test python3 tests/bench/several_cameras.py"],
        "kills a daemon for hours; every run of the tests has thirty kills": ["./dev exec --with test python3 tests/e2e/kills/"],
        "draws or reads scenes of the field for half an hour": [
            "./dev exec --with test,oracle python3 tests/bench/field", "./dev exec python3 tests/bench/crop_to_motion.py"],
        "installs packages on an emulated machine, half an hour": ["./dev package --first-bird",
                                                                    "./dev package --architecture arm64 --check --first-bird --newer-camera"],
        "runs operators at random for minutes; every run of the tests has some seconds of it": ["KINGLET_LOWERING_SECONDS=", "KINGLET_KERNEL_SECONDS="],
        "installs OpenCV on the reader's machine": ["apt install libopencv"],
        "an emulated core, which ./dev test --all has": ["./dev test arm64.half"],
    }.items() for begin in begins],
    ("tools.md", "kinglet edit IN -o OUT VERB", "a form, not a command; each verb is in e2e/cli/edit_test.py"),
    ("tools.md", "kinglet record libcamera:", "needs a camera; libcamera's virtual one is in e2e/camera"),
    ("webhooks.md", "python3 -uc", "a receiver that prints what it gets; the one of e2e/integrations/webhook_test.py keeps it"),
    ("home-assistant.md", "apt install mosquitto", "installs a service on the reader's machine"),
]


def pages():
    yield SOURCE_DIR / "README.md"
    yield from (page for page in sorted((SOURCE_DIR / "docs").glob("*.md")) if page.name not in NOT_LOOKED_AT)


def is_whole(command):
    """Has the shell all of it? It complains of quotes, pipes and files that do not end."""
    said = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False).stderr
    return not said and not command.endswith("\\")


def is_command(line):
    return line.split()[0] in PROGRAMS or re.match(r"[A-Z_]+=\S", line) is not None


def commands_of(page):
    """Each command that stands indented on a page, whole, without the remark behind it."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"(?:^    [^\n]*\n|^\n(?=    ))+", text, re.MULTILINE):
        lines = [line[4:] for line in block.splitlines() if line.strip()]
        if not lines or not is_command(lines[0]):
            continue
        command = ""
        for line in lines:
            if not command and not is_command(line):
                break  # a file's content behind a command
            command += ("\n" if command else "") + re.sub(r"\s{2,}#.*$", "", line)
            if is_whole(command):
                yield command
                command = ""
        if command:
            yield command


def units():
    """Those that the package has."""
    return {path.stem for path in (SOURCE_DIR / "systemd").glob("*.service")}


def units_in(text):
    """Each unit that a text would start, stop or look at, in a block or within a sentence."""
    return [name.removesuffix(".service") for name in re.findall(r"(?:systemctl [a-z-]+|journalctl -u) ([\w@.-]*\w)", text)]


def row_for(page, command):
    """The row of TESTED or KEPT that says what becomes of it, or None: it is run here."""
    return next((row for row in TESTED + KEPT if row[0] == page.name and command.startswith(row[1])), None)
