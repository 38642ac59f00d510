// SPDX-License-Identifier: Apache-2.0
// Why: libcurl without linking it: only network cameras, webhooks and `kinglet pull` need it, and linked it would cost
// every command 4 ms and 6 MB. Its interface is stable since 2006, what is used of multi since 2020.
#pragma once

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "engine/base/loaded_library.h"

namespace kinglet::camera {

struct CurlLibrary : LoadedLibrary {
  static constexpr const char* kSoname = "libcurl.so.4";
  static constexpr const char* kPackage = "libcurl4t64";
  CurlLibrary() : LoadedLibrary(kSoname) {}

  KINGLET_LOADED(init, curl_easy_init);
  KINGLET_LOADED(setopt, curl_easy_setopt);
  KINGLET_LOADED(perform, curl_easy_perform);
  KINGLET_LOADED(getinfo, curl_easy_getinfo);
  KINGLET_LOADED(cleanup, curl_easy_cleanup);
  KINGLET_LOADED(pause, curl_easy_pause);
  KINGLET_LOADED(strerror, curl_easy_strerror);
  KINGLET_LOADED(multi_init, curl_multi_init);
  KINGLET_LOADED(multi_add, curl_multi_add_handle);
  KINGLET_LOADED(multi_remove, curl_multi_remove_handle);
  KINGLET_LOADED(multi_perform, curl_multi_perform);
  KINGLET_LOADED(multi_poll, curl_multi_poll);
  KINGLET_LOADED(multi_wakeup, curl_multi_wakeup);
  KINGLET_LOADED(multi_info_read, curl_multi_info_read);
  KINGLET_LOADED(multi_cleanup, curl_multi_cleanup);
  KINGLET_LOADED(list_append, curl_slist_append);
  KINGLET_LOADED(list_free, curl_slist_free_all);
};

// As loaded_library() has it.
[[nodiscard]] inline Result<const CurlLibrary*> curl_library() { return loaded_library<CurlLibrary>(); }

}  // namespace kinglet::camera
