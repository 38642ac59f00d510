// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet pull`: a public model onto this disk, its licence shown first, its digest checked before it has its
// name, an interrupted download continued.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/adopt_model.h"
#include "cli/command.h"
#include "daemon/catalogue/catalogue.h"
#include "daemon/catalogue/fetch.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/session/model.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;
using daemon::CatalogueEntry;
using daemon::PartFile;

constexpr std::string_view kUnchecked = " (its file was not tried by us)";

struct Options {
  std::string name;
  std::string folder = ".";
  std::string catalogue;
  bool list = false;
  bool yes = false;
  bool force = false;
};

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
                        {"birds", entry.birds},
                        {"checked", entry.checked},
                        {"addresses", entry.addresses}});
    }
    return out.print_json({{"models", std::move(models)}});
  }
  Table table({"NAME", ">SIZE", "LICENCE", "WHAT"});
  for (const CatalogueEntry& entry : entries) {
    table.add({entry.name, human_bytes(entry.size_bytes), entry.licence,
               entry.summary + (entry.checked ? "" : std::string(kUnchecked))});
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

// False: the person says no.
Result<bool> accepts_licence(const CatalogueEntry& entry, const Options& options, Output& out) {
  out.note(format_text("{}: {} ({}){}", entry.name, entry.summary, human_bytes(entry.size_bytes),
                       entry.checked ? "" : kUnchecked));
  out.note(format_text("from {}", entry.source));
  out.note(format_text("licence {}: {}", entry.licence, entry.licence_address));
  if (!entry.terms.empty()) out.note("terms: " + printable(entry.terms, 300));
  if (options.yes) return true;
  if (!out.may_ask()) {
    return fail(ErrorCode::kUsage, "the licence has to be accepted", entry.name, "add --yes");
  }
  std::cerr << "Download it? [y/N] ";
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// A file beside the model; one that somebody has changed stays unless --force was given.
Result<void> place_beside(const std::string& path, std::string_view bytes, const Options& options, Output& out) {
  std::error_code ignored;
  if (options.force || !fs::exists(path, ignored)) return write_file(path, bytes, Overwrite::kReplace);
  const Result<std::string> there = read_file(path, 1 << 20);
  if (!there || *there != bytes) out.warn(format_text("{} is another one and was kept; --force replaces it", path));
  return {};
}

Result<bool> is_placed(const CatalogueEntry& entry, const fs::path& model) {
  const std::string digest = "sha256:" + entry.sha256;
  if (KINGLET_TRY(engine::file_digest(model)) == digest) return true;
  const auto opened = engine::open_model(model);
  if (!opened) return false;
  return std::ranges::contains(opened->graph.metadata.properties, std::pair(std::string(kSourceProperty), digest));
}

Result<void> place(const CatalogueEntry& entry, const PartFile& part, const fs::path& model, const Options& options,
                   Output& out) {
  const std::string stem = fs::path(model).replace_extension().string();
  KINGLET_TRY(place_beside(stem + ".recipe.json", engine::to_json(entry.recipe), options, out));
  if (!entry.labels.empty()) {
    KINGLET_TRY(place_beside(stem + ".labels.txt", daemon::built_in_labels(entry.labels), options, out));
  }
  std::error_code error;
  if (KINGLET_TRY(convert_if_tflite(part.path(), model, "sha256:" + entry.sha256))) {
    fs::remove(part.path(), error);
    return {};
  }
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
  const std::vector<CatalogueEntry> entries = KINGLET_TRY(daemon::read_catalogue(options.catalogue));
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
  if (!KINGLET_TRY(accepts_licence(entry, options, out))) {
    out.note("nothing was downloaded");
    return 1;
  }
  PartFile part = KINGLET_TRY(PartFile::open(model.string() + ".part", entry.size_bytes));
  const std::uint64_t resumed_from = part.size();
  const auto progress = [&](std::uint64_t bytes) {
    out.progress(format_text("{} of {}", human_bytes(bytes), human_bytes(entry.size_bytes)), bytes, entry.size_bytes);
  };
  const Result<void> fetched =
      daemon::fetch(entry, part, {.progress = progress, .detail = [&](std::string_view text) { out.detail(text); }});
  out.end_progress();
  if (!fetched) return std::unexpected(fetched.error());
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
