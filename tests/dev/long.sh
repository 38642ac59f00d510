#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long.sh cores|machine|cameras|memory|package|first_bird: ./dev's own long commands as tests of ./dev test --all, which has built what they need.
set -euo pipefail
[[ -n ${DEV_BUILD_FOLDER:-} ]] || {
  echo "skipped: takes long, so only under ./dev test --all"
  exit 77
}
source_folder=${KINGLET_SOURCE:-$PWD}
case $1 in
cores) exec "$source_folder/dev" cross ;;
machine | cameras | memory)
  [[ -x $source_folder/../shared/tools/emulated-pi ]] || {
    echo "skipped: no emulated machine (../shared/tools/emulated-pi)"
    exit 77
  }
  [[ $1 == machine ]] && exec "$source_folder/dev" cross --machine
  # Of Winograd's blocks, woven rows and 8 bits, whose weights a board's caches do not hold.
  [[ $1 == memory ]] && exec "$source_folder/dev" bench --arm --memory --core cortex-a72 --check --model "ResNet-18" --model "ResNet-18 int8"
  "$source_folder/dev" camera-test --machine
  exec "$source_folder/dev" camera-test --usb
  ;;
package) exec "$source_folder/dev" package --check --architecture all ;;
first_bird)
  [[ -d ${KINGLET_CORPUS:-$source_folder/../shared/corpus}/tflite ]] || {
    echo "skipped: no corpus with photographs and the model (../shared/corpus)"
    exit 77
  }
  exec "$source_folder/dev" package --first-bird --architecture arm64
  ;;
esac
