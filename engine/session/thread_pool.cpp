// SPDX-License-Identifier: Apache-2.0
#include "engine/session/thread_pool.h"

#include "engine/base/format.h"

namespace kinglet::engine {

Result<std::shared_ptr<const ThreadPool>> ThreadPool::make(int threads) {
  if (threads < 1) return fail(ErrorCode::kUsage, format_text("threads is {}, expected at least 1", threads));
  std::shared_ptr<ThreadPool> pool(new ThreadPool(threads));  // the constructor is private
  if (threads > 1) pool->pool_ = KINGLET_TRY(Pool::make(static_cast<std::size_t>(threads)));
  return pool;
}

pthreadpool_t ThreadPool::get() const { return pool_ ? as_pthreadpool(pool_->anybody()) : nullptr; }

void ThreadPool::rest() const {
  if (pool_) pool_->rest();
}

}  // namespace kinglet::engine
