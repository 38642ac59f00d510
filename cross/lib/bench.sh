# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev bench: tests/bench/table/bench.py with a release build, times in turn with other engines or, with --arm,
# instructions, or with --memory besides what comes from memory.

# The newest ONNX Runtime, which Debian does not have.
readonly node_runtime=onnxruntime-node@1.30

command_bench() {
  local groups="build gtest test oracle browser" preset=bench more=() word memory=
  for word in "$@"; do
    [[ $word != --arm ]] || { groups="build gtest test oracle arm64" preset=arm64; }
    [[ $word != --memory ]] || memory=yes
  done
  [[ -z $memory ]] || groups+=" emulation"
  # As with the tests of the page: this machine's npm knows its proxy and certificates, our root's does not.
  [[ $preset == arm64 ]] || ! have npm || fetch_node_runtime || :
  in_environment "$groups" bench "$@"
  export_build_variables
  build_preset "$preset" bench_worker
  for word in "$@"; do
    [[ $word != --as-avx2 ]] || build_preset "$preset" avx2_alone
  done
  [[ -z $memory ]] || { build_preset bench from_memory; more=(--plugin "$repository/build/bench/bin/libfrom_memory.so"); }
  build_preset release kinglet
  [[ $preset == arm64 || ! -d $(node_runtime_folder) ]] || more=(--node "$(node_runtime_folder)")
  python3 "$repository/tests/bench/table/bench.py" --build "$repository/build/$preset" \
    --work "$(cache_folder)/bench" "${more[@]}" "$@"
}

node_runtime_folder() { printf '%s/npm/%s\n' "$(cache_folder)" "$node_runtime"; }

fetch_node_runtime() {
  local folder
  folder=$(node_runtime_folder)
  [[ ! -d $folder ]] || return 0
  rm -rf "$folder.tmp"
  step "fetching $node_runtime" quietly npm install --prefix "$folder.tmp" --cache "$folder.tmp/cache" --ignore-scripts \
    --no-audit --no-fund --no-update-notifier "$node_runtime" || {
    say "without $node_runtime: npm could not bring it"
    return 1
  }
  rm -rf "$folder.tmp/cache"
  mv -T "$folder.tmp" "$folder"
}
