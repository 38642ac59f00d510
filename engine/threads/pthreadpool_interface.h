// SPDX-License-Identifier: Apache-2.0
// Why: a pool of ours as XNNPACK takes one. Who links this has pthreadpool_create and all that takes a pthreadpool_t
// from here, XNNPACK too: a program's own functions come before a library's. No pool of libpthreadpool is made beside.
#pragma once

#include <pthreadpool.h>

#include "engine/threads/pool.h"

namespace kinglet::engine {

// Lives as long as the pool.
[[nodiscard]] pthreadpool_t as_pthreadpool(Pool& pool);

}  // namespace kinglet::engine
