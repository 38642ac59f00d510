// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/incoming.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/backup/act_as.h"
#include "daemon/backup/change.h"
#include "daemon/backup/digest.h"
#include "daemon/backup/tar.h"
#include "daemon/models/model_folder.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "store/history_copy.h"

namespace kinglet::daemon::backup {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::uint64_t kRoomLeft = 64ULL << 20;  // for the visits that come meanwhile
constexpr std::size_t kMostLeftOut = 100;         // each is told in a line

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::kBadData, "this is no backup of kinglet, or it is damaged: " + std::move(message));
}

std::string text_in(const Json& json, const char* member) {
  return json.contains(member) && json[member].is_string() ? printable(json[member].get<std::string>(), 100)
                                                           : std::string();
}

// A number of ours; nothing: something else.
std::optional<std::uint64_t> number_in(const Json& json, const char* member) {
  if (!json.contains(member) || !json[member].is_number_unsigned()) return std::nullopt;
  return json[member].get<std::uint64_t>();
}

Result<void> look_for_room(const fs::path& folder, std::uint64_t bytes) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) return fail(ErrorCode::kIo, "cannot ask the disk: " + errno_text());
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free >= kRoomLeft && free - kRoomLeft >= bytes) return {};
  return fail(ErrorCode::kIo, format_text("the disk has {} bytes left, the backup needs {} more", free, bytes),
              folder.string(), "the old state stays beside the new one at first: free some space");
}

unsigned mode_of(PartKind kind, unsigned wished) {
  switch (kind) {
    case PartKind::kModel:
      return 0644;
    case PartKind::kHistory:
    case PartKind::kPicture:
      return 0640;
    case PartKind::kOwnersFile:
      return wished & 0775U;
    default:
      return 0600;
  }
}

// Of a file of /etc: its group, where this machine has it and we may.
void give_to_group(int fd, const std::string& name) {
  if (::geteuid() != 0 || name.empty()) return;
  std::array<char, 1024> room;
  group entry{};
  group* found = nullptr;
  if (::getgrnam_r(name.c_str(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr) return;
  [[maybe_unused]] const int given = ::fchown(fd, static_cast<uid_t>(-1), entry.gr_gid);
}

}  // namespace

struct Incoming::State {
  Places places;
  Carry takes = Carry::kShared;
  FileDescriptor lock;
  bool committed = false;
  Arrived arrived;
  std::set<std::string> small_files;  // names of all but history and pictures
  std::uint64_t files = 0;            // as the archive counts them
  Digest digest;
  std::string digest_before_end;
  std::string note;  // of the manifest or the end, while it comes
  bool has_manifest = false;
  bool has_end = false;
  FileDescriptor file;  // that is written; none: its bytes are left aside
  fs::path path;
  std::string name;
  std::set<fs::path> folders;  // made already
  std::optional<TarReader> reader;

  [[nodiscard]] fs::path incoming() const { return incoming_folder(places.state); }
  [[nodiscard]] fs::path etc() const { return waiting_etc(places.etc); }
  [[nodiscard]] bool is_note() const { return name == kManifest || name == kEnd; }
  void clear() const {
    std::error_code failed;
    fs::remove_all(incoming(), failed);
    const ActAs starter = ActAs::starter();
    if (!places.etc.empty()) fs::remove_all(etc(), failed);
  }

  Result<void> make_folder(const fs::path& folder, unsigned mode = 0750) {
    if (folders.contains(folder)) return {};
    if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) {
      return fail(errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kCannotCreate,
                  "cannot make the folder: " + errno_text(), folder.string(),
                  errno == EACCES ? "run this with sudo" : "");
    }
    folders.insert(folder);
    return {};
  }
  Result<void> make_folders(const fs::path& top, const fs::path& below, unsigned mode = 0750) {
    fs::path folder = top;
    KINGLET_TRY(make_folder(folder, mode));
    for (const fs::path& part : below) {
      folder /= part;
      KINGLET_TRY(make_folder(folder, mode));
    }
    return {};
  }

  Result<void> begin_file(const TarEntry& entry) {
    name = entry.name;
    if (has_end) return bad("there is more behind its end");
    if (!has_manifest && name != kManifest) return bad("it does not begin with its manifest");
    if (is_note()) return begin_note(entry);
    const std::optional<PartKind> kind = part_of(name);
    if (!kind) return bad(format_text("\"{}\" is no name of a file that is carried", printable(name)));
    if (entry.size > largest(*kind)) {
      return bad(format_text("\"{}\" has {} bytes, the limit is {}", printable(name), entry.size, largest(*kind)));
    }
    if (++files > kMostFiles) return bad("it has too many files");
    if (*kind != PartKind::kPicture) {
      if (!small_files.insert(name).second) return bad(format_text("\"{}\" is in it twice", printable(name)));
      if (small_files.size() > kMostSmallFiles) return bad("it has too many files");
    }
    const bool wanted = is_carried(*kind, takes) && (*kind != PartKind::kOwnersFile || !places.etc.empty()) &&
                        (*kind != PartKind::kModel || !places.models.empty());
    if (!wanted) return {};
    count(*kind);
    KINGLET_TRY(look_for_room(places.state, entry.size));
    return create(*kind, entry);
  }

  Result<void> begin_note(const TarEntry& entry) {
    if (entry.size > kMostNoteBytes) return bad(format_text("\"{}\" is too long", name));
    if (name == kManifest && has_manifest) return bad("it has two manifests");
    if (name == kEnd) digest_before_end = digest.hex();
    note.clear();
    return {};
  }

  void count(PartKind kind) {
    if (kind == PartKind::kPicture) ++arrived.pictures;
    if (kind == PartKind::kModel && name.ends_with(".onnx")) ++arrived.models;
    if (kind == PartKind::kPrivate) ++arrived.private_files;
    if (kind == PartKind::kOwnersFile) ++arrived.owners_files;
    arrived.has_history = arrived.has_history || name == kDatabase;
  }

  Result<void> create(PartKind kind, const TarEntry& entry) {
    if (kind == PartKind::kOwnersFile) {
      const ActAs starter = ActAs::starter();
      const fs::path below = fs::path(name).lexically_relative("etc");
      KINGLET_TRY(make_folders(etc(), below.parent_path(), 0755));
      KINGLET_TRY(open_new(etc() / below, mode_of(kind, entry.mode)));
      give_to_group(file.get(), entry.group);
      return {};
    }
    std::error_code failed;
    if (kind == PartKind::kModel) fs::create_directory(places.models, failed);
    if (kind == PartKind::kModel && ::faccessat(AT_FDCWD, places.models.c_str(), W_OK, AT_EACCESS) != 0) {
      return fail(ErrorCode::kNotPermitted, "cannot write into the folder of models: " + errno_text(),
                  places.models.string(), "make it writable for the service, or set model.folder");
    }
    const fs::path below(name);
    KINGLET_TRY(make_folders(incoming(), below.parent_path()));
    return open_new(incoming() / below, mode_of(kind, entry.mode));
  }

  Result<void> open_new(fs::path at, unsigned mode) {
    path = std::move(at);
    file = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.valid() && ::fchmod(file.get(), mode) == 0) return {};
    if (errno == EEXIST) return bad(format_text("\"{}\" is in it twice", printable(name)));
    return fail(ErrorCode::kIo, "cannot create the file: " + errno_text(), path.string());
  }

  Result<void> add(std::string_view bytes) {
    if (is_note()) {
      note += bytes;
      return {};
    }
    return file.valid() ? write_all(file.get(), bytes, path) : Result<void>{};
  }

  Result<void> end_file() {
    file.reset();
    if (name == kManifest) return read_manifest();
    if (name == kEnd) return read_end();
    return {};
  }

  Result<void> read_manifest() {
    has_manifest = true;
    const Json json = Json::parse(note, nullptr, false);
    if (!json.is_object() || text_in(json, "program") != "kinglet") return bad("its manifest cannot be read");
    const std::optional<std::uint64_t> format = number_in(json, "format");
    if (!format) return bad("its manifest cannot be read");
    arrived.version = text_in(json, "version");
    arrived.made_at = text_in(json, "made_at");
    if (*format != kFormat) {
      return fail(ErrorCode::kUnsupported,
                  format_text("the backup has form {}, this program knows form {} (it was made by kinglet {})", *format,
                              kFormat, arrived.version),
                  {}, "install that kinglet or a newer one");
    }
    return look_for_room(places.state, number_in(json, "about_bytes").value_or(0));
  }

  Result<void> read_end() {
    has_end = true;
    const Json json = Json::parse(note, nullptr, false);
    if (!json.is_object()) return bad("its end cannot be read");
    if (number_in(json, "files") != files || text_in(json, "sha256") != digest_before_end) {
      return bad("its bytes are not those that were written");
    }
    return {};
  }

  Result<void> judge_history(const std::function<bool()>& stop) {
    if (!arrived.has_history) {
      return arrived.pictures == 0 ? Result<void>{} : bad("it has pictures and no history");
    }
    const fs::path folder = incoming() / "state";
    KINGLET_TRY(make_folders(folder, "pictures"));
    arrived.visits = KINGLET_TRY(store::judge_history(folder, stop)).visits;
    arrived.pictures_missing = KINGLET_TRY(store::fit_history(folder));
    return look_at_place_of_pictures();
  }

  // A rename must be able to bring them there.
  Result<void> look_at_place_of_pictures() const {
    const fs::path place = places.state / "pictures";
    struct stat there{};
    struct stat state{};
    if (::lstat(place.c_str(), &there) != 0 || ::stat(places.state.c_str(), &state) != 0) return {};
    if (S_ISDIR(there.st_mode) && there.st_dev == state.st_dev) return {};
    return fail(ErrorCode::kUnsupported, "the folder of pictures is a link or another disk", place.string(),
                "take it away, restore, and put it back with the new pictures in it");
  }

  Result<void> judge_small_files(const JudgeSettings& settings) {
    const fs::path folder = incoming() / "state";
    std::string text;
    if (const auto found = KINGLET_TRY(read_settings(folder))) text = found->text;
    const fs::path owners = arrived.owners_files > 0 ? etc() : fs::path();
    JudgedSettings judged = KINGLET_TRY(settings(text, owners));
    if (judged.left_out.size() > kMostLeftOut) return bad("its settings are none of kinglet");
    // The next start reads what this version wrote, and nothing that only a restore is patient with.
    if (!text.empty()) KINGLET_TRY(write_settings(folder, judged.kept));
    arrived.settings = judged.kept.size();
    arrived.left_out = std::move(judged.left_out);
    KINGLET_TRY(judge_past_changes(settings, judged.kept, owners));
    (void)KINGLET_TRY(read_choice(folder));
    return {};
  }

  // Undo would stop at the first step that this version refuses, or that changes nothing.
  Result<void> judge_past_changes(const JudgeSettings& settings, const config::Settings& now, const fs::path& owners) {
    const fs::path folder = incoming() / "state";
    std::vector<PastChange> past = KINGLET_TRY(read_past_changes(folder));
    if (past.empty()) return {};
    for (std::size_t i = past.size(); i-- > 0;) {
      Result<JudgedSettings> before = settings(config::settings_text(past[i].before), owners);
      const config::Settings& after = i + 1 < past.size() ? past[i + 1].before : now;
      if (before && before->kept != after) {
        past[i].before = std::move(before->kept);
      } else {
        past.erase(past.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return write_past_changes(folder, past);
  }

  std::vector<PlanItem> plan() const {
    std::vector<PlanItem> items;
    const fs::path folder = incoming() / "state";
    std::error_code missing;
    std::set<std::string> known;
    const auto add_item = [&](const std::string& below) {
      known.insert(below);
      items.push_back({.name = "state/" + below, .has_new = fs::exists(folder / below, missing)});
    };
    if (arrived.has_history) {
      // The journals of the old database first: left there they would be taken for the new one's.
      for (const char* of_history : {"kinglet.db-wal", "kinglet.db-shm", "kinglet.db", "sequence", "pictures"}) {
        add_item(of_history);
      }
    }
    for (const std::string& setting : setting_names()) add_item(setting);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing)) {
      if (const std::string below = entry.path().filename().string(); !known.contains(below)) add_item(below);
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(incoming() / "models", missing)) {
      items.push_back({.name = "models/" + entry.path().filename().string(), .has_new = true});
    }
    return items;
  }
};

Incoming::Incoming(std::unique_ptr<State> state) : state_(std::move(state)) {}
Incoming::Incoming(Incoming&&) noexcept = default;

Incoming::~Incoming() {
  if (state_ && !state_->committed) state_->clear();
}

Result<Incoming> Incoming::begin(Places places, Carry takes) {
  auto state = std::make_unique<State>();
  state->places = std::move(places);
  state->takes = takes;
  KINGLET_TRY(state->make_folder(incoming_folder(state->places.state).parent_path()));
  state->lock = KINGLET_TRY(hold_restores(state->places.state));
  state->clear();
  KINGLET_TRY(state->make_folders(state->incoming(), "state"));
  State* raw = state.get();
  state->reader.emplace(TarReader::Sink{.begin = [raw](const TarEntry& entry) { return raw->begin_file(entry); },
                                        .bytes = [raw](std::string_view bytes) { return raw->add(bytes); },
                                        .end = [raw] { return raw->end_file(); },
                                        .seen = [raw](std::string_view bytes) { raw->digest.add(bytes); }});
  return Incoming(std::move(state));
}

Result<void> Incoming::take(std::string_view bytes) { return state_->reader->take(bytes); }

Result<Arrived> Incoming::finish(const JudgeSettings& settings, const std::function<bool()>& stop) {
  State& state = *state_;
  if (!state.has_end || !state.reader->at_end()) return bad("it ends early");
  KINGLET_TRY(state.judge_history(stop));
  KINGLET_TRY(state.judge_small_files(settings));
  return state.arrived;
}

Result<void> Incoming::commit() {
  State& state = *state_;
  KINGLET_TRY(backup::commit(state.places, state.plan(), state.arrived));
  state.committed = true;
  return {};
}

}  // namespace kinglet::daemon::backup
