// SPDX-License-Identifier: Apache-2.0
// Why: a file of the catalogue onto this disk: from the first address that delivers it, going on where it broke off,
// its digest checked before anybody opens it.
#pragma once

#include <functional>
#include <string_view>

#include "daemon/catalogue/catalogue.h"
#include "daemon/catalogue/part_file.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

struct FetchNews {
  std::function<void(std::uint64_t bytes)> progress;       // of the whole file, as they come
  std::function<void(std::string_view text)> detail = {};  // which address is tried, why one did not deliver
  std::function<bool()> go_on = [] { return true; };       // asked often; false calls it off
};

// Fills `part` and checks it; what lies in it and is not of this file is fetched anew. kUnavailable: what came is kept
// in `part`, to go on from. kBadData: the server has another file; nothing of it is kept. kIo: the disk is full.
[[nodiscard]] Result<void> fetch(const CatalogueEntry& entry, PartFile& part, const FetchNews& news);

}  // namespace kinglet::daemon
