# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev lint and ./dev soak: what the compiler and short tests do not see.

# command_lint [--fix] [--no-tidy] [FILE...]: the whole tree, or the named files only.
command_lint() {
  local fix='' tidy=yes files=() given=("$@") status=0
  while (($# > 0)); do
    case $1 in
    --fix) fix=yes ;;
    --no-tidy) tidy='' ;;
    -*) fail 64 "lint: unknown option \"$1\"" "--fix, --no-tidy or names of files" ;;
    *)
      [[ -r $1 ]] || fail 66 "lint: cannot read $1"
      files+=("$(realpath --relative-to="$repository" "$1")")
      ;;
    esac
    shift
  done
  in_environment "build gtest test" lint "${given[@]}"
  export_build_variables
  cd "$repository" || exit
  ((${#files[@]} > 0)) || mapfile -t files < <(git ls-files)
  step "shell scripts" lint_scripts "${files[@]}" || status=1
  step "formatting" lint_format "$fix" "${files[@]}" || status=1
  [[ -z $tidy ]] || step "clang-tidy" lint_tidy "${files[@]}" || status=1
  ((status == 0)) || fail 1 "lint found something" "./dev lint --fix formats the sources; the rest is above"
}

only() {
  local pattern=$1
  shift
  printf '%s\n' "$@" | grep -E "$pattern" || true
}

is_shell_script() {
  [[ -f $1 ]] || return
  case $1 in
  *.sh) true ;;
  *.*) false ;;
  *) head -n 1 "$1" | grep -qaE '^#!.*[/ ](ba|da)?sh' ;;
  esac
}

lint_scripts() {
  local file scripts=()
  for file in "$@"; do
    ! is_shell_script "$file" || scripts+=("$file")
  done
  ((${#scripts[@]} == 0)) || shellcheck "${scripts[@]}"
}

lint_format() {
  local fix=$1 sources
  shift
  mapfile -t sources < <(only '\.(cpp|h)$' "$@")
  ((${#sources[@]} == 0)) && return
  if [[ -n $fix ]]; then clang-format-19 -i "${sources[@]}"; else clang-format-19 --dry-run -Werror "${sources[@]}"; fi
}

# "SOURCE FILE...": each source of the repository with the files of the repository that it includes. Sources that the
# build generates are not there yet, which is what the scanner ends with an error for.
included_files() {
  { clang-scan-deps-19 -compilation-database "$repository/build/clang/compile_commands.json" -j "$(job_count)" 2>/dev/null || true; } |
    awk -v root="$repository/" '
      /^[^ ]/ { if (files != "") print files; files = "" }
      { for (i = 1; i <= NF; ++i)
          if (index($i, root) == 1 && index($i, root "build/") != 1) files = files (files == "" ? "" : " ") substr($i, length(root) + 1) }
      END { if (files != "") print files }' | sort -u -k 1,1
}

# Generated headers must be there before a source can be read. Ten seconds a file: what was clean with the same text,
# the same headers and the same checks is not read again.
lint_tidy() {
  local source files stamps=$repository/build/lint sources scanned unread
  sources=$(only '^(engine|camera|config|visits|store|daemon|cli)/.*\.cpp$' "$@")
  [[ -n $sources ]] || return 0
  configure clang
  alone_in clang cmake --build "$repository/build/clang" --target kinglet_onnx_proto kinglet_tflite_header >/dev/null || return
  mkdir -p "$stamps"
  scanned=$(included_files)
  unread=$(comm -23 <(sort <<<"$sources") <(cut -d ' ' -f 1 <<<"$scanned" | sort))
  [[ -z $unread ]] || fail 70 "lint: what these include cannot be told: ${unread//$'\n'/ }" "are they compiled?"
  while read -r source files; do
    ! grep -qxF "$source" <<<"$sources" || printf '%s %s\0' "$(tidy_key "$source" "$files")" "$source"
  done <<<"$scanned" | xargs -0 -n 1 -P "$(job_count)" "$repository/cross/lint-source" "$repository" "$stamps"
}

tidy_key() {
  # shellcheck disable=SC2086  # names of this repository have no blanks
  cat .clang-tidy "$1" $2 | sha256sum | cut -c1-64
}

# command_soak [--minutes N]: an hour if nothing is said.
command_soak() {
  local minutes=60 given=("$@")
  while (($# > 0)); do
    case $1 in
    --minutes=*) set -- x "${1#*=}" "${@:2}" && minutes=$2 && shift ;;
    --minutes) minutes=$(option_value "$@") && shift || exit ;;
    *) fail 64 "soak: unknown option \"$1\"" "--minutes N" ;;
    esac
    shift
  done
  [[ $minutes =~ ^[1-9][0-9]*$ ]] || fail 64 "--minutes: \"$minutes\" is not a number of minutes"
  in_environment "build gtest test" soak "${given[@]}"
  export_build_variables
  build_preset release
  exec "$repository/cross/soak" "$repository"/build/release/bin/{kingletd,kinglet} "$minutes"
}
