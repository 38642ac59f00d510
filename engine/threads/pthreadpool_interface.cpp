// SPDX-License-Identifier: Apache-2.0
// Why: a pool of ours as XNNPACK takes one. Who links this has pthreadpool_create and all that takes a pthreadpool_t
// from here, XNNPACK too: a program's own functions come before a library's. No pool of libpthreadpool is made beside.
#include <pthreadpool.h>

#include <thread>

#include "engine/threads/denormals.h"
#include "engine/threads/forms.h"
#include "engine/threads/pool.h"

namespace kinglet::engine {
namespace {

Pool::Caller* caller_of(pthreadpool_t handle) { return reinterpret_cast<Pool::Caller*>(handle); }

void run(pthreadpool_t handle, const Work& work, std::uint32_t flags) {
  const auto denormals =
      (flags & PTHREADPOOL_FLAG_DISABLE_DENORMALS) != 0 ? Pool::Denormals::kFlush : Pool::Denormals::kKeep;
  if (const Pool::Caller* const caller = caller_of(handle)) {
    const auto after = (flags & PTHREADPOOL_FLAG_YIELD_WORKERS) != 0 ? Pool::After::kSleep : Pool::After::kStayAwake;
    return caller->pool->run(work, denormals, after, caller->wish);
  }
  const FlushedDenormals flushed(denormals == Pool::Denormals::kFlush);
  work.run_alone();
}

template <Lead kLead, std::size_t kDims, std::size_t kTiled, typename Task>
Form<kLead, kDims, kTiled, Task> form(Task task, void* context, std::uint32_t core,
                                      const std::array<std::size_t, kDims>& ranges,
                                      const std::array<std::size_t, kTiled>& steps) {
  return {task, context, core, ranges, steps};
}

}  // namespace

pthreadpool_t as_pthreadpool(Pool::Caller& caller) {
  return caller.pool == nullptr ? nullptr : reinterpret_cast<pthreadpool_t>(&caller);
}

}  // namespace kinglet::engine

using kinglet::engine::Lead;
using kinglet::engine::Pool;

pthreadpool_t pthreadpool_create(std::size_t threads) {
  if (threads == 0) threads = std::max(std::thread::hardware_concurrency(), 1U);
  auto pool = Pool::make(threads);
  return pool ? kinglet::engine::as_pthreadpool(pool->release()->anybody()) : nullptr;
}

void pthreadpool_destroy(pthreadpool_t pool) {
  if (pool != nullptr) delete kinglet::engine::caller_of(pool)->pool;
}

std::size_t pthreadpool_get_threads_count(pthreadpool_t pool) {
  return pool == nullptr ? 1 : kinglet::engine::caller_of(pool)->pool->threads();
}

// A row: what the function's name ends with, its type of task, its dimensions, how many of them are cut in tiles. Of
// cores of several kinds the first one's form runs on all: the same bits, whichever core takes a tile.
#define KINGLET_RANGES_1 size_t i
#define KINGLET_RANGES_2 KINGLET_RANGES_1, size_t j
#define KINGLET_RANGES_3 KINGLET_RANGES_2, size_t k
#define KINGLET_RANGES_4 KINGLET_RANGES_3, size_t l
#define KINGLET_RANGES_5 KINGLET_RANGES_4, size_t m
#define KINGLET_RANGES_6 KINGLET_RANGES_5, size_t n
#define KINGLET_GIVEN_1 i
#define KINGLET_GIVEN_2 KINGLET_GIVEN_1, j
#define KINGLET_GIVEN_3 KINGLET_GIVEN_2, k
#define KINGLET_GIVEN_4 KINGLET_GIVEN_3, l
#define KINGLET_GIVEN_5 KINGLET_GIVEN_4, m
#define KINGLET_GIVEN_6 KINGLET_GIVEN_5, n
#define KINGLET_STEPS_0
#define KINGLET_STEPS_1 size_t step,
#define KINGLET_STEPS_2 size_t step, size_t last_step,
#define KINGLET_CUT_0
#define KINGLET_CUT_1 step
#define KINGLET_CUT_2 step, last_step
#define KINGLET_FORM(NAME, TASK, LEAD, DIMS, TILED)                                                             \
  void pthreadpool_parallelize_##NAME(pthreadpool_t pool, pthreadpool_task_##TASK##_t task, void* context,      \
                                      KINGLET_RANGES_##DIMS, KINGLET_STEPS_##TILED uint32_t flags) {            \
    using kinglet::engine::form;                                                                                \
    kinglet::engine::run(                                                                                       \
        pool, form<LEAD, DIMS, TILED>(task, context, 0, {KINGLET_GIVEN_##DIMS}, {KINGLET_CUT_##TILED}), flags); \
  }
#define KINGLET_CORE_FORM(NAME, TASK, LEAD, DIMS, TILED)                                                           \
  void pthreadpool_parallelize_##NAME(pthreadpool_t pool, pthreadpool_task_##TASK##_t task, void* context,         \
                                      uint32_t core, uint32_t /*most*/, KINGLET_RANGES_##DIMS,                     \
                                      KINGLET_STEPS_##TILED uint32_t flags) {                                      \
    using kinglet::engine::form;                                                                                   \
    kinglet::engine::run(                                                                                          \
        pool, form<LEAD, DIMS, TILED>(task, context, core, {KINGLET_GIVEN_##DIMS}, {KINGLET_CUT_##TILED}), flags); \
  }
KINGLET_FORM(1d, 1d, Lead::kNothing, 1, 0)
KINGLET_FORM(1d_with_thread, 1d_with_thread, Lead::kThread, 1, 0)
KINGLET_CORE_FORM(1d_with_uarch, 1d_with_id, Lead::kCore, 1, 0)
KINGLET_FORM(1d_tile_1d, 1d_tile_1d, Lead::kNothing, 1, 1)
KINGLET_FORM(2d, 2d, Lead::kNothing, 2, 0)
KINGLET_FORM(2d_with_thread, 2d_with_thread, Lead::kThread, 2, 0)
KINGLET_FORM(2d_tile_1d, 2d_tile_1d, Lead::kNothing, 2, 1)
KINGLET_CORE_FORM(2d_tile_1d_with_uarch, 2d_tile_1d_with_id, Lead::kCore, 2, 1)
KINGLET_CORE_FORM(2d_tile_1d_with_uarch_with_thread, 2d_tile_1d_with_id_with_thread, Lead::kCoreAndThread, 2, 1)
KINGLET_FORM(2d_tile_2d, 2d_tile_2d, Lead::kNothing, 2, 2)
KINGLET_CORE_FORM(2d_tile_2d_with_uarch, 2d_tile_2d_with_id, Lead::kCore, 2, 2)
KINGLET_FORM(3d, 3d, Lead::kNothing, 3, 0)
KINGLET_FORM(3d_tile_1d, 3d_tile_1d, Lead::kNothing, 3, 1)
KINGLET_FORM(3d_tile_1d_with_thread, 3d_tile_1d_with_thread, Lead::kThread, 3, 1)
KINGLET_CORE_FORM(3d_tile_1d_with_uarch, 3d_tile_1d_with_id, Lead::kCore, 3, 1)
KINGLET_CORE_FORM(3d_tile_1d_with_uarch_with_thread, 3d_tile_1d_with_id_with_thread, Lead::kCoreAndThread, 3, 1)
KINGLET_FORM(3d_tile_2d, 3d_tile_2d, Lead::kNothing, 3, 2)
KINGLET_CORE_FORM(3d_tile_2d_with_uarch, 3d_tile_2d_with_id, Lead::kCore, 3, 2)
KINGLET_FORM(4d, 4d, Lead::kNothing, 4, 0)
KINGLET_FORM(4d_tile_1d, 4d_tile_1d, Lead::kNothing, 4, 1)
KINGLET_FORM(4d_tile_2d, 4d_tile_2d, Lead::kNothing, 4, 2)
KINGLET_CORE_FORM(4d_tile_2d_with_uarch, 4d_tile_2d_with_id, Lead::kCore, 4, 2)
KINGLET_FORM(5d, 5d, Lead::kNothing, 5, 0)
KINGLET_FORM(5d_tile_1d, 5d_tile_1d, Lead::kNothing, 5, 1)
KINGLET_FORM(5d_tile_2d, 5d_tile_2d, Lead::kNothing, 5, 2)
KINGLET_FORM(6d, 6d, Lead::kNothing, 6, 0)
KINGLET_FORM(6d_tile_1d, 6d_tile_1d, Lead::kNothing, 6, 1)
KINGLET_FORM(6d_tile_2d, 6d_tile_2d, Lead::kNothing, 6, 2)
