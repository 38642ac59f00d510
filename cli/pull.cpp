// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet pull`: a public model onto this disk, its licence shown first, its digest checked before it has its
// name, an interrupted download continued.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/http_client.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/onnx/save.h"
#include "engine/session/model.h"
#include "engine/tflite/import.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Options {
  std::string name;
  std::string folder = ".";
  std::string catalogue;
  bool list = false;
  bool yes = false;
  bool force = false;
};

Result<std::vector<CatalogueEntry>> read_catalogue(const Options& options) {
  if (options.catalogue.empty()) return parse_catalogue(built_in_catalogue(), "catalogue");
  return parse_catalogue(KINGLET_TRY(read_file(options.catalogue, 1 << 20)), options.catalogue);
}

void print_list(const std::vector<CatalogueEntry>& entries, Output& out) {
  if (out.json()) {
    Json models = Json::array();
    for (const CatalogueEntry& entry : entries) {
      models.push_back({{"name", entry.name},
                        {"summary", entry.summary},
                        {"size_bytes", entry.size_bytes},
                        {"digest", "sha256:" + entry.sha256},
                        {"licence", entry.licence},
                        {"source", entry.source},
                        {"addresses", entry.addresses}});
    }
    return out.print_json({{"models", std::move(models)}});
  }
  Table table({"NAME", ">SIZE", "LICENCE", "WHAT"});
  for (const CatalogueEntry& entry : entries) {
    table.add({entry.name, human_bytes(entry.size_bytes), entry.licence, entry.summary});
  }
  out.print(table.text(out));
}

Result<const CatalogueEntry*> find(const std::vector<CatalogueEntry>& entries, const std::string& name) {
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : entries) {
    if (entry.name == name) return &entry;
    names.push_back(entry.name);
  }
  const std::string_view nearest = nearest_name(name, names);
  return fail(ErrorCode::kUsage, format_text("no model \"{}\" in the catalogue", printable(name)), "pull",
              nearest.empty() ? "`kinglet pull --list` shows all" : format_text("did you mean {}?", nearest));
}

Result<void> ask_licence(const CatalogueEntry& entry, const Options& options, Output& out) {
  out.note(format_text("{}: {} ({})", entry.name, entry.summary, human_bytes(entry.size_bytes)));
  out.note(format_text("from {}", entry.source));
  out.note(format_text("licence {}: {}", entry.licence, entry.licence_address));
  if (!entry.terms.empty()) out.note("terms: " + printable(entry.terms, 300));
  if (options.yes) return {};
  if (!out.may_ask()) {
    return fail(ErrorCode::kUsage, "the licence has to be accepted", entry.name, "add --yes");
  }
  std::cerr << "Download it? [y/N] ";
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return {};
  return fail(ErrorCode::kUsage, "not downloaded: the licence was not accepted", entry.name);
}

// The unfinished file: what is there already, and more of it.
class PartFile {
 public:
  [[nodiscard]] static Result<PartFile> open(const fs::path& path, std::uint64_t expected) {
    PartFile part;
    part.path_ = path;
    part.fd_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!part.fd_.valid()) {
      const char* cure = errno == ENOENT ? "make the folder first" : "";
      return fail(ErrorCode::kCannotCreate, format_text("cannot create the file: {}", errno_text()), path.string(),
                  cure);
    }
    if (::flock(part.fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      return fail(ErrorCode::kBusy, "another download is writing this file", path.string(), "wait for it to end");
    }
    const off_t size = ::lseek(part.fd_.get(), 0, SEEK_END);
    part.size_ = size > 0 ? static_cast<std::uint64_t>(size) : 0;
    if (part.size_ > expected) KINGLET_TRY(part.cut(0));
    return part;
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const fs::path& path() const { return path_; }

  // Bytes at `offset`, which is the end, or 0 to start again.
  [[nodiscard]] Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset != size_) KINGLET_TRY(cut(offset));
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return io_error();
      size_ += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  [[nodiscard]] Result<void> sync() {
    if (::fsync(fd_.get()) != 0) return io_error();
    return {};
  }

 private:
  [[nodiscard]] Result<void> cut(std::uint64_t size) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return io_error();
    size_ = size;
    return {};
  }
  [[nodiscard]] std::unexpected<Error> io_error() const {
    return fail(ErrorCode::kIo, format_text("cannot write: {}", errno_text()), path_.string(), "free some space");
  }

  fs::path path_;
  FileDescriptor fd_;
  std::uint64_t size_ = 0;
};

// Fills the part file from the first address that delivers it.
Result<void> fetch(const CatalogueEntry& entry, PartFile& part, Output& out) {
  Error last;
  for (const std::string& address : entry.addresses) {
    if (part.size() == entry.size_bytes) return {};
    const Sink sink = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
      KINGLET_TRY(part.write(offset, bytes));
      out.progress(format_text("{} of {}", human_bytes(part.size()), human_bytes(entry.size_bytes)), part.size(),
                   entry.size_bytes);
      return {};
    };
    out.detail(format_text("trying {}", address));
    const Result<void> got =
        download({.address = address, .from_byte = part.size(), .limit_bytes = entry.size_bytes}, sink);
    out.end_progress();
    if (got && part.size() == entry.size_bytes) return {};
    last = got ? Error{ErrorCode::kUnavailable,
                       format_text("the server ended after {} of {} bytes", part.size(), entry.size_bytes), address,
                       "run the same command again: it goes on from there"}
               : got.error();
    if (last.code == ErrorCode::kIo) break;
    out.detail(describe(last));
  }
  if (part.size() > 0 && last.code == ErrorCode::kUnavailable) {
    last.hint =
        format_text("{} of {} bytes are kept: run the same command again to go on", part.size(), entry.size_bytes);
  }
  return std::unexpected(with_context(last, entry.name));
}

Result<void> check_digest(const CatalogueEntry& entry, const fs::path& part) {
  const std::string digest = KINGLET_TRY(engine::file_digest(part));
  if (digest == "sha256:" + entry.sha256) return {};
  std::error_code error;
  fs::remove(part, error);
  return fail(ErrorCode::kBadData, format_text("downloaded {}, expected sha256:{}", digest, entry.sha256), entry.name,
              "the download was thrown away; try again, and report it if it stays so");
}

// A file beside the model; one that somebody has changed stays unless --force was given.
Result<void> place_beside(const std::string& path, std::string_view bytes, const Options& options, Output& out) {
  std::error_code ignored;
  if (options.force || !fs::exists(path, ignored)) return write_file(path, bytes, Overwrite::kReplace);
  const Result<std::string> there = read_file(path, 1 << 20);
  if (!there || *there != bytes) out.warn(format_text("{} is another one and was kept; --force replaces it", path));
  return {};
}

// A model of TensorFlow Lite has become ONNX: which file it came from stands in it.
constexpr std::string_view kSourceProperty = "kinglet.source";

Result<bool> is_placed(const CatalogueEntry& entry, const fs::path& model) {
  const std::string digest = "sha256:" + entry.sha256;
  if (KINGLET_TRY(engine::file_digest(model)) == digest) return true;
  const auto opened = engine::open_model(model);
  if (!opened) return false;
  return std::ranges::contains(opened->graph.metadata.properties, std::pair(std::string(kSourceProperty), digest));
}

// True: the download was one, and `model` is written.
Result<bool> convert_tflite(const CatalogueEntry& entry, const fs::path& part, const fs::path& model) {
  const std::string bytes = KINGLET_TRY(read_file(part, entry.size_bytes));
  if (!engine::looks_like_tflite(bytes)) return false;
  Result<engine::ImportedTflite> imported = engine::import_tflite(bytes);
  if (!imported) return std::unexpected(with_context(imported.error(), entry.name));
  imported->graph.metadata.properties.emplace_back(std::string(kSourceProperty), "sha256:" + entry.sha256);
  KINGLET_TRY(engine::save_model(imported->graph, model, Overwrite::kReplace));
  std::error_code ignored;
  fs::remove(part, ignored);
  return true;
}

Result<void> place(const CatalogueEntry& entry, const PartFile& part, const fs::path& model, const Options& options,
                   Output& out) {
  const std::string stem = fs::path(model).replace_extension().string();
  KINGLET_TRY(place_beside(stem + ".recipe.json", engine::to_json(entry.recipe), options, out));
  if (!entry.labels.empty()) {
    KINGLET_TRY(place_beside(stem + ".labels.txt", built_in_labels(entry.labels), options, out));
  }
  if (KINGLET_TRY(convert_tflite(entry, part.path(), model))) return {};
  std::error_code error;
  fs::rename(part.path(), model, error);
  if (error) return fail(ErrorCode::kCannotCreate, format_text("cannot rename: {}", error.message()), model.string());
  return {};
}

void report(const CatalogueEntry& entry, const fs::path& model, std::uint64_t resumed_from, bool already, Output& out) {
  if (out.json()) {
    return out.print_json({{"name", entry.name},
                           {"path", model.string()},
                           {"digest", "sha256:" + entry.sha256},
                           {"size_bytes", entry.size_bytes},
                           {"licence", entry.licence},
                           {"already_there", already},
                           {"resumed_from_bytes", resumed_from}});
  }
  out.print(format_text("{}\n", model.string()));
  if (already) out.note("already there, digest checked");
  if (resumed_from > 0) out.note(format_text("continued at byte {}", resumed_from));
}

Result<int> pull(const Options& options, Output& out) {
  const std::vector<CatalogueEntry> entries = KINGLET_TRY(read_catalogue(options));
  if (options.list) {
    print_list(entries, out);
    return 0;
  }
  if (options.name.empty()) return fail(ErrorCode::kUsage, "no model named", "pull", "`kinglet pull --list` shows all");
  const CatalogueEntry& entry = *KINGLET_TRY(find(entries, options.name));
  const fs::path model = fs::path(options.folder) / (entry.name + ".onnx");
  std::error_code ignored;
  if (fs::exists(model, ignored) && !options.force) {
    if (!KINGLET_TRY(is_placed(entry, model))) {
      return fail(ErrorCode::kCannotCreate, "another file is there already", model.string(),
                  "add --force to replace it");
    }
    report(entry, model, 0, true, out);
    return 0;
  }
  KINGLET_TRY(ask_licence(entry, options, out));
  PartFile part = KINGLET_TRY(PartFile::open(model.string() + ".part", entry.size_bytes));
  const std::uint64_t resumed_from = part.size();
  const Result<void> fetched = fetch(entry, part, out);
  if (!fetched) {
    if (part.size() == 0) fs::remove(part.path(), ignored);
    return std::unexpected(fetched.error());
  }
  KINGLET_TRY(part.sync());
  KINGLET_TRY(check_digest(entry, part.path()));
  KINGLET_TRY(place(entry, part, model, options, out));
  report(entry, model, resumed_from, false, out);
  return 0;
}

}  // namespace

Body pull_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->name, "a model of the catalogue")->type_name("");
  app.add_flag("--list", options->list, "show the catalogue");
  app.add_option("--dir", options->folder, "where to put model, labels and recipe (default: here)")->type_name("DIR");
  app.add_option("--catalogue", options->catalogue, "another catalogue (JSON, as models/catalogue.json in the sources)")
      ->type_name("FILE");
  app.add_flag("-y,--yes", options->yes, "accept the licence without a question");
  app.add_flag("--force", options->force, "replace a file that is there");
  return [options](Output& out) { return pull(*options, out); };
}

}  // namespace kinglet::cli
