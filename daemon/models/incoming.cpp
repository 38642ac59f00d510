// SPDX-License-Identifier: Apache-2.0
#include "daemon/models/incoming.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "daemon/catalogue/fetch.h"
#include "daemon/models/model_folder.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/units.h"
#include "engine/session/model.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStaging = ".incoming";
constexpr const char* kUpload = "upload";
constexpr const char* kPart = ".part";
constexpr std::array kCompanionEndings{".labels.txt", ".recipe.json", ".species.tsv"};
constexpr std::chrono::days kYoung{7};
constexpr std::uint64_t kMostCompanion = 16U << 20;
// What a full disk needs least is to be filled by a model.
constexpr std::uint64_t kSpare = 16U << 20;

Result<void> move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return {};
  return fail(code_of_making(error.value()), format_text("cannot rename: {}", error.message()), to.string());
}

// As the disk and this user's rights are now.
Result<void> check_writable(const fs::path& folder) {
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return fail(ErrorCode::kCannotCreate, format_text("cannot write into the folder: {}", errno_text()), folder.string());
}

// Removes what was staged, when it goes.
class Leftovers {
 public:
  explicit Leftovers(std::vector<fs::path> files) : files_(std::move(files)) {}
  ~Leftovers() {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
  }
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

 private:
  const std::vector<fs::path> files_;
};

}  // namespace

bool is_of(const CatalogueEntry& entry, const Proof& proof) {
  const std::string digest = "sha256:" + entry.sha256;
  return proof.digest == digest || proof.source == digest;
}

const CatalogueEntry* Incoming::find(std::string_view name) const {
  const auto entry = std::ranges::find(options_.catalogue, name, &CatalogueEntry::name);
  return entry == options_.catalogue.end() ? nullptr : &*entry;
}

fs::path Incoming::place_of(std::string_view name) const { return options_.folder / (std::string(name) + ".onnx"); }

fs::path Incoming::staging() const { return options_.folder / kStaging; }

void Incoming::sweep() const {
  if (options_.folder.empty()) return;
  std::error_code failed;
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(staging(), failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unknown;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(entry->path(), unknown);
    if (entry->path().extension() != kPart || unknown || age > kYoung) old.push_back(entry->path());
  }
  const Leftovers gone(std::move(old));
}

Result<void> Incoming::make_room(std::uint64_t bytes) const {
  if (options_.folder.empty()) {
    return fail(ErrorCode::kConfig, "there is no folder for models", {},
                "set store.path or model.folder in the configuration file");
  }
  std::error_code error;
  fs::create_directories(staging(), error);
  if (error) {
    return fail(code_of_making(error.value()), format_text("cannot make the folder: {}", error.message()),
                staging().string());
  }
  for (const fs::path& folder : {options_.folder, staging()}) KINGLET_TRY(check_writable(folder));
  const fs::space_info space = fs::space(staging(), error);
  // Once as it comes, once as it is kept.
  const std::uint64_t wanted = 2 * bytes + kSpare;
  if (error || space.available >= wanted) return {};
  return fail(ErrorCode::kIo,
              format_text("the disk has {} left, {} are wanted for this model", format_bytes(Bytes{space.available}),
                          format_bytes(Bytes{wanted})),
              options_.folder.string(), "free some space");
}

fs::path Incoming::upload() const { return staging() / kUpload; }

// Whatever lies there is of an upload that broke off.
Result<PartFile> Incoming::open_upload() const { return PartFile::open(upload(), 0); }

Result<fs::path> Incoming::download(const CatalogueEntry& entry,
                                    const std::function<void(std::uint64_t bytes)>& progress,
                                    const std::function<bool()>& go_on) const {
  KINGLET_TRY(make_room(entry.size_bytes));
  PartFile part = KINGLET_TRY(PartFile::open(staging() / (entry.name + kPart), entry.size_bytes));
  progress(part.size());
  KINGLET_TRY(fetch(entry, part, {.progress = progress, .go_on = go_on}));
  return part.path();
}

Result<void> Incoming::admit(const std::string& name, const fs::path& file, const std::stop_token& stop) const {
  const fs::path model = staging() / (name + ".onnx");
  std::vector<fs::path> staged{file, model};
  for (const char* ending : kCompanionEndings) staged.push_back(fs::path(model).replace_extension(ending));
  const Leftovers leftovers(std::move(staged));
  KINGLET_TRY(stage(file, model, stop));
  KINGLET_TRY(options_.prover->prove({.model = model, .tables = options_.tables, .threads = options_.threads}, stop));
  return place(model);
}

Result<void> Incoming::stage(const fs::path& file, const fs::path& model, const std::stop_token& stop) const {
  const std::string digest = KINGLET_TRY(engine::file_digest(file));
  const CatalogueEntry* entry = find(model.stem().string());
  if (entry != nullptr && "sha256:" + entry->sha256 != digest) {
    return fail(ErrorCode::kBadData,
                format_text("this is not the catalogue's file of \"{}\": it has {}, expected sha256:{}", entry->name,
                            digest, entry->sha256),
                {}, "get the file from its address again, or send this one under a name of its own");
  }
  const auto known = std::ranges::find_if(options_.catalogue,
                                          [&](const CatalogueEntry& one) { return "sha256:" + one.sha256 == digest; });
  const bool is_known = known != options_.catalogue.end();
  KINGLET_TRY(stage_companion(model, ".labels.txt", is_known ? built_in_labels(known->labels) : std::string_view{}));
  KINGLET_TRY(stage_companion(model, ".recipe.json", is_known ? engine::to_json(known->recipe) : std::string()));
  KINGLET_TRY(stage_companion(model, ".species.tsv", {}));
  if (KINGLET_TRY(options_.prover->adopt(file, model, digest, stop))) return {};
  return move_file(file, model);
}

// One that an owner has put beside the place of the model counts, as it will there.
Result<void> Incoming::stage_companion(const fs::path& model, const char* ending, std::string_view bytes) const {
  const fs::path staged = fs::path(model).replace_extension(ending);
  const fs::path own = options_.folder / staged.filename();
  std::error_code ignored;
  if (fs::exists(own, ignored)) {
    return write_file(staged, KINGLET_TRY(read_file(own, kMostCompanion)), Overwrite::kReplace);
  }
  fs::remove(staged, ignored);
  return bytes.empty() ? Result<void>{} : write_file(staged, bytes, Overwrite::kReplace);
}

// The model last: it is not there before what belongs to it.
Result<void> Incoming::place(const fs::path& model) const {
  std::vector<fs::path> files = files_of_model(model);
  std::ranges::reverse(files);
  for (const fs::path& file : files) KINGLET_TRY(move_file(file, options_.folder / file.filename()));
  return sync_folder(options_.folder);
}

}  // namespace kinglet::daemon
