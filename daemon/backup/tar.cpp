// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::daemon::backup {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kShortName = 100;

// Where the fields of a head begin, and how long they are (POSIX.1-2001, pax, "ustar Interchange Format").
struct Field {
  std::size_t begin;
  std::size_t size;
};
constexpr Field kName{0, kShortName};
constexpr Field kMode{100, 8};
constexpr Field kUser{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kModified{136, 12};
constexpr Field kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 8};
constexpr Field kGroupName{297, 32};
constexpr std::string_view kUstar("ustar\00000", 8);

void put(std::string& block, Field field, std::string_view text) {
  const std::size_t size = std::min(text.size(), field.size);
  std::memcpy(block.data() + field.begin, text.data(), size);
}

void put_number(std::string& block, Field field, std::uint64_t number) {
  put(block, field, format_text("{:0{}o}", number, field.size - 1));
}

std::string_view text_of(std::string_view block, Field field) {
  const std::string_view text = block.substr(field.begin, field.size);
  return text.substr(0, text.find('\0'));
}

std::optional<std::uint64_t> number_of(std::string_view block, Field field) {
  std::string_view text = text_of(block, field);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return parse_number<std::uint64_t>(text, 8);
}

// Of all bytes of the head, its own field counted as blanks.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= kSum.begin && i < kSum.begin + kSum.size;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string head_of(const TarEntry& entry, char type) {
  std::string block(kBlock, '\0');
  put(block, kName, entry.name);
  put_number(block, kMode, entry.mode);
  put_number(block, kUser, 0);
  put_number(block, kGroup, 0);
  put_number(block, kSize, entry.size);
  put_number(block, kModified, static_cast<std::uint64_t>(std::max<std::int64_t>(entry.modified, 0)));
  block[kType] = type;
  put(block, kMagic, kUstar);
  put(block, kGroupName, entry.group);
  put(block, kSum, format_text("{:06o}", sum_of(block)));
  block[kSum.begin + 7] = ' ';
  return block;
}

// "LENGTH path=NAME\n", where the length counts itself.
std::string path_record(std::string_view name) {
  const std::string rest = format_text(" path={}\n", name);
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

std::unexpected<Error> no_archive(std::string what) {
  return fail(ErrorCode::kBadData, "this is no backup of kinglet, or it is damaged: " + std::move(what));
}

}  // namespace

std::string tar_head(const TarEntry& entry) {
  if (entry.name.size() <= kShortName) return head_of(entry, '0');
  const std::string record = path_record(entry.name);
  TarEntry cut = entry;
  cut.name.resize(kShortName);
  return head_of({.name = "pax", .size = record.size()}, 'x') + record + tar_padding(record.size()) + head_of(cut, '0');
}

std::string tar_padding(std::uint64_t size) { return std::string((kBlock - size % kBlock) % kBlock, '\0'); }

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

Result<void> TarReader::take(std::string_view bytes) {
  while (!bytes.empty()) {
    std::string_view piece;
    const auto cut = [&](std::uint64_t most) {
      piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes.size())));
      bytes.remove_prefix(piece.size());
    };
    switch (state_) {
      case State::kHead:
        cut(kBlock - block_.size());
        block_ += piece;
        if (block_.size() < kBlock) break;
        KINGLET_TRY(read_head(std::exchange(block_, {})));
        break;
      case State::kLongName:
        cut(left_);
        sink_.seen(piece);
        block_ += piece;
        left_ -= piece.size();
        if (left_ == 0) KINGLET_TRY(read_long_name());
        break;
      case State::kBytes:
        cut(left_);
        sink_.seen(piece);
        KINGLET_TRY(sink_.bytes(piece));
        left_ -= piece.size();
        if (left_ == 0) KINGLET_TRY(end_file());
        break;
      case State::kPadding:
        cut(padding_);
        sink_.seen(piece);
        padding_ -= piece.size();
        if (padding_ == 0) state_ = State::kHead;
        break;
      case State::kOver:
        // Programs that write tapes fill up with zeros.
        if (bytes.find_first_not_of('\0') != std::string_view::npos) return no_archive("there is more behind its end");
        return {};
    }
  }
  return {};
}

Result<void> TarReader::read_head(std::string_view block) {
  if (block.find_first_not_of('\0') == std::string_view::npos) {
    state_ = State::kOver;
    return {};
  }
  const std::optional<std::uint64_t> size = number_of(block, kSize);
  if (text_of(block, kMagic) != "ustar" || number_of(block, kSum) != sum_of(block) || !size || *size > kLargestEntry) {
    return no_archive("the head of a file in it cannot be read");
  }
  padding_ = tar_padding(*size).size();
  left_ = *size;
  if (block[kType] == 'x') {
    if (left_ == 0 || left_ > kLongestName + 16 || !long_name_.empty()) return no_archive("a name in it is too long");
    sink_.seen(block);
    state_ = State::kLongName;
    return {};
  }
  const std::string name = long_name_.empty() ? std::string(text_of(block, kName)) : std::exchange(long_name_, {});
  if (block[kType] != '0') {
    return no_archive(format_text("\"{}\" in it is no plain file (links and folders are not taken)", printable(name)));
  }
  KINGLET_TRY(sink_.begin({.name = name,
                           .size = *size,
                           .mode = static_cast<unsigned>(number_of(block, kMode).value_or(0) & 0777),
                           .group = std::string(text_of(block, kGroupName)),
                           .modified = static_cast<std::int64_t>(number_of(block, kModified).value_or(0))}));
  sink_.seen(block);
  state_ = State::kBytes;
  return left_ == 0 ? end_file() : Result<void>{};
}

Result<void> TarReader::read_long_name() {
  const std::string record = std::exchange(block_, {});
  const std::size_t begin = record.find(" path=");
  const std::string name = begin == std::string::npos ? "" : record.substr(begin + 6, record.size() - begin - 7);
  if (name.empty() || name.size() > kLongestName || record != path_record(name)) {
    return no_archive("a long name in it cannot be read");
  }
  long_name_ = name;
  state_ = padding_ == 0 ? State::kHead : State::kPadding;
  return {};
}

Result<void> TarReader::end_file() {
  KINGLET_TRY(sink_.end());
  state_ = padding_ == 0 ? State::kHead : State::kPadding;
  return {};
}

}  // namespace kinglet::daemon::backup
