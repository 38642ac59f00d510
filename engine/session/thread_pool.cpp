// SPDX-License-Identifier: Apache-2.0
#include "engine/session/thread_pool.h"

#include "engine/base/format.h"

namespace kinglet::engine {

Result<std::shared_ptr<const ThreadPool>> ThreadPool::make(int threads) {
  if (threads < 1) return fail(ErrorCode::kUsage, format_text("threads is {}, expected at least 1", threads));
  std::shared_ptr<ThreadPool> pool(new ThreadPool(threads));  // the constructor is private
  if (threads == 1) return pool;
  pool->pool_.reset(pthreadpool_create(static_cast<std::size_t>(threads)));
  if (!pool->pool_) return fail(ErrorCode::kUnavailable, format_text("cannot make {} threads", threads));
  return pool;
}

void ThreadPool::rest() const {
  if (!pool_) return;
  pthreadpool_parallelize_1d(
      pool_.get(), [](void*, std::size_t) {}, nullptr, static_cast<std::size_t>(threads_),
      PTHREADPOOL_FLAG_YIELD_WORKERS);
}

}  // namespace kinglet::engine
