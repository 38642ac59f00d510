// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/curl_library.h"

#include <dlfcn.h>

#include <optional>

namespace kinglet::camera {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<CurlLibrary> load() {
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  CurlLibrary curl;
  if (library == nullptr || !find(library, "curl_easy_init", curl.init) ||
      !find(library, "curl_easy_setopt", curl.setopt) || !find(library, "curl_easy_perform", curl.perform) ||
      !find(library, "curl_easy_getinfo", curl.getinfo) || !find(library, "curl_easy_cleanup", curl.cleanup) ||
      !find(library, "curl_easy_pause", curl.pause) || !find(library, "curl_easy_strerror", curl.strerror) ||
      !find(library, "curl_multi_init", curl.multi_init) || !find(library, "curl_multi_add_handle", curl.multi_add) ||
      !find(library, "curl_multi_remove_handle", curl.multi_remove) ||
      !find(library, "curl_multi_perform", curl.multi_perform) || !find(library, "curl_multi_poll", curl.multi_poll) ||
      !find(library, "curl_multi_wakeup", curl.multi_wakeup) ||
      !find(library, "curl_multi_info_read", curl.multi_info_read) ||
      !find(library, "curl_multi_cleanup", curl.multi_cleanup) ||
      !find(library, "curl_slist_append", curl.list_append) || !find(library, "curl_slist_free_all", curl.list_free)) {
    return std::nullopt;
  }
  return curl;
}

}  // namespace

Result<const CurlLibrary*> curl_library() {
  static const std::optional<CurlLibrary> library = load();
  if (!library) return fail(ErrorCode::kUnavailable, "libcurl.so.4 is not installed", {}, "apt install libcurl4t64");
  return &*library;
}

}  // namespace kinglet::camera
