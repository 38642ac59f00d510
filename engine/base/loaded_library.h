// SPDX-License-Identifier: Apache-2.0
// Why: a library that few commands need is not linked, since each program would have its pages and take its time to
// start. It is loaded by its soname when somebody asks, and a struct has its functions.
#pragma once

#include <dlfcn.h>

#include "engine/base/error.h"
#include "engine/base/format.h"

namespace kinglet {

// Base of such a struct, which says kSoname and kPackage (Debian's) and has a row for each function:
//   KINGLET_LOADED(init, curl_easy_init);
// The library is never given back.
class LoadedLibrary {
 public:
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  // It is there, with all functions that the struct has.
  [[nodiscard]] bool complete() const { return complete_; }

 protected:
  explicit LoadedLibrary(const char* soname)
      : library_(::dlopen(soname, RTLD_NOW | RTLD_LOCAL)), complete_(library_ != nullptr) {}
  ~LoadedLibrary() = default;

  template <typename Function>
  [[nodiscard]] Function find(const char* name) {
    auto function = library_ == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library_, name));
    complete_ = complete_ && function != nullptr;
    return function;
  }

 private:
  void* library_;
  bool complete_;
};

#define KINGLET_LOADED(name, function) decltype(&::function) name = find<decltype(&::function)>(#function)

// Loaded by the first call. kUnavailable: it is not installed. Thread-safe; valid as long as the process lives.
template <typename Library>
[[nodiscard]] Result<const Library*> loaded_library() {
  static const Library library;
  if (library.complete()) return &library;
  return fail(ErrorCode::kUnavailable, format_text("{} is not installed", Library::kSoname), {},
              format_text("apt install {}", Library::kPackage));
}

}  // namespace kinglet
