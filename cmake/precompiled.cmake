# SPDX-License-Identifier: Apache-2.0
# kinglet_precompile(target headers...): one target of a top folder parses the headers for all others with the same
# headers, which therefore have its compile options and at least its definitions.
option(KINGLET_PRECOMPILE "parse the standard library once a folder instead of once a source" OFF)

function(kinglet_precompile target)
  if(NOT KINGLET_PRECOMPILE)
    return()
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" folder ${folder})
  string(MD5 key "${folder} ${ARGN}")
  get_property(owner GLOBAL PROPERTY kinglet_precompiled_${key})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY kinglet_precompiled_${key} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
