// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/update.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kAnew{1};
constexpr std::size_t kPiece = 64U << 10;
constexpr int kPiecesOfAStep = 32;
constexpr std::size_t kLongestStanza = 1U << 20;
constexpr std::size_t kMostLists = 1000;
constexpr std::string_view kPackage = "\nPackage: kinglet\n";

// "~" comes before the end, letters before other signs.
int weight(char letter) {
  if (letter == '~') return -1;
  if (std::isalpha(static_cast<unsigned char>(letter)) != 0) return letter;
  return letter + 256;
}

std::string_view take_while(std::string_view& text, bool digits) {
  std::size_t size = 0;
  while (size < text.size() && (std::isdigit(static_cast<unsigned char>(text[size])) != 0) == digits) ++size;
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

int compare_signs(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const int left = i < a.size() ? weight(a[i]) : 0;
    const int right = i < b.size() ? weight(b[i]) : 0;
    if (left != right) return left - right;
  }
  return 0;
}

int compare_numbers(std::string_view a, std::string_view b) {
  while (a.starts_with('0')) a.remove_prefix(1);
  while (b.starts_with('0')) b.remove_prefix(1);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

int compare_parts(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    if (const int signs = compare_signs(take_while(a, false), take_while(b, false)); signs != 0) return signs;
    if (const int numbers = compare_numbers(take_while(a, true), take_while(b, true)); numbers != 0) return numbers;
  }
  return 0;
}

struct Version {
  std::string_view epoch;
  std::string_view upstream;
  std::string_view revision;
};

Version parts_of(std::string_view text) {
  Version version;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    version.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const std::size_t dash = text.rfind('-');
  version.upstream = text.substr(0, dash);
  if (dash != std::string_view::npos) version.revision = text.substr(dash + 1);
  return version;
}

std::string_view field(std::string_view stanza, std::string_view name) {
  const std::string wanted = "\n" + std::string(name) + ": ";
  const std::size_t at = stanza.find(wanted);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = stanza.substr(at + wanted.size());
  return rest.substr(0, rest.find('\n'));
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  const Version left = parts_of(a);
  const Version right = parts_of(b);
  if (const int epochs = compare_numbers(left.epoch, right.epoch); epochs != 0) return epochs;
  if (const int upstream = compare_parts(left.upstream, right.upstream); upstream != 0) return upstream;
  return compare_parts(left.revision, right.revision);
}

std::optional<Update> UpdateWatch::found() const {
  MutexLock lock(mutex_);
  return found_;
}

bool UpdateWatch::look(SteadyTime now) {
  if (!under_way_) {
    if (now < next_) return false;
    next_ = now + kAnew;
    under_way_ = begin();
  }
  for (int piece = 0; under_way_ && piece < kPiecesOfAStep; ++piece) {
    if (file_ || open_next()) {
      read_piece();
    } else {
      end();
    }
  }
  return under_way_;
}

void UpdateWatch::read_piece() {
  const std::size_t before = text_.size();
  text_.resize(before + static_cast<std::size_t>(std::min<std::uint64_t>(file_->size() - offset_, kPiece)));
  const auto fresh = std::as_writable_bytes(std::span(text_)).subspan(before);
  if (!file_->read_at(offset_, fresh)) text_.resize(before);  // apt replaces it in this moment
  offset_ += fresh.size();
  const bool last = text_.size() == before || offset_ >= file_->size();
  if (last) text_ += "\n\n";
  read_stanzas();
  if (last) file_.reset();
  if (last || text_.size() > kLongestStanza) text_ = "\n";
}

// False: no file is another than before.
bool UpdateWatch::begin() {
  files_.clear();
  std::error_code failed;
  const fs::path lists = root_ / "var/lib/apt/lists";
  for (fs::directory_iterator entry(lists, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().native().ends_with("_Packages")) files_.push_back(entry->path());
    if (files_.size() == kMostLists) break;
  }
  files_.push_back(root_ / "var/lib/dpkg/status");
  std::ranges::sort(files_);
  std::string stamp;
  for (const fs::path& path : files_) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) continue;
    stamp += format_text("{} {} {} {}\n", path.string(), status.st_ino, status.st_size, status.st_mtim.tv_sec);
  }
  if (std::exchange(stamp_, stamp) == stamp) return false;
  installed_.clear();
  newest_.clear();
  text_ = "\n";
  return true;
}

bool UpdateWatch::open_next() {
  while (!files_.empty() && !file_) {
    Result<InputFile> file = InputFile::open(files_.back());
    files_.pop_back();
    if (file) file_ = std::move(*file);
  }
  offset_ = 0;
  return file_.has_value();
}

void UpdateWatch::read_stanzas() {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text_.find("\n\n", begin)) != std::string::npos; begin = end + 1) {
    const std::string_view stanza = std::string_view(text_).substr(begin, end - begin + 1);
    if (!stanza.contains(kPackage)) continue;
    const std::string version = printable(field(stanza, "Version"), 60);
    const std::string_view status = field(stanza, "Status");
    if (status.ends_with(" installed")) installed_ = version;
    if (status.empty() && (newest_.empty() || compare_versions(version, newest_) > 0)) newest_ = version;
  }
  text_.erase(0, begin);
}

void UpdateWatch::end() {
  under_way_ = false;
  std::string().swap(text_);  // for an hour nobody needs it
  MutexLock lock(mutex_);
  found_.reset();
  if (installed_.empty() || newest_.empty() || compare_versions(newest_, installed_) <= 0) return;
  found_ = Update{.installed = installed_, .available = newest_};
}

}  // namespace kinglet::daemon
