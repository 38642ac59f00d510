# SPDX-License-Identifier: Apache-2.0
# kinglet_unity(target): its sources are compiled eight at a time. Where nothing is optimised, nearly all of a compiler's
# time is headers and what it makes of their templates, which neighbours have in common. So names in anonymous namespaces
# are different within such a target. Presets dev and clang, and what lint reads, see each source alone.
option(KINGLET_UNITY "compile what no build of the tests optimises in batches" OFF)

function(kinglet_unity target)
  if(KINGLET_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # It takes each source for a header here, which others may include too.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Sources that were put together need more than the 128 MB at which GCC begins to look for what it can free: until 512 MB it
# is not worth the time (a tenth of a build).
if(KINGLET_UNITY)
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
endif()
