// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/outgoing.h"

#include <grp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/backup/tar.h"
#include "daemon/machine/build_info.h"
#include "engine/base/format.h"
#include "store/database/visit_database.h"

namespace kinglet::daemon::backup {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kPiece = 128U << 10;
constexpr std::uint64_t kHeadAndPadding = 1024;

struct Rights {
  unsigned mode = 0600;
  std::string group;
};

// A secret that the group may read stays one that the group may read.
Rights rights_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  Rights rights{.mode = static_cast<unsigned>(status.st_mode) & 0777U, .group = {}};
  std::array<char, 1024> room;
  group entry{};
  group* found = nullptr;
  if (::getgrgid_r(status.st_gid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) {
    rights.group = entry.gr_name;
  }
  return rights;
}

}  // namespace

Result<Outgoing> Outgoing::begin(Places places, Carry carry, WallTime now, const std::function<bool()>& stop) {
  Outgoing made(std::move(places), carry, now);
  std::error_code missing;
  if (fs::exists(store::database_file(made.places_.state), missing)) {
    made.history_ = KINGLET_TRY(store::HistoryCopy::make(made.places_.state, stop));
    made.carried_.visits = made.history_->visits();
    made.expected_ += made.history_->size() + made.history_->picture_bytes();
  }
  made.files_ = part_files(made.places_, carry, made.carried_.left_out);
  const fs::path sequence = made.places_.state / "sequence";
  if (made.history_ && fs::exists(sequence, missing))
    made.files_.push_back({.name = "state/sequence", .path = sequence});
  for (const PartFile& file : made.files_) {
    const std::uintmax_t size = fs::file_size(file.path, missing);
    made.expected_ += (missing ? 0 : size) + kHeadAndPadding;
  }
  return made;
}

std::string Outgoing::manifest() const {
  Json json{{"format", 1},
            {"program", "kinglet"},
            {"version", build_info().version},
            {"made_at", to_rfc3339(now_)},
            {"carries", carry_ == Carry::kEverything ? "everything" : "shared"},
            {"about_bytes", expected_}};
  if (history_) json["history"] = {{"version", history_->version()}, {"visits", history_->visits()}};
  return json.dump(1) + "\n";
}

std::string Outgoing::note(std::string_view name, const std::string& json) const {
  return tar_head({.name = std::string(name),
                   .size = json.size(),
                   .mode = 0600,
                   .group = {},
                   .modified = std::chrono::floor<std::chrono::seconds>(now_).time_since_epoch().count()}) +
         json + tar_padding(json.size());
}

Result<std::string> Outgoing::open_file(InputFile file, const std::string& name, unsigned mode) {
  if (file.size() > kLargestEntry) {
    return fail(ErrorCode::kUnsupported, "is larger than 8 GiB, which no backup carries", file.path().string());
  }
  const Rights rights = rights_of(file.path());
  std::string head = tar_head({.name = name,
                               .size = file.size(),
                               .mode = mode == 0 ? rights.mode : mode,
                               .group = rights.group,
                               .modified = std::chrono::floor<std::chrono::seconds>(now_).time_since_epoch().count()});
  ++carried_.files;
  reading_ = Reading{.file = std::move(file)};
  return head;
}

// The head of the next file, or all of a note. Stages that have nothing more give way to the next one.
Result<std::string> Outgoing::open_next() {
  switch (stage_) {
    case Stage::kBegin:
      stage_ = Stage::kHistory;
      return note(kManifest, manifest());
    case Stage::kHistory:
      stage_ = Stage::kFiles;
      if (history_) return open_file(history_->take_file(), std::string(kDatabase), 0640);
      return std::string();
    case Stage::kFiles: {
      if (next_file_ == files_.size()) {
        stage_ = Stage::kVisits;
        return std::string();
      }
      const PartFile& part = files_[next_file_++];
      Result<InputFile> file = InputFile::open(part.path, Links::kRefuse);
      if (!file) {
        carried_.left_out.push_back(describe(file.error()));
        return std::string();
      }
      if (part_of(part.name) == PartKind::kModel && part.name.ends_with(".onnx")) ++carried_.models;
      return open_file(std::move(*file), part.name, 0);
    }
    case Stage::kVisits: {
      if (!history_) {
        stage_ = Stage::kClose;
        return std::string();
      }
      const std::optional<store::HistoryCopy::PictureFile> picture = KINGLET_TRY(history_->next_picture());
      if (!picture) {
        stage_ = Stage::kClose;
        return std::string();
      }
      // Retention or a person may have removed it meanwhile.
      Result<InputFile> file = InputFile::open(picture->path);
      if (!file || file->size() == 0) return std::string();
      ++carried_.pictures;
      return open_file(std::move(*file), "state/" + picture->name, 0640);
    }
    case Stage::kClose:
      stage_ = Stage::kOver;
      return note(kEnd, Json{{"files", carried_.files}, {"sha256", digest_.hex()}}.dump() + "\n") + tar_end();
    case Stage::kOver:
      break;
  }
  return std::string();
}

Result<bool> Outgoing::next(std::string& piece) {
  piece.clear();
  while (piece.size() < kPiece && stage_ != Stage::kOver) {
    std::string made;
    if (reading_) {
      const std::uint64_t left = reading_->file.size() - reading_->offset;
      made.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece)));
      KINGLET_TRY(reading_->file.read_at(reading_->offset, std::as_writable_bytes(std::span(made))));
      reading_->offset += made.size();
      if (reading_->offset == reading_->file.size()) {
        made += tar_padding(reading_->file.size());
        reading_.reset();
      }
    } else {
      made = KINGLET_TRY(open_next());
    }
    // That of the end is about all before it.
    if (stage_ != Stage::kOver) digest_.add(made);
    piece += made;
  }
  carried_.bytes += piece.size();
  return stage_ != Stage::kOver;
}

}  // namespace kinglet::daemon::backup
