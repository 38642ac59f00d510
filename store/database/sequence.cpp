// SPDX-License-Identifier: Apache-2.0
#include "store/database/sequence.h"

#include <algorithm>
#include <string>

#include "engine/base/file.h"
#include "engine/base/numbers.h"

namespace kinglet::store {
namespace {

constexpr const char* kFileName = "sequence";
// JSON readers hold numbers up to 2^53.
constexpr std::uint64_t kHighest = (1ULL << 53) - 1;

}  // namespace

std::uint64_t read_reserved(const std::filesystem::path& folder) {
  const Result<std::string> text = read_file(folder / kFileName, 64);
  if (!text || !text->ends_with('\n')) return 0;
  const std::uint64_t number =
      parse_number<std::uint64_t>(std::string_view(*text).substr(0, text->size() - 1)).value_or(0);
  return number <= kHighest ? number : 0;
}

Result<std::uint64_t> write_reserved(const std::filesystem::path& folder, std::uint64_t number) {
  const std::string text = std::to_string(number) + "\n";
  KINGLET_TRY(write_file(folder / kFileName, text, Overwrite::kReplace));
  // The file is durable; its name in the folder only after this.
  KINGLET_TRY(sync_folder(folder));
  return text.size();
}

std::uint64_t Sequence::next() {
  MutexLock lock(mutex_);
  ++last_;
  if (first_ == 0) first_ = last_;
  return last_;
}

void Sequence::note(std::uint64_t number) {
  MutexLock lock(mutex_);
  last_ = std::max(last_, number);
  if (first_ == 0) first_ = number;
}

std::uint64_t Sequence::on_disk(std::uint64_t number) const {
  MutexLock lock(mutex_);
  return number + offset_;
}

std::uint64_t Sequence::adopt(std::uint64_t number) {
  MutexLock lock(mutex_);
  if (number == reserved_) return 0;
  reserved_ = 0;
  if (first_ == 0) {
    last_ = std::max(last_, number);
    return 0;
  }
  if (first_ + offset_ > number) return 0;
  const std::uint64_t more = number - (first_ + offset_) + 1;
  offset_ += more;
  return more;
}

void Sequence::reserved(std::uint64_t number) {
  MutexLock lock(mutex_);
  reserved_ = number;
}

std::uint64_t Sequence::wants() const {
  MutexLock lock(mutex_);
  const std::uint64_t last = last_ + offset_;
  return last + kSequenceBlock / 2 < reserved_ ? 0 : last + kSequenceBlock;
}

}  // namespace kinglet::store
