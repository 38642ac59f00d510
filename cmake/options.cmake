# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and the helper every folder uses.
option(KINGLET_WERROR "warnings are errors" ON)
set(KINGLET_SANITIZE "" CACHE STRING "address, undefined, thread or fuzzer, comma separated")

add_library(kinglet_options INTERFACE)
target_include_directories(kinglet_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(kinglet_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Woverloaded-virtual
  -Wimplicit-fallthrough -Wno-missing-field-initializers
  # Where sources are put together clang takes what one has in an anonymous namespace for shadowed by the next one's.
  $<$<AND:$<BOOL:${KINGLET_UNITY}>,$<CXX_COMPILER_ID:Clang>>:-Wno-shadow>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<BOOL:${KINGLET_WERROR}>:-Werror>)
# Where the tree lay when it was built is nobody's business, and would make two builds differ. The compiler's cache tells
# the compiler the same from the build's folder.
cmake_path(RELATIVE_PATH CMAKE_SOURCE_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE up)
target_compile_options(kinglet_options INTERFACE
  $<$<CONFIG:Release>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=> $<$<CONFIG:Release>:-ffile-prefix-map=${up}/=>)
# A program's pages are most of what a small model's process takes: what is not there is not mapped. Kernels and pixels ask
# for -O3 themselves, with which CMake would compile all of it.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
target_compile_options(kinglet_options INTERFACE $<$<CONFIG:Release>:-ffunction-sections> $<$<CONFIG:Release>:-fdata-sections>)
target_link_options(kinglet_options INTERFACE $<$<CONFIG:Release>:-Wl,--gc-sections> $<$<CONFIG:Release>:-Wl,-z,pack-relative-relocs>)

if(KINGLET_SANITIZE)
  # Own bugs must abort under sanitizers, whatever the build type.
  set(instrument -fsanitize=${KINGLET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -UNDEBUG)
  target_compile_options(kinglet_options INTERFACE "${instrument}")
  target_link_options(kinglet_options INTERFACE -fsanitize=${KINGLET_SANITIZE})
endif()

if(KINGLET_PRECOMPILE)
  # Without these the compiler cache cannot see into a precompiled header.
  target_compile_options(kinglet_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# kinglet_unhurried(target): the speed of this part is no test's business, so the tests' build does not optimise it. Half
# of what a compiler does there is for nothing otherwise. A release makes it small.
function(kinglet_unhurried target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0> $<$<CONFIG:Release>:-Os>)
endfunction()

# kinglet_order_functions(program): what is called while a model is loaded and run, and while a daemon looks, lies side by side in a
# release, since sixteen pages are mapped around each that is used. Which functions these are was found by
# tests/bench/functions_in_use.py: one that has another name by now, or a linker that cannot do it, costs pages and nothing else.
set(function_list ${CMAKE_SOURCE_DIR}/cmake/functions_in_use.txt)
set(function_order ${CMAKE_BINARY_DIR}/function_order.ld)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${function_list})
file(STRINGS ${function_list} functions REGEX "^[^#]")
list(TRANSFORM functions REPLACE "(.+)" "  *(.text.\\1)")
list(JOIN functions "\n" functions)
file(CONFIGURE OUTPUT ${function_order} CONTENT ".text : {\n@functions@\n}\n" @ONLY)
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--section-ordering-file=${function_order} KINGLET_ORDERS_FUNCTIONS)
function(kinglet_order_functions program)
  if(KINGLET_ORDERS_FUNCTIONS AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_link_options(${program} PRIVATE -Wl,--section-ordering-file=${function_order})
    set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${function_order})
  endif()
endfunction()

# kinglet_library(name [UNHURRIED | SMALL] SOURCES globs EXCEPT globs LINK libs PRIVATE_LINK libs PRECOMPILE headers): a
# static library of one folder; headers that most of its sources include are parsed once. SMALL: what runs only while a model
# is loaded, most of which is reading and packing; a release makes it small.
function(kinglet_library name)
  cmake_parse_arguments(ARG "UNHURRIED;SMALL" "" "SOURCES;EXCEPT;LINK;PRIVATE_LINK;PRECOMPILE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  if(ARG_EXCEPT)
    file(GLOB except ${ARG_EXCEPT})
    list(REMOVE_ITEM sources ${except})
  endif()
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE kinglet_options ${ARG_LINK} ${ARG_PRIVATE_LINK})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC kinglet_options ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  set(flags hurried)
  if(ARG_UNHURRIED)
    kinglet_unhurried(${name})
    kinglet_unity(${name})
    set(flags unhurried)
  elseif(ARG_SMALL AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${name} PRIVATE -Os $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # which -Os sees too much of
    set(flags small)
  endif()
  kinglet_precompile(${name} ${flags} ${CMAKE_SOURCE_DIR}/cmake/precompiled.h ${ARG_PRECOMPILE})
endfunction()
