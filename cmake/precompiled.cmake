# SPDX-License-Identifier: Apache-2.0
# kinglet_precompile(target flags headers...): the first target with these headers and compile options parses them for all
# others, which have at least its definitions. `flags` is a word for the options: a header made with others is refused.
option(KINGLET_PRECOMPILE "parse the standard library once instead of once a source" OFF)

function(kinglet_precompile target flags)
  if(NOT KINGLET_PRECOMPILE)
    return()
  endif()
  string(MD5 key "${flags} ${ARGN}")
  get_property(owner GLOBAL PROPERTY kinglet_precompiled_${key})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY kinglet_precompiled_${key} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
