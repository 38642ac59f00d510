// SPDX-License-Identifier: Apache-2.0
// Why: a model that comes from elsewhere, downloaded or uploaded, is put together in a hidden folder beside the models,
// judged there by a process of its own, and only then stands among them. Whatever fails, nothing of it does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/catalogue/catalogue.h"
#include "daemon/catalogue/part_file.h"
#include "daemon/models/model_prover.h"
#include "engine/base/error.h"
#include "visits/tables.h"

namespace kinglet::daemon {

struct IncomingOptions {
  std::filesystem::path folder;  // of models; empty: there is none
  visits::TableFiles tables;     // of names, for all models
  int threads = 1;
  std::vector<CatalogueEntry> catalogue;
  std::shared_ptr<ModelProver> prover;  // never empty
};

// The model is the entry's file, or was made of it.
[[nodiscard]] bool is_of(const CatalogueEntry& entry, const Proof& proof);

// Used by one thread at a time but for what is said to be thread-safe.
class Incoming {
 public:
  explicit Incoming(IncomingOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const std::vector<CatalogueEntry>& catalogue() const { return options_.catalogue; }
  [[nodiscard]] const CatalogueEntry* find(
      std::string_view name) const;  // nullptr: the catalogue has none. Thread-safe
  [[nodiscard]] std::filesystem::path place_of(std::string_view name) const;  // where a model of this name lies

  // What a process before left behind goes, but for young downloads, which go on.
  void sweep() const;

  // There is a folder, it can be written, and has room for a file of so many bytes and what becomes of it. kConfig:
  // there is none; kCannotCreate, kIo. Thread-safe.
  [[nodiscard]] Result<void> make_room(std::uint64_t bytes) const;
  [[nodiscard]] std::filesystem::path upload() const;  // where it lies until it is admitted. Thread-safe
  // The place for an upload, empty. Thread-safe.
  [[nodiscard]] Result<PartFile> open_upload() const;

  // The entry's file, whole and checked. `progress` and `go_on` as of fetch().
  [[nodiscard]] Result<std::filesystem::path> download(const CatalogueEntry& entry,
                                                       const std::function<void(std::uint64_t bytes)>& progress,
                                                       const std::function<bool()>& go_on) const;
  // `file`, of this folder, becomes the model `name`: converted if need be, with labels and recipe of the catalogue
  // where it is one of those, proven, and placed. It is gone afterwards in any case. Errors as ModelProver::prove;
  // kBadData as well: the catalogue has another file of this name.
  [[nodiscard]] Result<void> admit(const std::string& name, const std::filesystem::path& file,
                                   const std::stop_token& stop) const;

 private:
  [[nodiscard]] std::filesystem::path staging() const;
  [[nodiscard]] Result<void> stage(const std::filesystem::path& file, const std::filesystem::path& model,
                                   const std::stop_token& stop) const;
  [[nodiscard]] Result<void> stage_companion(const std::filesystem::path& model, const char* ending,
                                             std::string_view bytes) const;
  [[nodiscard]] Result<void> place(const std::filesystem::path& model) const;

  const IncomingOptions options_;
};

}  // namespace kinglet::daemon
