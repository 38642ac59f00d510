# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# ./dev mutants: do the tests notice small faults? The table and the patches are in tests/mutants.

# command_mutants [--list] [NAME...]: all of the table if nothing is said.
command_mutants() {
  in_environment "build gtest test oracle" mutants "$@"
  export_build_variables
  alone_in mutants "$repository/tests/mutants/mutants.py" run "$repository" "$@"
}
