// SPDX-License-Identifier: Apache-2.0
// Why: libcurl without linking it: only network cameras, webhooks and `kinglet pull` need it, and linked it would cost
// every command 4 ms and 6 MB. Loaded by its soname; its interface is stable since 2006, what is used of multi since
// 2020.
#pragma once

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "engine/base/error.h"

namespace kinglet::camera {

struct CurlLibrary {
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_setopt) setopt = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) getinfo = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_pause) pause = nullptr;
  decltype(&::curl_easy_strerror) strerror = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_add_handle) multi_add = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove = nullptr;
  decltype(&::curl_multi_perform) multi_perform = nullptr;
  decltype(&::curl_multi_poll) multi_poll = nullptr;
  decltype(&::curl_multi_wakeup) multi_wakeup = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_slist_append) list_append = nullptr;
  decltype(&::curl_slist_free_all) list_free = nullptr;
};

// kUnavailable: it is not installed. Loaded once and never given back. Thread-safe.
[[nodiscard]] Result<const CurlLibrary*> curl_library();

}  // namespace kinglet::camera
