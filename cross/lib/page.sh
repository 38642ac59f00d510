# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# What npm brings for the tests of the page: fetched once for each tests/e2e/page/package-lock.json, whose hashes npm holds
# it to, from the registry that this user's npm is set to. Nothing of it runs while it is installed.

page_modules_folder() {
  printf '%s/npm/%s\n' "$(cache_folder)" "$(sha256sum <"$repository/tests/e2e/page/package-lock.json" | cut -c1-12)"
}

fetch_page_modules() {
  local folder
  folder=$(page_modules_folder)
  [[ ! -d $folder ]] || return 0
  rm -rf "$folder.tmp"
  mkdir -p "$folder.tmp"
  cp "$repository"/tests/e2e/page/package{,-lock}.json "$folder.tmp"
  step "fetching playwright-core and axe-core" quietly npm ci --prefix "$folder.tmp" --cache "$folder.tmp/cache" \
    --ignore-scripts --no-audit --no-fund --no-update-notifier ||
    fail 69 "npm could not bring what the tests of the page need" "is its registry reachable? (npm config get registry)"
  rm -rf "$folder.tmp/cache"
  mv -T "$folder.tmp" "$folder"
}
