// SPDX-License-Identifier: Apache-2.0
// Why: names of the classes. A text file, one label a line, line 0 is class 0; an empty last line does not count.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::engine {

enum class LabelRole { kSpecies, kBackground, kOther };

struct Label {
  std::string text;                      // the line, as the file has it
  std::string scientific_name;           // "Turdus merula" of "Turdus merula (Eurasian Blackbird)"; empty without one
  std::string common_name;               // "Eurasian Blackbird"; the text itself without a scientific name
  std::string species_id;                // "turdus-merula"; a slug of the text without a scientific name
  LabelRole role = LabelRole::kSpecies;  // kBackground for "background" and "none", any case
};

// Immutable; copies share them.
class Labels {
 public:
  Labels() = default;
  // kNotFound, kBadData (not UTF-8, empty, over 1 MiB, a blank line in the middle: file:line).
  [[nodiscard]] static Result<Labels> open(const std::filesystem::path& path);
  [[nodiscard]] static Result<Labels> parse(std::string_view text, std::string_view where);
  // "class 0", "class 1" ... for a model without a label file.
  [[nodiscard]] static Labels numbered(std::size_t count);

  [[nodiscard]] std::size_t size() const { return labels_->size(); }
  [[nodiscard]] const Label& operator[](std::size_t index) const { return (*labels_)[index]; }
  [[nodiscard]] auto begin() const { return labels_->begin(); }
  [[nodiscard]] auto end() const { return labels_->end(); }

  // kBadData naming both counts and the file, with the cure, when they differ.
  [[nodiscard]] Result<void> check_count(std::size_t output_count) const;

 private:
  Labels(std::vector<Label> labels, std::string where)
      : labels_(std::make_shared<const std::vector<Label>>(std::move(labels))), where_(std::move(where)) {}

  std::shared_ptr<const std::vector<Label>> labels_ = std::make_shared<const std::vector<Label>>();
  std::string where_;
};

// Lower case ASCII letters and digits, everything between them one hyphen: how names are compared and species_id made.
[[nodiscard]] std::string slug(std::string_view text);

// As parse() reads it.
[[nodiscard]] std::string to_text(const Labels& labels);

// The metadata property of a model file that holds the text of a label file.
inline constexpr std::string_view kLabelsProperty = "kinglet.labels";

struct FoundLabels {
  Labels labels;
  std::string origin;  // the file, or "in the model"
};

// The labels that belong to a model file: `explicit_path` if given, else MODEL.labels.txt beside it (MODEL is the
// file's name without its extension), else `metadata_property`, else nothing.
[[nodiscard]] Result<std::optional<FoundLabels>> find_labels(const std::filesystem::path& model,
                                                             const std::optional<std::filesystem::path>& explicit_path,
                                                             std::optional<std::string_view> metadata_property);

}  // namespace kinglet::engine
