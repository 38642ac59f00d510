#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# instructions.sh: no change makes the small models dearer on a Raspberry Pi 4's core by more than a percent, unseen.
set -euo pipefail
exec python3 "$(dirname "$0")/../bench/table/bench.py" --build "${DEV_BUILD_FOLDER:-$PWD/build}/arm64-tests" \
  --work "${DEV_BUILD_FOLDER:-$PWD/build}/bench-models" --arm --core cortex-a72 --small --check
