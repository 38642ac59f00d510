// SPDX-License-Identifier: Apache-2.0
#include "daemon/catalogue/fetch.h"

#include "daemon/catalogue/download.h"
#include "engine/base/format.h"
#include "engine/session/model.h"

namespace kinglet::daemon {
namespace {

Result<void> fill(const CatalogueEntry& entry, PartFile& part, const FetchNews& news) {
  Error last;
  for (const std::string& address : entry.addresses) {
    if (part.size() == entry.size_bytes) return {};
    const Sink sink = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
      KINGLET_TRY(part.write(offset, bytes));
      news.progress(part.size());
      return {};
    };
    if (news.detail) news.detail(format_text("trying {}", address));
    const Result<void> got =
        download({.address = address, .from_byte = part.size(), .limit_bytes = entry.size_bytes}, sink, news.go_on);
    if (got && part.size() == entry.size_bytes) return {};
    last = got ? Error{ErrorCode::kUnavailable,
                       format_text("the server ended after {} of {} bytes", part.size(), entry.size_bytes), address,
                       "try again: it goes on from there"}
               : got.error();
    if (last.code == ErrorCode::kIo || !news.go_on()) break;
    if (news.detail) news.detail(describe(last));
  }
  if (part.size() > 0 && last.code == ErrorCode::kUnavailable) {
    last.hint = format_text("{} of {} bytes are kept: try again to go on", part.size(), entry.size_bytes);
  }
  return std::unexpected(with_context(last, entry.name));
}

Result<void> check_digest(const CatalogueEntry& entry, const std::filesystem::path& part) {
  const std::string digest = KINGLET_TRY(engine::file_digest(part));
  if (digest == "sha256:" + entry.sha256) return {};
  return fail(ErrorCode::kBadData, format_text("downloaded {}, expected sha256:{}", digest, entry.sha256), entry.name,
              "the download was thrown away; try again, and report it if it stays so");
}

Result<void> fetch_once(const CatalogueEntry& entry, PartFile& part, const FetchNews& news) {
  KINGLET_TRY(fill(entry, part, news));
  KINGLET_TRY(part.sync());
  return check_digest(entry, part.path());
}

}  // namespace

Result<void> fetch(const CatalogueEntry& entry, PartFile& part, const FetchNews& news) {
  const bool continued = part.size() > 0;
  Result<void> checked = fetch_once(entry, part, news);
  // What lay there was of something else.
  if (!checked && checked.error().code == ErrorCode::kBadData && continued) {
    KINGLET_TRY(part.write(0, {}));
    checked = fetch_once(entry, part, news);
  }
  const bool useless = !checked && (part.size() == 0 || checked.error().code == ErrorCode::kBadData);
  std::error_code ignored;
  if (useless) std::filesystem::remove(part.path(), ignored);
  return checked;
}

}  // namespace kinglet::daemon
