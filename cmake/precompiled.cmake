# SPDX-License-Identifier: Apache-2.0
# kinglet_precompile(target flags headers...): the first target with these headers and compile options parses them for all
# others, which have at least its definitions. `flags` is a word for the options: a header made with others is refused.
option(KINGLET_PRECOMPILE "parse the standard library once instead of once a source" OFF)

function(kinglet_precompile target flags)
  if(NOT KINGLET_PRECOMPILE)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Named relative to the tree, so that the compiler's cache serves other checkouts as well. Not with clang, whose
    # header looks for the file that it was made of: one out of the cache is refused once that checkout is gone.
    list(TRANSFORM ARGN REPLACE "^${CMAKE_SOURCE_DIR}/(.*)$" "<\\1>" OUTPUT_VARIABLE headers)
  else()
    set(headers ${ARGN})
  endif()
  string(MD5 key "${flags} ${headers}")
  get_property(owner GLOBAL PROPERTY kinglet_precompiled_${key})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY kinglet_precompiled_${key} ${target})
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()
